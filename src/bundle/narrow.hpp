// Private to this room: float32 to 16 bits, rounded to nearest even. NaN stays NaN, what is too large becomes infinite.
#pragma once

#include <cstdint>

namespace torchlift::bundle {

inline uint16_t bfloat16_of(uint32_t bits) {
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return static_cast<uint16_t>((bits >> 16) | 0x40);  // NaN, made quiet
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

inline uint16_t float16_of(uint32_t bits) {
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return static_cast<uint16_t>(sign | 0x7E00 | ((magnitude >> 13) & 0x3FF));
  if (magnitude >= 0x47800000) return static_cast<uint16_t>(sign | 0x7C00);  // 65536 and more
  // Normal: the exponent's bias becomes 15. 65520 and more carry into the exponent of infinity.
  if (magnitude >= 0x38800000) {
    const uint32_t rebiased = magnitude - 0x38000000;
    return static_cast<uint16_t>(sign | ((rebiased + 0xFFF + ((rebiased >> 13) & 1)) >> 13));
  }
  // Subnormal: multiples of 2^-24.
  const uint32_t exponent = magnitude >> 23;
  if (exponent < 102) return sign;  // below 2^-25
  const uint32_t mantissa = (magnitude & 0x7FFFFF) | 0x800000;
  const uint32_t shift = 126 - exponent;  // 14 to 24
  const uint32_t half = uint32_t{1} << (shift - 1);
  uint32_t out = mantissa >> shift;
  const uint32_t rest = mantissa & ((uint32_t{1} << shift) - 1);
  if (rest > half || (rest == half && (out & 1) != 0)) ++out;
  return static_cast<uint16_t>(sign | out);
}

}  // namespace torchlift::bundle
