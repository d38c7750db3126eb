// Constants in the place of what computes them, and what a value is if it follows from constants.
#include <algorithm>
#include <optional>

#include "stablehlo/fold.hpp"
#include "stablehlo/passes.hpp"

namespace torchlift::stablehlo {
namespace {

class Folder {
 public:
  explicit Folder(Module& module) : module_(module) {}

  void run() {
    for (const Function& f : module_.functions) region(f.body);
  }

 private:
  void region(RegionId id) {
    for (InstId inst_id : module_.at(id).insts) {
      for (RegionId r : module_.at(inst_id).regions) region(r);
      if (auto constant = fold(module_.at(inst_id))) become(module_.at(inst_id), std::move(*constant));
    }
  }

  void become(Inst& inst, Constant constant) {
    inst.opcode = Opcode::Constant;
    inst.operands.clear();
    inst.attributes = AttributesId(module_.attributes.size());
    module_.attributes.emplace_back(std::move(constant));
  }

  // The operands' elements; nothing if one is no constant or too large.
  std::optional<std::vector<Elements>> operands(const Inst& inst, bool& all_splat) const {
    std::vector<Elements> out;
    all_splat = true;
    for (Value v : inst.operands) {
      const Constant* constant = module_.constant(v);
      if (!constant || element_count(module_.type(v)).value_or(0) == 0) return std::nullopt;
      out.push_back({module_.type(v), constant->bytes});
      all_splat &= is_splat(module_.type(v), *constant);
    }
    if (all_splat && is_elementwise(inst.opcode)) return out;
    for (Elements& e : out) {
      if (element_count(e.type).value_or(0) > kMaxFoldedElements) return std::nullopt;
      e.bytes = unpacked(e.type, {std::move(e.bytes)});
    }
    all_splat = false;
    return out;
  }

  std::optional<Constant> fold(const Inst& inst) const {
    if (inst.operands.empty() || inst.results.size() != 1 || !inst.regions.empty()) return std::nullopt;
    const Type& result = module_.type(inst.results[0]);
    bool all_splat = false;
    auto all = operands(inst, all_splat);
    if (!all) return std::nullopt;
    const int64_t count = all_splat ? 1 : element_count(result).value_or(0);
    if (count < 1 || count > kMaxFoldedElements || element_count(result) == std::optional<int64_t>(0))
      return std::nullopt;
    auto bytes = stablehlo::fold(module_, inst, *all, result, static_cast<size_t>(count), FoldRule::Exact);
    if (!bytes) return std::nullopt;
    return all_splat ? Constant{std::move(*bytes)} : packed(result, std::move(*bytes));
  }

  Module& module_;
};

}  // namespace

void fold_constants(Module& module) { Folder(module).run(); }

// ---- known values

const KnownConstants::Found& KnownConstants::find(const Module& module, Value v, int depth) {
  static const Found nothing;
  if (!module.contains(v) || depth > kMaxKnownDepth) return nothing;
  if (auto it = found_.find(v.at()); it != found_.end()) return it->second;
  Found constant = compute(module, v, depth);
  return found_.emplace(v.at(), std::move(constant)).first->second;
}

KnownConstants::Found KnownConstants::compute(const Module& module, Value v, int depth) {
  const Type& type = module.type(v);
  const int64_t count = element_count(type).value_or(0);
  if (count < 1 || count > kMaxFoldedElements) return std::nullopt;
  if (const Constant* constant = module.constant(v)) return *constant;
  const InstId definition = module.at(v).inst;
  if (!definition.has_value()) return std::nullopt;
  const Inst& inst = module.at(definition);
  if (inst.results.size() != 1 && inst.opcode != Opcode::Reduce) return std::nullopt;
  // A choice known beforehand needs the chosen side alone: the other may be what nobody defines.
  if (inst.opcode == Opcode::Select)
    if (const Found& pred = find(module, inst.operands[0], depth + 1); pred && pred->bytes.size() == 1)
      return find(module, inst.operands[pred->bytes[0] != std::byte{0} ? 1 : 2], depth + 1);
  std::vector<Elements> operands;
  for (Value operand : inst.operands) {
    const Found& constant = find(module, operand, depth + 1);
    if (!constant) return std::nullopt;
    operands.push_back({module.type(operand), unpacked(module.type(operand), *constant)});
  }
  auto bytes =
      stablehlo::fold(module, inst, operands, type, static_cast<size_t>(count), FoldRule::All, module.at(v).number);
  if (!bytes) return std::nullopt;
  return packed(type, std::move(*bytes));
}

std::optional<Constant> known_constant(const Module& module, Value value) {
  KnownConstants known;
  return known.find(module, value);
}

}  // namespace torchlift::stablehlo
