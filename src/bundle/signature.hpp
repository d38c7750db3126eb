// The types of @main, read from a program itself: what the manifest says is checked against what the program takes,
// when a bundle is written and again when it is read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bundle/manifest.hpp"

namespace torchlift::bundle {

struct Signature {
  std::vector<TensorType> arguments;
  std::vector<TensorType> results;
};

// Of MLIR text or a portable artifact. `path` names the program in messages.
Result<Signature> read_signature(std::string_view program, const std::string& path);

// All differences.
Status check_signature(const Program& program, const Signature& signature, const std::string& path);

}  // namespace torchlift::bundle
