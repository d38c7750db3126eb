// Programs as portable artifacts: what is written at import, and what `inspect` says of a file.
#pragma once

#include <string>

#include "base/result.hpp"
#include "cli/command.hpp"
#include "lower/evaluate.hpp"

namespace torchlift::cli {

// The program in the form that the options ask for, text or artifact.
Result<std::string> program_of(const lower::Lowered& lowered, const LiftOptions& options, bool locations);

// By its first bytes. An error if the file cannot be opened.
Result<bool> is_artifact_file(const std::string& path);
Result<Output> inspect_artifact(const InspectOptions& options);

}  // namespace torchlift::cli
