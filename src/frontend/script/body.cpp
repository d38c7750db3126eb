#include "frontend/script/body.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "base/kinds.hpp"
#include "base/text.hpp"
#include "frontend/script/lexer.hpp"
#include "frontend/script/parser.hpp"

namespace torchlift::frontend::script {
namespace {

using torch::BlockId;
using torch::InstKind;
using torch::LocId;
using torch::NamedOperand;
using torch::Operand;
using torch::ValueId;

using Operands = std::vector<Operand>;
using Results = std::vector<std::string>;  // the names of an instruction's results; empty: a temporary

// What the printer writes in a syntax of its own, so that `ops.prim.If(...)` can only be made by hand.
constexpr std::array<std::string_view, 22> kLanguage = {
    "If",         "Loop",     "ListConstruct",  "TupleConstruct", "DictConstruct", "Unpack",
    "GetAttr",    "SetAttr",  "CallMethod",     "CallFunction",   "CreateObject",  "NamedTupleConstruct",
    "EnumMember", "annotate", "unchecked_cast", "Uninitialized",  "isinstance",    "tolist",
    "Enter",      "Exit",     "fork",           "TupleSlice"};

struct Cast {
  std::string_view name;
  std::string_view target;
};
constexpr std::array<Cast, 7> kPlainCalls = {{{"int", "aten::Int"},
                                              {"float", "aten::Float"},
                                              {"bool", "aten::Bool"},
                                              {"complex", "aten::Complex"},
                                              {"str", "aten::str"},
                                              {"print", "prim::Print"},
                                              {"sorted", "aten::sorted"}}};

// Operators whose meaning changed, with the format version that brought the present one.
struct Change {
  std::string_view name;
  int64_t version;
};
constexpr std::array<Change, 6> kChanges = {
    {{"div", 4}, {"div_", 4}, {"full", 5}, {"linspace", 8}, {"logspace", 9}, {"gelu", 10}}};

std::string operator_name(std::string_view name, int64_t version) {
  for (const Change& change : kChanges)
    if (change.name == name && version < change.version) return "upgrader::" + std::string(name);
  return "aten::" + std::string(name);
}

// Names that the statements assign, in order, those of nested blocks included.
void assigned_names(const std::vector<Stmt>& statements, std::vector<std::string>& out) {
  for (const Stmt& stmt : statements) {
    for (const Expr& target : stmt.targets)
      if (target.kind == ExprKind::Name) out.push_back(target.text);
    assigned_names(stmt.body, out);
    assigned_names(stmt.orelse, out);
  }
}

class FunctionCompiler {
 public:
  FunctionCompiler(FileContext& context, std::string name) : context_(context), function_(std::move(name)) {}
  Result<BlockId> run(const Def& def);

 private:
  // What a name stands for: a value or a literal, a name of the archive's code, or a function inside of this one.
  struct Symbol {
    Operand value = {};
    std::string path = {};  // "__torch__.torch.nn.functional.pad"; empty else
    const Def* def = nullptr;
    bool is_function = false;  // with no def: one that cannot be called (any more)
  };
  // A block being filled and the names that it assigns.
  struct Frame {
    BlockId block;
    std::vector<std::string> order;  // of first assignment
    std::unordered_map<std::string, Symbol> symbols;
  };

  BlockId open(bool is_branch);
  Frame close();
  Symbol* find(const std::string& name);
  void assign(const std::string& name, Symbol symbol);
  void assign(const std::string& name, Operand value) { assign(name, Symbol{.value = std::move(value)}); }
  bool is_local(const Expr& expr) { return expr.kind == ExprKind::Name && find(expr.text) != nullptr; }

  std::string fresh(const std::string& name);
  Operand define(const std::string& name);
  LocId location(Position at);
  Operands emit(Position at, std::string target, std::vector<NamedOperand> operands, const Results& results);
  Operand emit_one(Position at, std::string target, std::vector<NamedOperand> operands, const std::string& name);

  Status statements(const std::vector<Stmt>& body, bool returns);
  Status statement(const Stmt& stmt);
  Status assignment(const Stmt& stmt);
  Status store(const Expr& target, Operand value);
  Result<Operands> unpacked(const Expr& value, const Results& names);
  Status if_statement(const Stmt& stmt);
  Status loop(const Stmt& stmt);
  Status with(const Stmt& stmt);
  Operand value_of(Position at, const Symbol& symbol);
  Operand value_in(Position at, Frame& frame, const std::string& name);

  Result<Operand> value(const Expr& expr, const std::string& name = "");
  Result<Operand> named(const Expr& expr);
  Result<Operand> attribute(const Expr& expr, const std::string& name);
  Result<Operand> display(const Expr& expr, const std::string& type, const std::string& name);
  Result<Operand> subscript(const Expr& expr, const std::string& name);
  Result<Operands> call(const Expr& expr, const Results& results);
  Result<Operands> call_operator(const Expr& expr, std::string target, const Results& results);
  Result<Operands> call_form(const Expr& expr, const Results& results);
  Result<Operands> annotate(Position at, const Expr& type, const Expr& operand, const Results& results);
  Result<Operands> fork(const Expr& expr, const Results& results);
  Result<std::vector<NamedOperand>> arguments(const Expr& call, std::vector<NamedOperand> out, size_t first = 1);
  Result<std::optional<std::string>> operator_target(const Expr& callee);
  std::optional<std::string> path_of(const Expr& expr);

  Result<std::string> type(const Expr& expr) { return type_of(context_, expr); }
  Diagnostic unexpected(Position at, std::string got, std::string expected) const {
    return syntax_error(context_.member, at, std::move(got), std::move(expected));
  }

  FileContext& context_;
  std::string function_;
  torch::Program& program_ = context_.program;
  std::vector<Frame> frames_;
  std::unordered_map<std::string, size_t> used_;   // value names of the function, with the last suffix
  std::unordered_map<uint32_t, LocId> locations_;  // by line
  size_t temporaries_ = 0;
};

NamedOperand positional(Operand value) { return {"", std::move(value)}; }
NamedOperand text_operand(std::string text) { return {"", Operand{std::move(text)}}; }

// ---- names and blocks

BlockId FunctionCompiler::open(bool is_branch) {
  BlockId id(program_.blocks.size());
  program_.blocks.emplace_back().is_branch = is_branch;
  frames_.push_back({.block = id, .order = {}, .symbols = {}});
  return id;
}

FunctionCompiler::Frame FunctionCompiler::close() {
  Frame out = std::move(frames_.back());
  frames_.pop_back();
  return out;
}

FunctionCompiler::Symbol* FunctionCompiler::find(const std::string& name) {
  for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
    auto found = frame->symbols.find(name);
    if (found != frame->symbols.end()) return &found->second;
  }
  return nullptr;
}

void FunctionCompiler::assign(const std::string& name, Symbol symbol) {
  Frame& frame = frames_.back();
  auto [at, is_new] = frame.symbols.insert_or_assign(name, std::move(symbol));
  if (is_new) frame.order.push_back(at->first);
}

// Unique in the whole function, so that a branch's values differ from those it sees. No name of the source has a point.
std::string FunctionCompiler::fresh(const std::string& name) {
  if (name.empty()) return std::to_string(temporaries_++);
  size_t& count = used_[name];
  return count++ == 0 ? name : name + "." + std::to_string(count - 1);
}

Operand FunctionCompiler::define(const std::string& name) {
  ValueId id(program_.values.size());
  torch::Value& value = program_.values.emplace_back();
  value.name = fresh(name);
  value.kind = torch::ValueKind::Any;
  return Operand{id};
}

LocId FunctionCompiler::location(Position at) {
  auto add = [&](std::vector<SourceLine> frames) {
    program_.locations.emplace_back().frames = std::move(frames);
    return LocId(program_.locations.size() - 1);
  };
  if (context_.file.ranges != nullptr) {
    const std::vector<SourceLine>& frames = context_.file.ranges->at(at.offset);
    if (!frames.empty()) {
      auto [known, is_new] = context_.author_locations.try_emplace(&frames);
      if (is_new) known->second = add(frames);
      return known->second;
    }
  }
  auto [known, is_new] = locations_.try_emplace(at.line);
  if (is_new) known->second = add({{context_.member, static_cast<int>(at.line), function_, ""}});
  return known->second;
}

Operands FunctionCompiler::emit(Position at, std::string target, std::vector<NamedOperand> operands,
                                const Results& results) {
  torch::Inst inst{.kind = InstKind::Overloaded,
                   .name = {},
                   .target = std::move(target),
                   .operands = std::move(operands),
                   .results = {},
                   .location = location(at)};
  for (const std::string& name : results) inst.results.push_back(define(name));
  Operands out = inst.results;
  program_.blocks[frames_.back().block.at()].insts.emplace_back(program_.insts.size());
  program_.insts.push_back(std::move(inst));
  return out;
}

Operand FunctionCompiler::emit_one(Position at, std::string target, std::vector<NamedOperand> operands,
                                   const std::string& name) {
  return emit(at, std::move(target), std::move(operands), {name}).front();
}

// "__torch__.a.B" as a value can only be the member of an enum.
Operand FunctionCompiler::value_of(Position at, const Symbol& symbol) {
  if (symbol.path.empty()) return symbol.value;
  size_t dot = symbol.path.rfind('.');
  return emit_one(at, "prim::EnumMember",
                  {text_operand(symbol.path.substr(0, dot)), text_operand(symbol.path.substr(dot + 1))}, "");
}

// ---- expressions

// a.b.c without parentheses, from `__torch__`
std::optional<std::string> FunctionCompiler::path_of(const Expr& expr) {
  if (expr.is_name("__torch__") && !is_local(expr)) return expr.text;
  if (expr.kind != ExprKind::Attribute || expr.parts.front().in_parentheses) return std::nullopt;
  std::optional<std::string> base = path_of(expr.parts.front());
  if (!base) return std::nullopt;
  return *base + "." + expr.text;
}

Result<Operand> FunctionCompiler::named(const Expr& expr) {
  if (Symbol* symbol = find(expr.text)) {
    if (symbol->is_function) return name_error(context_, expr.at, expr.text, "is a function and used as a value");
    return value_of(expr.at, *symbol);
  }
  if (expr.text == "inf") return Operand{std::numeric_limits<double>::infinity()};
  if (expr.text == "nan") return Operand{std::numeric_limits<double>::quiet_NaN()};
  return name_error(context_, expr.at, expr.text, "is not defined here");
}

Result<Operand> FunctionCompiler::attribute(const Expr& expr, const std::string& name) {
  const Expr& base = expr.parts.front();
  if (base.is_name("CONSTANTS") && !is_local(base)) return table_constant(context_, expr);
  if (std::optional<std::string> path = path_of(expr)) return value_of(expr.at, Symbol{.path = *std::move(path)});
  TRY(Operand object, value(base));
  return emit_one(expr.at, "prim::GetAttr", {positional(std::move(object)), text_operand(expr.text)}, name);
}

// [a, b], (a, b), {a: b}
Result<Operand> FunctionCompiler::display(const Expr& expr, const std::string& type, const std::string& name) {
  std::vector<NamedOperand> operands;
  if (expr.kind != ExprKind::Tuple) operands.push_back(text_operand(type));
  for (const Expr& part : expr.parts) {
    TRY(Operand item, value(part));
    operands.push_back(positional(std::move(item)));
  }
  std::string target = expr.kind == ExprKind::List    ? "prim::ListConstruct"
                       : expr.kind == ExprKind::Tuple ? "prim::TupleConstruct"
                                                      : "prim::DictConstruct";
  return emit_one(expr.at, std::move(target), std::move(operands), name);
}

Result<Operand> FunctionCompiler::subscript(const Expr& expr, const std::string& name) {
  if (expr.kind == ExprKind::Subscript && expr.parts.size() != 2)
    return unexpected(expr.at, "a subscript of several indices", "one index");
  std::vector<NamedOperand> operands;
  for (const Expr& part : expr.parts) {
    TRY(Operand each, value(part));
    operands.push_back(positional(std::move(each)));
  }
  if (expr.kind == ExprKind::Subscript) return emit_one(expr.at, "aten::__getitem__", std::move(operands), name);
  if (operands[1].value.is_none()) operands[1].value.data = int64_t{0};
  if (operands[2].value.is_none()) operands[2].value.data = std::numeric_limits<int64_t>::max();
  return emit_one(expr.at, "prim::TupleSlice", std::move(operands), name);
}

// `name` is what the result of an instruction is called, if there is one.
Result<Operand> FunctionCompiler::value(const Expr& expr, const std::string& name) {
  switch (expr.kind) {
    case ExprKind::Literal: return expr.literal;
    case ExprKind::Name: return named(expr);
    case ExprKind::Attribute: return attribute(expr, name);
    case ExprKind::Subscript:
    case ExprKind::Slice: return subscript(expr, name);
    case ExprKind::List:
    case ExprKind::Tuple:
    case ExprKind::Dict: return display(expr, "", name);
    case ExprKind::Call: break;
  }
  TRY(Operands results, call(expr, {name}));
  return results.front();
}

// ---- calls

// The arguments of a call from `parts[first]` on, after those that `out` has.
Result<std::vector<NamedOperand>> FunctionCompiler::arguments(const Expr& call, std::vector<NamedOperand> out,
                                                              size_t first) {
  for (size_t i = first; i < call.parts.size(); ++i) {
    TRY(Operand each, value(call.parts[i]));
    out.push_back({call.keywords[i - 1], std::move(each)});
  }
  return out;
}

// torch.add, torch.autograd.grad, ops.prim.dtype; none of another callee
Result<std::optional<std::string>> FunctionCompiler::operator_target(const Expr& callee) {
  std::vector<std::string_view> path;
  const Expr* root = &callee;
  for (; root->kind == ExprKind::Attribute && !root->parts.front().in_parentheses; root = &root->parts.front())
    path.insert(path.begin(), root->text);
  std::optional<std::string> none;
  if (path.empty() || root->kind != ExprKind::Name || is_local(*root)) return none;
  if (root->text == "torch") {
    if (path.size() == 1 || (path.size() == 2 && path[0] == "autograd"))
      return std::optional(operator_name(path.back(), context_.version));
    return name_error(context_, callee.at, "torch." + join(path, ".", [](auto part) { return std::string(part); }),
                      "is no operator");
  }
  if (root->text != "ops") return none;
  std::string name = join(path, "::", [](auto part) { return std::string(part); });
  bool is_language = path[0] == "prim" && std::find(kLanguage.begin(), kLanguage.end(), path.back()) != kLanguage.end();
  if (path.size() != 2 || path[0] == "upgrader" || is_language)
    return name_error(context_, callee.at, name, "is no operator of PyTorch's code");
  return std::optional(path[0] == "aten" ? operator_name(path[1], context_.version) : std::move(name));
}

Result<Operands> FunctionCompiler::call(const Expr& expr, const Results& results) {
  const Expr& callee = expr.parts.front();
  TRY(std::optional<std::string> target, operator_target(callee));
  if (target) {
    TRY(auto operands, arguments(expr, {}));
    return emit(expr.at, *std::move(target), std::move(operands), results);
  }
  if (callee.kind == ExprKind::Name) {
    const Symbol* symbol = find(callee.text);
    if (symbol == nullptr) return call_form(expr, results);
    if (symbol->path.empty()) return name_error(context_, expr.at, callee.text, "is called and is no function");
    TRY(auto operands, arguments(expr, {text_operand(symbol->path)}));
    return emit(expr.at, "prim::CallFunction", std::move(operands), results);
  }
  if (callee.kind != ExprKind::Attribute) return unexpected(expr.at, "a call of an expression", "a function's name");
  if (std::optional<std::string> path = path_of(callee)) {
    if (callee.text == "__new__") {  // __torch__.Acc.__new__(__torch__.Acc)
      std::string made = path->substr(0, path->rfind('.'));
      if (expr.parts.size() != 2 || path_of(expr.parts[1]) != made)
        return unexpected(expr.at, "other arguments of `__new__`", "the class itself");
      return emit(expr.at, "prim::CreateObject", {text_operand(std::move(made))}, results);
    }
    TRY(auto operands, arguments(expr, {text_operand(*std::move(path))}));
    return emit(expr.at, "prim::CallFunction", std::move(operands), results);
  }
  TRY(Operand object, value(callee.parts.front()));
  TRY(auto operands, arguments(expr, {positional(std::move(object)), text_operand(callee.text)}));
  return emit(expr.at, "prim::CallMethod", std::move(operands), results);
}

// The callee is a name that is none of the function's: what the language itself has.
Result<Operands> FunctionCompiler::call_form(const Expr& expr, const Results& results) {
  const std::string& form = expr.parts.front().text;
  for (const Cast& row : kPlainCalls) {
    if (row.name != form) continue;
    TRY(auto operands, arguments(expr, {}));
    return emit(expr.at, std::string(row.target), std::move(operands), results);
  }
  if (form == "fork") return fork(expr, results);
  constexpr std::array<std::pair<std::string_view, size_t>, 5> kForms = {
      {{"annotate", 2}, {"unchecked_cast", 2}, {"uninitialized", 1}, {"isinstance", 2}, {"getattr", 2}}};
  const auto* row = std::find_if(kForms.begin(), kForms.end(), [&](auto& each) { return each.first == form; });
  if (row == kForms.end()) return name_error(context_, expr.at, form, "is called and is not defined here");
  bool plain = std::all_of(expr.keywords.begin(), expr.keywords.end(), [](auto& each) { return each.empty(); });
  if (expr.parts.size() != row->second + 1 || !plain)
    return unexpected(expr.at, std::to_string(expr.parts.size() - 1) + " arguments of `" + form + "`",
                      std::to_string(row->second));
  const Expr& first = expr.parts[1];
  if (form == "annotate") return annotate(expr.at, first, expr.parts[2], results);
  if (form == "uninitialized") {
    TRY(std::string wanted, type(first));
    return emit(expr.at, "prim::Uninitialized", {text_operand(std::move(wanted))}, results);
  }
  const Expr& second = expr.parts[2];
  if (form == "unchecked_cast") {
    TRY(std::string wanted, type(first));
    TRY(Operand operand, value(second));
    return emit(expr.at, "prim::unchecked_cast", {text_operand(std::move(wanted)), positional(std::move(operand))},
                results);
  }
  TRY(Operand operand, value(first));
  if (form == "getattr") {
    const auto* name = second.literal.get<std::string>();
    if (name == nullptr) return unexpected(second.at, "another expression", "an attribute's name in quotes");
    return emit(expr.at, "prim::GetAttr", {positional(std::move(operand)), text_operand(*name)}, results);
  }
  Operand::List types;
  if (second.kind == ExprKind::Tuple) {
    for (const Expr& each : second.parts) {
      TRY(std::string one, type(each));
      types.push_back(Operand{std::move(one)});
    }
  } else {
    TRY(std::string one, type(second));
    types.push_back(Operand{std::move(one)});
  }
  return emit(expr.at, "prim::isinstance", {positional(std::move(operand)), positional(Operand{std::move(types)})},
              results);
}

// The type says what an empty list holds, and what `x.tolist()` gives.
Result<Operands> FunctionCompiler::annotate(Position at, const Expr& type, const Expr& operand,
                                            const Results& results) {
  TRY(std::string wanted, type_of(context_, type));
  if (operand.kind == ExprKind::Call && operand.parts.size() == 1 &&
      operand.parts.front().kind == ExprKind::Attribute && operand.parts.front().text == "tolist" &&
      !path_of(operand.parts.front())) {
    TRY(Operand tensor, value(operand.parts.front().parts.front()));
    return emit(at, "prim::tolist", {text_operand(std::move(wanted)), positional(std::move(tensor))}, results);
  }
  bool typed = (operand.kind == ExprKind::List && wanted.starts_with("List[")) ||
               (operand.kind == ExprKind::Dict && wanted.starts_with("Dict["));
  if (typed && results.size() == 1) {
    TRY(Operand made, display(operand, wanted, results.front()));
    return Operands{std::move(made)};
  }
  TRY(Operand inner, value(operand));
  return emit(at, "prim::annotate", {text_operand(std::move(wanted)), positional(std::move(inner))}, results);
}

// fork(__forked_function), fork(__torch__.f, x)
Result<Operands> FunctionCompiler::fork(const Expr& expr, const Results& results) {
  if (expr.parts.size() < 2 || !expr.keywords.front().empty())
    return unexpected(expr.at, "`fork` without a function", "a function as its first argument");
  const Expr& callee = expr.parts[1];
  std::optional<std::string> path = path_of(callee);
  Symbol* symbol = callee.kind == ExprKind::Name ? find(callee.text) : nullptr;
  if (symbol != nullptr) path = symbol->path;
  if (path && !path->empty()) {
    TRY(auto operands, arguments(expr, {text_operand(*std::move(path))}, 2));
    return emit(expr.at, "prim::fork", std::move(operands), results);
  }
  if (symbol == nullptr || symbol->def == nullptr)
    return unexpected(expr.at, "`fork` of something else", "a function that is forked once");
  const Def& def = *std::exchange(symbol->def, nullptr);  // its code has one place
  BlockId block = open(true);
  TRY_OK(statements(def.body, true));
  close();
  TRY(auto operands, arguments(expr, {positional(Operand{block})}, 2));
  return emit(expr.at, "prim::fork", std::move(operands), results);
}

// ---- statements

Status FunctionCompiler::store(const Expr& target, Operand value) {
  if (target.kind == ExprKind::Name) {
    assign(target.text, std::move(value));
  } else if (target.kind == ExprKind::Attribute && !path_of(target)) {
    TRY(Operand object, this->value(target.parts.front()));
    emit(target.at, "prim::SetAttr",
         {positional(std::move(object)), text_operand(target.text), positional(std::move(value))}, {});
  } else {
    return unexpected(target.at, "an assignment to an expression", "a name or an attribute before `=`");
  }
  return Unit{};
}

// The parts of one value: an operator's own results, or a tuple or list taken apart.
Result<Operands> FunctionCompiler::unpacked(const Expr& value, const Results& names) {
  TRY(Operand whole, this->value(value));
  return emit(value.at, "prim::Unpack",
              {positional(std::move(whole)), positional(Operand{static_cast<int64_t>(names.size())})}, names);
}

Status FunctionCompiler::assignment(const Stmt& stmt) {
  Results names;
  for (const Expr& target : stmt.targets) names.push_back(target.kind == ExprKind::Name ? target.text : "");
  const Expr& first = stmt.values.front();
  bool is_single = stmt.targets.size() == 1 && !stmt.unpacks;
  if (is_single && !names.front().empty() && stmt.type.empty()) {
    // A function's name is no value: the local name stands for it.
    std::optional<std::string> path = path_of(first);
    if (path) {
      assign(names.front(), Symbol{.path = *std::move(path)});
      return Unit{};
    }
    const Symbol* symbol = first.kind == ExprKind::Name ? find(first.text) : nullptr;
    if (symbol != nullptr && !symbol->path.empty()) {
      assign(names.front(), Symbol(*symbol));
      return Unit{};
    }
  }
  Operands values;
  if (is_single && !stmt.type.empty()) {
    TRY(values, annotate(first.at, stmt.type.front(), first, names));
  } else if (stmt.values.size() > 1) {
    if (stmt.values.size() != stmt.targets.size())
      return unexpected(
          stmt.at, std::to_string(stmt.values.size()) + " values for " + std::to_string(stmt.targets.size()) + " names",
          "as many of both");
    for (size_t i = 0; i < names.size(); ++i) {
      TRY(values.emplace_back(), value(stmt.values[i], names[i]));
    }
  } else if (is_single) {
    TRY(values.emplace_back(), value(first, names.front()));
  } else {
    bool by_operator = false;
    if (!stmt.unpacks && first.kind == ExprKind::Call) {
      TRY(auto target, operator_target(first.parts.front()));
      by_operator = target.has_value();
    }
    TRY(values, by_operator ? call(first, names) : unpacked(first, names));
  }
  for (size_t i = 0; i < values.size(); ++i) TRY_OK(store(stmt.targets[i], std::move(values[i])));
  return Unit{};
}

// The value that `name` has at the end of a block that was just left, made there if it is none yet.
Operand FunctionCompiler::value_in(Position at, Frame& frame, const std::string& name) {
  frames_.push_back(std::move(frame));
  Operand out = value_of(at, *find(name));
  frame = close();
  return out;
}

Status FunctionCompiler::if_statement(const Stmt& stmt) {
  TRY(Operand condition, value(stmt.values.front()));
  std::array<const std::vector<Stmt>*, 2> bodies = {&stmt.body, &stmt.orelse};
  std::array<Frame, 2> branches;
  for (size_t i = 0; i < 2; ++i) {
    open(true);
    TRY_OK(statements(*bodies[i], false));
    branches[i] = close();
  }
  Results merged;
  for (size_t i = 0; i < 2; ++i) {
    for (const std::string& name : branches[i].order) {
      auto other = branches[1 - i].symbols.find(name);
      bool in_both = other != branches[1 - i].symbols.end();
      if (in_both && i == 1) continue;  // seen already
      const Symbol& here = branches[i].symbols.at(name);
      const Symbol* there = in_both ? &other->second : find(name);
      if (there == nullptr) continue;  // one branch's own
      if (here.is_function || there->is_function) {
        assign(name, Symbol{.is_function = true});
      } else if (!here.path.empty() && here.path == there->path) {
        assign(name, Symbol(here));
      } else {
        merged.push_back(name);
      }
    }
  }
  for (Frame& branch : branches)
    for (const std::string& name : merged) {
      Operand out = value_in(stmt.at, branch, name);
      program_.blocks[branch.block.at()].outputs.push_back(std::move(out));
    }
  Operands results = emit(stmt.at, "prim::If",
                          {positional(std::move(condition)), positional(Operand{branches[0].block}),
                           positional(Operand{branches[1].block})},
                          merged);
  for (size_t i = 0; i < merged.size(); ++i) assign(merged[i], std::move(results[i]));
  return Unit{};
}

Status FunctionCompiler::loop(const Stmt& stmt) {
  bool is_for = stmt.kind == StmtKind::For;
  TRY(Operand bound, value(stmt.values.front()));
  std::vector<std::string> names;
  if (is_for) {
    if (stmt.targets.front().kind != ExprKind::Name)
      return unexpected(stmt.at, "a loop over an expression", "a name after `for`");
    names.push_back(stmt.targets.front().text);
  }
  assigned_names(stmt.body, names);
  Results carried;
  std::unordered_map<std::string, bool> seen;
  std::vector<NamedOperand> operands = {positional(is_for ? bound : Operand{std::numeric_limits<int64_t>::max()}),
                                        positional(is_for ? Operand{true} : bound), positional(Operand{BlockId{}})};
  for (const std::string& name : names) {
    Symbol* known = find(name);
    if (known == nullptr || known->is_function || !seen.emplace(name, true).second) continue;
    carried.push_back(name);
    operands.push_back(positional(value_of(stmt.at, *known)));
  }
  BlockId block = open(true);
  operands[2].value.data = block;
  auto input = [&](const std::string& name) {
    Operand out = define(name);
    program_.blocks[block.at()].inputs.push_back(*out.get<ValueId>());
    return out;
  };
  Operand iteration = input(is_for ? names.front() : "");
  for (const std::string& name : carried) assign(name, input(name));
  if (is_for) assign(names.front(), std::move(iteration));
  TRY_OK(statements(stmt.body, false));
  Operands outputs{Operand{true}};
  if (!is_for) {
    TRY(outputs.front(), value(stmt.values.front()));
  }
  for (const std::string& name : carried) {
    if (find(name)->is_function)
      return name_error(context_, stmt.at, name, "is a value before the loop and a function after it");
    outputs.push_back(value_of(stmt.at, *find(name)));
  }
  program_.blocks[block.at()].outputs = std::move(outputs);
  Frame body = close();
  Operands results = emit(stmt.at, "prim::Loop", std::move(operands), carried);
  for (size_t i = 0; i < carried.size(); ++i) assign(carried[i], std::move(results[i]));
  for (const std::string& name : body.order)
    if (body.symbols.at(name).is_function && find(name) != nullptr) assign(name, Symbol{.is_function = true});
  return Unit{};
}

// The block is no scope: its names are the function's.
Status FunctionCompiler::with(const Stmt& stmt) {
  TRY(Operand context, value(stmt.values.front()));
  Operands entered = emit(stmt.at, "prim::Enter", {positional(context)},
                          {stmt.targets.empty() || stmt.targets[0].kind != ExprKind::Name ? "" : stmt.targets[0].text});
  if (!stmt.targets.empty()) TRY_OK(store(stmt.targets.front(), std::move(entered.front())));
  TRY_OK(statements(stmt.body, false));
  emit(stmt.at, "prim::Exit", {positional(std::move(context))}, {});
  return Unit{};
}

Status FunctionCompiler::statement(const Stmt& stmt) {
  switch (stmt.kind) {
    case StmtKind::Pass: break;
    case StmtKind::Assign: return assignment(stmt);
    case StmtKind::If: return if_statement(stmt);
    case StmtKind::While:
    case StmtKind::For: return loop(stmt);
    case StmtKind::With: return with(stmt);
    case StmtKind::Expression:
      if (stmt.values.front().kind == ExprKind::Call) {
        TRY_OK(call(stmt.values.front(), {}));
      } else {
        TRY_OK(value(stmt.values.front()));
      }
      break;
    case StmtKind::Def:
      if (!stmt.function->parameters.empty())
        return unexpected(stmt.at, "a function with parameters inside of another", "one without");
      assign(stmt.function->name, Symbol{.def = stmt.function.get(), .is_function = true});
      break;
    case StmtKind::Return:
      return diagnose(Kind::ScriptStatement, {{"line", static_cast<int64_t>(stmt.at.line)}, {"statement", "return"}},
                      "", context_.member);
  }
  return Unit{};
}

// Into the innermost block. A function's last statement gives its output; others may not return.
Status FunctionCompiler::statements(const std::vector<Stmt>& body, bool returns) {
  BlockId block = frames_.back().block;
  for (const Stmt& stmt : body) {
    if (!returns || stmt.kind != StmtKind::Return || &stmt != &body.back()) {
      TRY_OK(statement(stmt));
    } else if (!stmt.values.empty()) {
      TRY(Operand out, value(stmt.values.front()));
      program_.blocks[block.at()].outputs.push_back(std::move(out));
    }
  }
  if (returns && program_.blocks[block.at()].outputs.empty())
    program_.blocks[block.at()].outputs.push_back(Operand{torch::None{}});
  return Unit{};
}

Result<BlockId> FunctionCompiler::run(const Def& def) {
  BlockId block = open(false);
  program_.blocks[block.at()].name = function_;
  for (const ParameterSyntax& parameter : def.parameters) {
    if (frames_.back().symbols.contains(parameter.name))
      return name_error(context_, parameter.at, parameter.name, "is a parameter twice");
    Operand value = define(parameter.name);
    program_.blocks[block.at()].inputs.push_back(*value.get<ValueId>());
    assign(parameter.name, std::move(value));
  }
  TRY_OK(statements(def.body, true));
  return block;
}

}  // namespace

Result<BlockId> compile_body(FileContext& context, const std::string& name, const Def& def) {
  return FunctionCompiler(context, name).run(def);
}

}  // namespace torchlift::frontend::script
