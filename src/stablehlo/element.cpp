#include "stablehlo/element.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/check.hpp"

namespace torchlift::stablehlo {
namespace {

// How a binary floating-point type uses its codes. A code is sign, exponent, mantissa.
struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  bool infinity;       // the largest exponent holds infinity and NaN, as in IEEE 754
  bool negative_zero;  // else (fnuz) the code of -0 is the only NaN
  bool sign;           // else (e8m0) neither sign nor zero: the codes are powers of two, all ones is NaN
};

FloatFormat format_of(DType dtype) {
  switch (dtype) {
    case DType::Float8E4M3FN: return {4, 3, 7, false, true, true};
    case DType::Float8E5M2: return {5, 2, 15, true, true, true};
    case DType::Float8E4M3FNUZ: return {4, 3, 8, false, false, true};
    case DType::Float8E5M2FNUZ: return {5, 2, 16, false, false, true};
    case DType::Float8E8M0FNU: return {8, 0, 127, false, true, false};
    case DType::Float16: return {5, 10, 15, true, true, true};
    case DType::BFloat16: return {8, 7, 127, true, true, true};
    case DType::Float32: return {8, 23, 127, true, true, true};
    case DType::Float64: return {11, 52, 1023, true, true, true};
    default: break;
  }
  CHECK(false) << info(dtype).torch_name << " is no float";
  return {};
}

uint64_t sign_bit(const FloatFormat& f) { return f.sign ? uint64_t{1} << (f.exponent_bits + f.mantissa_bits) : 0; }
uint64_t all_ones(const FloatFormat& f) { return (uint64_t{1} << (f.exponent_bits + f.mantissa_bits)) - 1; }
uint64_t infinity_code(const FloatFormat& f) { return all_ones(f) ^ ((uint64_t{1} << f.mantissa_bits) - 1); }

uint64_t largest_finite_code(const FloatFormat& f) {
  if (f.infinity) return infinity_code(f) - 1;
  return f.negative_zero ? all_ones(f) - 1 : all_ones(f);
}

uint64_t nan_code(const FloatFormat& f) {
  if (f.infinity) return infinity_code(f) | (uint64_t{1} << (f.mantissa_bits - 1));
  return f.negative_zero ? all_ones(f) : sign_bit(f);
}

// Rounds to nearest, ties to even, in one step.
uint64_t encode_float(const FloatFormat& f, double value) {
  const uint64_t sign = std::signbit(value) ? sign_bit(f) : 0;
  if (std::isnan(value)) return nan_code(f) | (f.negative_zero ? sign : 0);
  if (std::isinf(value)) return f.infinity ? infinity_code(f) | sign : nan_code(f) | (f.negative_zero ? sign : 0);
  if (!f.sign && value < 0) return nan_code(f);
  if (value == 0) return f.negative_zero ? sign : 0;

  const double magnitude = std::fabs(value);
  const int64_t smallest = f.sign ? 1 - f.bias : -f.bias;  // exponent of the smallest normal number
  const int64_t exponent = std::max<int64_t>(std::ilogb(magnitude), smallest);
  const double units = std::nearbyint(std::ldexp(magnitude, static_cast<int>(f.mantissa_bits - exponent)));
  // A normal number has its leading bit at mantissa_bits; a carry into the next exponent comes out right by itself.
  const int64_t leading = int64_t{1} << f.mantissa_bits;
  int64_t code = static_cast<int64_t>(units) + (exponent - smallest) * leading;
  if (!f.sign) code = std::max<int64_t>(code - 1, 0);
  if (static_cast<uint64_t>(code) > largest_finite_code(f)) {
    if (f.infinity) return infinity_code(f) | sign;
    return nan_code(f) | (f.negative_zero ? sign : 0);
  }
  if (code == 0 && !f.negative_zero) return 0;
  return static_cast<uint64_t>(code) | sign;
}

double decode_float(const FloatFormat& f, uint64_t code) {
  const bool negative = (code & sign_bit(f)) != 0;
  const uint64_t magnitude = code & all_ones(f);
  if (!f.negative_zero && code == sign_bit(f)) return std::numeric_limits<double>::quiet_NaN();
  if (f.infinity && magnitude == infinity_code(f))
    return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  if (magnitude > largest_finite_code(f))
    return std::copysign(std::numeric_limits<double>::quiet_NaN(), negative ? -1.0 : 1.0);
  if (!f.sign) return std::ldexp(1.0, static_cast<int>(code) - f.bias);
  const int exponent = static_cast<int>(magnitude >> f.mantissa_bits);
  double units = static_cast<double>(magnitude & ((uint64_t{1} << f.mantissa_bits) - 1));
  if (exponent > 0) units += std::ldexp(1.0, f.mantissa_bits);
  const double out = std::ldexp(units, std::max(exponent, 1) - f.bias - f.mantissa_bits);
  return negative ? -out : out;
}

// The number as a double that rounds to every narrower float as the number itself does: bits that do not fit are kept
// as one sticky bit (round to odd).
double sticky_double(int64_t value) {
  constexpr uint64_t kLow = 0x7ff;
  uint64_t magnitude = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  if (magnitude >> 53 != 0 && (magnitude & kLow) != 0) magnitude = (magnitude & ~kLow) | (kLow + 1);
  const double out = static_cast<double>(magnitude);
  return value < 0 ? -out : out;
}

double real_part(const Number& value, DType target) {
  if (const bool* b = std::get_if<bool>(&value)) return *b ? 1 : 0;
  if (const int64_t* i = std::get_if<int64_t>(&value))
    return target == DType::Float64 ? static_cast<double>(*i) : sticky_double(*i);
  if (const double* d = std::get_if<double>(&value)) return *d;
  return std::get<std::complex<double>>(value).real();
}

double imaginary_part(const Number& value) {
  const auto* c = std::get_if<std::complex<double>>(&value);
  return c ? c->imag() : 0;
}

bool is_nonzero(const Number& value) {
  if (const bool* b = std::get_if<bool>(&value)) return *b;
  if (const int64_t* i = std::get_if<int64_t>(&value)) return *i != 0;
  if (const double* d = std::get_if<double>(&value)) return *d != 0;
  return std::get<std::complex<double>>(value) != std::complex<double>(0);
}

int bits_of(DType dtype) { return static_cast<int>(info(dtype).bytes * 8); }

// Truncates and saturates to the dtype's range.
uint64_t truncate(double value, DType dtype) {
  if (std::isnan(value)) return 0;
  if (is_unsigned(dtype)) {
    if (value <= 0) return 0;
    if (value >= std::ldexp(1.0, bits_of(dtype))) return ~uint64_t{0};
    return static_cast<uint64_t>(value);
  }
  const double bound = std::ldexp(1.0, bits_of(dtype) - 1);
  if (value >= bound) return (uint64_t{1} << (bits_of(dtype) - 1)) - 1;
  if (value < -bound) return uint64_t{1} << (bits_of(dtype) - 1);
  return static_cast<uint64_t>(static_cast<int64_t>(value));
}

uint64_t encode_integer(const Number& value, DType dtype) {
  if (const bool* b = std::get_if<bool>(&value)) return *b ? 1 : 0;
  if (const int64_t* i = std::get_if<int64_t>(&value)) return static_cast<uint64_t>(*i);
  return truncate(real_part(value, dtype), dtype);
}

void append_bits(std::vector<std::byte>& out, uint64_t bits, int64_t bytes) {
  for (int64_t i = 0; i < bytes; ++i) out.push_back(static_cast<std::byte>((bits >> (8 * i)) & 0xff));
}

uint64_t read_bits(std::span<const std::byte> bytes, int64_t count) {
  CHECK(static_cast<int64_t>(bytes.size()) >= count) << bytes.size() << " bytes, an element has " << count;
  uint64_t out = 0;
  for (int64_t i = 0; i < count; ++i)
    out |= static_cast<uint64_t>(std::to_integer<uint8_t>(bytes[static_cast<size_t>(i)])) << (8 * i);
  return out;
}

void append_float(std::vector<std::byte>& out, DType dtype, double value) {
  const bool exact = dtype == DType::Float64;  // keeps the payload of a NaN
  append_bits(out, exact ? std::bit_cast<uint64_t>(value) : encode_float(format_of(dtype), value), info(dtype).bytes);
}

double read_float(DType dtype, std::span<const std::byte> bytes) {
  const uint64_t code = read_bits(bytes, info(dtype).bytes);
  return dtype == DType::Float64 ? std::bit_cast<double>(code) : decode_float(format_of(dtype), code);
}

int64_t sign_extend(uint64_t bits, int width) {
  const int unused = 64 - width;
  return static_cast<int64_t>(bits << unused) >> unused;
}

}  // namespace

void append_element(std::vector<std::byte>& out, DType dtype, const Number& value) {
  switch (info(dtype).category) {
    case DTypeCategory::Bool: out.push_back(is_nonzero(value) ? std::byte{1} : std::byte{0}); return;
    case DTypeCategory::Unsigned:
    case DTypeCategory::Signed: append_bits(out, encode_integer(value, dtype), info(dtype).bytes); return;
    case DTypeCategory::Float: append_float(out, dtype, real_part(value, dtype)); return;
    case DTypeCategory::Complex:
      append_float(out, real_of(dtype), real_part(value, real_of(dtype)));
      append_float(out, real_of(dtype), imaginary_part(value));
      return;
  }
}

Number read_element(DType dtype, std::span<const std::byte> bytes) {
  switch (info(dtype).category) {
    case DTypeCategory::Bool: return read_bits(bytes, 1) != 0;
    case DTypeCategory::Unsigned: return static_cast<int64_t>(read_bits(bytes, info(dtype).bytes));
    case DTypeCategory::Signed: return sign_extend(read_bits(bytes, info(dtype).bytes), bits_of(dtype));
    case DTypeCategory::Float: return read_float(dtype, bytes);
    case DTypeCategory::Complex: break;
  }
  const DType part = real_of(dtype);
  const auto rest = bytes.subspan(static_cast<size_t>(info(part).bytes));
  return std::complex<double>(read_float(part, bytes), read_float(part, rest));
}

Number largest_finite(DType dtype) {
  CHECK(!is_complex(dtype)) << "complex numbers have no order";
  if (is_bool(dtype)) return true;
  if (is_unsigned(dtype)) return sign_extend(~uint64_t{0} >> (64 - bits_of(dtype)), 64);
  if (is_signed_integer(dtype)) return static_cast<int64_t>((uint64_t{1} << (bits_of(dtype) - 1)) - 1);
  const FloatFormat format = format_of(dtype);
  return decode_float(format, largest_finite_code(format));
}

Number highest(DType dtype) {
  const bool infinity = is_float(dtype) && format_of(dtype).infinity;
  return infinity ? Number(std::numeric_limits<double>::infinity()) : largest_finite(dtype);
}

Number lowest(DType dtype) {
  if (is_bool(dtype)) return false;
  if (is_unsigned(dtype)) return int64_t{0};
  if (is_signed_integer(dtype)) return sign_extend(uint64_t{1} << (bits_of(dtype) - 1), bits_of(dtype));
  const Number largest = highest(dtype);
  if (!format_of(dtype).sign) return 0.0;
  return -std::get<double>(largest);
}

}  // namespace torchlift::stablehlo
