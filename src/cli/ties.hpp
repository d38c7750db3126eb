// Whether two tensors of indices say the same of tensors with equal elements: what sort, topk, max or median choose
// among equals is free.
#pragma once

#include <span>

#include "run/host_tensor.hpp"

namespace torchlift::cli {

// Both int64 and of one shape. True if `want` and `got` pick equal elements along some axis of some source (or of the
// source laid flat), and `got` picks none twice in a line unless `want` does. The indices have the source's shape but
// for that axis, or lack it.
bool picks_equal(const run::HostTensor& want, const run::HostTensor& got, std::span<const run::HostTensor> sources);

}  // namespace torchlift::cli
