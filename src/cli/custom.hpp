// --custom: what an operator of the user's own means.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "lower/custom.hpp"

namespace torchlift::cli {

// "ns::op=FILE.mlir", "ns::op=custom_call" or "ns::op=custom_call:TARGET"; an operator may have several files. Reads
// the files.
Result<std::vector<lower::CustomOp>> read_custom(const std::vector<std::string>& options);

}  // namespace torchlift::cli
