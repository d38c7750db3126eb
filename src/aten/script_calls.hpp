// What the families of TorchScript's operators share: their arguments, and how one calls another operator.
#pragma once

#include <string_view>
#include <vector>

#include "aten/ops.hpp"
#include "lower/overloads.hpp"

namespace torchlift::aten {

using lower::NamedValue;

// The arguments of a call as they stand: by place or by name.
class ScriptArguments {
 public:
  explicit ScriptArguments(std::span<const NamedValue> values) : values_(values) {}

  size_t size() const { return values_.size(); }
  // None where it is not given.
  const IValue& at(size_t place, std::string_view name) const;
  // A tensor that is no number of the device; nullptr for anything else.
  const Tensor* tensor(size_t place, std::string_view name) const;

 private:
  std::span<const NamedValue> values_;
};

// Calls an operator by its full name ("aten::div.Tensor_mode"), or by TorchScript's choice among the overloads of a
// base name. Writes what its schema marks as written. No results, with a refusal recorded, if that fails.
IValues call_operator(Lower& l, std::string_view full_name, std::vector<NamedValue> arguments);
IValues call_overloaded(Lower& l, std::string_view name, std::vector<NamedValue> arguments);
// The call of a row that does not take its arguments, where the second is a tensor of rank 0 that stands in the code
// itself (CONSTANTS.c0): PyTorch takes the number in it where it is added, subtracted, multiplied or divided by (its
// pass CanonicalizeOps). Nothing else is taken.
std::optional<IValues> with_constant_number(Lower& l, std::string_view name, std::span<const NamedValue> arguments);
// The only result, a tensor; poison if there is none.
Tensor call_for_tensor(Lower& l, std::string_view full_name, std::vector<NamedValue> arguments);

// TorchScript's number of a dtype.
IValue dtype_number(DType dtype);
// The dtype of an `int?` or `ScalarType?`; nothing for None. Refuses a number of no dtype here and gives `otherwise`.
Optional<DType> dtype_of(Lower& l, const IValue& value, DType otherwise);

}  // namespace torchlift::aten
