// What the loss files share.
#pragma once

#include "aten/formula.hpp"
#include "aten/ops.hpp"

namespace torchlift::aten {

// at::Reduction: 0 none, 1 mean, 2 sum. Refuses any other number.
Tensor reduce_loss(Lower& l, Tensor loss, int64_t reduction);

// The family's other file.
std::span<const Row> ctc_ops();

}  // namespace torchlift::aten
