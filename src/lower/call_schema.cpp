#include "lower/call_schema.hpp"

#include <algorithm>

#include "base/kinds.hpp"

namespace torchlift::lower {
namespace {

template <typename Fn>
void for_each_tensor(const IValue& v, Fn&& fn) {
  if (auto* t = v.get<Tensor>()) fn(*t);
  if (auto* list = v.get<IValue::List>())
    for (const IValue& item : *list) for_each_tensor(item, fn);
}

void apply_autocast(Lower& l, AutocastRule rule, std::vector<IValue>& arguments) {
  if (rule == AutocastRule::None) return;
  auto eligible = [](const Tensor& t) { return !t.is_poison() && is_float(t.dtype()) && t.dtype() != DType::Float64; };
  DType target = rule == AutocastRule::Float32 ? DType::Float32 : l.autocast.dtype;
  if (rule == AutocastRule::Promote)
    for (const IValue& a : arguments)
      for_each_tensor(a, [&](const Tensor& t) {
        if (eligible(t) && t.dtype() == DType::Float32) target = DType::Float32;
      });
  auto cast = [&](auto&& self, IValue& v) -> void {
    if (auto* t = std::get_if<Tensor>(&v.data); t && eligible(*t) && !t->is_wrapped_number()) *t = l.to(*t, target);
    if (auto* list = std::get_if<IValue::List>(&v.data))
      for (IValue& item : *list) self(self, item);
  };
  for (IValue& a : arguments) cast(cast, a);
}

// Refuses a number of the device where the row asks for a known one.
bool expect_known(Lower& l, const torch::Schema& schema, const Row& row, const std::vector<IValue>& arguments) {
  size_t at = 0;
  for (const ParamSpec& p : row.params) {
    bool takes_tensor = p.base == ParamBase::Tensor || p.base == ParamBase::Operand || p.base == ParamBase::Any ||
                        p.base == ParamBase::Ignored;
    for (size_t i = at; i < at + p.width() && i < arguments.size() && !takes_tensor; ++i) {
      bool unknown = false;
      for_each_tensor(arguments[i], [&](const Tensor& t) { unknown = unknown || t.is_device_number(); });
      if (!unknown) continue;
      l.refuse(Kind::DataDependent,
               {{"what", "argument `" + schema.arguments[i].name + "` of `" + schema.full_name() + "`"},
                {"advice", "keep it a tensor, or compute it from sizes and constants"}});
      return false;
    }
    at += p.width();
  }
  return true;
}

// Writes results into the arguments that the schema marks, which then stand in their places.
void write_marked(Lower& l, const torch::Schema& schema, SchemaCall& call) {
  for (size_t i = 0; i < schema.returns.size() && i < call.results.size(); ++i) {
    const auto& alias = schema.returns[i].alias;
    if (!alias || !alias->write) continue;
    for (size_t a = 0; a < schema.arguments.size(); ++a) {
      const auto& mark = schema.arguments[a].alias;
      if (!mark || !mark->write || mark->set != alias->set) continue;
      auto* destination = call.arguments[a].get<Tensor>();
      auto* source = call.results[i].get<Tensor>();
      if (!destination || !source) continue;
      if (!(*destination == *source)) l.write_cast(*destination, *source);
      call.results[i] = *destination;
    }
  }
}

}  // namespace

std::optional<SchemaCall> call_schema(Lower& l, const OpTable& table, const torch::Schema& schema,
                                      std::vector<NamedValue> operands) {
  const Row* row = table.find(schema);
  const torch::Schema* functional = row ? &schema : torch::functional_partner(schema);
  if (!row && functional) row = table.find(*functional);
  if (!row) {
    l.refuse(Kind::UnsupportedOperator, {{"operator", schema.full_name()}});
    return std::nullopt;
  }
  auto bound = bind_arguments(schema, std::move(operands));
  if (!bound) {
    for (const Diagnostic& d : bound.errors()) l.refuse(d.kind, d.arguments);
    return std::nullopt;
  }
  SchemaCall out{std::move(bound).value(), {}};
  if (l.autocast.enabled) apply_autocast(l, row->autocast, out.arguments);
  std::vector<IValue> in;  // as the row takes them: out= arguments are written below
  for (size_t i = 0; i < out.arguments.size(); ++i)
    if (!schema.arguments[i].is_out()) in.push_back(out.arguments[i]);
  if (!expect_known(l, *functional, *row, in)) return std::nullopt;
  out.results = row->call(l, in);
  bool inplace_view = std::find(schema.tags.begin(), schema.tags.end(), "inplace_view") != schema.tags.end();
  if (!inplace_view) write_marked(l, schema, out);
  return out;
}

}  // namespace torchlift::lower
