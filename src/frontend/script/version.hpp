// The file format version of a TorchScript archive, and the layouts that are not read.
#pragma once

#include <cstdint>

#include "archive/archive.hpp"
#include "base/result.hpp"

namespace torchlift::frontend::script {

inline constexpr int64_t kOldestVersion = 3;   // PyTorch 1.3
inline constexpr int64_t kNewestVersion = 10;  // PyTorch 2.13

// Of `.data/version`, or else of `version`. Older and newer ones are refused, and so are the layout of PyTorch 1.0 to
// 1.2, archives of bytecode alone, and those in a torch.package.
Result<int64_t> read_version(const archive::Archive& archive);

}  // namespace torchlift::frontend::script
