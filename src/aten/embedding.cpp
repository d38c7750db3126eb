// Look-up tables: torch.nn.functional's "Sparse functions".
#include "aten/axes.hpp"
#include "aten/families.hpp"
#include "aten/reduction.hpp"
#include "base/kinds.hpp"

namespace torchlift::aten {
namespace {

bool integer_indices(Lower& l, Tensor indices) {
  if (indices.dtype() == DType::Int64 || indices.dtype() == DType::Int32) return true;
  l.wrong("expected int32 or int64 indices, got " + describe(indices));
  return false;
}

// Rows of a table [rows, width] at indices of any shape: [indices..., width].
Value rows_at(Lower& l, Value table, Value indices) {
  if (!table.has_value() || !indices.has_value()) return {};
  auto rank = static_cast<int64_t>(l.type(indices).rank());
  stablehlo::Gather g{};
  g.offset_dims = {rank};
  g.collapsed_slice_dims = {0};
  g.start_index_map = {0};
  g.index_vector_dim = rank;
  g.slice_sizes = {Dim(1), l.type(table).dims[1]};
  return l.hlo.gather(table, indices, std::move(g));
}

// weight[indices]; padding_idx and the flags matter to gradients only.
Tensor embedding(Lower& l, Tensor weight, Tensor indices, Ignored, Ignored, Ignored) {
  if (weight.is_poison() || indices.is_poison() || !l.expect_rank(weight, 2, 2, "weight") ||
      !integer_indices(l, indices))
    return {};
  return l.make(rows_at(l, l.read(weight), l.read(indices)));
}

// ---- embedding_bag

enum class BagMode : int64_t { Sum = 0, Mean = 1, Max = 2 };

struct BagArguments {
  Tensor weight, indices, offsets;
  BagMode mode{};
  Optional<Tensor> per_sample_weights;
  bool include_last_offset = false;
  int64_t padding_idx = -1;  // none
  bool forward_only = true;
};

// Which bag each index falls into: the number of offsets at or before it, less one.
Value bag_numbers(Lower& l, Value offsets, const Dim& count) {
  Dims grid{count, l.type(offsets).dims[0]};
  Value place = l.hlo.iota({DType::Int64, grid}, 0);
  Value begun = l.hlo.compare(along_axis(l, offsets, 1, grid), place, ComparisonDirection::Le);
  Value sum = l.hlo.reduce(l.convert(begun, DType::Int64), {1}, Reducer::Add);
  return l.hlo.subtract(sum, l.full_like(sum, 1));
}

// Adds up, or takes the greatest of, the rows that fall into each bag.
Value gather_bags(Lower& l, Value init, Value bags, Value rows, Reducer reducer) {
  stablehlo::Scatter s{};
  if (l.type(rows).rank() == 2) s.update_window_dims = {1};
  s.inserted_window_dims = {0};
  s.scatter_dims_to_operand_dims = {0};
  s.index_vector_dim = 1;
  return l.hlo.scatter(init, bags, rows, std::move(s), reducer);
}

bool bag_fits(Lower& l, const BagArguments& a) {
  if (a.weight.is_poison() || a.indices.is_poison() || a.offsets.is_poison()) return false;
  if (!l.expect_rank(a.weight, 2, 2, "weight") || !l.expect_rank(a.indices, 1, 1, "indices") ||
      !l.expect_rank(a.offsets, 1, 1, "offsets") || !integer_indices(l, a.indices) || !integer_indices(l, a.offsets))
    return false;
  if (a.include_last_offset && a.offsets.dim(0) < Dim(1)) {
    l.wrong("expected at least one offset with include_last_offset");
    return false;
  }
  if (!a.per_sample_weights) return true;
  if (a.mode == BagMode::Sum && a.per_sample_weights->shape() == a.indices.shape()) return true;
  l.wrong("per_sample_weights go with the mode `sum` and have the shape of the indices, got " +
          describe(*a.per_sample_weights));
  return false;
}

// The row number of each bag's greatest element: of equals the first.
Value greatest_rows(Lower& l, Value best, Value bags, Value rows, Value valid, Value indices) {
  const Dims grid = l.type(rows).dims;
  const Dims result = l.type(best).dims;
  Value same = l.hlo.and_(l.hlo.compare(rows, rows_at(l, best, bags), ComparisonDirection::Eq), valid);
  Value place = l.hlo.iota({DType::Int64, grid}, 0);
  Value none = l.full(grid, DType::Int64, l.highest(DType::Int64));
  Value start = l.full(result, DType::Int64, l.highest(DType::Int64));
  Value first = gather_bags(l, start, bags, l.hlo.select(same, place, none), Reducer::Minimum);
  Value found = l.hlo.compare(first, start, ComparisonDirection::Ne);
  stablehlo::Gather g{};
  g.collapsed_slice_dims = {0};
  g.start_index_map = {0};
  g.index_vector_dim = 2;
  g.slice_sizes = {Dim(1)};
  Value row = l.hlo.gather(indices, l.hlo.select(found, first, l.full_like(first, 0)), std::move(g));
  return l.hlo.select(found, row, l.full_like(row, 0));
}

// Whether PyTorch's fast kernel sums; it leaves the bag of each index out.
bool summed_fast(const BagArguments& a) {
  DType dtype = a.weight.dtype();
  return a.mode == BagMode::Sum && a.padding_idx < 0 && a.weight.strides()[1] == Dim(1) &&
         (!a.per_sample_weights || a.per_sample_weights->strides()[0] == Dim(1)) &&
         (dtype == DType::Float32 || dtype == DType::Float16 || dtype == DType::BFloat16);
}

using BagResults = std::tuple<Tensor, Tensor, Tensor, Tensor>;

// (output, bag of each index, size of each bag, row of each maximum); the last three as far as PyTorch fills them.
BagResults bag(Lower& l, const BagArguments& a) {
  if (!bag_fits(l, a)) return {};
  DType dtype = a.weight.dtype(), wide = lower::accumulate_type(dtype);
  DType index_dtype = a.indices.dtype() == a.offsets.dtype() ? a.offsets.dtype() : DType::Int64;
  Dim count = a.indices.dim(0), bag_count = a.include_last_offset ? a.offsets.dim(0) - Dim(1) : a.offsets.dim(0);
  Dim width = a.weight.dim(1);
  Value indices = l.read(a.indices, DType::Int64);
  Value bags = bag_numbers(l, slice_axis(l, l.read(a.offsets, DType::Int64), 0, 0, bag_count), count);
  Value rows = rows_at(l, l.read(a.weight, wide), indices);
  if (!rows.has_value() || !bags.has_value()) return {};
  Dims grid{count, width}, result{bag_count, width};
  if (a.per_sample_weights) rows = l.hlo.multiply(rows, along_axis(l, l.read(*a.per_sample_weights, wide), 0, grid));
  Value counted = l.hlo.compare(indices, l.full_like(indices, a.padding_idx), ComparisonDirection::Ne);
  Value valid = along_axis(l, counted, 0, grid);
  Value sizes =
      gather_bags(l, l.full({bag_count}, DType::Int64, 0), bags, l.convert(counted, DType::Int64), Reducer::Add);

  Reducer reducer = a.mode == BagMode::Max ? Reducer::MaximumNan : Reducer::Add;
  Value neutral = l.hlo.broadcast_in_dim(l.hlo.identity(reducer, wide), grid, {});
  Value init = l.hlo.broadcast_in_dim(l.hlo.identity(reducer, wide), result, {});
  Value output = gather_bags(l, init, bags, l.hlo.select(valid, rows, neutral), reducer);
  if (!output.has_value()) return {};
  Value size = along_axis(l, sizes, 0, result);
  if (a.mode == BagMode::Mean) {
    Value divisor = l.convert(l.hlo.maximum(size, l.full_like(size, 1)), wide);
    output = l.hlo.divide(output, divisor);
  }
  // PyTorch does not count the bags it sums; forward only, it leaves a size for the last offset too.
  if (a.mode == BagMode::Sum) sizes = l.full(a.forward_only ? a.offsets.shape() : Dims{bag_count}, DType::Int64, 0);
  Value greatest = l.convert(sizes, index_dtype);  // where there is no maximum PyTorch gives the sizes again
  if (a.mode == BagMode::Max) {
    Value filled = l.hlo.compare(size, l.full_like(size, 0), ComparisonDirection::Gt);
    greatest = l.convert(greatest_rows(l, output, bags, rows, valid, indices), index_dtype);
    output = l.hlo.select(filled, output, l.full_like(output, 0));
  }
  Value numbers = summed_fast(a) ? l.full({Dim(0)}, index_dtype, 0) : l.convert(bags, index_dtype);
  return {l.make(l.convert(output, dtype)), l.make(numbers), l.make(l.convert(sizes, index_dtype)), l.make(greatest)};
}

std::optional<BagMode> bag_mode(Lower& l, int64_t mode) {
  if (mode >= 0 && mode <= 2) return static_cast<BagMode>(mode);
  l.wrong("expected mode 0, 1 or 2, got " + std::to_string(mode));
  return std::nullopt;
}

template <bool kForwardOnly>
BagResults embedding_bag_ex(Lower& l, Tensor weight, Tensor indices, Tensor offsets, Ignored, int64_t mode, Ignored,
                            Optional<Tensor> per_sample_weights, bool include_last_offset, int64_t padding_idx) {
  auto m = bag_mode(l, mode);
  if (!m) return {};
  return bag(l, {weight, indices, offsets, *m, per_sample_weights, include_last_offset, padding_idx, kForwardOnly});
}

BagResults embedding_bag(Lower& l, Tensor weight, Tensor indices, Tensor offsets, Ignored, int64_t mode, Ignored,
                         Optional<Tensor> per_sample_weights, bool include_last_offset) {
  return embedding_bag_ex<true>(l, weight, indices, offsets, {}, mode, {}, per_sample_weights, include_last_offset, -1);
}

// A negative padding_idx counts from the end of the table.
BagResults embedding_bag_padding_idx(Lower& l, Tensor weight, Tensor indices, Tensor offsets, Ignored, int64_t mode,
                                     Ignored, Optional<Tensor> per_sample_weights, bool include_last_offset,
                                     Optional<int64_t> padding_idx) {
  int64_t padding = padding_idx.value_or(-1);
  if (padding_idx && padding < 0) padding += l.pin(weight.dim(0));
  return embedding_bag_ex<true>(l, weight, indices, offsets, {}, mode, {}, per_sample_weights, include_last_offset,
                                padding);
}

// ---- embedding_renorm

// The rows that `indices` names, scaled down where their norm is above max_norm.
Tensor embedding_renorm(Lower& l, Tensor self, Tensor indices, double max_norm, double norm_type) {
  if (self.is_poison() || indices.is_poison() || !l.expect_rank(self, 2, 2, "self") || !integer_indices(l, indices))
    return {};
  Dim count = product(indices.shape());
  Value named = gather_bags(l, l.full({self.dim(0)}, DType::Bool, false), l.hlo.reshape(l.read(indices), {count}),
                            l.full({count}, DType::Bool, true), Reducer::Or);
  if (!named.has_value()) return {};
  return l.where(l.make(insert_axis(l, named, 1)), renorm(l, self, norm_type, 0, max_norm), self);
}

// ---- one_hot

// A one where the class is, int64. Without num_classes their number depends on the values.
Tensor one_hot(Lower& l, Tensor self, int64_t num_classes) {
  if (self.is_poison()) return {};
  if (self.dtype() != DType::Int64) return l.wrong("expected int64 classes, got " + describe(self));
  if (num_classes < 0)
    return l.refuse(Kind::DataDependent,
                    {{"what", "the number of classes of one_hot"}, {"advice", "give num_classes"}});
  Dims shape = self.shape();
  shape.emplace_back(num_classes);
  auto last = static_cast<int64_t>(shape.size()) - 1;
  Ints axes;
  for (int64_t i = 0; i < last; ++i) axes.push_back(i);
  Value classes = l.hlo.broadcast_in_dim(l.read(self), shape, axes);
  Value same = l.hlo.compare(classes, l.hlo.iota({DType::Int64, shape}, last), ComparisonDirection::Eq);
  return l.make(l.convert(same, DType::Int64));
}

}  // namespace

std::span<const Row> embedding_ops() {
  static constexpr Row rows[] = {
      op<embedding_bag_ex<false>>("_embedding_bag"),
      op<embedding_bag_ex<true>>("_embedding_bag_forward_only"),
      op<embedding>("embedding"),
      op<embedding_bag>("embedding_bag"),
      op<embedding_bag_padding_idx>("embedding_bag.padding_idx"),
      op<embedding_renorm>("embedding_renorm"),
      op<one_hot>("one_hot"),
  };
  return rows;
}

}  // namespace torchlift::aten
