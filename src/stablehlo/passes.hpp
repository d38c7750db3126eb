// Rewrites of a finished module that keep its meaning to the last bit, in linear time. They expect a module that
// verifies (placeholders aside).
#pragma once

#include "stablehlo/module.hpp"

namespace torchlift::stablehlo {

// Drops instructions whose results nothing uses. Arguments of functions stay. Helper functions that nothing calls go.
void remove_dead_code(Module& module);

// Equal instructions on equal operands become one, within what each may see. Bodies of reductions, sorts and scatters
// keep their own copies: they may not use outer values.
void merge_common(Module& module);

// Computes small integer and boolean arithmetic on constants; floating-point only where the result is exact.
constexpr int64_t kMaxFoldedElements = 64;
void fold_constants(Module& module);

// All of them, in a good order.
void simplify(Module& module);

}  // namespace torchlift::stablehlo
