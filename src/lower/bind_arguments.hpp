// Operands of a call, put in the order of a schema, defaults filled in, and checked against its types.
#pragma once

#include <functional>
#include <vector>

#include "lower/ivalue.hpp"
#include "torch/schema.hpp"

namespace torchlift::lower {

struct NamedValue {
  std::string name;  // empty: positional
  IValue value;
  bool is_literal = false;  // it stands in the program itself, no value of a block
};

// One value per schema argument.
Result<std::vector<IValue>> bind_arguments(const torch::Schema& schema, std::vector<NamedValue> given);

// What the ids in an operand stand for.
struct Referents {
  std::function<IValue(torch::ValueId)> value;
  std::function<IValue(torch::WeightId)> weight;
  std::function<IValue(torch::ObjectId)> object;
};

// An operand of the program as a value.
IValue literal(const torch::Operand& operand, const Referents& referents);
// The same where no ids can be: defaults of schemas.
IValue literal(const torch::Operand& operand);

}  // namespace torchlift::lower
