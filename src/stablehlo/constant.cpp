#include "stablehlo/constant.hpp"

#include <algorithm>

namespace torchlift::stablehlo {
namespace {

size_t element_bytes(const Type& type) { return static_cast<size_t>(info(type.dtype).bytes); }

// Bit by bit.
bool all_equal(const std::vector<std::byte>& bytes, size_t element) {
  return std::equal(bytes.begin() + static_cast<std::ptrdiff_t>(element), bytes.end(), bytes.begin());
}

}  // namespace

Constant packed(const Type& type, std::vector<std::byte> bytes) {
  const size_t element = element_bytes(type);
  if (is_bool(type.dtype))
    for (std::byte& b : bytes) b = b == std::byte{0} ? b : std::byte{1};
  const bool complete = byte_count(type) == std::optional(static_cast<int64_t>(bytes.size()));
  if (complete && bytes.size() > element && all_equal(bytes, element)) {
    bytes.resize(element);
    bytes.shrink_to_fit();
  }
  return {std::move(bytes)};
}

std::vector<std::byte> unpacked(const Type& type, const Constant& constant) {
  if (!is_splat(type, constant)) return constant.bytes;
  std::vector<std::byte> out;
  const int64_t count = element_count(type).value_or(0);
  for (int64_t i = 0; i < count; ++i) out.insert(out.end(), constant.bytes.begin(), constant.bytes.end());
  return out;
}

bool is_splat(const Type& type, const Constant& constant) { return constant.bytes.size() == element_bytes(type); }

}  // namespace torchlift::stablehlo
