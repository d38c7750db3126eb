// The entry's arguments (inputs, then weights) and results (outputs, then everything that was written).
#include <algorithm>

#include "base/kinds.hpp"
#include "lower/evaluator.hpp"

namespace torchlift::lower {
namespace {

constexpr int64_t kInlinedConstant = 4096;  // bytes below which a constant of TorchScript's code stays one

bool same_view(const torch::Weight& a, const torch::Weight& b) {
  return a.record == b.record && a.dtype == b.dtype && a.storage_offset == b.storage_offset && a.sizes == b.sizes &&
         a.strides == b.strides;
}

// Whether the weight is its whole record, every element once: then it can stand for the storage.
bool covers_record(const torch::Weight& w) {
  Dims sizes = dims_of(w.sizes), strides = dims_of(w.strides);
  return w.storage_offset == 0 && product(sizes) == Dim(w.record_elements) &&
         is_non_overlapping_and_dense(sizes, strides);
}

}  // namespace

Tensor Evaluator::add_argument(EntryArgument argument, Dims strides, torch::WeightId weight, torch::RecordId record) {
  stablehlo::Type type{argument.dtype, argument.shape};
  stablehlo::Argument attributes{};
  attributes.name = argument.name;
  Value value = l_.hlo.argument(type, attributes);
  Tensor root = l_.make(value, std::move(strides));
  if (root.is_poison()) return root;
  storages_.push_back({root, value, out_.arguments.size(), weight, record});
  out_.arguments.push_back(std::move(argument));
  return root;
}

void Evaluator::make_inputs() {
  std::vector<std::string> paths = input_paths(program_);
  size_t leaf = 0;
  for (const torch::InputSpec& spec : program_.inputs) {
    if (spec.kind != torch::InputKind::User && spec.kind != torch::InputKind::Constant) continue;
    std::string path = leaf < paths.size() ? paths[leaf] : "input" + std::to_string(leaf);
    Leaf out{.path = path, .tensor = std::nullopt, .value = {}};
    auto* id = spec.argument.get<torch::ValueId>();
    if (spec.kind == torch::InputKind::Constant || !id) {
      out.value = value_of(spec.argument);
      // The graph may name the literal as an input of its own: give it its value.
    } else if (const torch::Value& value = program_.value(*id); value.kind == torch::ValueKind::Tensor && value.meta) {
      auto type = declared_type(*id);
      if (!type) {
        sink_.add(diagnose(Kind::UnboundSymbol, {{"symbol", value.name}, {"where", "input `" + path + "`"}}));
        environment_[id->at()] = Tensor();
      } else {
        Dims strides;
        for (const torch::SymExpr& s : value.meta->strides)
          if (auto dim = evaluate_size(s, options_.sizes)) strides.push_back(*dim);
        if (strides.size() != type->dims.size()) strides = contiguous_strides(type->dims);
        out.tensor = out_.arguments.size();
        EntryArgument argument{.role = ArgumentRole::Input,
                               .name = path,
                               .aliases = {},
                               .dtype = type->dtype,
                               .shape = type->dims,
                               .leaf = leaf,
                               .weight = {},
                               .whole_record = false,
                               .result = {}};
        environment_[id->at()] = add_argument(std::move(argument), std::move(strides), {}, {});
      }
    } else if (value.expr) {
      if (auto number = torch::evaluate(*value.expr, options_.sizes))
        environment_[id->at()] = std::visit([](const auto& n) { return IValue(n); }, *number);
      else sink_.add(diagnose(Kind::UnboundSymbol, {{"symbol", value.name}, {"where", "input `" + path + "`"}}));
      out.value = environment_[id->at()];
    }
    out_.inputs.push_back(std::move(out));
    ++leaf;
  }
}

// The tensor of a weight; the first one over a storage makes the argument, equal ones add their names to it.
Tensor Evaluator::weight_tensor(torch::WeightId id) {
  const torch::Weight& w = program_.weights[id.at()];
  for (EntryStorage& s : storages_) {
    if (!s.weight.has_value() || !same_view(program_.weights[s.weight.at()], w)) continue;
    if (s.argument && s.weight != id && !merged_.contains(w.record))
      out_.arguments[*s.argument].aliases.push_back(w.name);
    if (!merged_.contains(w.record) || !out_.arguments[*s.argument].whole_record) return s.root;
  }
  Dims sizes = dims_of(w.sizes), strides = dims_of(w.strides);
  if (merged_.contains(w.record)) {
    Tensor whole = whole_record(w.record);
    if (whole.dtype() != w.dtype)
      return l_.wrong("`" + w.name + "` is written, and its storage is also used as another dtype");
    return l_.view_strided(whole, sizes, strides, Dim(w.storage_offset));
  }
  int64_t bytes = product(sizes).concrete() * info(w.dtype).bytes;
  // A whole number that a TorchScript module keeps as a tensor (a stride, a length) decides shapes in traced code: it
  // is taken as it stands in the file, unless the program writes it.
  bool is_count = !program_.objects.empty() && !w.is_parameter && sizes.empty() && is_integral(w.dtype);
  int64_t inline_below =
      w.is_constant || is_count ? std::max(options_.inline_below, kInlinedConstant) : options_.inline_below;
  if (bytes < inline_below && options_.read_weight && !not_inlined_.contains(id)) {
    auto data = options_.read_weight(id);
    if (!data) {
      for (const Diagnostic& d : data.errors()) sink_.add(d);
      return {};
    }
    Tensor t = l_.make(l_.hlo.constant({w.dtype, sizes}, std::move(data).value()), strides);
    if (!t.is_poison()) storages_.push_back({t, t.node()->value, std::nullopt, id, w.record});
    return t;
  }
  EntryArgument argument{.role = ArgumentRole::Weight,
                         .name = w.name,
                         .aliases = {},
                         .dtype = w.dtype,
                         .shape = sizes,
                         .leaf = {},
                         .weight = id,
                         .whole_record = false,
                         .result = {}};
  return add_argument(std::move(argument), strides, id, w.record);
}

// One argument for a record whose views are written: the weight that covers it, else the flat storage.
Tensor Evaluator::whole_record(torch::RecordId record) {
  for (const EntryStorage& s : storages_)
    if (s.record == record) return s.root;
  torch::WeightId first, covering;
  for (size_t i = 0; i < program_.weights.size(); ++i) {
    if (program_.weights[i].record != record) continue;
    if (!first.has_value()) first = torch::WeightId(i);
    if (!covering.has_value() && covers_record(program_.weights[i])) covering = torch::WeightId(i);
  }
  if (covering.has_value()) {
    const torch::Weight& w = program_.weights[covering.at()];
    EntryArgument argument{.role = ArgumentRole::Weight,
                           .name = w.name,
                           .aliases = {},
                           .dtype = w.dtype,
                           .shape = dims_of(w.sizes),
                           .leaf = {},
                           .weight = covering,
                           .whole_record = false,
                           .result = {}};
    return add_argument(std::move(argument), dims_of(w.strides), covering, record);
  }
  const torch::Weight& w = program_.weights[first.at()];
  EntryArgument argument{.role = ArgumentRole::Weight,
                         .name = w.name + ".storage",
                         .aliases = {},
                         .dtype = w.dtype,
                         .shape = {Dim(w.record_elements)},
                         .leaf = {},
                         .weight = first,
                         .whole_record = true,
                         .result = {}};
  return add_argument(std::move(argument), {Dim(1)}, first, record);
}

void Evaluator::make_weights() {
  for (const torch::InputSpec& spec : program_.inputs) {
    auto* id = spec.argument.get<torch::ValueId>();
    if (!id) continue;
    if (spec.kind == torch::InputKind::Token || spec.kind == torch::InputKind::CustomObject) {
      // Tokens carry nothing; a custom object that is used is refused where it is used.
      environment_[id->at()] = torch::CustomObject{spec.target, ""};
      continue;
    }
    if (!spec.weight.has_value()) continue;
    Tensor& t = weights_[spec.weight.at()];
    if (t.is_poison()) t = weight_tensor(spec.weight);
    environment_[id->at()] = t;
  }
}

// ---- results

size_t Evaluator::add_result(EntryResult result, Value value) {
  result_values_.push_back(value);
  result_names_.push_back(result.name);
  out_.results.push_back(std::move(result));
  return out_.results.size() - 1;
}

size_t Evaluator::add_output(const std::string& path, const Tensor& tensor, Value value) {
  EntryResult result{.role = ResultRole::Output,
                     .name = path,
                     .aliases = {},
                     .dtype = tensor.dtype(),
                     .shape = tensor.shape(),
                     .storage_of = {}};
  for (const EntryStorage& s : storages_)
    if (tensor.shares_storage_with(s.root)) result.storage_of = s.argument;
  return add_result(std::move(result), value);
}

// A functional graph returns new contents: they are written at the end, as the exported module does.
void Evaluator::apply_mutation(const torch::OutputSpec& spec, const IValue& value) {
  auto* source = value.get<Tensor>();
  if (!source) return;
  for (const torch::InputSpec& input : program_.inputs) {
    auto* id = input.argument.get<torch::ValueId>();
    if (!id) continue;
    bool user = spec.kind == torch::OutputKind::UserInputMutation;
    bool hit = user ? input.kind == torch::InputKind::User && program_.value(*id).name == spec.target
                    : input.kind != torch::InputKind::User && input.target == spec.target;
    if (!hit) continue;
    if (auto* destination = environment_[id->at()].get<Tensor>()) l_.write_cast(*destination, *source);
    return;
  }
  report(diagnose(Kind::WrongArgument,
                  {{"message", "the program changes `" + spec.target + "`, which is none of its inputs"}}));
}

void Evaluator::make_outputs(const std::vector<IValue>& values) {
  current_ = nullptr;
  for (size_t i = 0; i < program_.outputs.size() && i < values.size(); ++i) {
    switch (program_.outputs[i].kind) {
      case torch::OutputKind::BufferMutation:
      case torch::OutputKind::ParameterMutation:
      case torch::OutputKind::UserInputMutation: apply_mutation(program_.outputs[i], values[i]); break;
      default: break;
    }
  }
  std::vector<std::string> paths = output_paths(program_);
  size_t leaf = 0;
  for (size_t i = 0; i < program_.outputs.size() && i < values.size(); ++i) {
    switch (program_.outputs[i].kind) {
      case torch::OutputKind::User:
      case torch::OutputKind::Loss:
      case torch::OutputKind::GradientToParameter:
      case torch::OutputKind::GradientToUserInput: break;
      default: continue;
    }
    Leaf out{.path = leaf < paths.size() ? paths[leaf] : "", .tensor = std::nullopt, .value = {}};
    ++leaf;
    if (auto* t = values[i].get<Tensor>()) {
      Value value = l_.read(*t);
      if (!value.has_value() && !sink_.has_errors())
        sink_.add(diagnose(Kind::Internal, {{"reason", "output " + out.path + " has no value"}}));
      out.tensor = add_output(out.path, *t, value);
    } else {
      out.value = values[i];
    }
    out_.outputs.push_back(std::move(out));
  }
}

void Evaluator::make_written_results() {
  for (EntryStorage& s : storages_) {
    if (!is_written(s)) continue;
    if (!s.argument) {
      written_constants_.insert(s.weight);
      continue;
    }
    if (!s.weight.has_value()) {
      EntryArgument& argument = out_.arguments[*s.argument];
      bool state = argument.role == ArgumentRole::State;
      argument.result = add_result({.role = state ? ResultRole::BufferMutation : ResultRole::InputMutation,
                                    .name = argument.name,
                                    .aliases = {},
                                    .dtype = argument.dtype,
                                    .shape = argument.shape,
                                    .storage_of = {}},
                                   l_.read(s.root));
      continue;
    }
    // Other names of the record are written with it.
    bool alone = true;
    for (const EntryStorage& other : storages_) alone = alone && (&other == &s || !(other.record == s.record));
    if (!alone && !merged_.contains(s.record)) {
      to_merge_.insert(s.record);
      continue;
    }
    EntryArgument& argument = out_.arguments[*s.argument];
    argument.role = ArgumentRole::State;
    argument.result = add_result({.role = ResultRole::BufferMutation,
                                  .name = argument.name,
                                  .aliases = argument.aliases,
                                  .dtype = argument.dtype,
                                  .shape = argument.shape,
                                  .storage_of = {}},
                                 l_.read(s.root));
    if (!merged_.contains(s.record)) continue;
    for (size_t i = 0; i < weights_.size(); ++i) {
      const torch::Weight& w = program_.weights[i];
      if (weights_[i].is_poison() || w.record != s.record || w.name == argument.name) continue;
      add_result({.role = ResultRole::BufferMutation,
                  .name = w.name,
                  .aliases = {},
                  .dtype = w.dtype,
                  .shape = dims_of(w.sizes),
                  .storage_of = {}},
                 l_.read(weights_[i]));
    }
  }
}

}  // namespace torchlift::lower
