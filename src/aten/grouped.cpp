// Grouped products: rows sorted by group, each group with a matrix of its own (mixtures of experts).
#include <array>

#include "aten/linear_algebra.hpp"

namespace torchlift::aten {

// Row i of the result is row i of the input times weight[g], where offs[g-1] <= i < offs[g]; a row past the last offset
// is zero. Which rows form a group depends on values, the shapes do not: every row is multiplied by every matrix and
// its own product is kept, exact at the cost of as many products as there are groups. input [S, K], weight [G, K, N],
// offs [G], rising.
Tensor grouped_mm(Lower& l, Tensor input, Tensor weight, Tensor offs) {
  if (!l.expect_rank(input, 2, 2, "input") || !l.expect_rank(weight, 3, 3, "weight") ||
      !l.expect_rank(offs, 1, 1, "offs"))
    return {};
  Dim rows = input.dim(0), groups = weight.dim(0);
  if (offs.dim(0) != groups || weight.dim(1) != input.dim(1))
    return l.wrong("expected offs and weight of as many groups and input columns as weight rows, got " +
                   describe(input) + ", " + describe(weight) + ", " + describe(offs));
  // products[g, s, n]
  Dims spread{groups, rows, input.dim(1)};
  stablehlo::DotGeneral dimensions{};
  dimensions.lhs_batching_dimensions = {0};
  dimensions.rhs_batching_dimensions = {0};
  dimensions.lhs_contracting_dimensions = {2};
  dimensions.rhs_contracting_dimensions = {1};
  Value products = contract(l, l.hlo.broadcast_in_dim(l.read(input), spread, {1, 2}), l.read(weight), dimensions);

  // mine[g, s]: row s lies below the end of group g, and not below the end of the group before.
  Dims grid{groups, rows};
  Value row = l.hlo.iota({DType::Int64, grid}, 1);
  Value ends = l.read(offs, DType::Int64);
  Value zero = l.full({Dim(1)}, DType::Int64, 0);
  Value begins = l.hlo.concatenate({zero, l.hlo.slice(ends, {Dim(0)}, {groups - Dim(1)})}, 0);
  Value below = l.hlo.compare(row, l.hlo.broadcast_in_dim(ends, grid, {0}), ComparisonDirection::Lt);
  Value above = l.hlo.compare(row, l.hlo.broadcast_in_dim(begins, grid, {0}), ComparisonDirection::Ge);
  Value mine = l.hlo.broadcast_in_dim(l.hlo.and_(below, above), l.type(products).dims, {0, 1});
  Value kept = l.hlo.select(mine, products, l.full_like(products, 0));
  return l.make(l.convert(l.hlo.reduce(kept, {0}, Reducer::Add), input.dtype()));
}

std::span<const Row> grouped_ops() {
  static constexpr Row rows[] = {
      op<grouped_mm>("transformers::grouped_mm_fallback"),
  };
  return rows;
}

}  // namespace torchlift::aten
