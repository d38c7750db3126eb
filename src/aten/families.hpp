// The families, each one file (or a few) with its functions and its rows. They follow PyTorch's own documentation.
#pragma once

#include <span>

#include "lower/op.hpp"

namespace torchlift::aten {

std::span<const lower::Row> activation_ops();
std::span<const lower::Row> attention_ops();
std::span<const lower::Row> backward_ops();
std::span<const lower::Row> bitwise_ops();
std::span<const lower::Row> classification_loss_ops();
std::span<const lower::Row> comparison_ops();
std::span<const lower::Row> control_flow_ops();
std::span<const lower::Row> convolution_ops();
std::span<const lower::Row> creation_ops();
std::span<const lower::Row> dropout_ops();
std::span<const lower::Row> elementary_ops();
std::span<const lower::Row> embedding_ops();
std::span<const lower::Row> grouped_ops();
std::span<const lower::Row> indexing_ops();
std::span<const lower::Row> iterated_ops();
std::span<const lower::Row> linear_algebra_ops();
std::span<const lower::Row> linear_cross_entropy_ops();
std::span<const lower::Row> loss_ops();
std::span<const lower::Row> normalization_ops();
std::span<const lower::Row> pointwise_ops();
std::span<const lower::Row> pooling_ops();
std::span<const lower::Row> python_scalar_ops();
std::span<const lower::Row> random_ops();
std::span<const lower::Row> recurrent_ops();
std::span<const lower::Row> reduction_ops();
std::span<const lower::Row> scan_ops();
std::span<const lower::Row> shaping_ops();
std::span<const lower::Row> sorting_ops();
std::span<const lower::Row> special_ops();
std::span<const lower::Row> spectral_ops();
std::span<const lower::Row> statistics_ops();
std::span<const lower::Row> vision_ops();

// Of TorchScript: its language, and what it does with numbers, containers and texts. script.hpp has what they share.
std::span<const lower::ScriptRow> script_container_ops();
std::span<const lower::ScriptRow> script_control_flow_ops();
std::span<const lower::ScriptRow> script_language_ops();
std::span<const lower::ScriptRow> script_math_ops();
std::span<const lower::ScriptRow> script_number_ops();
std::span<const lower::ScriptRow> script_runtime_ops();
std::span<const lower::ScriptRow> script_tensor_ops();
std::span<const lower::Row> script_overload_ops();  // those that stand beside overloads of ATen
std::span<const lower::ScriptRow> script_text_ops();
std::span<const lower::ScriptRow> script_upgrader_ops();

}  // namespace torchlift::aten
