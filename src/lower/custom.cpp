#include "lower/custom.hpp"

#include <algorithm>

#include "base/kinds.hpp"
#include "base/text.hpp"
#include "lower/evaluator.hpp"
#include "stablehlo/element.hpp"

namespace torchlift::lower {
namespace {

using Attribute = decltype(stablehlo::NamedAttribute::second);

void refuse(Lower& l, const torch::Inst& inst, std::string problem, std::string advice = "") {
  l.refuse(Kind::CustomCallRefused,
           {{"operator", inst.target}, {"problem", std::move(problem)}, {"advice", std::move(advice)}});
}

// What a list consists of: all elements are T, and there is one.
template <typename T>
bool is_list_of(const IValue::List& list) {
  return !list.empty() && std::all_of(list.begin(), list.end(), [](const IValue& v) { return v.get<T>() != nullptr; });
}

// Integers and floats, at least one float.
bool is_list_of_floats(const IValue::List& list) {
  return std::all_of(list.begin(), list.end(), [](const IValue& v) { return v.get<double>() || v.get<Dim>(); }) &&
         std::any_of(list.begin(), list.end(), [](const IValue& v) { return v.get<double>(); });
}

Ints integers(Lower& l, const IValue::List& list) {
  Ints out;
  for (const IValue& v : list) out.push_back(l.pin(*v.get<Dim>()));
  return out;
}

std::vector<double> floats(const IValue::List& list) {
  std::vector<double> out;
  for (const IValue& v : list) out.push_back(v.number()->to_double());
  return out;
}

// ---- custom calls: what is no tensor is an attribute

std::optional<Attribute> attribute_of_list(Lower& l, const IValue::List& list) {
  if (list.empty()) return Attribute(Ints());
  if (is_list_of<Tensor>(list)) return Attribute(static_cast<int64_t>(list.size()));
  if (is_list_of<Dim>(list)) return Attribute(integers(l, list));
  return std::nullopt;
}

std::optional<Attribute> attribute_of(Lower& l, const IValue& value) {
  if (value.is_none()) return Attribute(std::string("None"));
  if (auto* b = value.get<bool>()) return Attribute(*b);
  if (auto* d = value.get<Dim>()) return Attribute(l.pin(*d));
  if (auto* f = value.get<double>()) return Attribute(*f);
  if (auto* s = value.get<std::string>(); s && *s != "None") return Attribute(*s);  // that would be no argument
  if (auto* t = value.get<DType>()) return Attribute(std::string(info(*t).torch_name));
  if (auto* d = value.get<torch::Device>())
    return Attribute(d->index < 0 ? d->type : d->type + ":" + std::to_string(d->index));
  if (auto* list = value.get<IValue::List>()) return attribute_of_list(l, *list);
  return std::nullopt;
}

// ---- functions: what is no tensor is a constant

std::optional<Value> constant_of_list(Lower& l, const IValue::List& list) {
  if (is_list_of<Dim>(list)) return l.hlo.constant_ints(DType::Int64, integers(l, list));
  if (list.empty() || !is_list_of_floats(list)) return std::nullopt;
  std::vector<std::byte> bytes;
  for (double v : floats(list)) stablehlo::append_element(bytes, DType::Float64, v);
  return l.hlo.constant({DType::Float64, {Dim(static_cast<int64_t>(list.size()))}}, std::move(bytes));
}

std::optional<Value> constant_of(Lower& l, const IValue& value) {
  if (auto* b = value.get<bool>()) return l.constant(DType::Bool, *b);
  if (auto* d = value.get<Dim>()) return l.constant(DType::Int64, l.pin(*d));
  if (auto* f = value.get<double>()) return l.constant(DType::Float64, *f);
  if (auto* c = value.get<std::complex<double>>()) return l.constant(DType::Complex128, *c);
  if (auto* list = value.get<IValue::List>()) return constant_of_list(l, *list);
  return std::nullopt;
}

// The names of arguments that are tensors, or None in the place of one.
std::vector<std::string> names_of_tensors(const CustomCallSite& site) {
  std::vector<std::string> out;
  for (const NamedValue& o : site.operands) {
    auto* list = o.value.get<IValue::List>();
    if (o.value.is_none() || o.value.get<Tensor>() || (list && is_list_of<Tensor>(*list))) out.push_back(o.name);
  }
  return out;
}

std::string quoted_list(const std::vector<std::string>& names) {
  return "(" + join(names, ", ", [](const std::string& n) { return "`" + n + "`"; }) + ")";
}

std::string prefix_of(size_t number) { return "custom" + std::to_string(number) + "."; }

// The operands of a function's call. Where two calls of an operator could look alike and mean different things, the
// function has to name its arguments: numbers, and where an argument is None.
struct Operands {
  Values values;
  std::vector<std::string> names;  // "x", "xs_0"
  std::vector<bool> named;         // whether the function must give the name
};

// For messages: the first of them, where they are many.
std::string type_list(const std::vector<Type>& types) {
  constexpr size_t kShown = 16;
  std::span<const Type> shown(types.data(), std::min(types.size(), kShown));
  std::string out = "(" + join(shown, ", ", [](const Type& t) { return stablehlo::to_text(t); });
  if (types.size() > kShown) out += ", ... " + std::to_string(types.size()) + " in all";
  return out + ")";
}

std::string signature(const std::vector<Type>& arguments, const std::vector<Type>& results) {
  return type_list(arguments) + " -> " + type_list(results);
}

std::optional<Operands> operands_of(Lower& l, const CustomCallSite& site) {
  Operands out;
  bool any_none = false;
  auto add = [&](Value value, std::string name, bool must_be_named) {
    out.values.push_back(value);
    out.names.push_back(std::move(name));
    out.named.push_back(must_be_named);
  };
  for (const NamedValue& o : site.operands) {
    if (o.value.is_none()) {
      any_none = true;
    } else if (auto* t = o.value.get<Tensor>()) {
      add(l.read(*t), o.name, false);
    } else if (auto* list = o.value.get<IValue::List>(); list && is_list_of<Tensor>(*list)) {
      for (size_t i = 0; i < list->size(); ++i)
        add(l.read(*(*list)[i].get<Tensor>()), o.name + "_" + std::to_string(i), false);
    } else if (auto value = constant_of(l, o.value)) {
      add(*value, o.name, true);
    } else {
      refuse(l, site.inst,
             "argument `" + o.name + "` is " + describe(o.value) + ", a function takes tensors and numbers",
             "use --custom " + site.inst.target + "=custom_call, or write an operator without this argument");
      return std::nullopt;
    }
  }
  if (any_none) out.named.assign(out.named.size(), true);
  return out;
}

// "arg0", "0": what printers call an argument.
bool says_nothing(std::string_view name) {
  if (name.starts_with("arg")) name.remove_prefix(3);
  return !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
}

// Why the function's names are not those of the call; empty if they are, or say nothing where nothing must be said.
std::string problem_of_names(const stablehlo::FunctionText& f, const Operands& operands) {
  for (size_t i = 0; i < operands.values.size(); ++i) {
    const std::string& name = f.argument_names[i];
    auto is_operand = [&] {
      return std::find(operands.names.begin(), operands.names.end(), name) != operands.names.end();
    };
    if (name == operands.names[i] || (says_nothing(name) && !operands.named[i] && !is_operand())) continue;
    return "argument " + std::to_string(i) + " of the function is called `%" + name + "`, the operator calls it `" +
           operands.names[i] + "`";
  }
  return "";
}

}  // namespace

const CustomOp* CustomCalls::find(std::string_view operator_name) const {
  const CustomOp* found = nullptr;
  for (const CustomOp& op : ops_)
    if (op.means(operator_name) && (!found || op.name == operator_name)) found = &op;
  return found;
}

Values CustomCalls::lower(Lower& l, const CustomOp& op, const CustomCallSite& site) {
  return op.target.empty() ? function_call(l, op, site) : custom_call(l, op, site);
}

Values CustomCalls::custom_call(Lower& l, const CustomOp& op, const CustomCallSite& site) {
  stablehlo::CustomCall call{.call_target_name = op.target, .has_side_effect = false, .backend_config = {}};
  Values operands;
  for (const NamedValue& o : site.operands) {
    if (auto* t = o.value.get<Tensor>()) {
      operands.push_back(l.read(*t));
      continue;
    }
    if (auto* list = o.value.get<IValue::List>(); list && is_list_of<Tensor>(*list))
      for (const IValue& v : *list) operands.push_back(l.read(*v.get<Tensor>()));
    auto attribute = attribute_of(l, o.value);
    if (!attribute) {
      refuse(l, site.inst, "argument `" + o.name + "` is " + describe(o.value) + ", which no attribute holds");
      return {};
    }
    call.backend_config.emplace_back(o.name, std::move(*attribute));
  }
  // Operands have no names: which of two optional tensors one is cannot be told.
  std::vector<std::string> tensors = names_of_tensors(site);
  if (tensors_given_.emplace(&op, tensors).first->second != tensors) {
    refuse(l, site.inst,
           "its calls give different tensors, " + quoted_list(tensors_given_[&op]) + " and " + quoted_list(tensors) +
               ", which a custom call does not tell apart",
           "give a function, or an operator for each form");
    return {};
  }
  std::vector<Type> results;
  for (const auto& type : site.declared) {
    if (!type) {
      refuse(l, site.inst, "the file does not declare the types of all its results");
      return {};
    }
    results.push_back(*type);
  }
  return l.hlo.custom_call(operands, results, std::move(call));
}

Values CustomCalls::function_call(Lower& l, const CustomOp& op, const CustomCallSite& site) {
  auto operands = operands_of(l, site);
  if (!operands) return {};
  std::vector<Type> types, results;
  for (Value v : operands->values) types.push_back(l.type(v));
  for (const auto& type : site.declared)
    if (type) results.push_back(*type);
  auto fits = [&](const CustomOp::Function& f) {
    return f.text.arguments == types && f.text.results.size() == site.declared.size() &&
           (results.size() < site.declared.size() || f.text.results == results);
  };
  auto f = std::find_if(op.functions.begin(), op.functions.end(), fits);
  if (f == op.functions.end()) {
    std::string functions = join(op.functions, ", ", [](const CustomOp::Function& candidate) {
      return printable(candidate.file) + " has " + signature(candidate.text.arguments, candidate.text.results);
    });
    l.refuse(
        Kind::CustomTypes,
        {{"operator", site.inst.target}, {"call", signature(types, results)}, {"functions", std::move(functions)}});
    return {};
  }
  if (std::string problem = problem_of_names(f->text, *operands); !problem.empty()) {
    refuse(l, site.inst, problem,
           "give the arguments of the function in " + printable(f->file) + " the operator's names");
    return {};
  }
  auto added = std::find_if(added_.begin(), added_.end(), [&](const Added& a) { return a.function == &*f; });
  if (added == added_.end()) {
    stablehlo::FunctionId id = stablehlo::declare(module_, f->text, prefix_of(added_.size()));
    added = added_.insert(added_.end(), {&*f, id, operands->names});
  }
  // Optional arguments, and lists that are cut elsewhere: the types alone do not tell which argument is which.
  if (added->operands != operands->names && f->text.argument_names != operands->names) {
    refuse(
        l, site.inst,
        "its calls give different arguments, " + quoted_list(added->operands) + " and " + quoted_list(operands->names) +
            ", to one function",
        "give the arguments of the function in " + printable(f->file) + " the operator's names, and each form a file");
    return {};
  }
  return l.hlo.call(added->id, operands->values);
}

std::map<std::string, std::string> CustomCalls::definitions() const {
  std::map<std::string, std::string> out;
  for (size_t i = 0; i < added_.size(); ++i) {
    const stablehlo::FunctionText& text = added_[i].function->text;
    out.emplace(prefix_of(i) + text.name, stablehlo::with_prefix(text, prefix_of(i)));
  }
  return out;
}

// ---- the evaluator's part: what a schema would say is asked of the call itself

namespace {

// Why the operator cannot be a function of its arguments; empty if nothing says so.
std::string problem_of_operator(const torch::Inst& inst) {
  const std::string stem = inst.target.substr(0, inst.target.find('.'));
  if (stem.ends_with('_') && !stem.ends_with("__")) return "by its name it writes to its argument";
  for (const torch::NamedOperand& o : inst.operands)
    if (o.name == "out") return "it writes to its argument `out`";
  if (inst.results.empty()) return "it gives no result, so it must write to an argument or act on something else";
  const torch::Schema* schema = torch::find_schema(inst.target);
  if (!schema) return "";
  for (const torch::SchemaArgument& a : schema->arguments)
    if (a.alias) return (a.alias->write ? "it writes to its argument `" : "its result is a view of `") + a.name + "`";
  return "";
}

}  // namespace

std::vector<IValue> Evaluator::call_custom(const torch::Inst& inst, const CustomOp& op,
                                           const std::vector<NamedValue>& operands) {
  if (std::string problem = problem_of_operator(inst); !problem.empty()) {
    refuse(l_, inst, std::move(problem),
           "a function gives new tensors: export the model with an operator that does so");
    return {};
  }
  CustomCallSite site{inst, operands, {}};
  bool only_tensors = true;
  auto declare = [&](const torch::Operand& slot) {
    auto* id = slot.get<torch::ValueId>();
    only_tensors = only_tensors && id && program_.value(*id).kind == torch::ValueKind::Tensor;
    if (only_tensors) site.declared.push_back(declared_type(*id));
  };
  for (const torch::Operand& slot : inst.results)
    if (auto* list = slot.get<torch::Operand::List>()) std::for_each(list->begin(), list->end(), declare);
    else declare(slot);
  if (!only_tensors) {
    refuse(l_, inst, "not all its results are tensors");
    return {};
  }
  Values values = custom_calls_.lower(l_, op, site);
  if (values.size() != site.declared.size()) return {};  // it has refused
  std::vector<IValue> results;
  auto value = values.begin();
  for (const torch::Operand& slot : inst.results) {
    auto* list = slot.get<torch::Operand::List>();
    IValue::List items;
    for (size_t i = 0; i < (list ? list->size() : 1); ++i) items.emplace_back(l_.make(*value++));
    results.push_back(list ? IValue(std::move(items)) : std::move(items.front()));
  }
  return results;
}

}  // namespace torchlift::lower
