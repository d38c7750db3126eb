#include "stablehlo/module.hpp"

namespace torchlift::stablehlo {

const Constant* Module::constant(Value v) const {
  if (!contains(v) || !at(v).inst.has_value()) return nullptr;
  const Inst& inst = at(at(v).inst);
  return inst.opcode == Opcode::Constant ? &get<Constant>(inst) : nullptr;
}

namespace {

std::vector<Type> types_of(const Module& module, const Values& values) {
  std::vector<Type> out;
  out.reserve(values.size());
  for (Value v : values)
    if (module.contains(v)) out.push_back(module.type(v));
  return out;
}

}  // namespace

std::vector<Type> Module::argument_types() const {
  return functions.empty() ? std::vector<Type>{} : types_of(*this, at(functions[0].body).arguments);
}

std::vector<Type> Module::result_types() const {
  return functions.empty() ? std::vector<Type>{} : types_of(*this, at(functions[0].body).results);
}

}  // namespace torchlift::stablehlo
