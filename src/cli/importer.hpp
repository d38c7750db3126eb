// From a model file to StableHLO: archive, front end and evaluator, wired.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "archive/archive.hpp"
#include "bundle/manifest.hpp"
#include "bundle/weights.hpp"
#include "cli/command.hpp"
#include "cli/script_call.hpp"
#include "frontend/export/load.hpp"
#include "lower/evaluate.hpp"
#include "stablehlo/type.hpp"

namespace torchlift::cli {

// One specialised program, and where its weights lie.
struct Lifted {
  bundle::Program program;                     // without file name and digest
  std::string text;                            // StableHLO, as text or as a portable artifact
  std::vector<bundle::WeightSource> weights;   // of the arguments that are no inputs, in order
  std::vector<bundle::InlinedWeight> inlined;  // weights whose values are part of the text, sorted by name
  std::vector<stablehlo::Type> result_types;   // of program.results, with the expressions of their sizes
  std::vector<Diagnostic> notes;
  lower::Agreement agreement;
  std::vector<lower::Lowered::PinnedSize> pins;
  std::optional<torch::TreeSpec> input_tree;
  std::optional<torch::TreeSpec> output_tree;
  std::vector<lower::Lowered::Stored> state;  // of a TorchScript program: what the call stores on its modules
};

// An open model file. Weight sources point into it.
class ModelFile {
 public:
  static Result<ModelFile> open(const std::string& path, const std::string& model = "");

  const std::string& path() const { return archive_->name(); }
  // Of a TorchScript file: without an entry, and without the author's lines.
  const torch::Program& program() const { return loaded_.program; }
  bool is_script() const { return is_script_; }
  const std::vector<std::string>& model_names() const { return loaded_.model_names; }
  bundle::Source source() const;

  Result<Lifted> lift(const std::vector<lower::Binding>& sizes, const LiftOptions& options, bool locations = false,
                      std::optional<DType> weights_dtype = {}) const;
  // A TorchScript file, for one call.
  Result<Lifted> lift(const ScriptCall& call, const LiftOptions& options, bool locations = false,
                      std::optional<DType> weights_dtype = {}) const;

 private:
  ModelFile(std::unique_ptr<archive::Archive> archive, frontend::Loaded loaded, bool is_script)
      : archive_(std::move(archive)), loaded_(std::move(loaded)), is_script_(is_script) {}
  Result<Lifted> lift_program(const torch::Program& program, lower::Options how, const LiftOptions& options,
                              bool locations, std::optional<DType> weights_dtype) const;
  bundle::WeightSource weight_source(const lower::EntryArgument& argument) const;
  const torch::Weight& weight_of(torch::WeightId id) const { return loaded_.program.weights[id.at()]; }
  std::vector<std::string> names_of(torch::WeightId id) const;
  bool in_state_dict(torch::WeightId id) const;
  std::vector<Diagnostic> placed(std::vector<Diagnostic> problems) const;

  std::unique_ptr<archive::Archive> archive_;
  frontend::Loaded loaded_;
  bool is_script_;
};

// "x.0=8" or "x.0=1,8": one set of sizes for each program that is asked for. One option at most may list several sizes.
struct Sizes {
  std::string suffix;  // "", or ".b8" where there are several
  std::vector<lower::Binding> bindings;
};
Result<std::vector<Sizes>> parse_dims(const std::vector<std::string>& dims);

const lower::OpTable& table_of(const LiftOptions& options);

bundle::Constant constant_of(const lower::IValue& value);
std::optional<bundle::TreeNode> tree_of(const std::optional<torch::TreeSpec>& spec);

}  // namespace torchlift::cli
