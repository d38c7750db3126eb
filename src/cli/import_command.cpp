// torchlift import: a model file becomes a bundle.
#include <unistd.h>

#include <algorithm>

#include "base/interrupt.hpp"
#include "base/json.hpp"
#include "base/kinds.hpp"
#include "bundle/write.hpp"
#include "cli/compare.hpp"
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

// A case file whose inputs some program takes, and which holds what is expected.
Result<archive::SafetensorsFile> read_sample(const std::string& path, const bundle::Manifest& manifest) {
  auto wrong = [&](std::string problem, std::string advice) {
    return diagnose(Kind::SampleFile, {{"problem", std::move(problem)}, {"advice", std::move(advice)}}, path);
  };
  TRY(auto file, read_case_file(path));
  if (!expects_something(file))
    return wrong("holds no `out.`, `mut.` or `mutin.`", "store what PyTorch answers beside the inputs");
  TRY(auto leaves, leaves_of(file, manifest.programs.front().inputs, {path}));
  std::vector<bundle::TensorType> types;
  for (auto& leaf : leaves)
    if (auto* tensor = std::get_if<run::HostTensor>(&leaf)) types.push_back(tensor->type());
  TRY(size_t program, run::select_program(manifest, types, path));
  TRY(auto arguments, arguments_of(manifest.programs[program], leaves));
  TRY(auto raw, archive::SafetensorsFile::open(path));
  for (auto& argument : manifest.programs[program].arguments)
    if (argument.leaf && !raw.find("in." + std::to_string(*argument.leaf)))
      return wrong("has no `in." + std::to_string(*argument.leaf) + "`", "name the inputs `in.0`, `in.1`, ...");
  return raw;
}

bundle::Sample sample_of(const archive::SafetensorsFile& file) {
  bundle::Sample out;
  for (auto& tensor : file.tensors()) out.tensors.push_back({{tensor.name, tensor.dtype, tensor.shape}, tensor.bytes});
  out.metadata = file.metadata();
  return out;
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
  if (!options.with_weights) bundle.weights_as = bundle::WeightsAs::None;
  if (options.reference) bundle.weights_as = bundle::WeightsAs::Reference;
  bundle.shard_size = static_cast<uint64_t>(options.shard_size);
  auto conflict = [&](std::string option, std::string problem) {
    return diagnose(Kind::WeightsOption, {{"option", std::move(option)},
                                          {"problem", std::move(problem)},
                                          {"advice", std::string("leave out `--weights reference`")}});
  };
  if (options.reference && options.shard_size > 0) return conflict("--shard-size", "splits a file that is not written");
  if (options.reference && !options.weights_dtype.empty())
    return conflict("--weights-dtype", "changes weights that stay where they are");
  std::optional<DType> narrow;
  if (!options.weights_dtype.empty())
    narrow = options.weights_dtype == "bf16" ? DType::BFloat16 : DType::Float16;  // checked with the command line
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
    TRY(auto lifted, file.is_script() ? file.lift(call, options.lift, options.locations, narrow)
                                      : file.lift(sizes.bindings, options.lift, options.locations, narrow));
    TRY_OK(expect_steady(lifted));
    lifted.program.file = "model" + sizes.suffix + (options.lift.program == "artifact" ? ".mlirbc" : ".mlir");
    if (bundle.programs.empty()) {
      bundle.weights = std::move(lifted.weights);
      bundle.manifest.inlined = std::move(lifted.inlined);
      bundle.manifest.inputs = tree_for(lifted.input_tree, lifted.program.inputs.size());
      bundle.manifest.outputs = tree_for(lifted.output_tree, lifted.program.outputs.size());
      notes = std::move(lifted.notes);
    }
    bundle.manifest.programs.push_back(std::move(lifted.program));
    bundle.programs.push_back(std::move(lifted.text));
  }
  std::vector<archive::SafetensorsFile> samples;
  for (auto& path : options.samples) {
    TRY(auto sample, read_sample(path, bundle.manifest));
    samples.push_back(std::move(sample));
  }
  for (auto& sample : samples) bundle.samples.push_back(sample_of(sample));
  InterruptScope scope;
  TRY(auto written, bundle::write(options.directory, std::move(bundle)));
  Output out = describe(options.directory, written.manifest);
  out.notes = std::move(notes);
  out.notes.insert(out.notes.end(), written.warnings.begin(), written.warnings.end());
  return out;
}

}  // namespace torchlift::cli
