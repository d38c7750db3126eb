// Tensors of one element as Python numbers.
#pragma once

#include <optional>

#include "lower/lower.hpp"

namespace torchlift::lower {

enum class NumberKind : uint8_t { AsTensor, Bool, Int, Float, Complex };  // AsTensor: of the tensor's own category

// What `item()`, `int()`, `float()` of a tensor give: a number if it follows from constants, else a device number.
// Nothing, with a refusal recorded, of a tensor that has not one element, or of a complex one as a real number.
std::optional<IValue> number_of(Lower& l, Tensor t, NumberKind kind = NumberKind::AsTensor);

// Where a tensor stands in the place of a number: it must have no dimensions, and be integral for an int.
std::optional<IValue> implicit_number_of(Lower& l, Tensor t, NumberKind kind);

}  // namespace torchlift::lower
