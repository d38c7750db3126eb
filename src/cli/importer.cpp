#include "cli/importer.hpp"

#include <algorithm>
#include <charconv>

#include "aten/ops.hpp"
#include "base/kinds.hpp"
#include "base/text.hpp"
#include "bundle/state_dict.hpp"
#include "cli/artifact.hpp"
#include "cli/custom.hpp"
#include "cli/narrow_weights.hpp"
#include "frontend/script/load.hpp"
#include "lower/own_ops.hpp"

namespace torchlift::cli {
namespace {

bundle::TensorType type_of(DType dtype, const Dims& shape) { return {dtype, concrete(shape)}; }

bundle::ArgumentRole role_of(lower::ArgumentRole role) {
  switch (role) {
    case lower::ArgumentRole::Input: return bundle::ArgumentRole::Input;
    case lower::ArgumentRole::Weight: return bundle::ArgumentRole::Weight;
    case lower::ArgumentRole::State: return bundle::ArgumentRole::State;
  }
  return {};
}

bundle::ResultRole role_of(lower::ResultRole role) {
  switch (role) {
    case lower::ResultRole::Output: return bundle::ResultRole::Output;
    case lower::ResultRole::BufferMutation: return bundle::ResultRole::BufferMutation;
    case lower::ResultRole::InputMutation: return bundle::ResultRole::InputMutation;
  }
  return {};
}

bundle::Leaf leaf_of(const lower::Leaf& leaf) {
  return {leaf.path, leaf.tensor, leaf.tensor ? bundle::Constant() : constant_of(leaf.value)};
}

bundle::TreeNode node_of(const torch::TreeSpec& spec) {
  bundle::TreeNode out{spec.type, spec.is_leaf() ? "" : spec.context, spec.keys, {}};
  for (auto& child : spec.children) out.children.push_back(node_of(child));
  return out;
}

// The precision's names are those of --precision, checked where the command line is read.
lower::Precision precision_of(const std::string& name) {
  if (name == "default") return lower::Precision::Default;
  if (name == "high") return lower::Precision::High;
  return lower::Precision::Highest;
}

// Each size over the program's symbols, where one depends on them.
std::vector<std::string> sizes_of(const Dims& shape) {
  std::vector<std::string> out;
  bool symbolic = std::any_of(shape.begin(), shape.end(), [](const Dim& dim) { return dim.is_symbolic(); });
  for (auto& dim : shape)
    if (symbolic) out.push_back(dim.expr().text());
  return out;
}

bundle::Program describe(const lower::Lowered& lowered, const torch::Bindings& sizes) {
  bundle::Program out;
  for (auto& [symbol, size] : sizes) out.dims.push_back({symbol, size.concrete()});
  for (auto& argument : lowered.arguments)
    out.arguments.push_back({role_of(argument.role),
                             argument.name,
                             argument.aliases,
                             type_of(argument.dtype, argument.shape),
                             argument.leaf,
                             argument.result,
                             {},
                             true,
                             sizes_of(argument.shape)});
  for (auto& result : lowered.results)
    out.results.push_back({role_of(result.role), result.name, result.aliases, type_of(result.dtype, result.shape),
                           sizes_of(result.shape)});
  for (auto& leaf : lowered.inputs) out.inputs.push_back(leaf_of(leaf));
  for (auto& leaf : lowered.outputs) out.outputs.push_back(leaf_of(leaf));
  return out;
}

}  // namespace

Result<ModelFile> ModelFile::open(const std::string& path, const std::string& model) {
  TRY(auto archive, archive::Archive::open(path));
  if (archive->kind() == archive::FileKind::TorchScript) {
    auto script = frontend::script::load(*archive, {.author_lines = false});
    if (!script) script = frontend::script::load(*archive);  // to say it with the author's lines
    if (!script) return std::move(script.errors());
    frontend::Loaded loaded{std::move(script->program), std::move(script->records), {}};
    return ModelFile(std::move(archive), std::move(loaded), true);
  }
  TRY_OK(archive::expect_pt2(*archive));
  TRY(auto loaded, frontend::load(*archive, {.model = model}));
  return ModelFile(std::move(archive), std::move(loaded), false);
}

bundle::Source ModelFile::source() const {
  size_t slash = path().rfind('/');
  return {slash == std::string::npos ? path() : path().substr(slash + 1), is_script_ ? "torchscript" : "pt2",
          bundle::digest_of(archive_->zip())};
}

bundle::WeightSource ModelFile::weight_source(const lower::EntryArgument& argument) const {
  bundle::WeightSource out;
  out.names = {argument.name};
  out.names.insert(out.names.end(), argument.aliases.begin(), argument.aliases.end());
  if (!argument.weight) {  // a state that a call before has made
    out.dtype = argument.dtype;
    out.sizes = concrete(argument.shape);
    return out;
  }
  const torch::Weight& weight = loaded_.program.weights[argument.weight->at()];
  out.dtype = weight.dtype;
  out.sizes = argument.whole_record ? std::vector<int64_t>{weight.record_elements} : weight.sizes;
  out.strides = argument.whole_record ? std::vector<int64_t>{1} : weight.strides;
  out.storage_offset = argument.whole_record ? 0 : weight.storage_offset;
  if (weight.record.has_value()) out.record = loaded_.records[weight.record.at()];
  return out;
}

// All names of a weight: those of tied ones name the same view of the same storage.
std::vector<std::string> ModelFile::names_of(torch::WeightId id) const {
  const torch::Weight& a = weight_of(id);
  if (a.is_constant) return {};
  std::vector<std::string> out = {a.name};
  for (const torch::Weight& b : loaded_.program.weights)
    if (&b != &a && a.record.has_value() && b.record == a.record && b.dtype == a.dtype &&
        b.storage_offset == a.storage_offset && b.sizes == a.sizes && b.strides == a.strides)
      out.push_back(b.name);
  return out;
}

// Constants of the code, and buffers that are not persistent, are in no state dict.
bool ModelFile::in_state_dict(torch::WeightId id) const {
  if (weight_of(id).is_constant) return false;
  for (auto& input : loaded_.program.inputs)
    if (input.weight == id)
      return input.kind == torch::InputKind::Parameter || (input.kind == torch::InputKind::Buffer && input.persistent);
  return true;
}

// Names the file in what the evaluator says, which does not know it.
std::vector<Diagnostic> ModelFile::placed(std::vector<Diagnostic> problems) const {
  for (auto& problem : problems)
    if (problem.place.file.empty()) problem.place.file = path();
  return problems;
}

Result<Lifted> ModelFile::lift(const std::vector<lower::Binding>& sizes, const LiftOptions& options, bool locations,
                               std::optional<DType> weights_dtype) const {
  auto bound = lower::bind_sizes(program(), sizes);
  if (!bound) return placed(std::move(bound.errors()));
  lower::Options how;
  how.sizes = *bound;
  return lift_program(program(), std::move(how), options, locations, weights_dtype);
}

Result<Lifted> ModelFile::lift(const ScriptCall& call, const LiftOptions& options, bool locations,
                               std::optional<DType> weights_dtype) const {
  auto lift = [&](const torch::Program& script) -> Result<Lifted> {
    auto program = frontend::script::entry(script, call.method, call.leaves);
    if (!program) return placed(std::move(program.errors()));
    if (options.eval) frontend::script::set_training(*program, false);
    lower::Options how;
    how.state = call.state;
    return lift_program(*program, std::move(how), options, locations, weights_dtype);
  };
  if (!locations) {
    auto lifted = lift(loaded_.program);
    if (lifted && lifted->notes.empty()) return lifted;
  }
  // The author's lines are read only where something shows them.
  TRY(auto with_lines, frontend::script::load(*archive_));
  return lift(with_lines.program);
}

Result<Lifted> ModelFile::lift_program(const torch::Program& program, lower::Options how, const LiftOptions& options,
                                       bool locations, std::optional<DType> weights_dtype) const {
  auto custom = read_custom(options.custom);
  if (!custom) return std::move(custom.errors());
  how.precision = precision_of(options.precision);
  how.allow_train_dropout = options.allow_train_dropout;
  how.seed = options.seed;
  how.custom = std::move(*custom);
  if (options.operators) how.own_schemas = options.operators->schemas;
  how.inline_below = options.inline_below;
  std::map<std::string, bundle::InlinedWeight> inlined;
  how.read_weight = [&, this](torch::WeightId id) -> Result<std::vector<std::byte>> {
    lower::EntryArgument argument;
    argument.name = loaded_.program.weights[id.at()].name;
    argument.weight = id;
    TRY(auto bytes, bundle::dense_bytes(weight_source(argument)));
    for (auto& name : names_of(id))
      inlined[name] = {name, {weight_of(id).dtype, weight_of(id).sizes}, bundle::digest_of(ByteView(bytes))};
    return bytes;
  };
  auto lowered = lower::lower(program, table_of(options), how);
  if (!lowered) return placed(std::move(lowered.errors()));

  if (weights_dtype) narrow_weights(*lowered, *weights_dtype);
  Lifted out;
  out.program = describe(*lowered, how.sizes);
  for (size_t i = 0; i < lowered->arguments.size(); ++i)
    if (auto& weight = lowered->arguments[i].weight) out.program.arguments[i].in_state_dict = in_state_dict(*weight);
  for (auto& [name, weight] : inlined) out.inlined.push_back(std::move(weight));
  auto program_bytes = program_of(*lowered, options, locations);
  if (!program_bytes) return placed(std::move(program_bytes.errors()));
  out.text = std::move(*program_bytes);
  for (auto& argument : lowered->arguments)
    if (argument.role != lower::ArgumentRole::Input) out.weights.push_back(weight_source(argument));
  size_t next = 0;
  for (auto& argument : out.program.arguments) {
    if (argument.role == bundle::ArgumentRole::Input) continue;
    auto& source = out.weights[next++];
    if (argument.type.dtype == source.dtype) continue;
    argument.model_dtype = source.dtype;
    source.narrow = argument.type.dtype;
  }
  for (auto& result : lowered->results) out.result_types.push_back({result.dtype, result.shape});
  out.notes = placed(std::move(lowered->notes));
  out.agreement = std::move(lowered->agreement);
  out.pins = std::move(lowered->pins);
  out.input_tree = program.input_tree;
  out.output_tree = lowered->output_tree ? lowered->output_tree : program.output_tree;
  out.state = std::move(lowered->state);
  return out;
}

const lower::OpTable& table_of(const LiftOptions& options) {
  return options.operators ? options.operators->table : aten::table();
}

Result<std::vector<Sizes>> parse_dims(const std::vector<std::string>& dims) {
  auto wrong = [](const std::string& text, std::string problem) {
    return diagnose(Kind::DimOption, {{"option", text}, {"problem", std::move(problem)}});
  };
  std::vector<Sizes> out = {{}};
  for (auto& text : dims) {
    size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0) return wrong(text, "has no `=`");
    std::string name = text.substr(0, equals);
    std::vector<int64_t> sizes;
    for (size_t at = equals + 1; at <= text.size();) {
      size_t comma = std::min(text.find(',', at), text.size());
      int64_t size = 0;
      auto [end, error] = std::from_chars(text.data() + at, text.data() + comma, size);
      if (error != std::errc() || end != text.data() + comma)
        return wrong(text, "has " + quoted(text.substr(at, comma - at)) + " in the place of a number");
      if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) sizes.push_back(size);
      at = comma + 1;
    }
    if (sizes.size() > 1 && out.size() > 1) return wrong(text, "is the second with several sizes");
    if (sizes.size() > 1) {
      Sizes shared = out.front();
      out.clear();
      for (int64_t size : sizes) out.push_back({".b" + std::to_string(size), shared.bindings});
    }
    for (size_t i = 0; i < out.size(); ++i) out[i].bindings.push_back({name, sizes[sizes.size() > 1 ? i : 0]});
  }
  return out;
}

bundle::Constant constant_of(const lower::IValue& value) {
  if (auto* b = value.get<bool>()) return *b;
  if (auto* d = value.get<Dim>()) return d->concrete();
  if (auto* f = value.get<double>()) return *f;
  if (auto* c = value.get<std::complex<double>>()) return *c;
  if (auto* s = value.get<std::string>()) return *s;
  if (value.is_none()) return {};
  return bundle::Repr{lower::describe(value)};
}

std::optional<bundle::TreeNode> tree_of(const std::optional<torch::TreeSpec>& spec) {
  if (!spec) return std::nullopt;
  return node_of(*spec);
}

}  // namespace torchlift::cli
