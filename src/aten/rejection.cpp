// Poisson and binomial numbers. Where few are expected a uniform number is used up probability by probability; else by
// transformed rejection (Hoermann, "The transformed rejection method for generating Poisson random variables",
// Insurance: Mathematics and Economics 12 (1993) 39; "The generation of binomial random variates", Journal of
// Statistical Computation and Simulation 46 (1993) 101), whose loop goes on until every element has its number. All in
// float64, as PyTorch does.
#include <functional>

#include "aten/generator.hpp"
#include "aten/ops.hpp"
#include "aten/special_functions.hpp"

namespace torchlift::aten {
namespace {

using namespace formula;  // NOLINT: operators on values

constexpr double kFew = 10;  // expected numbers below this are counted up to

// The first number whose probability, with those of all below it, exceeds the uniform number. probability(0) is
// `first`; next(p, k) gives that of k from that of k - 1.
Formula count_up(Formula uniform, Formula first, double limit, const std::function<Formula(Formula, Formula)>& next) {
  auto goes_on = [&](std::span<const Value> v) {
    Formula rest = uniform.with(v[0]);
    return (rest >= rest.with(v[1])) & (rest.with(v[2]) < limit);
  };
  auto more = [&](std::span<const Value> v) -> Value { return any(goes_on(v)); };
  auto step = [&](std::span<const Value> v) -> Values {
    Formula rest = uniform.with(v[0]), p = rest.with(v[1]), k = rest.with(v[2]), on = goes_on(v), after = k + 1.0;
    return {select(on, rest - p, rest), select(on, next(p, after), p), select(on, after, k)};
  };
  return uniform.with(uniform.hlo().while_({uniform, first, uniform.like(0)}, more, step)[2]);
}

// Draws until every element is accepted. propose(u, v) gives a number and whether it is taken.
struct Proposal {
  Formula number, taken;
};
Formula draw_until_taken(Draw& draw, Formula given, Formula done,
                         const std::function<Proposal(Formula, Formula)>& propose) {
  Lower& l = given.lower();
  Formula pass(l, l.constant(DType::UInt32, 0));
  auto more = [&](std::span<const Value> v) -> Value { return any(!done.with(v[1])); };
  auto step = [&](std::span<const Value> v) -> Values {
    Formula at = pass.with(v[0]), open = !done.with(v[1]), number = given.with(v[2]);
    Proposal p = propose(draw.uniform_in_pass(at), draw.uniform_in_pass(at + 1.0));
    return {at + 2.0, done.with(v[1]) | p.taken, select(open & p.taken, p.number, number)};
  };
  return given.with(l.hlo.while_({pass, done, given}, more, step)[2]);
}

// ---- Poisson

Formula poisson_by_rejection(Draw& draw, Formula mean, Formula done) {
  Formula log_mean = log(mean), b = sqrt(mean) * 2.53 + 0.931, a = b * 0.02483 - 0.059;
  Formula log_scale = log(1.1239 + 1.1328 / (b - 3.4)), quick = 0.9277 - 3.6224 / (b - 2.0);
  return draw_until_taken(draw, mean, done, [&](Formula uniform, Formula v) -> Proposal {
    Formula u = uniform - 0.5, s = 0.5 - abs(u);
    Formula k = floor((a * 2.0 / s + b) * u + mean + 0.43);
    Formula at_once = (s >= 0.07) & (v <= quick);
    Formula never = (k < 0.0) | ((s < 0.013) & (v > s));
    Formula log_share = k * log_mean - mean - lgamma(max(k, 0.0) + 1.0);
    Formula accepted = log(v) + log_scale - log(a / (s * s) + b) <= log_share;
    return {k, at_once | ((!never) & accepted)};
  });
}

Tensor poisson(Lower& l, Tensor self, Ignored) {
  if (!expect_float(l, self)) return {};
  auto draw = Draw::begin(l, self.shape());
  if (!draw) return {};
  Formula mean(l, l.read(self, DType::Float64));
  Formula few = mean < kFew, sane = is_finite(mean);
  Formula small = select(few, mean, 0.0), large = select(few | !sane, kFew, mean);
  constexpr double kBeyond = 200;  // far beyond what a mean of 10 gives
  Formula counted = count_up(draw->uniform(DType::Float64), exp(-small), kBeyond,
                             [&](Formula p, Formula k) { return p * small / k; });
  Formula rejected = poisson_by_rejection(*draw, large, few | !sane);
  Formula number = select(sane, select(few, counted, rejected), mean);
  return l.make(l.convert(number, self.dtype()), lower::dense_strides_like(self.shape(), self.strides()));
}

// ---- binomial

// Of n trials with a probability up to one half.
Formula binomial_by_rejection(Draw& draw, Formula n, Formula p, Formula done) {
  Formula q = 1.0 - p, ratio = p / q, deviation = sqrt(n * p * q);
  Formula b = deviation * 2.53 + 1.15, a = b * 0.0248 + p * 0.01 - 0.0873;
  Formula center = n * p + 0.5, quick = 0.92 - 4.2 / b, scale = (2.83 + 5.1 / b) * deviation;
  Formula mode = floor((n + 1.0) * p), log_ratio = log(ratio);
  auto ways = [&](Formula k) { return lgamma(k + 1.0) + lgamma(n - k + 1.0); };
  Formula at_mode = ways(mode);
  return draw_until_taken(draw, n, done, [&](Formula uniform, Formula v) -> Proposal {
    Formula u = uniform - 0.5, s = 0.5 - abs(u);
    Formula k = floor((a * 2.0 / s + b) * u + center);
    Formula inside = (k >= 0.0) & (k <= n), at_once = (s >= 0.07) & (v <= quick);
    Formula safe = min(max(k, 0.0), n);
    Formula log_share = at_mode - ways(safe) + (safe - mode) * log_ratio;
    return {k, inside & (at_once | (log(v * scale / (a / (s * s) + b)) <= log_share))};
  });
}

// How many of `count` trials succeed, each with the probability `prob`.
Tensor binomial(Lower& l, Tensor count, Tensor prob, Ignored) {
  if (!expect_float(l, count) || !expect_float(l, prob)) return {};
  if (count.dtype() != prob.dtype())
    return l.wrong("expected one dtype, got " + describe(count) + " and " + describe(prob));
  auto draw = Draw::begin(l, count.shape());
  if (!draw) return {};
  Formula n = max(floor(Formula(l, l.read(count, DType::Float64))), 0.0);
  Formula p = min(max(Formula(l, l.read(prob, DType::Float64, count.shape())), 0.0), 1.0);
  Formula flipped = p > 0.5, rarer = select(flipped, 1.0 - p, p);
  Formula sane = is_finite(n) & is_finite(p);
  Formula few = n * rarer < kFew;
  Formula small_n = select(few & sane, n, 0.0), large_n = select(few | !sane, 4 * kFew, n);
  Formula small_p = select(few & sane, rarer, 0.0), large_p = select(few | !sane, 0.5, rarer);
  Formula none = exp(small_n * log1p(-small_p)), ratio = small_p / (1.0 - small_p);
  constexpr double kBeyond = 200;  // far beyond what 10 expected ones give
  Formula counted = count_up(draw->uniform(DType::Float64), none, kBeyond,
                             [&](Formula share, Formula k) { return share * ratio * max(small_n - k + 1.0, 0.0) / k; });
  Formula rejected = binomial_by_rejection(*draw, large_n, large_p, few | !sane);
  Formula number = select(few, min(counted, n), rejected);
  number = select(sane, select(flipped, n - number, number), p.like(kNaN));
  return l.make(l.convert(number, count.dtype()), lower::dense_strides_like(count.shape(), count.strides()));
}

}  // namespace

std::span<const Row> rejection_ops() {
  static constexpr Row rows[] = {
      op<binomial>("binomial"),
      op<poisson>("poisson"),
  };
  return rows;
}

}  // namespace torchlift::aten
