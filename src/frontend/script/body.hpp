// Statements and expressions of one function become instructions, in single assignment form.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "frontend/script/compile.hpp"
#include "frontend/script/syntax.hpp"

namespace torchlift::frontend::script {

// What all functions of one file share.
struct FileContext {
  const SourceFile& file;
  const Constants& constants;
  int64_t version;
  torch::Program& program;
  std::string member;                                                   // "code/__torch__/torch/nn/functional.py"
  std::unordered_map<const void*, torch::LocId> author_locations = {};  // by the address of their frames
};

// "line {line}: `{name}` {problem}"
Diagnostic name_error(const FileContext& context, Position at, std::string name, std::string problem);

// A type's text, or what stands there instead of one.
Result<std::string> type_of(const FileContext& context, const Expr& expr);

// CONSTANTS.c3, by the attribute after `CONSTANTS`.
Result<torch::Operand> table_constant(const FileContext& context, const Expr& expr);

// A default or a class constant: a literal, CONSTANTS.cN, a device, an enum member, or a list, tuple or dict of these.
Result<torch::Operand> constant_of(FileContext& context, const Expr& expr, const std::string& type);

// The block of a function whose parameters have these names; `name` is its qualified name.
Result<torch::BlockId> compile_body(FileContext& context, const std::string& name, const Def& def);

}  // namespace torchlift::frontend::script
