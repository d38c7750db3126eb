// Reading at computed places: advanced indexing, gather, take; masks.
#include "aten/indexing.hpp"

#include <algorithm>
#include <array>

#include "aten/axes.hpp"
#include "aten/families.hpp"
#include "aten/pointwise.hpp"
#include "aten/scan.hpp"
#include "aten/shaping.hpp"
#include "base/kinds.hpp"

namespace torchlift::aten {
namespace {

size_t at(int64_t i) { return static_cast<size_t>(i); }

lower::Refused data_dependent(Lower& l, std::string what, std::string advice) {
  return l.refuse(Kind::DataDependent, {{"what", std::move(what)}, {"advice", std::move(advice)}});
}

// The index vectors of several axes, along a new last axis.
Value index_vectors(Lower& l, const Values& places, const Dims& shape) {
  if (places.size() == 1) return places[0];
  Dims column = shape;
  column.push_back(1);
  Values columns;
  for (Value p : places) columns.push_back(l.hlo.reshape(p, column));
  return l.hlo.concatenate(columns, static_cast<int64_t>(shape.size()));
}

}  // namespace

bool is_mask(const Tensor& index) { return index.dtype() == DType::Bool || index.dtype() == DType::UInt8; }

Value wrapped_places(Lower& l, Tensor index, const Dim& size) {
  Value v = l.read(index, DType::Int64);
  if (is_unsigned(index.dtype())) return v;
  Value negative = l.hlo.compare(v, l.full_like(v, 0), ComparisonDirection::Lt);
  return l.hlo.select(negative, l.hlo.add(v, l.full_like(v, Scalar(size))), v);
}

std::optional<IndexPlan> plan_index(Lower& l, Tensor self, const OptionalTensorList& indices) {
  if (indices.size() > at(self.rank())) {
    l.wrong(std::to_string(indices.size()) + " indices into " + describe(self));
    return std::nullopt;
  }
  IndexPlan plan;
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i]) continue;
    if (indices[i]->is_poison()) return std::nullopt;
    if (is_mask(*indices[i])) {
      data_dependent(l, "the size of a tensor indexed by a mask",
                     "use torch.where, or index by a fixed number of places");
      return std::nullopt;
    }
    if (!is_integer(indices[i]->dtype())) {
      l.wrong("expected indices of an integer dtype, got " + describe(*indices[i]));
      return std::nullopt;
    }
    plan.axes.push_back(static_cast<int64_t>(i));
    tensors.push_back(*indices[i]);
  }
  auto shape = l.broadcast_shapes(tensors);
  if (!shape) return std::nullopt;
  plan.shape = *shape;
  for (size_t i = 0; i < tensors.size(); ++i)
    plan.places.push_back(l.broadcast_to(wrapped_places(l, tensors[i], self.dim(plan.axes[i])), plan.shape));
  bool neighbours =
      !plan.axes.empty() && plan.axes.back() - plan.axes.front() + 1 == static_cast<int64_t>(plan.axes.size());
  plan.front = neighbours ? plan.axes.front() : 0;
  for (int64_t i = 0; i < self.rank(); ++i)
    if (std::find(plan.axes.begin(), plan.axes.end(), i) == plan.axes.end()) plan.result.push_back(self.dim(i));
  plan.result.insert(plan.result.begin() + plan.front, plan.shape.begin(), plan.shape.end());
  return plan;
}

OptionalTensorList clamped_indices(Lower& l, Tensor self, OptionalTensorList indices, bool negative_wraps) {
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i] || indices[i]->is_poison() || is_mask(*indices[i])) continue;
    Dim size = self.dim(static_cast<int64_t>(i));
    Value low = l.constant(DType::Int64, Scalar(negative_wraps ? -size : Dim(0)));
    Value high = l.constant(DType::Int64, Scalar(size - 1));
    indices[i] = l.make(l.hlo.clamp(low, l.read(*indices[i], DType::Int64), high));
  }
  return indices;
}

namespace {

// The axes of the result that hold windows of self.
Ints window_axes(const IndexPlan& plan) {
  Ints out;
  for (int64_t i = 0; i < static_cast<int64_t>(plan.result.size()); ++i)
    if (i < plan.front || i >= plan.front + static_cast<int64_t>(plan.shape.size())) out.push_back(i);
  return out;
}

}  // namespace

Value gather_planned(Lower& l, Value self, const IndexPlan& plan) {
  if (!self.has_value()) return {};
  stablehlo::Gather g{};
  g.slice_sizes = l.type(self).dims;
  for (int64_t axis : plan.axes) {
    if (g.slice_sizes[at(axis)] == Dim(0)) {
      if (product(plan.result) == Dim(0)) return l.full(plan.result, l.type(self).dtype, 0);
      return l.wrong("an index into an axis without elements");
    }
    g.slice_sizes[at(axis)] = 1;
  }
  g.offset_dims = window_axes(plan);
  g.collapsed_slice_dims = plan.axes;
  g.start_index_map = plan.axes;
  g.index_vector_dim = static_cast<int64_t>(plan.shape.size());
  return l.hlo.gather(self, index_vectors(l, plan.places, plan.shape), std::move(g));
}

Value scatter_planned(Lower& l, Value self, const IndexPlan& plan, Value updates, Optional<Reducer> reducer) {
  if (!self.has_value() || !updates.has_value() || product(l.type(self).dims) == Dim(0)) return self;
  stablehlo::Scatter s{};
  s.update_window_dims = window_axes(plan);
  s.inserted_window_dims = plan.axes;
  s.scatter_dims_to_operand_dims = plan.axes;
  s.index_vector_dim = static_cast<int64_t>(plan.shape.size());
  Value vectors = index_vectors(l, plan.places, plan.shape);
  if (reducer) return l.hlo.scatter(self, vectors, updates, std::move(s), *reducer);
  return l.hlo.scatter_replace(self, vectors, updates, std::move(s));
}

// The n-th true place of the mask gets the n-th element of the source; other places get any.
Value masked_from(Lower& l, Value mask, Value flat_source) {
  if (!mask.has_value() || !flat_source.has_value()) return {};
  Dims shape = l.type(mask).dims;
  Dims source = l.type(flat_source).dims;
  if (source.empty() || source[0] == Dim(0)) return l.full(shape, l.type(flat_source).dtype, 0);
  Value flat = l.hlo.reshape(l.hlo.convert(mask, DType::Int64), {product(shape)});
  Value count = cumulate(l, flat, 0, Reducer::Add);
  IndexPlan plan{.axes = {0}, .places = {}, .shape = shape, .front = 0, .result = shape};
  plan.places.push_back(l.hlo.reshape(l.hlo.subtract(count, l.full_like(count, 1)), shape));
  plan.result.insert(plan.result.end(), source.begin() + 1, source.end());
  return gather_planned(l, flat_source, plan);
}

namespace {

// self[indices]. Index tensors broadcast together; their axes stand in place of the indexed ones if those are
// neighbours, else first.
Tensor index(Lower& l, Tensor self, OptionalTensorList indices) {
  if (self.is_poison()) return {};
  auto plan = plan_index(l, self, indices);
  if (!plan) return {};
  if (plan->axes.empty()) return l.make(l.read(self));
  return l.make(gather_planned(l, l.read(self), *plan));
}

Tensor index_at(Lower& l, Tensor self, Tensor first) { return index(l, self, {first}); }

// self[indices] where the mask is true, `fill` elsewhere; places are cut to the axis.
Tensor unsafe_masked_index(Lower& l, Tensor self, Tensor mask, OptionalTensorList indices, Scalar fill) {
  if (self.is_poison() || mask.is_poison()) return {};
  auto plan = plan_index(l, self, clamped_indices(l, self, indices, false));
  if (!plan) return {};
  if (self.is_empty()) return l.make(l.full(plan->result, self.dtype(), fill));
  Value read = gather_planned(l, l.read(self), *plan);
  return l.make(l.hlo.select(l.read(mask, DType::Bool, plan->result), read, l.full_like(read, fill)));
}

}  // namespace

// One axis at listed places, which may repeat.
Tensor index_select(Lower& l, Tensor self, int64_t dim, Tensor index) {
  if (self.is_poison() || index.is_poison()) return {};
  auto axis = l.axis(dim, self.rank());
  if (!axis || !l.expect_rank(index, 0, 1, "index")) return {};
  if (self.rank() == 0) return l.make(l.read(self));
  if (index.rank() == 0) index = reshape(l, index, {Dim(1)});
  IndexPlan plan{.axes = {*axis}, .places = {}, .shape = index.shape(), .front = *axis, .result = self.shape()};
  plan.places.push_back(wrapped_places(l, index, self.dim(*axis)));
  plan.result[at(*axis)] = index.dim(0);
  return l.make(gather_planned(l, l.read(self), plan));
}

// out[i][j][k] = self[i][index[i][j][k]][k] for dim 1. The index may be smaller than self along the other axes.
Tensor gather(Lower& l, Tensor self, int64_t dim, Tensor index, bool) {
  if (self.is_poison() || index.is_poison()) return {};
  auto axis = l.axis(dim, self.rank());
  if (!axis) return {};
  if (!is_integer(index.dtype())) return l.wrong("expected an index of an integer dtype, got " + describe(index));
  if (index.is_empty()) return l.make(l.full(index.shape(), self.dtype(), 0));
  Dims result = index.shape();
  if (self.rank() == 0) self = reshape(l, self, {Dim(1)});
  if (index.rank() == 0) index = reshape(l, index, {Dim(1)});
  if (self.rank() != index.rank()) return l.wrong("gather from " + describe(self) + " by " + describe(index));
  if (self.dim(*axis) == Dim(0)) return l.wrong("gather from an axis without elements");
  stablehlo::Gather g{};
  for (int64_t i = 0; i < self.rank(); ++i) {
    if (i == *axis) continue;
    if (index.dim(i) > self.dim(i)) return l.wrong("gather from " + describe(self) + " by " + describe(index));
    self = narrow(l, self, i, 0, index.dim(i));
    g.operand_batching_dims.push_back(i);
  }
  g.start_indices_batching_dims = g.operand_batching_dims;
  g.collapsed_slice_dims = {*axis};
  g.start_index_map = {*axis};
  g.index_vector_dim = self.rank();
  g.slice_sizes = Dims(at(self.rank()), Dim(1));
  Value read = l.hlo.gather(l.read(self), wrapped_places(l, index, self.dim(*axis)), std::move(g));
  return l.make(l.hlo.reshape(read, result));
}

namespace {

// gather, where the other axes of self and indices broadcast together.
Tensor take_along_dim(Lower& l, Tensor self, Tensor indices, Optional<int64_t> dim) {
  if (self.is_poison() || indices.is_poison()) return {};
  if (!dim) return gather(l, reshape(l, self, {self.numel()}), 0, reshape(l, indices, {indices.numel()}), false);
  auto axis = l.axis(*dim, self.rank());
  if (!axis || self.rank() != indices.rank())
    return l.wrong("take_along_dim of " + describe(self) + " by " + describe(indices));
  Dims a = self.shape(), b = indices.shape();
  if (self.rank() > 0) a[at(*axis)] = b[at(*axis)] = 1;
  auto shape = l.broadcast_shapes(std::array{a, b});
  if (!shape) return {};
  a = b = *shape;
  if (self.rank() > 0) {
    a[at(*axis)] = self.dim(*axis);
    b[at(*axis)] = indices.dim(*axis);
  }
  return gather(l, expand(l, self, a, false), *axis, expand(l, indices, b, false), false);
}

// Elements by their number in reading order.
Tensor take(Lower& l, Tensor self, Tensor index) {
  if (self.is_poison() || index.is_poison()) return {};
  return index_at(l, reshape(l, self, {self.numel()}), index);
}

Tensor masked_select(Lower& l, Tensor, Tensor) {
  return data_dependent(l, "the size of masked_select's result", "use torch.where or masked_fill, which keep the size");
}
template <typename Result>
Result refuse_nonzero(Lower& l, Tensor) {
  return data_dependent(l, "the number of non-zero elements",
                        "use torch.where with three arguments, or nonzero_static");
}

// The coordinates of the first `size` non-zero elements, rows of fill_value after them.
Tensor nonzero_static(Lower& l, Tensor self, Dim size, int64_t fill_value) {
  if (self.is_poison()) return {};
  if (size < Dim(0)) return l.wrong("nonzero_static with size " + size.text());
  Dim count = self.numel();
  Dims result{size, Dim(self.rank())};
  if (product(result) == Dim(0)) return l.make(l.full(result, DType::Int64, 0));
  if (count == Dim(0)) return l.make(l.full(result, DType::Int64, Scalar(fill_value)));
  // A stable sort brings the non-zero places to the front.
  Value zero = l.hlo.convert(l.hlo.not_(l.hlo.reshape(l.read(self, DType::Bool), {count})), DType::Int32);
  Values sorted = l.hlo.sort({zero, l.hlo.iota({DType::Int64, {count}}, 0)}, 0, true, [&](std::span<const Value> a) {
    return l.hlo.compare(a[0], a[1], ComparisonDirection::Lt);
  });
  Dim kept = size < count ? size : count;
  Value places = slice_axis(l, sorted[1], 0, 0, kept);
  Value used =
      l.hlo.compare(slice_axis(l, sorted[0], 0, 0, kept), l.full({kept}, DType::Int32, 0), ComparisonDirection::Eq);
  Value fill = l.full({kept}, DType::Int64, Scalar(fill_value));
  Values columns;
  Dim stride = count;
  for (int64_t i = 0; i < self.rank(); ++i) {
    stride = floordiv(stride, self.dim(i));
    Value c = l.hlo.remainder(l.hlo.divide(places, l.full({kept}, DType::Int64, Scalar(stride))),
                              l.full({kept}, DType::Int64, Scalar(self.dim(i))));
    columns.push_back(l.hlo.reshape(l.hlo.select(used, c, fill), {kept, Dim(1)}));
  }
  return l.make(pad_axis(l, l.hlo.concatenate(columns, 1), 0, 0, size - kept, Scalar(fill_value)));
}

}  // namespace

// condition ? self : other; numbers take part as numbers.
Tensor where(Lower& l, Tensor condition, Operand self, Operand other) {
  if (!condition.is_poison() && !is_mask(condition))
    return l.wrong("expected a bool condition, got " + describe(condition));
  return l.where(condition, self, other);
}

// value, as self's dtype, where the mask is true. self and mask broadcast together.
Tensor masked_fill(Lower& l, Tensor self, Tensor mask, Operand value) {
  if (self.is_poison() || mask.is_poison() || value.is_poison()) return {};
  if (value.rank() != 0) return l.wrong("expected a 0-D value, got " + describe(value));
  if (!is_bool(mask.dtype())) return l.wrong("expected a bool mask, got " + describe(mask));
  std::array operands{self, mask};
  auto shape = l.broadcast_shapes(operands);
  if (!shape) return {};
  Value filled = l.hlo.select(l.read(mask, DType::Bool, *shape), l.read(value, self.dtype(), *shape),
                              l.read(self, self.dtype(), *shape));
  bool kept = *shape == self.shape();
  return l.make(filled, kept ? lower::dense_strides_like(self.shape(), self.strides()) : contiguous_strides(*shape));
}

std::span<const Row> index_read_ops() {
  static constexpr Row rows[] = {
      op<index>("_unsafe_index.Tensor"),
      op<unsafe_masked_index>("_unsafe_masked_index"),
      op<refuse_nonzero<Tensor>>("argwhere"),
      op<gather>("gather"),
      op<index>("index.Tensor"),
      op<index_select>("index_select"),
      op<masked_fill>("masked_fill"),
      op<masked_select>("masked_select"),
      op<refuse_nonzero<Tensor>>("nonzero"),
      op<refuse_nonzero<TensorList>>("nonzero_numpy"),
      op<nonzero_static>("nonzero_static"),
      op<take>("take"),
      op<take_along_dim>("take_along_dim"),
      op<where>("where"),
      op<refuse_nonzero<TensorList>>("where"),
  };
  return rows;
}

std::span<const Row> indexing_ops() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> all;
    for (std::span<const Row> part : {index_read_ops(), index_write_ops(), scatter_ops()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rows;
}

}  // namespace torchlift::aten
