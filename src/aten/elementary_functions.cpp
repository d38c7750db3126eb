// Exponentials, trigonometry and the bits of floats.
#include <algorithm>
#include <cmath>

#include "aten/special_functions.hpp"

namespace torchlift::aten::formula {
namespace {

constexpr double kLog10OfE = 0.43429448190325182765;
constexpr double kLn10 = 2.30258509299404568402;

// How a float of this dtype is laid out.
struct Layout {
  int64_t mantissa_bits, bias;
  int64_t exponent_mask;  // after shifting the mantissa away
};
Layout layout_of(DType dtype) {
  if (dtype == DType::Float64) return {52, 1023, 0x7ff};
  return {23, 127, 0xff};
}

// Of bits: integers that a double cannot hold exactly.
Formula whole(Formula like, int64_t value) { return like.like(Scalar(value)); }
Formula shift_right(Formula x, int64_t n) { return x.with(x.hlo().shift_right_logical(x, whole(x, n))); }
Formula shift_left(Formula x, int64_t n) { return x.with(x.hlo().shift_left(x, whole(x, n))); }
int64_t sign_mask(DType dtype) {
  if (info(dtype).bytes == 2) return INT16_MIN;
  return dtype == DType::Float64 ? INT64_MIN : int64_t{INT32_MIN};
}

// The biased exponent field of a float, as an integer of its width.
Formula exponent_field(Formula x) {
  Layout layout = layout_of(x.dtype());
  Formula field = shift_right(bits(x), layout.mantissa_bits);
  return field & whole(field, layout.exponent_mask);
}

// The float with the same sign and mantissa and this biased exponent.
Formula with_exponent_field(Formula x, int64_t biased) {
  Layout layout = layout_of(x.dtype());
  Formula b = bits(x);
  Formula cleared = b & whole(b, ~(layout.exponent_mask << layout.mantissa_bits));
  return from_bits(cleared | whole(b, biased << layout.mantissa_bits), x.dtype());
}

// 2^n of whole n, |n| within the exponents of normal numbers.
Formula power_of_two(Formula n) {
  Layout layout = layout_of(n.dtype());
  DType integer = n.dtype() == DType::Float64 ? DType::Int64 : DType::Int32;
  Formula biased = convert(n, integer) + static_cast<double>(layout.bias);
  return from_bits(shift_left(biased, layout.mantissa_bits), n.dtype());
}

bool is_complex(Formula x) { return torchlift::is_complex(x.dtype()); }

// A complex number over a real one: an infinite part leaves the other alone.
Formula over(Formula z, double divisor) { return complex(real(z) / divisor, imag(z) / divisor); }

}  // namespace

// ---- bits

Formula with_sign_of(Formula magnitude, Formula sign) {
  Formula m = bits(magnitude), s = bits(sign);
  Formula mask = whole(m, sign_mask(magnitude.dtype()));
  return from_bits((m & !mask) | (s & mask), magnitude.dtype());
}

// The imaginary part has the sign of the operand's, which tells the sides of the branch cut apart, also where it is
// zero.
Formula complex_sqrt(Formula z) {
  Formula root = z.with(z.hlo().sqrt(z));
  return complex(real(root), with_sign_of(imag(root), imag(z)));
}

namespace {

Formula infinite(Formula x) { return eq(abs(x), kInfinity); }

}  // namespace

Formula c_exp(Formula z) {
  Formula re = real(z), im = imag(z), size = exp(re);
  Formula angle = is_finite(im);
  Formula gone = eq(re, -kInfinity);
  // Without an angle only the greatest and the least size say anything.
  Formula unknown = select(gone, 0.0, re.like(kNaN));
  Formula lost = complex(select(eq(re, kInfinity), re, unknown), unknown);
  Formula result = select(angle, exp(z), lost);
  return select(eq(im, 0.0), complex(size, im), result);
}

Formula c_log(Formula z) {
  Formula re = real(z), im = imag(z);
  return select(infinite(re) | infinite(im), complex(re.like(kInfinity), atan2(im, re)), log(z));
}

// Products of zeros in NaN's place, and of ones in an infinity's, say what an infinity times a number is.
Formula c_product(Formula x, Formula y) {
  Formula a = real(x), b = imag(x), c = real(y), d = imag(y);
  auto boxed = [&](Formula v) { return with_sign_of(convert(infinite(v), v.dtype()), v); };
  auto no_nan = [](Formula v) { return select(is_nan(v), with_sign_of(v.like(0), v), v); };
  auto re = [&] { return a * c - b * d; };
  auto im = [&] { return a * d + b * c; };
  Formula lost = is_nan(re()) & is_nan(im()), plain = complex(re(), im());
  Formula left = infinite(a) | infinite(b), right = infinite(c) | infinite(d);
  Formula overflow = (infinite(a * c) | infinite(b * d) | infinite(a * d) | infinite(b * c)) & !(left | right);
  Formula clear_left = right | overflow, clear_right = left | overflow;
  a = select(left, boxed(a), a), b = select(left, boxed(b), b);
  c = select(clear_right, no_nan(c), c), d = select(clear_right, no_nan(d), d);
  c = select(right, boxed(c), c), d = select(right, boxed(d), d);
  a = select(clear_left, no_nan(a), a), b = select(clear_left, no_nan(b), b);
  return select(lost & (left | right | overflow), complex(re() * kInfinity, im() * kInfinity), plain);
}

Formula sign_bit(Formula x) { return bits(x) < 0.0; }

Formula next_toward(Formula from, Formula to) {
  Formula b = bits(from), one = whole(b, 1);
  // Away from zero the bits rise; from zero the first step is the smallest number with the sign of `to`.
  Formula outward = ((from < to) & (from > 0.0)) | ((from > to) & (from < 0.0));
  Formula stepped = from_bits(select(outward, b + one, b - one), from.dtype());
  Formula smallest = from_bits((bits(to) & whole(b, sign_mask(from.dtype()))) | one, from.dtype());
  Formula result = select(eq(from, 0.0), smallest, stepped);
  result = select(eq(from, to), to, result);
  return select(is_nan(from) | is_nan(to), from + to, result);
}

Parts frexp(Formula x) {
  Layout layout = layout_of(x.dtype());
  Formula exponent = convert(exponent_field(x) - static_cast<double>(layout.bias - 1), DType::Int32);
  Formula mantissa = with_exponent_field(x, layout.bias - 1);
  Formula plain = eq(x, 0.0) | !is_finite(x);
  return {select(plain, x, mantissa), select(plain, 0.0, exponent)};
}

// ---- exponentials

// Its Taylor series near zero, where exp - 1 cancels. The operator of StableHLO is off by up to 6 ulp, and so is exp
// for float32 near its end: it is taken there at 64 powers of two below.
Formula expm1(Formula x) {
  if (is_complex(x)) return x.with(x.hlo().exponential_minus_one(x));
  bool wide = x.dtype() == DType::Float64;
  double c = 1;
  std::vector<double> coefficients;  // 1 / 2!, 1 / 3!, ...
  for (int k = 2; k <= (wide ? 19 : 12); ++k) coefficients.push_back(c /= k);
  std::reverse(coefficients.begin(), coefficients.end());
  Formula series = x * (x * polynomial(x, coefficients) + 1.0);  // -0 stays
  constexpr double kFar = 44.361419677734375;                    // a float32: the difference is exact
  Formula far = x > kFar;
  Formula power = wide ? exp(x) : exp(select(far, x - kFar, x)) * select(far, std::exp(kFar), x.like(1));
  return select(abs(x) < 1.0, series, power - 1.0);
}

// 2 atanh(x / (2 + x)) near zero, by its series. The operator of StableHLO is off by up to 22 ulp in float64.
Formula log1p(Formula x) {
  if (is_complex(x)) return x.with(x.hlo().log_plus_one(x));
  std::vector<double> coefficients;  // 2, 2/3, 2/5, ...
  for (int k = x.dtype() == DType::Float64 ? 12 : 5; k >= 0; --k) coefficients.push_back(2.0 / (2 * k + 1));
  Formula inverse = 1.0 / (x + 2.0), s = x * inverse;
  Formula series = x * (polynomial(s * s, coefficients) * inverse);  // not s * ...: s may be subnormal
  return select((x > std::sqrt(0.5) - 1) & (x < std::sqrt(2.0) - 1), series, log(x + 1.0));
}

// exp of the fraction, times the power of two in two factors, so that results near the limits neither overflow nor
// vanish.
Formula exp2(Formula x) {
  if (is_complex(x)) return exp(x * kLn2);
  double limit = static_cast<double>(layout_of(x.dtype()).bias);
  Formula n = round(x);
  n = max(min(n, 2 * limit - 2), 2 - 2 * limit);
  n = select(is_nan(n), 0.0, n);
  Formula half = floor(n * 0.5);
  Formula result = exp((x - n) * kLn2) * power_of_two(half) * power_of_two(n - half);
  result = select(x > limit + 1, kInfinity, result);
  return select(x < -2 * limit, 0.0, result);
}

// The exponent, plus the logarithm of a mantissa between sqrt(1/2) and sqrt(2).
Formula log2(Formula x) {
  if (is_complex(x)) return over(log(x), kLn2);
  Layout layout = layout_of(x.dtype());
  Formula exponent = convert(exponent_field(x) - static_cast<double>(layout.bias), x.dtype());
  Formula mantissa = with_exponent_field(x, layout.bias);
  Formula high = mantissa > std::sqrt(2.0);
  Formula result = select(high, exponent + 1.0, exponent) + log(select(high, mantissa * 0.5, mantissa)) * kLog2OfE;
  Formula normal = (x > 0.0) & (x < kInfinity);
  return select(normal, result, log(x));
}

Formula log10(Formula x) { return is_complex(x) ? over(log(x), kLn10) : log(x) * kLog10OfE; }

// ---- trigonometry. Complex forms after W. Kahan, "Branch cuts for complex elementary functions" (1987).

namespace {

struct Pair {
  Formula re, im;
};
Pair parts(Formula z) { return {real(z), imag(z)}; }
Pair root_of(Formula re, Formula im) { return parts(sqrt(complex(re, im))); }
Formula times_i(Formula z) { return complex(-imag(z), real(z)); }
Formula over_i(Formula z) { return complex(imag(z), -real(z)); }

// (exp(x) - exp(-x)) / 2 or their sum, x >= 0. exp overflows before the result does; its square root does not, but is
// less exact when squared.
Formula half_sum(Formula x, bool of_difference) {
  double overflows = std::log(std::get<double>(stablehlo::largest_finite(x.dtype())));
  Formula e = exp(x), root = exp(x * 0.5);
  Formula inverse = 0.5 / e;
  Formula result = of_difference ? e * 0.5 - inverse : e * 0.5 + inverse;
  return select(x < overflows - 1, result, root * 0.5 * root);
}
Formula real_sinh(Formula x) {
  Formula m = expm1(x);
  Formula small = (m + m / (m + 1.0)) * 0.5;
  Formula large = half_sum(abs(x), true);
  return select(abs(x) < 1.0, small, select(x < 0.0, -large, large));
}
Formula real_cosh(Formula x) { return half_sum(abs(x), false); }

constexpr double kSquareOverflows = 1e15;  // beyond it x^2 + 1 is x^2 in every dtype

Formula real_asinh(Formula x) {
  Formula a = abs(x);
  Formula small = log1p(a + a * a / (1.0 + sqrt(a * a + 1.0)));
  Formula large = log(a) + kLn2;
  return with_sign_of(select(a > kSquareOverflows, large, small), x);
}
Formula real_acosh(Formula x) {
  Formula t = x - 1.0;
  Formula result = select(x > kSquareOverflows, log(x) + kLn2, log1p(t + sqrt(t * (t + 2.0))));
  return select(x < 1.0, kNaN, result);
}

}  // namespace

Formula tan(Formula x) {
  if (is_complex(x)) return over_i(tanh(times_i(x)));
  return sin(x) / cos(x);
}

Formula asin(Formula x) {
  if (!is_complex(x)) return atan2(x, sqrt((1.0 - x) * (1.0 + x)));
  auto [re, im] = parts(x);
  Pair minus = root_of(1.0 - re, -im), plus = root_of(1.0 + re, im);
  return complex(atan2(re, minus.re * plus.re - minus.im * plus.im),
                 real_asinh(minus.re * plus.im - minus.im * plus.re));
}

Formula acos(Formula x) {
  if (!is_complex(x)) return atan2(sqrt(1.0 - x), sqrt(1.0 + x)) * 2.0;
  auto [re, im] = parts(x);
  Pair minus = root_of(1.0 - re, -im), plus = root_of(1.0 + re, im);
  return complex(atan2(minus.re, plus.re) * 2.0, real_asinh(plus.re * minus.im - plus.im * minus.re));
}

// The constant 1 is hidden from the compiler: atan2 by a constant one is miscompiled by a CPU plugin for 64 and more
// elements.
Formula atan(Formula x) {
  if (is_complex(x)) return over_i(atanh(times_i(x)));
  Value one = x.hlo().optimization_barrier({x.lower().constant(x.dtype(), 1)})[0];
  return atan2(x, x.with(x.lower().broadcast_to(one, x.lower().type(x).dims)));
}

Formula sinh(Formula x) {
  if (!is_complex(x)) return real_sinh(x);
  auto [re, im] = parts(x);
  return complex(real_sinh(re) * cos(im), real_cosh(re) * sin(im));
}

Formula cosh(Formula x) {
  if (!is_complex(x)) return real_cosh(x);
  auto [re, im] = parts(x);
  return complex(real_cosh(re) * cos(im), real_sinh(re) * sin(im));
}

Formula asinh(Formula x) { return is_complex(x) ? over_i(asin(times_i(x))) : real_asinh(x); }

Formula acosh(Formula x) {
  if (!is_complex(x)) return real_acosh(x);
  auto [re, im] = parts(x);
  Pair minus = root_of(re - 1.0, im), plus = root_of(re + 1.0, im);
  return complex(real_asinh(minus.re * plus.re + minus.im * plus.im), atan2(minus.im, plus.re) * 2.0);
}

Formula atanh(Formula x) {
  if (!is_complex(x)) return (log1p(x) - log1p(-x)) * 0.5;
  auto [re, im] = parts(x);
  Formula size = abs(re);  // the real part is odd: no cancellation where re is near -1
  Formula squared = square(1.0 - size) + square(im);
  return complex(with_sign_of(log1p(size * 4.0 / squared) * 0.25, re),
                 atan2(im * 2.0, (1.0 - re) * (1.0 + re) - square(im)) * 0.5);
}

}  // namespace torchlift::aten::formula
