// Arithmetic with PyTorch's rules: conversion, broadcasting, promotion.
#include <algorithm>
#include <array>
#include <cmath>

#include "lower/lower.hpp"

namespace torchlift::lower {
namespace {

stablehlo::Number number_of(const Scalar& s) {
  if (s.is_bool()) return s.to_bool();
  if (s.is_int()) return s.to_int();
  if (s.is_float()) return s.to_double();
  return s.to_complex();
}

// PyTorch's CPU kernels: float16 and bfloat16 with a number, or with a wider tensor of one element, are computed in
// float32 and rounded once; the number is not rounded before.
DType compute_type(std::span<const Tensor> operands, DType result) {
  for (const Tensor& t : operands)
    if (t.is_wrapped_number() || t.dtype() != result) return accumulate_type(result);
  return result;
}

Scalar scalar_of(const stablehlo::Number& n) {
  return std::visit([](auto v) { return Scalar(v); }, n);
}

}  // namespace

Value Lower::convert(Value v, DType dtype) {
  DType from = hlo.type(v).dtype;
  if (from == dtype) return v;
  // PyTorch on CPU: a float becomes a narrow integer by way of a wider one, so it wraps and does not saturate.
  if (is_float(from) && is_integer(dtype) && info(dtype).bytes < 4) v = convert(v, DType::Int32);
  else if (is_float(from) && dtype == DType::UInt32) v = convert(v, DType::Int64);
  else if (is_float(from) && is_signed_integer(dtype)) return to_signed_integer(v, dtype);
  if (is_complex(from) && !is_complex(dtype)) {
    if (is_bool(dtype)) {  // true unless both parts are zero
      Value zero = full_like(v, Scalar(0.0));
      return hlo.compare(v, zero, ComparisonDirection::Ne);
    }
    return convert(hlo.real(v), dtype);
  }
  if (!is_complex(from) && is_complex(dtype)) {
    Value re = convert(v, real_of(dtype));
    return hlo.complex(re, full_like(re, Scalar(0.0)));
  }
  // XLA's CPU takes `x * convert(b)` for `select(b, x, 0)`, which loses the NaN of 0 * inf.
  if (is_bool(from) && is_float(dtype) && info(dtype).bytes > 1) {
    const Dims shape = hlo.type(v).dims;
    return hlo.select(v, full(shape, dtype, Scalar(1.0)), full(shape, dtype, Scalar(0.0)));
  }
  return hlo.convert(v, dtype);
}

// What does not fit, NaN included, becomes the smallest integer, as on the processors that PyTorch's results are known
// from. StableHLO leaves it open.
Value Lower::to_signed_integer(Value v, DType dtype) {
  Value out = hlo.convert(v, dtype);
  if (!out.has_value()) return out;
  DType from = hlo.type(v).dtype;
  // Half precision holds no finite number that does not fit; 2^31 and 2^63 are floats.
  double limit = std::ldexp(1.0, static_cast<int>(info(dtype).bytes) * 8 - 1);
  Value fits =
      from == DType::Float16 ? hlo.is_finite(v) : hlo.compare(hlo.abs(v), full_like(v, limit), ComparisonDirection::Lt);
  return hlo.select(fits, out, full_like(out, lowest(dtype)));
}

Value Lower::broadcast_to(Value v, const Dims& shape) {
  if (!v.has_value()) return v;
  const Dims& from = hlo.type(v).dims;
  if (from.size() > shape.size()) return wrong("cannot broadcast " + text_of(from) + " to " + text_of(shape));
  size_t offset = shape.size() - from.size();
  Ints kept;  // axes of the operand that are not spread, in the result
  Dims squeezed;
  bool same = offset == 0;
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] == shape[offset + i]) {
      kept.push_back(static_cast<int64_t>(offset + i));
      squeezed.push_back(from[i]);
    } else if (from[i] == Dim(1)) {
      same = false;
    } else {
      return wrong("cannot broadcast " + text_of(from) + " to " + text_of(shape));
    }
  }
  if (same) return v;
  return hlo.broadcast_in_dim(hlo.reshape(v, squeezed), shape, kept);
}

Value Lower::constant(DType dtype, const Scalar& number) { return full({}, dtype, number); }

Value Lower::full(const Dims& shape, DType dtype, const Scalar& number) {
  // As PyTorch's C++ cast: a Python float in an integer tensor is cut, a complex loses its imaginary part.
  Scalar n = number;
  if (is_integer(dtype) && !n.is_integral()) n = Scalar(n.to_int());
  if (is_bool(dtype)) n = Scalar(n.to_bool());
  return hlo.splat({dtype, shape}, number_of(n));
}

Value Lower::full_like(Value v, const Scalar& number) {
  if (!v.has_value()) return v;
  Type t = hlo.type(v);
  return full(t.dims, t.dtype, number);
}

Value Lower::is_nan(Value v) {
  DType d = hlo.type(v).dtype;
  if (is_integral(d)) return full(hlo.type(v).dims, DType::Bool, Scalar(false));
  return hlo.compare(v, v, ComparisonDirection::Ne);
}

Scalar Lower::lowest(DType dtype) const { return scalar_of(stablehlo::lowest(dtype)); }
Scalar Lower::highest(DType dtype) const { return scalar_of(stablehlo::highest(dtype)); }

Tensor Lower::unary(Tensor a, Unary op) {
  if (a.is_poison()) return {};
  return make_elementwise((hlo.*op)(read(a)), std::array{a});
}

Tensor Lower::unary_float(Tensor a, Unary op) {
  if (a.is_poison()) return {};
  return make_elementwise((hlo.*op)(read(a, float_type(a.dtype()))), std::array{a});
}

Tensor Lower::binary(Tensor a, Tensor b, Binary op) {
  if (a.is_poison() || b.is_poison()) return {};
  std::array operands{a, b};
  auto shape = broadcast_shapes(operands);
  if (!shape) return {};
  DType dtype = result_type(operands);
  DType compute = compute_type(operands, dtype);
  return make_elementwise(convert((hlo.*op)(read(a, compute, *shape), read(b, compute, *shape)), dtype), operands);
}

Tensor Lower::div(Tensor a, Tensor b) {
  if (a.is_poison() || b.is_poison()) return {};
  std::array operands{a, b};
  auto shape = broadcast_shapes(operands);
  if (!shape) return {};
  DType dtype = float_type(result_type(operands));
  DType compute = compute_type(operands, dtype);
  return make_elementwise(convert(hlo.divide(read(a, compute, *shape), read(b, compute, *shape)), dtype), operands);
}

Tensor Lower::keep(Tensor a, const Scalar& b) {
  if (a.is_poison()) return {};
  // Not the handle itself: the result of an operator never aliases its operand.
  DType dtype = result_type(std::array{a, wrap(b)});
  return make_elementwise(read(a, dtype), std::array{a});
}

Tensor Lower::compare(Tensor a, Tensor b, ComparisonDirection direction) {
  if (a.is_poison() || b.is_poison()) return {};
  std::array operands{a, b};
  auto shape = broadcast_shapes(operands);
  if (!shape) return {};
  DType dtype = result_type(operands);
  return make_elementwise(hlo.compare(read(a, dtype, *shape), read(b, dtype, *shape), direction), operands);
}

Tensor Lower::where(Tensor condition, Tensor on_true, Tensor on_false) {
  if (condition.is_poison() || on_true.is_poison() || on_false.is_poison()) return {};
  std::array operands{condition, on_true, on_false};
  auto shape = broadcast_shapes(operands);
  if (!shape) return {};
  DType dtype = result_type(std::array{on_true, on_false});
  Value pred = read(condition, DType::Bool, *shape);
  return make_elementwise(hlo.select(pred, read(on_true, dtype, *shape), read(on_false, dtype, *shape)), operands);
}

Tensor Lower::to(Tensor a, DType dtype) {
  if (a.is_poison() || a.dtype() == dtype) return a;
  return make(read(a, dtype), dense_strides_like(a.shape(), a.strides()));
}

std::optional<Dims> Lower::broadcast_shapes(std::span<const Tensor> tensors) {
  std::vector<Dims> shapes;
  for (const Tensor& t : tensors) shapes.push_back(t.shape());
  return broadcast_shapes(shapes);
}

std::optional<Dims> Lower::broadcast_shapes(std::span<const Dims> shapes) {
  Dims out;
  for (const Dims& s : shapes) {
    if (s.size() > out.size()) out.insert(out.begin(), s.size() - out.size(), Dim(1));
    size_t offset = out.size() - s.size();
    for (size_t i = 0; i < s.size(); ++i) {
      Dim& d = out[offset + i];
      if (d == s[i]) {
        d = richer(d, s[i]);
      } else if (d == Dim(1)) {
        d = s[i];
      } else if (s[i] != Dim(1)) {
        wrong("shapes " + text_of(out) + " and " + text_of(s) + " do not broadcast");
        return std::nullopt;
      }
    }
  }
  return out;
}

}  // namespace torchlift::lower
