#include "cli/execute.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "base/kinds.hpp"
#include "bundle/read.hpp"
#include "pjrt/find.hpp"
#include "pjrt/plugin.hpp"
#include "torch/print.hpp"

namespace torchlift::cli {
namespace {

class Stopwatch {
 public:
  // Seconds since it was made or last asked.
  double lap() {
    auto now = std::chrono::steady_clock::now();
    double out = std::chrono::duration<double>(now - begin_).count();
    begin_ = now;
    return out;
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

std::vector<std::vector<int64_t>> shapes_of(const std::vector<LeafValue>& values) {
  std::vector<std::vector<int64_t>> out;
  for (auto& value : values) {
    auto* tensor = std::get_if<run::HostTensor>(&value);
    auto* constant = std::get_if<bundle::Constant>(&value);
    auto* number = constant ? std::get_if<int64_t>(constant) : nullptr;
    out.push_back(tensor ? tensor->type().shape : number ? std::vector<int64_t>{*number} : std::vector<int64_t>{});
  }
  return out;
}

Status check_records(const std::vector<bundle::WeightSource>& weights, bool strict, std::vector<Diagnostic>& notes) {
  std::set<std::pair<const archive::Source*, uint64_t>> seen;
  for (auto& weight : weights) {
    if (weight.record.source == nullptr || !seen.emplace(weight.record.source, weight.record.offset).second) continue;
    auto mismatch = archive::check_crc(weight.record, strict ? archive::Strict::Yes : archive::Strict::No);
    if (!mismatch) continue;
    if (mismatch->severity() == Severity::Error) return std::move(*mismatch);
    notes.push_back(std::move(*mismatch));
  }
  return Unit{};
}

// A constant that was not given is what the program was made for.
void fill_constants(std::vector<LeafValue>& values, const std::vector<bundle::Leaf>& leaves) {
  for (size_t k = 0; k < values.size() && k < leaves.size(); ++k)
    if (auto* constant = std::get_if<bundle::Constant>(&values[k]);
        constant && std::holds_alternative<std::monostate>(*constant) && !leaves[k].tensor)
      *constant = leaves[k].constant;
}

Result<pjrt::Client> make_client(const std::string& plugin) {
  TRY(auto file, pjrt::find_plugin(plugin));
  TRY(auto loaded, pjrt::Plugin::load(file));
  return pjrt::Client::create(loaded);
}

Result<Execution> execute_bundle(const RunOptions& options, const CaseFile& inputs) {
  Stopwatch watch;
  Execution out;
  TRY_OK(expect_no_import_options(options.lift, options.model));
  TRY(auto manifest, bundle::open(options.model));
  TRY(auto leaves, leaves_of(inputs, manifest.programs.front().inputs, options.inputs));
  std::vector<bundle::TensorType> types;
  for (auto& leaf : leaves)
    if (auto* tensor = std::get_if<run::HostTensor>(&leaf)) types.push_back(tensor->type());
  TRY(size_t number, run::select_program(manifest, types, options.model));
  out.program = manifest.programs[number];
  TRY(auto arguments, arguments_of(out.program, leaves));
  TRY(auto client, make_client(options.plugin));
  out.seconds.import = watch.lap();
  TRY(auto session, run::BundleSession::open(client, options.model, manifest, number, options.weights));
  out.seconds.compile = watch.lap();
  TRY(auto results, session.session().run(arguments, run::Fetch::All));
  out.seconds.run = watch.lap();
  out.answer = answer_of(out.program, results);
  return out;
}

}  // namespace

Status expect_no_import_options(const LiftOptions& lift, const std::string& model) {
  const LiftOptions defaults;
  std::string option;
  if (!lift.dims.empty()) option = "--dim";
  if (lift.precision != defaults.precision) option = "--precision";
  if (lift.inline_below != defaults.inline_below) option = "--inline-below";
  if (lift.seed != defaults.seed) option = "--seed";
  if (lift.allow_train_dropout != defaults.allow_train_dropout) option = "--allow-train-dropout";
  if (lift.program != defaults.program) option = "--program";
  if (!lift.stablehlo_version.empty()) option = "--stablehlo-version";
  if (!lift.custom.empty()) option = "--custom";
  if (option.empty()) return Unit{};
  return diagnose(Kind::ImportOption, {{"option", option}}, model);
}

bool is_directory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

Result<LoadedModel> LoadedModel::open(const std::string& path, const LiftOptions& options, const std::string& weights) {
  TRY(auto file, ModelFile::open(path, options.model));
  LoadedModel out(std::move(file), options);
  if (!weights.empty()) {
    TRY(out.weights_, bundle::StateDict::open(weights));
  }
  return out;
}

// The inputs as the file lists them, before anything is specialised: `tensor` only says that a tensor goes there.
std::vector<bundle::Leaf> LoadedModel::leaves() const {
  auto& program = file_.program();
  std::vector<std::string> paths = torch::input_paths(program);
  std::vector<bundle::Leaf> out;
  for (auto& spec : program.inputs) {
    if (spec.kind != torch::InputKind::User && spec.kind != torch::InputKind::Constant) continue;
    auto* id = spec.argument.get<torch::ValueId>();
    bool is_tensor = id && program.value(*id).kind == torch::ValueKind::Tensor;
    bundle::Leaf leaf{out.size() < paths.size() ? paths[out.size()] : std::to_string(out.size()), {}, {}};
    if (is_tensor) leaf.tensor = out.size();
    out.push_back(std::move(leaf));
  }
  return out;
}

std::vector<lower::Binding> LoadedModel::sizes_of(const std::vector<bundle::Leaf>& leaves,
                                                  const std::vector<LeafValue>& values) const {
  auto& program = file_.program();
  std::vector<lower::Binding> out;
  size_t k = 0;
  for (auto& spec : program.inputs) {
    if (spec.kind != torch::InputKind::User && spec.kind != torch::InputKind::Constant) continue;
    auto* id = spec.argument.get<torch::ValueId>();
    auto* tensor = std::get_if<run::HostTensor>(&values[k]);
    auto* constant = std::get_if<bundle::Constant>(&values[k]);
    auto* number = constant ? std::get_if<int64_t>(constant) : nullptr;
    bool is_input = spec.kind == torch::InputKind::User && id;
    // A tensor of another rank than the program's is refused by its type, which says more than a size could.
    if (is_input && tensor && program.value(*id).meta &&
        program.value(*id).meta->sizes.size() == tensor->type().shape.size())
      for (size_t axis = 0; axis < tensor->type().shape.size(); ++axis)
        out.push_back({leaves[k].path + "." + std::to_string(axis), tensor->type().shape[axis]});
    if (is_input && number && program.value(*id).kind == torch::ValueKind::SymInt)
      out.push_back({leaves[k].path, *number});
    ++k;
  }
  return out;
}

// The values that calls have written, before the session that holds them is dropped.
Status LoadedModel::keep_state() {
  if (!session_) return Unit{};
  for (size_t i = 0; i < program_->arguments.size(); ++i) {
    if (program_->arguments[i].role != bundle::ArgumentRole::State) continue;
    TRY(auto value, session_->read(i));
    state_.insert_or_assign(program_->arguments[i].name, std::move(value));
  }
  session_.reset();
  return Unit{};
}

Status LoadedModel::make_residents(const Lifted& lifted) {
  residents_.clear();
  bound_ = {};
  bundle::Match matched;
  if (weights_) {
    bundle::Manifest manifest;  // what a manifest would say of the weights
    manifest.inlined = lifted.inlined;
    TRY(matched, bundle::match(manifest, lifted.program, *weights_));
    TRY(bound_, bundle::views_of(matched));
  } else if (!checked_) {
    TRY_OK(check_records(lifted.weights, options_.strict, notes_));
  }
  checked_ = true;
  for (size_t i = 0; i < lifted.weights.size(); ++i) {
    auto& weight = lifted.weights[i];
    bundle::TensorType type{weight.dtype, weight.sizes};
    if (auto kept = state_.find(weight.names.front()); kept != state_.end()) {
      residents_.push_back(kept->second);
    } else if (weights_ && !matched.sources[i].names.empty()) {
      residents_.push_back(run::HostTensor::view(type, bound_.arguments[i]));
    } else if (auto view = bundle::dense_view(weight)) {
      residents_.push_back(run::HostTensor::view(type, *view));
    } else {
      TRY(auto bytes, bundle::dense_bytes(weight));
      residents_.push_back(run::HostTensor::own(type, std::move(bytes)));
    }
  }
  return Unit{};
}

// Lays out the weights of a program.
Status LoadedModel::take(Lifted lifted) {
  if (!checked_) notes_ = lifted.notes;
  TRY_OK(make_residents(lifted));
  program_ = std::move(lifted.program);
  text_ = std::move(lifted.text);
  stored_ = std::move(lifted.state);
  return Unit{};
}

Result<std::vector<LeafValue>> LoadedModel::prepare_exported(const CaseFile& inputs,
                                                             const std::vector<std::string>& files) {
  std::vector<bundle::Leaf> all = leaves();
  TRY(auto values, leaves_of(inputs, all, files));
  if (program_ && sizes_ == shapes_of(values)) return values;
  std::vector<lower::Binding> sizes = sizes_of(all, values);
  TRY(auto requested, parse_dims(options_.dims));
  sizes.insert(sizes.end(), requested.front().bindings.begin(), requested.front().bindings.end());
  TRY_OK(keep_state());
  program_.reset();
  TRY(auto lifted, file_.lift(sizes, options_));
  TRY_OK(take(std::move(lifted)));
  sizes_ = shapes_of(values);
  return values;
}

namespace {

// Calls with equal texts are served by one program.
std::string text_of(const ScriptCall& call) {
  std::string out = call.method;
  for (auto& leaf : call.leaves) {
    out += "\n" + leaf.path + "=";
    if (auto* tensor = std::get_if<frontend::script::TensorLeaf>(&leaf.value))
      out += bundle::text_of(bundle::TensorType{tensor->dtype, tensor->sizes});
    else out += torch::print({}, std::get<torch::Operand>(leaf.value));
  }
  return out;
}

}  // namespace

Result<std::vector<LeafValue>> LoadedModel::prepare_script(const CaseFile& inputs,
                                                           const std::vector<std::string>& files) {
  TRY(auto call, script_call(options_));
  TRY(auto given, script_leaves(inputs, file_.program(), options_.method));
  for (auto& leaf : given) call.leaves.push_back(std::move(leaf));
  std::string text = text_of(call);
  if (!program_ || stale_ || text != call_) {
    call.state = script_state_;
    TRY_OK(keep_state());
    program_.reset();
    TRY(auto lifted, file_.lift(call, options_));
    TRY_OK(take(std::move(lifted)));
    call_ = std::move(text);
    stale_ = false;
  }
  return leaves_of(inputs, program_->inputs, files);
}

void LoadedModel::keep_stored(const std::vector<run::HostTensor>& results) {
  for (auto& stored : stored_) {
    if (!stored.result) {
      auto before = script_state_.find(stored.path);
      auto* value = before == script_state_.end() ? nullptr : std::get_if<lower::IValue>(&before->second);
      stale_ = stale_ || !value || lower::describe(*value) != lower::describe(stored.value);
      script_state_.insert_or_assign(stored.path, stored.value);
      continue;
    }
    bool on_device = std::any_of(program_->arguments.begin(), program_->arguments.end(),
                                 [&](auto& argument) { return argument.result == stored.result; });
    if (on_device) continue;
    const run::HostTensor& value = results[*stored.result];
    script_state_.insert_or_assign(stored.path, stablehlo::Type{value.type().dtype, dims_of(value.type().shape)});
    state_.insert_or_assign(stored.path, value);
    stale_ = true;
  }
}

Result<std::vector<run::HostTensor>> LoadedModel::prepare(const CaseFile& inputs, const std::vector<std::string>& files,
                                                          run::Seconds& seconds) {
  Stopwatch watch;
  TRY(auto values, is_script() ? prepare_script(inputs, files) : prepare_exported(inputs, files));
  fill_constants(values, program_->inputs);
  auto arguments = arguments_of(*program_, values);
  seconds.import += watch.lap();
  return arguments;
}

Result<LeafValues> LoadedModel::call(std::span<const run::HostTensor> arguments, const pjrt::Client& client,
                                     run::ProgramCache& programs, run::Seconds& seconds) {
  Stopwatch watch;
  if (!session_) {
    TRY(auto* executable, programs.get(text_));
    TRY(session_, run::Session::create(client, *executable, *program_, residents_));
    seconds.compile += watch.lap();
  }
  TRY(auto results, session_->run(arguments, run::Fetch::All));
  seconds.run += watch.lap();
  keep_stored(results);
  return answer_of(*program_, results);
}

Result<Execution> execute(const RunOptions& options, const CaseFile& inputs) {
  if (is_directory(options.model)) return execute_bundle(options, inputs);
  Execution out;
  TRY(auto opened, LoadedModel::open(options.model, options.lift, options.weights));
  TRY(auto arguments, opened.prepare(inputs, options.inputs, out.seconds));
  TRY(auto client, make_client(options.plugin));
  run::ProgramCache programs(client);
  LoadedModel model = std::move(opened);  // its session goes before the programs and the client
  TRY(out.answer, model.call(arguments, client, programs, out.seconds));
  out.program = model.program();
  out.notes = model.notes();
  return out;
}

}  // namespace torchlift::cli
