// What one file cannot know of the others: which names are called, made or meant.
#include <string>
#include <unordered_map>

#include "base/kinds.hpp"
#include "frontend/script/compile.hpp"

namespace torchlift::frontend::script {
namespace {

using torch::ClassKind;
using torch::Inst;
using torch::Operand;

const std::string* text_of(const Inst& inst, size_t operand) {
  return operand < inst.operands.size() ? inst.operands[operand].value.get<std::string>() : nullptr;
}

class Linker {
 public:
  explicit Linker(torch::Program& program) : program_(program) {}
  Status run();

 private:
  Status collect();
  Status inst(Inst& inst);
  Status enum_object(torch::Object& object);
  Result<const Operand*> member(const std::string& class_name, const std::string& name, torch::LocId location) const;
  Diagnostic error(std::string name, std::string problem, torch::LocId location = {}) const;

  torch::Program& program_;
  std::unordered_map<std::string, const torch::Class*> classes_;
  std::unordered_map<std::string, torch::Function*> methods_;
  std::unordered_map<std::string, torch::Function*> functions_;
};

Diagnostic Linker::error(std::string name, std::string problem, torch::LocId location) const {
  Diagnostic out = diagnose(Kind::ScriptReference, {{"name", std::move(name)}, {"problem", std::move(problem)}});
  if (location.has_value()) out.place.source = program_.location(location).frames;
  return out;
}

// Names to what they mean. A hook is written twice, as a method of its module's class and as a function of that name.
Status Linker::collect() {
  for (const torch::Class& each : program_.classes)
    if (!classes_.emplace(each.name, &each).second) return error(each.name, "is defined a second time");
  for (torch::Function& each : program_.functions)
    if (!(each.is_method ? methods_ : functions_).emplace(each.name, &each).second)
      return error(each.name, "is defined a second time");
  return Unit{};
}

Result<const Operand*> Linker::member(const std::string& class_name, const std::string& name,
                                      torch::LocId location) const {
  auto found = classes_.find(class_name);
  if (found != classes_.end() && found->second->kind == ClassKind::Enum)
    for (const auto& [each, value] : found->second->constants)
      if (each == name) return &value;
  return error(class_name + "." + name, "is no member of an enum of the archive", location);
}

Status Linker::inst(Inst& inst) {
  const std::string* name = text_of(inst, 0);
  if (name == nullptr) return Unit{};
  if (inst.target == "prim::EnumMember") {
    TRY_OK(member(*name, *text_of(inst, 1), inst.location));
  } else if (inst.target == "prim::CreateObject") {
    auto made = classes_.find(*name);
    if (made == classes_.end() || made->second->kind != ClassKind::Plain)
      return error(*name, "is no class of the archive that code can make objects of", inst.location);
  } else if (inst.target == "prim::CallFunction" || inst.target == "prim::fork") {
    auto made = classes_.find(*name);
    if (made != classes_.end() && made->second->kind == ClassKind::NamedTuple && inst.target == "prim::CallFunction") {
      inst.target = "prim::NamedTupleConstruct";
    } else if (auto function = functions_.find(*name); function != functions_.end()) {
      inst.operands[0].value.data = function->second->name;
    } else if (!methods_.contains(*name)) {
      return error(*name, "is called, and no function or NamedTuple of the archive", inst.location);
    }
  }
  return Unit{};
}

// The default of a parameter or a class constant
Status Linker::enum_object(torch::Object& object) {
  bool is_open = object.kind == torch::ObjectKind::Enum && object.items.size() == 1;
  const auto* name = is_open ? object.items.front().second.get<std::string>() : nullptr;
  if (name == nullptr) return Unit{};
  TRY(const Operand* value, member(object.type, *name, {}));
  object.items.emplace_back(Operand{std::string("value")}, *value);
  return Unit{};
}

Status Linker::run() {
  TRY_OK(collect());
  for (auto& [name, function] : functions_)
    if (methods_.contains(name)) function->name += kFunctionSuffix;
  for (Inst& each : program_.insts) TRY_OK(inst(each));
  for (torch::Object& each : program_.objects) TRY_OK(enum_object(each));
  return Unit{};
}

}  // namespace

Status link(torch::Program& program) { return Linker(program).run(); }

}  // namespace torchlift::frontend::script
