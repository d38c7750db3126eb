// The call that a TorchScript file is imported for: the file says neither the sizes of its inputs nor which method is
// called.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "cli/case_file.hpp"
#include "cli/command.hpp"
#include "frontend/script/entry.hpp"
#include "lower/evaluate.hpp"

namespace torchlift::cli {

struct ScriptCall {
  std::string method = "forward";
  std::vector<frontend::script::ScriptLeaf> leaves;
  decltype(lower::Options::state) state;  // what calls before stored on the modules
};

// Of the options --method, --input "x=f32[8,3]" (or a file: "x=FILE.npy") and --arg "sr=16000". Problems are reported
// all at once.
Result<ScriptCall> script_call(const LiftOptions& options);

// The sizes of --dim "x.0=8" in the place of those of --input.
Status set_sizes(ScriptCall& call, const std::vector<lower::Binding>& sizes);

// The inputs of a case file, or of files by name: in.K in order, then the others by their names as paths. Where the
// file says how its leaves lie in the arguments (`arguments`), their paths are those of `method`'s parameters.
Result<std::vector<frontend::script::ScriptLeaf>> script_leaves(const CaseFile& inputs, const torch::Program& program,
                                                                const std::string& method);

}  // namespace torchlift::cli
