// The code of a TorchScript archive becomes functions of a torch::Program: one member (`code/__torch__/a/b.py`) at a
// time, in any order, and then `link` once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "frontend/script/debug_ranges.hpp"
#include "torch/program.hpp"

namespace torchlift::frontend::script {

struct Constants {
  std::vector<torch::Operand> values;  // CONSTANTS.c0, CONSTANTS.c1, ...
};

struct SourceFile {
  std::string prefix;  // of its names: "__torch__.a.b" for code/__torch__/a/b.py
  std::string text;
  const DebugRanges* ranges = nullptr;  // of its `.debug_pkl`; may be null
};

// Appends the file's classes and functions to the program, with their blocks, instructions, values and locations, and
// objects for defaults and class constants that are lists, tuples or enum members. `version` is the archive's format
// version: an operator whose meaning changed since is called `upgrader::div` instead of `aten::div`.
// Block 0 is left to the entry (an empty program gets an empty one). A diagnostic's place has no file, only the member.
// A call of `__torch__.a.B` is `prim::CallFunction("__torch__.a.B", ...)` and a bare `__torch__.a.B.C` is
// `prim::EnumMember("__torch__.a.B", "C")`, whatever they turn out to be.
Status compile(const SourceFile& file, const Constants& constants, int64_t version, torch::Program& program);

// What `link` appends to a function's name that is a method's name too.
inline constexpr std::string_view kFunctionSuffix = ".<function>";

// After all files: a prim::CallFunction of a NamedTuple class becomes prim::NamedTupleConstruct, defaults that are enum
// members get their values; a call or an enum member that the program does not have is an error. PyTorch writes a hook
// twice, as a method of the module's class and as a function of the same name: such a function gets kFunctionSuffix,
// also where it is called.
Status link(torch::Program& program);

}  // namespace torchlift::frontend::script
