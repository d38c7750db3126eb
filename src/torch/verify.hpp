// The promises of a Program that its readers rely on.
#pragma once

#include "base/result.hpp"
#include "torch/program.hpp"

namespace torchlift::torch {

inline constexpr size_t kMaxBlockDepth = 128;
inline constexpr size_t kMaxOperandDepth = 8;

// Ids in range; every value defined once, by its block's inputs or an instruction before its use; nested blocks used
// once, by a branch or by what sees nothing of the outer ones, and not nested in themselves; functions with blocks of
// their own; specs that match the entry; weights inside their records. Lists the problems (at
// most 20).
Status verify(const Program& program);

}  // namespace torchlift::torch
