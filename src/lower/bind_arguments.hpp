// Operands of a call, put in the order of a schema, defaults filled in, and checked against its types.
#pragma once

#include <vector>

#include "lower/ivalue.hpp"
#include "torch/schema.hpp"

namespace torchlift::lower {

struct NamedValue {
  std::string name;  // empty: positional
  IValue value;
};

// One value per schema argument.
Result<std::vector<IValue>> bind_arguments(const torch::Schema& schema, std::vector<NamedValue> given);

// A literal of the program as a value; the caller resolves ValueIds.
IValue literal(const torch::Operand& operand, const std::function<IValue(torch::ValueId)>& look_up);

}  // namespace torchlift::lower
