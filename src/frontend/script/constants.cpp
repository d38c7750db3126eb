// What the code says once and for all: types, defaults of parameters, constants of classes.
#include <algorithm>
#include <charconv>
#include <limits>

#include "base/kinds.hpp"
#include "frontend/script/body.hpp"
#include "frontend/script/lexer.hpp"
#include "frontend/script/parser.hpp"

namespace torchlift::frontend::script {
namespace {

using torch::ObjectKind;
using torch::Operand;

// "cuda:0", "cpu"
std::optional<torch::Device> device_of(const std::string& text) {
  torch::Device out{.type = text.substr(0, text.find(':')), .index = -1};
  if (out.type.empty()) return std::nullopt;
  if (out.type.size() == text.size()) return out;
  const char* end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data() + out.type.size() + 1, end, out.index);
  if (error != std::errc() || at != end || out.index < 0) return std::nullopt;
  return out;
}

// a.b.c of names alone; empty else
std::string dotted(const Expr& expr) {
  bool is_path = expr.kind == ExprKind::Name || expr.kind == ExprKind::Attribute;
  return is_path ? type_text(expr).value_or("") : "";
}

Operand add(torch::Program& program, torch::Object object) {
  torch::ObjectId id(program.objects.size());
  program.objects.push_back(std::move(object));
  return Operand{id};
}

Result<Operand> container_of(FileContext& context, const Expr& expr, const std::string& type) {
  torch::Object object;
  object.kind = expr.kind == ExprKind::List    ? ObjectKind::List
                : expr.kind == ExprKind::Tuple ? ObjectKind::Tuple
                                               : ObjectKind::Dict;
  if (expr.kind != ExprKind::Tuple) object.type = type;
  size_t step = expr.kind == ExprKind::Dict ? 2 : 1;
  for (size_t i = 0; i < expr.parts.size(); i += step) {
    Operand key;
    if (step == 2) {
      TRY(key, constant_of(context, expr.parts[i], ""));
    }
    TRY(Operand item, constant_of(context, expr.parts[i + step - 1], ""));
    object.items.emplace_back(std::move(key), std::move(item));
  }
  return add(context.program, std::move(object));
}

}  // namespace

Diagnostic name_error(const FileContext& context, Position at, std::string name, std::string problem) {
  return diagnose(Kind::ScriptName,
                  {{"line", static_cast<int64_t>(at.line)}, {"name", std::move(name)}, {"problem", std::move(problem)}},
                  "", context.member);
}

Result<std::string> type_of(const FileContext& context, const Expr& expr) {
  std::optional<std::string> text = type_text(expr);
  if (!text) return syntax_error(context.member, expr.at, "an expression", "a type");
  return *std::move(text);
}

Result<Operand> table_constant(const FileContext& context, const Expr& expr) {
  const std::string& name = expr.text;
  size_t index = context.constants.values.size();
  if (name.starts_with('c')) {
    const char* end = name.data() + name.size();
    size_t number = 0;
    auto [at, error] = std::from_chars(name.data() + 1, end, number);
    if (error == std::errc() && at == end) index = number;
  }
  if (index < context.constants.values.size()) return context.constants.values[index];
  return name_error(context, expr.at, "CONSTANTS." + name,
                    "is none of the " + std::to_string(context.constants.values.size()) + " constants of the archive");
}

Result<Operand> constant_of(FileContext& context, const Expr& expr, const std::string& type) {
  switch (expr.kind) {
    case ExprKind::Literal: return expr.literal;
    case ExprKind::List:
    case ExprKind::Tuple:
    case ExprKind::Dict: return container_of(context, expr, type);
    case ExprKind::Name:
      if (expr.text == "inf") return Operand{std::numeric_limits<double>::infinity()};
      if (expr.text == "nan") return Operand{std::numeric_limits<double>::quiet_NaN()};
      break;
    case ExprKind::Attribute:
      if (expr.parts.front().is_name("CONSTANTS")) return table_constant(context, expr);
      if (std::string path = dotted(expr); path.starts_with("__torch__.")) {  // a member: `link` adds its value
        size_t dot = path.rfind('.');
        torch::Object member{.kind = ObjectKind::Enum, .type = path.substr(0, dot), .items = {}};
        member.items.emplace_back(Operand{std::string("name")}, Operand{path.substr(dot + 1)});
        return add(context.program, std::move(member));
      }
      break;
    case ExprKind::Call: {
      std::string callee = dotted(expr.parts.front());
      if (callee == "annotate" && expr.parts.size() == 3) {
        TRY(std::string annotated, type_of(context, expr.parts[1]));
        return constant_of(context, expr.parts[2], annotated);
      }
      const auto* text = expr.parts.size() == 2 ? expr.parts[1].literal.get<std::string>() : nullptr;
      std::optional<torch::Device> device;
      if (callee == "torch.device" && text != nullptr) device = device_of(*text);
      if (device) return Operand{*std::move(device)};
      break;
    }
    case ExprKind::Subscript:
    case ExprKind::Slice: break;
  }
  return syntax_error(context.member, expr.at, "an expression", "a constant");
}

}  // namespace torchlift::frontend::script
