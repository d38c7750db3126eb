// Elementwise building blocks, shared by the families.
#pragma once

#include <array>

#include "aten/formula.hpp"
#include "aten/ops.hpp"

namespace torchlift::aten {

// What PyTorch's kernels of an operator compute in. Nothing else is taken: no result would be PyTorch's.
namespace takes {
inline constexpr unsigned kBool = 1, kIntegers = 2, kHalves = 4, kFloats = 8, kComplex = 16, kComplexHalf = 32;
inline constexpr unsigned kRealFloats = kHalves | kFloats, kAnyFloats = kRealFloats | kComplex | kComplexHalf,
                          kNumbers = kIntegers | kRealFloats, kReal = kBool | kNumbers;
}  // namespace takes
// Refuses where `dtype` is none of `kinds`.
bool computes_in(Lower& l, DType dtype, unsigned kinds);
// Refuses where the dtypes differ.
bool equal_dtypes(Lower& l, Tensor a, Tensor b);

// fn(value) over one operand, in `compute` (the operand's dtype if it is not given).
template <typename Fn>
Tensor map(Lower& l, Tensor self, Optional<DType> compute, Fn&& fn) {
  if (self.is_poison()) return {};
  return l.make_elementwise(fn(Formula(l, l.read(self, compute.value_or(self.dtype())))), std::array{self});
}

// The same where PyTorch computes in floating point: integers become float32.
template <typename Fn>
Tensor map_float(Lower& l, Tensor self, Fn&& fn) {
  return map(l, self, lower::float_type(self.dtype()), std::forward<Fn>(fn));
}

// As map_float, with float16 and bfloat16 computed in float32 and rounded once at the end, as PyTorch's CPU kernels do.
template <typename Fn>
Tensor map_wide(Lower& l, Tensor self, Fn&& fn) {
  if (self.is_poison()) return {};
  DType dtype = lower::float_type(self.dtype());
  Formula wide(l, l.read(self, lower::accumulate_type(dtype)));
  return l.make_elementwise(l.convert(fn(wide), dtype), std::array{self});
}

// fn(values) over operands broadcast together, computed in `compute`; the result is converted to `result`.
template <typename Fn>
Tensor zip_all(Lower& l, std::span<const Tensor> operands, DType compute, DType result, Fn&& fn) {
  for (const Tensor& t : operands)
    if (t.is_poison()) return {};
  auto shape = l.broadcast_shapes(operands);
  if (!shape) return {};
  std::vector<Formula> values;
  for (const Tensor& t : operands) values.emplace_back(l, l.read(t, compute, *shape));
  return l.make_elementwise(l.convert(fn(std::span<const Formula>(values)), result), operands);
}

// fn(a, b) over two operands, promoted to `compute` (result_type if it is not given) and broadcast together.
template <typename Fn>
Tensor zip(Lower& l, Tensor a, Tensor b, Optional<DType> compute, Fn&& fn) {
  if (a.is_poison() || b.is_poison()) return {};
  std::array operands{a, b};
  auto shape = l.broadcast_shapes(operands);
  if (!shape) return {};
  DType dtype = compute.value_or(lower::result_type(operands));
  return l.make_elementwise(fn(Formula(l, l.read(a, dtype, *shape)), Formula(l, l.read(b, dtype, *shape))), operands);
}

// As zip in result_type, with float16 and bfloat16 computed in float32 and rounded once.
template <typename Fn>
Tensor zip_wide(Lower& l, Tensor a, Tensor b, Fn&& fn) {
  DType dtype = lower::result_type(std::array{a, b});
  return zip_all(l, std::array{a, b}, lower::accumulate_type(dtype), dtype,
                 [&](std::span<const Formula> v) { return fn(v[0], v[1]); });
}

// As zip_wide, where PyTorch computes in floating point: integers become float32. `kinds`: what it computes in.
template <typename Fn>
Tensor zip_float(Lower& l, Tensor a, Tensor b, Fn&& fn, unsigned kinds = takes::kAnyFloats) {
  DType dtype = lower::float_type(lower::result_type(std::array{a, b}));
  if (!computes_in(l, dtype, kinds)) return {};
  return zip_all(l, std::array{a, b}, lower::accumulate_type(dtype), dtype,
                 [&](std::span<const Formula> v) { return fn(v[0], v[1]); });
}

// ---- pointwise.cpp
Tensor add(Lower& l, Tensor self, Operand other, Scalar alpha);
Tensor sub(Lower& l, Tensor self, Operand other, Scalar alpha);
Tensor mul(Lower& l, Tensor self, Operand other);
Tensor clamp(Lower& l, Tensor self, Optional<Operand> min, Optional<Operand> max);
Tensor pow(Lower& l, Operand self, Operand exponent);
Tensor xlogy(Lower& l, Operand self, Operand other);

// ---- elementary.cpp
Tensor abs(Lower& l, Tensor self);
Tensor relu(Lower& l, Tensor self);
Tensor sigmoid(Lower& l, Tensor self);
// Truncates toward zero; of integers a copy.
Tensor trunc(Lower& l, Tensor self);

}  // namespace torchlift::aten
