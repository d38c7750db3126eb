// The pieces of which a bytecode file is made: numbers and sections.
#include "stablehlo/bytecode.hpp"

#include <bit>

#include "base/kinds.hpp"

namespace torchlift::stablehlo::bytecode {

void Encoder::varint(uint64_t value) {
  const size_t bits = value == 0 ? 1 : 64 - static_cast<size_t>(std::countl_zero(value));
  const size_t bytes = (bits + 6) / 7;
  if (bytes > 8) {
    byte(0);
    for (size_t i = 0; i < 8; ++i) byte(static_cast<uint8_t>(value >> (8 * i)));
    return;
  }
  const uint64_t marked = (value << 1 | 1) << (bytes - 1);
  for (size_t i = 0; i < bytes; ++i) byte(static_cast<uint8_t>(marked >> (8 * i)));
}

void Encoder::signed_varint(int64_t value) {
  varint((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
}

void Encoder::section(uint8_t id, const Encoder& content) {
  byte(id);
  varint(content.data().size());
  bytes(content.data());
}

void Decoder::fail(std::string problem) {
  if (problem_.empty()) problem_ = problem.empty() ? "it is damaged" : std::move(problem);
  at_ = bytes_.size();
}

uint8_t Decoder::byte() {
  if (at_ == bytes_.size()) {
    fail("it ends too early");
    return 0;
  }
  return std::to_integer<uint8_t>(bytes_[at_++]);
}

uint64_t Decoder::varint() {
  const uint8_t first = byte();
  if (!ok()) return 0;
  const size_t more = first == 0 ? 8 : static_cast<size_t>(std::countr_zero(first));
  if (more > left()) {
    fail("it ends within a number");
    return 0;
  }
  uint64_t value = first == 0 ? 0 : first;
  for (size_t i = 0; i < more; ++i) value |= static_cast<uint64_t>(byte()) << (first == 0 ? 8 * i : 8 * (i + 1));
  return first == 0 ? value : value >> (more + 1);
}

int64_t Decoder::signed_varint() {
  const uint64_t value = varint();
  return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

std::pair<uint64_t, bool> Decoder::flagged() {
  const uint64_t value = varint();
  return {value >> 1, (value & 1) != 0};
}

std::string_view Decoder::bytes(uint64_t size) {
  if (size > left()) {
    fail("it ends within " + std::to_string(size) + " bytes");
    return {};
  }
  const std::string_view out = text_of(bytes_.subspan(at_, static_cast<size_t>(size)));
  at_ += static_cast<size_t>(size);
  return out;
}

std::string_view Decoder::terminated() {
  const std::string_view rest = text_of(bytes_.subspan(at_));
  const size_t end = rest.find('\0');
  if (end == std::string_view::npos) {
    fail("it ends within a text");
    return {};
  }
  at_ += end + 1;
  return rest.substr(0, end);
}

uint64_t Decoder::count() {
  const uint64_t value = varint();
  if (value <= left()) return value;
  fail("a list of " + std::to_string(value) + " items in " + std::to_string(left()) + " bytes");
  return 0;
}

uint64_t Decoder::index(size_t size, const char* what) {
  const uint64_t value = varint();
  if (!ok() || value < size) return value;
  fail(std::string(what) + " " + std::to_string(value) + " of " + std::to_string(size));
  return 0;
}

Decoder::Section Decoder::section() {
  Section out;
  const uint8_t id = byte();
  const uint64_t size = varint();
  out.id = id & 0x7f;
  if ((id & 0x80) != 0) {
    const uint64_t alignment = varint();
    if (ok() && (!std::has_single_bit(alignment) || alignment > (uint64_t{1} << 20)))
      fail("a section is aligned to " + std::to_string(alignment) + " bytes");
    while (ok() && (offset_ + at_) % alignment != 0) byte();
  }
  out.offset = offset_ + at_;
  out.bytes = bytes_of(bytes(size));
  return out;
}

bool is_bytecode(ByteView bytes) { return text_of(bytes).starts_with("ML\xefR"); }

Diagnostic wrong_file(std::string problem, const std::string& path) {
  return diagnose(Kind::ArtifactFile, {{"problem", std::move(problem)}}, path);
}

}  // namespace torchlift::stablehlo::bytecode
