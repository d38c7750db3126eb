// Removal of what nothing uses, in one walk backwards: an instruction is needed if a later one needs its result.
#include <algorithm>

#include "stablehlo/passes.hpp"

namespace torchlift::stablehlo {
namespace {

class DeadCode {
 public:
  explicit DeadCode(Module& module)
      : module_(module), used_(module.values.size(), false), needed_(module.functions.size(), false) {
    for (const Attributes& a : module.attributes)
      if (const auto* call = std::get_if<CustomCall>(&a)) any_side_effect_ |= call->has_side_effect;
  }

  void run() {
    if (module_.functions.empty()) return;
    // A helper calls only earlier helpers; main, the first, calls any.
    needed_[0] = true;
    region(module_.functions[0].body);
    for (size_t i = module_.functions.size(); i-- > 1;)
      if (needed_[i]) region(module_.functions[i].body);
    drop_functions();
  }

 private:
  void use(const Values& values) {
    for (Value v : values) used_[v.at()] = true;
  }

  FunctionId* callee(AttributesId id) {
    if (!id.has_value()) return nullptr;
    Attributes& attributes = module_.attributes[id.at()];
    if (auto* call = std::get_if<Call>(&attributes)) return &call->callee;
    if (auto* composite = std::get_if<Composite>(&attributes)) return &composite->decomposition;
    return nullptr;
  }

  bool may_have_side_effect(const Inst& inst) {
    if (inst.opcode == Opcode::CustomCall) return module_.get<CustomCall>(inst).has_side_effect;
    return any_side_effect_ && (!inst.regions.empty() || callee(inst.attributes) != nullptr);
  }

  bool is_needed(const Inst& inst) {
    const auto is_used = [this](Value v) { return used_[v.at()]; };
    return std::any_of(inst.results.begin(), inst.results.end(), is_used) || may_have_side_effect(inst);
  }

  void region(RegionId id) {
    use(module_.at(id).results);
    std::vector<InstId>& insts = module_.at(id).insts;
    std::vector<InstId> kept;  // last first
    for (size_t i = insts.size(); i-- > 0;) {
      const Inst& inst = module_.at(insts[i]);
      if (!is_needed(inst)) continue;
      use(inst.operands);
      if (const FunctionId* f = callee(inst.attributes)) needed_[f->at()] = true;
      for (RegionId r : inst.regions) region(r);
      kept.push_back(insts[i]);
    }
    insts.assign(kept.rbegin(), kept.rend());
  }

  void drop_functions() {
    if (std::find(needed_.begin(), needed_.end(), false) == needed_.end()) return;
    std::vector<FunctionId> renamed(needed_.size());
    std::vector<Function> kept;
    for (size_t i = 0; i < needed_.size(); ++i) {
      if (!needed_[i]) continue;
      renamed[i] = FunctionId(kept.size());
      kept.push_back(std::move(module_.functions[i]));
    }
    module_.functions = std::move(kept);
    for (size_t i = 0; i < module_.attributes.size(); ++i)
      if (FunctionId* f = callee(AttributesId(i)); f && f->has_value()) *f = renamed[f->at()];
  }

  Module& module_;
  std::vector<bool> used_;
  std::vector<bool> needed_;  // functions
  bool any_side_effect_ = false;
};

}  // namespace

void remove_dead_code(Module& module) { DeadCode(module).run(); }

void simplify(Module& module) {
  fold_constants(module);
  merge_common(module);
  remove_dead_code(module);
}

}  // namespace torchlift::stablehlo
