// Constants as lists of elements.
#pragma once

#include <cstddef>
#include <vector>

#include "stablehlo/attributes.hpp"

namespace torchlift::stablehlo {

// All elements in order become a constant: equal ones are kept once, bools become 0 or 1.
Constant packed(const Type& type, std::vector<std::byte> bytes);

// The elements written out. The caller has bounded the type.
std::vector<std::byte> unpacked(const Type& type, const Constant& constant);

// One element stands for all. (A type of one element is one, too.)
bool is_splat(const Type& type, const Constant& constant);

}  // namespace torchlift::stablehlo
