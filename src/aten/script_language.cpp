// What the language of TorchScript does with values: containers, attributes, calls. (Branches and loops:
// script_control_flow.cpp.)
#include <algorithm>

#include "aten/families.hpp"
#include "aten/script.hpp"
#include "base/kinds.hpp"
#include "lower/script.hpp"
#include "torch/script_type.hpp"

namespace torchlift::aten {
namespace {

using lower::ScriptObject;

// The text in an argument's place that the front end put there; empty if it is none.
std::string text_at(Arguments arguments, size_t i) {
  auto* text = i < arguments.size() ? arguments[i].value.get<std::string>() : nullptr;
  return text ? *text : "";
}

const IValue& value_at(Arguments arguments, size_t i) {
  static const IValue none;
  return i < arguments.size() ? arguments[i].value : none;
}

std::vector<IValue> values_from(Arguments arguments, size_t first) {
  std::vector<IValue> out;
  for (size_t i = first; i < arguments.size(); ++i) out.push_back(arguments[i].value);
  return out;
}

// ---- containers

// (type, items...)
ScriptResults list_construct(Lower& l, Arguments arguments) {
  return IValues{make_list(l, torch::type_argument(text_at(arguments, 0), 0), values_from(arguments, 1))};
}

ScriptResults tuple_construct(Lower&, Arguments arguments) { return IValues{make_tuple(values_from(arguments, 0))}; }

// (type, key, value, key, value, ...): a key that comes twice keeps its first place and its last value.
ScriptResults dict_construct(Lower& l, Arguments arguments) {
  const std::string type = text_at(arguments, 0);
  DictRef shared = make_dict(l, torch::type_argument(type, 0), torch::type_argument(type, 1));
  const ScriptRow* set_item = table().script("aten::_set_item");
  for (size_t i = 1; i + 1 < arguments.size(); i += 2) {
    std::vector<NamedValue> item = {{"", shared}, {"", arguments[i].value}, {"", arguments[i + 1].value}};
    if (!set_item || !set_item->call(l, item)) l.wrong("a dictionary cannot hold " + describe(arguments[i].value));
  }
  return IValues{shared};
}

// (class, items...)
ScriptResults named_tuple_construct(Lower& l, Arguments arguments) {
  std::string type = text_at(arguments, 0);
  const torch::Class* c = l.script->find_class(type);
  auto tuple = std::make_shared<ScriptTuple>();
  tuple->type = type;
  tuple->items = values_from(arguments, 1);
  if (!c || c->attributes.size() != tuple->items.size()) {
    l.wrong("`" + type + "` has " + std::to_string(c ? c->attributes.size() : 0) + " fields, got " +
            std::to_string(tuple->items.size()));
    return IValues{};
  }
  for (auto& [name, declared] : c->attributes) tuple->fields.push_back(name);
  return IValues{TupleRef(std::move(tuple))};
}

const std::vector<IValue>* items_of(const IValue& v) {
  if (auto* list = v.get<ListRef>()) return &(*list)->items;
  if (auto* tuple = v.get<TupleRef>()) return &(*tuple)->items;
  return nullptr;
}

// (list or tuple, count)
ScriptResults unpack(Lower& l, Arguments arguments) {
  const std::vector<IValue>* items = items_of(value_at(arguments, 0));
  auto count = value_at(arguments, 1).number();
  if (!items || !count || static_cast<int64_t>(items->size()) != count->to_int()) {
    l.wrong("expected " + (count ? count->text() : "some") + " values to unpack, got " +
            (items ? std::to_string(items->size()) : describe(value_at(arguments, 0))));
    return IValues{};
  }
  return IValues(*items);
}

// (tuple, begin, end)
ScriptResults tuple_slice(Lower& l, Arguments arguments) {
  auto* tuple = value_at(arguments, 0).get<TupleRef>();
  auto begin = value_at(arguments, 1).number(), end = value_at(arguments, 2).number();
  int64_t size = tuple ? static_cast<int64_t>((*tuple)->items.size()) : 0;
  if (!tuple || !begin || !end || begin->to_int() < 0 || begin->to_int() > end->to_int() || end->to_int() > size) {
    l.wrong("a slice that " + describe(value_at(arguments, 0)) + " does not have");
    return IValues{};
  }
  auto out = std::make_shared<ScriptTuple>();
  out->items.assign((*tuple)->items.begin() + begin->to_int(), (*tuple)->items.begin() + end->to_int());
  return IValues{TupleRef(std::move(out))};
}

// ---- types

// How a number is taken from a tensor: by the row of that name.
ScriptResults converted(Lower& l, std::string_view name, const IValue& value) {
  std::vector<NamedValue> argument = {{"", value}};
  const ScriptRow* row = table().script(name);
  return row ? row->call(l, argument) : std::nullopt;
}

// (type, value): a number type takes a tensor's number; else the type is said of a container that was just made.
ScriptResults annotate(Lower& l, Arguments arguments) {
  std::string type = text_at(arguments, 0);
  const IValue& value = value_at(arguments, 1);
  if (auto* t = value.get<Tensor>(); t && !t->is_device_number()) {
    if (type == "int") return converted(l, "aten::IntImplicit", value);
    if (type == "float") return converted(l, "aten::FloatImplicit", value);
    if (type == "complex") return converted(l, "aten::ComplexImplicit", value);
    if (type == "number" || type == "Scalar") return converted(l, "aten::ScalarImplicit", value);
  }
  if (auto* list = value.get<ListRef>(); list && (*list)->items.empty())
    (*list)->element_type = torch::type_argument(type, 0);
  if (auto* dict = value.get<DictRef>(); dict && (*dict)->items.empty()) {
    (*dict)->key_type = torch::type_argument(type, 0);
    (*dict)->value_type = torch::type_argument(type, 1);
  }
  return IValues{value};
}

ScriptResults unchecked_cast(Lower&, Arguments arguments) { return IValues{value_at(arguments, 1)}; }

// A value that is never read: branches give it where they have none.
ScriptResults uninitialized(Lower&, Arguments) { return IValues{lower::uninitialized_value()}; }

bool is_instance(Lower& l, const IValue& v, const torch::ScriptType& type);

bool all_are(Lower& l, const std::vector<IValue>& items, const torch::ScriptType& type) {
  return std::all_of(items.begin(), items.end(), [&](const IValue& item) { return is_instance(l, item, type); });
}

bool is_number_of(const IValue& v, std::string_view name) {
  auto* t = v.get<Tensor>();
  bool device = t && t->is_device_number();
  if (name == "int") return v.get<Dim>() || (device && t->dtype() == DType::Int64);
  if (name == "float") return v.get<double>() || (device && t->dtype() == DType::Float64);
  if (name == "bool") return v.get<bool>() || (device && t->dtype() == DType::Bool);
  return v.get<std::complex<double>>() || (device && is_complex(t->dtype()));
}

bool is_instance(Lower& l, const IValue& v, const torch::ScriptType& type) {
  const std::string& name = type.name;
  auto parameter = [&](size_t i) {
    return i < type.arguments.size() ? type.arguments[i] : torch::ScriptType{"Any", {}};
  };
  if (name == "Any") return true;
  if (name == "NoneType") return v.is_none();
  if (name == "Optional") return v.is_none() || is_instance(l, v, parameter(0));
  if (name == "Union")
    return std::any_of(type.arguments.begin(), type.arguments.end(),
                       [&](const torch::ScriptType& one) { return is_instance(l, v, one); });
  if (name == "int" || name == "float" || name == "bool" || name == "complex") return is_number_of(v, name);
  if (name == "number") return is_number_of(v, "int") || is_number_of(v, "float") || is_number_of(v, "complex");
  if (name == "str") return v.get<std::string>() != nullptr;
  if (name == "Device") return v.get<torch::Device>() != nullptr;
  if (name == "Tensor") return v.is_tensor() && !v.get<Tensor>()->is_device_number();
  if (auto* list = v.get<ListRef>())
    return name == "List" && ((*list)->items.empty() && !(*list)->element_type.empty()
                                  ? type.arguments.empty() || (*list)->element_type == torch::print(parameter(0))
                                  : all_are(l, (*list)->items, parameter(0)));
  if (auto* dict = v.get<DictRef>())
    return name == "Dict" && std::all_of((*dict)->items.begin(), (*dict)->items.end(), [&](const auto& item) {
             return is_instance(l, item.first, parameter(0)) && is_instance(l, item.second, parameter(1));
           });
  if (auto* tuple = v.get<TupleRef>()) {
    if (name != "Tuple") return (*tuple)->type == name;
    if (type.arguments.empty()) return true;
    if (type.arguments.size() != (*tuple)->items.size()) return false;
    for (size_t i = 0; i < type.arguments.size(); ++i)
      if (!is_instance(l, (*tuple)->items[i], type.arguments[i])) return false;
    return true;
  }
  if (auto* object = v.get<ObjectRef>()) return (*object)->type == name;
  return false;
}

// (value, [types])
ScriptResults isinstance(Lower& l, Arguments arguments) {
  auto* types = value_at(arguments, 1).get<IValue::List>();
  bool found = false;
  for (const IValue& item : types ? *types : IValue::List{}) {
    auto* text = item.get<std::string>();
    auto type = torch::parse_script_type(text ? *text : "");
    if (!type) {
      l.wrong("isinstance of a type that cannot be read: " + (text ? *text : std::string()));
      return IValues{};
    }
    found = found || is_instance(l, value_at(arguments, 0), *type);
  }
  return IValues{found};
}

// ---- attributes

std::optional<IValue> constant_of(Lower& l, const std::string& type, const std::string& name) {
  const torch::Class* c = l.script->find_class(type);
  if (!c) return std::nullopt;
  for (auto& [key, operand] : c->constants)
    if (key == name)
      return lower::literal(
          operand,
          {.value = [](torch::ValueId) { return IValue(); }, .weight = l.script->weight, .object = l.script->object});
  return std::nullopt;
}

// (object, name)
ScriptResults get_attr(Lower& l, Arguments arguments) {
  const IValue& from = value_at(arguments, 0);
  std::string name = text_at(arguments, 1);
  if (auto* object = from.get<ObjectRef>()) {
    if (IValue* found = (*object)->find(name)) return IValues{*found};
    if (auto constant = constant_of(l, (*object)->type, name)) return IValues{*constant};
  }
  if (auto* tuple = from.get<TupleRef>())
    for (size_t i = 0; i < (*tuple)->fields.size() && i < (*tuple)->items.size(); ++i)
      if ((*tuple)->fields[i] == name) return IValues{(*tuple)->items[i]};
  l.wrong(describe(from) + " has no attribute `" + name + "`");
  return IValues{};
}

// (object, name, value)
ScriptResults set_attr(Lower& l, Arguments arguments) {
  auto* object = value_at(arguments, 0).get<ObjectRef>();
  std::string name = text_at(arguments, 1);
  if (!object) {
    l.wrong(describe(value_at(arguments, 0)) + " has no attributes to set");
    return IValues{};
  }
  if (l.in_region()) {
    l.refuse(Kind::DataDependent, {{"what", "whether `" + name + "` is set"},
                                   {"advice", "set it always, to a value chosen by torch.where"}});
    return IValues{};
  }
  if (IValue* found = (*object)->find(name)) *found = value_at(arguments, 2);
  else (*object)->attributes.emplace_back(name, value_at(arguments, 2));
  return IValues{IValue()};
}

ScriptResults create_object(Lower&, Arguments arguments) {
  auto object = std::make_shared<ScriptObject>();
  object->type = text_at(arguments, 0);
  return IValues{ObjectRef(std::move(object))};
}

// (class, name)
ScriptResults enum_member(Lower& l, Arguments arguments) {
  auto object = std::make_shared<ScriptObject>();
  object->type = text_at(arguments, 0);
  object->is_enum = true;
  std::string name = text_at(arguments, 1);
  auto value = constant_of(l, object->type, name);
  if (!value) {
    l.wrong("`" + object->type + "` has no member `" + name + "`");
    return IValues{};
  }
  object->attributes = {{"name", name}, {"value", *value}};
  return IValues{ObjectRef(std::move(object))};
}

// ---- calls

// A value in the place of a parameter: its type decides what is taken from a tensor.
IValue passed(Lower& l, const std::string& type, const IValue& value) {
  auto* t = value.get<Tensor>();
  if (!t || t->is_poison() || t->is_device_number()) return value;
  if (type != "int" && type != "float" && type != "number" && type != "complex") return value;
  std::vector<NamedValue> arguments = {{"", type}, {"", value}};
  auto number = annotate(l, arguments);
  return number && !number->empty() ? number->front() : IValue(Tensor());
}

// Arguments in the order of the parameters, defaults filled in.
std::optional<std::vector<IValue>> bind(Lower& l, const torch::Function& function, Arguments given) {
  std::vector<IValue> out(function.parameters.size());
  std::vector<bool> have(function.parameters.size(), false);
  size_t position = 0;
  for (const NamedValue& g : given) {
    size_t at = function.parameters.size();
    if (g.name.empty()) at = position++;
    for (size_t i = 0; i < function.parameters.size() && !g.name.empty(); ++i)
      if (function.parameters[i].name == g.name) at = i;
    if (at >= function.parameters.size() || have[at]) {
      l.wrong("`" + function.name + "` takes no argument " + (g.name.empty() ? std::to_string(position - 1) : g.name));
      return std::nullopt;
    }
    out[at] = passed(l, function.parameters[at].type, g.value);
    have[at] = true;
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if (have[i]) continue;
    if (!function.parameters[i].default_value) {
      l.wrong("`" + function.name + "` needs an argument `" + function.parameters[i].name + "`");
      return std::nullopt;
    }
    out[i] = lower::literal(
        *function.parameters[i].default_value,
        {.value = [](torch::ValueId) { return IValue(); }, .weight = l.script->weight, .object = l.script->object});
  }
  return out;
}

ScriptResults call(Lower& l, torch::FunctionId id, Arguments arguments) {
  auto bound = bind(l, l.script->program().function(id), arguments);
  if (!bound) return IValues{};
  return IValues{l.script->call(id, std::move(*bound))};
}

// (name, arguments...)
ScriptResults call_function(Lower& l, Arguments arguments) {
  std::string name = text_at(arguments, 0);
  torch::FunctionId id = l.script->function(name);
  if (!id.has_value()) {
    l.wrong("the file has no function `" + name + "`");
    return IValues{};
  }
  return call(l, id, arguments.subspan(1));
}

ScriptResults call_method_named(Lower& l, const IValue& self, const std::string& name, Arguments arguments) {
  auto* object = self.get<ObjectRef>();
  torch::FunctionId id = object ? l.script->function((*object)->type + "." + name) : torch::FunctionId();
  if (!id.has_value()) {
    l.wrong(describe(self) + " has no method `" + name + "`");
    return IValues{};
  }
  std::vector<NamedValue> with_self = {{"", self}};
  with_self.insert(with_self.end(), arguments.begin(), arguments.end());
  return call(l, id, with_self);
}

// (object, name, arguments...)
ScriptResults call_method(Lower& l, Arguments arguments) {
  if (arguments.size() < 2) return std::nullopt;
  return call_method_named(l, value_at(arguments, 0), text_at(arguments, 1), arguments.subspan(2));
}

ScriptResults enter(Lower& l, Arguments arguments) {
  return call_method_named(l, value_at(arguments, 0), "__enter__", {});
}

// The exception that ends the block: none, since one that is raised ends the import.
ScriptResults exit(Lower& l, Arguments arguments) {
  std::vector<NamedValue> none(3);
  return call_method_named(l, value_at(arguments, 0), "__exit__", none);
}

// (function or block, arguments...): what is forked is done at once; `wait` gives its result.
ScriptResults fork(Lower& l, Arguments arguments) {
  if (auto* block = value_at(arguments, 0).get<torch::BlockId>())
    return l.call_graph(*block, values_from(arguments, 1));
  return call_function(l, arguments);
}

// (message, class): what the model itself says. In a branch that depends on data it may never happen.
ScriptResults raise_exception(Lower& l, Arguments arguments) {
  std::string message = text_at(arguments, 0), type = text_at(arguments, 1);
  if (l.in_region()) {
    l.script->raised = true;
    l.refuse(Kind::ScriptRaiseDropped, {{"message", message}});
    return IValues{IValue()};
  }
  size_t dot = type.rfind('.');
  l.refuse(Kind::ScriptRaise,
           {{"class", type.empty() ? "an exception" : type.substr(dot == std::string::npos ? 0 : dot + 1)},
            {"message", message}});
  l.script->stopped = true;
  return IValues{IValue()};
}

}  // namespace

std::span<const ScriptRow> script_language_ops() {
  static constexpr ScriptRow rows[] = {
      {"prim::CallFunction", call_function, true},
      {"prim::CallMethod", call_method, true},
      {"prim::CreateObject", create_object},
      {"prim::DictConstruct", dict_construct, true},
      {"prim::Enter", enter},
      {"prim::EnumMember", enum_member},
      {"prim::Exit", exit},
      {"prim::GetAttr", get_attr, true},
      {"prim::ListConstruct", list_construct, true},
      {"prim::NamedTupleConstruct", named_tuple_construct, true},
      {"prim::RaiseException", raise_exception},
      {"prim::SetAttr", set_attr, true},
      {"prim::TupleConstruct", tuple_construct, true},
      {"prim::TupleSlice", tuple_slice, true},
      {"prim::Uninitialized", uninitialized},
      {"prim::Unpack", unpack, true},
      {"prim::annotate", annotate, true},
      {"prim::fork", fork, true},
      {"prim::isinstance", isinstance},
      {"prim::unchecked_cast", unchecked_cast, true},
  };
  return rows;
}

}  // namespace torchlift::aten
