#include "pjrt/compile_options.hpp"

#include <cstring>
#include <string_view>

#include "base/check.hpp"

namespace torchlift::pjrt {
namespace {

// Field numbers of CompileOptionsProto, ExecutableBuildOptionsProto and OptionOverrideProto.
constexpr uint32_t kBuildOptions = 3;
constexpr uint32_t kFlagOverrides = 7;
constexpr uint32_t kDeviceOrdinal = 1;
constexpr uint32_t kReplicas = 4;
constexpr uint32_t kPartitions = 5;
constexpr uint32_t kMapKey = 1;
constexpr uint32_t kMapValue = 2;
constexpr uint32_t kStringValue = 1;
constexpr uint32_t kBoolValue = 2;
constexpr uint32_t kIntValue = 3;
constexpr uint32_t kDoubleValue = 4;

// Protobuf's wire format: a key (field number and kind), then a varint, eight bytes, or a length and its bytes.
class Message {
 public:
  void integer(uint32_t field, int64_t value) {
    key(field, 0);
    varint(static_cast<uint64_t>(value));
  }
  void number(uint32_t field, double value) {
    key(field, 1);
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>((bits >> (8 * i)) & 0xff);
  }
  void text(uint32_t field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    bytes_ += value;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void key(uint32_t field, uint32_t kind) { varint((field << 3) | kind); }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7f) | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

Message flag_value(const CompileOptions::Value& value) {
  Message out;
  if (const auto* text = std::get_if<std::string>(&value)) out.text(kStringValue, *text);
  if (const auto* flag = std::get_if<bool>(&value)) out.integer(kBoolValue, *flag ? 1 : 0);
  if (const auto* integer = std::get_if<int64_t>(&value)) out.integer(kIntValue, *integer);
  if (const auto* number = std::get_if<double>(&value)) out.number(kDoubleValue, *number);
  return out;
}

}  // namespace

std::string CompileOptions::bytes() const {
  CHECK(replicas >= 1 && partitions >= 1) << replicas << " replicas, " << partitions << " partitions";
  Message build;
  build.integer(kDeviceOrdinal, -1);
  build.integer(kReplicas, replicas);
  build.integer(kPartitions, partitions);
  Message out;
  out.text(kBuildOptions, build.bytes());
  for (const auto& [name, value] : flags) {
    Message entry;
    entry.text(kMapKey, name);
    entry.text(kMapValue, flag_value(value).bytes());
    out.text(kFlagOverrides, entry.bytes());
  }
  return out.bytes();
}

}  // namespace torchlift::pjrt
