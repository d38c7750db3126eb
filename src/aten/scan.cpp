// Running sums, products, extremes; differences; trapezoid rule.
#include "aten/scan.hpp"

#include <array>
#include <complex>
#include <limits>

#include "aten/axes.hpp"
#include "aten/families.hpp"
#include "aten/formula.hpp"
#include "aten/shaping.hpp"

namespace torchlift::aten {

// One window as long as the axis, which XLA knows as a scan.
Value cumulate(Lower& l, Value v, int64_t axis, Reducer reducer) {
  if (!v.has_value()) return {};
  Dims shape = l.type(v).dims;
  if (axis < 0 || static_cast<size_t>(axis) >= shape.size() || product(shape) == Dim(0)) return v;
  auto a = static_cast<size_t>(axis);
  stablehlo::Window window{};
  window.window_dimensions = Dims(shape.size(), Dim(1));
  window.padding_low = window.padding_high = Dims(shape.size(), Dim(0));
  window.window_dimensions[a] = shape[a];
  window.padding_low[a] = shape[a] - 1;
  return l.hlo.reduce_window(v, std::move(window), reducer);
}

namespace {

size_t at(int64_t i) { return static_cast<size_t>(i); }

// In the dtype asked for; integers are summed as int64, float16 and bfloat16 in float32.
Tensor cumulative(Lower& l, Tensor self, int64_t dim, Optional<DType> dtype, Reducer reducer) {
  if (self.is_poison()) return {};
  auto axis = l.axis(dim, self.rank());
  if (!axis) return {};
  DType result = dtype.value_or(is_integral(self.dtype()) ? DType::Int64 : self.dtype());
  if (is_bool(result)) return l.unsupported("dtype", "bool");
  Value v = l.read(self, result);
  if (self.rank() > 0) v = cumulate(l, l.convert(v, lower::accumulate_type(result)), *axis, reducer);
  return l.make(l.convert(v, result), lower::dense_strides_like(self.shape(), self.strides()));
}

}  // namespace

Tensor cumsum(Lower& l, Tensor self, int64_t dim, Optional<DType> dtype) {
  return cumulative(l, self, dim, dtype, Reducer::Add);
}

namespace {

Tensor cumprod(Lower& l, Tensor self, int64_t dim, Optional<DType> dtype) {
  return cumulative(l, self, dim, dtype, Reducer::Multiply);
}

// Powers 0 to N - 1 of every element along a new last axis.
Tensor linalg_vander(Lower& l, Tensor x, Optional<Dim> N) {
  if (x.is_poison()) return {};
  if (x.rank() == 0) x = unsqueeze(l, x, 0);
  Dim powers = N.value_or(x.dim(-1));
  if (powers < Dim(1)) return l.wrong("linalg_vander with N " + powers.text());
  Dims one = x.shape(), factors = x.shape();
  one.push_back(1);
  factors.push_back(powers - 1);
  Tensor ones = l.make(l.full(one, is_integral(x.dtype()) ? DType::Int64 : x.dtype(), 1));
  if (powers == Dim(1)) return ones;
  return cat(l, {ones, cumprod(l, expand(l, unsqueeze(l, x, -1), factors, false), -1, {})}, -1);
}

// Powers of every element of a vector along a new last axis, from the highest down unless increasing.
Tensor vander(Lower& l, Tensor x, Optional<int64_t> N, bool increasing) {
  if (!l.expect_rank(x, 1, 1, "x")) return {};
  Dim powers = N ? Dim(*N) : x.dim(0);
  if (powers < Dim(0)) return l.wrong("expected N of at least 0, got " + powers.text());
  if (powers == Dim(0)) return l.make(l.full({x.dim(0), Dim(0)}, is_integral(x.dtype()) ? DType::Int64 : x.dtype(), 0));
  Tensor rising = linalg_vander(l, x, powers);
  if (increasing || rising.is_poison()) return rising;
  return l.make(l.hlo.reverse(l.read(rising), {1}));
}

// A scan by doubling: after a step of d every element combines 2 d elements. fn(earlier, later) is associative and
// works elementwise on all values at once.
template <typename Fn>
Values scan_by_doubling(Lower& l, Values values, int64_t axis, int64_t n, Fn&& fn) {
  for (int64_t d = 1; d < n; d *= 2) {
    Values earlier, later, first;
    for (Value v : values) {
      earlier.push_back(slice_axis(l, v, axis, 0, n - d));
      later.push_back(slice_axis(l, v, axis, d, n));
      first.push_back(slice_axis(l, v, axis, 0, d));
    }
    Values combined = fn(earlier, later);
    for (size_t i = 0; i < values.size(); ++i) values[i] = l.hlo.concatenate({first[i], combined[i]}, axis);
  }
  return values;
}

// Running extreme and where it stands: of equal elements the last, and a NaN stays until the next NaN.
template <ComparisonDirection kBetter>
std::tuple<Tensor, Tensor> cumulative_extreme(Lower& l, Tensor self, int64_t dim) {
  if (self.is_poison()) return {};
  auto axis = l.axis(dim, self.rank());
  if (!axis) return {};
  if (is_complex(self.dtype())) return l.wrong("complex numbers have no order");
  Value v = l.read(self);
  if (self.rank() == 0) return {l.make(v), l.make(l.constant(DType::Int64, 0))};
  Value places = l.hlo.iota({DType::Int64, self.shape()}, *axis);
  int64_t n = l.pin(self.dim(*axis));
  Values all = scan_by_doubling(l, {v, places}, *axis, n, [&](const Values& earlier, const Values& later) {
    Value better = l.hlo.compare(later[0], earlier[0], kBetter);
    Value kept = l.hlo.or_(l.is_nan(later[0]), l.hlo.and_(l.hlo.not_(l.is_nan(earlier[0])), better));
    return Values{l.hlo.select(kept, later[0], earlier[0]), l.hlo.select(kept, later[1], earlier[1])};
  });
  return {l.make(all[0]), l.make(all[1])};
}

// log(exp(x) + exp(sum)), as PyTorch's CPU kernel has it: from the number of greater real part the angle goes on, it is
// not turned back to within pi.
Formula log_add_exp(Formula x, Formula sum) {
  Formula first = real(x) < real(sum);
  Formula low = select(first, x, sum), high = select(first, sum, x);
  Formula re = real(low) - real(high), im = imag(low) - imag(high);
  // Nothing times infinity is nothing here: exp of -inf is zero in any direction, and sin(0) is no part of an infinity.
  auto part = [](Formula size, Formula trig) { return select(eq(size, 0.0) | eq(trig, 0.0), 0.0, size * trig); };
  Formula size = exp(re);
  Formula a = part(size, cos(im)), b = part(size, sin(im));  // exp(low - high)
  Formula near = log1p(a * (a + 2.0) + b * b) * 0.5, far = log((a + 1.0) * (a + 1.0) + b * b) * 0.5;
  Formula log_size = select(size < 0.5, near, far);
  Formula regular = complex(log_size + real(high), atan2(b, a + 1.0) + imag(high));
  // Both infinite: exp is zero, and sum stays; or infinite, in the directions of both.
  Formula infinite = eq(real(low), real(high)) & !is_finite(real(low));
  Formula huge = size.like(std::numeric_limits<double>::infinity());
  auto direction = [&](Formula z) { return complex(part(huge, cos(imag(z))), part(huge, sin(imag(z)))); };
  Formula both = direction(low) + direction(high);
  Formula unbounded = complex(huge, atan2(imag(both), real(both)));
  Formula nan = is_nan(real(x)) | is_nan(imag(x)) | is_nan(real(sum)) | is_nan(imag(sum));
  Formula lost = x.like(
      Scalar(std::complex<double>(std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN())));
  return select(nan, lost, select(infinite, select(real(low) < 0.0, sum, unbounded), regular));
}

// One element after the other: the angles of complex sums depend on the order.
Value logcumsumexp_complex(Lower& l, Value v, int64_t axis) {
  const Dims shape = l.type(v).dims;
  if (product(shape) == Dim(0)) return v;
  Dims cell = shape;
  cell[at(axis)] = 1;
  auto number = [&](const Dim& n) { return l.constant(DType::Int64, Scalar(n)); };
  auto starts = [&](Value i) {
    Values list(shape.size(), number(0));
    list[at(axis)] = i;
    return list;
  };
  Value nothing =
      l.full(cell, l.type(v).dtype, Scalar(std::complex<double>(-std::numeric_limits<double>::infinity(), 0)));
  auto more = [&](std::span<const Value> s) {
    return l.hlo.compare(s[0], number(shape[at(axis)]), ComparisonDirection::Lt);
  };
  auto step = [&](std::span<const Value> s) -> Values {
    Value x = l.hlo.dynamic_slice(v, starts(s[0]), cell);
    Value sum = log_add_exp(Formula(l, x), Formula(l, s[1]));
    return {l.hlo.add(s[0], number(1)), sum, l.hlo.dynamic_update_slice(s[2], sum, starts(s[0]))};
  };
  return l.hlo.while_({number(0), nothing, v}, more, step)[2];
}

// log of the running sum of exp, by log(exp(a) + exp(b)) = max + log1p(exp(min - max)). Equal infinities stay.
Tensor logcumsumexp(Lower& l, Tensor self, int64_t dim) {
  if (self.is_poison()) return {};
  auto axis = l.axis(dim, self.rank());
  if (!axis) return {};
  if (is_integral(self.dtype())) return l.wrong("expected floating-point or complex numbers, got " + describe(self));
  if (self.rank() == 0) return l.make(l.read(self));
  if (is_complex(self.dtype())) return l.make(logcumsumexp_complex(l, l.read(self), *axis));
  Value wide = l.read(self, lower::accumulate_type(self.dtype()));
  int64_t n = l.pin(self.dim(*axis));
  Values all = scan_by_doubling(l, {wide}, *axis, n, [&](const Values& earlier, const Values& later) {
    Value high = l.hlo.maximum(earlier[0], later[0]), low = l.hlo.minimum(earlier[0], later[0]);
    Value sum = l.hlo.add(high, l.hlo.log_plus_one(l.hlo.exponential(l.hlo.subtract(low, high))));
    Value infinite = l.hlo.and_(l.hlo.compare(low, high, ComparisonDirection::Eq), l.hlo.not_(l.hlo.is_finite(low)));
    // maximum may lose a NaN on plugins that compute it fast; a sum does not.
    Value nan = l.hlo.or_(l.is_nan(earlier[0]), l.is_nan(later[0]));
    return Values{l.hlo.select(nan, l.hlo.add(earlier[0], later[0]), l.hlo.select(infinite, high, sum))};
  });
  return l.make(l.convert(all[0], self.dtype()));
}

// ---- differences

Tensor diff_once(Lower& l, Tensor self, int64_t axis) {
  Dim n = self.dim(axis);
  if (n == Dim(0)) return self;
  Tensor later = narrow(l, self, axis, 1, n - 1), earlier = narrow(l, self, axis, 0, n - 1);
  return is_bool(self.dtype()) ? l.compare(later, earlier, ComparisonDirection::Ne) : l.sub(later, earlier);
}

// The n-th difference of neighbours, after joining prepend and append; of bools whether they differ.
Tensor diff(Lower& l, Tensor self, int64_t n, int64_t dim, Optional<Tensor> prepend, Optional<Tensor> append) {
  if (self.is_poison()) return {};
  auto axis = l.axis(dim, self.rank());
  if (!axis || self.rank() == 0 || n < 0)
    return l.wrong("diff of order " + std::to_string(n) + " of " + describe(self));
  TensorList parts;
  if (prepend) parts.push_back(*prepend);
  parts.push_back(self);
  if (append) parts.push_back(*append);
  Tensor out = parts.size() == 1 ? self : cat(l, parts, *axis);
  if (n == 0) return fresh(l, out);
  Dim size = out.dim(*axis);
  if (Dim(n) >= size) return fresh(l, narrow(l, out, *axis, 0, 0));
  for (int64_t i = 0; i < n; ++i) out = diff_once(l, out, *axis);
  return out;
}

// ---- trapezoid rule

Tensor sum_along(Lower& l, Tensor t, int64_t axis) {
  if (t.is_poison()) return {};
  DType dtype = is_integral(t.dtype()) ? DType::Int64 : t.dtype();
  Value wide = l.convert(l.read(t, dtype), lower::accumulate_type(dtype));
  return l.make(l.convert(l.hlo.reduce(wide, {axis}, Reducer::Add), dtype));
}

// Sums of neighbours, times their distances.
Tensor areas(Lower& l, Tensor y, Tensor dx, int64_t axis) {
  Dim n = y.dim(axis);
  Tensor pairs = l.add(narrow(l, y, axis, 0, n - 1), narrow(l, y, axis, 1, n - 1));
  return l.mul(pairs, dx);
}

// The distances of x along the axis of y, in a shape that broadcasts with y.
Tensor distances(Lower& l, Tensor y, Tensor x, int64_t axis) {
  if (x.rank() == 1) {
    if (x.dim(0) != y.dim(axis)) return l.wrong("x " + describe(x) + " does not fit y " + describe(y));
    Dims shape(at(y.rank()), Dim(1));
    shape[at(axis)] = x.dim(0);
    x = reshape(l, x, std::move(shape));
  } else if (x.rank() < y.rank()) {
    Dims shape(at(y.rank() - x.rank()), Dim(1));
    shape.insert(shape.end(), x.shape().begin(), x.shape().end());
    x = reshape(l, x, std::move(shape));
  }
  if (x.rank() != y.rank() || x.dim(axis) < Dim(1))
    return l.wrong("x " + describe(x) + " does not fit y " + describe(y));
  Dim n = x.dim(axis);
  return l.sub(narrow(l, x, axis, 1, n - 1), narrow(l, x, axis, 0, n - 1));
}

Tensor zeros_without(Lower& l, Tensor y, int64_t axis) {
  Dims shape = y.shape();
  shape.erase(shape.begin() + axis);
  return l.make(l.full(shape, y.dtype(), 0));
}

Tensor trapezoid_x(Lower& l, Tensor y, Tensor x, int64_t dim) {
  if (y.is_poison() || x.is_poison()) return {};
  auto axis = l.axis(dim, y.rank());
  if (!axis || y.rank() == 0) return l.wrong("trapezoid of " + describe(y));
  if (y.dim(*axis) == Dim(0)) return zeros_without(l, y, *axis);
  Tensor dx = distances(l, y, x, *axis);
  if (dx.is_poison()) return {};
  return l.div(sum_along(l, areas(l, y, dx, *axis), *axis), Scalar(2.0));
}

Tensor trapezoid_dx(Lower& l, Tensor y, Scalar dx, int64_t dim) {
  if (y.is_poison()) return {};
  auto axis = l.axis(dim, y.rank());
  if (!axis || y.rank() == 0) return l.wrong("trapezoid of " + describe(y));
  if (y.dim(*axis) == Dim(0)) return zeros_without(l, y, *axis);
  // dx * (sum - (first + last) / 2)
  Tensor ends = l.mul(l.add(select(l, y, *axis, 0), select(l, y, *axis, -1)), Scalar(0.5));
  return l.mul(l.sub(sum_along(l, y, *axis), ends), dx);
}
Tensor trapz_dx(Lower& l, Tensor y, double dx, int64_t dim) { return trapezoid_dx(l, y, Scalar(dx), dim); }

Tensor cumulative_trapezoid_x(Lower& l, Tensor y, Tensor x, int64_t dim) {
  if (y.is_poison() || x.is_poison()) return {};
  auto axis = l.axis(dim, y.rank());
  if (!axis || y.rank() == 0 || y.dim(*axis) == Dim(0)) return l.wrong("cumulative_trapezoid of " + describe(y));
  Tensor dx = distances(l, y, x, *axis);
  if (dx.is_poison()) return {};
  return l.div(cumsum(l, areas(l, y, dx, *axis), *axis, {}), Scalar(2.0));
}

Tensor cumulative_trapezoid_dx(Lower& l, Tensor y, Scalar dx, int64_t dim) {
  if (y.is_poison()) return {};
  auto axis = l.axis(dim, y.rank());
  if (!axis || y.rank() == 0 || y.dim(*axis) == Dim(0)) return l.wrong("cumulative_trapezoid of " + describe(y));
  return cumsum(l, areas(l, y, l.wrap(Scalar(dx.to_double() / 2)), *axis), *axis, {});
}

std::span<const Row> running_ops() {
  static constexpr Row rows[] = {
      op<cumulative_extreme<ComparisonDirection::Ge>>("cummax"),
      op<cumulative_extreme<ComparisonDirection::Le>>("cummin"),
      op<cumprod>("cumprod"),
      op<cumsum>("cumsum"),
      op<cumulative_trapezoid_dx>("cumulative_trapezoid.dx"),
      op<cumulative_trapezoid_x>("cumulative_trapezoid.x"),
      op<diff>("diff"),
      op<linalg_vander>("linalg_vander"),
      op<vander>("vander"),
      op<logcumsumexp>("logcumsumexp"),
      op<trapezoid_dx>("trapezoid.dx"),
      op<trapezoid_x>("trapezoid.x"),
      op<trapz_dx>("trapz.dx"),
      op<trapezoid_x>("trapz.x"),
  };
  return rows;
}

}  // namespace

std::span<const Row> scan_ops() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> all;
    for (std::span<const Row> part : {running_ops(), gradient_ops(), histogram_ops()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rows;
}

}  // namespace torchlift::aten
