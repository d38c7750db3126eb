// Pointwise operators of two and more tensors: arithmetic, division in all its roundings, powers, bounds.
#include "aten/pointwise.hpp"

#include <cmath>

#include "aten/axes.hpp"
#include "aten/families.hpp"
#include "aten/special_functions.hpp"

namespace torchlift::aten {

using namespace takes;  // NOLINT: the names of kinds of dtypes

namespace {

unsigned kind_of(DType dtype) {
  if (is_bool(dtype)) return kBool;
  if (is_integer(dtype)) return kIntegers;
  if (is_complex(dtype)) return dtype == DType::Complex32 ? kComplexHalf : kComplex;
  return info(dtype).bytes <= 2 ? kHalves : kFloats;
}

// A complex number that is real, beside a real tensor: PyTorch takes it in some places.
Operand real_number(Lower& l, Operand operand) {
  const auto& n = operand.number();
  return n && n->is_complex() && n->to_complex().imag() == 0 ? l.wrap(n->to_complex().real()) : Tensor(operand);
}

DType promoted(std::initializer_list<Tensor> operands) {
  return lower::result_type(std::span(operands.begin(), operands.size()));
}

}  // namespace

bool computes_in(Lower& l, DType dtype, unsigned kinds) {
  if ((kind_of(dtype) & kinds) != 0) return true;
  l.wrong("PyTorch does not compute this in " + std::string(info(dtype).torch_name));
  return false;
}

bool equal_dtypes(Lower& l, Tensor a, Tensor b) {
  if (a.is_poison() || b.is_poison() || a.dtype() == b.dtype()) return true;
  l.wrong("expected equal dtypes, got " + describe(a) + " and " + describe(b));
  return false;
}

// ---- arithmetic

namespace {

// b * factor. Of complex numbers by all four products, also for a factor of one: PyTorch's are NaN in a part where the
// other is infinite.
Formula times(Formula b, const Scalar& factor) {
  if (!is_complex(b.dtype())) return b * b.like(factor);
  std::complex<double> f = factor.to_complex();
  Formula re = real(b), im = imag(b);
  return complex(re * f.real() - im * f.imag(), re * f.imag() + im * f.real());
}

// x / y. Of complex numbers by Smith's method, as PyTorch does: others find an infinity where this gives NaN.
Formula quotient(Formula x, Formula y) {
  if (!is_complex(x.dtype())) return x / y;
  Formula a = real(x), b = imag(x), c = real(y), d = imag(y);
  Formula turned = abs(c) < abs(d);
  // The longer part of y divides the shorter.
  Formula longer = select(turned, d, c), shorter = select(turned, c, d);
  Formula ratio = shorter / longer, scale = 1.0 / (longer + shorter * ratio);
  Formula re = select(turned, a * ratio + b, a + b * ratio) * scale;
  Formula im = select(turned, b * ratio - a, b - a * ratio) * scale;
  Formula zero = eq(c, 0.0) & eq(d, 0.0);
  return select(zero, complex(a / abs(c), b / abs(d)), complex(re, im));
}

Scalar negative(const Scalar& number) {
  if (number.is_complex()) return Scalar(-number.to_complex());
  return number.is_float() ? Scalar(-number.to_double()) : Scalar(-number.to_int());
}

}  // namespace

// self + alpha * other. bool + bool is "or"; alpha must not be a float where the operands are integers.
Tensor add(Lower& l, Tensor self, Operand other, Scalar alpha) {
  if (alpha.is_one() && !is_complex(self.dtype()) && !is_complex(other.dtype())) return l.add(self, other);
  return zip_wide(l, self, other, [&](Formula a, Formula b) { return a + times(b, alpha); });
}

// self - alpha * other. PyTorch refuses bool operands.
Tensor sub(Lower& l, Tensor self, Operand other, Scalar alpha) {
  for (const Tensor& t : {self, Tensor(other)})
    if (is_bool(t.dtype())) return l.wrong("PyTorch subtracts no bool, got " + describe(t));
  if (is_complex(self.dtype()) || is_complex(other.dtype()))
    return zip_wide(l, self, other, [&](Formula a, Formula b) { return a + times(b, negative(alpha)); });
  if (alpha.is_one()) return l.sub(self, other);
  return zip_wide(l, self, other, [&](Formula a, Formula b) { return a - times(b, alpha); });
}

// other - alpha * self.
Tensor rsub(Lower& l, Tensor self, Operand other, Scalar alpha) { return sub(l, other, self, alpha); }

// self * other. bool * bool is "and".
Tensor mul(Lower& l, Tensor self, Operand other) { return l.mul(self, other); }

// self + value * tensor1 * tensor2.
Tensor addcmul(Lower& l, Tensor self, Tensor tensor1, Tensor tensor2, Scalar value) {
  std::array operands{self, tensor1, tensor2};
  DType dtype = lower::result_type(operands);
  if (!computes_in(l, dtype, kNumbers | kComplex | kComplexHalf)) return {};
  return zip_all(l, operands, lower::accumulate_type(dtype), dtype, [&](std::span<const Formula> v) {
    bool plain = value.is_one() && !is_complex(dtype);
    return plain ? v[0] + v[1] * v[2] : v[0] + times(v[1], value) * v[2];
  });
}

// self + value * tensor1 / tensor2. PyTorch refuses to divide integers.
Tensor addcdiv(Lower& l, Tensor self, Tensor tensor1, Tensor tensor2, Scalar value) {
  std::array operands{self, tensor1, tensor2};
  DType dtype = lower::result_type(operands);
  if (is_integral(tensor1.dtype()) && is_integral(tensor2.dtype()))
    return l.wrong("integer division with addcdiv is no longer supported by PyTorch");
  if (!computes_in(l, dtype, kRealFloats | kComplex)) return {};
  return zip_all(l, operands, lower::accumulate_type(dtype), dtype,
                 [&](std::span<const Formula> v) { return v[0] + quotient(times(v[1], value), v[2]); });
}

// self + weight * (end - self), from whichever end is nearer, as PyTorch does: exact at both. A weight without
// dimensions may have any dtype.
Tensor lerp(Lower& l, Tensor self, Tensor end, Operand weight) {
  if (!is_complex(self.dtype())) weight = real_number(l, weight);
  std::array operands{self, end, Tensor(weight)};
  DType dtype = weight.number() ? self.dtype() : lower::result_type(operands);
  if (!equal_dtypes(l, self, end) || (weight.rank() > 0 && !equal_dtypes(l, self, weight))) return {};
  if (!computes_in(l, dtype, kRealFloats | kComplex)) return {};
  return zip_all(l, operands, lower::accumulate_type(dtype), dtype, [&](std::span<const Formula> v) {
    Formula distance = v[1] - v[0], w = v[2];
    return select(abs(w) < 0.5, v[0] + w * distance, v[1] - distance * (1.0 - w));
  });
}

// ---- division

// self / other; integers become float32.
Tensor div(Lower& l, Tensor self, Operand other) {
  DType dtype = promoted({self, other});
  if (!computes_in(l, dtype, kReal | kComplex)) return {};
  return is_complex(dtype) ? zip_wide(l, self, other, quotient) : l.div(self, other);
}

namespace {

// Whether a remainder with the dividend's sign must move by one divisor to get the divisor's sign.
Formula needs_correction(Formula remainder, Formula divisor) {
  Formula differs = (remainder < 0.0) ^ (divisor < 0.0);
  return ne(remainder, 0.0) & differs;
}

// ATen's div_floor_floating: the quotient from the remainder, which floor(a / b) misses by one where a / b rounds up.
Formula floor_quotient_of_floats(Formula a, Formula b) {
  Formula remainder = fmod(a, b);
  Formula quotient = (a - remainder) / b;
  quotient = select(needs_correction(remainder, b), quotient - 1.0, quotient);
  Formula whole = floor(quotient);
  whole = select(quotient - whole > 0.5, whole + 1.0, whole);
  Formula by_zero = a / b;
  Formula signed_zero = by_zero * 0.0;
  whole = select(ne(quotient, 0.0), whole, signed_zero);
  return select(eq(b, 0.0), by_zero, whole);
}

Formula floor_quotient_of_integers(Formula a, Formula b) {
  Formula quotient = a / b;
  if (is_unsigned(a.dtype())) return quotient;
  return select(needs_correction(a - quotient * b, b), quotient - 1.0, quotient);
}

Formula floor_quotient(Formula a, Formula b) {
  return is_integral(a.dtype()) ? floor_quotient_of_integers(a, b) : floor_quotient_of_floats(a, b);
}

}  // namespace

// The quotient rounded down (floor) or toward zero (trunc), in result_type; integers stay integers.
Tensor div_mode(Lower& l, Tensor self, Operand other, Optional<std::string> rounding_mode) {
  if (!rounding_mode) return div(l, self, other);
  if (!computes_in(l, promoted({self, other}), kNumbers)) return {};
  if (*rounding_mode == "floor") return zip_wide(l, self, other, floor_quotient);
  if (*rounding_mode == "trunc")  // PyTorch rounds the quotient to half precision first
    return zip_wide(l, self, other, [&](Formula a, Formula b) {
      return is_integral(a.dtype()) ? a / b : trunc(a.with(rounded(l, a / b, promoted({self, other}))));
    });
  return l.unsupported("rounding_mode", "'" + *rounding_mode + "'", "PyTorch knows None, 'trunc' and 'floor'");
}

Tensor floor_divide(Lower& l, Tensor self, Operand other) {
  return computes_in(l, promoted({self, other}), kNumbers) ? zip_wide(l, self, other, floor_quotient) : Tensor();
}

namespace {

// fn(a, b) in result_type, to which PyTorch rounds a number first here. Half precision is computed in float32.
template <typename Fn>
Tensor zip_rounded(Lower& l, Tensor a, Tensor b, Fn&& fn) {
  DType dtype = lower::result_type(std::array{a, b});
  if (!computes_in(l, dtype, kNumbers)) return {};
  return zip_wide(l, l.to(a, dtype), l.to(b, dtype), std::forward<Fn>(fn));
}

}  // namespace

// Python's %: the sign of the divisor.
Tensor remainder(Lower& l, Operand self, Operand other) {
  return zip_rounded(l, self, other, [](Formula a, Formula b) {
    Formula r = fmod(a, b);
    return is_unsigned(a.dtype()) ? r : select(needs_correction(r, b), r + b, r);
  });
}

// C's fmod: the sign of the dividend.
Tensor fmod(Lower& l, Tensor self, Operand other) {
  return zip_rounded(l, self, other, [](Formula a, Formula b) { return formula::fmod(a, b); });
}

// ---- powers

namespace {

// base ** n by repeated squaring, n > 0.
Formula integer_power(Formula base, int64_t n) {
  Optional<Formula> result;
  for (; n > 0; n >>= 1) {
    if (n & 1) result = result ? *result * base : base;
    if (n > 1) base = base * base;
  }
  return result.value_or(base);
}

// The same by a tensor of exponents, bit by bit. StableHLO's power stops at six bits on some back ends, and leaves open
// what it does with negative exponents: of 1 and -1 they are the power of the exponent's size, of all others 0.
Formula integer_power(Formula base, Formula n) {
  Lower& l = base.lower();
  bool is_signed = !is_unsigned(base.dtype());
  Formula one = base.like(1);
  Values end = l.hlo.while_(
      {base, is_signed ? formula::abs(n) : n, one},
      [&](std::span<const Value> v) { return any(ne(Formula(l, v[1]), 0.0)); },
      [&](std::span<const Value> v) {
        Formula square(l, v[0]), rest(l, v[1]), product(l, v[2]);
        Formula odd = ne(rest & one, 0.0);
        Value half = l.hlo.shift_right_logical(rest, one);
        return Values{square * square, half, select(odd, product * square, product)};
      });
  Formula power(l, end[2]);
  if (!is_signed) return power;
  Formula is_unit = eq(base, 1.0) | eq(base, -1.0);
  return select((n >= 0.0) | is_unit, power, 0.0);
}

// As C's cpow where an operand is not finite; elsewhere the plugin's power is the nearer one.
Formula power(Formula x, Formula y) {
  if (!is_complex(x.dtype())) return formula::pow(x, y);
  Formula finite = is_finite(real(x)) & is_finite(imag(x)) & is_finite(real(y)) & is_finite(imag(y));
  return select(finite, formula::pow(x, y), formula::c_exp(formula::c_product(y, formula::c_log(x))));
}

constexpr int64_t kLargestUnrolledPower = 16;

// ATen's pow_tensor_scalar: roots (not of float16) and small powers are computed as such.
Formula power_by_number(Formula base, const Scalar& exponent, bool roots) {
  if (exponent.is_zero()) return base.like(1);
  if (exponent.is_one()) return base;
  bool floating = !is_integral(base.dtype());
  roots = roots && floating;
  if (roots && exponent.equals(0.5)) return sqrt(base);
  if (roots && exponent.equals(-0.5)) return rsqrt(base);
  double n = exponent.is_complex() ? 0.5 : exponent.to_double();
  if (!floating) return integer_power(base, exponent.to_int());
  if (n > 0 && n <= kLargestUnrolledPower && n == std::trunc(n)) return integer_power(base, static_cast<int64_t>(n));
  if (floating && (n == -1 || n == -2)) return 1.0 / integer_power(base, static_cast<int64_t>(-n));
  return power(base, base.like(exponent));
}

}  // namespace

// self ** exponent in result_type. Integers to a negative number are refused, as in PyTorch.
Tensor pow(Lower& l, Operand self, Operand exponent) {
  if (!exponent.number() && !self.number() && !computes_in(l, promoted({self, exponent}), kNumbers | kComplex))
    return {};
  if (!exponent.number())
    return zip_wide(l, self, exponent,
                    [](Formula a, Formula b) { return is_integer(a.dtype()) ? integer_power(a, b) : power(a, b); });
  const Scalar& number = *exponent.number();
  DType dtype = lower::result_type(std::array{Tensor(self), Tensor(exponent)});
  if (is_integral(dtype) && number.to_int() < 0)
    return l.wrong("integers to the negative power " + number.text() + " are not allowed");
  return zip_all(l, std::array{Tensor(self)}, lower::accumulate_type(dtype), dtype,
                 [&](std::span<const Formula> v) { return power_by_number(v[0], number, dtype != DType::Float16); });
}

// pow in float64, or complex128.
Tensor float_power(Lower& l, Operand self, Operand exponent) {
  bool complex = is_complex(self.dtype()) || is_complex(exponent.dtype());
  DType dtype = complex ? DType::Complex128 : DType::Float64;
  if (exponent.number())
    return zip_all(l, std::array{Tensor(self)}, dtype, dtype,
                   [&](std::span<const Formula> v) { return power_by_number(v[0], *exponent.number(), true); });
  return zip(l, self, exponent, dtype, power);
}

// self * 2 ** other. PyTorch takes no bool to scale floats, and makes a complex half of a complex number's float16.
Tensor ldexp(Lower& l, Tensor self, Tensor other) {
  if (is_float(self.dtype()) && is_bool(other.dtype())) return l.wrong("expected numbers, got " + describe(other));
  if (is_complex(self.dtype()) && other.dtype() == DType::Float16 && other.rank() > 0)
    return l.wrong("PyTorch does not compute this in complex32");
  return zip_float(l, self, other, [](Formula x, Formula n) { return x * exp2(n); });
}

// ---- bounds

// min(max(self, min), max) in the type promoted over the bounds: NaN stays, and where min > max the result is max.
Tensor clamp(Lower& l, Tensor self, Optional<Operand> min, Optional<Operand> max) {
  if (!min && !max) return l.wrong("clamp: at least one of `min` and `max` must not be None");
  std::vector<Tensor> operands{self};
  bool numbers = true;
  for (const auto& bound : {min, max}) {
    if (!bound) continue;
    numbers = numbers && bound->is_wrapped_number();
    operands.push_back(min && max && is_float(self.dtype()) ? real_number(l, *bound) : *bound);
  }
  DType dtype = lower::result_type(operands);
  if (!computes_in(l, dtype, numbers || operands.size() == 3 ? kNumbers : kReal)) return {};
  return zip_all(l, operands, dtype, dtype, [&](std::span<const Formula> v) {
    Formula x = v[0];
    if (min) x = formula::max(x, v[1]);
    if (max) x = formula::min(x, v.back());
    return x;
  });
}
Tensor clamp_min(Lower& l, Tensor self, Operand min) { return clamp(l, self, min, {}); }
Tensor clamp_max(Lower& l, Tensor self, Operand max) { return clamp(l, self, {}, max); }

// The greater; NaN wins.
Tensor maximum(Lower& l, Tensor self, Tensor other) {
  return computes_in(l, promoted({self, other}), kReal) ? l.maximum(self, other) : Tensor();
}
Tensor minimum(Lower& l, Tensor self, Tensor other) {
  return computes_in(l, promoted({self, other}), kReal) ? l.minimum(self, other) : Tensor();
}

// The greater; a NaN is passed over where the other is a number.
Tensor fmax(Lower& l, Tensor self, Tensor other) {
  if (!computes_in(l, promoted({self, other}), kReal)) return {};
  return zip(l, self, other, {},
             [](Formula a, Formula b) { return select(is_nan(a), b, select(is_nan(b), a, max(a, b))); });
}
Tensor fmin(Lower& l, Tensor self, Tensor other) {
  if (!computes_in(l, promoted({self, other}), kReal)) return {};
  return zip(l, self, other, {},
             [](Formula a, Formula b) { return select(is_nan(a), b, select(is_nan(b), a, min(a, b))); });
}

// 0 below zero, 1 above, values at zero; NaN gives 0.
Tensor heaviside(Lower& l, Tensor self, Tensor values) {
  if (!equal_dtypes(l, self, values) || !computes_in(l, self.dtype(), kReal)) return {};
  return zip(l, self, values, {},
             [](Formula x, Formula v) { return select(eq(x, 0.0), v, convert(x > 0.0, x.dtype())); });
}

// ---- formulas of two operands

Tensor atan2(Lower& l, Tensor self, Tensor other) { return zip_float(l, self, other, formula::atan2, kRealFloats); }

// sqrt(self^2 + other^2), scaled by the greater so that no square overflows.
Tensor hypot(Lower& l, Tensor self, Tensor other) {
  if (!computes_in(l, promoted({self, other}), kRealFloats)) return {};
  return zip_wide(l, self, other, [](Formula a, Formula b) {
    Formula x = abs(a), y = abs(b);
    Formula large = max(x, y), small = min(x, y);
    Formula infinity = large.like(std::numeric_limits<double>::infinity());
    Formula root = large * sqrt(square(small / large) + 1.0);
    root = select(eq(large, 0.0), large, root);
    return select(eq(x, infinity) | eq(y, infinity), infinity, root);
  });
}

// self with the sign of other; the signs of zeros and NaN count.
Tensor copysign(Lower& l, Tensor self, Operand other) {
  return zip_float(l, self, other, [](Formula a, Formula b) { return with_sign_of(a, b); });
}

// The next representable number toward other: one step in the integers that order floats as their bits do.
Tensor nextafter(Lower& l, Tensor self, Tensor other) {
  if (!computes_in(l, promoted({self, other}), kRealFloats)) return {};
  return zip(l, self, other, {}, formula::next_toward);
}

// self * log(other), 0 where self is 0 (unless other is NaN).
Tensor xlogy(Lower& l, Operand self, Operand other) {
  return zip_float(
      l, self, other, [](Formula x, Formula y) { return select(is_nan(y), y, select(eq(x, 0.0), 0.0, x * log(y))); },
      kRealFloats);
}
Tensor xlog1py(Lower& l, Operand self, Operand other) {
  return zip_float(
      l, self, other, [](Formula x, Formula y) { return select(is_nan(y), y, select(eq(x, 0.0), 0.0, x * log1p(y))); },
      kRealFloats);
}

namespace {

// log(exp(a) + exp(b)) of complex numbers, by the greater real part, as PyTorch has it where they are not finite.
Formula complex_log_of_sum(Formula a, Formula b) {
  Formula first = real(a) >= real(b);
  Formula result = select(first, a, b) + log1p(formula::c_exp(select(first, b - a, a - b)));
  Formula level = eq(real(a), real(b)) & !is_finite(real(a));
  result = select(level, select(real(a) < 0.0, b, formula::c_log(formula::c_exp(a) + formula::c_exp(b))), result);
  Formula nan = is_nan(real(a)) | is_nan(imag(a)) | is_nan(real(b)) | is_nan(imag(b));
  Formula part = real(a).like(kNaN);
  return select(nan, complex(part, part), result);
}

// log(exp(a) + exp(b)) without overflow: the greater plus a correction; two equal infinities are that infinity.
template <typename Correction>
Tensor log_of_sum(Lower& l, Tensor self, Tensor other, unsigned kinds, Correction&& correction) {
  if (!computes_in(l, promoted({self, other}), kinds)) return {};
  return zip_wide(l, self, other, [&](Formula a, Formula b) {
    if (is_complex(a.dtype())) return complex_log_of_sum(a, b);
    Formula infinite = eq(abs(a), std::numeric_limits<double>::infinity()) & eq(a, b);
    return select(infinite, a, max(a, b) + correction(-abs(a - b)));
  });
}

}  // namespace

Tensor logaddexp(Lower& l, Tensor self, Tensor other) {
  return log_of_sum(l, self, other, kRealFloats | kComplex, [](Formula d) { return log1p(exp(d)); });
}
Tensor logaddexp2(Lower& l, Tensor self, Tensor other) {
  return log_of_sum(l, self, other, kRealFloats, [](Formula d) { return log1p(exp2(d)) * kLog2OfE; });
}

std::span<const Row> pointwise_ops() {
  static constexpr Row rows[] = {
      op<add>("add"),
      op<addcdiv>("addcdiv"),
      op<addcmul>("addcmul"),
      op<atan2>("arctan2"),
      op<atan2>("atan2"),
      op<clamp>("clamp"),
      op<clamp_max>("clamp_max"),
      op<clamp_min>("clamp_min"),
      op<clamp>("clip"),
      op<copysign>("copysign"),
      op<div>("div"),
      op<div_mode>("div"),
      op<div>("divide"),
      op<div_mode>("divide"),
      op<float_power>("float_power"),
      op<floor_divide>("floor_divide"),
      op<fmax>("fmax"),
      op<fmin>("fmin"),
      op<fmod>("fmod"),
      op<heaviside>("heaviside"),
      op<hypot>("hypot"),
      op<ldexp>("ldexp"),
      op<lerp>("lerp"),
      op<logaddexp>("logaddexp"),
      op<logaddexp2>("logaddexp2"),
      op<maximum>("max.other"),
      op<maximum>("maximum"),
      op<minimum>("min.other"),
      op<minimum>("minimum"),
      op<mul>("mul"),
      op<mul>("multiply"),
      op<nextafter>("nextafter"),
      op<pow>("pow"),
      op<remainder>("remainder"),
      op<rsub>("rsub"),
      op<xlog1py>("special_xlog1py"),
      op<xlogy>("special_xlogy"),
      op<sub>("sub"),
      op<sub>("subtract"),
      op<div>("true_divide"),
      op<xlogy>("xlogy"),
  };
  return rows;
}

}  // namespace torchlift::aten
