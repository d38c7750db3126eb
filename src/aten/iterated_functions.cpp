// Special functions that iterate until every element is done: incomplete gamma functions and orthogonal polynomials.
// All are computed in float64 and rounded once; an element that is not done after kMostSteps is NaN.
#include <functional>

#include "aten/families.hpp"
#include "aten/pointwise.hpp"
#include "aten/special_functions.hpp"

namespace torchlift::aten {
namespace {

constexpr double kMostSteps = 65536;
constexpr double kEpsilon = 1.1102230246251565e-16;
using Formulas = std::vector<Formula>;

// Repeats state = step(state, k) for k = first, first + 1, ... in every element where active(state, k) holds, as long
// as one is left. Elements that were cut off become NaN in state[0].
Formulas iterate(Formulas state, double first, const std::function<Formula(const Formulas&, Formula)>& active,
                 const std::function<Formulas(const Formulas&, Formula)>& step) {
  Lower& l = state[0].lower();
  size_t count = state.size();
  Values inits(state.begin(), state.end());
  inits.push_back(l.constant(DType::Float64, first));
  auto formulas = [&](std::span<const Value> v) {
    Formulas out;
    for (size_t i = 0; i < count; ++i) out.emplace_back(l, v[i]);
    return out;
  };
  auto counter = [&](std::span<const Value> v) { return Formula(l, l.broadcast_to(v[count], l.type(v[0]).dims)); };
  Values end = l.hlo.while_(
      inits,
      [&](std::span<const Value> v) {
        return any(active(formulas(v), counter(v))) & (Formula(l, v[count]) < kMostSteps);
      },
      [&](std::span<const Value> v) {
        Formulas before = formulas(v);
        Formula k = counter(v);
        Formula more = active(before, k);
        Formulas after = step(before, k);
        Values next;
        for (size_t i = 0; i < count; ++i) next.push_back(select(more, after[i], before[i]));
        next.push_back(Formula(l, v[count]) + 1.0);
        return next;
      });
  Formulas result = formulas(end);
  result[0] = select(active(result, counter(end)), kNaN, result[0]);
  return result;
}

// ---- incomplete gamma functions

// x^a exp(-x) / gamma(a).
Formula gamma_density(Formula a, Formula x) { return exp(a * log(x) - x - lgamma(a)); }

// The power series of the lower function (Abramowitz and Stegun 6.5.29).
Formula lower_series(Formula a, Formula x, Formula wanted) {
  Formulas end = iterate(
      {a.like(1), a.like(1)}, 1, [&](const Formulas& s, Formula) { return wanted & (s[1] > s[0] * kEpsilon); },
      [&](const Formulas& s, Formula k) {
        Formula term = s[1] * x / (a + k);
        return Formulas{s[0] + term, term};
      });
  return end[0] * gamma_density(a, x) / a;
}

// The continued fraction of the upper function (6.5.31) by Lentz's method.
Formula upper_fraction(Formula a, Formula x, Formula wanted) {
  constexpr double kTiny = 1e-300;
  auto nonzero = [](Formula v) { return select(abs(v) < kTiny, kTiny, v); };
  Formula d = 1.0 / nonzero(x + 1.0 - a);
  Formulas end = iterate(
      {d, a.like(1 / kTiny), d, a.like(2)}, 1,
      [&](const Formulas& s, Formula) { return wanted & (abs(s[3] - 1.0) > 2 * kEpsilon); },
      [&](const Formulas& s, Formula k) {
        Formula numerator = k * (a - k), b = x + 1.0 - a + k * 2.0;
        Formula next_d = 1.0 / nonzero(numerator * s[2] + b);
        Formula next_c = nonzero(b + numerator / s[1]);
        Formula ratio = next_c * next_d;
        return Formulas{s[0] * ratio, next_c, next_d, ratio};
      });
  return end[0] * gamma_density(a, x);
}

// The lower or the upper function, which add up to 1: each from the expansion that converges.
Formula incomplete_gamma(Formula a, Formula x, bool upper) {
  Formula regular = (a > 0.0) & (x > 0.0) & (a < kInfinity) & (x < kInfinity);
  Formula by_fraction = (x > 1.0) & (x > a);
  Formula safe_a = select(regular, a, 1.0), safe_x = select(regular, x, 1.0);
  Formula low = lower_series(safe_a, safe_x, regular & !by_fraction);
  Formula high = upper_fraction(safe_a, select(by_fraction, safe_x, safe_a + 1.0), regular & by_fraction);
  Formula result = upper ? select(by_fraction, high, 1.0 - low) : select(by_fraction, 1.0 - high, low);
  // NaN only where nothing below decides, as in PyTorch: the other argument may be infinite or zero.
  result = select(is_nan(a) | is_nan(x), kNaN, result);
  double at_zero = upper ? 1 : 0;  // of x; the other end is the complement
  result = select(eq(x, kInfinity), 1 - at_zero, result);
  result = select(eq(a, kInfinity), at_zero, result);
  result = select(eq(a, kInfinity) & eq(x, kInfinity), kNaN, result);
  result = select(eq(x, 0.0), at_zero, result);
  result = select(eq(a, 0.0), select(x > 0.0, 1 - at_zero, x.like(kNaN)), result);
  return select((a < 0.0) | (x < 0.0), kNaN, result);
}

template <bool kUpper>
Tensor igamma(Lower& l, Tensor self, Tensor other) {
  if (!computes_in(l, lower::result_type(std::array{self, other}), takes::kRealFloats)) return {};
  return zip_float(l, self, other, [](Formula a, Formula x) {
    return convert(incomplete_gamma(convert(a, DType::Float64), convert(x, DType::Float64), kUpper), a.dtype());
  });
}

// ---- orthogonal polynomials of degree n: p0 = 1, p1, and a recurrence

using Next = Formula (*)(Formula x, Formula k, Formula here, Formula before);  // the polynomial of degree k + 1

// 0 for negative degrees. `skip`: elements whose value is known otherwise.
Formula by_recurrence(Formula x, Formula n, Formula first, Next next, Formula skip) {
  Formulas end = iterate(
      {first, x.like(1)}, 1, [&](const Formulas&, Formula k) { return (k < n) & !skip; },
      [&](const Formulas& s, Formula k) {
        return Formulas{next(x, k, s[0], s[1]), s[0]};
      });
  Formula result = select(n < 1.0, 1.0, end[0]);
  return select(n < 0.0, 0.0, result);
}

Formula never(Formula x) { return ne(x.like(0), 0.0); }
Formula is_even(Formula n) { return eq(n - floor(n * 0.5) * 2.0, 0.0); }

Formula chebyshev_next(Formula x, Formula, Formula here, Formula before) { return x * 2.0 * here - before; }

// By angles beyond this degree, as PyTorch does.
constexpr double kTrigonometricDegreeT = 6;
constexpr double kTrigonometricDegree = 8;

Formula chebyshev_t(Formula x, Formula n) {
  Formula by_angle = (n > kTrigonometricDegreeT) & (abs(x) < 1.0);
  Formula ends = eq(abs(x), 1.0) & (n >= 0.0);
  Formula result = by_recurrence(x, n, x, chebyshev_next, by_angle | ends);
  result = select(by_angle, cos(n * acos(x)), result);
  return select(ends, select((x > 0.0) | is_even(n), 1.0, x.like(-1)), result);
}

// sin((n + 1) t) / sin(t), cos((n + 1/2) t) / cos(t / 2) and sin((n + 1/2) t) / sin(t / 2) with x = cos(t).
Formula chebyshev_u(Formula x, Formula n) {
  Formula by_angle = (n > kTrigonometricDegree) & (abs(x) < 1.0);
  Formula ends = eq(abs(x), 1.0) & (n >= 0.0);
  Formula angle = acos(x), size = n + 1.0;
  Formula result = by_recurrence(x, n, x * 2.0, chebyshev_next, by_angle | ends);
  result = select(by_angle, sin(size * angle) / sin(angle), result);
  return select(ends, select((x > 0.0) | is_even(n), size, -size), result);
}

Formula chebyshev_v(Formula x, Formula n) {
  Formula by_angle = (n > kTrigonometricDegree) & (abs(x) < 1.0);
  Formula ends = eq(abs(x), 1.0) & (n >= 0.0);
  Formula angle = acos(x), size = n * 2.0 + 1.0;
  Formula result = by_recurrence(x, n, x * 2.0 - 1.0, chebyshev_next, by_angle | ends);
  result = select(by_angle, cos((n + 0.5) * angle) / cos(angle * 0.5), result);
  return select(ends, select(x > 0.0, 1.0, select(is_even(n), size, -size)), result);
}

Formula chebyshev_w(Formula x, Formula n) {
  Formula by_angle = (n > kTrigonometricDegree) & (abs(x) < 1.0);
  Formula ends = eq(abs(x), 1.0) & (n >= 0.0);
  Formula angle = acos(x), size = n * 2.0 + 1.0;
  Formula result = by_recurrence(x, n, x * 2.0 + 1.0, chebyshev_next, by_angle | ends);
  result = select(by_angle, sin((n + 0.5) * angle) / sin(angle * 0.5), result);
  return select(ends, select(x > 0.0, size, select(is_even(n), 1.0, x.like(-1))), result);
}

Formula hermite_h(Formula x, Formula n) {
  return by_recurrence(
      x, n, x * 2.0,
      [](Formula v, Formula k, Formula here, Formula before) { return v * 2.0 * here - k * 2.0 * before; }, never(x));
}

Formula hermite_he(Formula x, Formula n) {
  return by_recurrence(
      x, n, x, [](Formula v, Formula k, Formula here, Formula before) { return v * here - k * before; }, never(x));
}

Formula laguerre_l(Formula x, Formula n) {
  return by_recurrence(
      x, n, 1.0 - x,
      [](Formula v, Formula k, Formula here, Formula before) {
        return ((k * 2.0 + 1.0 - v) * here - k * before) / (k + 1.0);
      },
      never(x));
}

Formula legendre_p(Formula x, Formula n) {
  return by_recurrence(
      x, n, x,
      [](Formula v, Formula k, Formula here, Formula before) {
        return ((k * 2.0 + 1.0) * v * here - k * before) / (k + 1.0);
      },
      never(x));
}

using Polynomial = Formula (*)(Formula x, Formula n);

// PyTorch converts the degree to int64: cut to a whole number, and the smallest one where it does not fit.
Formula degree(Formula n) {
  constexpr double kTooLarge = 9223372036854775808.0;  // 2^63
  Formula whole = trunc(convert(n, DType::Float64));
  return select(whole < kTooLarge, whole, -1.0);
}

template <Polynomial kFn>
Tensor polynomial_of(Lower& l, Operand x, Operand n) {
  return zip_float(
      l, x, n, [](Formula a, Formula b) { return convert(kFn(convert(a, DType::Float64), degree(b)), a.dtype()); },
      takes::kFloats);
}
// The same over [0, 1].
template <Polynomial kFn>
Tensor shifted(Lower& l, Operand x, Operand n) {
  return zip_float(
      l, x, n,
      [](Formula a, Formula b) { return convert(kFn(convert(a, DType::Float64) * 2.0 - 1.0, degree(b)), a.dtype()); },
      takes::kFloats);
}

}  // namespace

std::span<const Row> iterated_ops() {
  static constexpr Row rows[] = {
      op<igamma<false>>("igamma"),
      op<igamma<true>>("igammac"),
      op<polynomial_of<chebyshev_t>>("special_chebyshev_polynomial_t"),
      op<polynomial_of<chebyshev_u>>("special_chebyshev_polynomial_u"),
      op<polynomial_of<chebyshev_v>>("special_chebyshev_polynomial_v"),
      op<polynomial_of<chebyshev_w>>("special_chebyshev_polynomial_w"),
      op<igamma<false>>("special_gammainc"),
      op<igamma<true>>("special_gammaincc"),
      op<polynomial_of<hermite_h>>("special_hermite_polynomial_h"),
      op<polynomial_of<hermite_he>>("special_hermite_polynomial_he"),
      op<polynomial_of<laguerre_l>>("special_laguerre_polynomial_l"),
      op<polynomial_of<legendre_p>>("special_legendre_polynomial_p"),
      op<shifted<chebyshev_t>>("special_shifted_chebyshev_polynomial_t"),
      op<shifted<chebyshev_u>>("special_shifted_chebyshev_polynomial_u"),
      op<shifted<chebyshev_v>>("special_shifted_chebyshev_polynomial_v"),
      op<shifted<chebyshev_w>>("special_shifted_chebyshev_polynomial_w"),
  };
  return rows;
}

}  // namespace torchlift::aten
