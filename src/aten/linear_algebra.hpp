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
Tensor linear(Lower& l, Tensor input, Tensor weight, Optional<Tensor> bias);
Tensor matmul(Lower& l, Tensor self, Tensor other);

// The family's files.
std::span<const Row> product_ops();
std::span<const Row> einsum_ops();
std::span<const Row> factorization_ops();
std::span<const Row> lu_ops();

}  // namespace torchlift::aten
