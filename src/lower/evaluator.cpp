// One walk over the program's instructions: operands are looked up, bound to the operator's schema, and handed to its
// row; results are checked against what the file declares. A node that fails is reported and replaced by a stand-in of
// the declared type, so that one run reports every problem.
#include "lower/evaluator.hpp"

#include <algorithm>

#include "base/kinds.hpp"
#include "base/text.hpp"
#include "lower/call_schema.hpp"
#include "lower/overloads.hpp"
#include "stablehlo/passes.hpp"
#include "stablehlo/verify.hpp"

namespace torchlift::lower {
namespace {

constexpr int64_t kMaxGraphDepth = 64;
constexpr int64_t kMaxScriptDepth = 300;       // calls, branches and loops within each other
constexpr size_t kMaxScriptSteps = 1'000'000;  // instructions walked, those of loops each time
constexpr size_t kMaxPlacesSeen = 64;

// The caller's own schemas, then PyTorch's.
const torch::Schema* find_schema(const Options& options, std::string_view full_name) {
  for (const torch::Schema& own : options.own_schemas)
    if (own.full_name() == full_name) return &own;
  return torch::find_schema(full_name);
}

// Calls fn on the tensors in a value. Of containers of scripts, which may hold themselves or one another many times, on
// the first kMaxPlacesSeen places: whoever asks for the rest (the builders, which pass poison on) sees them there.
template <typename Fn>
void for_each_tensor(const IValue& v, Fn&& fn, size_t& places) {
  if (places >= kMaxPlacesSeen) return;
  ++places;
  if (auto* t = v.get<Tensor>()) fn(*t);
  if (auto* list = v.get<ListRef>())
    for (size_t i = 0; i < (*list)->items.size() && places < kMaxPlacesSeen; ++i)
      for_each_tensor((*list)->items[i], fn, places);
  if (auto* tuple = v.get<TupleRef>())
    for (const IValue& item : (*tuple)->items) for_each_tensor(item, fn, places);
  if (auto* dict = v.get<DictRef>())
    for (size_t i = 0; i < (*dict)->items.size() && places < kMaxPlacesSeen; ++i)
      for_each_tensor((*dict)->items[i].second, fn, places);
}

template <typename Fn>
void for_each_tensor(const IValue& v, Fn&& fn) {
  if (auto* list = v.get<IValue::List>()) {
    for (const IValue& item : *list) for_each_tensor(item, fn);
    return;
  }
  size_t places = 0;
  for_each_tensor(v, fn, places);
}

bool any_tensor(const std::vector<NamedValue>& operands, bool (*predicate)(const Tensor&)) {
  bool found = false;
  for (const NamedValue& o : operands)
    for_each_tensor(o.value, [&](const Tensor& t) { found = found || predicate(t); });
  return found;
}

}  // namespace

Evaluator::Evaluator(const torch::Program& program, const OpTable& table, const Options& options, const Merged& merged,
                     const std::set<torch::WeightId>& not_inlined)
    : program_(program),
      table_(table),
      options_(options),
      merged_(merged),
      not_inlined_(not_inlined),
      l_(out_.module, options.precision),
      custom_calls_(out_.module, options.custom),
      environment_(program.values.size()),
      weights_(program.weights.size()),
      objects_(program.objects.size()),
      active_(program.functions.size()) {
  l_.allow_train_dropout = options.allow_train_dropout;
  l_.seed = options.seed;
  if (options.fail_operation) l_.hlo.fail_operation(*options.fail_operation);
  l_.call_graph = [this](torch::BlockId block, std::vector<IValue> inputs) { return walk(block, std::move(inputs)); };
  if (!program.root.has_value()) return;
  script_.emplace(program);
  script_->call = [this](torch::FunctionId id, std::vector<IValue> arguments) {
    return call_function(id, std::move(arguments));
  };
  script_->object = [this](torch::ObjectId id) { return object(id); };
  script_->weight = [this](torch::WeightId id) { return IValue(weight(id)); };
  l_.script = &*script_;
}

std::optional<Lowered> Evaluator::run() {
  make_inputs();
  make_weights();
  if (script_) make_root();
  const torch::Block& entry = program_.entry();
  std::vector<IValue> inputs;
  for (torch::ValueId id : entry.inputs) inputs.push_back(environment_[id.at()]);
  std::vector<IValue> outputs = walk(torch::BlockId(0), std::move(inputs));
  if (script_) make_script_outputs(outputs.empty() ? IValue() : outputs[0]);
  else make_outputs(outputs);
  collect_refusals({});
  if (hidden_ > 0)
    sink_.add(diagnose(Kind::HiddenNodes,
                       {{"count", static_cast<int64_t>(hidden_)}, {"total", static_cast<int64_t>(visited_)}}));
  if (sink_.has_errors()) return std::nullopt;
  make_written_results();
  if (script_) {
    make_attribute_results();
    if (sink_.has_errors()) return std::nullopt;
    drop_unused_weights();
  }
  l_.hlo.set_results(result_values_, result_names_);
  for (const Lower::Pin& pin : l_.pins()) {
    if (pin.node < 0) continue;
    const torch::Inst& inst = program_.insts[static_cast<size_t>(pin.node)];
    out_.pins.push_back({inst.name, pin.expr, program_.location(inst.location).frames});
  }
  out_.operations = l_.hlo.operations();
  out_.definitions = custom_calls_.definitions();
  return std::move(out_);
}

IValue Evaluator::value_of(const torch::Operand& operand) {
  auto value = [this](torch::ValueId id) {
    if (auto found = doubted_.find(id); found != doubted_.end()) {
      ++out_.agreement.type_differences;
      sink_.add(std::move(found->second));
      doubted_.erase(found);
    }
    return environment_[id.at()];
  };
  return literal(operand, {.value = value,
                           .weight = [this](torch::WeightId id) { return IValue(weight(id)); },
                           .object = [this](torch::ObjectId id) { return object(id); }});
}

std::vector<IValue> Evaluator::walk(torch::BlockId block_id, std::vector<IValue> inputs) {
  const torch::Block& block = program_.block(block_id);
  bool too_deep = depth_ >= (script_ ? kMaxScriptDepth : kMaxGraphDepth);
  if (too_deep || inputs.size() != block.inputs.size()) {
    l_.wrong(too_deep ? "graphs nested too deep, or a function that calls itself without end"
                      : "a graph of " + std::to_string(block.inputs.size()) + " inputs gets " +
                            std::to_string(inputs.size()));
    return std::vector<IValue>(block.outputs.size(), IValue(Tensor()));
  }
  ++depth_;
  for (size_t i = 0; i < inputs.size(); ++i) environment_[block.inputs[i].at()] = std::move(inputs[i]);
  for (torch::InstId id : block.insts) visit(id);
  std::vector<IValue> outputs;
  for (const torch::Operand& o : block.outputs) outputs.push_back(value_of(o));
  --depth_;
  return outputs;
}

void Evaluator::visit(torch::InstId id) {
  const torch::Inst& inst = program_.inst(id);
  const torch::Inst* outer = std::exchange(current_, &inst);
  int64_t outer_node = std::exchange(l_.current_node, static_cast<int64_t>(id.at()));
  const torch::Location& location = program_.location(inst.location);
  stablehlo::Location line{.file = {}, .line = 0, .name = inst.name};
  if (!location.frames.empty()) {
    line.file = location.frames.front().file;
    line.line = location.frames.front().line;
  }
  l_.hlo.set_location(line);
  ++visited_;
  if (script_ && visited_ == kMaxScriptSteps) {
    report(diagnose(Kind::ScriptTooLong, {{"limit", static_cast<int64_t>(kMaxScriptSteps)}}));
    script_->stopped = true;
  }
  if (script_ && script_->stopped) {
    define(inst, {}, true, true, 0);
    current_ = outer;
    l_.current_node = outer_node;
    return;
  }

  std::vector<NamedValue> operands;
  for (const torch::NamedOperand& o : inst.operands)
    operands.push_back({o.name, value_of(o.value), !o.value.get<torch::ValueId>()});
  const ScriptRow* script = inst.kind == torch::InstKind::Overloaded ? table_.script(inst.target) : nullptr;
  bool poisoned =
      !(script && script->takes_poison) && any_tensor(operands, [](const Tensor& t) { return t.is_poison(); });
  bool tainted = poisoned || any_tensor(operands, [](const Tensor& t) { return !t.is_poison() && t.node()->failed; });
  if (tainted) ++hidden_;

  size_t nodes_before = l_.new_node()->index;
  std::vector<IValue> results;
  bool failed = poisoned;
  if (!poisoned) {
    size_t errors = sink_.error_count();
    results = call(inst, operands);
    failed = collect_refusals(operands) || sink_.error_count() > errors;
  }
  define(inst, std::move(results), failed, tainted, nodes_before);
  current_ = outer;
  l_.current_node = outer_node;
}

std::vector<IValue> Evaluator::call(const torch::Inst& inst, std::vector<NamedValue> operands) {
  if (const CustomOp* op = custom_calls_.find(inst.target)) return call_custom(inst, *op, operands);
  if (inst.kind == torch::InstKind::Overloaded) return call_overloaded(inst, std::move(operands));
  if (const Row* row = table_.exact(inst.target); row && row->positional) {
    std::vector<IValue> values;
    for (NamedValue& o : operands) values.push_back(std::move(o.value));
    if (row->params.size() > values.size()) {
      l_.wrong("`" + inst.target + "` takes " + std::to_string(row->params.size()) + " arguments, got " +
               std::to_string(values.size()));
      return {};
    }
    return row->call(l_, values);
  }
  const torch::Schema* schema = find_schema(options_, inst.target);
  if (!schema) {
    Kind kind = inst.target.starts_with("higher_order::") ? Kind::UnsupportedOperator : Kind::UnknownOperator;
    l_.refuse(kind, {{"operator", inst.target}});
    return {};
  }
  return call_schema(*schema, std::move(operands));
}

std::vector<IValue> Evaluator::call_overloaded(const torch::Inst& inst, std::vector<NamedValue> operands) {
  if (const ScriptRow* row = table_.script(inst.target))
    if (auto results = row->call(l_, operands)) return script_results(inst, std::move(*results));
  auto chosen = choose_overload(l_, inst.target, std::move(operands));
  if (!chosen) return {};
  return script_results(inst, call_schema(*chosen->schema, std::move(chosen->arguments)));
}

std::vector<IValue> Evaluator::call_schema(const torch::Schema& schema, std::vector<NamedValue> operands) {
  auto done = lower::call_schema(l_, table_, schema, std::move(operands));
  if (!done) return {};
  auto& [arguments, results] = *done;
  bool inplace_view = std::find(schema.tags.begin(), schema.tags.end(), "inplace_view") != schema.tags.end();
  if (!inplace_view) return std::move(results);
  if (changes_entry_shape(arguments, results))
    l_.wrong(
        "the shape of an input, parameter or buffer is changed in place, which the caller of a program cannot see; "
        "use the form without `_`");
  if (script_ && !arguments.empty() && !results.empty() && arguments[0].is_tensor() && results[0].is_tensor())
    replace(*arguments[0].get<Tensor>(), *results[0].get<Tensor>());
  return std::move(results);
}

bool Evaluator::changes_entry_shape(const std::vector<IValue>& arguments, const std::vector<IValue>& results) const {
  auto* self = arguments.empty() ? nullptr : arguments[0].get<Tensor>();
  auto* view = results.empty() ? nullptr : results[0].get<Tensor>();
  if (!self || !view || (self->shape() == view->shape() && self->strides() == view->strides())) return false;
  auto is_self = [self](const Tensor& t) { return t == *self; };
  return std::any_of(storages_.begin(), storages_.end(), [&](const EntryStorage& s) { return is_self(s.root); }) ||
         std::any_of(weights_.begin(), weights_.end(), is_self);
}

// ---- results

std::optional<stablehlo::Type> Evaluator::declared_type(torch::ValueId id) const {
  const torch::Value& value = program_.value(id);
  if (!value.meta || value.kind != torch::ValueKind::Tensor) return std::nullopt;
  stablehlo::Type type{value.meta->dtype, {}};
  for (const torch::SymExpr& size : value.meta->sizes) {
    auto dim = evaluate_size(size, options_.sizes);
    if (!dim) return std::nullopt;
    type.dims.push_back(*dim);
  }
  return type;
}

IValue Evaluator::stand_in(torch::ValueId id) {
  const torch::Value& value = program_.value(id);
  if (auto type = declared_type(id)) {
    Tensor t = l_.make(l_.hlo.undefined(*type));
    if (!t.is_poison()) t.node()->failed = true;
    return t;
  }
  if (value.expr)
    if (auto number = torch::evaluate(*value.expr, options_.sizes))
      return std::visit([](const auto& n) { return IValue(n); }, *number);
  switch (value.kind) {
    case torch::ValueKind::SymInt: return Dim(1);
    case torch::ValueKind::SymFloat: return 1.0;
    case torch::ValueKind::SymBool: return false;
    default: return Tensor();
  }
}

void Evaluator::define(const torch::Inst& inst, std::vector<IValue> results, bool failed, bool tainted,
                       size_t nodes_before) {
  // A row that gives one list serves nodes that declare its elements one by one, and the reverse.
  if (results.size() == 1 && inst.results.size() > 1 && !script_)
    if (auto* list = std::get_if<IValue::List>(&results[0].data)) results = IValue::List(*list);
  for (size_t i = 0; i < inst.results.size(); ++i) {
    IValue value = i < results.size() ? std::move(results[i]) : IValue();
    const torch::Operand& slot = inst.results[i];
    if (auto* id = slot.get<torch::ValueId>()) {
      environment_[id->at()] =
          checked(inst, *id, std::move(value), failed || i >= results.size(), tainted, nodes_before);
    } else if (auto* list = slot.get<torch::Operand::List>()) {
      auto* items = std::get_if<IValue::List>(&value.data);
      if (!failed && (!items || items->size() != list->size()))
        report(diagnose(Kind::TypeDiffers, {{"operator", inst.target},
                                            {"inferred", std::to_string(items ? items->size() : 0) + " tensors"},
                                            {"declared", std::to_string(list->size()) + " tensors"}}));
      for (size_t k = 0; k < list->size(); ++k) {
        auto* element = (*list)[k].get<torch::ValueId>();
        if (!element) continue;
        bool missing = !items || k >= items->size();
        environment_[element->at()] =
            checked(inst, *element, missing ? IValue() : (*items)[k], failed || missing, tainted, nodes_before);
      }
    }
  }
}

IValue Evaluator::checked(const torch::Inst& inst, torch::ValueId id, IValue value, bool failed, bool tainted,
                          size_t nodes_before) {
  if (failed) return stand_in(id);
  auto* tensor = std::get_if<Tensor>(&value.data);
  if (program_.value(id).kind == torch::ValueKind::Any) {
    if (tensor && !tensor->is_poison() && tainted && tensor->node()->index > nodes_before)
      tensor->node()->failed = true;
    return value;
  }
  if (!tensor) {
    if (program_.value(id).kind == torch::ValueKind::Tensor && value.is_number()) return l_.wrap(*value.number());
    if (program_.value(id).kind == torch::ValueKind::Tensor && value.is_none()) return stand_in(id);
    return value;
  }
  if (tensor->is_poison()) {
    report(diagnose(Kind::CannotLower, {{"operator", inst.target}, {"problem", std::string("it gives no tensor")}}));
    return stand_in(id);
  }
  TensorNode* node = tensor->node();
  bool fresh = node->index > nodes_before;
  if (fresh && tainted) node->failed = true;
  auto declared = declared_type(id);
  if (!declared) return value;

  ++out_.agreement.nodes;
  stablehlo::Type inferred{tensor->dtype(), tensor->shape()};
  if (!(inferred == *declared)) {
    auto text = [](const stablehlo::Type& t) { return std::string(info(t.dtype).short_name) + text_of(t.dims); };
    Diagnostic differs = diagnose(
        Kind::TypeDiffers, {{"operator", inst.target}, {"inferred", text(inferred)}, {"declared", text(*declared)}});
    if (fresh) doubted_.insert_or_assign(id, placed(std::move(differs)));
    else report(std::move(differs));  // others hold the same tensor by another name
    return stand_in(id);
  }
  const torch::TensorMeta& meta = *program_.value(id).meta;
  if (meta.strides.size() != declared->dims.size()) return value;
  Dims strides;
  for (const torch::SymExpr& s : meta.strides)
    if (auto dim = evaluate_size(s, options_.sizes)) strides.push_back(*dim);
  if (strides.size() != declared->dims.size()) return value;
  ++out_.agreement.strides;
  // Only what a stride can be seen by: axes of size one, and empty tensors, are alike.
  bool same = tensor->is_empty();
  if (!same) {
    same = true;
    for (size_t i = 0; i < strides.size(); ++i)
      same = same && (declared->dims[i] == Dim(1) || strides[i] == node->strides[i]);
  }
  if (!same) {
    ++out_.agreement.stride_differences;
    if (out_.agreement.examples.size() < 20)
      out_.agreement.examples.push_back("%" + inst.name + " " + inst.target + ": " + text_of(node->strides) +
                                        " declared " + text_of(strides) + " of " + text_of(declared->dims));
  }
  if (fresh && !node->base) node->strides = std::move(strides);
  return value;
}

// ---- diagnostics

bool Evaluator::collect_refusals(const std::vector<NamedValue>& operands) {
  bool any = false;
  auto describe_operands = [&] {
    std::string out;
    for (const NamedValue& o : operands) {
      if (!o.value.is_tensor() && !o.value.get<IValue::List>()) continue;
      if (!out.empty()) out += ", ";
      if (!o.name.empty()) out += o.name + " ";
      std::string text = describe(o.value);
      out += text.size() > 200 ? text.substr(0, 200) + "..." : text;
    }
    return out;
  };
  for (Lower::Refusal& r : l_.take_refusals()) {
    Diagnostic d = diagnose(r.kind, std::move(r.arguments));
    d.got = describe_operands();
    any = any || d.severity() == Severity::Error;
    report(std::move(d));
  }
  const auto& failures = l_.hlo.failures();
  bool refused = any;
  for (; failures_seen_ < failures.size(); ++failures_seen_) {
    const stablehlo::Failure& f = failures[failures_seen_];
    any = true;
    if (refused) continue;  // the lowering has said why
    Diagnostic d =
        diagnose(Kind::CannotLower,
                 {{"operator", current_ ? current_->target : std::string("the program")},
                  {"problem", std::string(stablehlo::info(f.opcode).name) + ": " + f.message + ", got " + f.got}});
    d.got = describe_operands();
    report(std::move(d));
  }
  return any;
}

Diagnostic Evaluator::placed(Diagnostic d) const {
  if (current_) {
    d.place.node = "%" + current_->name;
    d.place.node_index = static_cast<int64_t>(current_ - program_.insts.data());
    d.place.node_count = static_cast<int64_t>(program_.insts.size());
    const torch::Location& location = program_.location(current_->location);
    d.place.source = location.frames;
    for (auto call = call_stack_.rbegin(); call != call_stack_.rend(); ++call)
      d.place.source.insert(d.place.source.end(), (*call)->frames.begin(), (*call)->frames.end());
    d.place.module = location.module_path;
    if (!location.module_type.empty())
      d.place.module += (d.place.module.empty() ? "" : " ") + ("(" + location.module_type + ")");
  }
  return d;
}

void Evaluator::report(Diagnostic d) { sink_.add(placed(std::move(d))); }

// ---- public

namespace {

bool is_known(const OpTable& table, const Options& options, const std::string& target) {
  const Row* row = table.exact(target);
  return (row && row->positional) || find_schema(options, target);
}

// Those of the caller's own operators that no call of the program names: misspelt, most likely.
std::vector<Diagnostic> unused(const torch::Program& program, const OpTable& table, const Options& options) {
  std::set<std::string> unknown;
  for (const torch::Inst& inst : program.insts)
    if (!is_known(table, options, inst.target)) unknown.insert(inst.target);
  std::string others = join(unknown, ", ", [](const std::string& name) { return printable(name); });
  std::vector<Diagnostic> out;
  for (const CustomOp& op : options.custom)
    if (std::none_of(program.insts.begin(), program.insts.end(),
                     [&](const torch::Inst& inst) { return op.means(inst.target); }))
      out.push_back(
          diagnose(Kind::CustomUnused, {{"operator", op.name}, {"others", others.empty() ? "none" : others}}));
  return out;
}

}  // namespace

Result<Lowered> lower(const torch::Program& program, const OpTable& table, const Options& options) {
  if (auto problems = unused(program, table, options); !problems.empty()) return problems;
  Evaluator::Merged merged;
  std::set<torch::WeightId> not_inlined;
  // A walk may find that weights over one record are written: then they are one argument, and the walk begins anew.
  // Both sets only grow, so this ends.
  while (true) {
    Evaluator evaluator(program, table, options, merged, not_inlined);
    std::optional<Lowered> lowered = evaluator.run();
    if (!lowered) return evaluator.sink().all();
    if (evaluator.to_merge().empty() && evaluator.written_constants().empty()) {
      stablehlo::simplify(lowered->module);
      std::vector<Diagnostic> broken;
      for (const stablehlo::VerifyError& e : stablehlo::verify(lowered->module))
        broken.push_back(diagnose(Kind::Internal, {{"reason", "the program does not verify: " + e.message +
                                                                  " of node %" + e.location.name}}));
      if (!broken.empty()) return broken;
      lowered->notes = evaluator.sink().all();
      return std::move(*lowered);
    }
    merged.insert(evaluator.to_merge().begin(), evaluator.to_merge().end());
    not_inlined.insert(evaluator.written_constants().begin(), evaluator.written_constants().end());
  }
}

namespace {

bool has_row(const torch::Schema& schema, const OpTable& table) {
  if (table.find(schema)) return true;
  const torch::Schema* functional = torch::functional_partner(schema);
  return functional && table.find(*functional);
}

}  // namespace

std::vector<OperatorUse> operators_of(const torch::Program& program, const OpTable& table, const Options& options) {
  std::vector<OperatorUse> out;
  for (const torch::Inst& inst : program.insts) {
    auto it = std::find_if(out.begin(), out.end(), [&](const OperatorUse& u) { return u.target == inst.target; });
    if (it != out.end()) {
      ++it->count;
      continue;
    }
    const Row* row = table.exact(inst.target);
    bool supported = row && row->positional;
    if (inst.kind == torch::InstKind::Overloaded) {
      const auto& overloads = torch::schemas_named(inst.target);
      supported = table.script(inst.target) ||
                  std::any_of(overloads.begin(), overloads.end(), [&](auto& schema) { return has_row(schema, table); });
    } else if (!supported) {
      const torch::Schema* schema = find_schema(options, inst.target);
      supported = schema && has_row(*schema, table);
    }
    bool is_custom = std::any_of(options.custom.begin(), options.custom.end(),
                                 [&](const CustomOp& op) { return op.means(inst.target); });
    out.push_back({inst.target, 1, supported || is_custom});
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.target < b.target; });
  return out;
}

}  // namespace torchlift::lower
