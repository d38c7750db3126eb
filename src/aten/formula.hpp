// Values with operators, so that a lowering reads like the formula it stands for. A number in a formula takes the type
// of the value beside it. Everything here keeps the dtype; the functions are found by argument, and do not collide with
// the lowerings of the same name.
#pragma once

#include <initializer_list>

#include "aten/ops.hpp"

namespace torchlift::aten::formula {

class Formula {
 public:
  Formula(Lower& l, Value value) : l_(&l), value_(value) {}
  operator Value() const { return value_; }  // NOLINT: a formula is a value

  Lower& lower() const { return *l_; }
  stablehlo::Builder& hlo() const { return l_->hlo; }
  DType dtype() const { return l_->hlo.type(value_).dtype; }
  Formula with(Value value) const { return {*l_, value}; }
  Formula like(const Scalar& number) const { return with(l_->full_like(value_, number)); }

 private:
  Lower* l_;
  Value value_;
};

inline Formula operator+(Formula a, Formula b) { return a.with(a.hlo().add(a, b)); }
inline Formula operator-(Formula a, Formula b) { return a.with(a.hlo().subtract(a, b)); }
inline Formula operator*(Formula a, Formula b) { return a.with(a.hlo().multiply(a, b)); }
inline Formula operator/(Formula a, Formula b) { return a.with(a.hlo().divide(a, b)); }
inline Formula operator+(Formula a, double b) { return a + a.like(b); }
inline Formula operator-(Formula a, double b) { return a - a.like(b); }
inline Formula operator*(Formula a, double b) { return a * a.like(b); }
inline Formula operator/(Formula a, double b) { return a / a.like(b); }
inline Formula operator+(double a, Formula b) { return b.like(a) + b; }
inline Formula operator-(double a, Formula b) { return b.like(a) - b; }
inline Formula operator*(double a, Formula b) { return b.like(a) * b; }
inline Formula operator/(double a, Formula b) { return b.like(a) / b; }
inline Formula operator-(Formula a) { return a.with(a.hlo().negate(a)); }

// Of truth values, or bit by bit.
inline Formula operator&(Formula a, Formula b) { return a.with(a.hlo().and_(a, b)); }
inline Formula operator|(Formula a, Formula b) { return a.with(a.hlo().or_(a, b)); }
inline Formula operator^(Formula a, Formula b) { return a.with(a.hlo().xor_(a, b)); }
inline Formula operator!(Formula a) { return a.with(a.hlo().not_(a)); }

inline Formula compare(Formula a, Formula b, ComparisonDirection d) { return a.with(a.hlo().compare(a, b, d)); }
inline Formula eq(Formula a, Formula b) { return compare(a, b, ComparisonDirection::Eq); }
inline Formula ne(Formula a, Formula b) { return compare(a, b, ComparisonDirection::Ne); }
inline Formula operator<(Formula a, Formula b) { return compare(a, b, ComparisonDirection::Lt); }
inline Formula operator<=(Formula a, Formula b) { return compare(a, b, ComparisonDirection::Le); }
inline Formula operator>(Formula a, Formula b) { return compare(a, b, ComparisonDirection::Gt); }
inline Formula operator>=(Formula a, Formula b) { return compare(a, b, ComparisonDirection::Ge); }
inline Formula eq(Formula a, double b) { return eq(a, a.like(b)); }
inline Formula ne(Formula a, double b) { return ne(a, a.like(b)); }
inline Formula operator<(Formula a, double b) { return a < a.like(b); }
inline Formula operator<=(Formula a, double b) { return a <= a.like(b); }
inline Formula operator>(Formula a, double b) { return a > a.like(b); }
inline Formula operator>=(Formula a, double b) { return a >= a.like(b); }

inline Formula select(Formula pred, Formula a, Formula b) { return a.with(a.hlo().select(pred, a, b)); }
inline Formula select(Formula pred, Formula a, double b) { return select(pred, a, a.like(b)); }
inline Formula select(Formula pred, double a, Formula b) { return select(pred, b.like(a), b); }

inline Formula abs(Formula x) { return x.with(x.hlo().abs(x)); }
inline Formula ceil(Formula x) { return x.with(x.hlo().ceil(x)); }
inline Formula cos(Formula x) { return x.with(x.hlo().cosine(x)); }
inline Formula exp(Formula x) { return x.with(x.hlo().exponential(x)); }
Formula expm1(Formula x);  // elementary_functions.cpp
inline Formula floor(Formula x) { return x.with(x.hlo().floor(x)); }
inline Formula imag(Formula x) { return x.with(x.hlo().imag(x)); }
inline Formula is_finite(Formula x) { return x.with(x.hlo().is_finite(x)); }
inline Formula is_nan(Formula x) { return x.with(x.lower().is_nan(x)); }
inline Formula log(Formula x) { return x.with(x.hlo().log(x)); }
Formula log1p(Formula x);  // elementary_functions.cpp
inline Formula logistic(Formula x) { return x.with(x.hlo().logistic(x)); }
inline Formula real(Formula x) { return x.with(x.hlo().real(x)); }
inline Formula round(Formula x) { return x.with(x.hlo().round_nearest_even(x)); }
inline Formula rsqrt(Formula x) { return x.with(x.hlo().rsqrt(x)); }
inline Formula sign(Formula x) { return x.with(x.hlo().sign(x)); }
inline Formula sin(Formula x) { return x.with(x.hlo().sine(x)); }
Formula complex_sqrt(Formula z);  // elementary_functions.cpp
inline Formula sqrt(Formula x) { return is_complex(x.dtype()) ? complex_sqrt(x) : x.with(x.hlo().sqrt(x)); }
inline Formula tanh(Formula x) { return x.with(x.hlo().tanh(x)); }
inline Formula square(Formula x) { return x * x; }
inline Formula trunc(Formula x) { return select(x < 0.0, ceil(x), floor(x)); }
inline Formula complex(Formula re, Formula im) { return re.with(re.hlo().complex(re, im)); }
// Of real numbers the number itself.
inline Formula real_part(Formula x) { return is_complex(x.dtype()) ? real(x) : x; }
inline Formula conjugate(Formula x) { return is_complex(x.dtype()) ? complex(real(x), -imag(x)) : x; }
// A real value as a number of that dtype, which is its own or the complex one over it.
inline Formula as_dtype(Formula x, DType dtype) { return is_complex(dtype) ? complex(x, x.like(0)) : x; }

inline Formula atan2(Formula y, Formula x) { return y.with(y.hlo().atan2(y, x)); }
inline Formula fmod(Formula x, Formula y) { return x.with(x.hlo().remainder(x, y)); }
inline Formula pow(Formula x, Formula y) { return x.with(x.hlo().power(x, y)); }
// NaN wins, as in PyTorch.
inline Formula max(Formula x, Formula y) { return x.with(x.hlo().maximum_nan(x, y)); }
inline Formula min(Formula x, Formula y) { return x.with(x.hlo().minimum_nan(x, y)); }
inline Formula max(Formula x, double y) { return max(x, x.like(y)); }
inline Formula min(Formula x, double y) { return min(x, x.like(y)); }
inline Formula pow(Formula x, double y) { return pow(x, x.like(y)); }

// Of a mask: whether any element is true, of rank 0.
inline Formula any(Formula mask) {
  Ints axes;
  for (size_t i = 0; i < mask.lower().type(mask).rank(); ++i) axes.push_back(static_cast<int64_t>(i));
  return mask.with(mask.hlo().reduce(mask, axes, Reducer::Or));
}

inline Formula convert(Formula x, DType dtype) { return x.with(x.lower().convert(x, dtype)); }
// The same bits as an integer of the same width, and back.
inline Formula bits(Formula x) {
  DType integer = info(x.dtype()).bytes == 2 ? DType::Int16 : x.dtype() == DType::Float64 ? DType::Int64 : DType::Int32;
  return x.with(x.hlo().bitcast_convert(x, integer));
}
inline Formula from_bits(Formula x, DType dtype) { return x.with(x.hlo().bitcast_convert(x, dtype)); }

// c[0] x^n + ... + c[n] by Horner's rule.
inline Formula polynomial(Formula x, std::span<const double> highest_first) {
  Formula sum = x.like(highest_first[0]);
  for (double c : highest_first.subspan(1)) sum = sum * x + c;
  return sum;
}
inline Formula polynomial(Formula x, std::initializer_list<double> highest_first) {
  return polynomial(x, std::span(highest_first.begin(), highest_first.size()));
}

}  // namespace torchlift::aten::formula

namespace torchlift::aten {
using formula::Formula;
}
