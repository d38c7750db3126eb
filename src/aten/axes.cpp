#include "aten/axes.hpp"

#include <numeric>

#include "aten/formula.hpp"
#include "stablehlo/element.hpp"

namespace torchlift::aten {
namespace {

size_t at(int64_t axis) { return static_cast<size_t>(axis); }

int64_t rank_of(Lower& l, Value v) { return static_cast<int64_t>(l.type(v).rank()); }

Ints axes_except(int64_t rank, int64_t left_out) {
  Ints out;
  for (int64_t i = 0; i < rank; ++i)
    if (i != left_out) out.push_back(i);
  return out;
}

// Numbers 0, step, 2 * step, ... of index dtype.
Value steps(Lower& l, const Dim& count, int64_t step) {
  Value numbers = l.hlo.iota({DType::Int64, {count}}, 0);
  return step == 1 ? numbers : l.hlo.multiply(numbers, l.full_like(numbers, Scalar(step)));
}

}  // namespace

bool table_fits(Lower& l, double entries) {
  constexpr double kMostEntries = 1 << 24;
  if (entries >= 0 && entries <= kMostEntries) return true;
  l.wrong("a table over these sizes would have more than " + std::to_string(static_cast<int64_t>(kMostEntries)) +
          " entries");
  return false;
}

Value constant_floats(Lower& l, DType dtype, const std::vector<double>& values, Dims dims) {
  std::vector<std::byte> bytes;
  for (double v : values) stablehlo::append_element(bytes, dtype, v);
  return l.hlo.constant({dtype, std::move(dims)}, std::move(bytes));
}

Value along_axis(Lower& l, Value v, int64_t axis, const Dims& shape) {
  return l.hlo.broadcast_in_dim(v, shape, {axis});
}

Value take_along(Lower& l, Value v, int64_t axis, const Ints& places) {
  if (!v.has_value()) return {};
  Dims shape = l.type(v).dims;
  if (axis < 0 || at(axis) >= shape.size()) return {};
  // A run of neighbours is a slice.
  bool run = !places.empty();
  for (size_t i = 1; i < places.size(); ++i) run = run && places[i] == places[i - 1] + 1;
  if (run) return slice_axis(l, v, axis, places.front(), places.back() + 1);
  Value indices = l.hlo.constant_ints(DType::Int64, places);
  stablehlo::Gather g{};
  g.offset_dims = axes_except(rank_of(l, v), axis);
  g.collapsed_slice_dims = {axis};
  g.start_index_map = {axis};
  g.index_vector_dim = 1;
  g.slice_sizes = shape;
  g.slice_sizes[at(axis)] = 1;
  return l.hlo.gather(v, indices, std::move(g));
}

Value slice_axis(Lower& l, Value v, int64_t axis, Dim start, Dim limit, int64_t stride) {
  if (!v.has_value()) return {};
  Dims shape = l.type(v).dims;
  if (axis < 0 || at(axis) >= shape.size()) return {};
  Dims starts(shape.size(), Dim(0)), limits = shape;
  starts[at(axis)] = std::move(start);
  limits[at(axis)] = std::move(limit);
  Ints strides(shape.size(), 1);
  strides[at(axis)] = stride;
  return l.hlo.slice(v, std::move(starts), std::move(limits), std::move(strides));
}

Value pad_axis(Lower& l, Value v, int64_t axis, Dim low, Dim high, const Scalar& fill) {
  if (!v.has_value()) return {};
  size_t rank = l.type(v).rank();
  if (axis < 0 || at(axis) >= rank) return {};
  if (low == Dim(0) && high == Dim(0)) return v;
  Dims lows(rank, Dim(0)), highs(rank, Dim(0));
  lows[at(axis)] = std::move(low);
  highs[at(axis)] = std::move(high);
  return l.hlo.pad(v, l.constant(l.type(v).dtype, fill), std::move(lows), std::move(highs));
}

Value windows_along(Lower& l, Value v, const WindowsAlong& w) {
  if (!v.has_value()) return {};
  Dims shape = l.type(v).dims;
  if (w.axis < 0 || at(w.axis) >= shape.size()) return {};
  Dims result = shape;
  result[at(w.axis)] = w.size;
  result.insert(result.begin() + w.axis, w.count);
  // Windows that lie side by side are a reshape, windows of one element a slice.
  if (w.dilation == 1 && w.size == Dim(w.stride) && w.count * w.size == shape[at(w.axis)])
    return l.hlo.reshape(v, result);
  if (w.count == Dim(1) && w.dilation == 1) return l.hlo.reshape(slice_axis(l, v, w.axis, 0, w.size), result);

  int64_t rank = rank_of(l, v);
  stablehlo::Gather g{};
  g.start_index_map = {w.axis};
  g.slice_sizes = shape;
  if (w.dilation == 1) {
    g.offset_dims = axes_except(rank + 1, w.axis);
    g.slice_sizes[at(w.axis)] = w.size;
    g.index_vector_dim = 1;
    return l.hlo.gather(v, steps(l, w.count, w.stride), std::move(g));
  }
  Dims grid{w.count, w.size};
  Value first = l.hlo.broadcast_in_dim(steps(l, w.count, w.stride), grid, {0});
  Value inside = l.hlo.broadcast_in_dim(steps(l, w.size, w.dilation), grid, {1});
  for (int64_t i = 0; i <= rank; ++i)
    if (i != w.axis && i != w.axis + 1) g.offset_dims.push_back(i);
  g.collapsed_slice_dims = {w.axis};
  g.slice_sizes[at(w.axis)] = 1;
  g.index_vector_dim = 2;
  return l.hlo.gather(v, l.hlo.add(first, inside), std::move(g));
}

Value overlap_add_along(Lower& l, Value v, const WindowsAlong& w, Dim extent) {
  if (!v.has_value()) return {};
  Dims shape = l.type(v).dims;
  if (w.axis < 0 || at(w.axis) + 1 >= shape.size()) return {};
  Dims result = shape;
  result.erase(result.begin() + w.axis);
  result[at(w.axis)] = extent;
  if (w.dilation == 1 && w.size == Dim(w.stride) && w.count * w.size == extent) return l.hlo.reshape(v, result);

  int64_t rank = rank_of(l, v);
  Value zeros = l.full(result, l.type(v).dtype, 0);
  stablehlo::Scatter s{};
  s.scatter_dims_to_operand_dims = {w.axis};
  if (w.dilation == 1) {
    s.update_window_dims = axes_except(rank, w.axis);
    s.index_vector_dim = 1;
    return l.hlo.scatter(zeros, steps(l, w.count, w.stride), v, std::move(s), Reducer::Add);
  }
  Dims grid{w.count, w.size};
  Value first = l.hlo.broadcast_in_dim(steps(l, w.count, w.stride), grid, {0});
  Value inside = l.hlo.broadcast_in_dim(steps(l, w.size, w.dilation), grid, {1});
  for (int64_t i = 0; i < rank; ++i)
    if (i != w.axis && i != w.axis + 1) s.update_window_dims.push_back(i);
  s.inserted_window_dims = {w.axis};
  s.index_vector_dim = 2;
  return l.hlo.scatter(zeros, l.hlo.add(first, inside), v, std::move(s), Reducer::Add);
}

Value move_last(Lower& l, Value v, int64_t axis) {
  if (!v.has_value()) return {};
  Ints order = axes_except(rank_of(l, v), axis);
  order.push_back(axis);
  return l.hlo.transpose(v, std::move(order));
}

Value move_from_last(Lower& l, Value v, int64_t axis) {
  if (!v.has_value()) return {};
  int64_t rank = rank_of(l, v);
  Ints order = axes_except(rank, rank - 1);
  order.insert(order.begin() + axis, rank - 1);
  return l.hlo.transpose(v, std::move(order));
}

Value rounded(Lower& l, Value wide, DType narrow) {
  if (narrow == DType::BFloat16) return l.hlo.reduce_precision(wide, 8, 7);
  if (narrow != DType::Float16) return wide;
  // Not reduce_precision, which loses what is subnormal in float16. The barrier keeps the conversions.
  return l.hlo.convert(l.hlo.optimization_barrier({l.hlo.convert(wide, DType::Float16)})[0], DType::Float32);
}

Value sum_in_steps(Lower& l, Value wide, int64_t axis, DType narrow) {
  if (!wide.has_value()) return {};
  Dims shape = l.type(wide).dims, one = shape;
  if (axis < 0 || at(axis) >= shape.size()) return {};
  one[at(axis)] = 1;
  Value count = l.constant(DType::Int64, Scalar(shape[at(axis)])), zero = l.constant(DType::Int64, 0);
  Value start = l.full(one, l.type(wide).dtype, 0);
  auto more = [&](std::span<const Value> a) { return l.hlo.compare(a[0], count, ComparisonDirection::Lt); };
  auto step = [&](std::span<const Value> a) -> Values {
    Values starts(shape.size(), zero);
    starts[at(axis)] = a[0];
    Value next = rounded(l, l.hlo.add(a[1], l.hlo.dynamic_slice(wide, starts, one)), narrow);
    return {l.hlo.add(a[0], l.constant(DType::Int64, 1)), next};
  };
  return drop_axis(l, l.hlo.while_({zero, start}, more, step)[1], axis);
}

Value conj(Lower& l, Value v) { return formula::conjugate({l, v}); }

DType place_dtype(const Dim& size) { return size > Dim(INT32_MAX) ? DType::Int64 : DType::Int32; }

Value insert_axis(Lower& l, Value v, int64_t axis) {
  if (!v.has_value()) return {};
  Dims shape = l.type(v).dims;
  if (axis < 0 || at(axis) > shape.size()) return {};
  shape.insert(shape.begin() + axis, Dim(1));
  return l.hlo.reshape(v, std::move(shape));
}

Value drop_axis(Lower& l, Value v, int64_t axis) {
  if (!v.has_value()) return {};
  Dims shape = l.type(v).dims;
  if (axis < 0 || at(axis) >= shape.size()) return {};
  shape.erase(shape.begin() + axis);
  return l.hlo.reshape(v, std::move(shape));
}

}  // namespace torchlift::aten
