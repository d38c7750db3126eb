// TorchScript's types as it writes them: "Tensor", "Dict[str, List[int]]", "Tuple[()]", "__torch__.M".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace torchlift::torch {

inline constexpr size_t kMaxScriptTypeText = 1 << 16;
inline constexpr size_t kMaxScriptTypeDepth = 32;

// `List[int]`: the name "List" with one argument. A name may be dotted: "__torch__.a.___torch_mangle_1.M".
struct ScriptType {
  std::string name;
  std::vector<ScriptType> arguments;  // none for `Tuple[()]`, the empty tuple

  bool is(std::string_view other) const { return name == other; }
  bool is_class() const;  // "__torch__.M": a class, NamedTuple, Enum or Interface
  bool operator==(const ScriptType&) const = default;
};

// List, Optional, Future, Await and RRef have one argument, Dict two, Tuple and Union any number, all others none
// (isinstance also asks for `list` and `tuple`). The old spellings "None" and "Scalar" become "NoneType" and "number".
Result<ScriptType> parse_script_type(std::string_view text);

std::string print(const ScriptType& type);  // as TorchScript writes it

// "int" of "List[int]", or of "Dict[str, int]" at 1; empty where there is none.
std::string type_argument(std::string_view type, size_t index);

}  // namespace torchlift::torch
