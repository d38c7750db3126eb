// Activations that other families use.
#pragma once

#include "aten/ops.hpp"

namespace torchlift::aten {

// Over one dimension of self; computed in float32 for float16 and bfloat16. `result`: the dtype given back.
Tensor softmax(Lower& l, Tensor self, int64_t dim, Optional<DType> dtype);
Tensor log_softmax(Lower& l, Tensor self, int64_t dim, Optional<DType> dtype);
// As softmax, with zeros where every element is -inf.
Tensor safe_softmax(Lower& l, Tensor self, int64_t dim, Optional<DType> dtype);
Tensor log_sigmoid(Lower& l, Tensor self);
Tensor gelu(Lower& l, Tensor self, std::string approximate);
Tensor silu(Lower& l, Tensor self);
Tensor hardtanh(Lower& l, Tensor self, Scalar min_val, Scalar max_val);

// The same on values of one floating-point type.
Value softmax_value(Lower& l, Value x, int64_t axis);
Value log_softmax_value(Lower& l, Value x, int64_t axis);

}  // namespace torchlift::aten
