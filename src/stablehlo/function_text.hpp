// StableHLO text that somebody else wrote: a function with its private helpers, to be carried into a module as it is.
// Read are the heads of the functions and the names in their bodies; what the bodies compute is left to the plugin that
// compiles the module.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "stablehlo/module.hpp"

namespace torchlift::stablehlo {

struct FunctionText {
  std::string name;                         // of the public function
  std::vector<std::string> argument_names;  // "x" of "%x"
  std::vector<Type> arguments;
  std::vector<Type> results;
  // All functions as they are printed, cut where the name of one of them stands: a name belongs before each piece but
  // the first.
  std::vector<std::string> pieces;
  std::vector<std::string> names;  // one fewer
};

constexpr size_t kMaxFunctionText = size_t{64} << 20;  // bytes
constexpr size_t kMaxFunctions = 4096;

// A file of `func.func`, in a `module` or bare, with one public function. `path` names it in messages.
Result<FunctionText> read_function_text(std::string_view text, const std::string& path);

// The functions, all private, each under its name with `prefix` before it.
std::string with_prefix(const FunctionText& function, std::string_view prefix);

// A declaration of the function, to be called: its name with `prefix` before it, and its types. Whoever prints the
// module gives the text (PrintOptions::definitions).
FunctionId declare(Module& module, const FunctionText& function, std::string_view prefix);
// What such a function is known by: results that nothing in its body, which is empty, defines.
bool is_declaration(const Module& module, const Function& function);

// The type of a text such as to_text(Type) gives; nothing for any other, unknown sizes (`?`) and element types that
// PyTorch has not included.
std::optional<Type> parse_type(std::string_view text);

}  // namespace torchlift::stablehlo
