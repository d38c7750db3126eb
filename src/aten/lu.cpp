// LU factorization with partial pivoting, and what follows from it: solving, inverses, determinants. StableHLO has no
// such operation: it is one while over the columns, over all matrices of a batch at once.
#include <algorithm>
#include <array>
#include <limits>

#include "aten/axes.hpp"
#include "aten/linear_algebra.hpp"
#include "aten/matrices.hpp"

namespace torchlift::aten {
namespace {

// A batch of matrices [batch, m, n] with P A = L U.
struct Factors {
  Value lu;           // L below the diagonal, which is one, and U
  Value permutation;  // [batch, m]: the row of A that each row comes from
  Value pivots;       // [batch, min(m, n)]: the row exchanged in each step, counted from one
  Dims batch;         // before it was made one axis
};

// The number of the first greatest element of each row [batch, m] at or after `k`.
Value pivot_row(Lower& l, Value sizes, Value k) {
  const Dims shape = l.type(sizes).dims;
  Value row = l.hlo.iota({DType::Int64, shape}, 1);
  Value open = l.hlo.compare(row, l.hlo.broadcast_in_dim(k, shape, {}), ComparisonDirection::Ge);
  Value masked = l.hlo.select(open, sizes, l.full_like(sizes, -1));
  Value top = l.hlo.broadcast_in_dim(l.hlo.reduce(masked, {1}, Reducer::Maximum), shape, {0});
  Value hit = l.hlo.and_(open, l.hlo.compare(masked, top, ComparisonDirection::Eq));
  Value none = l.full_like(row, l.highest(DType::Int64));
  Value first = l.hlo.reduce(l.hlo.select(hit, row, none), {1}, Reducer::Minimum);
  // Among NaN there is no greatest: the row stays.
  Value lost = l.hlo.compare(first, l.full_like(first, l.highest(DType::Int64)), ComparisonDirection::Eq);
  return l.hlo.select(lost, l.hlo.broadcast_in_dim(k, l.type(first).dims, {}), first);
}

// The rows numbered k and p of each matrix, or entries of each vector, exchanged along axis 1.
Value exchange(Lower& l, Value v, Value k, Value p) {
  if (!v.has_value()) return {};
  const Dims shape = l.type(v).dims;
  Value row = l.hlo.iota({DType::Int64, shape}, 1);
  Value is_k = l.hlo.compare(row, l.hlo.broadcast_in_dim(k, shape, {}), ComparisonDirection::Eq);
  Value is_p = l.hlo.compare(row, l.hlo.broadcast_in_dim(p, shape, {0}), ComparisonDirection::Eq);
  Value zero = l.full_like(v, 0);
  Ints kept{0};
  for (int64_t i = 2; i < static_cast<int64_t>(shape.size()); ++i) kept.push_back(i);
  auto only = [&](Value mask) {
    return l.hlo.broadcast_in_dim(l.hlo.reduce(l.hlo.select(mask, v, zero), {1}, Reducer::Add), shape, kept);
  };
  return l.hlo.select(is_k, only(is_p), l.hlo.select(is_p, only(is_k), v));
}

// One column done: multipliers below the diagonal, and the rest less their products with the pivot's row.
Value eliminate(Lower& l, Value a, Value k) {
  if (!a.has_value()) return {};
  const Dims s = l.type(a).dims;
  Value zero = number(l, 0);
  Value top = l.hlo.dynamic_slice(a, {zero, k, zero}, {s[0], Dim(1), s[2]});
  Value column = l.hlo.dynamic_slice(a, {zero, zero, k}, {s[0], s[1], Dim(1)});
  Value pivot = l.hlo.dynamic_slice(top, {zero, zero, k}, {s[0], Dim(1), Dim(1)});
  Value row_number = l.hlo.iota({DType::Int64, s}, 1), column_number = l.hlo.iota({DType::Int64, s}, 2);
  Value at = l.hlo.broadcast_in_dim(k, s, {});
  Value below = l.hlo.compare(row_number, at, ComparisonDirection::Gt);
  Value after = l.hlo.compare(column_number, at, ComparisonDirection::Gt);
  Value here = l.hlo.compare(column_number, at, ComparisonDirection::Eq);
  Value usable = l.hlo.compare(pivot, l.full_like(pivot, 0), ComparisonDirection::Ne);
  Value safe = l.hlo.select(usable, pivot, l.full_like(pivot, 1));
  Value multipliers = l.hlo.divide(l.broadcast_to(column, s), l.broadcast_to(safe, s));
  Value less = l.hlo.subtract(a, l.hlo.multiply(multipliers, l.broadcast_to(top, s)));
  a = l.hlo.select(l.hlo.and_(below, after), less, a);
  return l.hlo.select(l.hlo.and_(below, here), multipliers, a);
}

std::optional<Factors> factor(Lower& l, Tensor A) {
  if (A.is_poison()) return std::nullopt;
  Dims batch = batch_of(A);
  Dim count = product(batch), m = A.dim(-2), n = A.dim(-1), steps = min(m, n);
  Value a = l.hlo.reshape(l.read(A), {count, m, n});
  Value rows = l.hlo.iota({DType::Int64, {count, m}}, 1);
  Value pivots = l.full({count, steps}, DType::Int64, 0);
  if (count * steps == Dim(0)) return Factors{a, rows, pivots, batch};  // nothing to do
  if (steps == Dim(0)) return Factors{a, rows, pivots, batch};          // no column to eliminate
  auto more = [&](std::span<const Value> v) { return l.hlo.compare(v[0], number(l, steps), ComparisonDirection::Lt); };
  auto step = [&](std::span<const Value> v) -> Values {
    Value k = v[0], zero = number(l, 0);
    Value column = l.hlo.reshape(l.hlo.dynamic_slice(v[1], {zero, zero, k}, {count, m, Dim(1)}), {count, m});
    Value p = pivot_row(l, pivot_size(l, column), k);
    Value counted = insert_axis(l, l.hlo.add(p, l.full_like(p, 1)), 1);
    return {l.hlo.add(k, number(l, 1)), eliminate(l, exchange(l, v[1], k, p), k), exchange(l, v[2], k, p),
            l.hlo.dynamic_update_slice(v[3], counted, {zero, k})};
  };
  Values out = l.hlo.while_({number(l, 0), a, rows, pivots}, more, step);
  if (!out[1].has_value()) return std::nullopt;
  return Factors{out[1], out[2], out[3], batch};
}

// X with A X = B, of [batch, n, k], from the permuted rows of B.
Value solve_permuted(Lower& l, const Factors& f, Value b) {
  Value half = l.hlo.triangular_solve(f.lu, b, {.left_side = true, .lower = true, .unit_diagonal = true});
  return l.hlo.triangular_solve(f.lu, half, {.left_side = true, .lower = false, .unit_diagonal = false});
}

// 1 or -1 for each matrix: the sign of the permutation.
Value sign_of(Lower& l, const Factors& f, DType dtype) {
  const Dims s = l.type(f.pivots).dims;
  Value at = l.hlo.iota({DType::Int64, s}, 1);
  Value moved = l.hlo.compare(f.pivots, l.hlo.add(at, l.full_like(at, 1)), ComparisonDirection::Ne);
  Value one = l.full(s, dtype, 1);
  return l.hlo.reduce(l.hlo.select(moved, l.hlo.negate(one), one), {1}, Reducer::Multiply);
}

// ---- the operators

// The product of the diagonal of U, with the sign of the permutation.
Tensor linalg_det(Lower& l, Tensor A) {
  if (!expect_matrices(l, A, true)) return {};
  auto f = factor(l, A);
  if (!f) return {};
  Value det = l.hlo.multiply(l.hlo.reduce(diagonal_of(l, f->lu), {1}, Reducer::Multiply), sign_of(l, *f, A.dtype()));
  return make_shaped(l, det, f->batch);
}

// (sign, logarithm of the size) of the determinant.
std::tuple<Tensor, Tensor> linalg_slogdet(Lower& l, Tensor A) {
  if (!expect_matrices(l, A, true)) return {};
  auto f = factor(l, A);
  if (!f) return {};
  Value d = diagonal_of(l, f->lu);
  Value sign = l.hlo.multiply(l.hlo.reduce(l.hlo.sign(d), {1}, Reducer::Multiply), sign_of(l, *f, A.dtype()));
  Value size = l.hlo.reduce(l.hlo.log(l.hlo.abs(d)), {1}, Reducer::Add);
  return {make_shaped(l, sign, f->batch), make_shaped(l, size, f->batch)};
}

// log(det A): NaN where a real determinant is negative.
Tensor logdet(Lower& l, Tensor self) {
  auto [sign, size] = linalg_slogdet(l, self);
  if (sign.is_poison()) return {};
  if (is_complex(self.dtype())) {
    Value log_sign = l.hlo.log(l.read(sign));
    return l.make(l.hlo.add(log_sign, l.convert(l.read(size), self.dtype())));
  }
  Value s = l.read(sign);
  Value negative = l.hlo.compare(s, l.full_like(s, -1), ComparisonDirection::Eq);
  return l.make(l.hlo.select(negative, l.full_like(s, std::numeric_limits<double>::quiet_NaN()), l.read(size)));
}

// A singular matrix gives infinities or NaN, where PyTorch raises.
Tensor inverse_of(Lower& l, Tensor A, const Factors& f) {
  const Dims s = l.type(f.lu).dims;
  Value from = l.hlo.broadcast_in_dim(f.permutation, s, {0, 1});  // the identity's rows, permuted
  Value rows = l.convert(l.hlo.compare(from, l.hlo.iota({DType::Int64, s}, 2), ComparisonDirection::Eq), A.dtype());
  return make_shaped(l, solve_permuted(l, f, rows), A.shape());
}

Tensor linalg_inv(Lower& l, Tensor A) {
  if (!expect_matrices(l, A, true)) return {};
  auto f = factor(l, A);
  return f ? inverse_of(l, A, *f) : Tensor();
}

// info counts the column where a matrix was found to be singular: zero where it was not.
Value singular_column(Lower& l, const Factors& f) {
  Value d = diagonal_of(l, f.lu);
  if (!d.has_value()) return {};
  const Dims s = l.type(d).dims;  // [batch, columns]
  Value number = l.hlo.iota({DType::Int32, s}, 1);
  Value zero = l.hlo.compare(d, l.full_like(d, 0), ComparisonDirection::Eq);
  Value counted =
      l.hlo.select(zero, l.hlo.add(number, l.full_like(number, 1)), l.full_like(number, l.highest(DType::Int32)));
  Value first = l.hlo.reduce(counted, {1}, Reducer::Minimum);
  Value none = l.hlo.compare(first, l.full_like(first, l.highest(DType::Int32)), ComparisonDirection::Eq);
  return l.hlo.select(none, l.full_like(first, 0), first);
}

std::tuple<Tensor, Tensor> linalg_inv_ex(Lower& l, Tensor A, bool) {
  if (!expect_matrices(l, A, true)) return {};
  auto f = factor(l, A);
  if (!f) return {};
  return {inverse_of(l, A, *f), make_shaped(l, singular_column(l, *f), f->batch)};
}

// X with A X = B, or X A = B. B is a vector where its shape is that of A without the last axis.
Tensor linalg_solve(Lower& l, Tensor A, Tensor B, bool left) {
  if (!expect_matrices(l, A, true) || B.is_poison()) return {};
  if (A.dtype() != B.dtype() || B.rank() == 0)
    return l.wrong("expected operands of one dtype, got " + describe(A) + " and " + describe(B));
  Dims row_shape(A.shape().begin(), A.shape().end() - 1);
  bool vector = B.rank() == 1 || (A.rank() - 1 == B.rank() && B.shape() == row_shape);
  Value b = l.read(B);
  if (vector) b = insert_axis(l, b, B.rank());
  Value a = l.read(A);
  if (!left) {
    a = transpose_last_two(l, a);
    b = transpose_last_two(l, b);
  }
  Tensor matrix = l.make(b);
  if (matrix.is_poison() || matrix.dim(-2) != A.dim(-1))
    return l.wrong("shapes of " + describe(A) + " and " + describe(B) + " do not fit");
  std::vector<Dims> batches{batch_of(A), batch_of(matrix)};
  auto batch = l.broadcast_shapes(batches);
  if (!batch) return {};
  Dim count = product(*batch);
  Dims result = with(*batch, {matrix.dim(-2), matrix.dim(-1)});
  if (product(result) == Dim(0)) {
    if (vector) result.pop_back();
    return l.make(l.full(result, A.dtype(), 0));
  }
  auto f = factor(l, l.make(l.broadcast_to(a, with(*batch, {A.dim(-2), A.dim(-1)}))));
  if (!f) return {};
  Value right = l.hlo.reshape(l.broadcast_to(b, with(*batch, {matrix.dim(-2), matrix.dim(-1)})),
                              {count, matrix.dim(-2), matrix.dim(-1)});
  Value x = l.hlo.reshape(solve_permuted(l, *f, permute_rows(l, right, f->permutation)),
                          with(*batch, {matrix.dim(-2), matrix.dim(-1)}));
  if (!x.has_value()) return {};
  if (!left) x = transpose_last_two(l, x);
  return l.make(vector ? drop_axis(l, x, static_cast<int64_t>(l.type(x).rank()) - 1) : x);
}

std::tuple<Tensor, Tensor> linalg_solve_ex(Lower& l, Tensor A, Tensor B, bool left, bool) {
  Tensor x = linalg_solve(l, A, B, left);
  if (x.is_poison()) return {};
  auto f = factor(l, A);
  if (!f) return {};
  return {x, make_shaped(l, singular_column(l, *f), f->batch)};
}

// (L and U in one, pivots, the first column whose pivot is zero)
std::tuple<Tensor, Tensor, Tensor> linalg_lu_factor_ex(Lower& l, Tensor A, bool pivot, bool) {
  if (!expect_matrices(l, A, false)) return {};
  if (!pivot) return l.unsupported("pivot", "False", "factor with pivots");
  auto f = factor(l, A);
  if (!f) return {};
  return {make_shaped(l, f->lu, A.shape()),
          make_shaped(l, l.convert(f->pivots, DType::Int32), with(f->batch, {min(A.dim(-2), A.dim(-1))})),
          make_shaped(l, singular_column(l, *f), f->batch)};
}
std::tuple<Tensor, Tensor> linalg_lu_factor(Lower& l, Tensor A, bool pivot) {
  auto [lu, pivots, info] = linalg_lu_factor_ex(l, A, pivot, false);
  return {lu, pivots};
}

// Zero outside of one triangle; ones on the diagonal of L.
Value triangle_of(Lower& l, Value lu, bool lower) {
  const Dims s = l.type(lu).dims;
  Value row = l.hlo.iota({DType::Int64, s}, 1), column = l.hlo.iota({DType::Int64, s}, 2);
  Value inside = l.hlo.compare(row, column, lower ? ComparisonDirection::Gt : ComparisonDirection::Le);
  Value part = l.hlo.select(inside, lu, l.full_like(lu, 0));
  return lower ? l.hlo.select(l.hlo.compare(row, column, ComparisonDirection::Eq), l.full_like(lu, 1), part) : part;
}

// P with A = P L U, from the rows [batch, m] of A that those of L U come from.
Value permutation_matrix(Lower& l, Value permutation, DType dtype) {
  if (!permutation.has_value()) return {};
  const Dims s = l.type(permutation).dims;
  Dims square{s[0], s[1], s[1]};
  Value row = l.hlo.iota({DType::Int64, square}, 1);
  Value from = l.hlo.broadcast_in_dim(permutation, square, {0, 2});
  return l.convert(l.hlo.compare(row, from, ComparisonDirection::Eq), dtype);
}

// (P, L, U) with A = P L U.
std::tuple<Tensor, Tensor, Tensor> linalg_lu(Lower& l, Tensor A, bool pivot) {
  if (!expect_matrices(l, A, false)) return {};
  if (!pivot) return l.unsupported("pivot", "False", "factor with pivots");
  auto f = factor(l, A);
  if (!f) return {};
  Dim count = product(f->batch), m = A.dim(-2), n = A.dim(-1), k = min(m, n);
  Value lower = slice_axis(l, triangle_of(l, f->lu, true), 2, 0, k);
  Value upper = slice_axis(l, triangle_of(l, f->lu, false), 1, 0, k);
  return {make_shaped(l, permutation_matrix(l, f->permutation, A.dtype()), with(f->batch, {m, m})),
          make_shaped(l, lower, with(f->batch, {m, k})), make_shaped(l, upper, with(f->batch, {k, n}))};
}

// ---- solving with factors that are given

// The factors of linalg_lu_factor: pivots [..., k] count from one.
bool expect_factors(Lower& l, Tensor LU, Tensor pivots) {
  if (!expect_matrices(l, LU, false) || pivots.is_poison()) return false;
  if (pivots.dtype() == DType::Int32 && pivots.rank() == LU.rank() - 1 &&
      pivots.dim(-1) == min(LU.dim(-2), LU.dim(-1)) &&
      Dims(pivots.shape().begin(), pivots.shape().end() - 1) == batch_of(LU))
    return true;
  l.wrong("expected int32 pivots for " + describe(LU) + ", got " + describe(pivots));
  return false;
}

// The row that each row comes from, [batch, rows], after the exchanges of pivots [batch, k].
Value permutation_of(Lower& l, Value pivots, const Dim& rows) {
  if (!pivots.has_value()) return {};
  const Dims s = l.type(pivots).dims;
  Value order = l.hlo.iota({DType::Int64, {s[0], rows}}, 1);
  if (product(s) == Dim(0)) return order;
  auto more = [&](std::span<const Value> v) { return l.hlo.compare(v[0], number(l, s[1]), ComparisonDirection::Lt); };
  auto step = [&](std::span<const Value> v) -> Values {
    Value pivot = l.hlo.reshape(l.hlo.dynamic_slice(pivots, {number(l, 0), v[0]}, {s[0], Dim(1)}), {s[0]});
    return {l.hlo.add(v[0], number(l, 1)), exchange(l, v[1], v[0], l.hlo.subtract(pivot, l.full_like(pivot, 1)))};
  };
  return l.hlo.while_({number(l, 0), order}, more, step)[1];
}

// X with A X = B, or A^H X = B, where A = P L U; all of one batch [batch, n, ...].
Value solve_factored(Lower& l, Value lu, Value permutation, Value b, bool of_adjoint) {
  if (!of_adjoint) return solve_permuted(l, {lu, permutation, {}, {}}, permute_rows(l, b, permutation));
  using stablehlo::TransposeA;
  TransposeA how = is_complex(l.type(lu).dtype) ? TransposeA::Adjoint : TransposeA::Transpose;
  Value half =
      l.hlo.triangular_solve(lu, b, {.left_side = true, .lower = false, .unit_diagonal = false, .transpose_a = how});
  Value rows =
      l.hlo.triangular_solve(lu, half, {.left_side = true, .lower = true, .unit_diagonal = true, .transpose_a = how});
  return permute_rows(l, rows, inverse_order(l, permutation));
}

Tensor linalg_lu_solve(Lower& l, Tensor LU, Tensor pivots, Tensor B, bool left, bool of_adjoint) {
  if (!expect_factors(l, LU, pivots) || !expect_matrices(l, B, false)) return {};
  if (LU.dim(-1) != LU.dim(-2) || LU.dtype() != B.dtype() || B.dim(left ? -2 : -1) != LU.dim(-1))
    return l.wrong("shapes or dtypes of " + describe(LU) + " and " + describe(B) + " do not fit");
  std::vector<Dims> batches{batch_of(LU), batch_of(B)};
  auto batch = l.broadcast_shapes(batches);
  if (!batch) return {};
  Dims shape = with(*batch, {B.dim(-2), B.dim(-1)});
  if (product(shape) == Dim(0)) return make_columns(l, l.full(shape, B.dtype(), 0), shape);
  auto spread = [&](Tensor t, int64_t own) {
    Dims tail(t.shape().end() - own, t.shape().end()), whole = *batch, flat{product(*batch)};
    whole.insert(whole.end(), tail.begin(), tail.end());
    flat.insert(flat.end(), tail.begin(), tail.end());
    return l.hlo.reshape(l.broadcast_to(l.read(t), whole), flat);
  };
  Value order = permutation_of(l, l.convert(spread(pivots, 1), DType::Int64), LU.dim(-2));
  Value b = spread(B, 2);
  if (!left) {  // X A = B is A^H X^H = B^H
    b = adjoint(l, b);
    of_adjoint = !of_adjoint;
  }
  Value x = solve_factored(l, spread(LU, 2), order, b, of_adjoint);
  return make_columns(l, left ? x : adjoint(l, x), shape);
}
Tensor lu_solve(Lower& l, Tensor self, Tensor LU_data, Tensor LU_pivots) {
  return linalg_lu_solve(l, LU_data, LU_pivots, self, true, false);
}

// (P, L, U): what is not asked for is empty.
std::tuple<Tensor, Tensor, Tensor> lu_unpack(Lower& l, Tensor LU_data, Tensor LU_pivots, bool unpack_data,
                                             bool unpack_pivots) {
  if (!expect_factors(l, LU_data, LU_pivots)) return {};
  Dims batch = batch_of(LU_data);
  Dim m = LU_data.dim(-2), n = LU_data.dim(-1), k = min(m, n), count = product(batch);
  Tensor none = l.make(l.full({Dim(0)}, LU_data.dtype(), 0));
  Tensor p = none, lower = l.make(l.read(none)), upper = l.make(l.read(none));
  if (unpack_data) {
    Value lu = as_batch(l, LU_data);
    lower = make_shaped(l, slice_axis(l, triangle_of(l, lu, true), 2, 0, k), with(batch, {m, k}));
    upper = make_shaped(l, slice_axis(l, triangle_of(l, lu, false), 1, 0, k), with(batch, {k, n}));
  }
  if (unpack_pivots) {
    Value pivots = l.hlo.reshape(l.read(LU_pivots, DType::Int64), {count, k});
    p = make_shaped(l, permutation_matrix(l, permutation_of(l, pivots, m), LU_data.dtype()), with(batch, {m, m}));
  }
  return {p, lower, upper};
}

// ---- tensors of more axes as matrices

// self with its first `ind` axes as rows, inverted.
Tensor linalg_tensorinv(Lower& l, Tensor self, int64_t ind) {
  if (self.is_poison()) return {};
  if (ind <= 0 || ind > self.rank()) return l.wrong("expected ind of 1 or more axes, got " + std::to_string(ind));
  Dims rows(self.shape().begin(), self.shape().begin() + ind), columns(self.shape().begin() + ind, self.shape().end());
  Tensor matrix = make_shaped(l, l.read(self), {product(rows), product(columns)});
  Dims shape = columns;
  shape.insert(shape.end(), rows.begin(), rows.end());
  Tensor inverted = linalg_inv(l, matrix);
  return inverted.is_poison() ? inverted : make_shaped(l, l.read(inverted), shape);
}

// X with tensordot(self, X) = other; the axes `dims` of self are moved to its end before.
Tensor linalg_tensorsolve(Lower& l, Tensor self, Tensor other, Optional<std::vector<int64_t>> dims) {
  if (self.is_poison() || other.is_poison()) return {};
  std::vector<int64_t> moved;
  for (int64_t axis : dims.value_or(std::vector<int64_t>())) {
    auto place = l.axis(axis, self.rank());
    if (!place) return {};
    moved.push_back(*place);
  }
  Ints order;
  for (int64_t i = 0; i < self.rank(); ++i)
    if (std::find(moved.begin(), moved.end(), i) == moved.end()) order.push_back(i);
  order.insert(order.end(), moved.begin(), moved.end());
  Value v = l.hlo.transpose(l.read(self), order);
  if (!v.has_value() || other.rank() > self.rank()) return l.wrong("expected at most the axes of self");
  const Dims s = l.type(v).dims;
  Dims shape(s.begin() + other.rank(), s.end());
  Tensor matrix = make_shaped(l, v, {other.numel(), product(shape)});
  Tensor x = linalg_solve(l, matrix, make_shaped(l, l.read(other), {other.numel()}), true);
  return x.is_poison() ? x : make_shaped(l, l.read(x), shape);
}

}  // namespace

Tensor inverse(Lower& l, Tensor self) { return linalg_inv(l, self); }

std::span<const Row> lu_ops() {
  static constexpr auto kFloat32 = lower::AutocastRule::Float32;
  static constexpr Row rows[] = {
      op<linalg_lu_factor_ex>("_lu_with_info", kFloat32),
      op<linalg_det>("det"),
      op<linalg_inv>("inverse", kFloat32),
      op<linalg_det>("linalg_det"),
      op<linalg_inv>("linalg_inv", kFloat32),
      op<linalg_inv_ex>("linalg_inv_ex", kFloat32),
      op<linalg_lu>("linalg_lu"),
      op<linalg_lu_factor>("linalg_lu_factor"),
      op<linalg_lu_factor_ex>("linalg_lu_factor_ex"),
      op<linalg_lu_solve>("linalg_lu_solve"),
      op<linalg_slogdet>("linalg_slogdet"),
      op<linalg_solve>("linalg_solve", kFloat32),
      op<linalg_solve_ex>("linalg_solve_ex", kFloat32),
      op<linalg_tensorinv>("linalg_tensorinv", kFloat32),
      op<linalg_tensorsolve>("linalg_tensorsolve", kFloat32),
      op<logdet>("logdet"),
      op<lu_solve>("lu_solve", kFloat32),
      op<lu_unpack>("lu_unpack"),
      op<linalg_slogdet>("slogdet"),
  };
  return rows;
}

}  // namespace torchlift::aten
