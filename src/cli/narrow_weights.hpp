// --weights-dtype: weights of float32 that are stored in 16 bits, and widened where the program takes them.
#pragma once

#include "base/dtype.hpp"
#include "lower/evaluate.hpp"

namespace torchlift::cli {

// Each weight of the entry that is float32 and only read becomes an argument of `narrow`, which a convert at the
// program's begin widens; the arguments' dtypes in `lowered` say so.
void narrow_weights(lower::Lowered& lowered, DType narrow);

}  // namespace torchlift::cli
