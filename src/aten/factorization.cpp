// Factorizations and solvers that StableHLO has, powers, and matrix norms by reductions.
#include <array>
#include <cmath>

#include "aten/axes.hpp"
#include "aten/linear_algebra.hpp"
#include "aten/matrices.hpp"
#include "aten/reduction.hpp"

namespace torchlift::aten {
namespace {

// L with L @ L^H = self, or U with U^H @ U = self. Only that triangle of self is read.
Value cholesky_value(Lower& l, Tensor self, bool upper) {
  Value a = l.read(self);
  if (!upper) return keep_triangle(l, l.hlo.cholesky(a, true), true);
  Value lower_triangle = l.hlo.cholesky(adjoint(l, a), true);
  return adjoint(l, keep_triangle(l, lower_triangle, true));
}

// A matrix that is not positive definite gives NaN, where PyTorch raises.
Tensor linalg_cholesky(Lower& l, Tensor self, bool upper) {
  if (!expect_matrices(l, self, true)) return {};
  return l.make(cholesky_value(l, self, upper), column_major_strides(self.shape()));
}
Tensor cholesky(Lower& l, Tensor self, bool upper) { return linalg_cholesky(l, self, upper); }

// info is 0 where the factorization worked and 1 where it did not: the number of the failing minor is not known.
std::tuple<Tensor, Tensor> linalg_cholesky_ex(Lower& l, Tensor self, bool upper, bool) {
  Tensor factor = linalg_cholesky(l, self, upper);
  if (factor.is_poison()) return {};
  Value value = l.read(factor);
  Value part = is_complex(self.dtype()) ? l.hlo.real(value) : value;
  Ints matrix{self.rank() - 2, self.rank() - 1};
  Value failed = l.hlo.reduce(l.is_nan(part), matrix, Reducer::Or);
  return {factor, l.make(l.convert(failed, DType::Int32))};
}

struct Triangle {
  bool upper = true;
  bool left = true;
  bool unitriangular = false;
  stablehlo::TransposeA transpose = stablehlo::TransposeA::NoTranspose;
};

// X with A @ X = B (X @ A = B where left is false), batches broadcast.
Value solve_triangle(Lower& l, Tensor a, Tensor b, Triangle t) {
  std::vector<Dims> batches;
  for (Tensor m : {a, b}) batches.emplace_back(m.shape().begin(), m.shape().end() - 2);
  auto batch = l.broadcast_shapes(batches);
  if (!batch) return {};
  Dims of_a = *batch, of_b = *batch;
  of_a.insert(of_a.end(), {a.dim(-2), a.dim(-1)});
  of_b.insert(of_b.end(), {b.dim(-2), b.dim(-1)});
  Value triangle = l.broadcast_to(l.read(a), of_a);
  Value right = l.broadcast_to(l.read(b), of_b);
  return l.hlo.triangular_solve(
      triangle, right,
      {.left_side = t.left, .lower = !t.upper, .unit_diagonal = t.unitriangular, .transpose_a = t.transpose});
}

bool solvable(Lower& l, Tensor a, Tensor b) {
  if (b.is_poison() || !expect_matrices(l, a, true)) return false;
  if (b.rank() >= 2 && b.dtype() == a.dtype()) return true;
  l.wrong("expected matrices of one dtype, got " + describe(a) + " and " + describe(b));
  return false;
}

Tensor linalg_solve_triangular(Lower& l, Tensor self, Tensor B, bool upper, bool left, bool unitriangular) {
  if (!solvable(l, self, B)) return {};
  Value x = solve_triangle(l, self, B, {.upper = upper, .left = left, .unitriangular = unitriangular});
  if (!x.has_value()) return {};
  return l.make(x, column_major_strides(l.type(x).dims));
}

// The older form: also hands back A.
std::tuple<Tensor, Tensor> triangular_solve(Lower& l, Tensor self, Tensor A, bool upper, bool transpose,
                                            bool unitriangular) {
  if (!solvable(l, A, self)) return {};
  using stablehlo::TransposeA;
  Value x = solve_triangle(l, A, self,
                           {.upper = upper,
                            .unitriangular = unitriangular,
                            .transpose = transpose ? TransposeA::Transpose : TransposeA::NoTranspose});
  if (!x.has_value()) return {};
  Dims of_a = l.type(x).dims;
  of_a.back() = A.dim(-1);
  Value a = l.broadcast_to(l.read(A), of_a);
  return {l.make(x, column_major_strides(l.type(x).dims)), l.make(a, column_major_strides(of_a))};
}

// X with A @ X = self, from the Cholesky factor input2 of A.
Tensor cholesky_solve(Lower& l, Tensor self, Tensor input2, bool upper) {
  if (!solvable(l, input2, self)) return {};
  using stablehlo::TransposeA;
  TransposeA adjoint = is_complex(self.dtype()) ? TransposeA::Adjoint : TransposeA::Transpose;
  Triangle first{.upper = upper, .transpose = upper ? adjoint : TransposeA::NoTranspose};
  Triangle second{.upper = upper, .transpose = upper ? TransposeA::NoTranspose : adjoint};
  Value half = solve_triangle(l, input2, self, first);
  if (!half.has_value()) return {};
  Value x = solve_triangle(l, input2, l.make(half), second);
  if (!x.has_value()) return {};
  return l.make(x, column_major_strides(l.type(x).dims));
}

// The inverse of A from its Cholesky factor.
Tensor cholesky_inverse(Lower& l, Tensor self, bool upper) {
  if (!expect_matrices(l, self, true)) return {};
  return cholesky_solve(l, l.make(identity_matrix(l, self.dtype(), self.shape())), self, upper);
}

// self @ self @ ..., by repeated squaring; of the inverse if n is negative.
Tensor matrix_power(Lower& l, Tensor self, int64_t n) {
  if (self.is_poison()) return {};
  if (self.rank() < 2 || self.dim(-1) != self.dim(-2))
    return l.wrong("expected square matrices, got " + describe(self));
  if (n < 0) return n == INT64_MIN ? Tensor(l.wrong("n is out of range")) : matrix_power(l, inverse(l, self), -n);
  if (n == 0) return l.make(identity_matrix(l, self.dtype(), self.shape()));
  Tensor result, square = self;
  for (; n > 0; n >>= 1) {
    if (n & 1) result = result.is_poison() ? square : matmul(l, result, square);
    if (n > 1) square = matmul(l, square, square);
  }
  return result == self ? l.make(l.read(self)) : result;
}

// The series' error is below x^19 / 19!: with these bounds of the norm x, 2^-53 e^x in double precision and 2^-24 e^x
// in single. Of the bounds PyTorch takes (aten/src/ATen/native/LinearAlgebra.cpp) its greatest: fewer squarings, less
// error.
constexpr int64_t kTaylorTerms = 18;
constexpr double kTaylorNormDouble = 1.09, kTaylorNormSingle = 3.01;

// exp(A) = exp(A / 2^s)^(2^s): halved until no column's sum is above the bound, Taylor's series, then squared as often.
Tensor matrix_exp(Lower& l, Tensor self) {
  if (self.is_poison()) return {};
  if (self.rank() < 2 || self.dim(-1) != self.dim(-2) || !(is_float(self.dtype()) || is_complex(self.dtype())))
    return l.wrong("expected square matrices of floating-point or complex numbers, got " + describe(self));
  DType dtype = self.dtype();
  if (dtype == DType::Float16 || dtype == DType::BFloat16)  // PyTorch's results are NaN, or anything
    return l.unsupported("self", describe(self), "convert it to float32: PyTorch itself has no right result for it");
  if (self.is_empty()) return l.make(l.read(self));
  double bound = real_of(dtype) == DType::Float64 ? kTaylorNormDouble : kTaylorNormSingle;
  Value a = as_batch(l, self);
  const Dims s = l.type(a).dims, batch{s[0]};
  Value norms = l.hlo.reduce(l.hlo.reduce(l.hlo.abs(a), {1}, Reducer::Add), {1}, Reducer::MaximumNan);
  auto over = [&](Value v) { return l.hlo.broadcast_in_dim(v, s, {0}); };
  auto some = [&](Value mask) { return l.hlo.reduce(mask, {0}, Reducer::Or); };
  auto open = [&](Value norm) {
    Value large = l.hlo.compare(norm, l.full_like(norm, bound), ComparisonDirection::Gt);
    return l.hlo.and_(large, l.hlo.is_finite(norm));
  };
  Values halved = l.hlo.while_(
      {a, norms, l.full(batch, DType::Int64, 0)}, [&](std::span<const Value> v) { return some(open(v[1])); },
      [&](std::span<const Value> v) -> Values {
        Value active = open(v[1]);
        Value half = l.hlo.multiply(v[0], l.full_like(v[0], 0.5));
        return {l.hlo.select(over(active), half, v[0]), l.hlo.multiply(v[1], l.full_like(v[1], 0.5)),
                l.hlo.add(v[2], l.convert(active, DType::Int64))};
      });
  if (!halved[0].has_value()) return {};
  Value one = identity_matrix(l, dtype, s);
  Values series = l.hlo.while_(
      {number(l, kTaylorTerms), one},
      [&](std::span<const Value> v) { return l.hlo.compare(v[0], number(l, 0), ComparisonDirection::Gt); },
      [&](std::span<const Value> v) -> Values {
        Value divisor = l.hlo.broadcast_in_dim(l.convert(v[0], dtype), s, {});
        Value next = l.hlo.add(one, l.hlo.divide(batch_product(l, halved[0], v[1]), divisor));
        return {l.hlo.subtract(v[0], number(l, 1)), next};
      });
  auto left = [&](Value done) {
    return l.hlo.compare(halved[2], l.hlo.broadcast_in_dim(done, batch, {}), ComparisonDirection::Gt);
  };
  Values squared = l.hlo.while_(
      {number(l, 0), series[1]}, [&](std::span<const Value> v) { return some(left(v[0])); },
      [&](std::span<const Value> v) -> Values {
        Value square = batch_product(l, v[1], v[1]);
        return {l.hlo.add(v[0], number(l, 1)), l.hlo.select(over(left(v[0])), square, v[1])};
      });
  return make_shaped(l, squared[1], self.shape());
}

// ---- matrix norms

struct MatrixAxes {
  int64_t rows;
  int64_t columns;
};

std::optional<MatrixAxes> matrix_axes(Lower& l, Tensor self, const std::vector<int64_t>& dim) {
  if (dim.size() != 2 || self.rank() < 2) {
    l.wrong("expected two axes of an at least 2-D tensor, got " + std::to_string(dim.size()) + " of " + describe(self));
    return std::nullopt;
  }
  auto rows = l.axis(dim[0], self.rank()), columns = l.axis(dim[1], self.rank());
  if (!rows || !columns) return std::nullopt;
  if (*rows == *columns) {
    l.wrong("expected two different axes, got dim " + std::to_string(*rows) + " twice");
    return std::nullopt;
  }
  return MatrixAxes{*rows, *columns};
}

Value magnitude(Lower& l, Tensor self, Optional<DType> dtype) {
  return l.hlo.abs(l.read(self, lower::accumulate_type(dtype.value_or(self.dtype()))));
}

Value with_kept_axes(Lower& l, Value reduced, const Dims& shape, const MatrixAxes& axes, bool keepdim) {
  if (!keepdim) return reduced;
  Dims kept = shape;
  kept[static_cast<size_t>(axes.rows)] = kept[static_cast<size_t>(axes.columns)] = Dim(1);
  return l.hlo.reshape(reduced, kept);
}

bool expect_inexact(Lower& l, Tensor self, Optional<DType> dtype) {
  DType d = dtype.value_or(self.dtype());
  if (is_float(d) || is_complex(d)) return true;
  l.wrong("expected a floating-point or complex tensor, got " + describe(self));
  return false;
}

}  // namespace

// "fro": the root of the sum of squares. "nuc": the sum of the singular values.
Tensor linalg_matrix_norm_name(Lower& l, Tensor self, std::string ord, std::vector<int64_t> dim, bool keepdim,
                               Optional<DType> dtype) {
  if (self.is_poison() || !expect_inexact(l, self, dtype)) return {};
  if (ord != "fro" && ord != "nuc") return l.wrong("expected ord fro or nuc, got " + ord);
  auto axes = matrix_axes(l, self, dim);
  if (!axes) return {};
  DType result = real_of(dtype.value_or(self.dtype()));
  Value norm;
  if (ord == "fro") {
    Value a = magnitude(l, self, dtype);
    norm = l.hlo.sqrt(l.hlo.reduce(l.hlo.multiply(a, a), {axes->rows, axes->columns}, Reducer::Add));
  } else {
    Tensor s = singular_values_along(l, dtype ? l.to(self, *dtype) : self, axes->rows, axes->columns);
    norm = l.hlo.reduce(l.read(s), {s.rank() - 1}, Reducer::Add);
  }
  return l.make(l.convert(with_kept_axes(l, norm, self.shape(), *axes, keepdim), result));
}

// 1, -1: extremes of the sums of columns; inf, -inf: of rows; 2, -2: of the singular values.
Tensor linalg_matrix_norm(Lower& l, Tensor self, Scalar ord, std::vector<int64_t> dim, bool keepdim,
                          Optional<DType> dtype) {
  if (self.is_poison() || !expect_inexact(l, self, dtype)) return {};
  double order = ord.to_double(), size = std::fabs(order);
  if (size != 1 && size != 2 && !std::isinf(size))
    return l.wrong("expected ord 1, 2, inf or their negatives, got " + ord.text());
  auto axes = matrix_axes(l, self, dim);
  if (!axes) return {};
  Value sums;
  int64_t other = 0;
  if (size == 2) {
    Tensor s = singular_values_along(l, dtype ? l.to(self, *dtype) : self, axes->rows, axes->columns);
    sums = l.read(s);
    other = s.rank() - 1;
  } else {
    int64_t summed = size == 1 ? axes->rows : axes->columns;
    other = size == 1 ? axes->columns : axes->rows;
    if (other > summed) --other;
    sums = l.hlo.reduce(magnitude(l, self, dtype), {summed}, Reducer::Add);
  }
  Value norm = l.hlo.reduce(sums, {other}, order > 0 ? Reducer::MaximumNan : Reducer::MinimumNan);
  norm = with_kept_axes(l, norm, self.shape(), *axes, keepdim);
  return l.make(l.convert(norm, real_of(dtype.value_or(self.dtype()))));
}

namespace {

// A matrix norm over two axes if ord is given, else a vector norm over the axes.
Tensor linalg_norm(Lower& l, Tensor self, Optional<Scalar> ord, Optional<std::vector<int64_t>> dim, bool keepdim,
                   Optional<DType> dtype) {
  if (self.is_poison()) return {};
  if (ord && !dim && self.rank() > 2)
    return l.wrong("expected at most 2-D with ord and without dim, got " + describe(self));
  bool matrix = ord && (dim ? dim->size() == 2 : self.rank() == 2);
  if (matrix) return linalg_matrix_norm(l, self, *ord, dim.value_or(std::vector<int64_t>{0, 1}), keepdim, dtype);
  return linalg_vector_norm(l, self, ord.value_or(Scalar(2)), dim, keepdim, dtype);
}
Tensor linalg_norm_name(Lower& l, Tensor self, std::string ord, Optional<std::vector<int64_t>> dim, bool keepdim,
                        Optional<DType> dtype) {
  return linalg_matrix_norm_name(l, self, ord, dim.value_or(std::vector<int64_t>{0, 1}), keepdim, dtype);
}

}  // namespace

std::span<const Row> factorization_ops() {
  static constexpr auto kFloat32 = lower::AutocastRule::Float32;
  static constexpr Row rows[] = {
      op<cholesky>("cholesky", kFloat32),
      op<cholesky_inverse>("cholesky_inverse", kFloat32),
      op<cholesky_solve>("cholesky_solve", kFloat32),
      op<linalg_cholesky>("linalg_cholesky", kFloat32),
      op<linalg_cholesky_ex>("linalg_cholesky_ex", kFloat32),
      op<matrix_exp>("linalg_matrix_exp"),
      op<linalg_matrix_norm>("linalg_matrix_norm"),
      op<linalg_matrix_norm_name>("linalg_matrix_norm.str_ord"),
      op<matrix_power>("linalg_matrix_power"),
      op<linalg_norm>("linalg_norm"),
      op<linalg_norm_name>("linalg_norm.ord_str"),
      op<linalg_solve_triangular>("linalg_solve_triangular"),
      op<matrix_exp>("matrix_exp"),
      op<matrix_power>("matrix_power"),
      op<triangular_solve>("triangular_solve", kFloat32),
  };
  return rows;
}

}  // namespace torchlift::aten
