// LU factorization with partial pivoting, and what follows from it: solving, inverses, determinants. StableHLO has no
// such operation: it is one while over the columns, over all matrices of a batch at once.
#include <algorithm>
#include <array>
#include <limits>

#include "aten/axes.hpp"
#include "aten/linear_algebra.hpp"

namespace torchlift::aten {
namespace {

// A batch of matrices [batch, m, n] with P A = L U.
struct Factors {
  Value lu;           // L below the diagonal, which is one, and U
  Value permutation;  // [batch, m]: the row of A that each row comes from
  Value pivots;       // [batch, min(m, n)]: the row exchanged in each step, counted from one
  Dims batch;         // before it was made one axis
};

bool expect_matrices(Lower& l, Tensor a, bool square) {
  if (a.is_poison()) return false;
  DType d = a.dtype();
  bool lapack = d == DType::Float32 || d == DType::Float64 || d == DType::Complex64 || d == DType::Complex128;
  if (lapack && a.rank() >= 2 && (!square || a.dim(-1) == a.dim(-2))) return true;
  l.wrong(std::string("expected ") + (square ? "square " : "") + "matrices of single or double precision, got " +
          describe(a));
  return false;
}

Dims batch_of(Tensor t) { return Dims(t.shape().begin(), t.shape().end() - 2); }

Dims with(Dims dims, std::initializer_list<Dim> more) {
  dims.insert(dims.end(), more);
  return dims;
}

Value number(Lower& l, const Dim& n) { return l.constant(DType::Int64, Scalar(n)); }

// LAPACK's measure of a pivot: of complex numbers the sum of both parts' sizes.
Value pivot_size(Lower& l, Value v) {
  if (!v.has_value() || !is_complex(l.type(v).dtype)) return l.hlo.abs(v);
  return l.hlo.add(l.hlo.abs(l.hlo.real(v)), l.hlo.abs(l.hlo.imag(v)));
}

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

// Rows of each matrix [batch, m, k] in the order of [batch, m].
Value permute_rows(Lower& l, Value v, Value order) {
  const Dims s = l.type(v).dims;
  Dims grid{s[0], s[1]}, column{s[0], s[1], Dim(1)};
  Value index =
      l.hlo.concatenate({l.hlo.reshape(l.hlo.iota({DType::Int64, grid}, 0), column), l.hlo.reshape(order, column)}, 2);
  stablehlo::Gather g{};
  g.offset_dims = {2};
  g.collapsed_slice_dims = g.start_index_map = {0, 1};
  g.index_vector_dim = 2;
  g.slice_sizes = {Dim(1), Dim(1), s[2]};
  return l.hlo.gather(v, index, std::move(g));
}

// X with A X = B, of [batch, n, k], from the permuted rows of B.
Value solve_permuted(Lower& l, const Factors& f, Value b) {
  Value half = l.hlo.triangular_solve(f.lu, b, {.left_side = true, .lower = true, .unit_diagonal = true});
  return l.hlo.triangular_solve(f.lu, half, {.left_side = true, .lower = false, .unit_diagonal = false});
}

Value diagonal(Lower& l, const Factors& f) {
  const Dims s = l.type(f.lu).dims;
  Dim n = min(s[1], s[2]);
  if (n == Dim(0)) return l.full({s[0], Dim(0)}, l.type(f.lu).dtype, 0);
  Value flat = l.hlo.reshape(f.lu, {s[0], s[1] * s[2]});
  return slice_axis(l, flat, 1, 0, (n - Dim(1)) * (s[2] + Dim(1)) + Dim(1), l.pin(s[2]) + 1);
}

// 1 or -1 for each matrix: the sign of the permutation.
Value sign_of(Lower& l, const Factors& f, DType dtype) {
  const Dims s = l.type(f.pivots).dims;
  Value at = l.hlo.iota({DType::Int64, s}, 1);
  Value moved = l.hlo.compare(f.pivots, l.hlo.add(at, l.full_like(at, 1)), ComparisonDirection::Ne);
  Value one = l.full(s, dtype, 1);
  return l.hlo.reduce(l.hlo.select(moved, l.hlo.negate(one), one), {1}, Reducer::Multiply);
}

Tensor make_shaped(Lower& l, Value v, Dims shape) { return l.make(l.hlo.reshape(v, std::move(shape))); }

// ---- the operators

// The product of the diagonal of U, with the sign of the permutation.
Tensor linalg_det(Lower& l, Tensor A) {
  if (!expect_matrices(l, A, true)) return {};
  auto f = factor(l, A);
  if (!f) return {};
  Value det = l.hlo.multiply(l.hlo.reduce(diagonal(l, *f), {1}, Reducer::Multiply), sign_of(l, *f, A.dtype()));
  return make_shaped(l, det, f->batch);
}

// (sign, logarithm of the size) of the determinant.
std::tuple<Tensor, Tensor> linalg_slogdet(Lower& l, Tensor A) {
  if (!expect_matrices(l, A, true)) return {};
  auto f = factor(l, A);
  if (!f) return {};
  Value d = diagonal(l, *f);
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
  Value d = diagonal(l, f);
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
  auto swap = [&](Value v) {
    Ints order;
    for (int64_t i = 0; i < static_cast<int64_t>(l.type(v).rank()); ++i) order.push_back(i);
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    return l.hlo.transpose(v, order);
  };
  Value a = l.read(A);
  if (!left) {
    a = swap(a);
    b = swap(b);
  }
  Tensor matrix = l.make(b);
  if (matrix.is_poison() || matrix.dim(-2) != A.dim(-1))
    return l.wrong("shapes of " + describe(A) + " and " + describe(B) + " do not fit");
  std::vector<Dims> batches{batch_of(A), batch_of(matrix)};
  auto batch = l.broadcast_shapes(batches);
  if (!batch) return {};
  Dim count = product(*batch);
  auto f = factor(l, l.make(l.broadcast_to(a, with(*batch, {A.dim(-2), A.dim(-1)}))));
  if (!f) return {};
  Value right = l.hlo.reshape(l.broadcast_to(b, with(*batch, {matrix.dim(-2), matrix.dim(-1)})),
                              {count, matrix.dim(-2), matrix.dim(-1)});
  Value x = l.hlo.reshape(solve_permuted(l, *f, permute_rows(l, right, f->permutation)),
                          with(*batch, {matrix.dim(-2), matrix.dim(-1)}));
  if (!x.has_value()) return {};
  if (!left) x = swap(x);
  return l.make(vector ? drop_axis(l, x, static_cast<int64_t>(l.type(x).rank()) - 1) : x);
}

std::tuple<Tensor, Tensor> linalg_solve_ex(Lower& l, Tensor A, Tensor B, bool left, bool) {
  Tensor x = linalg_solve(l, A, B, left);
  if (x.is_poison()) return {};
  auto f = factor(l, A);
  if (!f) return {};
  return {x, make_shaped(l, singular_column(l, *f), f->batch)};
}

// (L and U in one, pivots)
std::tuple<Tensor, Tensor> linalg_lu_factor(Lower& l, Tensor A, bool pivot) {
  if (!expect_matrices(l, A, false)) return {};
  if (!pivot) return l.unsupported("pivot", "False", "factor with pivots");
  auto f = factor(l, A);
  if (!f) return {};
  return {make_shaped(l, f->lu, A.shape()),
          make_shaped(l, l.convert(f->pivots, DType::Int32), with(f->batch, {min(A.dim(-2), A.dim(-1))}))};
}

std::tuple<Tensor, Tensor, Tensor> linalg_lu_factor_ex(Lower& l, Tensor A, bool pivot, bool) {
  auto [lu, pivots] = linalg_lu_factor(l, A, pivot);
  if (lu.is_poison()) return {};
  auto f = factor(l, A);
  if (!f) return {};
  return {lu, pivots, make_shaped(l, singular_column(l, *f), f->batch)};
}

// Zero outside of one triangle; ones on the diagonal of L.
Value triangle_of(Lower& l, Value lu, bool lower) {
  const Dims s = l.type(lu).dims;
  Value row = l.hlo.iota({DType::Int64, s}, 1), column = l.hlo.iota({DType::Int64, s}, 2);
  Value inside = l.hlo.compare(row, column, lower ? ComparisonDirection::Gt : ComparisonDirection::Le);
  Value part = l.hlo.select(inside, lu, l.full_like(lu, 0));
  return lower ? l.hlo.select(l.hlo.compare(row, column, ComparisonDirection::Eq), l.full_like(lu, 1), part) : part;
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
  Dims square{count, m, m};
  Value row = l.hlo.iota({DType::Int64, square}, 1);
  Value from = l.hlo.broadcast_in_dim(f->permutation, square, {0, 2});  // row `from` of A went to this column's row
  Value p = l.convert(l.hlo.compare(row, from, ComparisonDirection::Eq), A.dtype());
  return {make_shaped(l, p, with(f->batch, {m, m})), make_shaped(l, lower, with(f->batch, {m, k})),
          make_shaped(l, upper, with(f->batch, {k, n}))};
}

}  // namespace

Tensor inverse(Lower& l, Tensor self) { return linalg_inv(l, self); }

std::span<const Row> lu_ops() {
  static constexpr auto kFloat32 = lower::AutocastRule::Float32;
  static constexpr Row rows[] = {
      op<linalg_det>("det"),
      op<linalg_inv>("inverse", kFloat32),
      op<linalg_det>("linalg_det"),
      op<linalg_inv>("linalg_inv", kFloat32),
      op<linalg_inv_ex>("linalg_inv_ex", kFloat32),
      op<linalg_lu>("linalg_lu"),
      op<linalg_lu_factor>("linalg_lu_factor"),
      op<linalg_lu_factor_ex>("linalg_lu_factor_ex"),
      op<linalg_slogdet>("linalg_slogdet"),
      op<linalg_solve>("linalg_solve", kFloat32),
      op<linalg_solve_ex>("linalg_solve_ex", kFloat32),
      op<logdet>("logdet"),
      op<linalg_slogdet>("slogdet"),
  };
  return rows;
}

}  // namespace torchlift::aten
