// torchlift: reads the command line, runs one command, prints what it says. Exit codes: see ExitCode.
#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>

#include "base/kinds.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/version.hpp"

namespace torchlift::cli {
namespace {

constexpr const char* kFooter = R"(Examples:
  torchlift import model.pt2 -o bundle                  one program, for the sizes of the example inputs
  torchlift import model.pt2 -o bundle --dim x.0=1,8    one for each batch size, one weights file for both
  torchlift run bundle --inputs x.npy -o y.safetensors
  torchlift bind bundle finetuned.safetensors           other weights for the same programs
  torchlift verify model.pt2 --inputs case.safetensors  compares with the results in the file
  torchlift inspect model.pt2                           arguments, results, operators, free sizes

Exit codes: 0 ok, 1 the file or the request was refused, 2 the command line, 3 the numbers differ (verify),
4 plugin or device, 70 a defect of torchlift.)";

struct Options {
  bool json = false;
  ImportOptions import_;
  BindCommandOptions bind;
  VerifyBundleOptions verify_bundle;
  RunOptions run;
  VerifyOptions verify;
  InspectOptions inspect;
  OpsOptions ops;
  DevicesOptions devices;
  RunCasesOptions cases;
  std::string worker_plugin, worker_out, worker_program = "text";
};

void add_lift(CLI::App* command, LiftOptions& lift) {
  command
      ->add_option("--dim", lift.dims,
                   "a free size: x.0=8 (input path and axis), s77=8 (symbol); x.0=1,8 for several programs")
      ->type_name("NAME=SIZE[,SIZE...]")
      ->allow_extra_args(false);
  command->add_option("--precision", lift.precision, "of dot products and convolutions of float32")
      ->check(CLI::IsMember({"default", "high", "highest"}))
      ->capture_default_str();
  command->add_option("--inline-below", lift.inline_below, "weights of fewer bytes become constants of the program")
      ->check(CLI::NonNegativeNumber)
      ->type_name("BYTES");
  command->add_option("--model", lift.model, "the model's name, where the archive holds several");
  command->add_flag("--allow-train-dropout", lift.allow_train_dropout,
                    "take dropout that was exported in training mode as the identity");
  command->add_option("--seed", lift.seed, "of random numbers that the model draws (docs/random.md)")
      ->capture_default_str();
  command->add_option("--program", lift.program, "the program's form: MLIR text, or a portable artifact")
      ->check(CLI::IsMember({"text", "artifact"}))
      ->capture_default_str();
  command
      ->add_option("--stablehlo-version", lift.stablehlo_version,
                   "that an artifact is for; default: the oldest that has all that the program uses")
      ->type_name("X.Y.Z");
  command
      ->add_option("--custom", lift.custom,
                   "what an operator of your own means: ns::op=FILE.mlir, a function in StableHLO text; "
                   "ns::op=custom_call[:TARGET] (docs/custom.md)")
      ->type_name("NS::OP=MEANING")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option("--input", lift.inputs,
                   "an input of a TorchScript file: its type x=f32[8,3], or an example x=FILE.npy")
      ->type_name("NAME=TYPE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--arg", lift.arguments, "an argument that is no tensor: sr=16000 (TorchScript)")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--method", lift.method, "the method that is called (TorchScript)")->capture_default_str();
  command->add_flag("--eval", lift.eval, "take the modules of a TorchScript file out of training mode");
  command->add_flag("--strict", lift.strict, "a wrong checksum of weights is an error");
}

void add_run(CLI::App* command, RunOptions& run) {
  command->add_option("MODEL", run.model, "a .pt2 file or a bundle's directory")->required();
  command
      ->add_option("--inputs", run.inputs,
                   "safetensors (in.0, in.1, ... or the inputs' names) or npy, npy also as NAME=FILE; none where the "
                   "model takes none")
      ->type_name("FILE");
  command->add_option("--weights-file", run.weights, "a state dict in place of the model's own weights")
      ->type_name("FILE.safetensors");
  command->add_option("--plugin", run.plugin,
                      "PJRT plugin: a path, or cpu, cuda, rocm, tpu; default TORCHLIFT_PJRT_PLUGIN, then cpu");
  add_lift(command, run.lift);
}

void add_import(CLI::App& app, ImportOptions& options, std::string& weights) {
  auto* command = app.add_subcommand("import", "make a bundle (StableHLO, weights, manifest) of a .pt2 file");
  command->add_option("FILE", options.file, "a .pt2 file of torch.export.save")->required();
  command->add_option("-o,--output", options.directory, "the bundle's directory; a bundle that is there is replaced")
      ->required()
      ->type_name("DIR");
  command->add_option("--weights", weights, "none: write the program only; reference: leave them in FILE")
      ->check(CLI::IsMember({"copy", "none", "reference"}))
      ->capture_default_str();
  command
      ->add_option("--weights-dtype", options.weights_dtype,
                   "store weights of float32 so; the program widens them where it takes them")
      ->check(CLI::IsMember({"bf16", "f16"}));
  command->add_option("--shard-size", options.shard_size, "split the weights into files of so many bytes")
      ->check(CLI::PositiveNumber)
      ->type_name("BYTES");
  command->add_option("--sample", options.samples, "inputs and expected results (a case file), stored in the bundle")
      ->type_name("FILE.safetensors")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_flag("--locations", options.locations, "write the model's source lines into the program");
  add_lift(command, options.lift);
  command->footer(
      "Examples:\n  torchlift import model.pt2 -o bundle\n  torchlift import model.pt2 -o bundle --dim x.0=1,8,32\n"
      "  torchlift import model.pt2 -o bundle --precision default --weights none");
}

void add_bind(CLI::App& app, BindCommandOptions& options) {
  auto* command = app.add_subcommand("bind", "put a checkpoint into a bundle, without another import");
  command->add_option("DIR", options.directory, "the bundle's directory")->required();
  command
      ->add_option("STATE", options.state,
                   "safetensors, a `state_dict` saved by torch.save, or a `.index.json` of shards of either")
      ->required();
  command->add_option("-o,--output", options.output, "write a new bundle there; default: DIR is replaced, whole")
      ->type_name("DIR");
  command->add_option("--key", options.key, "of the state dict in a file of torch.save that holds more: state_dict");
  command->add_option("--prefix", options.prefixes, "names that begin with OLD begin with NEW: module.=")
      ->type_name("OLD=NEW")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_flag("--strict", options.strict, "a name that belongs to no weight, or a wrong checksum, is an error");
  command->add_flag("--allow-missing", options.allow_missing, "weights that are not in the file keep their values");
  command->footer(
      "Examples:\n  torchlift bind bundle finetuned.safetensors\n"
      "  torchlift bind bundle checkpoint.pt --key state_dict --prefix module.= -o tuned");
}

void add_verify_bundle(CLI::App& app, VerifyBundleOptions& options) {
  auto* command = app.add_subcommand("verify-bundle", "say everything that is wrong with a bundle; needs no device");
  command->add_option("DIR", options.directory, "the bundle's directory")->required();
  command->add_flag("--run", options.run, "run the stored samples, too, and compare (exit code 3 if they differ)");
  command->add_option("--plugin", options.plugin, "PJRT plugin for --run: a path or a short name");
  command->footer("Examples:\n  torchlift verify-bundle bundle\n  torchlift verify-bundle bundle --run");
}

void add_run_command(CLI::App& app, RunOptions& options) {
  auto* command = app.add_subcommand("run", "run a model or bundle on a device");
  add_run(command, options);
  command
      ->add_option("-o,--output", options.output, "results: safetensors (out.0, mut.NAME, ...), or npy for one result")
      ->type_name("FILE");
  command->footer(
      "Examples:\n  torchlift run bundle --inputs x.npy -o y.npy\n  torchlift run model.pt2 --inputs ids=ids.npy "
      "mask=mask.npy\n"
      "  torchlift run model.pt2 --inputs case.safetensors --plugin cuda -o answer.safetensors");
}

void add_verify(CLI::App& app, VerifyOptions& options) {
  auto* command = app.add_subcommand("verify", "run, and compare with expected results (exit code 3 if they differ)");
  add_run(command, options.run);
  command->add_option("--expected", options.expected, "results by out.0, mut.NAME, mutin.0; default: the inputs file")
      ->type_name("FILE.safetensors");
  command->footer("Example:\n  torchlift verify model.pt2 --inputs in.safetensors --expected out.safetensors");
}

void add_others(CLI::App& app, Options& options) {
  auto* inspect =
      app.add_subcommand("inspect", "say what a model file or bundle holds, and whether it can be imported");
  inspect->add_option("MODEL", options.inspect.model, "a .pt2 file, a bundle's directory or a StableHLO artifact")
      ->required();
  inspect->add_flag("--text", options.inspect.text, "print the program of an artifact");
  inspect->add_flag("--generic", options.inspect.generic, "print it in MLIR's generic form");
  inspect->add_flag("--locations", options.inspect.locations, "print it with its locations");
  add_lift(inspect, options.inspect.lift);
  inspect->footer(
      "Examples:\n  torchlift inspect model.pt2 --dim x.0=8\n  torchlift inspect bundle/model.mlirbc --text");

  auto* ops = app.add_subcommand("ops", "list the operators that are supported, or say what is known of one");
  ops->add_option("NAME", options.ops.name, "add, add.Tensor, aten::add.Tensor");
  ops->footer("Example:\n  torchlift ops max_pool2d");

  auto* devices = app.add_subcommand("devices", "list installed plugins; with --plugin, the devices of one");
  devices->add_option("--plugin", options.devices.plugin, "a path or a short name; it is opened and initialised");
  devices->footer("Example:\n  torchlift devices --plugin cpu");

  auto* cases = app.add_subcommand("run-cases", "run many cases in a few worker processes");
  cases->add_option("LIST", options.cases.list, "lines of program<TAB>inputs.safetensors[<TAB>further calls]")
      ->required();
  cases->add_option("-o,--output", options.cases.out, "answers and status.jsonl")->required()->type_name("DIR");
  cases->add_option("--jobs", options.cases.jobs, "worker processes")->check(CLI::Range(1, 256))->capture_default_str();
  cases->add_option("--case-timeout", options.cases.case_timeout, "seconds for one case")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  cases->add_option("--plugin", options.cases.plugin, "PJRT plugin: a path or a short name");
  cases->add_option("--program", options.cases.program, "the form in which programs go to the plugin")
      ->check(CLI::IsMember({"text", "artifact"}))
      ->capture_default_str();
  cases->footer("Example:\n  torchlift run-cases list.tsv -o answers --jobs 2");

  auto* worker = app.add_subcommand("worker", "a worker of run-cases")->group("");
  worker->add_option("--plugin", options.worker_plugin)->required();
  worker->add_option("--out", options.worker_out)->required();
  worker->add_option("--program", options.worker_program);
}

std::string joined(const std::vector<Diagnostic>& diagnostics, std::string (*text)(const Diagnostic&),
                   std::string_view separator) {
  return join(diagnostics, separator, text);
}

std::string_view status_of(ExitCode code) {
  switch (code) {
    case ExitCode::Ok: return "ok";
    case ExitCode::Refused: return "refused";
    case ExitCode::Usage: return "usage";
    case ExitCode::Different: return "different";
    case ExitCode::Device: return "device";
    case ExitCode::Internal: return "internal";
  }
  return "";
}

int print(const Result<Output>& result, bool json) {
  ExitCode code = result ? result->code : exit_code(result.errors());
  auto& diagnostics = result ? result->notes : result.errors();
  if (json) {
    std::string text = "{\"status\": \"" + std::string(status_of(code)) +
                       "\", \"result\": " + (result ? result->json : "null") + ", \"diagnostics\": [" +
                       joined(diagnostics, &to_json, ", ") + "]}\n";
    std::fputs(text.c_str(), stdout);
  } else {
    if (result) std::fputs(result->text.c_str(), stdout);
    std::fflush(stdout);
    std::fputs(joined(diagnostics, &to_text, "").c_str(), stderr);
  }
  // Output that could not be written is a failure of the run.
  bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  return static_cast<int>(written ? code : ExitCode::Refused);
}

int dispatch(const CLI::App& app, Options& options) {
  if (app.got_subcommand("worker"))
    return run_worker(options.worker_plugin, options.worker_out, options.worker_program);
  if (app.got_subcommand("import")) return print(run_import(options.import_), options.json);
  if (app.got_subcommand("bind")) return print(run_bind(options.bind), options.json);
  if (app.got_subcommand("verify-bundle")) return print(run_verify_bundle(options.verify_bundle), options.json);
  if (app.got_subcommand("run")) return print(run_run(options.run), options.json);
  if (app.got_subcommand("verify")) return print(run_verify(options.verify), options.json);
  if (app.got_subcommand("inspect")) return print(run_inspect(options.inspect), options.json);
  if (app.got_subcommand("ops")) return print(run_ops(options.ops), options.json);
  if (app.got_subcommand("devices")) return print(run_devices(options.devices), options.json);
  return print(run_run_cases(options.cases), options.json);
}

bool json_asked(int argc, char** argv) {
  return std::any_of(argv + 1, argv + argc, [](const char* word) { return std::string_view(word) == "--json"; });
}

// What to say if the first word that is no option names no command; empty if it does.
std::string unknown_command(const CLI::App& app, int argc, char** argv) {
  auto word = std::find_if(argv + 1, argv + argc, [](const char* w) { return w[0] != '-'; });
  if (word == argv + argc) return "";
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* c) { return !c->get_group().empty(); }))
    names.push_back(command->get_name());
  if (*word == std::string_view("worker") || std::find(names.begin(), names.end(), *word) != names.end()) return "";
  return quoted(*word) + " is no command; there are " + join(names, ", ", [](const std::string& name) { return name; });
}

int run(int argc, char** argv) {
  CLI::App app("Lifts PyTorch programs into StableHLO, and runs them on PJRT devices.", "torchlift");
  Options options;
  std::string weights = "copy";
  app.set_version_flag("--version", "torchlift " + std::string(kVersion));
  app.require_subcommand(1);
  app.fallthrough();
  app.footer(kFooter);
  add_import(app, options.import_, weights);
  add_bind(app, options.bind);
  add_verify_bundle(app, options.verify_bundle);
  add_run_command(app, options.run);
  add_verify(app, options.verify);
  add_others(app, options);
  constexpr const char* kJson = "print one JSON object: status, result, diagnostics";
  app.add_flag("--json", options.json, kJson);
  for (CLI::App* command : app.get_subcommands(nullptr)) command->add_flag("--json", options.json, kJson);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (auto unknown = unknown_command(app, argc, argv); !unknown.empty())
      return print(diagnose(Kind::CommandLine, {{"problem", unknown}}), json_asked(argc, argv));
    bool failed = error.get_exit_code() != 0;  // help and version are no failures
    if (failed && json_asked(argc, argv)) {
      Result<Output> wrong = diagnose(Kind::CommandLine, {{"problem", std::string(error.what())}});
      print(wrong, true);
    } else {
      app.exit(error);
    }
    return failed ? static_cast<int>(ExitCode::Usage) : 0;
  }
  options.import_.with_weights = weights != "none";
  options.import_.reference = weights == "reference";
  return dispatch(app, options);
}

}  // namespace
}  // namespace torchlift::cli

int main(int argc, char** argv) {
  // A full disk or a file size limit is an error of write(), not the end of the process.
  ::signal(SIGXFSZ, SIG_IGN);
  ::signal(SIGPIPE, SIG_IGN);
  try {
    return torchlift::cli::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "torchlift: internal error: %s\n", error.what());
    return static_cast<int>(torchlift::cli::ExitCode::Internal);
  }
}
