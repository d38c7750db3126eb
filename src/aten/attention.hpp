// What attention has beside attention.cpp: whole layers (transformer.cpp).
#pragma once

#include <span>

#include "lower/op.hpp"

namespace torchlift::aten {

std::span<const lower::Row> transformer_ops();

}  // namespace torchlift::aten
