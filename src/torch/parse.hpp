// The text form of a Program (print.hpp) -> Program. Line by line; blank lines and lines that begin with `#` say
// nothing.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "torch/program.hpp"

namespace torchlift::torch {

// The result has passed torch::verify. `file` is for messages.
Result<Program> parse_program(std::string_view text, const std::string& file = "");

}  // namespace torchlift::torch
