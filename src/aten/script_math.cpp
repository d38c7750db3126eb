// TorchScript's functions of `math`, and its minimum, maximum and sum of Python values. Where Python raises (the root
// of a negative number) TorchScript gives what C gives. On numbers of the device they are ATen's own functions, in
// float64.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

#include "aten/families.hpp"
#include "aten/script.hpp"

namespace torchlift::aten {
namespace {

using Complex = std::complex<double>;
using OfDouble = double (*)(double);
using OfDoubles = double (*)(double, double);
using OfComplex = Complex (*)(const Complex&);

// A row of ATen on numbers as float64 (complex128) tensors; nothing where there is none.
std::optional<Value> by_aten(Lower& l, std::string_view key, std::initializer_list<Number> numbers) {
  const Row* row = table().exact(key);
  if (!row) return std::nullopt;
  IValues arguments;
  for (const Number& n : numbers)
    arguments.push_back(l.make(read(l, n, is_complex(n.dtype) ? DType::Complex128 : DType::Float64)));
  IValues results = row->call(l, arguments);
  auto* result = results.empty() ? nullptr : results[0].get<Tensor>();
  return result ? l.read(*result) : Value();
}

// A text as a template argument.
template <size_t kSize>
struct Key {
  char text[kSize]{};
  constexpr Key(const char (&from)[kSize]) {  // NOLINT
    for (size_t i = 0; i < kSize; ++i) text[i] = from[i];
  }
  constexpr std::string_view view() const { return {text, kSize - 1}; }
};

template <Key kKey>
ScriptResults on_device(Lower& l, const Number& a) {
  auto value = by_aten(l, kKey.view(), {a});
  return value ? IValues{l.device_number(*value)} : unknown(l, "the argument of `" + std::string(kKey.view()) + "`");
}

// Float of a real number. `kKey` is ATen's name of the function.
template <Key kKey, OfDouble kFn>
ScriptResults real(Lower& l, Arguments arguments) {
  auto a = python_number(l, argument(arguments, 0, "a"));
  if (!a) return std::nullopt;
  if (is_complex(a->dtype)) return refused(l, "`" + std::string(kKey.view()) + "` of a complex number");
  if (!a->known) return on_device<kKey>(l, *a);
  return IValues{kFn(a->known->to_double())};
}
// And complex of a complex one.
template <Key kKey, OfDouble kFn, OfComplex kComplex>
ScriptResults unary(Lower& l, Arguments arguments) {
  auto a = python_number(l, argument(arguments, 0, "a"));
  if (!a) return std::nullopt;
  if (!a->known) return on_device<kKey>(l, *a);
  if (a->known->is_complex()) return IValues{kComplex(a->known->to_complex())};
  return IValues{kFn(a->known->to_double())};
}

template <Key kKey, OfDoubles kFn>
ScriptResults binary(Lower& l, Arguments arguments) {
  auto a = python_number(l, argument(arguments, 0, "a")), b = python_number(l, argument(arguments, 1, "b"));
  if (!a || !b) return std::nullopt;
  if (is_complex(common_type(*a, *b))) return refused(l, "`" + std::string(kKey.view()) + "` of complex numbers");
  if (a->known && b->known) return IValues{kFn(a->known->to_double(), b->known->to_double())};
  auto value = by_aten(l, kKey.view(), {*a, *b});
  return value ? IValues{l.device_number(*value)} : unknown(l, "an argument of `" + std::string(kKey.view()) + "`");
}

double to_degrees(double x) { return x * (180 / std::numbers::pi); }
double to_radians(double x) { return x * (std::numbers::pi / 180); }

// (x), or (x, base)
ScriptResults log(Lower& l, Arguments arguments) {
  auto one = unary<"log", std::log, std::log<double>>;
  if (arguments.size() < 2) return one(l, arguments);
  auto a = python_number(l, argument(arguments, 0)), b = python_number(l, argument(arguments, 1));
  if (!a || !b) return std::nullopt;
  if (a->known && b->known) {
    if (!a->known->is_complex() && !b->known->is_complex())
      return IValues{std::log(a->known->to_double()) / std::log(b->known->to_double())};
    return IValues{std::log(a->known->to_complex()) / std::log(b->known->to_complex())};
  }
  DType dtype = is_complex(common_type(*a, *b)) ? DType::Complex128 : DType::Float64;
  return IValues{l.device_number(l.hlo.divide(l.hlo.log(read(l, *a, dtype)), l.hlo.log(read(l, *b, dtype))))};
}

ScriptResults angle(Lower& l, Arguments arguments) {
  auto a = python_number(l, argument(arguments, 0, "a"));
  if (!a) return std::nullopt;
  if (is_complex(a->dtype)) {
    if (a->known) return IValues{std::arg(a->known->to_complex())};
    Value z = read(l, *a, DType::Complex128);
    return IValues{l.device_number(l.hlo.atan2(l.hlo.imag(z), l.hlo.real(z)))};
  }
  if (a->known) return IValues{a->known->to_double() < 0 ? std::numbers::pi : 0.0};
  Value x = read(l, *a, DType::Float64);
  Value negative = l.hlo.compare(x, l.full_like(x, 0.0), ComparisonDirection::Lt);
  return IValues{l.device_number(l.hlo.select(negative, l.full_like(x, std::numbers::pi), l.full_like(x, 0.0)))};
}

ScriptResults polar(Lower& l, Arguments arguments) {
  auto a = python_number(l, argument(arguments, 0, "a")), b = python_number(l, argument(arguments, 1, "b"));
  if (!a || !b) return std::nullopt;
  if (is_complex(common_type(*a, *b))) return refused(l, "`polar` of complex numbers");
  if (!a->known || !b->known) {
    Value r = read(l, *a, DType::Float64), phi = read(l, *b, DType::Float64);
    return IValues{
        l.device_number(l.hlo.complex(l.hlo.multiply(r, l.hlo.cosine(phi)), l.hlo.multiply(r, l.hlo.sine(phi))))};
  }
  double r = a->known->to_double(), phi = b->known->to_double();
  return IValues{Complex(r * std::cos(phi), r * std::sin(phi))};
}

// ---- questions

enum class Question : uint8_t { Nan, Inf, Finite };

template <Question kQuestion>
ScriptResults ask(Lower& l, Arguments arguments) {
  auto a = python_number(l, argument(arguments, 0, "a"));
  if (!a) return std::nullopt;
  if (a->known) {
    Complex c = a->known->to_complex();
    switch (kQuestion) {
      case Question::Nan: return IValues{std::isnan(c.real()) || std::isnan(c.imag())};
      case Question::Inf: return IValues{std::isinf(c.real()) || std::isinf(c.imag())};
      case Question::Finite: return IValues{std::isfinite(c.real()) && std::isfinite(c.imag())};
    }
  }
  if (is_complex(a->dtype)) return unknown(l, "a part of a complex number");
  Value x = read(l, *a, DType::Float64);
  Value nan = l.is_nan(x), finite = l.hlo.is_finite(x);
  switch (kQuestion) {
    case Question::Nan: return IValues{l.device_number(nan)};
    case Question::Inf: return IValues{l.device_number(l.hlo.not_(l.hlo.or_(nan, finite)))};
    case Question::Finite: return IValues{l.device_number(finite)};
  }
  return std::nullopt;
}

// ---- of ints

ScriptResults gcd(Lower& l, Arguments arguments) {
  if (argument(arguments, 0).is_tensor() && !python_number(l, argument(arguments, 0))) return std::nullopt;
  auto a = int_argument(l, arguments, 0, "a"), b = int_argument(l, arguments, 1, "b");
  if (!a || !b) return IValues{};
  int64_t x = a->concrete(), y = b->concrete();
  if (x == INT64_MIN || y == INT64_MIN) return refused(l, "`gcd` of an int whose magnitude does not fit 64 bits");
  return IValues{Dim(std::gcd(x, y))};
}

ScriptResults factorial(Lower& l, Arguments arguments) {
  auto a = int_argument(l, arguments, 0, "a");
  if (!a) return IValues{};
  if (*a < Dim(0)) return refused(l, "ValueError: factorial() not defined for negative values");
  if (*a > Dim(20)) return refused(l, "the int factorial(" + a->text() + ") does not fit 64 bits");
  int64_t result = 1;
  for (int64_t i = 2; i <= a->concrete(); ++i) result *= i;
  return IValues{Dim(result)};
}

// ---- parts of a float

std::optional<double> float_argument(Lower& l, Arguments arguments, std::string_view name) {
  auto a = python_number(l, argument(arguments, 0));
  if (!a || is_complex(a->dtype)) l.wrong("`" + std::string(name) + "` takes a float");
  else if (!a->known) unknown(l, "the argument of `" + std::string(name) + "`");
  else return a->known->to_double();
  return std::nullopt;
}
bool is_plain_tensor(Lower& l, Arguments arguments) {
  return argument(arguments, 0).is_tensor() && !python_number(l, argument(arguments, 0));
}

ScriptResults frexp(Lower& l, Arguments arguments) {
  if (is_plain_tensor(l, arguments)) return std::nullopt;
  auto x = float_argument(l, arguments, "frexp");
  if (!x) return IValues{};
  int exponent = 0;
  double mantissa = std::frexp(*x, &exponent);
  return IValues{mantissa, Dim(std::isfinite(*x) ? exponent : 0)};
}
ScriptResults modf(Lower& l, Arguments arguments) {
  auto x = float_argument(l, arguments, "modf");
  if (!x) return IValues{};
  double whole = 0;
  double rest = std::modf(*x, &whole);
  return IValues{rest, whole};
}
ScriptResults ldexp(Lower& l, Arguments arguments) {
  if (is_plain_tensor(l, arguments)) return std::nullopt;
  auto x = float_argument(l, arguments, "ldexp");
  auto i = int_argument(l, arguments, 1, "i");
  if (!x || !i) return IValues{};
  constexpr int64_t kFar = 10000;  // past it all floats are inf or zero
  return IValues{std::ldexp(*x, static_cast<int>(std::clamp<int64_t>(i->concrete(), -kFar, kFar)))};
}

// ---- minimum and maximum, as C++ has them: `a < b ? a : b`, whatever NaN makes of it

template <bool kMax>
IValue extreme(Lower& l, const Number& a, const Number& b, DType dtype) {
  if (!a.known || !b.known) {
    Value x = read(l, a, dtype), y = read(l, b, dtype);
    Value first = l.hlo.compare(x, y, kMax ? ComparisonDirection::Gt : ComparisonDirection::Lt);
    return l.device_number(l.hlo.select(first, x, y));
  }
  if (is_float(dtype)) {
    double x = a.known->to_double(), y = b.known->to_double();
    return (kMax ? x > y : x < y) ? x : y;
  }
  if (is_bool(dtype)) return kMax ? a.known->to_bool() || b.known->to_bool() : a.known->to_bool() && b.known->to_bool();
  return kMax ? max(a.known->to_dim(), b.known->to_dim()) : min(a.known->to_dim(), b.known->to_dim());
}

// Lexicographic: the list itself, no copy.
template <bool kMax>
ScriptResults extreme_list(Lower& l, const ListRef& a, const ListRef& b) {
  size_t shared = std::min(a->items.size(), b->items.size());
  for (size_t i = 0; i < shared; ++i) {
    Answer same = equal(l, a->items[i], b->items[i]);
    if (same == Answer::Yes) continue;
    auto compared = order(l, a->items[i], b->items[i]);
    if (same == Answer::Unknown || !compared) return unknown(l, "which of two lists is the greater one");
    return IValues{(kMax ? *compared > 0 : *compared < 0) ? a : b};
  }
  bool second = kMax ? b->items.size() > a->items.size() : b->items.size() < a->items.size();
  return IValues{second ? b : a};
}

template <bool kMax>
ScriptResults min_or_max(Lower& l, Arguments arguments) {
  constexpr std::string_view kName = kMax ? "max" : "min";
  auto *list = argument<ListRef>(arguments, 0), *other = argument<ListRef>(arguments, 1);
  if (list && other) return extreme_list<kMax>(l, *list, *other);
  if (list && arguments.size() == 1) {
    const auto& items = (*list)->items;
    if (items.empty()) return refused(l, "ValueError: " + std::string(kName) + "() arg is an empty sequence");
    auto best = python_number(l, items[0]);
    for (size_t i = 1; best && i < items.size(); ++i) {
      auto item = python_number(l, items[i]);
      if (!item || is_complex(common_type(*best, *item))) return std::nullopt;
      best = python_number(l, extreme<kMax>(l, *item, *best, common_type(*best, *item)));
    }
    if (!best) return std::nullopt;
    return IValues{boxed(l, *best)};
  }
  auto a = python_number(l, argument(arguments, 0, "a")), b = python_number(l, argument(arguments, 1, "b"));
  if (!a || !b) return std::nullopt;
  if (is_complex(common_type(*a, *b))) return refused(l, "complex numbers have no order");
  return IValues{extreme<kMax>(l, *a, *b, common_type(*a, *b))};
}

// ---- sum, all, any of a list

ScriptResults sum(Lower& l, Arguments arguments) {
  auto* list = argument<ListRef>(arguments, 0, "self");
  if (!list) return std::nullopt;
  const std::string& type = (*list)->element_type;
  IValue total = type == "float" ? IValue(0.0) : type == "complex" ? IValue(Complex()) : IValue(Dim(0));
  for (const IValue& item : (*list)->items) {
    std::array<NamedValue, 2> pair = {NamedValue{"", total}, NamedValue{"", item}};
    auto added = add_numbers(l, pair);
    if (!added) return refused(l, "the sum of a list that holds " + describe(item));
    if (added->empty() || (*added)[0].is_none()) return IValues{};
    total = (*added)[0];
  }
  return IValues{total};
}

// Whether an item counts as true.
std::optional<Number> truth(Lower& l, const IValue& item) {
  if (auto* text = item.get<std::string>()) return python_number(l, !text->empty());
  auto n = python_number(l, item);
  if (n && n->known) return python_number(l, n->known->to_bool());
  return n;
}
template <bool kAll>
ScriptResults all_or_any(Lower& l, Arguments arguments) {
  auto* list = argument<ListRef>(arguments, 0, "self");
  if (!list) return std::nullopt;
  std::optional<Value> open;  // of the items that the device knows
  for (const IValue& item : (*list)->items) {
    auto is_true = truth(l, item);
    if (!is_true) return refused(l, std::string(kAll ? "all" : "any") + "() of a list that holds " + describe(item));
    if (is_true->known) {
      if (is_true->known->to_bool() != kAll) return IValues{!kAll};
      continue;
    }
    Value v = read(l, *is_true, DType::Bool);
    open = !open ? v : kAll ? l.hlo.and_(*open, v) : l.hlo.or_(*open, v);
  }
  if (open) return IValues{l.device_number(*open)};
  return IValues{kAll};
}

}  // namespace

std::span<const lower::ScriptRow> script_math_ops() {
  static constexpr ScriptRow rows[] = {
      {"aten::acos", unary<"acos", std::acos, std::acos<double>>},
      {"aten::acosh", unary<"acosh", std::acosh, std::acosh<double>>},
      {"aten::all", all_or_any<true>},
      {"aten::angle", angle},
      {"aten::any", all_or_any<false>},
      {"aten::asin", unary<"asin", std::asin, std::asin<double>>},
      {"aten::asinh", unary<"asinh", std::asinh, std::asinh<double>>},
      {"aten::atan", unary<"atan", std::atan, std::atan<double>>},
      {"aten::atan2", binary<"atan2", std::atan2>},
      {"aten::atanh", unary<"atanh", std::atanh, std::atanh<double>>},
      {"aten::copysign", binary<"copysign", std::copysign>},
      {"aten::cos", unary<"cos", std::cos, std::cos<double>>},
      {"aten::cosh", unary<"cosh", std::cosh, std::cosh<double>>},
      {"aten::degrees", real<"rad2deg", to_degrees>},
      {"aten::erf", real<"erf", std::erf>},
      {"aten::erfc", real<"erfc", std::erfc>},
      {"aten::exp", unary<"exp", std::exp, std::exp<double>>},
      {"aten::expm1", real<"expm1", std::expm1>},
      {"aten::fabs", real<"abs", std::fabs>},
      {"aten::factorial", factorial},
      {"aten::fmod", binary<"fmod", std::fmod>},
      {"aten::frexp", frexp},
      {"aten::gamma", real<"gamma", std::tgamma>},
      {"aten::gcd", gcd},
      {"aten::isfinite", ask<Question::Finite>},
      {"aten::isinf", ask<Question::Inf>},
      {"aten::isnan", ask<Question::Nan>},
      {"aten::ldexp", ldexp},
      {"aten::lgamma", real<"lgamma", std::lgamma>},
      {"aten::log", log},
      {"aten::log10", unary<"log10", std::log10, std::log10<double>>},
      {"aten::log1p", real<"log1p", std::log1p>},
      {"aten::mathremainder", binary<"mathremainder", std::remainder>},
      {"aten::modf", modf},
      {"aten::polar", polar},
      {"aten::radians", real<"deg2rad", to_radians>},
      {"aten::sin", unary<"sin", std::sin, std::sin<double>>},
      {"aten::sinh", unary<"sinh", std::sinh, std::sinh<double>>},
      {"aten::sqrt", unary<"sqrt", std::sqrt, std::sqrt<double>>},
      {"aten::sum", sum},
      {"aten::tan", unary<"tan", std::tan, std::tan<double>>},
      {"aten::tanh", unary<"tanh", std::tanh, std::tanh<double>>},
      {"prim::max", min_or_max<true>},
      {"prim::min", min_or_max<false>},
  };
  return rows;
}

}  // namespace torchlift::aten
