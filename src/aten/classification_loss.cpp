// Losses of classes: one score a class, the target a class or a probability for each.
#include <array>
#include <numeric>

#include "aten/activation.hpp"
#include "aten/families.hpp"
#include "aten/loss.hpp"
#include "aten/pointwise.hpp"
#include "aten/reduction.hpp"
#include "aten/special_functions.hpp"

namespace torchlift::aten {
namespace {

using Axes = std::vector<int64_t>;

// Classes lie along dimension 1, of a single sample along dimension 0.
int64_t class_axis(Tensor scores) { return scores.rank() == 1 ? 0 : 1; }

Dims without_axis(const Dims& shape, int64_t axis) { return reduced_shape(shape, Axes{axis}, false); }

bool expect_class_targets(Lower& l, Tensor self, Tensor target) {
  if (self.rank() < 1 || self.rank() > 60) {
    l.wrong("expected scores of one and more dimensions, got " + describe(self));
    return false;
  }
  if (!is_integer(target.dtype())) {
    l.wrong("expected a target of class numbers, got " + describe(target));
    return false;
  }
  if (target.shape() == without_axis(self.shape(), class_axis(self))) return true;
  l.wrong("expected a target of " + text_of(without_axis(self.shape(), class_axis(self))) + ", got " +
          describe(target));
  return false;
}

bool expect_class_weights(Lower& l, const Optional<Tensor>& weight, Tensor self) {
  if (!weight || (weight->rank() == 1 && weight->dim(0) == self.dim(class_axis(self)))) return true;
  l.wrong("expected one weight a class, got " + describe(*weight));
  return false;
}

// i1 in the shape of the scores: the class that the target names.
Formula chosen(Lower& l, Tensor self, Tensor target) {
  int64_t axis = class_axis(self);
  Value numbers = l.hlo.iota({DType::Int64, self.shape()}, axis);
  Value wanted = spread(l, l.read(target, DType::Int64), Axes{axis}, self.shape());
  return eq(Formula(l, numbers), Formula(l, wanted));
}

// The element of `values` at the target's class; 0 where the target names none.
Formula at_target(Lower& l, Formula values, Formula choice, int64_t axis) {
  return Formula(l, sum_value(l, select(choice, values, 0.0), Axes{axis}));
}

Formula class_weights(Lower& l, Tensor weight, DType dtype, const Dims& shape, int64_t axis) {
  return Formula(l, l.hlo.broadcast_in_dim(l.read(weight, dtype), shape, {axis}));
}

struct ClassLoss {
  Formula loss;    // a sample each: -weight * score of its class, 0 where ignored
  Formula weight;  // a sample each
  DType result;
};

// The negative score of the target's class, weighted; samples whose target is ignore_index count nothing.
Optional<ClassLoss> class_loss(Lower& l, Tensor self, Tensor target, const Optional<Tensor>& weight, Dim ignore_index) {
  if (!expect_class_targets(l, self, target) || !expect_class_weights(l, weight, self)) return std::nullopt;
  int64_t axis = class_axis(self);
  DType compute = lower::accumulate_type(self.dtype());
  Formula scores(l, l.read(self, compute));
  Formula choice = chosen(l, self, target);
  Formula picked = at_target(l, scores, choice, axis);
  Formula weights =
      weight ? at_target(l, class_weights(l, *weight, compute, self.shape(), axis), choice, axis) : picked.like(1);
  Formula t(l, l.read(target, DType::Int64));
  Formula ignored = eq(t, t.like(Scalar(ignore_index)));
  weights = select(ignored, 0.0, weights);
  return ClassLoss{select(ignored, 0.0, -picked * weights), weights, self.dtype()};
}

Value total(Lower& l, Value v) {
  Axes all(l.type(v).rank());
  std::iota(all.begin(), all.end(), 0);
  return sum_value(l, v, all);
}

// (loss, sum of the weights). The mean is over the weights; of nothing it is NaN.
std::tuple<Tensor, Tensor> reduce_class_loss(Lower& l, const ClassLoss& c, int64_t reduction) {
  auto give = [&](Value v) { return l.make(l.convert(v, c.result)); };
  if (reduction == 0) return {give(c.loss), l.make(l.full({}, c.result, 0.0))};
  Formula weight(l, total(l, c.weight)), loss(l, total(l, c.loss));
  if (reduction == 1) return {give(loss / weight), give(weight)};
  if (reduction == 2) return {give(loss), give(weight)};
  return l.wrong("expected a reduction of 0 (none), 1 (mean) or 2 (sum), got " + std::to_string(reduction));
}

}  // namespace

// ---- negative log likelihood

std::tuple<Tensor, Tensor> nll_loss_forward(Lower& l, Tensor self, Tensor target, Optional<Tensor> weight,
                                            int64_t reduction, Dim ignore_index) {
  auto c = class_loss(l, self, target, weight, ignore_index);
  if (!c) return {};
  return reduce_class_loss(l, *c, reduction);
}

Tensor nll_loss(Lower& l, Tensor self, Tensor target, Optional<Tensor> weight, int64_t reduction, Dim ignore_index) {
  return std::get<0>(nll_loss_forward(l, self, target, weight, reduction, ignore_index));
}

// ---- cross entropy

namespace {

// Targets that are probabilities: minus the sum of target * log_softmax * weight; the mean is over samples.
Tensor probability_loss(Lower& l, Tensor self, Tensor target, const Optional<Tensor>& weight, int64_t reduction,
                        double label_smoothing) {
  if (!expect_class_weights(l, weight, self)) return {};
  int64_t axis = class_axis(self);
  DType compute = lower::accumulate_type(self.dtype());
  auto classes = static_cast<double>(self.dim(axis).concrete());
  Formula scores(l, log_softmax_value(l, l.read(self, compute), axis));
  Formula wanted(l, l.read(target, compute));
  if (label_smoothing > 0) wanted = wanted * (1 - label_smoothing) + label_smoothing / classes;
  Formula terms = scores * wanted;
  if (weight) terms = terms * class_weights(l, *weight, compute, self.shape(), axis);
  auto give = [&](Value v) { return l.make(l.convert(v, self.dtype())); };
  if (reduction == 0) return give(-Formula(l, sum_value(l, terms, Axes{axis})));
  Formula sum = -Formula(l, total(l, terms));
  if (reduction == 2) return give(sum);
  if (reduction != 1) return reduce_loss(l, self, reduction);
  auto samples = static_cast<double>(product(without_axis(self.shape(), axis)).concrete());
  return give(sum / samples);
}

// (1 - s) nll + s / classes * the loss against a uniform target, both averaged over the same weights.
Tensor smoothed_loss(Lower& l, Tensor self, Tensor log_scores, Tensor target, const Optional<Tensor>& weight,
                     int64_t reduction, Dim ignore_index, double label_smoothing) {
  auto c = class_loss(l, log_scores, target, weight, ignore_index);
  if (!c) return {};
  int64_t axis = class_axis(self);
  Formula scores(l, l.read(log_scores, c->loss.dtype()));
  Formula terms = weight ? scores * class_weights(l, *weight, scores.dtype(), self.shape(), axis) : scores;
  Formula uniform = -Formula(l, sum_value(l, terms, Axes{axis}));
  Formula t(l, l.read(target, DType::Int64));
  uniform = select(eq(t, t.like(Scalar(ignore_index))), 0.0, uniform);
  double share = label_smoothing / static_cast<double>(self.dim(axis).concrete());
  c->loss = c->loss * (1 - label_smoothing) + uniform * share;
  return std::get<0>(reduce_class_loss(l, *c, reduction));
}

}  // namespace

// -log_softmax(self) at the target's class, or weighted by the target's probabilities where it has the shape of self.
Tensor cross_entropy_loss(Lower& l, Tensor self, Tensor target, Optional<Tensor> weight, int64_t reduction,
                          Dim ignore_index, double label_smoothing) {
  if (is_integral(self.dtype()) || self.rank() == 0)
    return l.wrong("expected scores of classes, got " + describe(self));
  if (target.shape() == self.shape() && !is_integral(target.dtype()))
    return probability_loss(l, self, target, weight, reduction, label_smoothing);
  Tensor scores = l.make(log_softmax_value(l, l.read(self, lower::accumulate_type(self.dtype())), class_axis(self)));
  if (scores.is_poison()) return {};
  Tensor loss = label_smoothing > 0
                    ? smoothed_loss(l, self, scores, target, weight, reduction, ignore_index, label_smoothing)
                    : nll_loss(l, scores, target, weight, reduction, ignore_index);
  return l.to(loss, self.dtype());
}

// ---- margins

namespace {

struct Scores {
  Tensor self, target;  // with a dimension of samples in front
  bool single = false;
};

Scores in_rows(Lower& l, Tensor self, Tensor target) {
  if (self.rank() > 1) return {self, target};
  auto row = [&](Tensor t, Dim size) { return l.make(l.hlo.reshape(l.read(t), {Dim(1), size})); };
  Tensor targets = target.rank() == 0 ? l.make(l.hlo.reshape(l.read(target), {Dim(1)}))
                                      : (target.numel() == self.numel() ? row(target, target.numel()) : target);
  return {row(self, self.numel()), targets, true};
}

}  // namespace

// The sum over the other classes of max(0, margin - score of the target + score)^p * weight of the target, over
// classes.
Tensor multi_margin_loss(Lower& l, Tensor self, Tensor target, Scalar p, Scalar margin, Optional<Tensor> weight,
                         int64_t reduction) {
  if (!l.expect_rank(self, 0, 2, "self")) return {};
  if (!p.equals(1) && !p.equals(2)) return l.wrong("expected p of 1 or 2, got " + p.text());
  Scores s = in_rows(l, self, target);
  if (s.target.rank() == 2) s.target = l.make(l.hlo.reshape(l.read(s.target), {s.target.numel()}));
  if (!expect_class_targets(l, s.self, s.target) || !expect_class_weights(l, weight, s.self)) return {};
  DType compute = lower::accumulate_type(self.dtype());
  const Dims& shape = s.self.shape();
  Formula scores(l, l.read(s.self, compute)), choice = chosen(l, s.self, s.target);
  Formula picked(l, spread(l, at_target(l, scores, choice, 1), Axes{1}, shape));
  Formula excess = max(margin.to_double() - picked + scores, 0.0);
  if (p.equals(2)) excess = excess * excess;
  Formula loss = at_target(l, excess, !choice, 1) / static_cast<double>(shape[1].concrete());
  if (weight) loss = loss * at_target(l, class_weights(l, *weight, compute, shape, 1), choice, 1);
  Tensor result = l.make(l.convert(loss, self.dtype()));
  if (self.rank() < 2 && !result.is_poison()) result = l.make(l.hlo.reshape(l.read(result), {}));
  return reduce_loss(l, result, reduction);
}

// The sum over classes i that are no target and targets t of max(0, 1 - score t + score i), over classes. Targets are
// listed from the front, up to the first -1.
std::tuple<Tensor, Tensor> multilabel_margin_loss_forward(Lower& l, Tensor self, Tensor target, int64_t reduction) {
  if (!l.expect_rank(self, 0, 2, "self")) return {};
  if (target.shape() != self.shape()) return l.wrong("expected a target like self, got " + describe(target));
  Scores s = in_rows(l, self, target);
  if (s.self.rank() == 2 && s.target.rank() == 1) s.target = l.make(l.hlo.reshape(l.read(s.target), s.self.shape()));
  if (s.self.is_poison() || s.target.is_poison()) return {};
  DType compute = lower::accumulate_type(self.dtype());
  Dim rows = s.self.dim(0), classes = s.self.dim(1);
  Formula scores(l, l.read(s.self, compute)), targets(l, l.read(s.target, DType::Int64));
  // Listed: no -1 at or before this place.
  stablehlo::Window prefix{};
  prefix.window_dimensions = {Dim(1), classes};
  prefix.padding_low = {Dim(0), classes - Dim(1)};
  prefix.padding_high = {Dim(0), Dim(0)};
  Formula ends = convert(targets < 0.0, DType::Int64);
  Formula listed =
      classes == Dim(0) ? eq(ends, 0.0) : eq(Formula(l, l.hlo.reduce_window(ends, prefix, Reducer::Add)), 0.0);
  // [row, place in the list, class]
  Dims cube{rows, classes, classes};
  Formula names(l, l.hlo.iota({DType::Int64, cube}, 2));
  Formula wanted(l, l.hlo.broadcast_in_dim(targets, cube, {0, 1}));
  Formula hit = eq(names, wanted) & Formula(l, l.hlo.broadcast_in_dim(listed, cube, {0, 1}));
  Formula is_target(l, l.hlo.reduce(hit, {1}, Reducer::Or));
  Formula by_class(l, l.hlo.broadcast_in_dim(scores, cube, {0, 2}));
  Formula picked(l, sum_value(l, select(hit, by_class, 0.0), Axes{2}));
  Formula excess = max(1.0 - Formula(l, l.hlo.broadcast_in_dim(picked, cube, {0, 1})) + by_class, 0.0);
  Formula counted = Formula(l, l.hlo.broadcast_in_dim(listed, cube, {0, 1})) &
                    !Formula(l, l.hlo.broadcast_in_dim(is_target, cube, {0, 2}));
  Formula loss =
      Formula(l, sum_value(l, select(counted, excess, 0.0), Axes{1, 2})) / static_cast<double>(classes.concrete());
  Value result = l.convert(loss, self.dtype());
  if (s.single) result = l.hlo.reshape(result, {});
  Value marks = l.hlo.reshape(l.convert(is_target, self.dtype()), self.shape());
  return {reduce_loss(l, l.make(result), reduction), l.make(marks)};
}
Tensor multilabel_margin_loss(Lower& l, Tensor self, Tensor target, int64_t reduction) {
  return std::get<0>(multilabel_margin_loss_forward(l, self, target, reduction));
}

std::span<const Row> classification_loss_ops() {
  constexpr AutocastRule kWide = AutocastRule::Float32;
  static constexpr Row own[] = {
      op<cross_entropy_loss>("cross_entropy_loss", kWide),
      op<multi_margin_loss>("multi_margin_loss", kWide),
      op<multilabel_margin_loss>("multilabel_margin_loss", kWide),
      op<multilabel_margin_loss_forward>("multilabel_margin_loss_forward"),
      op<nll_loss>("nll_loss", kWide),
      op<nll_loss>("nll_loss2d", kWide),
      op<nll_loss_forward>("nll_loss2d_forward"),
      op<nll_loss_forward>("nll_loss_forward"),
      op<nll_loss>("nll_loss_nd", kWide),
  };
  static const std::vector<Row> rows = [] {
    std::vector<Row> all(std::begin(own), std::end(own));
    for (const Row& row : ctc_ops()) all.push_back(row);
    return all;
  }();
  return rows;
}

}  // namespace torchlift::aten
