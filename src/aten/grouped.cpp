// Grouped products: rows sorted by group, each group with a matrix of its own (mixtures of experts).
#include "aten/linear_algebra.hpp"

namespace torchlift::aten {

// Whether place i of an axis belongs to group g, offs[g-1] <= i < offs[g]: bool [groups, size]. offs [groups], rising.
Value places_of_groups(Lower& l, Tensor offs, const Dim& size) {
  Dim groups = offs.dim(0);
  Dims grid{groups, size};
  Value place = l.hlo.iota({DType::Int64, grid}, 1);
  Value ends = l.read(offs, DType::Int64);
  Value zero = l.full({Dim(1)}, DType::Int64, 0);
  Value begins = l.hlo.concatenate({zero, l.hlo.slice(ends, {Dim(0)}, {groups - Dim(1)})}, 0);
  Value below = l.hlo.compare(place, l.hlo.broadcast_in_dim(ends, grid, {0}), ComparisonDirection::Lt);
  Value above = l.hlo.compare(place, l.hlo.broadcast_in_dim(begins, grid, {0}), ComparisonDirection::Ge);
  return l.hlo.and_(below, above);
}

// `v` [groups, x, y] with zeros where the place of axis 1 or 2 is not of the group.
Value only_own(Lower& l, Value v, Value own, int64_t axis) {
  Value mine = l.hlo.broadcast_in_dim(own, l.type(v).dims, {0, axis});
  return l.hlo.select(mine, v, l.full_like(v, 0));
}

// Every group's product, [groups, M, N] of [groups, M, K] and [groups, K, N]. A matrix of two axes is every group's.
Value group_products(Lower& l, Value a, Value b, const Dim& groups) {
  auto spread = [&](Value v) {
    const Dims& dims = l.type(v).dims;
    return dims.size() == 3 ? v : l.hlo.broadcast_in_dim(v, {groups, dims[0], dims[1]}, {1, 2});
  };
  stablehlo::DotGeneral dimensions{};
  dimensions.lhs_batching_dimensions = {0};
  dimensions.rhs_batching_dimensions = {0};
  dimensions.lhs_contracting_dimensions = {2};
  dimensions.rhs_contracting_dimensions = {1};
  return contract(l, spread(a), spread(b), dimensions);
}

// Groups of the rows of `a` [M, K], of the columns of `b` [K, N], or, where neither has an axis of groups, of K; a
// place past the last offset is zero, where PyTorch leaves it unset. Which places form a group depends on values, the
// shapes do not: every product is taken whole and a group's own part is kept, exact at the cost of as many products as
// there are groups.
Tensor grouped_product(Lower& l, Tensor a, Tensor b, Tensor offs) {
  if (!l.expect_rank(a, 2, 3, "self") || !l.expect_rank(b, 2, 3, "mat2") || !l.expect_rank(offs, 1, 1, "offs"))
    return {};
  Dim groups = offs.dim(0);
  bool fits = a.dim(-1) == b.dim(-2) && (a.rank() == 2 || a.dim(0) == groups) && (b.rank() == 2 || b.dim(0) == groups);
  if (!fits)
    return l.wrong("expected matrices that fit, and as many as there are groups, got " + describe(a) + ", " +
                   describe(b) + ", " + describe(offs));
  Value left = l.read(a), right = l.read(b);
  if (a.rank() == 2 && b.rank() == 2) {
    Value own = places_of_groups(l, offs, a.dim(1));
    left = only_own(l, l.hlo.broadcast_in_dim(left, {groups, a.dim(0), a.dim(1)}, {1, 2}), own, 2);
    right = only_own(l, l.hlo.broadcast_in_dim(right, {groups, b.dim(0), b.dim(1)}, {1, 2}), own, 1);
    return l.make(l.convert(group_products(l, left, right, groups), a.dtype()));
  }
  int64_t axis = a.rank() == 2 ? 1 : 2;  // of the products, the one that has groups
  Value products = group_products(l, left, right, groups);
  Value own = only_own(l, products, places_of_groups(l, offs, axis == 1 ? a.dim(0) : b.dim(1)), axis);
  return l.make(l.convert(l.hlo.reduce(own, {0}, Reducer::Add), a.dtype()));
}

Tensor grouped_mm(Lower& l, Tensor self, Tensor mat2, Optional<Tensor> offs, Optional<Tensor> bias,
                  Optional<DType> out_dtype) {
  if (self.is_poison() || mat2.is_poison()) return {};
  if (bias) return l.wrong("a bias is not supported by PyTorch");
  if (!is_float(self.dtype()) || self.dtype() == DType::Float64)
    return l.wrong("expected float32, float16 or bfloat16, got " + describe(self));
  if (self.dtype() != mat2.dtype() || out_dtype.value_or(self.dtype()) != self.dtype())
    return l.wrong("expected one dtype for matrices and result, got " + describe(self) + ", " + describe(mat2));
  bool grouped = self.rank() == 2 || mat2.rank() == 2;
  if (grouped != offs.has_value()) return l.wrong("expected offs where, and only where, a matrix has two axes");
  if (grouped) return grouped_product(l, self, mat2, *offs);
  if (!l.expect_rank(self, 3, 3, "self") || !l.expect_rank(mat2, 3, 3, "mat2")) return {};
  if (self.dim(0) != mat2.dim(0) || self.dim(2) != mat2.dim(1))
    return l.wrong("expected matrices that fit, got " + describe(self) + ", " + describe(mat2));
  return l.make(l.convert(group_products(l, l.read(self), l.read(mat2), self.dim(0)), self.dtype()));
}

// input [S, K], weight [G, K, N].
Tensor grouped_mm_fallback(Lower& l, Tensor input, Tensor weight, Tensor offs) {
  if (!l.expect_rank(input, 2, 2, "input") || !l.expect_rank(weight, 3, 3, "weight")) return {};
  return grouped_product(l, input, weight, offs);
}

std::span<const Row> grouped_ops() {
  static constexpr Row rows[] = {
      op<grouped_mm>("_grouped_mm"),
      op<grouped_mm_fallback>("transformers::grouped_mm_fallback"),
  };
  return rows;
}

}  // namespace torchlift::aten
