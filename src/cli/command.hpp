// The commands: one function each, from options to what is to be said. Wiring only; main.cpp reads the options and
// prints.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace torchlift::lower {
struct Operators;
}

namespace torchlift::cli {

// Documented in docs/errors.md and in --help.
enum class ExitCode : int {
  Ok = 0,
  Refused = 1,    // the file or the request
  Usage = 2,      // the command line
  Different = 3,  // verify: the numbers differ
  Device = 4,     // plugin or device
  Internal = 70,  // our own defect
};

// The code for a run that ended with these.
ExitCode exit_code(const std::vector<Diagnostic>& errors);

struct Output {
  ExitCode code = ExitCode::Ok;
  std::string text;               // for people, on standard output
  std::string json = "{}";        // the same as one JSON object, for --json
  std::vector<Diagnostic> notes;  // warnings and notes of a run that succeeded
};

// What `import`, `run`, `verify` and `inspect` share.
struct LiftOptions {
  std::vector<std::string> dims;  // "x.0=8", "s77=1,8"
  std::string precision = "highest";
  int64_t inline_below = 0;
  bool allow_train_dropout = false;
  uint64_t seed = 0;  // of random numbers
  bool strict = false;
  std::string model;  // its name, where the archive holds several
  // Of a TorchScript file, which says none of these.
  std::string method = "forward";
  std::vector<std::string> inputs{};            // "x=f32[8,3,224,224]", "x=FILE.npy"
  std::vector<std::string> arguments{};         // "sr=16000"
  bool eval = false;                            // its modules are taken out of training mode
  std::string program = "text";                 // or "artifact": the form of the program
  std::string stablehlo_version{};              // of an artifact; empty: the oldest that has all that is used
  std::vector<std::string> custom{};            // "ns::op=FILE.mlir", "ns::op=custom_call:TARGET": docs/custom.md
  const lower::Operators* operators = nullptr;  // with rows of the caller's own; none: aten::table()
};

struct ImportOptions {
  std::string file;
  std::string directory;
  LiftOptions lift;
  bool with_weights = true;
  std::string weights_dtype;         // "bf16", "f16": weights of float32 are stored so; empty: as they are
  bool reference = false;            // weights stay in the file
  int64_t shard_size = 0;            // bytes of weights in one file; 0: all
  std::vector<std::string> samples;  // case files: inputs, and the results that are expected
  bool locations = false;
};
Result<Output> run_import(const ImportOptions& options);

struct BindCommandOptions {
  std::string directory;
  std::string state;
  std::string output = {};                 // a new bundle's directory; empty: the bundle itself
  std::string key = {};                    // of the dict of tensors in a file of torch.save
  std::vector<std::string> prefixes = {};  // "module.="
  bool strict = false;
  bool allow_missing = false;
};
Result<Output> run_bind(const BindCommandOptions& options);

struct VerifyBundleOptions {
  std::string directory;
  bool run = false;  // the samples, too
  std::string plugin = {};
};
Result<Output> run_verify_bundle(const VerifyBundleOptions& options);

struct RunOptions {
  std::string model;                // a .pt2 file or a bundle's directory
  std::vector<std::string> inputs;  // safetensors or npy files, npy also as NAME=FILE
  std::string output;               // safetensors, or npy for a single result
  std::string weights;              // a state dict in place of the model's own
  std::string plugin;
  LiftOptions lift;
};
Result<Output> run_run(const RunOptions& options);

struct VerifyOptions {
  RunOptions run;
  std::string expected;  // empty: the inputs file holds the expected results too
};
Result<Output> run_verify(const VerifyOptions& options);

struct InspectOptions {
  std::string model;  // a .pt2 file, a bundle's directory or an artifact
  LiftOptions lift;
  // Of an artifact:
  bool text = false;       // print the program
  bool generic = false;    // in MLIR's generic form, also where there is a shorter one
  bool locations = false;  // with locations
};
Result<Output> run_inspect(const InspectOptions& options);

struct OpsOptions {
  std::string name;  // empty: all
};
Result<Output> run_ops(const OpsOptions& options);

struct DevicesOptions {
  std::string plugin;  // empty: the installed ones are listed, none is opened
};
Result<Output> run_devices(const DevicesOptions& options);

struct RunCasesOptions {
  std::string list;
  std::string out;
  int64_t jobs = 1;
  double case_timeout = 60;
  std::string plugin;
  std::string program = "text";  // the form in which programs go to the plugin
};
Result<Output> run_run_cases(const RunCasesOptions& options);

// A worker of run-cases, on the channel that its supervisor made: answers go into the folder `out`. Returns the exit
// code.
int run_worker(const std::string& plugin, const std::string& out, const std::string& program);

}  // namespace torchlift::cli
