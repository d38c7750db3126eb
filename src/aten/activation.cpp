// Activations, and the softmax family. Half precision is computed in float32 and rounded once.
#include "aten/activation.hpp"

#include "aten/families.hpp"
#include "aten/pointwise.hpp"
#include "aten/reduction.hpp"
#include "aten/special_functions.hpp"

namespace torchlift::aten {
namespace {

// As map_wide, for operators that PyTorch gives to floating-point numbers only.
template <typename Fn>
Tensor activate(Lower& l, Tensor self, Fn&& fn) {
  if (is_integral(self.dtype())) return l.wrong("expected floating-point numbers, got " + describe(self));
  return map_wide(l, self, std::forward<Fn>(fn));
}

Formula clipped(Formula x, double low, double high) { return min(max(x, low), high); }

}  // namespace

// ---- piecewise linear

// min(max(self, min_val), max_val), NaN kept. Integers stay integers.
Tensor hardtanh(Lower& l, Tensor self, Scalar min_val, Scalar max_val) {
  return map(l, self, {}, [&](Formula x) { return min(max(x, x.like(min_val)), x.like(max_val)); });
}
Tensor relu6(Lower& l, Tensor self) { return hardtanh(l, self, 0, 6); }

// self above zero, negative_slope * self below.
Tensor leaky_relu(Lower& l, Tensor self, Scalar negative_slope) {
  return activate(l, self, [&](Formula x) { return select(x > 0.0, x, x * negative_slope.to_double()); });
}

// max(self, 0) + weight * min(self, 0), with one weight, or one for each channel (dimension 1).
Tensor prelu(Lower& l, Tensor self, Tensor weight) {
  if (weight.rank() > 1) return l.wrong("expected a weight of one dimension, got " + describe(weight));
  Dims shape(static_cast<size_t>(std::max<int64_t>(self.rank(), 0)), Dim(1));
  if (weight.numel() != Dim(1)) {
    if (self.rank() < 2 || self.dim(1) != weight.numel())
      return l.wrong("expected one weight a channel, got " + describe(weight) + " for " + describe(self));
    shape[1] = weight.numel();
  }
  Tensor slopes = l.make(l.hlo.reshape(l.read(weight), shape));
  std::array operands{self, slopes};
  DType dtype = self.dtype();
  return zip_all(l, operands, lower::accumulate_type(dtype), dtype,
                 [](std::span<const Formula> v) { return select(v[0] > 0.0, v[0], v[1] * v[0]); });
}
// The same with a weight that broadcasts.
Tensor prelu_kernel(Lower& l, Tensor self, Tensor weight) {
  if (!equal_dtypes(l, self, weight) || !computes_in(l, self.dtype(), takes::kRealFloats)) return {};
  return zip_wide(l, self, weight, [](Formula x, Formula w) { return select(x > 0.0, x, w * x); });
}

// self where it is above the threshold, else value.
Tensor threshold(Lower& l, Tensor self, Scalar threshold, Scalar value) {
  if (!computes_in(l, self.dtype(), takes::kNumbers)) return {};
  return map(l, self, {}, [&](Formula x) { return select(x <= x.like(threshold), x.like(value), x); });
}

// self outside [-lambd, lambd], 0 within; NaN stays.
Tensor hardshrink(Lower& l, Tensor self, Scalar lambd) {
  double bound = lambd.to_double();
  return activate(l, self, [&](Formula x) { return select((x >= -bound) & (x <= bound), 0.0, x); });
}

// self moved by lambd toward zero, 0 within.
Tensor softshrink(Lower& l, Tensor self, Scalar lambd) {
  double bound = lambd.to_double();
  return activate(l, self,
                  [&](Formula x) { return select(x > bound, x - bound, select(x < -bound, x + bound, x * 0.0)); });
}

// min(max(self + 3, 0), 6) / 6.
Tensor hardsigmoid(Lower& l, Tensor self) {
  return activate(l, self, [](Formula x) { return clipped(x + 3.0, 0, 6) / 6.0; });
}
// self * hardsigmoid(self).
Tensor hardswish(Lower& l, Tensor self) {
  return activate(l, self, [](Formula x) { return x * clipped(x + 3.0, 0, 6) / 6.0; });
}

// ---- exponential

namespace {

// scale * self above zero, scale * alpha * (exp(input_scale * self) - 1) below.
Tensor exponential_unit(Lower& l, Tensor self, double alpha, double scale, double input_scale) {
  return activate(l, self, [&](Formula x) {
    Formula below = expm1(x * input_scale) * (alpha * scale);
    return select(x > 0.0, x * scale, below);
  });
}

constexpr double kSeluAlpha = 1.6732632423543772848170429916717;
constexpr double kSeluScale = 1.0507009873554804934193349852946;

}  // namespace

Tensor elu(Lower& l, Tensor self, Scalar alpha, Scalar scale, Scalar input_scale) {
  return exponential_unit(l, self, alpha.to_double(), scale.to_double(), input_scale.to_double());
}
Tensor selu(Lower& l, Tensor self) { return exponential_unit(l, self, kSeluAlpha, kSeluScale, 1); }
Tensor celu(Lower& l, Tensor self, Scalar alpha) {
  if (alpha.is_zero()) return l.wrong("celu: alpha must not be zero");
  return exponential_unit(l, self, alpha.to_double(), 1, 1 / alpha.to_double());
}

// log(1 + exp(beta * self)) / beta; self itself where beta * self is beyond the threshold.
Tensor softplus(Lower& l, Tensor self, Scalar beta, Scalar threshold) {
  double b = beta.to_double();
  return activate(l, self, [&](Formula x) { return select(x * b > threshold.to_double(), x, log1p(exp(x * b)) / b); });
}

// min(self, 0) - log(1 + exp(-|self|)).
Tensor log_sigmoid(Lower& l, Tensor self) {
  return activate(l, self, [](Formula x) { return min(x, 0.0) - log1p(exp(-formula::abs(x))); });
}
// The same, with the exponential that its gradient uses.
std::tuple<Tensor, Tensor> log_sigmoid_forward(Lower& l, Tensor self) {
  return {log_sigmoid(l, self), activate(l, self, [](Formula x) { return exp(-formula::abs(x)); })};
}

// self * sigmoid(self).
Tensor silu(Lower& l, Tensor self) {
  return activate(l, self, [](Formula x) { return x * logistic(x); });
}

// self * tanh(softplus(self)).
Tensor mish(Lower& l, Tensor self) {
  return activate(l, self, [](Formula x) { return x * tanh(select(x > 20.0, x, log1p(exp(x)))); });
}

// self times the normal distribution function at self; approximate="tanh": by a cubic under tanh.
Tensor gelu(Lower& l, Tensor self, std::string approximate) {
  if (approximate == "none")
    return activate(l, self, [](Formula x) { return x * 0.5 * (erf(x * 0.70710678118654752440) + 1.0); });
  if (approximate != "tanh")
    return l.unsupported("approximate", "'" + approximate + "'", "PyTorch knows 'none' and 'tanh'");
  constexpr double kSqrtTwoOverPi = 0.79788456080286535588;
  // (1 + tanh(u)) / 2 is the logistic function of 2u, which does not cancel.
  return activate(l, self, [](Formula x) { return x * logistic((x + x * x * x * 0.044715) * (2 * kSqrtTwoOverPi)); });
}

// ---- the rest

// The first half along dim times the sigmoid of the second.
Tensor glu(Lower& l, Tensor self, int64_t dim) {
  if (self.rank() == 0) return l.wrong("glu does not support tensors without dimensions");
  auto axis = l.axis(dim, self.rank());
  if (!axis) return {};
  Dim size = self.dim(*axis);
  if (mod(size, Dim(2)) != Dim(0))
    return l.wrong("halving dimension " + std::to_string(dim) + " must be even, got " + describe(self));
  Value x = l.read(self, lower::accumulate_type(self.dtype()));
  auto at = static_cast<size_t>(*axis);
  auto half = [&](Dim from, Dim to) {
    Dims start(self.shape().size(), Dim(0)), limit = self.shape();
    start[at] = from;
    limit[at] = to;
    return Formula(l, l.hlo.slice(x, start, limit));
  };
  Dim middle = floordiv(size, Dim(2));
  return l.make(l.convert(half(Dim(0), middle) * logistic(half(middle, size)), self.dtype()));
}

// ---- softmax

namespace {

// The axis of a softmax; nothing to reduce in a tensor without dimensions.
std::vector<int64_t> softmax_axes(const stablehlo::Type& type, int64_t axis) {
  return type.rank() == 0 ? std::vector<int64_t>() : std::vector<int64_t>{axis};
}

Formula greatest_along(Lower& l, Value x, std::span<const int64_t> axes) {
  Value greatest = l.hlo.reduce(x, Ints(axes.begin(), axes.end()), Reducer::Maximum);
  return Formula(l, spread(l, greatest, axes, l.type(x).dims));
}

Formula sum_along(Lower& l, Value x, std::span<const int64_t> axes) {
  return Formula(l, spread(l, sum_value(l, x, axes), axes, l.type(x).dims));
}

// fn(value, axis) in float32 or float64; PyTorch converts to `dtype` first, if it is given.
template <typename Fn>
Tensor along(Lower& l, Tensor self, int64_t dim, Optional<DType> dtype, Fn&& fn) {
  if (self.is_poison()) return {};
  auto axis = l.axis(dim, self.rank());
  if (!axis) return {};
  DType result = dtype.value_or(self.dtype());
  if (is_integral(result)) return l.wrong("softmax needs floating-point numbers, got " + describe(self));
  Value x = l.convert(l.read(self, result), lower::accumulate_type(result));
  return l.make_elementwise(l.convert(fn(x, *axis), result), std::array{self});
}

// float16 is given back as float32 where this is asked for; the sum is then not rounded to float16 first.
DType widened(Tensor self, bool half_to_float) { return half_to_float ? DType::Float32 : self.dtype(); }

}  // namespace

Value softmax_value(Lower& l, Value x, int64_t axis) {
  if (!x.has_value()) return {};
  auto axes = softmax_axes(l.type(x), axis);
  Formula e = exp(Formula(l, x) - greatest_along(l, x, axes));
  return e / sum_along(l, e, axes);
}

Value log_softmax_value(Lower& l, Value x, int64_t axis) {
  if (!x.has_value()) return {};
  auto axes = softmax_axes(l.type(x), axis);
  Formula shifted = Formula(l, x) - greatest_along(l, x, axes);
  Formula sums(l, sum_value(l, exp(shifted), axes));
  return shifted - Formula(l, spread(l, log(sums), axes, l.type(x).dims));
}

Tensor softmax(Lower& l, Tensor self, int64_t dim, Optional<DType> dtype) {
  return along(l, self, dim, dtype, [&](Value x, int64_t axis) { return softmax_value(l, x, axis); });
}
Tensor log_softmax(Lower& l, Tensor self, int64_t dim, Optional<DType> dtype) {
  return along(l, self, dim, dtype, [&](Value x, int64_t axis) { return log_softmax_value(l, x, axis); });
}
Tensor softmax_forward(Lower& l, Tensor self, int64_t dim, bool half_to_float) {
  return softmax(l, self, dim, widened(self, half_to_float));
}
Tensor log_softmax_forward(Lower& l, Tensor self, int64_t dim, bool half_to_float) {
  return log_softmax(l, self, dim, widened(self, half_to_float));
}

Tensor safe_softmax(Lower& l, Tensor self, int64_t dim, Optional<DType> dtype) {
  return along(l, self, dim, dtype, [&](Value v, int64_t axis) {
    auto axes = softmax_axes(l.type(v), axis);
    Formula empty = eq(greatest_along(l, v, axes), -kInfinity);
    return select(empty, 0.0, Formula(l, softmax_value(l, v, axis)));
  });
}

std::span<const Row> activation_ops() {
  static constexpr Row rows[] = {
      op<log_softmax_forward>("_log_softmax"),
      op<prelu_kernel>("_prelu_kernel"),
      op<safe_softmax>("_safe_softmax"),
      op<softmax_forward>("_softmax"),
      op<celu>("celu"),
      op<elu>("elu"),
      op<gelu>("gelu"),
      op<glu>("glu"),
      op<hardshrink>("hardshrink"),
      op<hardsigmoid>("hardsigmoid"),
      op<hardswish>("hardswish"),
      op<hardtanh>("hardtanh"),
      op<leaky_relu>("leaky_relu"),
      op<log_sigmoid>("log_sigmoid"),
      op<log_sigmoid_forward>("log_sigmoid_forward"),
      op<log_softmax>("log_softmax.int"),
      op<mish>("mish"),
      op<prelu>("prelu"),
      op<relu6>("relu6"),
      op<selu>("selu"),
      op<silu>("silu"),
      op<softmax>("softmax.int"),
      op<softplus>("softplus"),
      op<softshrink>("softshrink"),
      op<log_softmax>("special_log_softmax"),
      op<softmax>("special_softmax"),
      op<threshold>("threshold"),
  };
  return rows;
}

}  // namespace torchlift::aten
