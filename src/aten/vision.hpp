// The files of vision.
#pragma once

#include "aten/ops.hpp"

namespace torchlift::aten {

std::span<const Row> upsample_ops();
std::span<const Row> sampling_ops();
std::span<const Row> region_ops();
std::span<const Row> deformable_ops();

}  // namespace torchlift::aten
