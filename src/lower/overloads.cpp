#include "lower/overloads.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "base/kinds.hpp"
#include "base/text.hpp"
#include "lower/numbers.hpp"
#include "lower/script_type.hpp"

namespace torchlift::lower {
namespace {

using torch::Schema;
using torch::SchemaArgument;
using torch::SchemaBase;

constexpr size_t kMaxNamedOverloads = 12;  // in a message
constexpr int kMaxListDepth = 8;

struct Actual {
  NamedValue* given;
  ScriptType type;
};

// What a call gives to a schema: one value or a run of positional ones for each argument that is given.
struct Match {
  const Schema* schema = nullptr;
  struct Taken {
    const SchemaArgument* argument;  // nullptr: one more of a variadic call
    size_t first;
    size_t count = 1;  // more: packed into a list
    bool packed = false;
    ScriptType formal;
  };
  std::vector<Taken> taken;
};

const ScriptType& without_optional(const ScriptType& type) { return type.name == "Optional" ? type.items[0] : type; }

// A schema's `int[2]` takes one int, a `float[2]` one float.
bool stands_for_list(const SchemaArgument& formal, const ScriptType& actual) {
  if (!formal.type.list || formal.type.list_size <= 0 || formal.type.element_optional) return false;
  if (actual.name == "int") return formal.type.base == SchemaBase::Int || formal.type.base == SchemaBase::SymInt;
  return actual.name == "float" && formal.type.base == SchemaBase::Float;
}

bool becomes_list(const ScriptType& actual, const ScriptType& formal) {
  if (formal.name != "List") return false;
  if (is_subtype(actual, formal)) return true;
  return actual.name == "Tuple" && std::all_of(actual.items.begin(), actual.items.end(), [&](const ScriptType& item) {
           return is_subtype(item, formal.items[0]);
         });
}

bool converts(const ScriptType& actual, const ScriptType& formal) {
  if (actual.name == "Tensor")
    return formal.name == "int" || formal.name == "float" || formal.name == "complex" || formal.name == "number";
  if (actual.name == "bool") return formal.name == "int" || formal.name == "float" || formal.name == "number";
  return actual.name == "str" && formal.name == "Device";
}

bool fits(const ScriptType& actual, const ScriptType& formal, bool conversions) {
  if (is_subtype(actual, formal)) return true;
  const ScriptType& wanted = without_optional(formal);
  return becomes_list(actual, wanted) || (conversions && converts(actual, wanted));
}

// Whether all positional values that are left may be this argument's elements.
bool packs_rest(const Schema& schema, size_t at) {
  const SchemaArgument& argument = schema.arguments[at];
  bool last = at + 1 == schema.arguments.size() || schema.arguments[at + 1].keyword_only;
  return last && argument.type.list && !argument.type.optional && argument.type.list_size == 0 &&
         argument.type.base != SchemaBase::Other;
}

class Matcher {
 public:
  Matcher(const std::vector<Actual>& actuals, const Schema& schema, bool conversions)
      : actuals_(actuals), schema_(schema), conversions_(conversions), used_(actuals.size(), false) {}

  std::optional<Match> match() {
    match_.schema = &schema_;
    for (size_t i = 0; i < schema_.arguments.size(); ++i)
      if (!take(i)) return std::nullopt;
    for (size_t i = 0; i < actuals_.size(); ++i) {
      if (used_[i]) continue;
      if (!schema_.is_variadic || !actuals_[i].given->name.empty()) return std::nullopt;
      match_.taken.push_back({nullptr, i, 1, false, {}});
    }
    return std::move(match_);
  }

 private:
  std::optional<size_t> next_positional() const {
    for (size_t i = 0; i < actuals_.size(); ++i)
      if (!used_[i] && actuals_[i].given->name.empty()) return i;
    return std::nullopt;
  }

  // PyTorch's functions call `input` what the schemas call `self`.
  std::optional<size_t> keyword(std::string_view name) const {
    for (size_t i = 0; i < actuals_.size(); ++i) {
      const std::string& given = actuals_[i].given->name;
      if (given.empty()) continue;
      if (given == name || (name == "self" && given == "input" && schema_.name.starts_with("aten::"))) return i;
    }
    return std::nullopt;
  }

  bool take(size_t at) {
    const SchemaArgument& argument = schema_.arguments[at];
    if (auto i = argument.keyword_only ? std::nullopt : next_positional()) {
      if (conversions_ && packs_rest(schema_, at) && !becomes_list(actuals_[*i].type, type_of(argument)) &&
          actuals_[*i].type.name != "List")
        return pack(argument);
      return one(argument, *i);
    }
    if (auto i = keyword(argument.name)) return !used_[*i] && one(argument, *i);
    return argument.default_value.has_value();
  }

  bool one(const SchemaArgument& argument, size_t i) {
    used_[i] = true;
    const ScriptType& actual = actuals_[i].type;
    ScriptType formal = type_of(argument);
    if (!stands_for_list(argument, actual)) {
      if (!bind_variables(formal, actual, variables_)) return false;
      formal = bound(formal, variables_);
      if (!fits(actual, formal, conversions_)) return false;
    }
    match_.taken.push_back({&argument, i, 1, false, std::move(formal)});
    return true;
  }

  bool pack(const SchemaArgument& argument) {
    ScriptType formal = type_of(argument);
    size_t first = *next_positional(), count = 0;
    for (size_t i = first; i < actuals_.size(); ++i) {
      if (used_[i] || !actuals_[i].given->name.empty()) continue;
      if (!fits(actuals_[i].type, formal.items[0], conversions_)) return false;
      used_[i] = true;
      ++count;
    }
    match_.taken.push_back({&argument, first, count, true, std::move(formal)});
    return true;
  }

  const std::vector<Actual>& actuals_;
  const Schema& schema_;
  bool conversions_;
  std::vector<bool> used_;
  TypeVariables variables_;
  Match match_;
};

// In the order in which TorchScript tries them. `view.dtype` cannot be told from `view(int)`, and the out= forms of one
// argument of `max` and `min` not from those of two: TorchScript never takes them.
std::vector<const Schema*> candidates(std::string_view name) {
  constexpr std::array<std::string_view, 3> kNever{"aten::view.dtype", "aten::max.unary_out", "aten::min.unary_out"};
  std::vector<const Schema*> out;
  for (const Schema& schema : torch::schemas_named(name))
    if (schema.script_order) out.push_back(&schema);
  std::stable_sort(out.begin(), out.end(),
                   [](const Schema* a, const Schema* b) { return *a->script_order < *b->script_order; });
  if (out.size() > 1)
    std::erase_if(out, [&](const Schema* schema) {
      return std::find(kNever.begin(), kNever.end(), schema->full_name()) != kNever.end();
    });
  return out;
}

std::optional<Match> best(const std::vector<const Schema*>& schemas, const std::vector<Actual>& actuals,
                          bool conversions) {
  for (const Schema* schema : schemas)
    if (auto match = Matcher(actuals, *schema, conversions).match()) return match;
  return std::nullopt;
}

// ---- TorchScript's own functions, tried after the operators: a number before a tensor

struct Swapped {
  std::string_view name;
  std::string_view instead;  // with its two arguments swapped
};
constexpr std::array kSwapped{
    Swapped{"aten::mul", "aten::mul"}, Swapped{"aten::add", "aten::add"}, Swapped{"aten::ne", "aten::ne"},
    Swapped{"aten::eq", "aten::eq"},   Swapped{"aten::lt", "aten::gt"},   Swapped{"aten::le", "aten::ge"},
    Swapped{"aten::gt", "aten::lt"},   Swapped{"aten::ge", "aten::le"},   Swapped{"aten::sub", "aten::rsub"},
};

bool is_number_type(const ScriptType& type) {
  return type.name == "int" || type.name == "float" || type.name == "complex";
}

std::optional<std::string_view> own_function(std::string_view name, const std::vector<Actual>& actuals) {
  if (actuals.size() != 2 || !actuals[0].given->name.empty() || !actuals[1].given->name.empty()) return std::nullopt;
  const ScriptType &a = actuals[0].type, &b = actuals[1].type;
  if (name == "aten::floordiv" && a.name == "Tensor" && (b.name == "Tensor" || is_number_type(b)))
    return "aten::floor_divide";
  if (!is_number_type(a) || b.name != "Tensor") return std::nullopt;
  for (const Swapped& s : kSwapped)
    if (s.name == name) return s.instead;
  return std::nullopt;
}

// ---- values as the schema has them

class Converter {
 public:
  Converter(Lower& l, const SchemaArgument& argument) : l_(l), argument_(argument) {}

  std::optional<IValue> value(IValue v, const ScriptType& formal) {
    const ScriptType& wanted = without_optional(formal);
    if (argument_.type.list || wanted.name == "List") return list(std::move(v), wanted);
    return one(std::move(v), wanted);
  }
  std::optional<IValue> packed(std::span<IValue> values, const ScriptType& formal) { return items(values, formal); }

 private:
  std::optional<IValue> items(std::span<IValue> values, const ScriptType& formal) {
    static const ScriptType kAny{"Any", {}, false};
    const ScriptType& element = formal.name == "List" ? without_optional(formal.items[0]) : kAny;
    IValue::List out;
    for (IValue& item : values) {
      auto converted = one(std::move(item), element);
      if (!converted) return std::nullopt;
      out.push_back(std::move(*converted));
    }
    return IValue(std::move(out));
  }

  std::optional<IValue> list(IValue v, const ScriptType& formal) {
    if (auto* list = v.get<ListRef>()) {
      std::vector<IValue> copy = (*list)->items;
      return items(copy, formal);
    }
    if (auto* tuple = v.get<TupleRef>(); tuple && formal.name == "List") {
      std::vector<IValue> copy = (*tuple)->items;
      return items(copy, formal);
    }
    if (auto* list = std::get_if<IValue::List>(&v.data)) return items(*list, formal);
    if (argument_.type.list_size > 0 && v.is_none() == false) {
      IValue::List out(static_cast<size_t>(std::min<int64_t>(argument_.type.list_size, 16)), v);
      return IValue(std::move(out));
    }
    return v;  // None
  }

  std::optional<IValue> one(IValue v, const ScriptType& formal) {
    if (auto* tensor = v.get<Tensor>(); tensor && !tensor->is_device_number()) {
      if (formal.name == "int") return implicit_number_of(l_, *tensor, NumberKind::Int);
      if (formal.name == "float") return implicit_number_of(l_, *tensor, NumberKind::Float);
      if (formal.name == "complex") return implicit_number_of(l_, *tensor, NumberKind::Complex);
      if (formal.name == "number") return implicit_number_of(l_, *tensor, NumberKind::AsTensor);
      return v;
    }
    if (formal.name == "float") {
      if (auto* truth = v.get<bool>()) return IValue(*truth ? 1.0 : 0.0);
      if (auto* number = v.get<Tensor>(); number && is_bool(number->dtype()))
        return IValue(l_.device_number(l_.read(*number, DType::Float64)));
    }
    bool counts = formal.name == "int" || formal.name == "number";  // True is 1 there
    if (auto* truth = v.get<bool>(); truth && counts) return enumeration(Dim(*truth ? 1 : 0));
    if (auto* number = v.get<Tensor>(); number && counts && is_bool(number->dtype()))
      return IValue(l_.device_number(l_.read(*number, DType::Int64)));
    if (auto* number = v.get<Dim>()) return enumeration(*number);
    if (v.get<ListRef>() || v.get<TupleRef>()) return plain(v, 0);
    return v;
  }

  // TorchScript has them as ints, of c10's numbering.
  std::optional<IValue> enumeration(const Dim& number) {
    auto known = [&](auto found, std::string_view what) -> std::optional<IValue> {
      if (found) return IValue(*found);
      l_.unsupported(argument_.name, std::to_string(number.concrete()) + " (" + std::string(what) + ")");
      return std::nullopt;
    };
    int64_t n = number.concrete();
    switch (argument_.type.base) {
      case SchemaBase::ScalarType: return known(torch::dtype_from_c10(n), "a dtype of c10");
      case SchemaBase::Layout: return known(torch::layout_from_c10(n), "a layout of c10");
      case SchemaBase::MemoryFormat: return known(torch::memory_format_from_c10(n), "a memory format of c10");
      default: return IValue(number);
    }
  }

  // Lists within lists.
  static std::optional<IValue> plain(const IValue& v, int depth) {
    const std::vector<IValue>* items = nullptr;
    if (auto* list = v.get<ListRef>()) items = &(*list)->items;
    if (auto* tuple = v.get<TupleRef>()) items = &(*tuple)->items;
    if (!items || depth >= kMaxListDepth) return v;
    IValue::List out;
    for (const IValue& item : *items) out.push_back(*plain(item, depth + 1));
    return IValue(std::move(out));
  }

  Lower& l_;
  const SchemaArgument& argument_;
};

// TorchScript lists of tensors are no `Tensor?[]`; twins take them, of equal meaning.
const Schema* served(const Schema* schema) {
  constexpr std::string_view kTwin = "hacked_twin";
  if (!schema->overload.ends_with(kTwin)) return schema;
  std::string overload = schema->overload.substr(0, schema->overload.size() - kTwin.size());
  if (overload.ends_with('_')) overload.pop_back();
  const Schema* original = torch::find_schema(overload.empty() ? schema->name : schema->name + "." + overload);
  return original ? original : schema;
}

std::optional<Overload> converted(Lower& l, const Match& match, std::vector<Actual>& actuals) {
  Overload out{served(match.schema), {}};
  for (const Match::Taken& taken : match.taken) {
    NamedValue& given = *actuals[taken.first].given;
    if (!taken.argument) {
      out.arguments.push_back({"", std::move(given.value)});
      continue;
    }
    Converter converter(l, *taken.argument);
    std::optional<IValue> value;
    if (taken.packed) {
      std::vector<IValue> rest;
      for (size_t i = taken.first; rest.size() < taken.count; ++i)
        if (actuals[i].given->name.empty()) rest.push_back(std::move(actuals[i].given->value));
      value = converter.packed(rest, taken.formal);
    } else {
      value = converter.value(std::move(given.value), taken.formal);
    }
    if (!value) return std::nullopt;
    if (auto* text = value->get<std::string>(); text && taken.argument->type.base == SchemaBase::Device)
      value = IValue(device_from(*text));
    out.arguments.push_back({taken.argument->name, std::move(*value)});
  }
  return out;
}

std::string signature(const Schema& schema) {
  std::string name = schema.full_name().substr(schema.name.find("::") + 2);
  return name + "(" +
         join(schema.arguments, ", ", [](const SchemaArgument& argument) { return text_of(type_of(argument)); }) +
         (schema.is_variadic ? ", ...)" : ")");
}

std::string call_text(const std::vector<Actual>& actuals) {
  return "(" +
         join(actuals, ", ",
              [](const Actual& actual) {
                std::string type = printable(text_of(actual.type));
                return actual.given->name.empty() ? type : printable(actual.given->name) + "=" + type;
              }) +
         ")";
}

// Namespaces of PyTorch's own operators that say nothing about models without quantization and distribution.
bool is_pytorchs(std::string_view name) {
  constexpr std::array<std::string_view, 9> kNamespaces{
      "prim::", "quantized::", "_quantized::",       "mkldnn::",      "sparse::",
      "c10d::", "onednn::",    "_c10d_functional::", "quantization::"};
  return std::any_of(kNamespaces.begin(), kNamespaces.end(), [&](auto space) { return name.starts_with(space); });
}

}  // namespace

torch::Device device_from(std::string_view text) {
  torch::Device device;
  size_t colon = text.find(':');
  device.type = std::string(text.substr(0, colon));
  if (colon == std::string_view::npos) return device;
  std::string_view digits = text.substr(colon + 1);
  int64_t index = -1;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), index).ec == std::errc()) device.index = index;
  return device;
}

std::optional<Overload> choose_overload(Lower& l, std::string_view name, std::vector<NamedValue> arguments) {
  std::vector<Actual> actuals;
  for (NamedValue& given : arguments) actuals.push_back({&given, type_of(given.value)});
  const std::vector<const Schema*> schemas = candidates(name);
  if (schemas.empty()) {
    l.refuse(is_pytorchs(name) ? Kind::UnsupportedOperator : Kind::UnknownOperator, {{"operator", std::string(name)}});
    return std::nullopt;
  }
  if (auto match = best(schemas, actuals, false)) return converted(l, *match, actuals);
  if (auto instead = own_function(name, actuals)) {
    if (*instead != "aten::floor_divide") std::swap(actuals[0], actuals[1]);
    if (auto match = best(candidates(*instead), actuals, false)) return converted(l, *match, actuals);
  }
  if (auto match = best(schemas, actuals, true)) return converted(l, *match, actuals);
  std::string overloads;
  for (size_t i = 0; i < schemas.size() && i < kMaxNamedOverloads; ++i)
    overloads += (i == 0 ? "" : "; ") + signature(*schemas[i]);
  if (schemas.size() > kMaxNamedOverloads)
    overloads += "; and " + std::to_string(schemas.size() - kMaxNamedOverloads) + " more";
  l.refuse(Kind::NoOverload, {{"operator", std::string(name)}, {"call", call_text(actuals)}, {"overloads", overloads}});
  return std::nullopt;
}

}  // namespace torchlift::lower
