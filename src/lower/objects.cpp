// What a TorchScript program has beside its graph: objects with attributes, functions that are called, and a result of
// any structure.
#include <algorithm>
#include <set>

#include "base/kinds.hpp"
#include "lower/evaluator.hpp"
#include "torch/script_type.hpp"

namespace torchlift::lower {
namespace {

constexpr size_t kMaxOutputDepth = 32;  // of containers in a result or an attribute
constexpr size_t kMaxOutputLeaves = 1 << 20;
constexpr size_t kMaxTensorsReplaced = 1 << 20;

std::string joined(const std::string& path, const std::string& name) { return path.empty() ? name : path + "." + name; }

// Calls fn on every tensor place within a value; false if it is nested too deep.
bool for_each_place(IValue& v, const std::function<void(IValue&)>& fn, size_t depth = 0) {
  if (depth > kMaxOutputDepth) return false;
  bool whole = true;
  if (v.is_tensor()) fn(v);
  if (auto* list = v.get<ListRef>())
    for (IValue& item : (*list)->items) whole = for_each_place(item, fn, depth + 1) && whole;
  if (auto* dict = v.get<DictRef>())
    for (auto& [key, value] : (*dict)->items) whole = for_each_place(value, fn, depth + 1) && whole;
  return whole;
}

// Whether a tuple, which cannot be changed, holds the tensor.
bool tuple_holds(const IValue& v, const Tensor& t) {
  auto* tuple = v.get<TupleRef>();
  return tuple && std::any_of((*tuple)->items.begin(), (*tuple)->items.end(), [&](const IValue& item) {
           return item.is_tensor() ? *item.get<Tensor>() == t : !item.is_number() && !item.is_none();
         });
}

std::string key_text(const IValue& key) {
  if (auto* text = key.get<std::string>()) return *text;
  return describe(key);
}

// What a value holds, in order, and how that lies in containers. false: nested too deep, or more than there may be.
bool flatten(const IValue& v, torch::TreeSpec& spec, std::vector<IValue>& leaves, size_t depth = 0) {
  if (depth > kMaxOutputDepth || leaves.size() > kMaxOutputLeaves) return false;
  auto child = [&](const IValue& item) { return flatten(item, spec.children.emplace_back(), leaves, depth + 1); };
  bool whole = true;
  if (auto* list = v.get<ListRef>()) {
    spec.type = "builtins.list";
    spec.context = "null";
    for (const IValue& item : (*list)->items) whole = whole && child(item);
  } else if (auto* tuple = v.get<TupleRef>()) {
    spec.type = (*tuple)->type.empty() ? "builtins.tuple" : "collections.namedtuple";
    spec.context = (*tuple)->type.empty() ? "null" : (*tuple)->type;
    spec.keys = (*tuple)->fields;
    for (const IValue& item : (*tuple)->items) whole = whole && child(item);
  } else if (auto* dict = v.get<DictRef>()) {
    spec.type = "builtins.dict";
    for (auto& [key, value] : (*dict)->items) {
      spec.keys.push_back(key_text(key));
      whole = whole && child(value);
    }
  } else {
    leaves.push_back(v);
  }
  return whole;
}

// Tensors and objects by identity, all else by value.
bool same_leaf(const IValue& a, const IValue& b) {
  if (a.data.index() != b.data.index()) return false;
  if (auto* t = a.get<Tensor>()) return *t == *b.get<Tensor>();
  if (auto* text = a.get<std::string>()) return *text == *b.get<std::string>();
  if (auto* object = a.get<ObjectRef>(); object && !(*object)->is_enum) return *object == *b.get<ObjectRef>();
  if (auto* object = a.get<ObjectRef>())
    return (*object)->type == (*b.get<ObjectRef>())->type &&
           same_leaf(*(*object)->find("name"), *(*b.get<ObjectRef>())->find("name"));
  return describe(a) == describe(b);
}

}  // namespace

// ---- the file's values

Tensor Evaluator::weight(torch::WeightId id) {
  Tensor& t = weights_[id.at()];
  if (t.is_poison()) t = weight_tensor(id);
  return t;
}

// An object is in the memo before its attributes are read: it may hold itself.
IValue Evaluator::object(torch::ObjectId id) {
  IValue& known = objects_[id.at()];
  if (!known.is_none()) return known;
  const torch::Object& from = program_.object(id);
  using torch::ObjectKind;
  switch (from.kind) {
    case ObjectKind::List: {
      auto list = std::make_shared<ScriptList>();
      list->element_type = torch::type_argument(from.type, 0);
      objects_[id.at()] = list;
      for (auto& [none, item] : from.items) list->items.push_back(value_of(item));
      return list;
    }
    case ObjectKind::Dict: {
      auto dict = std::make_shared<ScriptDict>();
      dict->key_type = torch::type_argument(from.type, 0);
      dict->value_type = torch::type_argument(from.type, 1);
      objects_[id.at()] = dict;
      for (auto& [key, value] : from.items) dict->items.emplace_back(value_of(key), value_of(value));
      return dict;
    }
    case ObjectKind::Tuple: {
      auto tuple = std::make_shared<ScriptTuple>();
      tuple->type = from.type;
      if (const torch::Class* c = script_->find_class(from.type))
        for (auto& [name, type] : c->attributes) tuple->fields.push_back(name);
      for (auto& [none, item] : from.items) tuple->items.push_back(value_of(item));
      return objects_[id.at()] = TupleRef(std::move(tuple));
    }
    case ObjectKind::Instance:
    case ObjectKind::Enum: break;
  }
  auto instance = std::make_shared<ScriptObject>();
  instance->type = from.type;
  instance->is_enum = from.kind == ObjectKind::Enum;
  objects_[id.at()] = instance;
  for (auto& [name, value] : from.items)
    if (auto* text = name.get<std::string>()) instance->attributes.emplace_back(*text, value_of(value));
  return instance;
}

// All modules are made at once, with the weights in the order of the file, and what they hold is remembered.
void Evaluator::make_root() {
  for (size_t i = 0; i < program_.weights.size(); ++i)
    if (!program_.weights[i].is_constant) weight(torch::WeightId(i));
  struct Pending {
    ObjectRef object;
    std::string path;
  };
  IValue root = object(program_.root);
  auto* top = root.get<ObjectRef>();
  if (!top) return;
  std::set<const ScriptObject*> seen;
  std::vector<Pending> pending{{*top, ""}};
  while (!pending.empty()) {
    auto [at, path] = pending.back();
    pending.pop_back();
    if (!seen.insert(at.get()).second) continue;
    at->path = path;
    std::vector<Pending> children;
    for (auto& [name, value] : at->attributes) {
      if (auto it = options_.state.find(joined(path, name)); it != options_.state.end()) {
        if (auto* type = std::get_if<stablehlo::Type>(&it->second)) {
          EntryArgument argument{.role = ArgumentRole::State,
                                 .name = it->first,
                                 .aliases = {},
                                 .dtype = type->dtype,
                                 .shape = type->dims,
                                 .leaf = {},
                                 .weight = {},
                                 .whole_record = false,
                                 .result = {}};
          value = add_argument(std::move(argument), contiguous_strides(type->dims), {}, {});
        } else {
          value = std::get<IValue>(it->second);
        }
      }
      Attribute attribute{.object = at, .name = name, .initial = value, .tree = {}, .leaves = {}, .whole = true};
      attribute.whole = flatten(value, attribute.tree, attribute.leaves);
      for (const IValue& leaf : attribute.leaves)
        if (auto* child = leaf.get<ObjectRef>(); child && !(*child)->is_enum)
          children.push_back({*child, joined(path, name)});
      attributes_.push_back(std::move(attribute));
    }
    pending.insert(pending.end(), children.rbegin(), children.rend());
  }
}

// ---- calls

std::vector<torch::ValueId> Evaluator::values_of(torch::BlockId id) const {
  std::vector<torch::ValueId> out;
  std::vector<torch::BlockId> pending{id};
  while (!pending.empty()) {
    const torch::Block& block = program_.block(pending.back());
    pending.pop_back();
    out.insert(out.end(), block.inputs.begin(), block.inputs.end());
    for (torch::InstId inst_id : block.insts) {
      const torch::Inst& inst = program_.inst(inst_id);
      for (const torch::Operand& result : inst.results)
        if (auto* value = result.get<torch::ValueId>()) out.push_back(*value);
      for (const torch::NamedOperand& operand : inst.operands)
        if (auto* branch = operand.value.get<torch::BlockId>()) pending.push_back(*branch);
    }
  }
  return out;
}

// A function that calls itself finds its values as it left them.
IValue Evaluator::call_function(torch::FunctionId id, std::vector<IValue> arguments) {
  const torch::Function& function = program_.function(id);
  std::vector<std::pair<torch::ValueId, IValue>> kept;
  if (active_[id.at()] > 0)
    for (torch::ValueId value : values_of(function.block)) kept.emplace_back(value, environment_[value.at()]);
  ++active_[id.at()];
  const torch::Inst* caller = current_;
  if (caller) call_stack_.push_back(&program_.location(caller->location));
  std::vector<IValue> results = walk(function.block, std::move(arguments));
  if (caller) call_stack_.pop_back();
  --active_[id.at()];
  for (auto& [value, before] : kept) environment_[value.at()] = std::move(before);
  return results.size() == 1 ? std::move(results[0]) : IValue(Tensor());
}

// What ATen's rows give, as scripts hold it: lists with identity, several results in the place of one as a tuple.
std::vector<IValue> Evaluator::script_results(const torch::Inst& inst, std::vector<IValue> results) {
  for (IValue& r : results)
    if (auto* list = std::get_if<IValue::List>(&r.data)) {
      auto shared = std::make_shared<ScriptList>();
      shared->region = l_.region_depth();
      bool tensors = std::all_of(list->begin(), list->end(), [](const IValue& v) { return v.is_tensor(); });
      shared->element_type = tensors ? "Tensor" : "";
      shared->items = std::move(*list);
      r = ListRef(std::move(shared));
    }
  if (inst.results.size() == 1 && results.size() > 1) {
    auto tuple = std::make_shared<ScriptTuple>();
    tuple->items = std::move(results);
    return {IValue(TupleRef(std::move(tuple)))};
  }
  if (inst.results.size() > 1 && results.size() == 1)
    if (auto* tuple = results[0].get<TupleRef>()) return std::vector<IValue>((*tuple)->items);
  return results;
}

void Evaluator::replace(const Tensor& old, const Tensor& by) {
  auto put = [&](IValue& v) {
    if (*v.get<Tensor>() == old) v = by;
  };
  bool whole = true;
  for (IValue& v : environment_) whole = for_each_place(v, put) && !tuple_holds(v, old) && whole;
  if (!whole || environment_.size() > kMaxTensorsReplaced)
    l_.wrong("a tensor's shape is changed in place while it may be held in a place that is not known");
}

// ---- results

void Evaluator::make_script_outputs(const IValue& value) {
  current_ = nullptr;
  std::vector<IValue> leaves;
  torch::TreeSpec tree;
  if (!flatten(value, tree, leaves))
    report(diagnose(Kind::WrongArgument,
                    {{"message", "the result is nested too deep, holds itself, or has too many parts"}}));
  std::vector<std::string> paths = leaf_paths(tree);
  for (size_t i = 0; i < leaves.size(); ++i) {
    Leaf out{.path = i < paths.size() ? paths[i] : "", .tensor = std::nullopt, .value = {}};
    if (auto* t = leaves[i].get<Tensor>()) {
      Value read = l_.read(*t);
      if (!read.has_value()) {
        if (!sink_.has_errors())
          sink_.add(diagnose(Kind::Internal, {{"reason", "output " + out.path + " has no value"}}));
        continue;
      }
      out.tensor = add_output(out.path, *t, read);
    } else {
      if (leaves[i].get<ObjectRef>())
        report(diagnose(Kind::WrongArgument, {{"message", "the result `" + (out.path.empty() ? "" : out.path) +
                                                              "` is an object; only tensors, numbers, texts, None "
                                                              "and containers of these leave a program"}}));
      out.value = leaves[i];
    }
    out_.outputs.push_back(std::move(out));
  }
  out_.output_tree = std::move(tree);
}

// What the call stored on modules: the next call begins with it.
void Evaluator::make_attribute_results() {
  for (const Attribute& attribute : attributes_) {
    IValue* now = attribute.object->find(attribute.name);
    if (!now) continue;
    std::string path = joined(attribute.object->path, attribute.name);
    auto* tensor = now->get<Tensor>();
    auto* before = attribute.initial.get<Tensor>();
    if (tensor && before && *tensor == *before) continue;  // a write in place shows in its storage
    if (!tensor) {
      torch::TreeSpec tree;
      std::vector<IValue> leaves;
      bool whole = flatten(*now, tree, leaves) && attribute.whole;
      bool same = whole && tree == attribute.tree &&
                  std::equal(leaves.begin(), leaves.end(), attribute.leaves.begin(), attribute.leaves.end(), same_leaf);
      if (same) continue;
      if (whole && tree.is_leaf() && !now->get<ObjectRef>()) {
        out_.state.push_back({path, std::nullopt, *now});
        continue;
      }
      report(diagnose(Kind::ScriptState,
                      {{"path", path},
                       {"value", describe(*now)},
                       {"advice", std::string("keep it outside of the model, as an input and a result")}}));
      continue;
    }
    Value value = l_.read(*tensor);
    if (!value.has_value()) continue;
    size_t result = add_result({.role = ResultRole::BufferMutation,
                                .name = path,
                                .aliases = {},
                                .dtype = tensor->dtype(),
                                .shape = tensor->shape(),
                                .storage_of = {}},
                               value);
    for (const EntryStorage& s : storages_) {
      if (!before || !(s.root == *before) || !s.argument) continue;
      EntryArgument& argument = out_.arguments[*s.argument];
      if (argument.dtype != tensor->dtype() || !(argument.shape == tensor->shape())) continue;
      argument.role = ArgumentRole::State;
      argument.result = result;
    }
    out_.state.push_back({path, result, IValue()});
  }
}

// Methods use a part of the weights: the others are no arguments.
void Evaluator::drop_unused_weights() {
  stablehlo::Module& module = out_.module;
  std::set<Value> used(result_values_.begin(), result_values_.end());
  for (const stablehlo::Inst& inst : module.insts) used.insert(inst.operands.begin(), inst.operands.end());
  for (const stablehlo::Region& region : module.regions) used.insert(region.results.begin(), region.results.end());
  stablehlo::Function& main = module.functions[0];
  Values& arguments = module.regions[main.body.at()].arguments;
  size_t kept = 0;
  for (size_t i = 0; i < out_.arguments.size(); ++i) {
    EntryArgument& argument = out_.arguments[i];
    if (argument.role != ArgumentRole::Input && !argument.result && !used.contains(arguments[i])) continue;
    if (kept != i) {
      out_.arguments[kept] = std::move(argument);
      main.arguments[kept] = std::move(main.arguments[i]);
      arguments[kept] = arguments[i];
      module.values[arguments[kept].at()].number = kept;
    }
    for (Leaf& leaf : out_.inputs)
      if (leaf.tensor == i) leaf.tensor = kept;
    for (EntryResult& result : out_.results)
      if (result.storage_of == i) result.storage_of = kept;
    ++kept;
  }
  out_.arguments.resize(kept);
  main.arguments.resize(kept);
  arguments.resize(kept);
}

}  // namespace torchlift::lower
