// Reading and writing at computed places, shared by the families.
#pragma once

#include <functional>

#include "aten/ops.hpp"

namespace torchlift::aten {

// Places of an axis as int64, negative ones counted from its end. What is out of range cannot raise here.
Value wrapped_places(Lower& l, Tensor index, const Dim& size);

Tensor gather(Lower& l, Tensor self, int64_t dim, Tensor index, bool sparse_grad);
Tensor index_select(Lower& l, Tensor self, int64_t dim, Tensor index);
Tensor index_put(Lower& l, Tensor self, OptionalTensorList indices, Tensor values, bool accumulate);
Tensor where(Lower& l, Tensor condition, Operand self, Operand other);
Tensor masked_fill(Lower& l, Tensor self, Tensor mask, Operand value);

// Advanced indexing, worked out: which axes are indexed, the places, and where the result's axes stand.
struct IndexPlan {
  std::vector<int64_t> axes;  // of self that are indexed, rising
  Values places;              // for each, int64 of `shape`
  Dims shape;                 // the index tensors broadcast together
  int64_t front = 0;          // where `shape` stands in the result: 0 if the indexed axes are not neighbours
  Dims result;                // the sizes of self[indices]
};
// Nothing, after refusing, where an index is a mask or does not fit.
std::optional<IndexPlan> plan_index(Lower& l, Tensor self, const OptionalTensorList& indices);
// The indices cut to their axes, for the operators that promise not to raise.
OptionalTensorList clamped_indices(Lower& l, Tensor self, OptionalTensorList indices, bool negative_wraps);
Value gather_planned(Lower& l, Value self, const IndexPlan& plan);
// `updates` has the sizes plan.result.
Value scatter_planned(Lower& l, Value self, const IndexPlan& plan, Value updates, Optional<Reducer> reducer);

// Values combined with what stands at their places, as scatter_reduce has it: "sum", "prod", "mean", "amax", "amin".
// `write(base, updates, reducer)` scatters, replacing where no reducer is given.
using ScatterWrite = std::function<Value(Value base, Value updates, Optional<Reducer> reducer)>;
Value scatter_reduced(Lower& l, Value self, Value src, const std::string& reduce, bool include_self,
                      const ScatterWrite& write);

// Whether an index is a mask: bool, or uint8 as in old PyTorch.
bool is_mask(const Tensor& index);

// For each place of a mask, how many true places come before it; and `source`'s elements laid along the true places.
Value masked_from(Lower& l, Value mask, Value flat_source);

// The family's files.
std::span<const Row> index_read_ops();
std::span<const Row> index_write_ops();
std::span<const Row> scatter_ops();

}  // namespace torchlift::aten
