// StableHLO portable artifacts: a module in MLIR's bytecode, its operations in the versions that a given StableHLO has.
// Whoever reads StableHLO of that version or a later one reads it. docs/artifact.md is the description.
#pragma once

#include <optional>
#include <string>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "stablehlo/module.hpp"
#include "stablehlo/vhlo.hpp"

namespace torchlift::stablehlo {

struct ArtifactOptions {
  // The StableHLO to write for, from vhlo::kOldestVersion on; none: the oldest that has all that the module uses.
  std::optional<vhlo::Version> version{};
  bool locations = false;  // of operations and arguments
};

// The artifact of a module that verifies. An error if the version is not known or has not all that the module uses (the
// operation and its line are named), or if the module has a function that is only declared.
Result<std::string> write_artifact(const Module& module, const ArtifactOptions& options = {});

// The module of an artifact; it verifies. An error if the bytes are no artifact, or if it says what a Module cannot:
// then vhlo::read and vhlo::to_text still show it. `path` names the file in messages.
Result<Module> read_artifact(ByteView bytes, const std::string& path);
Result<Module> module_of(const vhlo::Program& program, const std::string& path);

// The types of the artifact's `main`, whatever it computes. An error if there is none, or if one is no tensor of fixed
// sizes and a dtype of ours.
struct ArtifactSignature {
  std::vector<Type> arguments;
  std::vector<Type> results;
};
Result<ArtifactSignature> artifact_signature(ByteView bytes, const std::string& path);

}  // namespace torchlift::stablehlo
