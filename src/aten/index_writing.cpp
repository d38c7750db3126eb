// Writing at computed places: index_put and the index_* family, masks.
#include <algorithm>
#include <array>

#include "aten/axes.hpp"
#include "aten/indexing.hpp"
#include "aten/shaping.hpp"

namespace torchlift::aten {
namespace {

size_t at(int64_t i) { return static_cast<size_t>(i); }

// The same values without leading axes of size one beyond the rank.
Tensor cut_to_rank(Lower& l, Tensor values, size_t rank) {
  Dims shape = values.shape();
  while (shape.size() > rank && shape.front() == Dim(1)) shape.erase(shape.begin());
  return shape.size() == values.shape().size() ? values : reshape(l, values, std::move(shape));
}

// A mask over the axes first .. first + rank of self, as self[.., mask, ..] = values needs it.
struct MaskSite {
  Tensor mask;
  int64_t first = 0;
  Dims before, after;  // sizes of self's other axes
};

// Values of which each true place takes the next one, laid out as self.
Value laid_out(Lower& l, Tensor self, Tensor values, const MaskSite& site, const Dim& count) {
  auto n = static_cast<int64_t>(site.before.size()), m = site.mask.rank();
  Dims full = site.before;
  full.push_back(count);
  full.insert(full.end(), site.after.begin(), site.after.end());
  Ints count_first{n}, back;
  for (int64_t i = 0; i < static_cast<int64_t>(full.size()); ++i)
    if (i != n) count_first.push_back(i);
  Value source = l.hlo.transpose(l.read(values, self.dtype(), full), count_first);
  Value out = masked_from(l, l.read(site.mask, DType::Bool), source);  // [mask.., before.., after..]
  for (int64_t i = 0; i < n; ++i) back.push_back(m + i);
  for (int64_t i = 0; i < m; ++i) back.push_back(i);
  for (int64_t i = m + n; i < m + n + static_cast<int64_t>(site.after.size()); ++i) back.push_back(i);
  return l.hlo.transpose(out, back);
}

// self[.., mask, ..] = values, by a choice at every place: how many places are true does not matter.
Tensor mask_put(Lower& l, Tensor self, const MaskSite& site, Tensor values, bool accumulate) {
  int64_t m = site.mask.rank();
  auto rest = static_cast<int64_t>(site.after.size());
  values = cut_to_rank(l, values, site.before.size() + 1 + site.after.size());
  int64_t count_axis = values.rank() - rest - 1;
  Value updates;
  if (count_axis >= 0 && values.dim(count_axis) != Dim(1)) {
    updates = laid_out(l, self, values, site, values.dim(count_axis));
  } else {
    Dims spread = values.shape();
    if (count_axis >= 0) {
      spread.erase(spread.begin() + count_axis);
      spread.insert(spread.begin() + count_axis, at(m), Dim(1));
    }
    updates = l.broadcast_to(l.hlo.reshape(l.read(values, self.dtype()), spread), self.shape());
  }
  Ints axes;
  for (int64_t i = 0; i < m; ++i) axes.push_back(site.first + i);
  Value chosen = l.hlo.broadcast_in_dim(l.read(site.mask, DType::Bool), self.shape(), axes);
  Value old = l.read(self);
  return l.make(l.hlo.select(chosen, accumulate ? l.hlo.add(old, updates) : updates, old),
                lower::dense_strides_like(self.shape(), self.strides()));
}

// The only index, if it is a mask that fits.
std::optional<MaskSite> single_mask(const Tensor& self, const OptionalTensorList& indices) {
  MaskSite site;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i]) continue;
    if (!is_mask(*indices[i]) || !site.mask.is_poison()) return std::nullopt;
    site.mask = *indices[i];
    site.first = static_cast<int64_t>(i);
  }
  if (site.mask.is_poison() || site.first + site.mask.rank() > self.rank()) return std::nullopt;
  for (int64_t i = 0; i < site.mask.rank(); ++i)
    if (self.dim(site.first + i) != site.mask.dim(i)) return std::nullopt;
  site.before.assign(self.shape().begin(), self.shape().begin() + site.first);
  site.after.assign(self.shape().begin() + site.first + site.mask.rank(), self.shape().end());
  return site;
}

}  // namespace

// A copy of self with values written, or added, at the indexed places.
Tensor index_put(Lower& l, Tensor self, OptionalTensorList indices, Tensor values, bool accumulate) {
  if (self.is_poison() || values.is_poison()) return {};
  if (auto site = single_mask(self, indices)) return mask_put(l, self, *site, values, accumulate);
  auto plan = plan_index(l, self, indices);
  if (!plan) return {};
  values = cut_to_rank(l, values, plan->result.size());
  Value updates = l.read(values, self.dtype(), plan->result);
  Dims strides = lower::dense_strides_like(self.shape(), self.strides());
  if (plan->axes.empty()) return l.make(accumulate ? l.hlo.add(l.read(self), updates) : updates, strides);
  return l.make(
      scatter_planned(l, l.read(self), *plan, updates, accumulate ? Optional<Reducer>(Reducer::Add) : std::nullopt),
      strides);
}

namespace {

Tensor index_put_impl(Lower& l, Tensor self, OptionalTensorList indices, Tensor values, bool accumulate, bool) {
  return index_put(l, self, std::move(indices), values, accumulate);
}

Tensor unsafe_masked_index_put_accumulate(Lower& l, Tensor self, Tensor mask, OptionalTensorList indices,
                                          Tensor values) {
  if (self.is_poison() || mask.is_poison() || values.is_poison()) return {};
  if (self.is_empty()) return l.make(l.read(self));
  Tensor masked = masked_fill(l, values, l.make(l.hlo.not_(l.read(mask, DType::Bool))), l.wrap(0));
  return index_put(l, self, clamped_indices(l, self, std::move(indices), true), masked, true);
}

// ---- one axis at listed places: index_add and its relatives

// The places of index_add and others; self of rank 0 counts as one element.
std::optional<IndexPlan> plan_axis(Lower& l, Tensor self, int64_t dim, Tensor index) {
  auto axis = l.axis(dim, self.rank());
  if (!axis || !l.expect_rank(index, 0, 1, "index")) return std::nullopt;
  if (!is_integer(index.dtype())) {
    l.wrong("expected an index of an integer dtype, got " + describe(index));
    return std::nullopt;
  }
  if (index.rank() == 0) index = reshape(l, index, {Dim(1)});
  Dims shape = self.rank() == 0 ? Dims{Dim(1)} : self.shape();
  IndexPlan plan{.axes = {*axis}, .places = {}, .shape = index.shape(), .front = *axis, .result = shape};
  plan.places.push_back(wrapped_places(l, index, shape[at(*axis)]));
  plan.result[at(*axis)] = index.dim(0);
  return plan;
}

// Scatters updates into self by the plan, in `compute`.
Tensor scatter_axis(Lower& l, Tensor self, const IndexPlan& plan, Value updates, Optional<Reducer> reducer) {
  Dims shape = self.rank() == 0 ? Dims{Dim(1)} : self.shape();
  Value out = scatter_planned(l, l.hlo.reshape(l.read(self), shape), plan, updates, reducer);
  return l.make(l.hlo.reshape(out, self.shape()), lower::dense_strides_like(self.shape(), self.strides()));
}

// The source as updates: one element may have no axis.
Value source_updates(Lower& l, Tensor self, Tensor source, const IndexPlan& plan) {
  if (source.rank() == 0 && product(plan.result) == Dim(1))
    return l.hlo.reshape(l.read(source, self.dtype()), plan.result);
  if (source.shape() != plan.result)
    return l.wrong("expected a source of shape " + text_of(plan.result) + ", got " + describe(source));
  return l.read(source, self.dtype());
}

Tensor index_add(Lower& l, Tensor self, int64_t dim, Tensor index, Tensor source, Scalar alpha) {
  if (self.is_poison() || index.is_poison() || source.is_poison()) return {};
  auto plan = plan_axis(l, self, dim, index);
  if (!plan) return {};
  Value updates = source_updates(l, self, source, *plan);
  if (!alpha.is_one()) updates = l.hlo.multiply(updates, l.full_like(updates, alpha));
  return scatter_axis(l, self, *plan, updates, Reducer::Add);
}

Tensor index_copy(Lower& l, Tensor self, int64_t dim, Tensor index, Tensor source) {
  if (self.is_poison() || index.is_poison() || source.is_poison()) return {};
  auto plan = plan_axis(l, self, dim, index);
  return plan ? scatter_axis(l, self, *plan, source_updates(l, self, source, *plan), {}) : Tensor();
}

Tensor index_fill(Lower& l, Tensor self, int64_t dim, Tensor index, Operand value) {
  if (self.is_poison() || index.is_poison() || value.is_poison()) return {};
  if (value.rank() != 0) return l.wrong("expected a 0-D value, got " + describe(value));
  auto plan = plan_axis(l, self, dim, index);
  return plan ? scatter_axis(l, self, *plan, l.read(value, self.dtype(), plan->result), {}) : Tensor();
}

Tensor index_reduce(Lower& l, Tensor self, int64_t dim, Tensor index, Tensor source, std::string reduce,
                    bool include_self) {
  if (self.is_poison() || index.is_poison() || source.is_poison()) return {};
  auto plan = plan_axis(l, self, dim, index);
  if (!plan) return {};
  if (reduce == "sum") return l.unsupported("reduce", "'sum'");
  Dims shape = self.rank() == 0 ? Dims{Dim(1)} : self.shape();
  Value out = scatter_reduced(l, l.hlo.reshape(l.read(self), shape), source_updates(l, self, source, *plan), reduce,
                              include_self, [&](Value base, Value updates, Optional<Reducer> reducer) {
                                return scatter_planned(l, base, *plan, updates, reducer);
                              });
  return l.make(l.hlo.reshape(out, self.shape()), lower::dense_strides_like(self.shape(), self.strides()));
}

// Elements by their number in reading order.
Tensor put(Lower& l, Tensor self, Tensor index, Tensor source, bool accumulate) {
  if (self.is_poison() || index.is_poison() || source.is_poison()) return {};
  if (index.numel() != source.numel()) return l.wrong("put of " + describe(source) + " at " + describe(index));
  Dim n = index.numel();
  IndexPlan plan{.axes = {0}, .places = {}, .shape = {n}, .front = 0, .result = {n}};
  plan.places.push_back(wrapped_places(l, reshape(l, index, {n}), self.numel()));
  Value flat = l.hlo.reshape(l.read(self), {self.numel()});
  Value updates = l.hlo.reshape(l.read(source, self.dtype()), {n});
  Value out = scatter_planned(l, flat, plan, updates, accumulate ? Optional<Reducer>(Reducer::Add) : std::nullopt);
  return l.make(l.hlo.reshape(out, self.shape()), lower::dense_strides_like(self.shape(), self.strides()));
}

// The true places take the source's elements one after another.
Tensor masked_scatter(Lower& l, Tensor self, Tensor mask, Tensor source) {
  if (self.is_poison() || mask.is_poison() || source.is_poison()) return {};
  auto shape = l.broadcast_shapes(std::array{self, mask});
  if (!shape) return {};
  Value chosen = l.read(mask, DType::Bool, *shape);
  Value updates = masked_from(l, chosen, l.hlo.reshape(l.read(source, self.dtype()), {source.numel()}));
  return l.make(l.hlo.select(chosen, updates, l.read(self, self.dtype(), *shape)));
}

}  // namespace

std::span<const Row> index_write_ops() {
  static constexpr auto kPromote = lower::AutocastRule::Promote;
  static constexpr Row rows[] = {
      op<index_put_impl>("_index_put_impl"),
      op<index_put>("_unsafe_index_put"),
      op<unsafe_masked_index_put_accumulate>("_unsafe_masked_index_put_accumulate"),
      op<index_add>("index_add"),
      op<index_copy>("index_copy", kPromote),
      op<index_fill>("index_fill.int_Scalar"),
      op<index_fill>("index_fill.int_Tensor"),
      op<index_put>("index_put"),
      op<index_reduce>("index_reduce"),
      op<masked_scatter>("masked_scatter"),
      op<put>("put"),
  };
  return rows;
}

}  // namespace torchlift::aten
