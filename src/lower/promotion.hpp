// PyTorch's type promotion, by rule: dtypes of tensors with dimensions first, then 0-dim tensors, then Python numbers;
// a lower priority only counts if its category (bool < integer < float < complex) is higher.
#pragma once

#include <span>

#include "base/dtype.hpp"
#include "lower/tensor.hpp"

namespace torchlift::lower {

DType promote_types(DType a, DType b);                // torch.promote_types; also checked against data/promotion.txt
bool can_promote(DType a, DType b);                   // false where PyTorch raises (float8, mixed large unsigned)
DType result_type(std::span<const Tensor> operands);  // torch.result_type over any number of operands
// Integers and bool become PyTorch's default dtype: for operators that always compute in floating point (sin, div,
// mean).
DType float_type(DType dtype);
// The wider type in which sums and products of this dtype are accumulated by PyTorch on CPU.
DType accumulate_type(DType dtype);
// Whether a value of category `from` may be written into `to` (bool <- integer is refused by PyTorch).
bool can_cast(DType from, DType to);

}  // namespace torchlift::lower
