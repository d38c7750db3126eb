// TorchScript's choice of an overload: a call names "aten::add", the types of its arguments choose "aten::add.Scalar".
#pragma once

#include <string_view>
#include <vector>

#include "lower/bind_arguments.hpp"
#include "lower/lower.hpp"

namespace torchlift::lower {

struct Overload {
  const torch::Schema* schema = nullptr;
  std::vector<NamedValue> arguments;  // converted as the choice says: containers of TorchScript are IValue::List
};

// The rules: all overloads in TorchScript's own order, first without implicit conversions, then with them
// (docs/frontend-script.md). Nothing, with a refusal recorded in `l`, if none fits.
std::optional<Overload> choose_overload(Lower& l, std::string_view name, std::vector<NamedValue> arguments);

// torch.device("cuda:1").
torch::Device device_from(std::string_view text);

}  // namespace torchlift::lower
