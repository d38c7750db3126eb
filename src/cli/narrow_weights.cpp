#include "cli/narrow_weights.hpp"

#include <map>

namespace torchlift::cli {

void narrow_weights(lower::Lowered& lowered, DType narrow) {
  stablehlo::Module& module = lowered.module;
  stablehlo::Region& entry = module.at(module.functions.front().body);
  std::map<size_t, stablehlo::Value> wide;  // by the argument's value
  std::vector<stablehlo::InstId> converts;
  for (size_t i = 0; i < lowered.arguments.size(); ++i) {
    auto& argument = lowered.arguments[i];
    if (argument.role != lower::ArgumentRole::Weight || argument.dtype != DType::Float32) continue;
    stablehlo::Value value = entry.arguments[i];
    stablehlo::InstId inst(module.insts.size());
    stablehlo::Value result(module.values.size());
    module.values.push_back({module.type(value), inst, {}, 0});
    stablehlo::Inst convert;
    convert.opcode = stablehlo::Opcode::Convert;
    convert.operands = {value};
    convert.results = {result};
    module.insts.push_back(std::move(convert));
    module.values[value.at()].type.dtype = narrow;
    argument.dtype = narrow;
    wide.emplace(value.at(), result);
    converts.push_back(inst);
  }
  // Only the entry and the regions within it see its arguments.
  auto widen = [&](stablehlo::Values& values) {
    for (auto& value : values)
      if (auto found = value.has_value() ? wide.find(value.at()) : wide.end(); found != wide.end())
        value = found->second;
  };
  for (size_t i = 0; i + converts.size() < module.insts.size(); ++i) widen(module.insts[i].operands);
  for (auto& region : module.regions) widen(region.results);
  entry.insts.insert(entry.insts.begin(), converts.begin(), converts.end());
}

}  // namespace torchlift::cli
