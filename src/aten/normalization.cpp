// Normalisations: over the batch, a layer, groups of channels, one instance; weights as length times direction.
#include "aten/normalization.hpp"

#include <array>
#include <limits>
#include <numeric>

#include "aten/axes.hpp"
#include "aten/families.hpp"
#include "aten/pointwise.hpp"
#include "aten/reduction.hpp"
#include "aten/special_functions.hpp"
#include "base/kinds.hpp"

namespace torchlift::aten {
namespace {

using Axes = std::vector<int64_t>;

// Half precision is normalised in float32.
DType wide(Tensor t) { return lower::accumulate_type(t.dtype()); }

bool expect_floats(Lower& l, Tensor input) {
  if (!is_integral(input.dtype()) && !is_complex(input.dtype())) return true;
  l.wrong("expected floating-point numbers, got " + describe(input));
  return false;
}

// One value a channel (dimension 1), seen in the shape of the input.
Formula by_channel(Lower& l, Value channels, const Dims& shape) {
  return Formula(l, channels.has_value() ? l.hlo.broadcast_in_dim(channels, shape, {1}) : Value());
}

// All dimensions but the channels'.
Axes all_but_channels(Tensor input) {
  Axes axes;
  for (int64_t i = 0; i < input.rank(); ++i)
    if (i != 1) axes.push_back(i);
  return axes;
}

bool expect_channels(Lower& l, const Optional<Tensor>& t, Dim channels, std::string_view what) {
  if (!t || (t->rank() == 1 && t->dim(0) == channels)) return true;
  l.wrong("expected " + std::string(what) + " of " + std::to_string(channels.concrete()) + " channels, got " +
          describe(*t));
  return false;
}

Formula inverse_deviation(Lower& l, Value variance, double eps) { return rsqrt(Formula(l, variance) + eps); }

}  // namespace

// ---- batch

namespace {

struct BatchNorm {
  Tensor output;
  Value mean, inverse;              // of the batch, where it was normalised by these
  Value running_mean, running_var;  // as they are after a training step
};

struct BatchNormArguments {
  Tensor input;
  Optional<Tensor> weight, bias, running_mean, running_var;
  bool training = false;
  double momentum = 0, eps = 0;
};

bool well_formed(Lower& l, const BatchNormArguments& a) {
  if (!expect_floats(l, a.input) || !l.expect_rank(a.input, 2, 63, "input")) return false;
  Dim channels = a.input.dim(1);
  if (!a.training && (!a.running_mean || !a.running_var)) {
    l.wrong("expected running_mean and running_var to be given in evaluation mode");
    return false;
  }
  return expect_channels(l, a.weight, channels, "weight") && expect_channels(l, a.bias, channels, "bias") &&
         expect_channels(l, a.running_mean, channels, "running_mean") &&
         expect_channels(l, a.running_var, channels, "running_var");
}

// PyTorch keeps the statistics of a batch in the dtype of the parameters: rounded, unless some parameter is wider.
DType statistics_type(const BatchNormArguments& a) {
  for (const Optional<Tensor>& t : {a.weight, a.bias, a.running_mean, a.running_var})
    if (t && t->dtype() != a.input.dtype()) return wide(a.input);
  return a.input.dtype();
}

// Mean and biased variance of a batch; the variance is taken from the mean as it is kept.
Moments batch_moments(Lower& l, Formula x, const Axes& axes, const BatchNormArguments& a) {
  if (statistics_type(a) == x.dtype()) return moments(l, x, axes, 0);
  Value mean = rounded(l, mean_value(l, x, axes), statistics_type(a));
  Formula deviation = x - Formula(l, spread(l, mean, axes, l.type(x).dims));
  return {mean, mean_value(l, square(deviation), axes)};
}

// old + momentum * (batch - old), in the dtype of the statistic.
Value moved(Lower& l, Tensor running, Value batch, double momentum) {
  Formula old(l, l.read(running, wide(running)));
  Formula next = old * (1 - momentum) + Formula(l, l.convert(batch, old.dtype())) * momentum;
  return l.convert(next, running.dtype());
}

// (input - mean) / sqrt(variance + eps) * weight + bias, a channel at a time: with the statistics of the batch in
// training, else with the running ones. The running variance moves by the unbiased variance of the batch.
BatchNorm normalise_batch(Lower& l, const BatchNormArguments& a) {
  if (!well_formed(l, a)) return {};
  BatchNorm out;
  DType compute = wide(a.input);
  const Dims& shape = a.input.shape();
  Formula x(l, l.read(a.input, compute));
  Value mean, variance;
  if (a.training) {
    Axes axes = all_but_channels(a.input);
    Moments m = batch_moments(l, x, axes, a);
    mean = m.mean;
    variance = m.variance;
    double count = static_cast<double>(reduced_count(shape, axes).concrete());
    if (a.running_mean) out.running_mean = moved(l, *a.running_mean, mean, a.momentum);
    if (a.running_var)
      out.running_var = moved(l, *a.running_var, Formula(l, variance) * (count / (count - 1)), a.momentum);
  } else {
    mean = l.read(*a.running_mean, compute);
    variance = l.read(*a.running_var, compute);
  }
  Formula inverse = inverse_deviation(l, variance, a.eps);
  if (a.training) inverse = inverse.with(rounded(l, inverse, statistics_type(a)));
  Formula scale = a.weight ? inverse * Formula(l, l.read(*a.weight, compute)) : inverse;
  Formula result = (x - by_channel(l, mean, shape)) * by_channel(l, scale, shape);
  if (a.bias) result = result + by_channel(l, l.read(*a.bias, compute), shape);
  out.output = l.make_elementwise(l.convert(result, a.input.dtype()), std::array{a.input});
  out.mean = mean;
  out.inverse = inverse;
  return out;
}

// What a training step leaves in the buffers of the model.
void store_statistics(Lower& l, const BatchNormArguments& a, const BatchNorm& result) {
  if (a.running_mean && result.running_mean.has_value()) l.write(*a.running_mean, result.running_mean);
  if (a.running_var && result.running_var.has_value()) l.write(*a.running_var, result.running_var);
}

// Exported in training mode the results depend on the other samples of the batch, seldom as meant.
void note_training(Lower& l, const BatchNormArguments& a) {
  if (a.training && (a.running_mean || a.running_var)) l.refuse(Kind::TrainingMode, {{"what", "batch_norm"}});
}

BatchNorm train_or_evaluate(Lower& l, const BatchNormArguments& a) {
  note_training(l, a);
  BatchNorm result = normalise_batch(l, a);
  store_statistics(l, a, result);
  return result;
}

// The statistics that the gradient uses; outside training PyTorch gives back empty tensors.
Tensor saved(Lower& l, const BatchNormArguments& a, Value statistic) {
  if (a.training) return l.make(l.convert(statistic, statistics_type(a)));
  return l.make(l.full({Dim(0)}, statistics_type(a), 0.0));
}

// PyTorch's shortcut: a copy, of any rank, in the dtype that the parameters' first elements would give; statistics
// stay.
Tensor batch_norm_of_nothing(Lower& l, Tensor input, const Optional<Tensor>& weight, const Optional<Tensor>& bias) {
  for (const Optional<Tensor>& t : {weight, bias})
    if (t && (t->rank() != 1 || t->is_empty()))
      return l.wrong("expected a parameter with a first element, got " + describe(*t));
  return map(l, input, {}, [](Formula x) { return x; });
}

using Statistics = std::tuple<Tensor, Tensor, Tensor>;

Statistics with_statistics(Lower& l, const BatchNormArguments& a, const BatchNorm& r) {
  if (r.output.is_poison()) return {};
  return {r.output, saved(l, a, r.mean), saved(l, a, r.inverse)};
}

}  // namespace

Tensor batch_norm(Lower& l, Tensor input, Optional<Tensor> weight, Optional<Tensor> bias, Optional<Tensor> running_mean,
                  Optional<Tensor> running_var, bool training, double momentum, double eps, bool) {
  if (input.is_empty()) return batch_norm_of_nothing(l, input, weight, bias);
  return train_or_evaluate(l, {input, weight, bias, running_mean, running_var, training, momentum, eps}).output;
}

// The same with the statistics of the batch: mean and 1 / sqrt(variance + eps).
Statistics native_batch_norm(Lower& l, Tensor input, Optional<Tensor> weight, Optional<Tensor> bias,
                             Optional<Tensor> running_mean, Optional<Tensor> running_var, bool training,
                             double momentum, double eps) {
  BatchNormArguments a{input, weight, bias, running_mean, running_var, training, momentum, eps};
  return with_statistics(l, a, train_or_evaluate(l, a));
}
Statistics batch_norm_legit(Lower& l, Tensor input, Optional<Tensor> weight, Optional<Tensor> bias, Tensor running_mean,
                            Tensor running_var, bool training, double momentum, double eps) {
  return native_batch_norm(l, input, weight, bias, running_mean, running_var, training, momentum, eps);
}
Statistics batch_norm_no_stats(Lower& l, Tensor input, Optional<Tensor> weight, Optional<Tensor> bias, bool training,
                               double momentum, double eps) {
  return native_batch_norm(l, input, weight, bias, {}, {}, training, momentum, eps);
}
Statistics batch_norm_no_training(Lower& l, Tensor input, Optional<Tensor> weight, Optional<Tensor> bias,
                                  Tensor running_mean, Tensor running_var, double momentum, double eps) {
  return native_batch_norm(l, input, weight, bias, running_mean, running_var, false, momentum, eps);
}

// Without writes: the moved statistics are results.
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> batch_norm_functional(Lower& l, Tensor input,
                                                                         Optional<Tensor> weight, Optional<Tensor> bias,
                                                                         Tensor running_mean, Tensor running_var,
                                                                         bool training, double momentum, double eps) {
  BatchNormArguments a{input, weight, bias, running_mean, running_var, training, momentum, eps};
  note_training(l, a);
  BatchNorm r = normalise_batch(l, a);
  auto [output, mean, inverse] = with_statistics(l, a, r);
  auto after = [&](Value v, Tensor before) { return l.make(training ? v : l.read(before)); };
  return {output, mean, inverse, after(r.running_mean, running_mean), after(r.running_var, running_var)};
}

namespace {

// The space that cuDNN would reserve: none.
Tensor no_reserve(Lower& l) { return l.make(l.full({Dim(0)}, DType::UInt8, 0)); }

}  // namespace

std::tuple<Tensor, Tensor, Tensor, Tensor> batch_norm_with_update(Lower& l, Tensor input, Optional<Tensor> weight,
                                                                  Optional<Tensor> bias, Tensor running_mean,
                                                                  Tensor running_var, double momentum, double eps) {
  auto [output, mean, inverse] =
      native_batch_norm(l, input, weight, bias, running_mean, running_var, true, momentum, eps);
  return {output, mean, inverse, no_reserve(l)};
}
std::tuple<Tensor, Tensor, Tensor, Tensor> batch_norm_no_update(Lower& l, Tensor input, Optional<Tensor> weight,
                                                                Optional<Tensor> bias, Optional<Tensor> running_mean,
                                                                Optional<Tensor> running_var, double momentum,
                                                                double eps) {
  auto [output, mean, inverse] =
      native_batch_norm(l, input, weight, bias, running_mean, running_var, false, momentum, eps);
  return {output, mean, inverse, no_reserve(l)};
}

// ---- instance

// Batch normalisation in which every sample is a batch of its own. Running statistics move by their mean over the
// batch.
Tensor instance_norm(Lower& l, Tensor input, Optional<Tensor> weight, Optional<Tensor> bias,
                     Optional<Tensor> running_mean, Optional<Tensor> running_var, bool use_input_stats, double momentum,
                     double eps, bool) {
  BatchNormArguments a{input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps};
  if (!use_input_stats) return normalise_batch(l, a).output;
  if (!well_formed(l, a)) return {};
  if (!l.expect_rank(input, 3, 63, "input")) return {};
  note_training(l, a);
  Axes spatial(static_cast<size_t>(input.rank() - 2));
  std::iota(spatial.begin(), spatial.end(), 2);
  DType compute = wide(input);
  const Dims& shape = input.shape();
  Formula x(l, l.read(input, compute));
  Moments m = batch_moments(l, x, spatial, a);
  auto back = [&](Value v) { return Formula(l, spread(l, v, spatial, shape)); };
  Value inverse = rounded(l, inverse_deviation(l, m.variance, eps), statistics_type(a));
  Formula result = (x - back(m.mean)) * back(inverse);
  if (weight) result = result * by_channel(l, l.read(*weight, compute), shape);
  if (bias) result = result + by_channel(l, l.read(*bias, compute), shape);
  double count = static_cast<double>(reduced_count(shape, spatial).concrete());
  Axes batch{0};
  if (running_mean) l.write(*running_mean, moved(l, *running_mean, mean_value(l, m.mean, batch), momentum));
  if (running_var) {
    Formula unbiased = Formula(l, m.variance) * (count / (count - 1));
    l.write(*running_var, moved(l, *running_var, mean_value(l, unbiased, batch), momentum));
  }
  return l.make_elementwise(l.convert(result, input.dtype()), std::array{input});
}

// ---- layer

namespace {

// The last dimensions, as many as normalized_shape names; refuses where the sizes differ.
Optional<Axes> normalised_axes(Lower& l, Tensor input, const Dims& normalized_shape) {
  auto count = static_cast<int64_t>(normalized_shape.size());
  bool fits = count >= 1 && count <= input.rank();
  for (int64_t i = 0; fits && i < count; ++i)
    fits = input.dim(input.rank() - count + i) == normalized_shape[static_cast<size_t>(i)];
  if (!fits) {
    l.wrong("expected an input that ends in " + text_of(normalized_shape) + ", got " + describe(input));
    return std::nullopt;
  }
  Axes axes(static_cast<size_t>(count));
  std::iota(axes.begin(), axes.end(), input.rank() - count);
  return axes;
}

}  // namespace

// (input - mean) / sqrt(variance + eps) * weight + bias over the last dimensions, with mean and 1 / sqrt(variance +
// eps).
Statistics native_layer_norm(Lower& l, Tensor input, Dims normalized_shape, Optional<Tensor> weight,
                             Optional<Tensor> bias, double eps) {
  if (!expect_floats(l, input)) return {};
  auto axes = normalised_axes(l, input, normalized_shape);
  if (!axes) return {};
  DType compute = wide(input);
  const Dims& shape = input.shape();
  Formula x(l, l.read(input, compute));
  Moments m = moments(l, x, *axes, 0);
  Formula inverse = inverse_deviation(l, m.variance, eps);
  auto back = [&](Value v) { return Formula(l, spread(l, v, *axes, shape)); };
  Formula result = (x - back(m.mean)) * back(inverse);
  if (weight) result = result * Formula(l, l.read(*weight, compute, shape));
  if (bias) result = result + Formula(l, l.read(*bias, compute, shape));
  Dims kept = reduced_shape(shape, *axes, true);
  auto statistic = [&](Value v) { return l.make(l.hlo.reshape(l.convert(v, input.dtype()), kept)); };
  return {l.make(l.convert(result, input.dtype())), statistic(m.mean), statistic(inverse)};
}

Tensor layer_norm(Lower& l, Tensor input, Dims normalized_shape, Optional<Tensor> weight, Optional<Tensor> bias,
                  double eps, bool) {
  return std::get<0>(native_layer_norm(l, input, normalized_shape, weight, bias, eps));
}

// input / sqrt(mean(input^2) + eps) * weight, with 1 / sqrt(...). Without eps, the distance of 1 to the next number.
// The square of a complex number is its product with itself.
std::tuple<Tensor, Tensor> fused_rms_norm(Lower& l, Tensor input, Dims normalized_shape, Optional<Tensor> weight,
                                          Optional<double> eps) {
  if (input.is_poison()) return {};
  if (is_integral(input.dtype())) return l.wrong("expected floating-point or complex numbers, got " + describe(input));
  auto axes = normalised_axes(l, input, normalized_shape);
  if (!axes) return {};
  DType compute = wide(input);
  const Dims& shape = input.shape();
  bool in_double = compute == DType::Float64 || compute == DType::Complex128;
  double smallest = in_double ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  Formula x(l, l.read(input, compute));
  Formula inside = Formula(l, mean_value(l, square(x), *axes)) + eps.value_or(smallest);
  Formula inverse = is_complex(compute) ? 1.0 / sqrt(inside) : rsqrt(inside);
  Formula result = x * Formula(l, spread(l, inverse, *axes, shape));
  if (weight) result = result * Formula(l, l.read(*weight, compute, shape));
  return {l.make(l.convert(result, input.dtype())), l.make(l.hlo.reshape(inverse, reduced_shape(shape, *axes, true)))};
}

Tensor rms_norm(Lower& l, Tensor input, Dims normalized_shape, Optional<Tensor> weight, Optional<double> eps) {
  return std::get<0>(fused_rms_norm(l, input, normalized_shape, weight, eps));
}

// ---- group

// Every group of channels of every sample is normalised; weight and bias belong to channels.
Statistics normalise_groups(Lower& l, Tensor input, Dim groups, Optional<Tensor> weight, Optional<Tensor> bias,
                            double eps) {
  if (!expect_floats(l, input) || !l.expect_rank(input, 2, 62, "input")) return {};
  Dim channels = input.dim(1);
  if (groups < Dim(1) || mod(channels, groups) != Dim(0))
    return l.wrong("expected channels in " + std::to_string(groups.concrete()) + " equal groups, got " +
                   describe(input));
  if (!expect_channels(l, weight, channels, "weight") || !expect_channels(l, bias, channels, "bias")) return {};
  DType compute = wide(input);
  Dims shape = input.shape();
  Dims grouped{shape[0], groups, floordiv(channels, groups)};
  grouped.insert(grouped.end(), shape.begin() + 2, shape.end());
  Axes axes(grouped.size() - 2);
  std::iota(axes.begin(), axes.end(), 2);
  Formula x(l, l.hlo.reshape(l.read(input, compute), grouped));
  Moments m = moments(l, x, axes, 0);
  Formula inverse = inverse_deviation(l, m.variance, eps);
  auto back = [&](Value v) { return Formula(l, spread(l, v, axes, grouped)); };
  Formula result(l, l.hlo.reshape((x - back(m.mean)) * back(inverse), shape));
  if (weight) result = result * by_channel(l, l.read(*weight, compute), shape);
  if (bias) result = result + by_channel(l, l.read(*bias, compute), shape);
  auto statistic = [&](Value v) { return l.make(l.convert(v, input.dtype())); };
  return {l.make_elementwise(l.convert(result, input.dtype()), std::array{input}), statistic(m.mean),
          statistic(inverse)};
}

Tensor group_norm(Lower& l, Tensor input, int64_t num_groups, Optional<Tensor> weight, Optional<Tensor> bias,
                  double eps, bool) {
  return std::get<0>(normalise_groups(l, input, Dim(num_groups), weight, bias, eps));
}
Statistics native_group_norm(Lower& l, Tensor input, Optional<Tensor> weight, Optional<Tensor> bias, Dim, Dim, Dim,
                             int64_t group, double eps) {
  return normalise_groups(l, input, Dim(group), weight, bias, eps);
}

// ---- weights

// g * v / |v|, with the norm over all dimensions but dim; and that norm.
std::tuple<Tensor, Tensor> weight_norm_interface(Lower& l, Tensor v, Tensor g, int64_t dim) {
  Axes others;
  if (dim != -1) {  // -1: the norm of all of v
    auto axis = l.axis(dim, v.rank());
    if (!axis) return {};
    for (int64_t i = 0; i < v.rank(); ++i)
      if (i != *axis) others.push_back(i);
    if (others.empty()) return l.wrong("expected v with more dimensions than dim, got " + describe(v));
  }
  Tensor norms = linalg_vector_norm(l, v, Scalar(2), others, dim != -1, {});
  std::array operands{v, g, norms};
  DType dtype = v.dtype();
  Tensor weight = zip_all(l, operands, lower::accumulate_type(dtype), dtype,
                          [](std::span<const Formula> x) { return x[0] * (x[1] / x[2]); });
  return {weight, norms};
}
Tensor weight_norm(Lower& l, Tensor v, Tensor g, int64_t dim) {
  return std::get<0>(weight_norm_interface(l, v, g, dim));
}

std::span<const Row> normalization_ops() {
  constexpr auto kStatistics = writes("running_mean", "running_var");
  static constexpr Row rows[] = {
      op<batch_norm_no_update>("_batch_norm_no_update"),
      op<batch_norm_with_update>("_batch_norm_with_update", kStatistics),
      op<fused_rms_norm>("_fused_rms_norm"),
      op<batch_norm_legit>("_native_batch_norm_legit", kStatistics),
      op<batch_norm_no_stats>("_native_batch_norm_legit.no_stats"),
      op<batch_norm_functional>("_native_batch_norm_legit_functional"),
      op<batch_norm_no_training>("_native_batch_norm_legit_no_training"),
      op<weight_norm>("_weight_norm"),
      op<weight_norm_interface>("_weight_norm_interface"),
      op<batch_norm>("batch_norm", kStatistics),
      op<group_norm>("group_norm"),
      op<instance_norm>("instance_norm", kStatistics),
      op<layer_norm>("layer_norm"),
      op<native_batch_norm>("native_batch_norm", kStatistics),
      op<native_group_norm>("native_group_norm"),
      op<native_layer_norm>("native_layer_norm"),
      op<rms_norm>("rms_norm"),
  };
  return rows;
}

}  // namespace torchlift::aten
