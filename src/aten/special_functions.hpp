// Elementary and special functions that StableHLO does not have, written out in its operators. Real arguments are
// float32 or float64. Unless said otherwise a function keeps the dtype of its argument.
#pragma once

#include <limits>

#include "aten/formula.hpp"

namespace torchlift::aten {

constexpr double kPi = 3.14159265358979323846;
constexpr double kLog2OfE = 1.44269504088896340736;
constexpr double kLn2 = 0.69314718055994530942;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

namespace formula {

// ---- bits of floats
Formula with_sign_of(Formula magnitude, Formula sign);  // signs of zeros and NaN count
Formula sign_bit(Formula x);                            // i1
Formula next_toward(Formula from, Formula to);
struct Parts {
  Formula mantissa, exponent;  // x = mantissa * 2^exponent, 0.5 <= |mantissa| < 1; the exponent is int32
};
Parts frexp(Formula x);

// ---- complex numbers as in C, which tells what becomes of infinities
Formula c_product(Formula x, Formula y);
Formula c_exp(Formula z);
Formula c_log(Formula z);

// ---- exponentials; the powers of two are exact
Formula exp2(Formula x);
Formula log2(Formula x);
Formula log10(Formula x);

// ---- trigonometry, real and complex
Formula tan(Formula x);
Formula asin(Formula x);
Formula acos(Formula x);
Formula atan(Formula x);
Formula sinh(Formula x);
Formula cosh(Formula x);
Formula asinh(Formula x);
Formula acosh(Formula x);
Formula atanh(Formula x);

// ---- error functions
Formula erf(Formula x);
Formula erfc(Formula x);
Formula erfcx(Formula x);  // exp(x^2) erfc(x)
Formula erfinv(Formula x);
Formula ndtri(Formula p);     // quantiles of the normal distribution
Formula log_ndtr(Formula x);  // log of its distribution function

// ---- gamma functions
Formula lgamma(Formula x);
Formula digamma(Formula x);
Formula polygamma(int64_t n, Formula x);
Formula zeta(Formula s, Formula q);  // Hurwitz

// ---- Bessel functions
Formula bessel_j0(Formula x);
Formula bessel_j1(Formula x);
Formula bessel_y0(Formula x);
Formula bessel_y1(Formula x);
Formula i0(Formula x);
Formula i0e(Formula x);  // exp(-|x|) i0(x)
Formula i1(Formula x);
Formula i1e(Formula x);
Formula k0(Formula x);
Formula k0e(Formula x);  // exp(x) k0(x)
Formula k1(Formula x);
Formula k1e(Formula x);
Formula spherical_j0(Formula x);
Formula airy_ai(Formula x);

// fn(x) computed in float64 and rounded once: for functions too delicate for float32.
template <typename Fn>
Formula in_float64(Formula x, Fn&& fn) {
  return convert(fn(convert(x, DType::Float64)), x.dtype());
}

}  // namespace formula
}  // namespace torchlift::aten
