// Runs of numbers: arange, linspace, logspace; window functions.
#include <array>
#include <cmath>
#include <numbers>

#include "aten/creation.hpp"
#include "aten/shaping.hpp"

namespace torchlift::aten {
namespace {

constexpr double kExactInFloat32 = 16777216;  // 2^24: integers up to here are float32 numbers

// Whether every number of the run, and every product on the way to it, is an integer that the dtype holds.
bool is_exact(DType dtype, const Scalar& start, const Scalar& step, const Dim& count) {
  if (dtype == DType::Float64) return true;
  if (dtype != DType::Float32) return false;
  double first = start.to_double(), by = step.to_double();
  double last = first + by * static_cast<double>(count.concrete());
  auto fits = [](double v) { return std::floor(v) == v && std::fabs(v) <= kExactInFloat32; };
  return fits(first) && fits(by) && fits(last) && fits(by * static_cast<double>(count.concrete()));
}

}  // namespace

Value number_run(Lower& l, DType dtype, const Scalar& start, const Scalar& step, const Dim& count) {
  Dims shape{count};
  DType compute = is_integral(dtype) ? DType::Int64 : is_exact(dtype, start, step, count) ? dtype : DType::Float64;
  Value v = l.hlo.iota({compute, shape}, 0);
  if (!step.is_one()) v = l.hlo.multiply(v, l.full_like(v, step));
  if (!start.is_zero()) v = l.hlo.add(v, l.full_like(v, start));
  return l.convert(v, dtype);
}

namespace {

// How many numbers lie in [start, end); computed in integers where all are.
std::optional<Dim> count_of(Lower& l, const Scalar& start, const Scalar& end, const Scalar& step) {
  bool forward = step.to_double() > 0;
  double span = end.to_double() - start.to_double();
  if (step.is_zero() || std::isnan(span) || std::isinf(span) || (forward ? span < 0 : span > 0)) {
    l.wrong("arange from " + start.text() + " to " + end.text() + " by " + step.text());
    return std::nullopt;
  }
  if (start.is_integral() && end.is_integral() && step.is_integral())
    return ceildiv(end.to_dim() - start.to_dim(), step.to_dim());
  return Dim(Scalar(std::ceil(span / step.to_double())).to_int());
}

Tensor arange_start_step(Lower& l, Scalar start, Scalar end, Scalar step, TensorOptions options) {
  bool integers = start.is_integral() && end.is_integral() && step.is_integral();
  DType dtype = options.dtype.value_or(integers ? DType::Int64 : DType::Float32);
  // PyTorch cuts fractions before it computes integers, but counts them by the fractions, except for int64.
  if (dtype == DType::Int64) {
    start = start.to_dim();
    end = end.to_dim();
    step = step.to_dim();
  }
  auto count = count_of(l, start, end, step);
  if (!count) return {};
  if (is_integral(dtype)) {
    start = start.to_dim();
    step = step.to_dim();
  }
  return l.make(number_run(l, dtype, start, step, *count));
}
Tensor arange_start(Lower& l, Scalar start, Scalar end, TensorOptions options) {
  return arange_start_step(l, start, end, 1, options);
}
Tensor arange(Lower& l, Scalar end, TensorOptions options) { return arange_start_step(l, 0, end, 1, options); }

// `range` includes its end.
Tensor range_step(Lower& l, Scalar start, Scalar end, Scalar step, TensorOptions options) {
  double span = (end.to_double() - start.to_double()) / step.to_double();
  if (step.is_zero() || !(span >= 0) || std::isinf(span))
    return l.wrong("range from " + start.text() + " to " + end.text() + " by " + step.text());
  return l.make(
      number_run(l, options.dtype.value_or(DType::Float32), start, step, Dim(Scalar(std::floor(span)).to_int() + 1)));
}
Tensor range(Lower& l, Scalar start, Scalar end, TensorOptions options) {
  return range_step(l, start, end, 1, options);
}

// ---- linspace and logspace: the first half from the start, the second from the end, as PyTorch does

DType space_dtype(const Tensor& start, const Tensor& end, TensorOptions options) {
  if (options.dtype) return *options.dtype;
  return is_complex(start.dtype()) || is_complex(end.dtype()) ? DType::Complex64 : DType::Float32;
}

// The numbers before their last rounding: integers are computed in float64.
Value space(Lower& l, Tensor start, Tensor end, int64_t steps, DType dtype) {
  DType compute = is_integral(dtype) ? DType::Float64 : lower::accumulate_type(dtype);
  // The ends are first rounded to the dtype.
  Value first = l.hlo.reshape(l.convert(l.read(start, dtype), compute), {});
  Value last = l.hlo.reshape(l.convert(l.read(end, dtype), compute), {});
  Dims shape{Dim(steps)};
  if (steps <= 1) return l.broadcast_to(first, shape);
  Value step = l.hlo.divide(l.hlo.subtract(last, first), l.full_like(first, Scalar(static_cast<double>(steps - 1))));
  if (!is_integral(dtype)) step = l.convert(l.convert(step, dtype), compute);
  Value place = l.hlo.iota({DType::Int64, shape}, 0);
  Value from_end = l.hlo.subtract(l.full_like(place, Scalar(steps - 1)), place);
  auto scaled = [&](Value n) { return l.hlo.multiply(l.broadcast_to(step, shape), l.convert(n, compute)); };
  Value front = l.hlo.add(l.broadcast_to(first, shape), scaled(place));
  Value back = l.hlo.subtract(l.broadcast_to(last, shape), scaled(from_end));
  Value in_front = l.hlo.compare(place, l.full_like(place, Scalar(steps / 2)), ComparisonDirection::Lt);
  return l.hlo.select(in_front, front, back);
}

bool expect_ends(Lower& l, const Tensor& start, const Tensor& end, int64_t steps) {
  if (start.is_poison() || end.is_poison()) return false;
  if (start.rank() == 0 && end.rank() == 0 && steps >= 0) return true;
  l.wrong("expected 0-D ends and steps >= 0, got " + describe(start) + ", " + describe(end) + ", " +
          std::to_string(steps));
  return false;
}

}  // namespace

Tensor linspace(Lower& l, Operand start, Operand end, int64_t steps, TensorOptions options) {
  if (!expect_ends(l, start, end, steps)) return {};
  DType dtype = space_dtype(start, end, options);
  return l.make(l.convert(space(l, start, end, steps, dtype), dtype));
}

namespace {

// base to the power of linspace
Tensor logspace(Lower& l, Operand start, Operand end, int64_t steps, double base, TensorOptions options) {
  if (!expect_ends(l, start, end, steps)) return {};
  DType dtype = space_dtype(start, end, options);
  Value exponents = space(l, start, end, steps, dtype);
  return l.make(l.convert(l.hlo.power(l.full_like(exponents, Scalar(base)), exponents), dtype));
}

// ---- windows: a periodic one is the symmetric one of a length more, without its last number

struct WindowShape {
  bool periodic = true;
  std::array<double, 3> cosines{};  // a0 - a1 cos(2 pi i / (n - 1)) + a2 cos(4 pi i / (n - 1))
};

// Computed in float64 while compiling: PyTorch's own float32 steps differ by a few units in the last place.
Tensor cosine_window(Lower& l, int64_t window_length, const WindowShape& shape, TensorOptions options) {
  DType dtype = options.dtype.value_or(DType::Float32);
  if (window_length < 0 || !is_float(dtype)) return l.wrong("a window of length " + std::to_string(window_length));
  Dims dims{Dim(window_length)};
  if (window_length <= 1) return l.make(l.full(dims, dtype, 1));
  auto intervals = static_cast<double>(shape.periodic ? window_length : window_length - 1);
  Value angle = l.hlo.iota({DType::Float64, dims}, 0);
  angle = l.hlo.multiply(angle, l.full_like(angle, 2 * std::numbers::pi / intervals));
  auto wave = [&](double amount, double times) {
    return l.hlo.multiply(l.hlo.cosine(l.hlo.multiply(angle, l.full_like(angle, times))), l.full_like(angle, amount));
  };
  Value out = l.hlo.add(l.full_like(angle, shape.cosines[0]), wave(-shape.cosines[1], 1));
  if (shape.cosines[2] != 0) out = l.hlo.add(out, wave(shape.cosines[2], 2));
  return l.make(l.convert(out, dtype));
}

Tensor hann_window_periodic(Lower& l, int64_t window_length, bool periodic, TensorOptions options) {
  return cosine_window(l, window_length, {periodic, {0.5, 0.5, 0}}, options);
}
Tensor hann_window(Lower& l, int64_t window_length, TensorOptions options) {
  return hann_window_periodic(l, window_length, true, options);
}

Tensor hamming_window_alpha_beta(Lower& l, int64_t window_length, bool periodic, double alpha, double beta,
                                 TensorOptions options) {
  return cosine_window(l, window_length, {periodic, {alpha, beta, 0}}, options);
}
Tensor hamming_window_alpha(Lower& l, int64_t window_length, bool periodic, double alpha, TensorOptions options) {
  return hamming_window_alpha_beta(l, window_length, periodic, alpha, 0.46, options);
}
Tensor hamming_window_periodic(Lower& l, int64_t window_length, bool periodic, TensorOptions options) {
  return hamming_window_alpha(l, window_length, periodic, 0.54, options);
}
Tensor hamming_window(Lower& l, int64_t window_length, TensorOptions options) {
  return hamming_window_periodic(l, window_length, true, options);
}

Tensor blackman_window_periodic(Lower& l, int64_t window_length, bool periodic, TensorOptions options) {
  return cosine_window(l, window_length, {periodic, {0.42, 0.5, 0.08}}, options);
}
Tensor blackman_window(Lower& l, int64_t window_length, TensorOptions options) {
  return blackman_window_periodic(l, window_length, true, options);
}

// 1 - |2 i / (n - 1) - 1|
Tensor bartlett_window_periodic(Lower& l, int64_t window_length, bool periodic, TensorOptions options) {
  DType dtype = options.dtype.value_or(DType::Float32);
  if (window_length < 0 || !is_float(dtype)) return l.wrong("a window of length " + std::to_string(window_length));
  Dims dims{Dim(window_length)};
  if (window_length <= 1) return l.make(l.full(dims, dtype, 1));
  Value place = l.hlo.iota({DType::Float64, dims}, 0);
  Value rising = l.hlo.multiply(
      place, l.full_like(place, 2.0 / static_cast<double>(periodic ? window_length : window_length - 1)));
  Value one = l.full_like(rising, 1);
  return l.make(l.convert(l.hlo.subtract(one, l.hlo.abs(l.hlo.subtract(rising, one))), dtype));
}
Tensor bartlett_window(Lower& l, int64_t window_length, TensorOptions options) {
  return bartlett_window_periodic(l, window_length, true, options);
}

}  // namespace

std::span<const Row> range_ops() {
  static constexpr Row rows[] = {
      op<arange>("arange"),
      op<arange_start>("arange.start"),
      op<arange_start_step>("arange.start_step"),
      op<bartlett_window>("bartlett_window"),
      op<bartlett_window_periodic>("bartlett_window.periodic"),
      op<blackman_window>("blackman_window"),
      op<blackman_window_periodic>("blackman_window.periodic"),
      op<hamming_window>("hamming_window"),
      op<hamming_window_periodic>("hamming_window.periodic"),
      op<hamming_window_alpha>("hamming_window.periodic_alpha"),
      op<hamming_window_alpha_beta>("hamming_window.periodic_alpha_beta"),
      op<hann_window>("hann_window"),
      op<hann_window_periodic>("hann_window.periodic"),
      op<linspace>("linspace"),
      op<logspace>("logspace"),
      op<range>("range"),
      op<range_step>("range.step"),
  };
  return rows;
}

}  // namespace torchlift::aten
