// Products of vectors and matrices: PyTorch's "BLAS and LAPACK Operations".
#include "aten/linear_algebra.hpp"

#include <algorithm>
#include <vector>

#include "aten/axes.hpp"
#include "aten/families.hpp"
#include "aten/pointwise.hpp"

namespace torchlift::aten {
namespace {

using stablehlo::DotGeneral;

DType dtype_of(Lower& l, Value v) { return l.type(v).dtype; }

bool same_dtype(Lower& l, Tensor a, Tensor b) {
  if (a.dtype() == b.dtype()) return true;
  l.wrong("expected operands of one dtype, got " + describe(a) + " and " + describe(b));
  return false;
}

// Vectors and matrices of these ranks, of one dtype; poison is refused in silence.
bool operands_fit(Lower& l, Tensor a, int64_t rank_a, Tensor b, int64_t rank_b) {
  if (a.is_poison() || b.is_poison()) return false;
  return l.expect_rank(a, rank_a, rank_a, "operand") && l.expect_rank(b, rank_b, rank_b, "operand") &&
         same_dtype(l, a, b);
}

// beta * self + alpha * product, in the product's wide dtype, rounded once. A beta of zero leaves self out, NaN
// included.
Tensor add_scaled(Lower& l, Tensor self, Value product, DType dtype, const Scalar& beta, const Scalar& alpha) {
  if (self.is_poison() || !product.has_value()) return {};
  if (!alpha.is_one()) product = l.hlo.multiply(product, l.full_like(product, alpha));
  if (!beta.is_zero()) {
    Value added = l.read(self, dtype_of(l, product), l.type(product).dims);
    if (!beta.is_one()) added = l.hlo.multiply(added, l.full_like(added, beta));
    product = l.hlo.add(added, product);
  }
  return l.make(l.convert(product, dtype));
}

DotGeneral matrix_product() {
  DotGeneral d{};
  d.lhs_contracting_dimensions = {1};
  d.rhs_contracting_dimensions = {0};
  return d;
}

DotGeneral batched_matrix_product() {
  DotGeneral d{};
  d.lhs_batching_dimensions = d.rhs_batching_dimensions = {0};
  d.lhs_contracting_dimensions = {2};
  d.rhs_contracting_dimensions = {1};
  return d;
}

// ---- matmul

Dims batch_of(const Tensor& t) { return Dims(t.shape().begin(), t.shape().end() - std::min<int64_t>(t.rank(), 2)); }

bool all_ones(const Dims& dims) {
  return std::all_of(dims.begin(), dims.end(), [](const Dim& d) { return d == Dim(1); });
}

// Both have batches: they are broadcast together and paired.
Value matmul_batched(Lower& l, Tensor self, Tensor other) {
  std::vector<Dims> batches{batch_of(self), batch_of(other)};
  auto batch = l.broadcast_shapes(batches);
  if (!batch) return {};
  Dims a = *batch, b = *batch;
  a.insert(a.end(), {self.dim(-2), self.dim(-1)});
  b.insert(b.end(), {other.dim(-2), other.dim(-1)});
  auto rank = static_cast<int64_t>(batch->size());
  DotGeneral d{};
  for (int64_t i = 0; i < rank; ++i) d.lhs_batching_dimensions.push_back(i);
  d.rhs_batching_dimensions = d.lhs_batching_dimensions;
  d.lhs_contracting_dimensions = {rank + 1};
  d.rhs_contracting_dimensions = {rank};
  return contract(l, l.broadcast_to(l.read(self), a), l.broadcast_to(l.read(other), b), std::move(d));
}

// A matrix or vector times a batch: the free axes of the batch come out behind the matrix's rows.
Value matmul_into_batch(Lower& l, Tensor self, Tensor other) {
  DotGeneral d{};
  d.lhs_contracting_dimensions = {self.rank() - 1};
  d.rhs_contracting_dimensions = {other.rank() - 2};
  Value product = contract(l, l.read(self), l.read(other), std::move(d));
  if (self.rank() == 1) return product;
  Ints order;
  for (int64_t i = 1; i < other.rank() - 1; ++i) order.push_back(i);
  order.push_back(0);
  order.push_back(other.rank() - 1);
  return l.hlo.transpose(product, std::move(order));
}

Value matmul_value(Lower& l, Tensor self, Tensor other) {
  if (other.rank() <= 2) {  // rows times a matrix or vector, whatever stands before the rows
    DotGeneral d{};
    d.lhs_contracting_dimensions = {self.rank() - 1};
    d.rhs_contracting_dimensions = {other.rank() == 1 ? 0 : other.rank() - 2};
    return contract(l, l.read(self), l.read(other), std::move(d));
  }
  if (self.rank() <= 2) return matmul_into_batch(l, self, other);
  return matmul_batched(l, self, other);
}

}  // namespace

Value contract(Lower& l, Value lhs, Value rhs, DotGeneral dimensions) {
  if (!lhs.has_value() || !rhs.has_value()) return {};
  DType dtype = dtype_of(l, lhs);
  if (is_bool(dtype)) return l.wrong("expected numbers, got a product of bool tensors");
  if (dtype == DType::Complex32) {
    lhs = l.convert(lhs, DType::Complex64);
    rhs = l.convert(rhs, DType::Complex64);
  }
  dimensions.precision = l.precision();
  return l.hlo.dot_general(lhs, rhs, std::move(dimensions), lower::accumulate_type(dtype));
}

Value contract_last(Lower& l, Value lhs, Value rhs) {
  if (!lhs.has_value() || !rhs.has_value()) return {};
  DotGeneral d{};
  d.lhs_contracting_dimensions = {static_cast<int64_t>(l.type(lhs).rank()) - 1};
  d.rhs_contracting_dimensions = {static_cast<int64_t>(l.type(rhs).rank()) - 1};
  return contract(l, lhs, rhs, std::move(d));
}

// The product over the last axis of self and the last but one of other; vectors stay vectors, batches broadcast.
Tensor matmul(Lower& l, Tensor self, Tensor other) {
  if (self.is_poison() || other.is_poison()) return {};
  if (self.rank() == 0 || other.rank() == 0)
    return l.wrong("expected at least 1-D operands, got " + describe(self) + " and " + describe(other));
  if (!same_dtype(l, self, other)) return {};
  DType dtype = self.dtype();
  // A batch of one is no batch.
  bool lone = other.rank() > 2 && all_ones(batch_of(other)) && other.rank() <= self.rank();
  if (!lone) return l.make(l.convert(matmul_value(l, self, other), dtype));
  Tensor matrix = l.make(l.hlo.reshape(l.read(other), {other.dim(-2), other.dim(-1)}));
  return l.make(l.convert(matmul_value(l, self, matrix), dtype));
}

namespace {

Tensor mm(Lower& l, Tensor self, Tensor mat2) {
  if (!operands_fit(l, self, 2, mat2, 2)) return {};
  return l.make(l.convert(contract(l, l.read(self), l.read(mat2), matrix_product()), self.dtype()));
}

Tensor mm_dtype(Lower& l, Tensor self, Tensor mat2, DType out_dtype) {
  if (!operands_fit(l, self, 2, mat2, 2)) return {};
  return l.make(l.convert(contract(l, l.read(self), l.read(mat2), matrix_product()), out_dtype));
}

Tensor bmm(Lower& l, Tensor self, Tensor mat2) {
  if (!operands_fit(l, self, 3, mat2, 3)) return {};
  return l.make(l.convert(contract(l, l.read(self), l.read(mat2), batched_matrix_product()), self.dtype()));
}

Tensor bmm_dtype(Lower& l, Tensor self, Tensor mat2, DType out_dtype) {
  if (!operands_fit(l, self, 3, mat2, 3)) return {};
  return l.make(l.convert(contract(l, l.read(self), l.read(mat2), batched_matrix_product()), out_dtype));
}

Tensor mv(Lower& l, Tensor self, Tensor vec) {
  if (!operands_fit(l, self, 2, vec, 1)) return {};
  return matmul(l, self, vec);
}

Tensor dot(Lower& l, Tensor self, Tensor tensor) {
  if (!operands_fit(l, self, 1, tensor, 1)) return {};
  return matmul(l, self, tensor);
}

// conj(self) . other
Tensor vdot(Lower& l, Tensor self, Tensor other) {
  if (!operands_fit(l, self, 1, other, 1)) return {};
  return matmul(l, l.make(conj(l, l.read(self))), other);
}

// Sums over the last axis of both; a 0-dim operand multiplies.
Tensor inner(Lower& l, Tensor self, Tensor other) {
  if (self.is_poison() || other.is_poison()) return {};
  if (self.rank() == 0 || other.rank() == 0) return mul(l, self, other);
  if (!same_dtype(l, self, other)) return {};
  return l.make(l.convert(contract_last(l, l.read(self), l.read(other)), self.dtype()));
}

// self[i] * vec2[j]; dtypes promote, as it is a multiplication.
Tensor outer(Lower& l, Tensor self, Tensor vec2) {
  if (self.is_poison() || vec2.is_poison()) return {};
  if (!l.expect_rank(self, 1, 1, "self") || !l.expect_rank(vec2, 1, 1, "vec2")) return {};
  DType dtype = lower::result_type(std::array{self, vec2});
  Dims shape{self.dim(0), vec2.dim(0)};
  Value a = l.hlo.broadcast_in_dim(l.read(self, dtype), shape, {0});
  Value b = l.hlo.broadcast_in_dim(l.read(vec2, dtype), shape, {1});
  return l.make(l.hlo.multiply(a, b));
}

}  // namespace

// beta * self + alpha * (mat1 @ mat2). PyTorch ignores self, NaN included, when beta is zero.
Tensor addmm(Lower& l, Tensor self, Tensor mat1, Tensor mat2, Scalar beta, Scalar alpha) {
  if (!operands_fit(l, mat1, 2, mat2, 2)) return {};
  Value product = contract(l, l.read(mat1), l.read(mat2), matrix_product());
  return add_scaled(l, self, product, mat1.dtype(), beta, alpha);
}

namespace {

Tensor addmm_dtype(Lower& l, Tensor self, Tensor mat1, Tensor mat2, DType out_dtype, Scalar beta, Scalar alpha) {
  if (!operands_fit(l, mat1, 2, mat2, 2)) return {};
  Value product = contract(l, l.read(mat1), l.read(mat2), matrix_product());
  return add_scaled(l, self, product, out_dtype, beta, alpha);
}

// beta * self + alpha * (mat @ vec)
Tensor addmv(Lower& l, Tensor self, Tensor mat, Tensor vec, Scalar beta, Scalar alpha) {
  if (!operands_fit(l, mat, 2, vec, 1)) return {};
  return add_scaled(l, self, contract(l, l.read(mat), l.read(vec), matrix_product()), mat.dtype(), beta, alpha);
}

// In half precision PyTorch adds one product after another, rounding each time.
Tensor addbmm_half(Lower& l, Tensor self, Tensor batch1, Tensor batch2, const Scalar& beta, const Scalar& alpha) {
  DType dtype = batch1.dtype();
  Value products = contract(l, l.read(batch1), l.read(batch2), batched_matrix_product());
  if (self.is_poison() || !products.has_value()) return {};
  if (!alpha.is_one()) products = l.hlo.multiply(products, l.full_like(products, alpha));
  Dims shape{batch1.dim(1), batch2.dim(2)};
  if (!beta.is_zero()) {
    Value first = l.read(self, dtype_of(l, products), shape);
    if (!beta.is_one()) first = l.hlo.multiply(first, l.full_like(first, beta));
    products = l.hlo.concatenate({insert_axis(l, first, 0), products}, 0);
  }
  return l.make(l.convert(sum_in_steps(l, products, 0, dtype), dtype));
}

// beta * self + alpha * sum over b of batch1[b] @ batch2[b]
Tensor addbmm(Lower& l, Tensor self, Tensor batch1, Tensor batch2, Scalar beta, Scalar alpha) {
  if (!operands_fit(l, batch1, 3, batch2, 3)) return {};
  if (is_half(batch1.dtype())) return addbmm_half(l, self, batch1, batch2, beta, alpha);
  DotGeneral d{};
  d.lhs_contracting_dimensions = {0, 2};
  d.rhs_contracting_dimensions = {0, 1};
  return add_scaled(l, self, contract(l, l.read(batch1), l.read(batch2), std::move(d)), batch1.dtype(), beta, alpha);
}

// beta * self + alpha * (batch1 @ batch2)
Tensor baddbmm(Lower& l, Tensor self, Tensor batch1, Tensor batch2, Scalar beta, Scalar alpha) {
  if (!operands_fit(l, batch1, 3, batch2, 3)) return {};
  Value product = contract(l, l.read(batch1), l.read(batch2), batched_matrix_product());
  return add_scaled(l, self, product, batch1.dtype(), beta, alpha);
}

Tensor baddbmm_dtype(Lower& l, Tensor self, Tensor batch1, Tensor batch2, DType out_dtype, Scalar beta, Scalar alpha) {
  if (!operands_fit(l, batch1, 3, batch2, 3)) return {};
  Value product = contract(l, l.read(batch1), l.read(batch2), batched_matrix_product());
  return add_scaled(l, self, product, out_dtype, beta, alpha);
}

// beta * self + alpha * outer(vec1, vec2); of bools: "or" and "and".
Tensor addr(Lower& l, Tensor self, Tensor vec1, Tensor vec2, Scalar beta, Scalar alpha) {
  Tensor product = outer(l, vec1, vec2);
  if (self.is_poison() || product.is_poison()) return {};
  DType dtype = lower::result_type(std::array{self, product});
  Value sum = l.read(product, dtype);
  if (!alpha.is_one()) sum = l.hlo.multiply(sum, l.full_like(sum, alpha));
  if (beta.is_zero()) return l.make(sum);
  Value added = l.read(self, dtype, product.shape());
  if (!beta.is_one()) added = l.hlo.multiply(added, l.full_like(added, beta));
  return l.make(l.hlo.add(added, sum));
}

}  // namespace

// input @ weight^T + bias, in one rounding.
Tensor linear(Lower& l, Tensor input, Tensor weight, Optional<Tensor> bias) {
  if (input.is_poison() || weight.is_poison()) return {};
  if (input.rank() == 0 || !l.expect_rank(weight, 1, 2, "weight") || !same_dtype(l, input, weight))
    return input.rank() == 0 ? Tensor(l.wrong("expected an input of at least 1-D, got " + describe(input))) : Tensor();
  Value product = contract_last(l, l.read(input), l.read(weight));
  if (bias && product.has_value())
    product = l.hlo.add(product, l.read(*bias, dtype_of(l, product), l.type(product).dims));
  return l.make(l.convert(product, input.dtype()));
}

namespace {

// sum over i, j of input1[..., i] * weight[k, i, j] * input2[..., j], plus bias
Tensor bilinear(Lower& l, Tensor input1, Tensor input2, Tensor weight, Optional<Tensor> bias) {
  if (input1.is_poison() || input2.is_poison() || weight.is_poison()) return {};
  if (!l.expect_rank(weight, 3, 3, "weight") || !same_dtype(l, input1, weight) || !same_dtype(l, input2, weight))
    return {};
  if (input1.rank() == 0 || input1.rank() != input2.rank())
    return l.wrong("expected inputs of one rank, got " + describe(input1) + " and " + describe(input2));
  int64_t batch = input1.rank() - 1;
  DotGeneral first{};
  first.lhs_contracting_dimensions = {batch};
  first.rhs_contracting_dimensions = {1};
  // [..., k, j], rounded as PyTorch keeps it
  Value half = rounded(l, contract(l, l.read(input1), l.read(weight), std::move(first)), input1.dtype());
  DotGeneral second{};
  for (int64_t i = 0; i < batch; ++i) second.lhs_batching_dimensions.push_back(i);
  second.rhs_batching_dimensions = second.lhs_batching_dimensions;
  second.lhs_contracting_dimensions = {batch + 1};
  second.rhs_contracting_dimensions = {batch};
  Value product = contract(l, half, l.read(input2, lower::accumulate_type(input2.dtype())), std::move(second));
  product = rounded(l, product, input1.dtype());
  if (bias && product.has_value())
    product = l.hlo.add(product, l.read(*bias, dtype_of(l, product), l.type(product).dims));
  return l.make(l.convert(product, input1.dtype()));
}

// Left to right; the ends may be vectors.
Tensor chain(Lower& l, const TensorList& tensors, size_t least) {
  if (tensors.size() < least) return l.wrong("expected " + std::to_string(least) + " tensors or more");
  Tensor product = tensors.front();
  for (size_t i = 1; i < tensors.size(); ++i) product = matmul(l, product, tensors[i]);
  return product;
}
Tensor chain_matmul(Lower& l, TensorList matrices) {
  for (const Tensor& t : matrices)
    if (!t.is_poison() && !l.expect_rank(t, 2, 2, "matrix")) return {};
  if (matrices.size() == 1) return l.make(l.read(matrices.front()));
  return chain(l, matrices, 1);
}
Tensor linalg_multi_dot(Lower& l, TensorList tensors) { return chain(l, tensors, 2); }

// sum of conj(x) * y over one axis
Tensor linalg_vecdot(Lower& l, Tensor x, Tensor y, int64_t dim) {
  if (x.is_poison() || y.is_poison() || !same_dtype(l, x, y)) return {};
  std::array operands{x, y};
  auto shape = l.broadcast_shapes(operands);
  if (!shape) return {};
  auto axis = l.axis(dim, static_cast<int64_t>(shape->size()));
  if (!axis || shape->empty())
    return l.wrong("expected at least 1-D operands, got " + describe(x) + " and " + describe(y));
  DotGeneral d{};
  for (int64_t i = 0; i < static_cast<int64_t>(shape->size()); ++i)
    if (i != *axis) d.lhs_batching_dimensions.push_back(i);
  d.rhs_batching_dimensions = d.lhs_batching_dimensions;
  d.lhs_contracting_dimensions = d.rhs_contracting_dimensions = {*axis};
  Value a = l.broadcast_to(conj(l, l.read(x)), *shape);
  return l.make(l.convert(contract(l, a, l.broadcast_to(l.read(y), *shape), std::move(d)), x.dtype()));
}

// gelu or relu of addmm
Tensor addmm_activation(Lower& l, Tensor self, Tensor mat1, Tensor mat2, Scalar beta, Scalar alpha, bool use_gelu) {
  if (use_gelu) return l.unsupported("use_gelu", "True", "call gelu of addmm instead");
  Tensor sum = addmm(l, self, mat1, mat2, beta, alpha);
  return map(l, sum, {}, [&](Value x) { return l.hlo.maximum(x, l.full_like(x, 0)); });
}

}  // namespace

std::span<const Row> product_ops() {
  static constexpr auto kLower = lower::AutocastRule::Lower;
  static constexpr Row rows[] = {
      op<addmm_activation>("_addmm_activation", kLower),
      op<addbmm>("addbmm", kLower),
      op<addmm>("addmm", kLower),
      op<addmm_dtype>("addmm.dtype", kLower),
      op<addmv>("addmv"),
      op<addr>("addr"),
      op<baddbmm>("baddbmm", kLower),
      op<baddbmm_dtype>("baddbmm.dtype", kLower),
      op<bilinear>("bilinear"),
      op<bmm>("bmm", kLower),
      op<bmm_dtype>("bmm.dtype", kLower),
      op<chain_matmul>("chain_matmul", kLower),
      op<dot>("dot"),
      op<outer>("ger"),
      op<inner>("inner", kLower),
      op<matmul>("linalg_matmul", kLower),
      op<linalg_multi_dot>("linalg_multi_dot", kLower),
      op<linalg_vecdot>("linalg_vecdot", kLower),
      op<linear>("linear", kLower),
      op<matmul>("matmul", kLower),
      op<linear>("mkldnn_linear"),
      op<mm>("mm", kLower),
      op<mm_dtype>("mm.dtype", kLower),
      op<mv>("mv"),
      op<outer>("outer"),
      op<vdot>("vdot"),
  };
  return rows;
}

std::span<const Row> linear_algebra_ops() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> all;
    for (std::span<const Row> part : {product_ops(), einsum_ops(), factorization_ops(), lu_ops(), ldl_ops(), qr_ops(),
                                      decomposition_ops(), eig_ops()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rows;
}

}  // namespace torchlift::aten
