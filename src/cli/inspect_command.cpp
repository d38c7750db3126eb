// torchlift inspect: what a model file or a bundle holds, and whether it can be imported.
#include "base/json.hpp"
#include "base/text.hpp"
#include "bundle/read.hpp"
#include "cli/artifact.hpp"
#include "cli/custom.hpp"
#include "cli/execute.hpp"
#include "cli/importer.hpp"
#include "lower/own_ops.hpp"
#include "torch/print.hpp"

namespace torchlift::cli {
namespace {

// Text and JSON of one thing, side by side.
struct Page {
  std::string text;
  JsonWriter json;
};

void add_signature(Page& page, const bundle::Program& program) {
  page.text += "arguments\n";
  page.json.key("arguments").begin_array();
  for (auto& argument : program.arguments) {
    page.text += "  " + std::string(bundle::name_of(argument.role)) + "  " + argument.name + "  " +
                 bundle::text_of(argument.type);
    if (argument.result) page.text += "  written, result " + std::to_string(*argument.result);
    for (auto& alias : argument.aliases) page.text += "  also " + alias;
    page.text += "\n";
    page.json.begin_object().key("role").string(bundle::name_of(argument.role)).key("name").string(argument.name);
    page.json.key("type").string(bundle::text_of(argument.type)).end_object();
  }
  page.json.end_array();
  for (auto& leaf : program.inputs)
    if (!leaf.tensor) page.text += "  constant  " + leaf.path + "  " + bundle::text_of(leaf.constant) + "\n";
  page.text += "results\n";
  page.json.key("results").begin_array();
  for (auto& result : program.results) {
    page.text += "  " + std::string(bundle::name_of(result.role)) + "  " + result.name + "  " +
                 bundle::text_of(result.type) + "\n";
    page.json.begin_object().key("role").string(bundle::name_of(result.role)).key("name").string(result.name);
    page.json.key("type").string(bundle::text_of(result.type)).end_object();
  }
  page.json.end_array();
  for (auto& leaf : program.outputs)
    if (!leaf.tensor) page.text += "  constant  " + leaf.path + "  " + bundle::text_of(leaf.constant) + "\n";
}

void add_dims(Page& page, const torch::Program& program) {
  auto axes = lower::free_sizes(program);
  if (program.ranges.empty() && axes.empty()) return;
  page.text += "free sizes\n";
  page.json.key("free_axes").begin_array();
  for (auto& axis : axes) {
    page.text += "  " + axis.name + " = " + torch::to_text(axis.expr) + "\n";
    page.json.begin_object().key("name").string(axis.name).key("size").string(torch::to_text(axis.expr)).end_object();
  }
  page.json.end_array();
  page.json.key("free_sizes").begin_array();
  for (auto& range : program.ranges) {
    std::string low = range.min ? std::to_string(*range.min) : "-inf";
    std::string high = range.max ? std::to_string(*range.max) : "inf";
    page.text += "  " + torch::to_text(range.expr) + "  from " + low + " to " + high + "\n";
    page.json.begin_object()
        .key("expr")
        .string(torch::to_text(range.expr))
        .key("min")
        .string(low)
        .key("max")
        .string(high)
        .end_object();
  }
  page.json.end_array();
}

void add_operators(Page& page, const torch::Program& program, const LiftOptions& options,
                   std::vector<lower::CustomOp> custom) {
  lower::Options how;
  how.custom = std::move(custom);
  if (options.operators) how.own_schemas = options.operators->schemas;
  page.text += "operators\n";
  page.json.key("operators").begin_array();
  for (auto& use : lower::operators_of(program, table_of(options), how)) {
    page.text += "  " + std::to_string(use.count) + "\t" + use.target + (use.supported ? "\n" : "  not supported\n");
    page.json.begin_object().key("target").string(use.target).key("count").integer(static_cast<int64_t>(use.count));
    page.json.key("supported").boolean(use.supported).end_object();
  }
  page.json.end_array();
}

// The symbols that each result axis depends on are in its text: "f32[8 (s77),10]".
std::string symbolic_text(DType dtype, const Dims& dims) {
  return std::string(info(dtype).short_name) + "[" + join(dims, ",", [](const Dim& dim) { return dim.text(); }) + "]";
}

void add_lifted(Page& page, const Lifted& lifted) {
  add_signature(page, lifted.program);
  page.json.key("result_sizes").begin_array();
  page.text += "result sizes\n";
  for (size_t i = 0; i < lifted.result_types.size(); ++i) {
    std::string text = symbolic_text(lifted.result_types[i].dtype, lifted.result_types[i].dims);
    page.text += "  " + lifted.program.results[i].name + "  " + text + "\n";
    page.json.string(text);
  }
  page.json.end_array();
  if (!lifted.pins.empty()) page.text += "sizes fixed by a node\n";
  page.json.key("pinned").begin_array();
  for (auto& pin : lifted.pins) {
    page.text += "  " + pin.expr + "  by " + pin.node;
    if (!pin.source.empty())
      page.text += "  " + pin.source.front().file + ":" + std::to_string(pin.source.front().line);
    page.text += "\n";
    page.json.begin_object().key("expr").string(pin.expr).key("node").string(pin.node).end_object();
  }
  page.json.end_array();
  auto& agreement = lifted.agreement;
  page.text += "inference\n  " + std::to_string(agreement.nodes) + " results compared with the file, " +
               std::to_string(agreement.type_differences) + " differ; of " + std::to_string(agreement.strides) +
               " strides " + std::to_string(agreement.stride_differences) + " differ\n";
  page.json.key("agreement").begin_object();
  page.json.key("nodes").integer(static_cast<int64_t>(agreement.nodes));
  page.json.key("type_differences").integer(static_cast<int64_t>(agreement.type_differences));
  page.json.key("strides").integer(static_cast<int64_t>(agreement.strides));
  page.json.key("stride_differences").integer(static_cast<int64_t>(agreement.stride_differences));
  page.json.end_object();
}

// What a caller has to know of a TorchScript file to give its inputs.
void add_methods(Page& page, const torch::Program& program) {
  page.text += frontend::script::is_training(program) ? "training mode (--eval takes it out)\nmethods\n" : "methods\n";
  page.json.key("training").boolean(frontend::script::is_training(program));
  page.json.key("methods").begin_array();
  for (auto& method : frontend::script::methods(program)) {
    std::string parameters = join(method.parameters, ", ", [&](const torch::Parameter& parameter) {
      std::string out = parameter.name + ": " + parameter.type;
      return parameter.default_value ? out + " = " + torch::print(program, *parameter.default_value) : out;
    });
    std::string text = method.name + "(" + parameters + ") -> " + method.result_type;
    page.text += "  " + text + "\n";
    page.json.string(text);
  }
  page.json.end_array();
  page.text += "weights\n";
  page.json.key("weights").begin_array();
  for (auto& weight : program.weights) {
    if (weight.is_constant) continue;
    std::string text = weight.name + "  " + bundle::text_of(bundle::TensorType{weight.dtype, weight.sizes});
    page.text += "  " + text + "\n";
    page.json.string(text);
  }
  page.json.end_array();
}

Result<Output> inspect_bundle(const std::string& directory) {
  TRY(auto manifest, bundle::open(directory));
  Page page;
  page.json.begin_object();
  page.json.key("producer").string(manifest.producer).key("source").string(manifest.source.file);
  page.json.key("precision").string(manifest.precision);
  page.text = directory + "  bundle of " + manifest.source.file + " by " + manifest.producer + ", precision " +
              manifest.precision + "\n";
  page.json.key("programs").begin_array();
  for (auto& program : manifest.programs) {
    TRY_OK(bundle::read_program(directory, program));
    page.text += program.file;
    for (auto& dim : program.dims) page.text += "  " + dim.symbol + "=" + std::to_string(dim.size);
    page.text += "\n";
    page.json.begin_object().key("file").string(program.file);
    add_signature(page, program);
    page.json.end_object();
  }
  page.json.end_array().end_object();
  return Output{ExitCode::Ok, std::move(page.text), std::move(page.json).take(), {}};
}

}  // namespace

Result<Output> run_inspect(const InspectOptions& options) {
  if (is_directory(options.model)) {
    TRY_OK(expect_no_import_options(options.lift, options.model));
    return inspect_bundle(options.model);
  }
  TRY(bool is_artifact, is_artifact_file(options.model));
  if (is_artifact) {
    TRY_OK(expect_no_import_options(options.lift, options.model));
    return inspect_artifact(options);
  }
  TRY(auto requested, parse_dims(options.lift.dims));
  TRY(auto custom, read_custom(options.lift.custom));
  TRY(auto file, ModelFile::open(options.model, options.lift.model));
  Page page;
  Output out;
  page.json.begin_object();
  page.json.key("producer").string(file.program().producer).key("schema_version").string(file.program().schema_version);
  page.json.key("models").begin_array();
  for (auto& name : file.model_names()) page.json.string(name);
  page.json.end_array();
  page.text = options.model + "  " + file.program().producer + ", schema " + file.program().schema_version + "\n";
  ScriptCall call;
  if (file.is_script()) {
    add_methods(page, file.program());
    TRY(call, script_call(options.lift));
    TRY_OK(set_sizes(call, requested.front().bindings));
  }
  add_dims(page, file.program());
  add_operators(page, file.program(), options.lift, std::move(custom));
  if (file.is_script() && call.leaves.empty()) {  // nothing is known of the inputs
    page.json.end_object();
    page.text += "give --input NAME=f32[8,3] and --arg NAME=VALUE to see the program of a call\n";
    return Output{ExitCode::Ok, std::move(page.text), std::move(page.json).take(), {}};
  }
  auto lifted = file.is_script() ? file.lift(call, options.lift) : file.lift(requested.front().bindings, options.lift);
  page.json.key("can_be_imported").boolean(lifted.ok());
  if (lifted) {
    add_lifted(page, *lifted);
    out.notes = lifted->notes;
  } else {
    out.notes = lifted.errors();
    out.code = exit_code(lifted.errors());
  }
  page.json.end_object();
  out.text = std::move(page.text);
  out.json = std::move(page.json).take();
  return out;
}

}  // namespace torchlift::cli
