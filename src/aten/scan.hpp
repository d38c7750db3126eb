// Running sums and their relatives, shared by the families.
#pragma once

#include "aten/ops.hpp"

namespace torchlift::aten {

// Element i of the result combines elements 0 to i of one axis.
Value cumulate(Lower& l, Value v, int64_t axis, Reducer reducer);

// The family's other files.
std::span<const Row> gradient_ops();
std::span<const Row> histogram_ops();

Tensor cumsum(Lower& l, Tensor self, int64_t dim, Optional<DType> dtype);

}  // namespace torchlift::aten
