// Gradients, as they occur in exported training graphs.
#include <array>
#include <numeric>

#include "aten/families.hpp"
#include "aten/pointwise.hpp"
#include "aten/reduction.hpp"
#include "aten/special_functions.hpp"

namespace torchlift::aten {
namespace {

using Axes = std::vector<int64_t>;

// grad * derivative(x). `kinds`: what PyTorch computes in.
template <typename Fn>
Tensor chain(Lower& l, Tensor grad, Tensor x, Fn&& derivative, unsigned kinds = takes::kRealFloats) {
  if (!computes_in(l, lower::result_type(std::array{grad, x}), kinds)) return {};
  return zip_wide(l, grad, x, [&](Formula g, Formula v) { return g * derivative(v); });
}

// grad where the condition on x holds, else zero.
template <typename Fn>
Tensor gate(Lower& l, Tensor grad, Tensor x, Fn&& open) {
  if (!computes_in(l, lower::result_type(std::array{grad, x}), takes::kNumbers)) return {};
  return zip_wide(l, grad, x, [&](Formula g, Formula v) { return select(open(v), g, 0.0); });
}

// The gradient of a loss of pairs: grad * derivative(self, target), over the count if the loss is a mean.
template <typename Fn>
Tensor loss_gradient(Lower& l, Tensor grad, Tensor self, Tensor target, int64_t reduction, Fn&& derivative) {
  std::array operands{grad, self, target};
  double count = reduction == 1 ? static_cast<double>(self.numel().concrete()) : 1;
  return zip_all(l, operands, lower::accumulate_type(self.dtype()), self.dtype(), [&](std::span<const Formula> v) {
    Formula g = v[0] * derivative(v[1], v[2]);
    return count == 1 ? g : g / count;
  });
}

}  // namespace

// ---- activations

Tensor threshold_backward(Lower& l, Tensor grad_output, Tensor self, Scalar threshold) {
  return gate(l, grad_output, self, [&](Formula x) { return x > x.like(threshold); });
}
Tensor hardtanh_backward(Lower& l, Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) {
  return gate(l, grad_output, self, [&](Formula x) { return (x > x.like(min_val)) & (x < x.like(max_val)); });
}
Tensor tanh_backward(Lower& l, Tensor grad_output, Tensor output) {
  return chain(
      l, grad_output, output, [](Formula y) { return conjugate(1.0 - y * y); }, takes::kRealFloats | takes::kComplex);
}
Tensor sigmoid_backward(Lower& l, Tensor grad_output, Tensor output) {
  return chain(
      l, grad_output, output, [](Formula y) { return conjugate((1.0 - y) * y); }, takes::kRealFloats | takes::kComplex);
}
Tensor silu_backward(Lower& l, Tensor grad_output, Tensor self) {
  return chain(
      l, grad_output, self,
      [](Formula x) {
        Formula s = logistic(x);
        return s * (x * (1.0 - s) + 1.0);
      },
      takes::kRealFloats | takes::kComplex);
}
Tensor leaky_relu_backward(Lower& l, Tensor grad_output, Tensor self, Scalar negative_slope, bool) {
  return chain(l, grad_output, self, [&](Formula x) { return select(x > 0.0, 1.0, x.like(negative_slope)); });
}
Tensor softplus_backward(Lower& l, Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) {
  return chain(l, grad_output, self, [&](Formula x) {
    Formula z = x * beta.to_double();
    return select(z > threshold.to_double(), 1.0, logistic(z));
  });
}
Tensor elu_backward(Lower& l, Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result,
                    Tensor self_or_result) {
  double a = alpha.to_double(), s = scale.to_double(), i = input_scale.to_double();
  return chain(l, grad_output, self_or_result, [&](Formula x) {
    Formula below = is_result ? (x + a * s) * i : exp(x * i) * (a * s * i);
    return select(x > 0.0, x.like(s), below);
  });
}

// none: Phi(x) + x phi(x); tanh: the derivative of its formula.
Tensor gelu_backward(Lower& l, Tensor grad_output, Tensor self, std::string approximate) {
  constexpr double kSqrtTwoOverPi = 0.79788456080286535588, kSqrtHalf = 0.70710678118654752440;
  constexpr double kInverseSqrtTwoPi = 0.39894228040143267794, kCubic = 0.044715;
  if (approximate == "none")
    return chain(l, grad_output, self, [](Formula x) {
      return (erf(x * kSqrtHalf) + 1.0) * 0.5 + x * exp(x * x * -0.5) * kInverseSqrtTwoPi;
    });
  if (approximate != "tanh")
    return l.unsupported("approximate", "'" + approximate + "'", "PyTorch knows 'none' and 'tanh'");
  return chain(l, grad_output, self, [](Formula x) {
    Formula t = tanh((x + x * x * x * kCubic) * kSqrtTwoOverPi);
    Formula inner = (x * x * (3 * kCubic) + 1.0) * kSqrtTwoOverPi;
    return (t + 1.0) * 0.5 + x * 0.5 * (1.0 - t * t) * inner;
  });
}

Tensor hardsigmoid_backward(Lower& l, Tensor grad_output, Tensor self) {
  return chain(l, grad_output, self, [](Formula x) { return select((x > -3.0) & (x < 3.0), 1.0 / 6, x * 0.0); });
}
Tensor hardswish_backward(Lower& l, Tensor grad_output, Tensor self) {
  return chain(l, grad_output, self,
               [](Formula x) { return select(x <= -3.0, 0.0, select(x < 3.0, x / 3.0 + 0.5, x.like(1))); });
}

// ---- softmax

namespace {

// fn(grad, output, axes) in float32 or float64, given back as `result`.
template <typename Fn>
Tensor softmax_gradient(Lower& l, Tensor grad, Tensor output, int64_t dim, DType result, Fn&& fn) {
  auto axis = l.axis(dim, output.rank());
  if (!axis || grad.shape() != output.shape())
    return axis ? Tensor(l.wrong("expected a gradient like the output, got " + describe(grad))) : Tensor();
  Axes axes = output.rank() == 0 ? Axes() : Axes{*axis};
  DType compute = lower::accumulate_type(output.dtype());
  Formula g(l, l.read(grad, compute)), y(l, l.read(output, compute));
  auto sum = [&](Formula v) { return Formula(l, spread(l, sum_value(l, v, axes), axes, output.shape())); };
  return l.make(l.convert(fn(g, y, sum), result));
}

}  // namespace

Tensor softmax_backward(Lower& l, Tensor grad_output, Tensor output, int64_t dim, DType input_dtype) {
  return softmax_gradient(l, grad_output, output, dim, input_dtype,
                          [](Formula g, Formula y, auto sum) { return y * (g - sum(g * y)); });
}
Tensor log_softmax_backward(Lower& l, Tensor grad_output, Tensor output, int64_t dim, DType input_dtype) {
  return softmax_gradient(l, grad_output, output, dim, input_dtype,
                          [](Formula g, Formula y, auto sum) { return g - exp(y) * sum(g); });
}

// ---- losses

Tensor mse_loss_backward(Lower& l, Tensor grad_output, Tensor self, Tensor target, int64_t reduction) {
  return loss_gradient(l, grad_output, self, target, reduction, [](Formula x, Formula t) { return (x - t) * 2.0; });
}
Tensor smooth_l1_loss_backward(Lower& l, Tensor grad_output, Tensor self, Tensor target, int64_t reduction,
                               double beta) {
  return loss_gradient(l, grad_output, self, target, reduction, [&](Formula x, Formula t) {
    Formula d = x - t;
    return select(abs(d) < beta, d / beta, sign(d));
  });
}
Tensor huber_loss_backward(Lower& l, Tensor grad_output, Tensor self, Tensor target, int64_t reduction, double delta) {
  return loss_gradient(l, grad_output, self, target, reduction,
                       [&](Formula x, Formula t) { return max(min(x - t, delta), -delta); });
}
Tensor binary_cross_entropy_backward(Lower& l, Tensor grad_output, Tensor self, Tensor target, Optional<Tensor> weight,
                                     int64_t reduction) {
  Tensor grad = weight ? l.mul(grad_output, *weight) : grad_output;
  return loss_gradient(l, grad, self, target, reduction,
                       [](Formula x, Formula t) { return (x - t) / max((1.0 - x) * x, 1e-12); });
}

// -weight at the target's class, over the total weight if the loss is a mean.
Tensor nll_loss_backward(Lower& l, Tensor grad_output, Tensor self, Tensor target, Optional<Tensor> weight,
                         int64_t reduction, Dim ignore_index, Tensor total_weight) {
  if (self.rank() < 1 || target.rank() != self.rank() - 1)
    return l.wrong("expected one class a sample, got " + describe(target));
  int64_t axis = self.rank() == 1 ? 0 : 1;
  const Dims& shape = self.shape();
  DType compute = lower::accumulate_type(self.dtype());
  auto over_classes = [&](Value v) { return Formula(l, spread(l, v, Axes{axis}, shape)); };
  Formula wanted = over_classes(l.read(target, DType::Int64));
  Formula names(l, l.hlo.iota({DType::Int64, shape}, axis));
  Formula hit = eq(names, wanted) & ne(wanted, wanted.like(Scalar(ignore_index)));
  Value grad = l.read(grad_output, compute);
  Formula g = reduction == 0 ? over_classes(grad) : Formula(l, l.broadcast_to(grad, shape));
  if (reduction == 1) g = g / Formula(l, l.read(total_weight, compute, shape));
  if (weight) g = g * Formula(l, l.hlo.broadcast_in_dim(l.read(*weight, compute), shape, {axis}));
  return l.make(l.convert(select(hit, -g, 0.0), self.dtype()));
}

// ---- normalisations

namespace {

using Three = std::tuple<Tensor, Tensor, Tensor>;

struct NormGradient {
  Formula grad, scaled, normal;  // of the result; times the weights; (input - mean) * inverse deviation
  Formula inverse;
};

// inverse * (scaled - mean(scaled) - normal * mean(scaled * normal)) over the axes that were normalised together.
Formula input_gradient(Lower& l, const NormGradient& n, const Axes& axes) {
  const Dims shape = l.type(n.grad).dims;
  auto mean = [&](Formula v) { return Formula(l, spread(l, mean_value(l, v, axes), axes, shape)); };
  return n.inverse * (n.scaled - mean(n.scaled) - n.normal * mean(n.scaled * n.normal));
}

}  // namespace

Three native_layer_norm_backward(Lower& l, Tensor grad_out, Tensor input, Dims normalized_shape, Tensor mean,
                                 Tensor rstd, Optional<Tensor> weight, Optional<Tensor>, std::vector<bool>) {
  auto outer_rank = input.rank() - static_cast<int64_t>(normalized_shape.size());
  if (outer_rank < 0)
    return l.wrong("expected an input that ends in " + text_of(normalized_shape) + ", got " + describe(input));
  Axes inner(normalized_shape.size()), outer(static_cast<size_t>(outer_rank));
  std::iota(inner.begin(), inner.end(), outer_rank);
  std::iota(outer.begin(), outer.end(), 0);
  DType compute = lower::accumulate_type(input.dtype());
  const Dims& shape = input.shape();
  auto full = [&](Tensor t) { return Formula(l, l.read(t, compute, shape)); };
  Formula grad = full(grad_out), inverse = full(rstd), normal = (full(input) - full(mean)) * inverse;
  NormGradient n{grad, weight ? grad * full(*weight) : grad, normal, inverse};
  DType weights = weight ? weight->dtype() : input.dtype();
  auto give = [&](Value v, DType dtype) { return l.make(l.convert(v, dtype)); };
  return {give(input_gradient(l, n, inner), input.dtype()), give(sum_value(l, grad * normal, outer), weights),
          give(sum_value(l, grad, outer), weights)};
}

// In training through the statistics of the batch; else these are constants.
Three native_batch_norm_backward(Lower& l, Tensor grad_out, Tensor input, Optional<Tensor> weight,
                                 Optional<Tensor> running_mean, Optional<Tensor> running_var,
                                 Optional<Tensor> save_mean, Optional<Tensor> save_invstd, bool train, double eps,
                                 std::vector<bool>) {
  if (!l.expect_rank(input, 2, 63, "input")) return {};
  Axes axes;
  for (int64_t i = 0; i < input.rank(); ++i)
    if (i != 1) axes.push_back(i);
  DType compute = lower::accumulate_type(input.dtype());
  const Dims& shape = input.shape();
  auto by_channel = [&](Value v) {
    return Formula(l, v.has_value() ? l.hlo.broadcast_in_dim(v, shape, {1}) : Value());
  };
  const Optional<Tensor>& mean = train ? save_mean : running_mean;
  const Optional<Tensor>& spread_of = train ? save_invstd : running_var;
  if (!mean || !spread_of) return l.wrong("expected the statistics that the forward pass used");
  Formula deviation(l, l.read(*spread_of, compute));
  Formula inverse = by_channel(train ? deviation : rsqrt(deviation + eps));
  Formula grad(l, l.read(grad_out, compute));
  Formula normal = (Formula(l, l.read(input, compute)) - by_channel(l.read(*mean, compute))) * inverse;
  Formula scaled = weight ? grad * by_channel(l.read(*weight, compute)) : grad;
  NormGradient n{grad, scaled, normal, inverse};
  DType weights = weight ? weight->dtype() : input.dtype();
  auto give = [&](Value v, DType dtype) { return l.make(l.convert(v, dtype)); };
  return {give(train ? input_gradient(l, n, axes) : scaled * inverse, input.dtype()),
          give(sum_value(l, grad * normal, axes), weights), give(sum_value(l, grad, axes), weights)};
}

std::span<const Row> backward_ops() {
  static constexpr Row rows[] = {
      op<log_softmax_backward>("_log_softmax_backward_data"),
      op<softmax_backward>("_softmax_backward_data"),
      op<binary_cross_entropy_backward>("binary_cross_entropy_backward"),
      op<elu_backward>("elu_backward"),
      op<gelu_backward>("gelu_backward"),
      op<hardsigmoid_backward>("hardsigmoid_backward"),
      op<hardswish_backward>("hardswish_backward"),
      op<hardtanh_backward>("hardtanh_backward"),
      op<huber_loss_backward>("huber_loss_backward"),
      op<leaky_relu_backward>("leaky_relu_backward"),
      op<mse_loss_backward>("mse_loss_backward"),
      op<native_batch_norm_backward>("native_batch_norm_backward"),
      op<native_layer_norm_backward>("native_layer_norm_backward"),
      op<nll_loss_backward>("nll_loss2d_backward"),
      op<nll_loss_backward>("nll_loss_backward"),
      op<sigmoid_backward>("sigmoid_backward"),
      op<silu_backward>("silu_backward"),
      op<smooth_l1_loss_backward>("smooth_l1_loss_backward"),
      op<softplus_backward>("softplus_backward"),
      op<tanh_backward>("tanh_backward"),
      op<threshold_backward>("threshold_backward"),
  };
  return rows;
}

}  // namespace torchlift::aten
