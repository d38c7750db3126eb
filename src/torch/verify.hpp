// The promises of a Program that its readers rely on.
#pragma once

#include "base/result.hpp"
#include "torch/program.hpp"

namespace torchlift::torch {

inline constexpr size_t kMaxBlockDepth = 32;
inline constexpr size_t kMaxOperandDepth = 8;

// Ids in range; every value defined once, by its block's inputs or an instruction before its use; nested blocks used
// once and not nested in themselves; specs that match the entry; weights inside their records. Lists the problems (at
// most 20).
Status verify(const Program& program);

}  // namespace torchlift::torch
