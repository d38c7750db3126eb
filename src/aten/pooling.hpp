// What the files of pooling share.
#pragma once

#include "aten/ops.hpp"

namespace torchlift::aten {

// The number of each element within its plane, the last `spatial` axes, in the given shape.
Value plane_numbers(Lower& l, const Dims& shape, size_t spatial);

// A combiner of (value, number) pairs, in the order of a region's arguments: the greater value, NaN being the greatest;
// of equals the lower number.
Values first_maximum(Lower& l, std::span<const Value> arguments);

std::span<const Row> window_pooling_ops();
std::span<const Row> adaptive_pooling_ops();
std::span<const Row> fractional_pooling_ops();

}  // namespace torchlift::aten
