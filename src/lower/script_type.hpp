// Types of TorchScript as trees: of values, of the texts in a program ("Dict[str, int]"), and of schemas ("t[]").
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lower/ivalue.hpp"
#include "torch/schema.hpp"

namespace torchlift::lower {

struct ScriptType {
  std::string name;  // "Tensor", "int", "number", "NoneType", "Any", "List", "Optional", "Dict", "Tuple", "__torch__.M"
  std::vector<ScriptType> items;
  bool variable = false;  // "t" of a schema
  bool operator==(const ScriptType&) const = default;
};

// Both spellings. Nothing for a text that is no type, or is nested too deep.
std::optional<ScriptType> parse_script_type(std::string_view text);
ScriptType type_of(const torch::SchemaArgument& argument);
// Of what it holds now; a list's elements by its declared type, else by its items. "?" is what any type may be: the
// elements of an empty list of no declared type.
ScriptType type_of(const IValue& value);
std::string text_of(const ScriptType& type);  // "List[int]"

using TypeVariables = std::map<std::string, ScriptType, std::less<>>;

// Binds the variables of `formal` by `actual`; false if they would need two types.
bool bind_variables(const ScriptType& formal, const ScriptType& actual, TypeVariables& variables);
// `formal` with its variables replaced. "?" for what is not bound.
ScriptType bound(const ScriptType& formal, const TypeVariables& variables);
bool is_subtype(const ScriptType& actual, const ScriptType& formal);

}  // namespace torchlift::lower
