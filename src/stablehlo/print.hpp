// MLIR text of a module that verifies, as PJRT plugins accept it. The same module gives the same bytes on every
// machine.
#pragma once

#include <map>
#include <string>

#include "stablehlo/module.hpp"

namespace torchlift::stablehlo {

struct PrintOptions {
  bool locations = false;    // loc(...) of operations and of arguments
  size_t hex_elements = 32;  // constants with more elements are printed as raw bytes in hex
  // By name, the texts of functions that the module only declares (function_text.hpp).
  std::map<std::string, std::string> definitions{};
};

std::string to_text(const Module& module, const PrintOptions& options = {});

// The entry's signature alone: "(tensor<8x3xf32>, tensor<3xf32>) -> (tensor<8xf32>)".
std::string signature_text(const Module& module);

}  // namespace torchlift::stablehlo
