// Checks a whole module: every id in range, every value defined before it is used and visible there, every type as
// inferred from the operands, regions of the right signature, no placeholder.
#pragma once

#include <string>
#include <vector>

#include "stablehlo/module.hpp"

namespace torchlift::stablehlo {

struct VerifyError {
  std::string message;  // "add: ..."
  Location location;
};

// Empty if the module is sound. Stops after kMaxVerifyErrors.
constexpr size_t kMaxVerifyErrors = 20;
std::vector<VerifyError> verify(const Module& module);

}  // namespace torchlift::stablehlo
