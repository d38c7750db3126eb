// Quantisation that stays in floats (fake_quantize.cpp).
#pragma once

#include <span>

#include "lower/op.hpp"

namespace torchlift::aten {

std::span<const lower::Row> fake_quantize_ops();

}  // namespace torchlift::aten
