// Control flow, calls, and random bits.
#include <utility>

#include "stablehlo/builder_draft.hpp"

namespace torchlift::stablehlo {

Values Builder::while_(const Values& inits, const Predicate& cond, const Body& body) {
  if (poisoned(inits)) return Values(inits.size());
  std::vector<Type> carried;
  for (Value v : inits) carried.push_back(type(v));
  const RegionId first = region(carried, [&](std::span<const Value> a) { return Values{cond(a)}; });
  const RegionId second = region(carried, body);
  return many({.opcode = Opcode::While, .operands = inits, .regions = {first, second}}, inits.size());
}

Values Builder::branches(Opcode opcode, Value operand, std::span<const Branch> all) {
  std::vector<RegionId> regions;
  size_t results = 0;
  for (const Branch& branch : all)
    regions.push_back(region({}, [&](std::span<const Value>) {
      Values values = branch();
      results = values.size();
      return values;
    }));
  return many({.opcode = opcode, .operands = {operand}, .regions = std::move(regions)}, results);
}

Values Builder::case_(Value index, const std::vector<Branch>& all) { return branches(Opcode::Case, index, all); }

Values Builder::if_(Value pred, const Branch& true_branch, const Branch& false_branch) {
  const Branch both[] = {true_branch, false_branch};
  return branches(Opcode::If, pred, both);
}

Values Builder::optimization_barrier(const Values& operands) {
  return many({.opcode = Opcode::OptimizationBarrier, .operands = operands}, operands.size());
}

Values Builder::custom_call(const Values& operands, const std::vector<Type>& results, CustomCall attributes) {
  return many(
      {.opcode = Opcode::CustomCall, .operands = operands, .attributes = std::move(attributes), .claimed = results},
      results.size());
}

Values Builder::call(FunctionId callee, const Values& operands) {
  if (!callee.has_value() || callee.at() >= module_.functions.size()) return {};
  const size_t results = module_.at(module_.at(callee).body).results.size();
  return many({.opcode = Opcode::Call, .operands = operands, .attributes = Call{callee}}, results);
}

Values Builder::composite(const Values& operands, Composite attributes) {
  const FunctionId callee = attributes.decomposition;
  if (!callee.has_value() || callee.at() >= module_.functions.size()) return {};
  const size_t results = module_.at(module_.at(callee).body).results.size();
  return many({.opcode = Opcode::Composite, .operands = operands, .attributes = std::move(attributes)}, results);
}

Values Builder::rng_bit_generator(Value initial_state, RngAlgorithm algorithm, Type result) {
  return many({.opcode = Opcode::RngBitGenerator,
               .operands = {initial_state},
               .attributes = RngBitGenerator{algorithm},
               .claimed = {std::move(result)}},
              2);
}

}  // namespace torchlift::stablehlo
