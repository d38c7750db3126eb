// What the rows of TorchScript's operators on Python values share: reading arguments, numbers that the import or only
// the device knows, containers and their bounds. Semantics are those of TorchScript's own interpreter, which differ
// from Python's here and there (docs/frontend-script.md).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aten/ops.hpp"

namespace torchlift::aten {

using lower::DictRef;
using lower::ListRef;
using lower::NamedValue;
using lower::ObjectRef;
using lower::ScriptDict;
using lower::ScriptList;
using lower::ScriptResults;
using lower::ScriptRow;
using lower::ScriptTuple;
using lower::TupleRef;
using Arguments = std::span<const NamedValue>;

// Programs are hostile: what one of them may build while it is imported.
inline constexpr size_t kMaxListItems = size_t{1} << 20;
inline constexpr size_t kMaxTextSize = size_t{1} << 24;
inline constexpr int kMaxValueDepth = 64;  // of nested containers, where they are compared or printed

// ---- arguments: by position, or by name where the schema has one; None where there is none
const IValue& argument(Arguments arguments, size_t i, std::string_view name = "");
template <typename T>
const T* argument(Arguments arguments, size_t i, std::string_view name = "") {
  return argument(arguments, i, name).get<T>();
}

// ---- refusing
ScriptResults refused(Lower& l, std::string message);
// `what` would have to be known while importing.
ScriptResults unknown(Lower& l, std::string what);

// ---- numbers
struct Number {
  std::optional<Scalar> known;
  Tensor device;  // where it is not known
  DType dtype{};  // bool, int64, float64 or complex128: its Python type

  bool is_integral() const { return dtype == DType::Bool || dtype == DType::Int64; }
};
// Nothing if the value is no Python number (a tensor is none). A device's number that follows from constants is known.
std::optional<Number> python_number(Lower& l, const IValue& value);
Value read(Lower& l, const Number& number, DType dtype);  // rank 0
DType common_type(const Number& a, const Number& b);
IValue boxed(Lower& l, const Number& number);
// `+` and `*` of numbers (script_numbers.cpp).
ScriptResults add_numbers(Lower& l, Arguments arguments);
ScriptResults mul_numbers(Lower& l, Arguments arguments);

// An int that has to be known, at a place of the arguments: an index, a length. Where it is not there, `fallback`;
// refuses (and gives nothing) where it is no int or is not known.
std::optional<Dim> int_argument(Lower& l, Arguments arguments, size_t i, std::string_view name,
                                std::optional<int64_t> fallback = std::nullopt);
std::optional<bool> bool_argument(Lower& l, Arguments arguments, size_t i, std::string_view name, bool fallback);

// ---- containers
ListRef make_list(Lower& l, std::string element_type, std::vector<IValue> items = {});
DictRef make_dict(Lower& l, std::string key_type, std::string value_type);
IValue make_tuple(std::vector<IValue> items);
// Whether the container was made where the walk is now. One from outside of a StableHLO region stays as it is in there:
// the change would show outside whether or not the region runs. Refuses.
bool can_change(Lower& l, const ScriptList& list);
bool can_change(Lower& l, const ScriptDict& dict);
bool small_enough(Lower& l, size_t count, size_t limit, std::string_view what);  // refuses
// Python's index: negative counts from the end. Refuses with Python's message.
std::optional<size_t> index_in(Lower& l, int64_t index, size_t size, std::string_view what = "list index");
// The positions that start:end:step names. Refuses a step of zero.
std::optional<std::vector<size_t>> sliced(Lower& l, Arguments arguments, size_t size);

// `index` and `count` of a list (script_containers.cpp); texts have them too.
ScriptResults index_in_list(Lower& l, const ListRef& list, const IValue& item);
ScriptResults count_in_list(Lower& l, const ListRef& list, const IValue& item);

// ---- comparing and printing
enum class Answer : uint8_t { No, Yes, Unknown };  // Unknown: it depends on the device
Answer equal(Lower& l, const IValue& a, const IValue& b, int depth = 0);
// -1, 0, 1 for numbers, texts and lists of them; nothing if they have no order or it is not known.
std::optional<int> order(Lower& l, const IValue& a, const IValue& b);
// As TorchScript prints it ("1.", "0.10000000000000001", "[a, 1]"); nothing where a tensor is in it.
std::optional<std::string> text_of(Lower& l, const IValue& value, int depth = 0);

}  // namespace torchlift::aten
