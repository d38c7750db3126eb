#include "lower/promotion.hpp"

#include <optional>

namespace torchlift::lower {
namespace {

enum class Rank : int { Bool, Integer, Float, Complex };

Rank rank_of(DType d) {
  if (is_complex(d)) return Rank::Complex;
  if (is_float(d)) return Rank::Float;
  return is_bool(d) ? Rank::Bool : Rank::Integer;
}

// float16 and bfloat16 meet in float32; a float8 meets another only in itself.
DType promote_floats(DType a, DType b) {
  if (a == b) return a;
  auto level = [](DType d) { return info(d).bytes; };
  if (level(a) == level(b)) return DType::Float32;
  return level(a) > level(b) ? a : b;
}

DType promote_integers(DType a, DType b) {
  if (a == b) return a;
  bool ua = is_unsigned(a), ub = is_unsigned(b);
  if (ua == ub) return info(a).bytes > info(b).bytes ? a : b;
  // uint8 with a signed type: the signed type that holds both.
  DType s = ua ? b : a;
  return s == DType::Int8 ? DType::Int16 : s;
}

DType promote_complex(DType a, DType b) {
  // Through the real parts; a real operand of lower rank does not widen.
  DType real_a = is_complex(a) ? real_of(a) : a;
  DType real_b = is_complex(b) ? real_of(b) : b;
  if (!is_float(real_a)) return complex_of(real_b);
  if (!is_float(real_b)) return complex_of(real_a);
  if (real_a == DType::BFloat16) real_a = DType::Float32;  // there is no complex of bfloat16
  if (real_b == DType::BFloat16) real_b = DType::Float32;
  return complex_of(promote_floats(real_a, real_b));
}

// A Python float is a double, and counts as PyTorch's default dtype.
DType default_of(DType number) {
  if (number == DType::Float64) return DType::Float32;
  return number == DType::Complex128 ? DType::Complex64 : number;
}

bool is_large_unsigned(DType d) { return d == DType::UInt16 || d == DType::UInt32 || d == DType::UInt64; }
bool is_float8(DType d) { return is_float(d) && info(d).bytes == 1; }

}  // namespace

bool can_promote(DType a, DType b) {
  if (a == b) return true;
  if (is_float8(a) || is_float8(b)) return false;
  if (is_large_unsigned(a) || is_large_unsigned(b)) {
    DType other = is_large_unsigned(a) ? b : a;
    return is_float(other);
  }
  return true;
}

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  Rank ra = rank_of(a), rb = rank_of(b);
  if (ra == Rank::Complex || rb == Rank::Complex) return promote_complex(a, b);
  if (ra != rb) return ra > rb ? a : b;
  return ra == Rank::Float ? promote_floats(a, b) : promote_integers(a, b);
}

DType result_type(std::span<const Tensor> operands) {
  std::optional<DType> dims, zeros, numbers;
  auto meet = [](std::optional<DType>& into, DType d) { into = into ? promote_types(*into, d) : d; };
  for (const Tensor& t : operands) {
    if (t.is_poison()) continue;
    if (t.is_device_number()) meet(numbers, default_of(t.dtype()));
    else if (t.is_wrapped_number()) meet(numbers, t.dtype());
    else if (t.rank() == 0) meet(zeros, t.dtype());
    else meet(dims, t.dtype());
  }
  // ATen's combine_categories: the lower ones raise the category, and keep the width of a floating type.
  auto combine = [](std::optional<DType> higher, std::optional<DType> lower) {
    if (!higher) return lower;
    if (!lower || rank_of(*lower) <= rank_of(*higher)) return higher;
    if (rank_of(*higher) == Rank::Float) return std::optional(complex_of(*higher));
    return std::optional(promote_types(*higher, *lower));
  };
  return combine(combine(dims, zeros), numbers).value_or(DType::Float32);
}

DType float_type(DType dtype) { return is_integral(dtype) ? DType::Float32 : dtype; }

DType accumulate_type(DType dtype) {
  if (is_float(dtype) && info(dtype).bytes <= 2) return DType::Float32;
  if (dtype == DType::Complex32) return DType::Complex64;
  return dtype;
}

bool can_cast(DType from, DType to) { return rank_of(from) <= rank_of(to); }

}  // namespace torchlift::lower
