// Text of constants. Values read back to the same bits: floats are written in decimal only where that is certain.
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "stablehlo/element.hpp"
#include "stablehlo/print_attributes.hpp"

namespace torchlift::stablehlo {
namespace {

constexpr char kHex[] = "0123456789ABCDEF";

void append_hex(std::string& out, std::byte b) {
  const auto value = std::to_integer<unsigned>(b);
  out += kHex[value >> 4];
  out += kHex[value & 0xf];
}

using Bytes = std::span<const std::byte>;

// The bits of one element: "0x7FC00000".
void append_bits(std::string& out, Bytes element) {
  out += "0x";
  for (size_t i = element.size(); i-- > 0;) append_hex(out, element[i]);
}

// MLIR wants a point, also before an exponent: "1e-05" becomes "1.0e-05".
void append_decimal(std::string& out, std::string_view text) {
  const size_t exponent = text.find('e');
  const std::string_view mantissa = text.substr(0, exponent);
  out += mantissa;
  if (mantissa.find('.') == std::string_view::npos) out += ".0";
  if (exponent != std::string_view::npos) out += text.substr(exponent);
}

template <typename Float>
std::string_view shortest(std::array<char, 64>& buffer, Float value) {
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), static_cast<size_t>(end - buffer.data())};
}

// The parser reads a double and rounds it: the shortest text of a float is good if that gives the same bits.
bool reads_back(std::string_view text, DType dtype, Bytes element) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  std::vector<std::byte> bytes;
  append_element(bytes, dtype, value);
  return std::equal(bytes.begin(), bytes.end(), element.begin(), element.end());
}

void append_float(std::string& out, DType dtype, Bytes element) {
  const double value = std::get<double>(read_element(dtype, element));
  if (!std::isfinite(value) || info(dtype).bytes == 1) return append_bits(out, element);
  std::array<char, 64> buffer;
  std::string_view text = shortest(buffer, static_cast<float>(value));
  if (dtype == DType::Float64 || !reads_back(text, dtype, element)) text = shortest(buffer, value);
  append_decimal(out, text);
}

void append_element_text(std::string& out, DType dtype, Bytes element) {
  switch (info(dtype).category) {
    case DTypeCategory::Bool: out += element[0] == std::byte{0} ? "false" : "true"; return;
    case DTypeCategory::Unsigned:
      out += std::to_string(static_cast<uint64_t>(std::get<int64_t>(read_element(dtype, element))));
      return;
    case DTypeCategory::Signed: append_integer(out, std::get<int64_t>(read_element(dtype, element))); return;
    case DTypeCategory::Float: append_float(out, dtype, element); return;
    case DTypeCategory::Complex: break;
  }
  const size_t half = element.size() / 2;
  out += '(';
  append_float(out, real_of(dtype), element.first(half));
  out += ", ";
  append_float(out, real_of(dtype), element.subspan(half));
  out += ')';
}

// Nested lists, one level a dimension. `next` is the element that comes next.
void append_nested(std::string& out, const Type& type, Bytes bytes, size_t level, size_t& next) {
  const size_t size = static_cast<size_t>(info(type.dtype).bytes);
  if (level == type.rank()) return append_element_text(out, type.dtype, bytes.subspan(size * next++, size));
  out += '[';
  for (int64_t i = 0; i < type.dims[level].concrete(); ++i) {
    if (i > 0) out += ", ";
    append_nested(out, type, bytes, level + 1, next);
  }
  out += ']';
}

}  // namespace

void append_dense(std::string& out, const Constant& constant, const Type& type, size_t hex_elements) {
  const size_t element = static_cast<size_t>(info(type.dtype).bytes);
  const size_t count = constant.bytes.size() / element;
  out += "dense<";
  if (count == 1) {
    append_element_text(out, type.dtype, constant.bytes);
  } else if (count > hex_elements && !is_bool(type.dtype)) {  // i1 is packed in some releases, not in others
    out += "\"0x";
    out.reserve(out.size() + 2 * constant.bytes.size() + 64);
    for (std::byte b : constant.bytes) append_hex(out, b);
    out += '"';
  } else if (count > 1) {
    size_t next = 0;
    append_nested(out, type, constant.bytes, 0, next);
  }
  out += '>';
}

}  // namespace torchlift::stablehlo
