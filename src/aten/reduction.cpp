// Reductions: sums, products, extremes, truth; over all dimensions or the listed ones.
#include "aten/reduction.hpp"

#include <algorithm>

#include "aten/axes.hpp"
#include "aten/families.hpp"
#include "aten/pointwise.hpp"
#include "aten/special_functions.hpp"

namespace torchlift::aten {

using Axes = std::vector<int64_t>;

Dims reduced_shape(const Dims& shape, std::span<const int64_t> axes, bool keepdim) {
  Dims out;
  for (size_t i = 0; i < shape.size(); ++i) {
    bool gone = std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end();
    if (!gone) out.push_back(shape[i]);
    else if (keepdim) out.push_back(Dim(1));
  }
  return out;
}

Value spread(Lower& l, Value reduced, std::span<const int64_t> axes, const Dims& shape) {
  if (!reduced.has_value()) return {};
  Ints kept;
  for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) kept.push_back(i);
  return l.hlo.broadcast_in_dim(reduced, shape, kept);
}

Dim reduced_count(const Dims& shape, std::span<const int64_t> axes) {
  Dim count(1);
  for (int64_t a : axes) count = count * shape[static_cast<size_t>(a)];
  return count;
}

Value sum_value(Lower& l, Value x, std::span<const int64_t> axes) {
  return l.hlo.reduce(x, Ints(axes.begin(), axes.end()), Reducer::Add);
}

Value mean_value(Lower& l, Value x, std::span<const int64_t> axes) {
  Formula total(l, sum_value(l, x, axes));
  return total / total.like(Scalar(static_cast<double>(reduced_count(l.type(x).dims, axes).concrete())));
}

// A CPU plugin loses NaN in reductions by maximum and minimum (never in the operations themselves), so it is looked
// for.
Value extreme_value(Lower& l, Value x, std::span<const int64_t> axes, Reducer reducer) {
  if (!x.has_value()) return {};
  Ints list(axes.begin(), axes.end());
  Value extreme = l.hlo.reduce(x, list, reducer);
  if (is_integral(l.type(x).dtype)) return extreme;
  Formula any_nan(l, l.hlo.reduce(l.is_nan(x), list, Reducer::Or));
  return select(any_nan, kNaN, Formula(l, extreme));
}

Moments moments(Lower& l, Value x, std::span<const int64_t> axes, double correction) {
  Value mean = mean_value(l, x, axes);
  const Dims shape = l.type(x).dims;
  Formula deviation = Formula(l, x) - Formula(l, spread(l, mean, axes, shape));
  Formula squares(l, sum_value(l, square(deviation), axes));
  double count = static_cast<double>(reduced_count(shape, axes).concrete());
  return {mean, squares / std::max(0.0, count - correction)};
}

namespace {

using Directions = ComparisonDirection;

Value kept(Lower& l, Value reduced, const Dims& shape, std::span<const int64_t> axes, bool keepdim) {
  return keepdim && reduced.has_value() ? l.hlo.reshape(reduced, reduced_shape(shape, axes, true)) : reduced;
}

// fn(value, axes) over the listed axes of self read as `compute`, given back as `result`.
template <typename Fn>
Tensor reduce(Lower& l, Tensor self, std::span<const int64_t> dim, bool keepdim, DType compute, DType result, Fn&& fn) {
  if (self.is_poison()) return {};
  auto axes = l.axes(dim, self.rank());
  if (!axes) return {};
  Value reduced = l.convert(fn(l.read(self, compute), *axes), result);
  return l.make(kept(l, reduced, self.shape(), *axes, keepdim));
}

// Sums and products of integers are int64 unless a dtype is asked for.
DType total_type(Tensor self, Optional<DType> dtype) {
  return dtype.value_or(is_integral(self.dtype()) ? DType::Int64 : self.dtype());
}

// Truth is reduced over bool; PyTorch keeps uint8 as it is.
DType truth_type(Tensor self) { return self.dtype() == DType::UInt8 ? DType::UInt8 : DType::Bool; }

// Refuses a reduction without identity over no elements.
bool expect_elements(Lower& l, Tensor self, std::span<const int64_t> dim, std::string_view what) {
  auto axes = l.axes(dim, self.rank());
  if (!axes) return false;
  if (reduced_count(self.shape(), *axes) != Dim(0)) return true;
  l.wrong(std::string(what) + " over no elements has no identity, got " + describe(self));
  return false;
}

}  // namespace

// ---- sums

// float16 and bfloat16 are summed in float32, integers in int64.
Tensor sum(Lower& l, Tensor self, Optional<Axes> dim, bool keepdim, Optional<DType> dtype) {
  DType result = total_type(self, dtype);
  return reduce(l, self, dim.value_or(Axes()), keepdim, lower::accumulate_type(result), result,
                [&](Value x, const Axes& axes) { return sum_value(l, x, axes); });
}
Tensor sum_all(Lower& l, Tensor self, Optional<DType> dtype) { return sum(l, self, {}, false, dtype); }

// The sum over the count; of no elements NaN.
Tensor mean(Lower& l, Tensor self, Optional<Axes> dim, bool keepdim, Optional<DType> dtype) {
  DType result = dtype.value_or(self.dtype());
  if (is_integral(result)) return l.wrong("mean needs a floating-point dtype, got " + describe(self));
  return reduce(l, self, dim.value_or(Axes()), keepdim, lower::accumulate_type(result), result,
                [&](Value x, const Axes& axes) { return mean_value(l, x, axes); });
}
Tensor mean_all(Lower& l, Tensor self, Optional<DType> dtype) { return mean(l, self, {}, false, dtype); }

Tensor prod_over(Lower& l, Tensor self, Axes dim, bool keepdim, Optional<DType> dtype) {
  DType result = total_type(self, dtype);
  return reduce(l, self, dim, keepdim, lower::accumulate_type(result), result,
                [&](Value x, const Axes& axes) { return l.hlo.reduce(x, axes, Reducer::Multiply); });
}
Tensor prod(Lower& l, Tensor self, Optional<DType> dtype) { return prod_over(l, self, {}, false, dtype); }
Tensor prod_dim(Lower& l, Tensor self, int64_t dim, bool keepdim, Optional<DType> dtype) {
  return prod_over(l, self, {dim}, keepdim, dtype);
}

namespace {

Formula numbers_only(Formula x) { return select(is_nan(x), 0.0, x); }

}  // namespace

// The sum that counts NaN as zero.
Tensor nansum(Lower& l, Tensor self, Optional<Axes> dim, bool keepdim, Optional<DType> dtype) {
  DType result = total_type(self, dtype);
  return reduce(l, self, dim.value_or(Axes()), keepdim, lower::accumulate_type(result), result,
                [&](Value x, const Axes& axes) { return sum_value(l, numbers_only(Formula(l, x)), axes); });
}

// The mean of what is not NaN.
Tensor nanmean(Lower& l, Tensor self, Optional<Axes> dim, bool keepdim, Optional<DType> dtype) {
  DType result = dtype.value_or(self.dtype());
  if (!is_float(result)) return l.wrong("nanmean needs a floating-point dtype, got " + describe(self));
  DType wide = lower::accumulate_type(result);
  return reduce(l, self, dim.value_or(Axes()), keepdim, wide, result, [&](Value v, const Axes& axes) {
    Formula x(l, v);
    Formula count(l, sum_value(l, convert(!is_nan(x), wide), axes));
    return Formula(l, sum_value(l, numbers_only(x), axes)) / count;
  });
}

Tensor count_nonzero_over(Lower& l, Tensor self, Axes dim) {
  return reduce(l, self, dim, false, DType::Bool, DType::Int64,
                [&](Value x, const Axes& axes) { return sum_value(l, l.convert(x, DType::Int64), axes); });
}
Tensor count_nonzero(Lower& l, Tensor self, Optional<int64_t> dim) {
  return count_nonzero_over(l, self, dim ? Axes{*dim} : Axes());
}

// log of the sum of exponentials, from the greatest element, so that nothing overflows.
Tensor logsumexp(Lower& l, Tensor self, Axes dim, bool keepdim) {
  DType result = lower::float_type(self.dtype());
  return reduce(l, self, dim, keepdim, lower::accumulate_type(result), result, [&](Value v, const Axes& axes) {
    const Dims shape = l.type(v).dims;
    Formula x(l, v);
    bool complex_dtype = is_complex(x.dtype());
    Formula size = complex_dtype ? real(x) : x;  // of complex numbers the real part decides how large exp is
    Formula greatest(l, l.hlo.reduce(size, axes, Reducer::Maximum));
    greatest = select(eq(formula::abs(greatest), kInfinity), 0.0, greatest);
    if (complex_dtype) greatest = complex(greatest, greatest.like(0));
    Formula shifted = Formula(l, v) - Formula(l, spread(l, greatest, axes, shape));
    return log(Formula(l, sum_value(l, exp(shifted), axes))) + greatest;
  });
}

// All elements' bits combined by exclusive or: floats as float64, integers and bool as 64-bit integers.
Tensor hash_tensor(Lower& l, Tensor self, Axes dim, bool keepdim, int64_t mode) {
  if (self.is_poison()) return {};
  if (mode != 0) return l.wrong("expected mode 0, got " + std::to_string(mode));
  if (is_complex(self.dtype()) || (self.is_empty() && dim.empty()))
    return l.wrong("expected real numbers, and axes where there are none, got " + describe(self));
  bool real_numbers = is_float(self.dtype());
  return reduce(l, self, dim, keepdim, real_numbers ? DType::Float64 : DType::Int64, DType::UInt64,
                [&](Value v, const Axes& axes) {
                  Value bits = real_numbers ? l.hlo.bitcast_convert(v, DType::UInt64) : l.convert(v, DType::UInt64);
                  return l.hlo.reduce(bits, axes, Reducer::Xor);
                });
}

// ---- truth

template <Reducer kReducer>
Tensor truth(Lower& l, Tensor self, Axes dim, bool keepdim) {
  return reduce(l, self, dim, keepdim, DType::Bool, truth_type(self),
                [&](Value x, const Axes& axes) { return l.hlo.reduce(x, axes, kReducer); });
}
template <Reducer kReducer>
Tensor truth_all(Lower& l, Tensor self) {
  return truth<kReducer>(l, self, {}, false);
}
template <Reducer kReducer>
Tensor truth_dim(Lower& l, Tensor self, int64_t dim, bool keepdim) {
  return truth<kReducer>(l, self, {dim}, keepdim);
}
// An empty list reduces nothing, None everything.
template <Reducer kReducer>
Tensor truth_dims(Lower& l, Tensor self, Optional<Axes> dim, bool keepdim) {
  if (dim && dim->empty()) return map(l, self, DType::Bool, [&](Formula x) { return convert(x, truth_type(self)); });
  return truth<kReducer>(l, self, dim.value_or(Axes()), keepdim);
}

// ---- extremes; NaN wins

namespace {

template <Reducer kReducer>
Tensor extreme(Lower& l, Tensor self, const Axes& dim, bool keepdim) {
  if (!expect_elements(l, self, dim, kReducer == Reducer::Maximum ? "max" : "min")) return {};
  return reduce(l, self, dim, keepdim, self.dtype(), self.dtype(),
                [&](Value x, const Axes& axes) { return extreme_value(l, x, axes, kReducer); });
}

// The first of the greatest elements, or the least, along one axis, with its position; a NaN is beyond all numbers.
template <Directions kBeyond>
std::tuple<Value, Value> first_extreme(Lower& l, Value x, int64_t axis) {
  DType dtype = l.type(x).dtype;
  const Dims dims = l.type(x).dims;
  DType place = place_dtype(dims[static_cast<size_t>(axis)]);
  Value positions = l.hlo.iota({place, dims}, axis);
  Scalar start = kBeyond == Directions::Gt ? l.lowest(dtype) : l.highest(dtype);
  Values inits{l.constant(dtype, start), l.constant(place, l.highest(place))};
  Values best = l.hlo.reduce({x, positions}, inits, {axis}, [&](std::span<const Value> v) {
    Formula a(l, v[0]), i(l, v[1]), b(l, v[2]), j(l, v[3]);
    Formula a_nan = is_nan(a), b_nan = is_nan(b);
    Formula beyond = formula::compare(a, b, kBeyond) | (a_nan & !b_nan);
    Formula alike = eq(a, b) | (a_nan & b_nan);
    Formula first = beyond | (alike & (i < j));
    return Values{select(first, a, b), select(first, i, j)};
  });
  return {best[0], l.convert(best[1], DType::Int64)};
}

template <Directions kBeyond>
std::tuple<Tensor, Tensor> extreme_along(Lower& l, Tensor self, int64_t dim, bool keepdim) {
  auto axis = l.axis(dim, self.rank());
  if (!axis || self.is_poison()) return {};
  if (is_complex(self.dtype())) return l.wrong("complex numbers have no order, got " + describe(self));
  if (self.rank() == 0) return {l.make(l.read(self)), l.make(l.constant(DType::Int64, 0))};
  if (!expect_elements(l, self, Axes{*axis}, "max and min")) return {};
  auto [values, indices] = first_extreme<kBeyond>(l, l.read(self), *axis);
  Axes axes{*axis};
  return {l.make(kept(l, values, self.shape(), axes, keepdim)), l.make(kept(l, indices, self.shape(), axes, keepdim))};
}

// Without dim: the position in the flattened tensor, with keepdim in its rank.
template <Directions kBeyond>
Tensor position(Lower& l, Tensor self, Optional<int64_t> dim, bool keepdim) {
  if (dim) return std::get<1>(extreme_along<kBeyond>(l, self, *dim, keepdim));
  Tensor flat = l.make(l.hlo.reshape(l.read(self), {self.numel()}));
  Tensor result = std::get<1>(extreme_along<kBeyond>(l, flat, 0, false));
  if (!keepdim || result.is_poison()) return result;
  return l.make(l.hlo.reshape(l.read(result), Dims(static_cast<size_t>(self.rank()), Dim(1))));
}

}  // namespace

Tensor amax(Lower& l, Tensor self, Axes dim, bool keepdim) { return extreme<Reducer::Maximum>(l, self, dim, keepdim); }
Tensor amin(Lower& l, Tensor self, Axes dim, bool keepdim) { return extreme<Reducer::Minimum>(l, self, dim, keepdim); }
Tensor max(Lower& l, Tensor self) { return amax(l, self, {}, false); }
Tensor min(Lower& l, Tensor self) { return amin(l, self, {}, false); }

std::tuple<Tensor, Tensor> aminmax(Lower& l, Tensor self, Optional<int64_t> dim, bool keepdim) {
  Axes axes = dim ? Axes{*dim} : Axes();
  return {amin(l, self, axes, keepdim), amax(l, self, axes, keepdim)};
}

std::tuple<Tensor, Tensor> max_along(Lower& l, Tensor self, int64_t dim, bool keepdim) {
  return extreme_along<Directions::Gt>(l, self, dim, keepdim);
}
std::tuple<Tensor, Tensor> min_along(Lower& l, Tensor self, int64_t dim, bool keepdim) {
  return extreme_along<Directions::Lt>(l, self, dim, keepdim);
}

std::span<const Row> reduction_ops() {
  static constexpr Row rows[] = {
      op<truth_all<Reducer::And>>("_is_all_true"),
      op<truth_all<Reducer::Or>>("_is_any_true"),
      op<truth_all<Reducer::And>>("all"),
      op<truth_dim<Reducer::And>>("all.dim"),
      op<truth_dims<Reducer::And>>("all.dims"),
      op<amax>("amax"),
      op<amin>("amin"),
      op<aminmax>("aminmax"),
      op<truth_all<Reducer::Or>>("any"),
      op<truth_dim<Reducer::Or>>("any.dim"),
      op<truth_dims<Reducer::Or>>("any.dims"),
      op<position<Directions::Gt>>("argmax"),
      op<position<Directions::Lt>>("argmin"),
      op<count_nonzero>("count_nonzero"),
      op<count_nonzero_over>("count_nonzero.dim_IntList"),
      op<hash_tensor>("hash_tensor"),
      op<logsumexp>("logsumexp"),
      op<max>("max"),
      op<max_along>("max.dim"),
      op<mean_all>("mean"),
      op<mean>("mean.dim"),
      op<min>("min"),
      op<min_along>("min.dim"),
      op<nanmean>("nanmean"),
      op<nansum>("nansum"),
      op<prod>("prod", AutocastRule::Float32),
      op<prod_dim>("prod.dim_int", AutocastRule::Float32),
      op<logsumexp>("special_logsumexp"),
      op<sum_all>("sum"),
      op<sum>("sum.dim_IntList"),
  };
  return rows;
}

}  // namespace torchlift::aten
