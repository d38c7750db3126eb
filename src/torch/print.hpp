// The text form of a Program that passes torch::verify: one instruction a line, read back by parse.hpp as an equal
// Program.
#pragma once

#include <string>

#include "torch/program.hpp"

namespace torchlift::torch {

std::string print(const Program& program);

// Parts of it, for messages and tests: "%x", "[1, 2]", "torch.float32"; "f32[s77, 4]{4, 1}", "symint (2*s60)".
std::string print(const Program& program, const Operand& operand);
std::string print(const TensorMeta& meta);
std::string print(const Value& value);

}  // namespace torchlift::torch
