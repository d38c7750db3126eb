#include "frontend/export/graph.hpp"

#include <algorithm>
#include <utility>

#include "base/kinds.hpp"

namespace torchlift::frontend {

using torch::Operand;
using torch::ValueKind;

std::string target_name(std::string_view target) {
  constexpr std::string_view kOps = "torch.ops.";
  if (target.starts_with(kOps)) {
    std::string_view name = target.substr(kOps.size());
    size_t dot = name.find('.');
    if (dot == std::string_view::npos) return std::string(target);
    std::string out = std::string(name.substr(0, dot)) + "::" + std::string(name.substr(dot + 1));
    constexpr std::string_view kDefault = ".default";
    if (out.ends_with(kDefault)) out.resize(out.size() - kDefault.size());
    return out;
  }
  for (std::string_view module : {"_operator.", "math.", "torch."}) {
    if (!target.starts_with(module)) continue;
    std::string_view name = target.substr(module.size());
    if (name.find('.') != std::string_view::npos) break;  // torch.fx.…
    if (name.starts_with("_sym_")) name.remove_prefix(1);
    return std::string(module.substr(0, module.size() - 1)) + "::" + std::string(name);
  }
  return std::string(target);
}

namespace {

// Python callables take their arguments by position; the file names them by the parameters of each function.
bool is_positional(std::string_view target) {
  return target.starts_with("_operator::") || target.starts_with("math::") || target.starts_with("torch::");
}

}  // namespace

Status GraphReader::read(Element graph_element) {
  program_.blocks.emplace_back();
  pending_.push_back({torch::BlockId(0), graph_element, "", 0});
  while (!pending_.empty()) {
    Pending next = pending_.front();
    pending_.pop_front();
    TRY_OK(pending_graph(next));
    if (next.block == torch::BlockId(0)) entry_names_ = names_;
  }
  program_.locations = std::move(locations_).take();
  return Unit{};
}

Status GraphReader::declarations(Object graph) {
  declared_ = {};
  names_ = {};
  auto read = [&](std::string_view field, auto& into) {
    return json_.optional_field(graph, field, [&](Element element) {
      return json_.each_member(element, [&](std::string_view name, Element value) -> Status {
        into.emplace(name, value);
        return Unit{};
      });
    });
  };
  TRY_OK(read("tensor_values", declared_.tensors));
  for (std::string_view field : {"sym_int_values", "sym_bool_values", "sym_float_values"})
    TRY_OK(read(field, declared_.numbers));
  return Unit{};
}

Status GraphReader::pending_graph(const Pending& pending) {
  if (pending.depth == 0) return graph(pending);
  JsonReader::Scope scope = json_.in(pending.name);
  return graph(pending);
}

Status GraphReader::graph(const Pending& pending) {
  depth_ = pending.depth;
  TRY(Object object, json_.object(pending.graph));
  TRY_OK(declarations(object));
  TRY(std::vector<Operand> given, inputs(object));
  bool entry = pending.block == torch::BlockId(0);
  std::vector<torch::ValueId> ids;
  for (const Operand& input : given) {
    if (const auto* id = input.get<torch::ValueId>()) ids.push_back(*id);
  }
  if (entry) entry_inputs_ = std::move(given);
  program_.blocks[pending.block.at()].inputs = std::move(ids);

  size_t first = program_.insts.size();
  TRY_OK(json_.field(object, "nodes", [&](Element nodes) -> Status {
    return json_.each(nodes, [&](Element element) { return node(element); });
  }));
  std::vector<Operand> outputs;
  TRY_OK(json_.field(object, "outputs", [&](Element element) {
    return json_.each(element, [&](Element item) -> Status {
      TRY(outputs.emplace_back(), argument(item));
      return Unit{};
    });
  }));
  torch::Block& block = program_.blocks[pending.block.at()];
  for (size_t i = first; i < program_.insts.size(); ++i) block.insts.emplace_back(i);
  block.outputs = std::move(outputs);
  return Unit{};
}

// A nested graph takes its inputs by position: a literal keeps its place as a number that nothing uses.
Result<std::vector<Operand>> GraphReader::inputs(Object graph) {
  std::vector<Operand> out;
  values_.collect_hints(depth_ == 0 ? &hints_ : nullptr);
  defining_ = true;
  Status read = json_.field(graph, "inputs", [&](Element element) {
    return json_.each(element, [&](Element item) -> Status {
      TRY(Operand input, argument(item));
      if (depth_ > 0 && !input.get<torch::ValueId>()) {
        std::string name = "literal_" + std::to_string(out.size());
        program_.values.push_back({.name = std::move(name), .kind = ValueKind::SymInt, .meta = {}, .expr = {}});
        input = Operand{torch::ValueId(program_.values.size() - 1)};
      }
      out.push_back(std::move(input));
      return Unit{};
    });
  });
  defining_ = false;
  values_.collect_hints(nullptr);
  TRY_OK(std::move(read));
  return out;
}

Status GraphReader::node(Element element) {
  TRY(Object object, json_.object(element));
  torch::Inst inst;
  TRY(std::string_view target, json_.text_field(object, "target"));
  inst.target = target_name(target);
  TRY_OK(json_.field(object, "inputs", [&](Element inputs) { return arguments(inputs, inst); }));
  TRY_OK(json_.field(object, "outputs", [&](Element outputs) { return results(outputs, inst); }));
  std::string_view name;
  TRY_OK(json_.optional_text(object, "name", name));
  inst.name = name;
  if (inst.name.empty() && !inst.results.empty())  // before schema 8.17
    if (const auto* id = inst.results.front().get<torch::ValueId>()) inst.name = program_.value(*id).name;
  TRY(inst.location, location(object));
  program_.insts.push_back(std::move(inst));
  return Unit{};
}

Status GraphReader::arguments(Element element, torch::Inst& inst) {
  bool positional = is_positional(inst.target);
  return json_.each(element, [&](Element item) -> Status {
    TRY(Object object, json_.object(item));
    torch::NamedOperand named;
    TRY(std::string_view name, json_.text_field(object, "name"));
    if (!positional) named.name = name;
    TRY(named.value, json_.field(object, "arg", [&](Element arg) { return argument(arg); }));
    inst.operands.push_back(std::move(named));
    return Unit{};
  });
}

// A result that is no value (None, a number fixed at export) is None. Results of a higher-order operator are flat:
// before schema 8.7 a tuple of one is written as a list.
Status GraphReader::results(Element element, torch::Inst& inst) {
  bool flatten = inst.target.starts_with("higher_order::");
  defining_ = true;
  Status read = json_.each(element, [&](Element item) -> Status {
    TRY(Operand result, argument(item));
    if (auto* list = std::get_if<Operand::List>(&result.data)) {
      for (Operand& part : *list) {
        if (part.get<Operand::List>()) return json_.wrong("a list of lists", "a value or a list of values");
        if (!part.get<torch::ValueId>()) part = Operand{torch::None{}};
      }
      if (flatten) {
        inst.results.insert(inst.results.end(), list->begin(), list->end());
        return Unit{};
      }
    } else if (!result.get<torch::ValueId>()) {
      result = Operand{torch::None{}};
    }
    inst.results.push_back(std::move(result));
    return Unit{};
  });
  defining_ = false;
  return read;
}

Result<torch::LocId> GraphReader::location(Object node) {
  std::string_view trace, modules;
  Status read = json_.optional_field(node, "metadata", [&](Element element) -> Status {
    TRY(Object metadata, json_.object(element));
    TRY_OK(json_.optional_text(metadata, "stack_trace", trace));
    return json_.optional_text(metadata, "nn_module_stack", modules);
  });
  TRY_OK(std::move(read));
  return locations_.intern(trace, modules);
}

// ---- values

Result<Operand> GraphReader::define(std::string_view name, ValueKind kind) {
  torch::Value value{.name = std::string(name), .kind = kind, .meta = {}, .expr = {}};
  if (name.empty()) return json_.wrong("an empty name", "a value's name");
  torch::ValueId id(program_.values.size());
  if (!names_.emplace(name, id).second) return json_.error(Kind::ValueTwice, {{"name", std::string(name)}});
  bool is_tensor = kind == ValueKind::Tensor;
  const auto& declared = is_tensor ? declared_.tensors : declared_.numbers;
  if (auto found = declared.find(name); found != declared.end()) {
    if (is_tensor) {
      TRY(value.meta, values_.tensor_meta(found->second));
    } else {
      TRY(value.expr, values_.sym_number(found->second));
    }
  }
  program_.values.push_back(std::move(value));
  return Operand{id};
}

Result<Operand> GraphReader::value_named(std::string_view name, ValueKind kind) {
  if (defining_) return define(name, kind);
  auto found = names_.find(name);
  if (found == names_.end()) return json_.error(Kind::ValueUndefined, {{"name", std::string(name)}});
  return Operand{found->second};
}

Result<Operand> GraphReader::entry_argument(Element element) {
  std::swap(names_, entry_names_);
  Result<Operand> out = argument(element);
  std::swap(names_, entry_names_);
  return out;
}

Result<torch::ValueId> GraphReader::entry_value(Element name_object) {
  TRY(Object object, json_.object(name_object));
  TRY(std::string_view name, json_.text_field(object, "name"));
  auto found = entry_names_.find(name);
  if (found == entry_names_.end()) return json_.error(Kind::ValueUndefined, {{"name", std::string(name)}});
  return found->second;
}

}  // namespace torchlift::frontend
