// The syntax of TorchScript's saved code, as it is written: nothing is looked up.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "torch/program.hpp"

namespace torchlift::frontend::script {

inline constexpr size_t kMaxSourceBytes = size_t{32} << 20;
inline constexpr size_t kMaxTokens = size_t{4} << 20;
inline constexpr size_t kMaxExpressionDepth = 200;
inline constexpr size_t kMaxStatementDepth = 120;  // of indented blocks; below torch::kMaxBlockDepth

// Of a first byte: where a diagnostic points to, and what debug ranges are asked for.
struct Position {
  uint32_t offset = 0;
  uint32_t line = 0;  // from 1
};

enum class ExprKind : uint8_t {
  Literal,
  Name,
  Attribute,  // parts: base
  Call,       // parts: callee, arguments...
  Subscript,  // parts: base, indices...
  Slice,      // parts: base, from, to (a Literal None where it is left out)
  List,
  Tuple,
  Dict,  // parts: key, value, key, value, ...
};

struct Expr {
  ExprKind kind = ExprKind::Literal;
  bool in_parentheses = false;
  uint16_t depth = 1;  // of the tree below it, itself included
  Position at = {};
  std::string text = {};                   // Name, Attribute: the name
  torch::Operand literal = {};             // Literal
  std::vector<Expr> parts = {};            // as said above
  std::vector<std::string> keywords = {};  // Call: one for each argument, empty for a positional one

  bool is_name(std::string_view name) const { return kind == ExprKind::Name && text == name; }
};

enum class StmtKind : uint8_t { Expression, Assign, If, While, For, With, Return, Pass, Def };

struct Def;

struct Stmt {
  StmtKind kind = StmtKind::Pass;
  Position at = {};
  std::vector<Expr> targets = {};  // Assign, For, With (`as`)
  std::vector<Expr> values = {};   // Expression, Assign, Return; the condition, the range's end or the context
  std::vector<Expr> type = {};     // Assign: none or the annotation
  bool unpacks = false;            // Assign: a comma before `=`
  std::vector<Stmt> body = {};
  std::vector<Stmt> orelse = {};
  std::shared_ptr<Def> function = {};  // Def
};

struct ParameterSyntax {
  std::string name = {};
  Position at = {};
  std::vector<Expr> type = {};           // none or one
  std::vector<Expr> default_value = {};  // none or one
};

struct Def {
  std::string name = {};
  Position at = {};
  std::vector<ParameterSyntax> parameters = {};
  std::vector<Expr> result_type = {};  // none or one
  std::vector<Stmt> body = {};
};

// `x : T`, `x : T = e`, `x = e`; `__annotations__["0"] = T` is `0 : T`.
struct ClassItem {
  std::string name = {};
  Position at = {};
  std::vector<Expr> type = {};
  std::vector<Expr> value = {};
};

struct ClassDef {
  std::string name = {};
  std::string base = {};
  Position at = {};
  std::vector<ClassItem> items = {};
  std::vector<Def> methods = {};
};

struct Source {
  std::vector<ClassDef> classes = {};
  std::vector<Def> functions = {};
};

}  // namespace torchlift::frontend::script
