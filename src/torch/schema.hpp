// ATen's operator schemas as data: argument names, types, defaults, alias marks. The table is data/aten_schemas.txt
// (made by tools/gen_schemas.py), linked into the library; a schema is parsed when it is first asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "torch/program.hpp"

namespace torchlift::torch {

enum class SchemaBase : uint8_t {
  Tensor,
  Scalar,
  Int,
  SymInt,
  Float,
  Bool,
  Str,
  Complex,
  Device,
  ScalarType,
  Layout,
  MemoryFormat,
  Generator,
  Storage,
  Dimname,
  Stream,
  Any,
  Other
};

struct SchemaType {
  SchemaBase base = SchemaBase::Other;
  bool list = false;              // Tensor[], int[2]
  bool element_optional = false;  // Tensor?[]
  bool optional = false;          // Tensor?, int[]?
  int64_t list_size = 0;          // 2 for int[2]: one value stands for both
  bool operator==(const SchemaType&) const = default;
};

struct AliasMark {
  std::string set;        // "a"
  bool write = false;     // (a!)
  bool wildcard = false;  // (a -> *)
  bool operator==(const AliasMark&) const = default;
};

struct SchemaArgument {
  std::string name;
  SchemaType type;
  std::string type_text;                 // of a type whose base is Other: "Dict(str, t)", "t[]", "((int, int))[]"
  std::optional<Operand> default_value;  // enum-like defaults are decoded to DType, Layout, MemoryFormat
  bool keyword_only = false;
  std::optional<AliasMark> alias;
  bool is_out() const { return keyword_only && alias && alias->write; }
};

struct SchemaReturn {
  std::string name;
  SchemaType type;
  std::optional<AliasMark> alias;
};

struct Schema {
  std::string name;      // "aten::add"
  std::string overload;  // "Tensor"; empty for the default one
  std::vector<SchemaArgument> arguments;
  std::vector<SchemaReturn> returns;
  std::vector<std::string> tags;
  std::optional<int64_t> script_order;  // place among its name's overloads as TorchScript tries them; none: it does not
  bool is_variadic = false;             // "...": takes any further arguments
  std::string full_name() const { return overload.empty() ? name : name + "." + overload; }
};

// "ns::name.overload(Type name=default, *, Type name) -> (Type name, ...)", as torch prints it.
Result<Schema> parse_schema(std::string_view text);

// c10's numbers of enumerations, as they stand in schema defaults and in TorchScript; the archive's own differ.
std::optional<DType> dtype_from_c10(int64_t number);
std::optional<Layout> layout_from_c10(int64_t number);
std::optional<MemoryFormat> memory_format_from_c10(int64_t number);

// All schemas with one name, in the table's order; empty for an unknown name. References stay valid. Thread-safe.
const std::vector<Schema>& schemas_named(std::string_view name);  // "aten::add"
const Schema* find_schema(std::string_view full_name);            // "aten::add.Tensor"; nullptr if unknown
std::vector<std::string_view> schema_names();                     // every full name, sorted

// The functional partner of an in-place or out= schema: `add_.Tensor` -> `add.Tensor`, `max.dim_max` -> `max.dim`.
// Found by equal parameter lists (names and types, out arguments aside), not by overload name; nullptr if there is
// none. Arguments go over by name. Three kinds of lists differ: a factory's out= form lacks dtype, layout, device and
// pin_memory (`zeros.out`); the first parameter may have another name (`dropout_` has `self`, `dropout` has `input`);
// `polygamma_` has another order.
const Schema* functional_partner(const Schema& schema);

}  // namespace torchlift::torch
