// New tensors, shared by the families.
#pragma once

#include "aten/ops.hpp"

namespace torchlift::aten {

// start + i * step for i below count. Floats are computed so that they round once.
Value number_run(Lower& l, DType dtype, const Scalar& start, const Scalar& step, const Dim& count);

Tensor linspace(Lower& l, Operand start, Operand end, int64_t steps, TensorOptions options);
Tensor zeros(Lower& l, Dims size, TensorOptions options);
Tensor full(Lower& l, Dims size, Operand fill_value, TensorOptions options);

// The family's files.
std::span<const Row> constant_ops();
std::span<const Row> range_ops();

}  // namespace torchlift::aten
