// Losses of numbers: distances, margins, likelihoods.
#include "aten/loss.hpp"

#include <array>

#include "aten/activation.hpp"
#include "aten/axes.hpp"
#include "aten/families.hpp"
#include "aten/pointwise.hpp"
#include "aten/reduction.hpp"
#include "aten/special_functions.hpp"

namespace torchlift::aten {

Tensor reduce_loss(Lower& l, Tensor loss, int64_t reduction) {
  switch (reduction) {
    case 0: return loss;
    case 1: return mean(l, loss, {}, false, {});
    case 2: return sum(l, loss, {}, false, {});
    default: return l.wrong("expected a reduction of 0 (none), 1 (mean) or 2 (sum), got " + std::to_string(reduction));
  }
}

namespace {

// fn(self, target), broadcast together, in floating point, then reduced.
template <typename Fn>
Tensor loss_of(Lower& l, Tensor self, Tensor target, int64_t reduction, Fn&& fn) {
  return reduce_loss(l, zip_float(l, self, target, std::forward<Fn>(fn)), reduction);
}

Tensor weighted(Lower& l, Tensor loss, const Optional<Tensor>& weight) { return weight ? l.mul(loss, *weight) : loss; }

}  // namespace

// ---- distances

Tensor mse_loss(Lower& l, Tensor self, Tensor target, int64_t reduction) {
  return loss_of(l, self, target, reduction, [](Formula x, Formula t) { return square(x - t); });
}

Tensor l1_loss(Lower& l, Tensor self, Tensor target, int64_t reduction) {
  return reduce_loss(l, abs(l, l.sub(self, target)), reduction);
}

// d^2 / (2 beta) below beta, d - beta / 2 from there on, d = |self - target|.
Tensor smooth_l1_loss(Lower& l, Tensor self, Tensor target, int64_t reduction, double beta) {
  if (beta < 0) return l.wrong("smooth_l1_loss does not support negative values for beta");
  if (beta == 0) return l1_loss(l, self, target, reduction);
  return loss_of(l, self, target, reduction, [&](Formula x, Formula t) {
    Formula d = formula::abs(x - t);
    return select(d < beta, d * d * 0.5 / beta, d - 0.5 * beta);
  });
}

// d^2 / 2 up to delta, delta (d - delta / 2) beyond.
Tensor huber_loss(Lower& l, Tensor self, Tensor target, int64_t reduction, double delta) {
  if (delta <= 0) return l.wrong("huber_loss does not support values of delta that are not positive");
  return loss_of(l, self, target, reduction, [&](Formula x, Formula t) {
    Formula d = formula::abs(x - t);
    return select(d <= delta, d * d * 0.5, (d - 0.5 * delta) * delta);
  });
}

// ---- likelihoods

namespace {

constexpr double kLeastLog = -100;  // PyTorch holds the logarithms of binary_cross_entropy above it

}  // namespace

// -(target log(self) + (1 - target) log(1 - self)) * weight, logarithms held at -100.
Tensor binary_cross_entropy(Lower& l, Tensor self, Tensor target, Optional<Tensor> weight, int64_t reduction) {
  Tensor loss = zip_float(l, self, target, [](Formula x, Formula t) {
    return (t - 1.0) * max(log1p(-x), kLeastLog) - t * max(log(x), kLeastLog);
  });
  return reduce_loss(l, weighted(l, loss, weight), reduction);
}

// (1 - target) self - (1 + (pos_weight - 1) target) log_sigmoid(self), times weight.
Tensor binary_cross_entropy_with_logits(Lower& l, Tensor self, Tensor target, Optional<Tensor> weight,
                                        Optional<Tensor> pos_weight, int64_t reduction) {
  std::vector<Tensor> operands{self, target};
  if (pos_weight) operands.push_back(*pos_weight);
  DType dtype = lower::float_type(lower::result_type(operands));
  Tensor loss = zip_all(l, operands, lower::accumulate_type(dtype), dtype, [&](std::span<const Formula> v) {
    Formula x = v[0], t = v[1];
    Formula log_sigmoid = min(x, 0.0) - log1p(exp(-formula::abs(x)));
    Formula scaled = pos_weight ? ((v[2] - 1.0) * t + 1.0) * log_sigmoid : log_sigmoid;
    return (1.0 - t) * x - scaled;
  });
  return reduce_loss(l, weighted(l, loss, weight), reduction);
}

// target (log(target) - self), 0 where the target is 0; exp(target) (target - self) if the target is a logarithm.
Tensor kl_div(Lower& l, Tensor self, Tensor target, int64_t reduction, bool log_target) {
  return loss_of(l, self, target, reduction, [&](Formula x, Formula t) {
    if (log_target) return exp(t) * (t - x);
    return select(eq(t, 0.0), 0.0, t * log(t)) - t * x;
  });
}

// exp(input) - target input (log_input), else input - target log(input + eps); full adds Stirling's term where target
// > 1.
Tensor poisson_nll_loss(Lower& l, Tensor input, Tensor target, bool log_input, bool full, double eps,
                        int64_t reduction) {
  return loss_of(l, input, target, reduction, [&](Formula x, Formula t) {
    Formula loss = log_input ? exp(x) - t * x : x - t * log(x + eps);
    if (!full) return loss;
    Formula stirling = t * log(t) - t + log(t * (2 * kPi)) * 0.5;
    return loss + select(t <= 1.0, 0.0, stirling);
  });
}

// log(1 + exp(-target self)), rounded after each step as PyTorch does: it overflows where exp does.
Tensor soft_margin_loss(Lower& l, Tensor self, Tensor target, int64_t reduction) {
  DType dtype = lower::float_type(lower::result_type(std::array{self, target}));
  return loss_of(l, self, target, reduction, [&](Formula x, Formula t) {
    auto step = [&](Formula v) { return v.with(rounded(l, v, dtype)); };
    return log(step(step(exp(step(-t * x))) + 1.0));
  });
}

// ---- margins

// self where the target is 1, max(0, margin - self) where it is -1, both where it is neither.
Tensor hinge_embedding_loss(Lower& l, Tensor self, Tensor target, double margin, int64_t reduction) {
  return loss_of(l, self, target, reduction, [&](Formula x, Formula t) {
    Formula far = max(margin - x, 0.0);
    return select(ne(t, 1.0), far, 0.0) + select(ne(t, -1.0), x, 0.0);
  });
}

// max(0, margin - target (input1 - input2)).
Tensor margin_ranking_loss(Lower& l, Tensor input1, Tensor input2, Tensor target, double margin, int64_t reduction) {
  Tensor product = l.mul(l.neg(target), l.sub(input1, input2));  // unsigned integers wrap
  Tensor loss = map_float(l, l.add(product, l.wrap(margin)), [](Formula x) { return max(x, 0.0); });
  return reduce_loss(l, loss, reduction);
}

// 1 - cos where the target is 1, max(0, cos - margin) where it is -1.
Tensor cosine_embedding_loss(Lower& l, Tensor input1, Tensor input2, Tensor target, double margin, int64_t reduction) {
  if (!l.expect_rank(target, 0, 1, "target")) return {};
  if (input1.rank() != target.rank() + 1 || input2.rank() != input1.rank())
    return l.wrong("expected inputs of one dimension more than the target, got " + describe(input1) + " and " +
                   describe(input2));
  constexpr double kEpsilon = 1e-12;
  std::vector<int64_t> last{target.rank()};
  auto dot = [&](Tensor a, Tensor b) { return sum(l, l.mul(a, b), last, false, {}); };
  std::array operands{dot(input1, input2), dot(input1, input1), dot(input2, input2), target};
  DType dtype = lower::float_type(lower::result_type(std::span(operands).first(3)));
  Tensor loss = zip_all(l, operands, lower::accumulate_type(dtype), dtype, [&](std::span<const Formula> v) {
    Formula cosine = v[0] / sqrt((v[1] + kEpsilon) * (v[2] + kEpsilon));
    Formula alike = select(eq(v[3], 1.0), 1.0 - cosine, 0.0);
    return alike + select(eq(v[3], -1.0), max(cosine - margin, 0.0), 0.0);
  });
  return reduce_loss(l, loss, reduction);
}

// max(0, margin + |anchor - positive| - |anchor - negative|); swap: the nearer of anchor and positive counts.
Tensor triplet_margin_loss(Lower& l, Tensor anchor, Tensor positive, Tensor negative, double margin, double p,
                           double eps, bool swap, int64_t reduction) {
  Tensor near = pairwise_distance(l, anchor, positive, p, eps, false);
  Tensor far = pairwise_distance(l, anchor, negative, p, eps, false);
  if (swap) far = l.minimum(far, pairwise_distance(l, positive, negative, p, eps, false));
  return loss_of(l, near, far, reduction, [&](Formula a, Formula b) { return max(a - b + margin, 0.0); });
}

std::span<const Row> loss_ops() {
  constexpr AutocastRule kWide = AutocastRule::Float32;
  static constexpr Row rows[] = {
      op<binary_cross_entropy>("binary_cross_entropy"),
      op<binary_cross_entropy_with_logits>("binary_cross_entropy_with_logits", kWide),
      op<cosine_embedding_loss>("cosine_embedding_loss", kWide),
      op<hinge_embedding_loss>("hinge_embedding_loss", kWide),
      op<huber_loss>("huber_loss", kWide),
      op<kl_div>("kl_div", kWide),
      op<l1_loss>("l1_loss", kWide),
      op<margin_ranking_loss>("margin_ranking_loss", kWide),
      op<mse_loss>("mse_loss", kWide),
      op<poisson_nll_loss>("poisson_nll_loss", kWide),
      op<smooth_l1_loss>("smooth_l1_loss", kWide),
      op<soft_margin_loss>("soft_margin_loss", kWide),
      op<triplet_margin_loss>("triplet_margin_loss", kWide),
  };
  return rows;
}

}  // namespace torchlift::aten
