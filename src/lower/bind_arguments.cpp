#include "lower/bind_arguments.hpp"

#include "base/kinds.hpp"

namespace torchlift::lower {
namespace {

using torch::SchemaBase;
using torch::SchemaType;

std::string text_of(const SchemaType& type) {
  static constexpr std::string_view kNames[] = {
      "Tensor",     "Scalar", "int",          "SymInt",    "float",   "bool",    "str",    "complex", "Device",
      "ScalarType", "Layout", "MemoryFormat", "Generator", "Storage", "Dimname", "Stream", "Any",     "?"};
  std::string out(kNames[static_cast<size_t>(type.base)]);
  if (type.element_optional) out += "?";
  if (type.list) out += "[]";
  if (type.optional) out += "?";
  return out;
}

bool fits_one(SchemaBase base, const IValue& v) {
  switch (base) {
    case SchemaBase::Tensor: return v.is_tensor() || v.is_number();  // a Python number may stand in a tensor's place
    case SchemaBase::Scalar: return v.is_number() || v.is_tensor();
    case SchemaBase::Int:
    case SchemaBase::SymInt:
    case SchemaBase::Bool: return v.get<Dim>() || v.get<bool>();
    case SchemaBase::Float: return v.get<Dim>() || v.get<bool>() || v.get<double>();
    case SchemaBase::Complex: return v.is_number();
    case SchemaBase::Str: return v.get<std::string>() != nullptr;
    case SchemaBase::Device: return v.get<torch::Device>() || v.get<std::string>();
    case SchemaBase::ScalarType: return v.get<DType>() != nullptr;
    case SchemaBase::Layout: return v.get<torch::Layout>() != nullptr;
    case SchemaBase::MemoryFormat: return v.get<torch::MemoryFormat>() != nullptr;
    case SchemaBase::Generator:
    case SchemaBase::Storage:
    case SchemaBase::Dimname:
    case SchemaBase::Stream:
    case SchemaBase::Any:
    case SchemaBase::Other: return true;
  }
  return false;
}

// Brings a value to the form of the type: single values where a sized list is taken; false if it does not fit.
bool conform(const SchemaType& type, IValue& v) {
  if (v.is_none()) return type.optional || type.base == SchemaBase::Any || type.base == SchemaBase::Generator;
  if (!type.list) return fits_one(type.base, v);
  auto* list = std::get_if<IValue::List>(&v.data);
  if (!list) {
    if (!fits_one(type.base, v)) return false;
    size_t count = type.list_size > 0 ? static_cast<size_t>(type.list_size) : 1;
    v = IValue(IValue::List(count, v));
    return true;
  }
  for (const IValue& item : *list)
    if (!(item.is_none() ? type.element_optional : fits_one(type.base, item))) return false;
  return true;
}

}  // namespace

IValue literal(const torch::Operand& operand, const Referents& referents) {
  return std::visit(
      [&](const auto& v) -> IValue {
        using T = std::remove_cvref_t<decltype(v)>;
        if constexpr (std::is_same_v<T, torch::ValueId>) return referents.value(v);
        else if constexpr (std::is_same_v<T, torch::WeightId>) return referents.weight(v);
        else if constexpr (std::is_same_v<T, torch::ObjectId>) return referents.object(v);
        else if constexpr (std::is_same_v<T, int64_t>) return IValue(Dim(v));
        else if constexpr (std::is_same_v<T, torch::Operand::List>) {
          IValue::List list;
          for (const torch::Operand& item : v) list.push_back(literal(item, referents));
          return IValue(std::move(list));
        } else return IValue(v);
      },
      operand.data);
}

IValue literal(const torch::Operand& operand) {
  return literal(operand, {.value = [](torch::ValueId) { return IValue(); },
                           .weight = [](torch::WeightId) { return IValue(); },
                           .object = [](torch::ObjectId) { return IValue(); }});
}

Result<std::vector<IValue>> bind_arguments(const torch::Schema& schema, std::vector<NamedValue> given) {
  std::vector<IValue> out(schema.arguments.size());
  std::vector<bool> have(schema.arguments.size(), false);
  size_t position = 0;
  for (NamedValue& g : given) {
    size_t at = schema.arguments.size();
    if (g.name.empty()) {
      at = position++;
    } else {
      for (size_t i = 0; i < schema.arguments.size(); ++i)
        if (schema.arguments[i].name == g.name) at = i;
    }
    if (at >= schema.arguments.size())
      return diagnose(Kind::ArgumentUnknown, {{"operator", schema.full_name()},
                                              {"argument", g.name.empty() ? std::to_string(position - 1) : g.name}});
    out[at] = std::move(g.value);
    have[at] = true;
  }
  for (size_t i = 0; i < out.size(); ++i) {
    const torch::SchemaArgument& argument = schema.arguments[i];
    if (!have[i]) {
      if (!argument.default_value) {
        if (argument.type.optional) continue;
        return diagnose(Kind::ArgumentMissing, {{"operator", schema.full_name()}, {"argument", argument.name}});
      }
      out[i] = literal(*argument.default_value);
    }
    if (!conform(argument.type, out[i]))
      return diagnose(Kind::ArgumentType, {{"operator", schema.full_name()},
                                           {"argument", argument.name},
                                           {"got", describe(out[i])},
                                           {"expected", text_of(argument.type)}});
  }
  return out;
}

}  // namespace torchlift::lower
