// The cross entropy of a linear layer, torch.nn.functional.linear_cross_entropy: PyTorch goes through the samples in
// chunks, so that not all scores exist at once. Here they are one product, which the plugin may cut as it likes.
#include <limits>

#include "aten/axes.hpp"
#include "aten/families.hpp"
#include "aten/linear_algebra.hpp"
#include "aten/reduction.hpp"

namespace torchlift::aten {
namespace {

using Axes = std::vector<int64_t>;

struct Problem {
  Tensor input, linear_weight, target;
  Optional<Tensor> linear_bias, weight;
  std::string reduction;
  Dim ignore_index;
  Dim chunk;  // samples taken at once
  std::string acc_policy;
  DType acc_dtype{};
};

bool well_formed(Lower& l, const Problem& p) {
  DType dtype = p.input.dtype();
  if (!l.expect_rank(p.input, 2, 2, "input") || !l.expect_rank(p.linear_weight, 2, 2, "linear_weight") ||
      !l.expect_rank(p.target, 1, 1, "target"))
    return false;
  bool fits = is_float(dtype) && p.linear_weight.dtype() == dtype && p.target.dtype() == DType::Int64 &&
              p.input.dim(1) == p.linear_weight.dim(1) && p.target.dim(0) == p.input.dim(0) && p.chunk >= Dim(1);
  for (const Optional<Tensor>& t : {p.linear_bias, p.weight})
    fits = fits && (!t || (t->rank() == 1 && t->dim(0) == p.linear_weight.dim(0) && is_float(t->dtype())));
  if (!fits) {
    l.wrong("operands " + describe(p.input) + ", " + describe(p.linear_weight) + ", " + describe(p.target) +
            " do not fit");
    return false;
  }
  if (p.acc_dtype == lower::accumulate_type(dtype)) return true;
  l.unsupported("acc_dtype", std::string(info(p.acc_dtype).torch_name), "leave it to PyTorch's default");
  return false;
}

// What a sample's loss is multiplied by: the weight of its class, zero where it is ignored; [samples].
Formula sample_weights(Lower& l, const Problem& p, Formula choice, DType compute) {
  const Dims grid = l.type(choice).dims;
  Formula t(l, l.read(p.target));
  Formula ignored = eq(t, t.like(Scalar(p.ignore_index)));
  Formula ones(l, l.full({grid[0]}, compute, 1));
  if (p.weight) {
    Formula classes(l, l.hlo.broadcast_in_dim(l.read(*p.weight, compute), grid, {1}));
    ones = Formula(l, sum_value(l, select(choice, classes, 0.0), Axes{1}));
  }
  return select(ignored, 0.0, ones);
}

struct Scores {
  Formula choice;        // [samples, classes]: the target's class; an ignored target is class 0
  Formula exponentials;  // of the scores less the greatest of the sample
  Formula at_target;     // [samples]: the score of the target, less the greatest
  Formula sum;           // [samples]: of the exponentials
};

// These policies keep scores of float16 in float16.
Scores scores_of(Lower& l, const Problem& p) {
  DType dtype = p.input.dtype();
  bool narrow = dtype == DType::Float16 && (p.acc_policy == "balanced" || p.acc_policy == "compact");
  auto kept = [&](Formula x) { return narrow ? x.with(rounded(l, x, dtype)) : x; };
  Formula scores = kept(Formula(l, contract_last(l, l.read(p.input), l.read(p.linear_weight))));
  DType compute = scores.dtype();
  const Dims grid = l.type(scores).dims;
  if (p.linear_bias)
    scores = kept(scores + Formula(l, l.hlo.broadcast_in_dim(l.read(*p.linear_bias, compute), grid, {1})));
  Formula greatest(l, extreme_value(l, scores, Axes{1}, Reducer::MaximumNan));
  scores = kept(scores - scores.with(l.hlo.broadcast_in_dim(greatest, grid, {0})));
  Formula t(l, l.read(p.target));
  bool outside = p.ignore_index < Dim(0) || p.ignore_index >= p.linear_weight.dim(0);
  if (outside) t = select(eq(t, t.like(Scalar(p.ignore_index))), 0.0, t);
  Formula numbers(l, l.hlo.iota({DType::Int64, grid}, 1));
  Formula choice = eq(numbers, t.with(l.hlo.broadcast_in_dim(t, grid, {0})));
  Formula picked(l, sum_value(l, select(choice, scores, 0.0), Axes{1}));
  Formula exponentials = kept(exp(scores));
  return {choice, exponentials, picked, Formula(l, sum_value(l, exponentials, Axes{1}))};
}

// weight * score of the target - weight * log(sum), over all samples. PyTorch keeps a bfloat16 sum in bfloat16, rounded
// twice for every chunk.
Value summed_loss(Lower& l, const Problem& p, Formula at_target, Formula from_sums) {
  DType dtype = p.input.dtype();
  Axes first{0};
  if (dtype != DType::BFloat16) return sum_value(l, at_target - from_sums, first);
  int64_t samples = l.pin(p.input.dim(0)), chunk = l.pin(p.chunk), chunks = (samples + chunk - 1) / chunk;
  auto by_chunk = [&](Formula x) {
    Value padded = pad_axis(l, x, 0, 0, Dim(chunks * chunk - samples));
    Value sums = sum_value(l, l.hlo.reshape(padded, {Dim(chunks), Dim(chunk)}), Axes{1});
    return l.hlo.reshape(sums, {Dim(chunks), Dim(1)});
  };
  Value steps = l.hlo.concatenate({by_chunk(at_target), by_chunk(-from_sums)}, 1);
  return sum_in_steps(l, l.hlo.reshape(steps, {Dim(2 * chunks)}), 0, dtype);
}

using Results = std::tuple<Tensor, Tensor, Tensor, Tensor>;

// (loss, and its gradients for input, weight and bias, or empty tensors).
Results linear_cross_entropy_batch_chunked(Lower& l, Tensor input, Tensor linear_weight, Tensor target,
                                           Optional<Tensor> linear_bias, Optional<Tensor> weight, std::string reduction,
                                           Dim ignore_index, double label_smoothing, Dim batch_chunk_size,
                                           std::string acc_policy, DType acc_dtype, bool, bool compute_input_grad,
                                           bool compute_linear_weight_grad, bool compute_linear_bias_grad) {
  Problem p{input,     linear_weight, target,           linear_bias, weight,
            reduction, ignore_index,  batch_chunk_size, acc_policy,  acc_dtype};
  if (input.is_poison() || linear_weight.is_poison() || target.is_poison() || !well_formed(l, p)) return {};
  if (label_smoothing > 0) return l.unsupported("label_smoothing", Scalar(label_smoothing).text());
  if (reduction != "mean" && reduction != "sum") return l.unsupported("reduction", reduction);
  Scores s = scores_of(l, p);
  Formula w = -sample_weights(l, p, s.choice, s.sum.dtype());
  if (reduction == "mean") {
    Formula total(l, sum_value(l, w, Axes{0}));
    Formula divisor = select(eq(total, 0.0), std::numeric_limits<double>::quiet_NaN(), -total);
    w = w / w.with(l.broadcast_to(divisor, l.type(w).dims));
  }
  Value loss = summed_loss(l, p, w * s.at_target, w * log(s.sum));
  // Of no samples the mean is NaN, though the sum of nothing is zero.
  if (reduction == "mean" && input.dim(0) == Dim(0)) loss = l.full_like(loss, std::numeric_limits<double>::quiet_NaN());
  DType dtype = input.dtype();
  auto none = [&](size_t rank) { return l.make(l.full(Dims(rank, Dim(0)), dtype, 0)); };
  Results results{l.make(l.convert(loss, dtype)), none(2), none(2), none(1)};
  if (!compute_input_grad && !compute_linear_weight_grad && !compute_linear_bias_grad) return results;
  // For each score: weight * (1 at the target - its share of the sum).
  const Dims grid = l.type(s.choice).dims;
  auto along = [&](Formula x) { return x.with(l.hlo.broadcast_in_dim(x, grid, {0})); };
  Formula slope = select(s.choice, along(w), 0.0) - s.exponentials * along(w / s.sum);
  DType wide = slope.dtype();
  auto give = [&](Value v) { return l.make(l.convert(v, dtype)); };
  auto product = [&](Value lhs, Value rhs, int64_t lhs_axis) {
    stablehlo::DotGeneral d{};
    d.lhs_contracting_dimensions = {lhs_axis};
    d.rhs_contracting_dimensions = {0};
    return contract(l, lhs, rhs, std::move(d));
  };
  if (compute_input_grad) std::get<1>(results) = give(product(slope, l.read(linear_weight, wide), 1));
  if (compute_linear_weight_grad) std::get<2>(results) = give(product(slope, l.read(input, wide), 0));
  if (compute_linear_bias_grad) std::get<3>(results) = give(sum_value(l, slope, Axes{0}));
  return results;
}

// A loss for each sample.
Tensor linear_cross_entropy_no_reduction(Lower& l, Tensor input, Tensor linear_weight, Tensor target,
                                         Optional<Tensor> linear_bias, Optional<Tensor> weight, Dim ignore_index,
                                         Dim batch_chunk_size, std::string acc_policy, DType acc_dtype) {
  Problem p{input,  linear_weight, target,           linear_bias, weight,
            "none", ignore_index,  batch_chunk_size, acc_policy,  acc_dtype};
  if (input.is_poison() || linear_weight.is_poison() || target.is_poison() || !well_formed(l, p)) return {};
  Scores s = scores_of(l, p);
  Formula w = sample_weights(l, p, s.choice, s.sum.dtype());
  return l.make(l.convert((log(s.sum) - s.at_target) * w, input.dtype()));
}

}  // namespace

std::span<const Row> linear_cross_entropy_ops() {
  static constexpr Row rows[] = {
      op<linear_cross_entropy_batch_chunked>("torch_nn::_linear_cross_entropy_batch_chunked"),
      op<linear_cross_entropy_no_reduction>("torch_nn::_linear_cross_entropy_batch_chunked_no_reduction"),
  };
  return rows;
}

}  // namespace torchlift::aten
