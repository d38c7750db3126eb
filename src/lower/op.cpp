#include "lower/op.hpp"

#include <algorithm>

namespace torchlift::lower {

using torch::SchemaBase;

bool accepts(const ParamSpec& param, const torch::SchemaType& type) {
  if (param.base == ParamBase::Ignored || param.base == ParamBase::Any) return true;
  if (param.list != type.list || param.element_optional != type.element_optional || param.optional != type.optional)
    return false;
  switch (param.base) {
    case ParamBase::Tensor: return type.base == SchemaBase::Tensor;
    case ParamBase::Operand: return type.base == SchemaBase::Tensor || type.base == SchemaBase::Scalar;
    case ParamBase::Scalar: return type.base == SchemaBase::Scalar;
    case ParamBase::Dim:
    case ParamBase::Int: return type.base == SchemaBase::SymInt || type.base == SchemaBase::Int;
    case ParamBase::Float: return type.base == SchemaBase::Float;
    case ParamBase::Bool: return type.base == SchemaBase::Bool;
    case ParamBase::Str: return type.base == SchemaBase::Str;
    case ParamBase::Device: return type.base == SchemaBase::Device;
    case ParamBase::DType: return type.base == SchemaBase::ScalarType;
    case ParamBase::Layout: return type.base == SchemaBase::Layout;
    case ParamBase::MemoryFormat: return type.base == SchemaBase::MemoryFormat;
    case ParamBase::Options: return type.base == SchemaBase::ScalarType && type.optional;
    case ParamBase::Ignored:
    case ParamBase::Any: return true;
  }
  return false;
}

bool serves(std::span<const ParamSpec> params, const torch::Schema& schema) {
  size_t at = 0;
  size_t count = schema.arguments.size();
  while (count > 0 && schema.arguments[count - 1].is_out()) --count;
  for (const ParamSpec& p : params) {
    if (p.width() > count - at) return false;
    const torch::SchemaType& type = schema.arguments[at].type;
    if (p.base == ParamBase::Options) {
      if (schema.arguments[at].name != "dtype" || type.base != SchemaBase::ScalarType || !type.optional ||
          schema.arguments[at + 3].name != "pin_memory")
        return false;
    } else if (!accepts(p, type)) {
      return false;
    }
    at += p.width();
  }
  return at == count;
}

Tensor unbox_tensor(Lower& l, const IValue& v) {
  if (auto* t = v.get<Tensor>()) return *t;
  if (auto n = v.number()) return l.wrap(*n);
  return {};
}

Dim unbox_dim(const IValue& v) {
  if (auto* d = v.get<Dim>()) return *d;
  if (auto n = v.number()) return n->to_dim();
  return Dim(0);
}

double unbox_float(const IValue& v) {
  auto n = v.number();
  return n ? n->to_double() : 0;
}

bool unbox_bool(const IValue& v) {
  auto n = v.number();
  return n && n->to_bool();
}

OpTable::OpTable(std::span<const std::span<const Row>> families, std::span<const std::span<const ScriptRow>> script) {
  for (std::span<const Row> family : families)
    for (const Row& row : family) rows_.push_back(&row);
  for (std::span<const ScriptRow> family : script)
    for (const ScriptRow& row : family) script_rows_.push_back(&row);
  std::stable_sort(rows_.begin(), rows_.end(), [](const Row* a, const Row* b) { return a->key < b->key; });
  std::stable_sort(script_rows_.begin(), script_rows_.end(),
                   [](const ScriptRow* a, const ScriptRow* b) { return a->name < b->name; });
}

const ScriptRow* OpTable::script(std::string_view name) const {
  auto it = std::lower_bound(script_rows_.begin(), script_rows_.end(), name,
                             [](const ScriptRow* r, std::string_view n) { return r->name < n; });
  return it != script_rows_.end() && (*it)->name == name ? *it : nullptr;
}

const Row* OpTable::exact(std::string_view key) const {
  auto it =
      std::lower_bound(rows_.begin(), rows_.end(), key, [](const Row* r, std::string_view k) { return r->key < k; });
  return it != rows_.end() && (*it)->key == key ? *it : nullptr;
}

const Row* OpTable::find(const torch::Schema& schema) const {
  auto key_of = [](std::string_view name) { return name.starts_with("aten::") ? name.substr(6) : name; };
  std::string full = schema.full_name();
  std::string_view base = key_of(schema.name);
  if (!schema.overload.empty())
    if (const Row* row = exact(key_of(full))) return row;
  auto it =
      std::lower_bound(rows_.begin(), rows_.end(), base, [](const Row* r, std::string_view k) { return r->key < k; });
  for (; it != rows_.end() && (*it)->key == base; ++it)
    if (serves((*it)->params, schema)) return *it;
  return nullptr;
}

}  // namespace torchlift::lower
