// Eigenvalues, singular values, and what is made of them: pseudo-inverses, ranks, condition numbers, norms.
#include <cmath>
#include <limits>

#include "aten/axes.hpp"
#include "aten/formula.hpp"
#include "aten/jacobi.hpp"
#include "aten/linear_algebra.hpp"
#include "aten/qr.hpp"

namespace torchlift::aten {
namespace {

// A tensor without elements that stands where a result is not asked for.
Tensor nothing(Lower& l, DType dtype) { return l.make(l.full({Dim(0)}, dtype, 0)); }

// ---- eigenvalues of Hermitian matrices

// The Hermitian matrix of which one triangle is given, [batch, n, n].
Value hermitian_of(Lower& l, Tensor A, bool lower) {
  Formula part{l, keep_triangle(l, as_batch(l, A), lower)};
  Formula both = part + part.with(adjoint(l, part));
  Formula diagonal = part.with(identity_matrix(l, DType::Bool, l.type(part).dims));
  return select(diagonal, as_dtype(real_part(part), part.dtype()), both);
}

std::optional<Eigen> eigen_of(Lower& l, Tensor A, const std::string& uplo) {
  if (!expect_matrices(l, A, true)) return std::nullopt;
  bool lower = uplo == "L" || uplo == "l";
  if (!lower && uplo != "U" && uplo != "u") {
    l.wrong("expected UPLO L or U, got " + uplo);
    return std::nullopt;
  }
  return hermitian_eigen(l, hermitian_of(l, A, lower));
}

Tensor values_of(Lower& l, Tensor A, Value values) { return make_shaped(l, values, with(batch_of(A), {A.dim(-1)})); }

// Eigenvectors are one of many: each is right but for its sign (phase), and within equal eigenvalues a basis of them.
std::tuple<Tensor, Tensor> linalg_eigh(Lower& l, Tensor A, std::string UPLO) {
  auto e = eigen_of(l, A, UPLO);
  if (!e) return {};
  return {values_of(l, A, e->values), make_columns(l, e->vectors, A.shape())};
}

Tensor linalg_eigvalsh(Lower& l, Tensor A, std::string UPLO) {
  auto e = eigen_of(l, A, UPLO);
  return e ? values_of(l, A, e->values) : Tensor();
}

std::tuple<Tensor, Tensor> linalg_eigh_ex(Lower& l, Tensor A, std::string UPLO, bool compute_v) {
  if (compute_v) return linalg_eigh(l, A, UPLO);
  return {linalg_eigvalsh(l, A, UPLO), nothing(l, A.dtype())};
}

// ---- singular values

// Orthonormal columns [batch, m, k] completed to `columns` of them; columns of zeros are replaced.
Value completed(Lower& l, Value u, bool complete) {
  if (!u.has_value()) return {};
  const Dims s = l.type(u).dims;
  if (s[2] == Dim(0) || s[0] == Dim(0)) {
    Dim width = complete ? s[1] : s[2];
    return identity_matrix(l, l.type(u).dtype, {s[0], s[1], width});
  }
  QrFactors f = qr_factors(l, u, complete);
  if (!f.q.has_value() || !f.r.has_value()) return {};
  // Householder's columns are those of u but for their phase, which is that of R's diagonal.
  Formula diagonal{l, diagonal_of(l, f.r)};
  Formula size = abs(diagonal);
  Formula none = eq(size, 0);
  Formula phase = select(none, 1, diagonal / as_dtype(select(none, 1, size), diagonal.dtype()));
  Value all = complete && s[2] < s[1] ? pad_axis(l, phase, 1, 0, s[1] - s[2], 1) : Value(phase);
  return l.hlo.multiply(f.q, l.hlo.broadcast_in_dim(all, l.type(f.q).dims, {0, 2}));
}

std::tuple<Tensor, Tensor, Tensor> linalg_svd(Lower& l, Tensor A, bool full_matrices, Ignored) {
  if (!expect_matrices(l, A, false)) return {};
  Dims batch = batch_of(A);
  Dim m = A.dim(-2), n = A.dim(-1), k = min(m, n);
  Singular s = singular_values(l, as_batch(l, A));
  if (!s.u.has_value() || !s.v.has_value()) return {};
  Value u = completed(l, s.u, full_matrices), v = completed(l, s.v, full_matrices);
  Dim rows = full_matrices ? m : k, columns = full_matrices ? n : k;
  return {make_columns(l, u, with(batch, {m, rows})), make_shaped(l, s.values, with(batch, {k})),
          make_shaped(l, adjoint(l, v), with(batch, {columns, n}))};
}

Tensor linalg_svdvals(Lower& l, Tensor A, Ignored) {
  if (!expect_matrices(l, A, false)) return {};
  return make_shaped(l, singular_values(l, as_batch(l, A)).values, with(batch_of(A), {min(A.dim(-2), A.dim(-1))}));
}

std::tuple<Tensor, Tensor, Tensor> linalg_svd_ex(Lower& l, Tensor A, bool full_matrices, bool compute_uv, Ignored) {
  if (compute_uv) return linalg_svd(l, A, full_matrices, {});
  return {nothing(l, A.dtype()), linalg_svdvals(l, A, {}), nothing(l, A.dtype())};
}

// (U, S, V), V not transposed; without vectors zeros stand in their place.
std::tuple<Tensor, Tensor, Tensor> svd(Lower& l, Tensor self, bool some, bool compute_uv) {
  if (!expect_matrices(l, self, false)) return {};
  if (!compute_uv) {
    auto zeros = [&](const Dim& n) { return l.make(l.full(with(batch_of(self), {n, n}), self.dtype(), 0)); };
    return {zeros(self.dim(-2)), linalg_svdvals(l, self, {}), zeros(self.dim(-1))};
  }
  auto [u, s, vh] = linalg_svd(l, self, !some, {});
  if (vh.is_poison()) return {};
  return {u, s, l.make(adjoint(l, l.read(vh)))};
}

// ---- what is small enough to count as zero

// max(atol, rtol * greatest) for each matrix, of the real dtype; atol and rtol have the batch's shape or broadcast to
// it.
struct Tolerance {
  Optional<Tensor> atol, rtol;
};

Tensor number_of(Lower& l, double x) { return l.wrap(Scalar(x)); }
Optional<Tensor> number_of(Lower& l, Optional<double> x) {
  return x ? Optional<Tensor>(number_of(l, *x)) : std::nullopt;
}

// The shape of a batch with the tolerances broadcast against it.
std::optional<Dims> batch_with(Lower& l, const Dims& batch, const Tolerance& t) {
  std::vector<Dims> shapes{batch};
  for (auto& tensor : {t.atol, t.rtol})
    if (tensor) shapes.push_back(tensor->shape());
  return l.broadcast_shapes(shapes);
}

// Which of `sizes` [..., k], all positive, are above the tolerance.
Value above(Lower& l, Tensor matrix, Tensor sizes, const Dims& batch, const Tolerance& t) {
  DType dtype = sizes.dtype();
  Dim k = sizes.dim(-1);
  Formula all{l, l.broadcast_to(l.read(sizes), with(batch, {k}))};
  Dim longest = max(matrix.dim(-2), matrix.dim(-1));
  Formula atol{l, t.atol ? l.read(*t.atol, dtype, batch) : l.full(batch, dtype, 0)};
  Formula usual = atol.like(epsilon(dtype)) * atol.with(l.full(batch, dtype, Scalar(longest)));
  Formula rtol = t.rtol ? atol.with(l.read(*t.rtol, dtype, batch)) : select(atol > 0, 0, usual);
  Formula greatest = atol.with(l.hlo.reduce(all, {static_cast<int64_t>(batch.size())}, Reducer::MaximumNan));
  Formula limit = max(atol, rtol * greatest);
  Ints kept;
  for (size_t i = 0; i < batch.size(); ++i) kept.push_back(static_cast<int64_t>(i));
  return all > limit.with(l.hlo.broadcast_in_dim(limit, with(batch, {k}), kept));
}

Tensor matrix_rank(Lower& l, Tensor self, bool hermitian, const Tolerance& t) {
  if (!expect_matrices(l, self, hermitian)) return {};
  Tensor sizes = hermitian ? linalg_eigvalsh(l, self, "L") : linalg_svdvals(l, self, {});
  if (sizes.is_poison()) return {};
  if (hermitian) sizes = l.unary(sizes, &stablehlo::Builder::abs);
  auto batch = batch_with(l, batch_of(self), t);
  if (!batch) return {};
  if (sizes.dim(-1) == Dim(0)) return l.make(l.full(*batch, DType::Int64, 0));
  Value counted = l.convert(above(l, self, sizes, *batch, t), DType::Int64);
  return l.make(l.hlo.reduce(counted, {static_cast<int64_t>(batch->size())}, Reducer::Add));
}

Tensor linalg_matrix_rank(Lower& l, Tensor self, double tol, bool hermitian) {
  return matrix_rank(l, self, hermitian, {number_of(l, tol), number_of(l, 0.0)});
}
Tensor linalg_matrix_rank_tensor(Lower& l, Tensor input, Tensor tol, bool hermitian) {
  return matrix_rank(l, input, hermitian, {tol, number_of(l, 0.0)});
}
Tensor linalg_matrix_rank_float_tolerances(Lower& l, Tensor self, Optional<double> atol, Optional<double> rtol,
                                           bool hermitian) {
  return matrix_rank(l, self, hermitian, {number_of(l, atol), number_of(l, rtol)});
}
Tensor linalg_matrix_rank_tolerances(Lower& l, Tensor input, Optional<Tensor> atol, Optional<Tensor> rtol,
                                     bool hermitian) {
  return matrix_rank(l, input, hermitian, {atol, rtol});
}

// V S^+ U^H, where S^+ inverts what is above the tolerance.
Tensor pinv(Lower& l, Tensor self, bool hermitian, const Tolerance& t) {
  if (!expect_matrices(l, self, hermitian)) return {};
  Dims shape = with(batch_of(self), {self.dim(-1), self.dim(-2)});
  if (self.is_empty()) return l.make(l.full(shape, self.dtype(), 0));
  Tensor left, values, right;  // left values right^H
  if (hermitian) {
    std::tie(values, left) = linalg_eigh(l, self, "L");
    right = left;
  } else {
    Tensor vh;
    std::tie(right, values, vh) = linalg_svd(l, self, false, {});
    if (!vh.is_poison()) left = l.make(adjoint(l, l.read(vh)));
  }
  if (left.is_poison() || values.is_poison() || right.is_poison()) return {};
  auto batch = batch_with(l, batch_of(self), t);
  if (!batch) return {};
  Dim k = values.dim(-1);
  Formula s{l, l.broadcast_to(l.read(values), with(*batch, {k}))};
  Tensor sizes = hermitian ? l.unary(values, &stablehlo::Builder::abs) : values;
  Formula used{l, above(l, self, sizes, *batch, t)};
  Formula inverse = as_dtype(select(used, s.like(1) / select(used, s, 1), 0), self.dtype());
  Ints places;
  for (int64_t i = 0; i < static_cast<int64_t>(batch->size()); ++i) places.push_back(i);
  places.push_back(static_cast<int64_t>(batch->size()) + 1);
  Dims of_left = with(*batch, {left.dim(-2), k});
  Formula scaled =
      Formula(l, l.broadcast_to(l.read(left), of_left)) * s.with(l.hlo.broadcast_in_dim(inverse, of_left, places));
  return matmul(l, l.make(scaled), l.make(adjoint(l, l.read(right))));
}

Tensor linalg_pinv(Lower& l, Tensor self, double rcond, bool hermitian) {
  return pinv(l, self, hermitian, {number_of(l, 0.0), number_of(l, rcond)});
}
Tensor linalg_pinv_tensor(Lower& l, Tensor self, Tensor rcond, bool hermitian) {
  return pinv(l, self, hermitian, {number_of(l, 0.0), rcond});
}
Tensor linalg_pinv_float_tolerances(Lower& l, Tensor self, Optional<double> atol, Optional<double> rtol,
                                    bool hermitian) {
  return pinv(l, self, hermitian, {number_of(l, atol), number_of(l, rtol)});
}
Tensor linalg_pinv_tolerances(Lower& l, Tensor self, Optional<Tensor> atol, Optional<Tensor> rtol, bool hermitian) {
  return pinv(l, self, hermitian, {atol, rtol});
}
Tensor pinverse(Lower& l, Tensor self, double rcond) { return linalg_pinv(l, self, rcond, false); }

// ---- condition numbers

// The norm of a matrix times that of its inverse; infinite where there is none.
template <typename Norm>
Tensor condition(Lower& l, Tensor self, Norm norm) {
  if (!expect_matrices(l, self, true)) return {};
  Tensor inverted = inverse(l, self);
  if (inverted.is_poison()) return {};
  Value v = l.read(inverted);
  Value finite = l.hlo.is_finite(is_complex(self.dtype()) ? l.hlo.abs(v) : v);
  Ints last{self.rank() - 2, self.rank() - 1};
  Value whole = l.hlo.reduce(finite, last, Reducer::And);
  Ints kept;
  for (int64_t i = 0; i + 2 < self.rank(); ++i) kept.push_back(i);
  Value mask = l.hlo.broadcast_in_dim(whole, self.shape(), kept);
  Value filled = l.hlo.select(mask, v, l.full_like(v, std::numeric_limits<double>::infinity()));
  return l.mul(norm(self), norm(l.make(filled)));
}

Tensor no_condition(Lower& l, Tensor self) { return l.make(l.full(batch_of(self), real_of(self.dtype()), 0)); }

Tensor linalg_cond(Lower& l, Tensor self, Optional<Scalar> p) {
  double order = p ? p->to_double() : 2;
  if (!expect_matrices(l, self, false)) return {};
  if (self.is_empty()) return no_condition(l, self);
  if (std::fabs(order) != 2)
    return condition(l, self, [&](Tensor t) { return linalg_matrix_norm(l, t, *p, {-2, -1}, false, {}); });
  Tensor s = linalg_svdvals(l, self, {});
  if (s.is_poison()) return {};
  Value all = l.read(s);
  int64_t axis = s.rank() - 1;
  Value greatest = drop_axis(l, slice_axis(l, all, axis, 0, 1), axis);
  Value least = drop_axis(l, slice_axis(l, all, axis, s.dim(-1) - Dim(1), s.dim(-1)), axis);
  return l.make(order > 0 ? l.hlo.divide(greatest, least) : l.hlo.divide(least, greatest));
}
Tensor linalg_cond_name(Lower& l, Tensor self, std::string p) {
  if (!expect_matrices(l, self, true)) return {};
  if (self.is_empty()) return no_condition(l, self);
  return condition(l, self, [&](Tensor t) { return linalg_matrix_norm_name(l, t, p, {-2, -1}, false, {}); });
}

Tensor nuclear_norm_dim(Lower& l, Tensor self, std::vector<int64_t> dim, bool keepdim) {
  return linalg_matrix_norm_name(l, self, "nuc", std::move(dim), keepdim, {});
}
Tensor nuclear_norm(Lower& l, Tensor self, bool keepdim) { return nuclear_norm_dim(l, self, {-2, -1}, keepdim); }

}  // namespace

Tensor singular_values_along(Lower& l, Tensor self, int64_t rows, int64_t columns) {
  if (self.is_poison()) return {};
  Ints order;
  for (int64_t i = 0; i < self.rank(); ++i)
    if (i != rows && i != columns) order.push_back(i);
  order.insert(order.end(), {rows, columns});
  return linalg_svdvals(l, l.make(l.hlo.transpose(l.read(self), order)), {});
}

std::span<const Row> decomposition_ops() {
  static constexpr auto kFloat32 = lower::AutocastRule::Float32;
  static constexpr Row rows[] = {
      op<linalg_eigh_ex>("_linalg_eigh"),
      op<linalg_svd_ex>("_linalg_svd"),
      op<linalg_cond>("linalg_cond", kFloat32),
      op<linalg_cond_name>("linalg_cond.p_str", kFloat32),
      op<linalg_eigh>("linalg_eigh", kFloat32),
      op<linalg_eigvalsh>("linalg_eigvalsh", kFloat32),
      op<linalg_matrix_rank>("linalg_matrix_rank", kFloat32),
      op<linalg_matrix_rank_float_tolerances>("linalg_matrix_rank.atol_rtol_float", kFloat32),
      op<linalg_matrix_rank_tolerances>("linalg_matrix_rank.atol_rtol_tensor", kFloat32),
      op<linalg_matrix_rank_tensor>("linalg_matrix_rank.tol_tensor", kFloat32),
      op<linalg_pinv>("linalg_pinv"),
      op<linalg_pinv_float_tolerances>("linalg_pinv.atol_rtol_float"),
      op<linalg_pinv_tolerances>("linalg_pinv.atol_rtol_tensor"),
      op<linalg_pinv_tensor>("linalg_pinv.rcond_tensor"),
      op<linalg_svd>("linalg_svd", kFloat32),
      op<linalg_svdvals>("linalg_svdvals", kFloat32),
      op<nuclear_norm>("nuclear_norm"),
      op<nuclear_norm_dim>("nuclear_norm.dim"),
      op<pinverse>("pinverse", kFloat32),
      op<svd>("svd", kFloat32),
  };
  return rows;
}

}  // namespace torchlift::aten
