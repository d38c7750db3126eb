#include "aten/script_calls.hpp"

#include "base/kinds.hpp"
#include "lower/call_schema.hpp"

namespace torchlift::aten {

const IValue& ScriptArguments::at(size_t place, std::string_view name) const {
  static const IValue none;
  size_t position = 0;
  for (const NamedValue& v : values_) {
    if (v.name.empty() && position++ == place) return v.value;
    if (v.name == name && !name.empty()) return v.value;
  }
  return none;
}

const Tensor* ScriptArguments::tensor(size_t place, std::string_view name) const {
  const Tensor* t = at(place, name).get<Tensor>();
  return t && !t->is_device_number() ? t : nullptr;
}

namespace {

IValues call_schema(Lower& l, const torch::Schema& schema, std::vector<NamedValue> given) {
  auto done = lower::call_schema(l, table(), schema, std::move(given));
  return done ? std::move(done->results) : IValues{};
}

}  // namespace

IValues call_operator(Lower& l, std::string_view full_name, std::vector<NamedValue> arguments) {
  const torch::Schema* schema = torch::find_schema(full_name);
  if (schema) return call_schema(l, *schema, std::move(arguments));
  l.refuse(Kind::UnsupportedOperator, {{"operator", std::string(full_name)}});
  return {};
}

IValues call_overloaded(Lower& l, std::string_view name, std::vector<NamedValue> arguments) {
  if (const lower::ScriptRow* row = table().script(name))
    if (auto results = row->call(l, arguments)) return std::move(*results);
  auto chosen = lower::choose_overload(l, name, std::move(arguments));
  return chosen ? call_schema(l, *chosen->schema, std::move(chosen->arguments)) : IValues{};
}

Tensor call_for_tensor(Lower& l, std::string_view full_name, std::vector<NamedValue> arguments) {
  IValues results = call_operator(l, full_name, std::move(arguments));
  auto* tensor = results.empty() ? nullptr : results[0].get<Tensor>();
  return tensor ? *tensor : Tensor();
}

std::optional<IValues> with_constant_number(Lower& l, std::string_view name, std::span<const NamedValue> arguments) {
  auto* constant = arguments.size() < 2 ? nullptr : arguments[1].value.get<Tensor>();
  auto* self = constant ? arguments[0].value.get<Tensor>() : nullptr;
  if (!self || self->is_device_number() || !arguments[1].is_literal || constant->rank() != 0) return std::nullopt;
  auto number = l.known(*constant);
  if (!number) return std::nullopt;
  std::vector<NamedValue> with_number(arguments.begin(), arguments.end());
  with_number[1] = {"", IValue(*number)};
  return call_overloaded(l, name, std::move(with_number));
}

IValue dtype_number(DType dtype) {
  for (int64_t number = 0; number < 64; ++number)
    if (torch::dtype_from_c10(number) == dtype) return Dim(number);
  return {};
}

Optional<DType> dtype_of(Lower& l, const IValue& value, DType otherwise) {
  if (value.is_none()) return std::nullopt;
  if (auto* dtype = value.get<DType>()) return *dtype;
  auto* number = value.get<Dim>();
  auto dtype = number ? torch::dtype_from_c10(number->concrete()) : std::nullopt;
  if (!dtype) l.unsupported("dtype", lower::describe(value));
  return dtype.value_or(otherwise);
}

}  // namespace torchlift::aten
