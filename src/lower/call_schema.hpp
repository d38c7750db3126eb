// A call of one of ATen's operators by its schema: how the walk does it, and how a row of TorchScript's operators calls
// another.
#pragma once

#include <optional>
#include <vector>

#include "lower/op.hpp"

namespace torchlift::lower {

struct SchemaCall {
  std::vector<IValue> arguments;  // one per argument of the schema, defaults filled in
  std::vector<IValue> results;    // what the schema marks as written is written, and stands here
};

// Nothing, with a refusal recorded, where there is no row, the arguments do not fit, or one would have to be known at
// import. An in-place view (tag `inplace_view`) writes no values: its result is the view.
std::optional<SchemaCall> call_schema(Lower& l, const OpTable& table, const torch::Schema& schema,
                                      std::vector<NamedValue> operands);

}  // namespace torchlift::lower
