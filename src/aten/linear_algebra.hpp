// Products, shared by the families.
#pragma once

#include "aten/ops.hpp"

namespace torchlift::aten {

// dot_general, the only one of this room: at the precision of the import, float16 and bfloat16 summed in float32. The
// result has accumulate_type of the operands.
Value contract(Lower& l, Value lhs, Value rhs, stablehlo::DotGeneral dimensions);
// lhs[..., k] and rhs[n, k] to [..., n]: the product of a linear layer.
Value contract_last(Lower& l, Value lhs, Value rhs);

Tensor addmm(Lower& l, Tensor self, Tensor mat1, Tensor mat2, Scalar beta, Scalar alpha);
Tensor einsum(Lower& l, std::string equation, TensorList tensors, Ignored path);
Tensor inverse(Lower& l, Tensor self);
// Norms over two axes: by name "fro" or "nuc", or of order 1, 2, inf and their negatives.
Tensor linalg_matrix_norm(Lower& l, Tensor self, Scalar ord, std::vector<int64_t> dim, bool keepdim,
                          Optional<DType> dtype);
Tensor linalg_matrix_norm_name(Lower& l, Tensor self, std::string ord, std::vector<int64_t> dim, bool keepdim,
                               Optional<DType> dtype);
// Of the matrices over two axes: [other axes..., k], descending.
Tensor singular_values_along(Lower& l, Tensor self, int64_t rows, int64_t columns);
Tensor linear(Lower& l, Tensor input, Tensor weight, Optional<Tensor> bias);
Tensor matmul(Lower& l, Tensor self, Tensor other);

// The family's files.
std::span<const Row> product_ops();
std::span<const Row> einsum_ops();
std::span<const Row> factorization_ops();
std::span<const Row> ldl_ops();
std::span<const Row> lu_ops();
std::span<const Row> decomposition_ops();
std::span<const Row> eig_ops();
std::span<const Row> qr_ops();

}  // namespace torchlift::aten
