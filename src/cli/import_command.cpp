// torchlift import: a model file becomes a bundle.
#include <unistd.h>

#include <algorithm>

#include "base/interrupt.hpp"
#include "base/json.hpp"
#include "base/kinds.hpp"
#include "bundle/write.hpp"
#include "cli/execute.hpp"
#include "cli/importer.hpp"
#include "cli/version.hpp"

namespace torchlift::cli {
namespace {

// A tree whose leaves are not those of the call describes another program: it is left out.
std::optional<bundle::TreeNode> tree_for(const std::optional<torch::TreeSpec>& spec, size_t leaves) {
  if (!spec || torch::leaf_paths(*spec).size() != leaves) return std::nullopt;
  return tree_of(spec);
}

// A state that changes its type, or a number that is stored, would need another program for the next call.
Status expect_steady(const Lifted& lifted) {
  std::vector<Diagnostic> problems;
  for (auto& stored : lifted.state) {
    bool kept = stored.result && std::any_of(lifted.program.arguments.begin(), lifted.program.arguments.end(),
                                             [&](auto& argument) { return argument.result == stored.result; });
    if (kept) continue;
    problems.push_back(
        diagnose(Kind::ScriptState,
                 {{"path", stored.path},
                  {"value", stored.result ? "a tensor of another type than before" : lower::describe(stored.value)},
                  {"advice",
                   "`torchlift run` takes such a file, call by call; for a bundle keep the state outside of "
                   "the model, as an input and a result"}}));
  }
  if (!problems.empty()) return problems;
  return Unit{};
}

std::string text_of(const bundle::Argument& argument) {
  std::string out =
      std::string(bundle::name_of(argument.role)) + " " + argument.name + " " + bundle::text_of(argument.type);
  return argument.result ? out + " (written)" : out;
}

Output describe(const std::string& directory, const bundle::Manifest& manifest) {
  Output out;
  JsonWriter json;
  json.begin_object();
  json.key("directory").string(directory);
  json.key("programs").begin_array();
  out.text = directory + "\n";
  for (auto& program : manifest.programs) {
    json.string(program.file);
    out.text += "  " + program.file;
    for (auto& dim : program.dims) out.text += "  " + dim.symbol + "=" + std::to_string(dim.size);
    out.text += "\n";
  }
  json.end_array();
  for (auto& argument : manifest.programs.front().arguments)
    if (argument.role == bundle::ArgumentRole::Input) out.text += "  " + text_of(argument) + "\n";
  for (auto& result : manifest.programs.front().results)
    if (result.role == bundle::ResultRole::Output)
      out.text += "  output " + result.name + " " + bundle::text_of(result.type) + "\n";
  json.key("weights_bytes").integer(manifest.weights ? static_cast<int64_t>(manifest.weights->bytes) : 0);
  if (manifest.weights)
    out.text += "  " + manifest.weights->file + "  " + std::to_string(manifest.weights->bytes) + " bytes\n";
  json.end_object();
  out.json = std::move(json).take();
  return out;
}

}  // namespace

Result<Output> run_import(const ImportOptions& options) {
  if (is_directory(options.file) && ::access((options.file + "/manifest.json").c_str(), F_OK) == 0)
    return diagnose(Kind::BundleDirectory, {{"path", options.file}}, options.file);
  TRY(auto programs, parse_dims(options.lift.dims));
  TRY(auto file, ModelFile::open(options.file, options.lift.model));
  bundle::Bundle bundle;
  bundle.with_weights = options.with_weights;
  bundle.strict = options.lift.strict ? archive::Strict::Yes : archive::Strict::No;
  bundle.manifest.producer = "torchlift " + std::string(kVersion);
  bundle.manifest.source = file.source();
  bundle.manifest.precision = options.lift.precision;
  std::vector<Diagnostic> notes;
  ScriptCall call;
  if (file.is_script()) {
    TRY(call, script_call(options.lift));
  }
  for (auto& sizes : programs) {
    if (file.is_script()) TRY_OK(set_sizes(call, sizes.bindings));
    TRY(auto lifted, file.is_script() ? file.lift(call, options.lift, options.locations)
                                      : file.lift(sizes.bindings, options.lift, options.locations));
    TRY_OK(expect_steady(lifted));
    lifted.program.file = "model" + sizes.suffix + (options.lift.program == "artifact" ? ".mlirbc" : ".mlir");
    if (bundle.programs.empty()) {
      bundle.weights = std::move(lifted.weights);
      bundle.manifest.inputs = tree_for(lifted.input_tree, lifted.program.inputs.size());
      bundle.manifest.outputs = tree_for(lifted.output_tree, lifted.program.outputs.size());
      notes = std::move(lifted.notes);
    }
    bundle.manifest.programs.push_back(std::move(lifted.program));
    bundle.programs.push_back(std::move(lifted.text));
  }
  InterruptScope scope;
  TRY(auto written, bundle::write(options.directory, std::move(bundle)));
  Output out = describe(options.directory, written.manifest);
  out.notes = std::move(notes);
  out.notes.insert(out.notes.end(), written.warnings.begin(), written.warnings.end());
  return out;
}

}  // namespace torchlift::cli
