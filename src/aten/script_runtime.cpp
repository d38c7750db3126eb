// What TorchScript's programs ask of the interpreter that runs them, and of optional values.
#include <array>

#include "aten/families.hpp"
#include "aten/script.hpp"
#include "base/kinds.hpp"

namespace torchlift::aten {
namespace {

// Prints, warnings, seeds and switches of autograd: nothing of it is left in a program that only computes.
ScriptResults nothing(Lower&, Arguments) { return IValues{}; }

// What was forked has been done at once: its future is the value.
ScriptResults itself(Lower&, Arguments arguments) { return IValues{argument(arguments, 0)}; }

template <bool kValue>
ScriptResults always(Lower&, Arguments) {
  return IValues{kValue};
}

ScriptResults time_point(Lower& l, Arguments) { return refused(l, "the program asks for the time"); }

// A generator argument makes it another operator, which is none of a program that only computes.
ScriptResults manual_seed(Lower&, Arguments arguments) {
  return arguments.size() == 1 ? ScriptResults(IValues{}) : std::nullopt;
}

ScriptResults unwrap_optional(Lower& l, Arguments arguments) {
  if (argument(arguments, 0).is_none()) return refused(l, "unwrapping None");
  return IValues{argument(arguments, 0)};
}

// Both values are there already.
ScriptResults if_then_else(Lower& l, Arguments arguments) {
  auto condition = python_number(l, argument(arguments, 0));
  if (!condition) return std::nullopt;
  if (!condition->known) return unknown(l, "the condition of `prim::IfThenElse`");
  return IValues{argument(arguments, condition->known->to_bool() ? 1 : 2)};
}

// ---- enums

template <bool kName>
ScriptResults of_enum(Lower&, Arguments arguments) {
  auto* object = argument<ObjectRef>(arguments, 0);
  IValue* found = object && (*object)->is_enum ? (*object)->find(kName ? "name" : "value") : nullptr;
  if (!found) return std::nullopt;
  return IValues{*found};
}

// ---- sizes as lists of ints

std::optional<Dims> sizes_of(Lower& l, Arguments arguments, size_t i) {
  auto* list = argument<ListRef>(arguments, i);
  if (!list) return std::nullopt;
  Dims out;
  for (const IValue& item : (*list)->items) {
    auto n = python_number(l, item);
    if (!n || !n->known || !n->is_integral()) return std::nullopt;
    out.push_back(n->known->to_dim());
  }
  return out;
}
IValue sizes_list(Lower& l, const Dims& dims) {
  return make_list(l, "int", std::vector<IValue>(dims.begin(), dims.end()));
}

ScriptResults infer_size(Lower& l, Arguments arguments) {
  auto a = sizes_of(l, arguments, 0), b = sizes_of(l, arguments, 1);
  if (!a || !b) return std::nullopt;
  std::array<Dims, 2> shapes = {*a, *b};
  auto out = l.broadcast_shapes(shapes);
  if (!out) return IValues{};
  return IValues{sizes_list(l, *out)};
}
ScriptResults size_if_not_equal(Lower& l, Arguments arguments) {
  auto a = sizes_of(l, arguments, 0), b = sizes_of(l, arguments, 1);
  if (!a || !b) return std::nullopt;
  return IValues{*a == *b ? IValue() : sizes_list(l, *a)};
}
ScriptResults size(Lower& l, Arguments arguments) {
  auto a = sizes_of(l, arguments, 0);
  if (!a) return std::nullopt;
  return IValues{sizes_list(l, *a)};
}

// 0, 1, ... n - 1
ScriptResults rangelist(Lower& l, Arguments arguments) {
  auto n = int_argument(l, arguments, 0, "n");
  if (!n) return IValues{};
  if (*n < Dim(0)) return refused(l, "a list of " + n->text() + " ints");
  if (!small_enough(l, static_cast<size_t>(n->concrete()), kMaxListItems, "list")) return IValues{};
  ListRef out = make_list(l, "int");
  for (int64_t i = 0; i < n->concrete(); ++i) out->items.emplace_back(Dim(i));
  return IValues{out};
}

// Of an int the int itself; of others it differs from one build of PyTorch to the next.
ScriptResults hash(Lower& l, Arguments arguments) {
  auto n = python_number(l, argument(arguments, 0));
  if (!n || !n->known || !n->is_integral()) return refused(l, "the hash of " + describe(argument(arguments, 0)));
  return IValues{n->known->to_dim()};
}

}  // namespace

std::span<const lower::ScriptRow> script_runtime_ops() {
  static constexpr ScriptRow rows[] = {
      {"aten::Size", size},
      {"aten::_get_tracing_state", always<false>},
      {"aten::_infer_size", infer_size},
      {"aten::_size_if_not_equal", size_if_not_equal},
      {"aten::_unwrap_optional", unwrap_optional, true},
      {"aten::broadcast_shapes", infer_size},
      {"aten::has_torch_function", always<false>},
      {"aten::hash", hash},
      {"aten::is_grad_enabled", always<false>},
      {"aten::is_scripting", always<true>},
      {"aten::manual_seed", manual_seed},
      {"aten::set_grad_enabled", nothing},
      {"aten::wait", itself, true},
      {"aten::warn", nothing, true},
      {"prim::AddStatValue", nothing},
      {"prim::EnumName", of_enum<true>},
      {"prim::EnumValue", of_enum<false>},
      {"prim::IfThenElse", if_then_else, true},
      {"prim::Print", nothing, true},
      {"prim::TimePoint", time_point},
      {"prim::awaitable_nowait", itself, true},
      {"prim::awaitable_wait", itself, true},
      {"prim::rangelist", rangelist},
      {"prim::unchecked_unwrap_optional", itself, true},
  };
  return rows;
}

}  // namespace torchlift::aten
