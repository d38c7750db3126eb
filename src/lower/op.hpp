// The operator table's rows. A lowering is a plain function whose parameters mirror the ATen schema; the templates here
// describe its parameters and unbox its arguments by their types. A test compares every row with the schemas.
//
//   Tensor addmm(Lower& l, Tensor self, Tensor mat1, Tensor mat2, Scalar beta, Scalar alpha);
//   op<addmm>("addmm")
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "lower/bind_arguments.hpp"
#include "lower/lower.hpp"
#include "torch/schema.hpp"

namespace torchlift::lower {

// ---- parameter types beyond Tensor, Operand, Scalar, Dim, Dims, bool, double

using TensorList = std::vector<Tensor>;
using OptionalTensorList = std::vector<std::optional<Tensor>>;

// Where a schema has `ScalarType? dtype, Layout? layout, Device? device, bool? pin_memory`: ATen's own C++ convention.
struct TensorOptions {
  std::optional<DType> dtype;
};
// An argument without meaning here (Generator?, bool non_blocking): anything is accepted.
struct Ignored {};

enum class ParamBase : uint8_t {
  Tensor,
  Operand,
  Scalar,
  Dim,
  Int,
  Float,
  Bool,
  Str,
  Device,
  DType,
  Layout,
  MemoryFormat,
  Options,
  Ignored,
  Any
};

struct ParamSpec {
  ParamBase base{};
  bool list = false;
  bool element_optional = false;
  bool optional = false;
  constexpr size_t width() const { return base == ParamBase::Options ? 4 : 1; }
};

bool accepts(const ParamSpec& param, const torch::SchemaType& type);
// Whether the parameters, in order, serve all arguments of the schema that are no out= arguments.
bool serves(std::span<const ParamSpec> params, const torch::Schema& schema);

// ---- unboxing: the value has been checked by bind() against the schema

template <typename T>
struct Unbox;

template <ParamBase kBase>
struct UnboxBase {
  static constexpr ParamSpec spec{.base = kBase};
};

Tensor unbox_tensor(Lower& l, const IValue& v);  // a Python number becomes a wrapped tensor; None becomes poison
Dim unbox_dim(const IValue& v);
double unbox_float(const IValue& v);
bool unbox_bool(const IValue& v);

template <>
struct Unbox<Tensor> : UnboxBase<ParamBase::Tensor> {
  static Tensor from(Lower& l, const IValue* v) { return unbox_tensor(l, *v); }
};
template <>
struct Unbox<Operand> : UnboxBase<ParamBase::Operand> {
  static Operand from(Lower& l, const IValue* v) { return unbox_tensor(l, *v); }
};
template <>
struct Unbox<Scalar> : UnboxBase<ParamBase::Scalar> {
  static Scalar from(Lower&, const IValue* v) { return v->number().value_or(Scalar(0)); }
};
template <>
struct Unbox<Dim> : UnboxBase<ParamBase::Dim> {
  static Dim from(Lower&, const IValue* v) { return unbox_dim(*v); }
};
template <>
struct Unbox<int64_t> : UnboxBase<ParamBase::Int> {
  static int64_t from(Lower& l, const IValue* v) { return l.pin(unbox_dim(*v)); }
};
template <>
struct Unbox<double> : UnboxBase<ParamBase::Float> {
  static double from(Lower&, const IValue* v) { return unbox_float(*v); }
};
template <>
struct Unbox<bool> : UnboxBase<ParamBase::Bool> {
  static bool from(Lower&, const IValue* v) { return unbox_bool(*v); }
};
template <>
struct Unbox<std::string> : UnboxBase<ParamBase::Str> {
  static std::string from(Lower&, const IValue* v) { return v->get<std::string>() ? *v->get<std::string>() : ""; }
};
template <>
struct Unbox<DType> : UnboxBase<ParamBase::DType> {
  static DType from(Lower&, const IValue* v) { return v->get<DType>() ? *v->get<DType>() : DType::Float32; }
};
template <>
struct Unbox<torch::MemoryFormat> : UnboxBase<ParamBase::MemoryFormat> {
  static torch::MemoryFormat from(Lower&, const IValue* v) {
    return v->get<torch::MemoryFormat>() ? *v->get<torch::MemoryFormat>() : torch::MemoryFormat::Contiguous;
  }
};
template <>
struct Unbox<Ignored> : UnboxBase<ParamBase::Ignored> {
  static Ignored from(Lower&, const IValue*) { return {}; }
};
template <>
struct Unbox<IValue> : UnboxBase<ParamBase::Any> {
  static IValue from(Lower&, const IValue* v) { return *v; }
};
template <>
struct Unbox<TensorOptions> : UnboxBase<ParamBase::Options> {
  static TensorOptions from(Lower&, const IValue* v) {
    return {v->get<DType>() ? std::optional(*v->get<DType>()) : std::nullopt};
  }
};

template <typename T>
struct UnboxList {
  static constexpr ParamSpec spec{.base = Unbox<T>::spec.base, .list = true};
  static std::vector<T> from(Lower& l, const IValue* v) {
    std::vector<T> out;
    if (auto* list = v->get<IValue::List>())
      for (const IValue& item : *list) out.push_back(Unbox<T>::from(l, &item));
    return out;
  }
};
template <typename T>
struct Unbox<std::vector<T>> : UnboxList<T> {};
template <>
struct Unbox<OptionalTensorList> {
  static constexpr ParamSpec spec{.base = ParamBase::Tensor, .list = true, .element_optional = true};
  static OptionalTensorList from(Lower& l, const IValue* v) {
    OptionalTensorList out;
    if (auto* list = v->get<IValue::List>())
      for (const IValue& item : *list)
        out.push_back(item.is_none() ? std::nullopt : std::optional(unbox_tensor(l, item)));
    return out;
  }
};
template <typename T>
struct Unbox<std::optional<T>> {
  static constexpr ParamSpec spec{.base = Unbox<T>::spec.base, .list = Unbox<T>::spec.list, .optional = true};
  static std::optional<T> from(Lower& l, const IValue* v) {
    if (v->is_none()) return std::nullopt;
    return Unbox<T>::from(l, v);
  }
};

// ---- boxing of results

using IValues = std::vector<IValue>;

template <typename T>
struct BoxResult {
  static IValues box(T value) { return {IValue(std::move(value))}; }
};
template <>
struct BoxResult<IValues> {
  static IValues box(IValues values) { return values; }
};
template <>
struct BoxResult<TensorList> {
  static IValues box(const TensorList& list) { return {IValue(IValue::List(list.begin(), list.end()))}; }
};
template <typename... T>
struct BoxResult<std::tuple<T...>> {
  static IValues box(std::tuple<T...> t) {
    return std::apply(
        [](auto&&... v) { return IValues{BoxResult<std::remove_cvref_t<decltype(v)>>::box(std::move(v)).front()...}; },
        std::move(t));
  }
};

template <auto F>
struct Boxer;
template <typename R, typename... Args, R (*F)(Lower&, Args...)>
struct Boxer<F> {
  static constexpr std::array<ParamSpec, sizeof...(Args)> params{Unbox<std::remove_cvref_t<Args>>::spec...};
  static constexpr std::array<size_t, sizeof...(Args)> offsets() {
    std::array<size_t, sizeof...(Args)> out{};
    size_t at = 0;
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = at;
      at += params[i].width();
    }
    return out;
  }
  template <size_t... I>
  static IValues call_with(Lower& l, const IValue* args, std::index_sequence<I...>) {
    constexpr auto at = offsets();
    (void)at;
    (void)args;
    if constexpr (std::is_void_v<R>) {
      F(l, Unbox<std::remove_cvref_t<Args>>::from(l, args + at[I])...);
      return {};
    } else {
      return BoxResult<R>::box(F(l, Unbox<std::remove_cvref_t<Args>>::from(l, args + at[I])...));
    }
  }
  static IValues call(Lower& l, std::span<const IValue> args) {
    return call_with(l, args.data(), std::index_sequence_for<Args...>{});
  }
};

// ---- rows

// What autocast does with an operator's inputs (torch.amp's lists); none: it runs in the dtype it is given.
enum class AutocastRule : uint8_t { None, Lower, Float32, Promote };

struct Row {
  std::string_view key;  // "addmm", "max.dim", "_operator::mul"; the namespace aten:: is left out
  IValues (*call)(Lower& l, std::span<const IValue> args);
  std::span<const ParamSpec> params;
  bool positional =
      false;  // called with the operands as they stand: no schema (Python callables, higher-order operators)
  std::array<std::string_view, 3> hidden_writes{};   // arguments written without an alias mark in the schema
  std::array<std::string_view, 2> hidden_aliases{};  // arguments whose storage the result may share without a mark
  AutocastRule autocast = AutocastRule::None;
};

struct writes {
  std::array<std::string_view, 3> names{};
  template <typename... S>
  explicit constexpr writes(S... s) : names{s...} {}
};
struct aliases {
  std::array<std::string_view, 2> names{};
  template <typename... S>
  explicit constexpr aliases(S... s) : names{s...} {}
};

constexpr void apply(Row& row, const writes& w) { row.hidden_writes = w.names; }
constexpr void apply(Row& row, const aliases& a) { row.hidden_aliases = a.names; }
constexpr void apply(Row& row, AutocastRule r) { row.autocast = r; }

template <auto F, typename... Traits>
constexpr Row op(std::string_view key, Traits... traits) {
  Row row{.key = key, .call = &Boxer<F>::call, .params = Boxer<F>::params};
  (apply(row, traits), ...);
  return row;
}

// A Python callable of symbolic arithmetic: positional arguments, no schema.
template <auto F>
constexpr Row python(std::string_view key) {
  Row row = op<F>(key);
  row.positional = true;
  return row;
}

// A higher-order operator: a function over the operands as they stand.
using HigherOrder = IValues (*)(Lower&, std::span<const IValue>);
template <HigherOrder F>
constexpr Row higher_order(std::string_view key) {
  return Row{.key = key, .call = F, .params = {}, .positional = true};
}

// An operator of TorchScript on numbers, texts, lists, dictionaries and objects, or a part of its language; one row for
// all overloads of a name ("aten::len", "prim::GetAttr"). The function gives nothing where the arguments are not of its
// kind (a tensor in `aten::add`): then the schemas of ATen are tried.
using ScriptResults = std::optional<IValues>;
using ScriptFunction = ScriptResults (*)(Lower& l, std::span<const NamedValue> arguments);
struct ScriptRow {
  std::string_view name;
  ScriptFunction call;
  bool takes_poison = false;  // runs on what stands for failed results too (stores, containers)
};

// All rows, and look-up by key. Built once from the families' lists.
class OpTable {
 public:
  explicit OpTable(std::span<const std::span<const Row>> families,
                   std::span<const std::span<const ScriptRow>> script = {});
  const Row* exact(std::string_view key) const;
  const ScriptRow* script(std::string_view name) const;
  // The row for a schema: its full name, or its name where the parameters fit.
  const Row* find(const torch::Schema& schema) const;
  const std::vector<const Row*>& rows() const { return rows_; }                      // sorted by key
  const std::vector<const ScriptRow*>& script_rows() const { return script_rows_; }  // sorted by name

 private:
  std::vector<const Row*> rows_;
  std::vector<const ScriptRow*> script_rows_;
};

}  // namespace torchlift::lower
