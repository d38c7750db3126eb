#include "frontend/script/compile.hpp"

#include <algorithm>
#include <array>

#include "base/kinds.hpp"
#include "frontend/script/body.hpp"
#include "frontend/script/lexer.hpp"
#include "frontend/script/parser.hpp"

namespace torchlift::frontend::script {
namespace {

using torch::ClassKind;

constexpr std::array<std::pair<std::string_view, ClassKind>, 6> kBases = {{{"", ClassKind::Plain},
                                                                           {"Module", ClassKind::Module},
                                                                           {"NamedTuple", ClassKind::NamedTuple},
                                                                           {"Enum", ClassKind::Enum},
                                                                           {"Interface", ClassKind::Interface},
                                                                           {"ModuleInterface", ClassKind::Interface}}};

// "__torch__.a.b" is code/__torch__/a/b.py
std::string member_of(std::string prefix) {
  std::replace(prefix.begin(), prefix.end(), '.', '/');
  return "code/" + prefix + ".py";
}

// __parameters__ = ["weight", "bias", ]
Result<std::vector<std::string>> names_of(const FileContext& context, const Expr& list) {
  std::vector<std::string> out;
  for (const Expr& each : list.parts) {
    const auto* name = each.literal.get<std::string>();
    if (list.kind != ExprKind::List || name == nullptr)
      return syntax_error(context.member, list.at, "an expression", "a list of names in quotes");
    out.push_back(*name);
  }
  return out;
}

Status compile_item(FileContext& context, const ClassItem& item, torch::Class& into) {
  std::string type;
  if (!item.type.empty()) {
    TRY(type, type_of(context, item.type.front()));
  }
  if (!item.type.empty() && item.value.empty()) {
    into.attributes.emplace_back(item.name, std::move(type));
    return Unit{};
  }
  const Expr& value = item.value.front();
  std::vector<std::string>* names = nullptr;
  if (item.name == "__parameters__") names = &into.parameters;
  if (item.name == "__buffers__") names = &into.buffers;
  if (item.name == "__forward_pre_hooks__") names = &into.forward_pre_hooks;
  if (item.name == "__forward_hooks__") names = &into.forward_hooks;
  if (names != nullptr) {
    TRY(*names, names_of(context, value));
    return Unit{};
  }
  if (item.name == "__annotations__") return Unit{};  // an empty list that older printers write
  bool is_constant = into.kind == ClassKind::Enum ? item.type.empty() : type.starts_with("Final[");
  if (!is_constant) return syntax_error(context.member, item.at, "`" + item.name + "` with a value", "`Final[...]`");
  if (into.kind != ClassKind::Enum) type = type.substr(6, type.size() - 7);
  TRY(torch::Operand constant, constant_of(context, value, type));
  into.constants.emplace_back(item.name, std::move(constant));
  return Unit{};
}

Status compile_function(FileContext& context, const std::string& scope, const Def& def, bool is_method) {
  torch::Function out{
      .name = scope + "." + def.name, .parameters = {}, .result_type = {}, .block = {}, .is_method = is_method};
  for (const ParameterSyntax& parameter : def.parameters) {
    torch::Parameter each{.name = parameter.name, .type = "Tensor", .default_value = {}};
    if (!parameter.type.empty()) {
      TRY(each.type, type_of(context, parameter.type.front()));
    } else if (is_method && &parameter == &def.parameters.front()) {
      each.type = scope;
    }
    if (!parameter.default_value.empty()) {
      TRY(each.default_value, constant_of(context, parameter.default_value.front(), each.type));
    }
    out.parameters.push_back(std::move(each));
  }
  if (is_method && def.parameters.empty())
    return syntax_error(context.member, def.at, "a method without parameters", "`self`");
  if (!def.result_type.empty()) {
    TRY(out.result_type, type_of(context, def.result_type.front()));
  }
  TRY(out.block, compile_body(context, out.name, def));
  context.program.functions.push_back(std::move(out));
  return Unit{};
}

Status compile_class(FileContext& context, const ClassDef& def) {
  const auto* base = std::find_if(kBases.begin(), kBases.end(), [&](auto& row) { return row.first == def.base; });
  if (base == kBases.end())
    return syntax_error(context.member, def.at, "base class `" + def.base + "`",
                        "Module, NamedTuple, Enum, Interface or ModuleInterface");
  torch::Class out{.name = context.file.prefix + "." + def.name,
                   .kind = base->second,
                   .attributes = {},
                   .constants = {},
                   .parameters = {},
                   .buffers = {},
                   .forward_pre_hooks = {},
                   .forward_hooks = {}};
  for (const ClassItem& item : def.items) TRY_OK(compile_item(context, item, out));
  std::string scope = out.name;
  bool has_code = out.kind != ClassKind::Interface;  // an interface's methods are those of the object at hand
  context.program.classes.push_back(std::move(out));
  for (const Def& method : def.methods)
    if (has_code) TRY_OK(compile_function(context, scope, method, true));
  return Unit{};
}

}  // namespace

Status compile(const SourceFile& file, const Constants& constants, int64_t version, torch::Program& program) {
  FileContext context{
      .file = file, .constants = constants, .version = version, .program = program, .member = member_of(file.prefix)};
  TRY(Source source, parse_source(file.text, context.member));
  if (program.blocks.empty()) program.blocks.emplace_back();  // the entry
  for (const ClassDef& each : source.classes) TRY_OK(compile_class(context, each));
  for (const Def& each : source.functions) TRY_OK(compile_function(context, file.prefix, each, false));
  return Unit{};
}

}  // namespace torchlift::frontend::script
