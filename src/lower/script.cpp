#include "lower/script.hpp"

namespace torchlift::lower {

Script::Script(const torch::Program& program) : program_(program) {
  for (size_t i = 0; i < program.functions.size(); ++i)
    functions_.emplace(program.functions[i].name, torch::FunctionId(i));
  for (const torch::Class& c : program.classes) classes_.emplace(c.name, &c);
}

torch::FunctionId Script::function(std::string_view name) const {
  auto it = functions_.find(name);
  return it == functions_.end() ? torch::FunctionId() : it->second;
}

const torch::Class* Script::find_class(std::string_view name) const {
  auto it = classes_.find(name);
  return it == classes_.end() ? nullptr : it->second;
}

}  // namespace torchlift::lower
