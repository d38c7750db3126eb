// Searching, shared by the families.
#pragma once

#include "aten/ops.hpp"

namespace torchlift::aten {

// How many elements of each sorted line lie before the value, by the same halving as PyTorch: equal elements count if
// `right`, and a NaN is larger than all. sequence: [n], or [lines.., n] with values [lines.., m]. The result has the
// values' shape.
Value search_sorted(Lower& l, Value sequence, Value values, bool right);

}  // namespace torchlift::aten
