// Error functions, normal quantiles, gamma functions.
#include "aten/special_functions.hpp"

#include <cmath>

namespace torchlift::aten::formula {
namespace {

constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kInverseSqrtPi = 0.56418958354775628695;

// ---- W. J. Cody, "Rational Chebyshev approximations for the error function", Math. Comp. 23 (1969)

constexpr double kCodySmall = 0.46875;

// erf(x) for |x| <= kCodySmall.
Formula erf_near_zero(Formula x) {
  Formula t = x * x;
  Formula p = polynomial(t, {1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2,
                             3.77485237685302021e2, 3.20937758913846947e3});
  Formula q =
      polynomial(t, {1, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3});
  return x * p / q;
}

// exp(y^2) erfc(y) for y > kCodySmall.
Formula scaled_erfc(Formula y) {
  Formula p = polynomial(y, {2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0,
                             6.61191906371416295e1, 2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3,
                             2.05107837782607147e3, 1.23033935479799725e3});
  Formula q =
      polynomial(y, {1, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
                     3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3});
  Formula u = 1.0 / (y * y);
  Formula r = polynomial(u, {1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1,
                             1.25781726111229246e-1, 1.60837851487422766e-2, 6.58749161529837803e-4});
  Formula s = polynomial(u, {1, 2.56852019228982242e0, 1.87295284992346725e0, 5.27905102951428412e-1,
                             6.05183413124413191e-2, 2.33520497626869185e-3});
  return select(y <= 4.0, p / q, (kInverseSqrtPi - u * r / s) / y);
}

// exp(-y^2) * factor, with the square split so that its rounding does not show. The factor stands between the two: a
// compiler would join exp(a) * exp(b) again.
Formula exp_of_negative_square(Formula y, Formula factor) {
  Formula coarse = floor(y * 16.0) / 16.0;
  return exp(-coarse * coarse) * (factor * exp(-(y - coarse) * (y + coarse)));
}

constexpr double kErfcVanishes = 30;  // erfc is below every float64 from here on

Formula erfc64(Formula x) {
  Formula y = min(abs(x), kErfcVanishes);
  Formula tail = exp_of_negative_square(y, scaled_erfc(y));
  return select(y <= kCodySmall, 1.0 - erf_near_zero(x), select(x < 0.0, 2.0 - tail, tail));
}

Formula erf64(Formula x) {
  Formula y = min(abs(x), kErfcVanishes);
  Formula tail = 1.0 - exp_of_negative_square(y, scaled_erfc(y));
  return select(y <= kCodySmall, erf_near_zero(x), select(x < 0.0, -tail, tail));
}

constexpr double kErf32Small = 0.875, kErf32IsOne = 4.2;

// Least-squares fits: x + x P(x^2) near zero, beyond 1 - exp(-y^2) R(1 / (1 + y)) of y = |x|.
Formula erf32(Formula x) {
  Formula small = x + x * polynomial(x * x, {-0.0006304264624389471, 0.005050248318742144, -0.02680269021374444,
                                             0.11282737522433336, -0.37612575001941057, 0.12837916083874815});
  Formula y = min(abs(x), kErf32IsOne);
  Formula r = polynomial(1.0 / (y + 1.0), {0.4055740708521074, -0.9020884178596916, 0.3531217423123978,
                                           0.6007161497587027, 0.5515921782708972, 0.0011745706743844786});
  Formula tail = 1.0 - exp(-(y * y)) * r;
  return select(abs(x) <= kErf32Small, small, select(x < 0.0, -tail, tail));
}

// ---- M. J. Wichura, "Algorithm AS 241: the percentage points of the normal distribution" (1988)

// The quantile at 1/2 + q, where `tail` is the distance of that from the nearer of 0 and 1.
Formula normal_quantile(Formula q, Formula tail) {
  Formula t = 0.180625 - q * q;
  Formula middle = q *
                   polynomial(t, {2.5090809287301226727e+3, 3.3430575583588128105e+4, 6.7265770927008700853e+4,
                                  4.5921953931549871457e+4, 1.3731693765509461125e+4, 1.9715909503065514427e+3,
                                  1.3314166789178437745e+2, 3.3871328727963666080e0}) /
                   polynomial(t, {5.2264952788528545610e+3, 2.8729085735721942674e+4, 3.9307895800092710610e+4,
                                  2.1213794301586595867e+4, 5.3941960214247511077e+3, 6.8718700749205790830e+2,
                                  4.2313330701600911252e+1, 1});
  Formula r = sqrt(-log(tail));
  Formula near = r - 1.6, far = r - 5.0;
  Formula outer = polynomial(near, {7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
                                    1.27045825245236838258e0, 3.64784832476320460504e0, 5.76949722146069140550e0,
                                    4.63033784615654529590e0, 1.42343711074968357734e0}) /
                  polynomial(near, {1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
                                    1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940e0,
                                    2.05319162663775882187e0, 1});
  Formula utmost = polynomial(far, {2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
                                    2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580e0,
                                    5.46378491116411436990e0, 6.65790464350110377720e0}) /
                   polynomial(far, {2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5,
                                    7.86869131145613259100e-4, 1.48753612908506148525e-2, 1.36929880922735805310e-1,
                                    5.99832206555887937690e-1, 1});
  Formula beyond = select(r <= 5.0, outer, utmost);
  beyond = select(eq(tail, 0.0), kInfinity, beyond);
  Formula result = select(abs(q) <= 0.425, middle, select(q < 0.0, -beyond, beyond));
  return select(tail < 0.0, kNaN, result);
}

// ---- gamma

constexpr double kLogSqrtTwoPi = 0.91893853320467274178;

constexpr double kStirling = 12;  // Stirling's series from here on (Abramowitz and Stegun 6.1.41)

// Near 2 a polynomial in d = x - 2 over the zeros there (tools/gen_chebyshev.py), reached by the recurrence; d is
// exact.
Formula lgamma_positive(Formula x) {
  Formula z = max(x, kStirling);
  Formula series =
      polynomial(1.0 / (z * z), {1. / 156, -691. / 360360, 1. / 1188, -1. / 1680, 1. / 1260, -1. / 360, 1. / 12});
  Formula large = (z - 0.5) * log(z) - z + kLogSqrtTwoPi + series / z;

  Formula rest = x, product = x.like(1);  // x = rest + n, gamma(x) = gamma(rest) * product
  for (double top = kStirling; top > 2.5; --top) {
    Formula high = rest > 2.5;
    rest = select(high, rest - 1.0, rest);
    product = select(high, product * rest, product);
  }
  Formula below = x < 1.5, far_below = x < 0.5;  // by one or two steps upward
  Formula d = select(far_below, x, select(below, x - 1.0, rest - 2.0));
  Formula steps = log(select(far_below, x * (x + 1.0), select(below, x, product)));
  Formula near = d * (d + 1.0) *
                 polynomial(d * 2.0, {-1.9272095201433268e-12, 7.9920835592736274e-12, -2.50500703795846e-11,
                                      1.0674693605190994e-10, -4.7074450385709934e-10, 2.0111138231394019e-9,
                                      -8.6231387380142424e-9, 3.7272066709849788e-8, -1.6229545709362818e-7,
                                      7.1309702936212727e-7, -3.1695889759383079e-6, 1.4302764256832122e-5,
                                      -6.5879088569553852e-5, 0.00031241507280860021, -0.0015480240241709283,
                                      0.0082412501552883909, -0.050158650837176969, 0.42278433509846714});
  Formula small = select(below, near - steps, near + steps);
  return select(eq(x, kInfinity), x, select(x < kStirling, small, large));
}

// By reflection below 0; infinite at 0 and the negative integers, and at -inf.
Formula lgamma64(Formula x) {
  Formula negative = x < 0.0;
  Formula above = lgamma_positive(select(negative, 1.0 - x, x));
  Formula sine = abs(sin(abs(x - round(x)) * kPi));
  Formula result = select(negative, log(kPi / sine) - above, above);
  return select(eq(x, -kInfinity) | (negative & eq(sine, 0.0)), kInfinity, result);
}

// The asymptotic series (Abramowitz and Stegun 6.3.18), reached by the recurrence from below.
Formula digamma_positive(Formula x) {
  constexpr int kSteps = 10;
  Formula low = x < static_cast<double>(kSteps);
  Formula shift = x.like(0.0);
  for (int k = 0; k < kSteps; ++k) shift = shift + 1.0 / (x + static_cast<double>(k));
  Formula z = select(low, x + static_cast<double>(kSteps), x);
  Formula u = 1.0 / (z * z);
  Formula tail = u * polynomial(u, {1. / 12, -691. / 32760, 1. / 132, -1. / 240, 1. / 252, -1. / 120, 1. / 12});
  return log(z) - 0.5 / z - tail - select(low, shift, 0.0);
}

// PyTorch: an infinity of the sign of -x at zero, NaN at the negative integers.
Formula digamma64(Formula x) {
  Formula negative = x < 0.0;
  Formula above = digamma_positive(select(negative, 1.0 - x, x));
  Formula angle = (x - round(x)) * kPi;
  Formula result = select(negative, above - kPi * cos(angle) / sin(angle), above);
  result = select(negative & eq(x, floor(x)), kNaN, result);
  return select(eq(x, 0.0), with_sign_of(x.like(kInfinity), -x), result);
}

// PyTorch's own steps (after Abramowitz and Stegun 6.4.12), in its own precision: near the poles its float32 results
// are far from the true ones, and no closer answer would be the same.
Formula trigamma(Formula x) {
  constexpr int kSteps = 6;
  Formula reflected = x < 0.5;
  Formula sine = sin(x * kPi);
  Formula z = select(reflected, 1.0 - x, x);
  Formula sum = select(reflected, -(kPi * kPi) / (sine * sine), x.like(0));
  for (int k = 0; k < kSteps; ++k, z = z + 1.0) sum = sum + 1.0 / (z * z);
  Formula u = 1.0 / (z * z);
  sum = sum + (0.5 / z + 1.0 + u * (1.0 / 6 - u * (1.0 / 30 - u * (1.0 / 42)))) / z;
  return select(reflected, -sum, sum);
}

// The sum of (q + k)^-s until q + k > 9, and where it ended. Only a negative q takes more than the first nine terms.
struct PartialZeta {
  Formula sum, last, at;
};
constexpr double kZetaSteps = 9;
constexpr double kZetaMostSteps = 65536;

PartialZeta zeta_terms(Formula s, Formula q) {
  Lower& l = s.lower();
  Formula sum = pow(q, -s), last = sum, at = q;
  for (int k = 0; k < static_cast<int>(kZetaSteps); ++k) {
    at = at + 1.0;
    last = pow(at, -s);
    sum = sum + last;
  }
  auto unfinished = [&](Value a) {
    Formula f(l, a);
    return (f <= kZetaSteps) & (f > -kZetaMostSteps);
  };
  Values end = l.hlo.while_(
      {sum, last, at}, [&](std::span<const Value> v) { return any(unfinished(v[2])); },
      [&](std::span<const Value> v) {
        Formula total(l, v[0]), before(l, v[1]), a(l, v[2]);
        Formula more(l, unfinished(a));
        Formula next = a + 1.0;
        Formula term = pow(next, -s);
        return Values{select(more, total + term, total), select(more, term, before), select(more, next, a)};
      });
  return {{l, end[0]}, {l, end[1]}, {l, end[2]}};
}

// Euler and Maclaurin's sum (Abramowitz and Stegun 23.1.30). The divisors are (2k)! / B(2k).
Formula zeta64(Formula s, Formula q) {
  static constexpr double kDivisors[] = {12.0,
                                         -720.0,
                                         30240.0,
                                         -1209600.0,
                                         47900160.0,
                                         -1.8924375803183791606e9,
                                         7.47242496e10,
                                         -2.950130727918164224e12,
                                         1.1646782814350067249e14,
                                         -4.5979787224074726105e15,
                                         1.8152105401943546773e17,
                                         -7.1661652561756670113e18};
  constexpr double kEpsilon = 1.1102230246251565e-16;
  PartialZeta head = zeta_terms(s, q);
  Formula w = head.at;
  Formula sum = head.sum + head.last * w / (s - 1.0) - head.last * 0.5;
  Formula rising = s.like(1.0), power = head.last;
  double k = 0;
  for (double divisor : kDivisors) {
    rising = rising * (s + k);
    power = power / w;
    sum = sum + rising * power / divisor;
    rising = rising * (s + (k + 1));
    power = power / w;
    k += 2;
  }
  sum = select(abs(head.last) < abs(head.sum) * kEpsilon, head.sum, sum);
  Formula pole = (q <= 0.0) & eq(q, floor(q));
  sum = select((q <= 0.0) & ne(s, floor(s)), kNaN, sum);
  sum = select(q < -kZetaMostSteps, kNaN, sum);
  sum = select(pole, kInfinity, sum);
  sum = select(s < 1.0, kNaN, sum);
  return select(eq(s, 1.0), kInfinity, sum);
}

}  // namespace

// ---- error functions

Formula erf(Formula x) { return x.dtype() == DType::Float64 ? erf64(x) : erf32(x); }
Formula erfc(Formula x) { return in_float64(x, erfc64); }

Formula erfcx(Formula x) {
  return in_float64(x, [](Formula v) {
    Formula scaled = scaled_erfc(abs(v)), e = exp(v * v);
    Formula outer = select(v < 0.0, e * 2.0 - scaled, scaled);
    return select(abs(v) <= kCodySmall, e * (1.0 - erf_near_zero(v)), outer);
  });
}

Formula erfinv(Formula x) {
  return in_float64(x, [](Formula v) { return normal_quantile(v * 0.5, (1.0 - abs(v)) * 0.5) * kSqrtHalf; });
}

Formula ndtri(Formula p) {
  return in_float64(p, [](Formula v) { return normal_quantile(v - 0.5, min(v, 1.0 - v)); });
}

Formula log_ndtr(Formula x) {
  return in_float64(x, [](Formula v) {
    Formula t = v * kSqrtHalf;
    Formula low = log(erfcx(-t) * 0.5) - t * t;
    return select(v < -1.0, low, log1p(erfc64(t) * -0.5));
  });
}

// ---- gamma functions

Formula lgamma(Formula x) { return in_float64(x, lgamma64); }
Formula digamma(Formula x) { return in_float64(x, digamma64); }

// (-1)^(n+1) n! zeta(n + 1, x).
Formula polygamma(int64_t n, Formula x) {
  if (n == 0) return digamma(x);
  if (n == 1) return trigamma(x);
  double factor = std::tgamma(static_cast<double>(n) + 1) * (n % 2 == 0 ? -1 : 1);
  return in_float64(x, [&](Formula v) { return zeta64(v.like(static_cast<double>(n) + 1), v) * factor; });
}

Formula zeta(Formula s, Formula q) {
  return convert(zeta64(convert(s, DType::Float64), convert(q, DType::Float64)), s.dtype());
}

}  // namespace torchlift::aten::formula
