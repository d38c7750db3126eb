// Literals in the places of a TorchScript method's parameters.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "torch/program.hpp"
#include "torch/script_type.hpp"

namespace torchlift::frontend::script {

// "cuda:0"
torch::Device device_of(std::string_view text);

// The literal as PyTorch passes it to a parameter of the type: an int becomes a float or a complex number, a text a
// device. Nothing if it does not fit. Lists and tuples are the caller's.
std::optional<torch::Operand> literal_as(const torch::ScriptType& type, const torch::Operand& literal);

std::string literal_text(const torch::Operand& literal);  // for messages: "2", "'mean'", "[1, 2]"

}  // namespace torchlift::frontend::script
