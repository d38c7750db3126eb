// Operators as files of older versions mean them.
#include "aten/families.hpp"
#include "aten/script_calls.hpp"

namespace torchlift::aten {
namespace {

using lower::ScriptResults;
using lower::ScriptRow;

using Arguments = std::span<const NamedValue>;

std::vector<NamedValue> copied(Arguments arguments) { return {arguments.begin(), arguments.end()}; }

bool has(Arguments arguments, std::string_view name) {
  for (const NamedValue& a : arguments)
    if (a.name == name) return true;
  return false;
}

// A floating tensor, or a Python float. A complex one is none.
bool is_floating(const IValue& v) {
  auto* t = v.get<Tensor>();
  return t ? is_float(t->dtype()) : v.get<double>() != nullptr;
}

// Before version 4: of integers the quotient cut towards zero, of floats the quotient.
std::vector<NamedValue> old_quotient(Arguments arguments) {
  ScriptArguments given(arguments);
  std::vector<NamedValue> out = copied(arguments);
  bool numbers = !given.tensor(0, "self") && !given.tensor(1, "other");
  bool floating = is_floating(given.at(0, "self")) || is_floating(given.at(1, "other")) ||
                  (has(arguments, "out") && is_floating(given.at(arguments.size(), "out")));
  bool has_mode = has(arguments, "rounding_mode");
  if (!numbers && !floating && !has_mode) out.push_back({"rounding_mode", std::string("trunc")});
  return out;
}

ScriptResults div(Lower& l, Arguments arguments) { return call_overloaded(l, "aten::div", old_quotient(arguments)); }
ScriptResults div_(Lower& l, Arguments arguments) { return call_overloaded(l, "aten::div_", old_quotient(arguments)); }

// Before version 5: without a dtype the value is a float, whatever it was.
ScriptResults full(Lower& l, Arguments arguments) {
  std::vector<NamedValue> out = copied(arguments);
  const IValue& dtype = ScriptArguments(arguments).at(arguments.size(), "dtype");
  if (has(arguments, "out") || !dtype.is_none()) return call_overloaded(l, "aten::full", std::move(out));
  size_t place = 0;
  for (NamedValue& a : out) {
    bool value = a.name.empty() ? place++ == 1 : a.name == "fill_value";
    auto number = value ? a.value.number() : std::nullopt;
    if (!number) continue;
    if (number->is_complex()) {
      l.wrong("a complex number cannot become a float");
      return IValues{};
    }
    a.value = IValue(number->to_double());
  }
  return call_overloaded(l, "aten::full", std::move(out));
}

// Before versions 8 and 9: `steps` may be left out, or be None, and is 100 then.
ScriptResults with_steps(Lower& l, Arguments arguments, std::string_view name) {
  std::vector<NamedValue> out = copied(arguments);
  size_t place = 0;
  bool found = false;
  for (NamedValue& a : out) {
    bool steps = a.name.empty() ? place++ == 2 : a.name == "steps";
    if (!steps) continue;
    found = true;
    if (a.value.is_none()) a.value = IValue(Dim(100));
  }
  if (!found) out.push_back({"steps", IValue(Dim(100))});
  return call_overloaded(l, name, std::move(out));
}
ScriptResults linspace(Lower& l, Arguments arguments) { return with_steps(l, arguments, "aten::linspace"); }
ScriptResults logspace(Lower& l, Arguments arguments) { return with_steps(l, arguments, "aten::logspace"); }

// Before version 10: without `approximate`, which is "none" where it is not given.
ScriptResults gelu(Lower& l, Arguments arguments) { return call_overloaded(l, "aten::gelu", copied(arguments)); }

}  // namespace

std::span<const ScriptRow> script_upgrader_ops() {
  static constexpr ScriptRow rows[] = {
      {"upgrader::div", div},   {"upgrader::div_", div_},         {"upgrader::full", full},
      {"upgrader::gelu", gelu}, {"upgrader::linspace", linspace}, {"upgrader::logspace", logspace},
  };
  return rows;
}

}  // namespace torchlift::aten
