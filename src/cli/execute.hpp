// A model on a device: a `.pt2` file, imported for the sizes of the inputs that it is given, or a bundle.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bundle/bind.hpp"
#include "cli/case_file.hpp"
#include "cli/command.hpp"
#include "cli/importer.hpp"
#include "pjrt/client.hpp"
#include "run/bundle_session.hpp"
#include "run/cases.hpp"
#include "run/program_cache.hpp"
#include "run/session.hpp"

namespace torchlift::cli {

// Refuses options that act at import, for a bundle: it is made.
Status expect_no_import_options(const LiftOptions& options, const std::string& bundle);

// A model file whose state stays between calls, also when the sizes of the inputs change.
// Of a TorchScript file, a call that stores numbers, or tensors of other types, is followed by an import anew.
class LoadedModel {
 public:
  // `weights`: a safetensors file in place of the model's own weights, where not empty.
  static Result<LoadedModel> open(const std::string& path, const LiftOptions& options, const std::string& weights = "");

  // A call in two parts, so that what is wrong with the inputs is said before a device is asked for. Each adds to
  // `seconds`. The arguments of the program for these inputs; it is imported anew if their sizes are other than before.
  Result<std::vector<run::HostTensor>> prepare(const CaseFile& inputs, const std::vector<std::string>& files,
                                               run::Seconds& seconds);
  // Compiles what is new, and runs. The client and the programs outlive the model.
  Result<LeafValues> call(std::span<const run::HostTensor> arguments, const pjrt::Client& client,
                          run::ProgramCache& programs, run::Seconds& seconds);

  // Of a TorchScript file.
  void set_method(std::string method) { options_.method = std::move(method); }
  bool is_script() const { return file_.is_script(); }
  const std::vector<Diagnostic>& notes() const { return notes_; }
  const bundle::Program& program() const { return *program_; }  // of the last call

 private:
  LoadedModel(ModelFile file, LiftOptions options) : file_(std::move(file)), options_(std::move(options)) {}
  Result<std::vector<LeafValue>> prepare_exported(const CaseFile& inputs, const std::vector<std::string>& files);
  Result<std::vector<LeafValue>> prepare_script(const CaseFile& inputs, const std::vector<std::string>& files);
  void keep_stored(const std::vector<run::HostTensor>& results);
  std::vector<bundle::Leaf> leaves() const;
  std::vector<lower::Binding> sizes_of(const std::vector<bundle::Leaf>& leaves,
                                       const std::vector<LeafValue>& values) const;
  Status take(Lifted lifted);
  Status make_residents(const Lifted& lifted);
  Status keep_state();

  ModelFile file_;
  LiftOptions options_;
  std::optional<bundle::StateDict> weights_;
  bundle::BoundWeights bound_;
  std::optional<bundle::Program> program_;
  std::string text_;                              // of the program
  std::vector<run::HostTensor> residents_;        // what the session points to
  std::map<std::string, run::HostTensor> state_;  // written by calls with other sizes
  std::vector<std::vector<int64_t>> sizes_;       // of the inputs that the session is for
  // Of a TorchScript file: the call that the session is for, and what it stores on the modules.
  std::string call_;
  std::vector<lower::Lowered::Stored> stored_;
  decltype(lower::Options::state) script_state_;
  bool stale_ = false;  // the last call stored what the program was not made for
  std::optional<run::Session> session_;
  std::vector<Diagnostic> notes_;
  bool checked_ = false;  // the weights' checksums
};

// One call of a model file or a bundle, with everything that it needs made and dropped.
struct Execution {
  LeafValues answer;
  run::Seconds seconds;
  bundle::Program program;
  std::vector<Diagnostic> notes;
};
Result<Execution> execute(const RunOptions& options, const CaseFile& inputs);

bool is_directory(const std::string& path);

}  // namespace torchlift::cli
