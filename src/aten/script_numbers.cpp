// TorchScript's arithmetic on numbers: known ones are computed here, those of the device there, in int64, float64 and
// complex128. (The functions of `math`: script_math.cpp.)
#include <charconv>
#include <cmath>

#include "aten/families.hpp"
#include "aten/script.hpp"
#include "aten/script_calls.hpp"
#include "base/kinds.hpp"
#include "lower/numbers.hpp"

namespace torchlift::aten {
namespace {

using Complex = std::complex<double>;

// An int whose exact value does not fit: TorchScript wraps around, which no model means.
IValue overflow(Lower& l, const Scalar& a, std::string_view sign, const Scalar& b) {
  return l.wrong("the int " + a.text() + " " + std::string(sign) + " " + b.text() + " does not fit 64 bits");
}

IValue zero_division(Lower& l, std::string_view what) { return l.wrong("ZeroDivisionError: " + std::string(what)); }

// ---- how a row is made: both arguments known -> Known(l, a, b), else Device(l, x, y) on values of the common type

using Known = IValue (*)(Lower&, const Scalar&, const Scalar&);
using Device = Value (*)(Lower&, DType, Value, Value);

template <Known kKnown, Device kDevice, DType kLeast = DType::Int64>
ScriptResults binary(Lower& l, Arguments arguments) {
  auto a = python_number(l, argument(arguments, 0, "a")), b = python_number(l, argument(arguments, 1, "b"));
  if (!a || !b) return std::nullopt;
  if (a->known && b->known) return IValues{kKnown(l, *a->known, *b->known)};
  DType dtype = common_type(*a, *b);
  if (dtype == DType::Bool || (kLeast == DType::Float64 && dtype == DType::Int64)) dtype = kLeast;
  return IValues{l.device_number(kDevice(l, dtype, read(l, *a, dtype), read(l, *b, dtype)))};
}

bool integral(const Scalar& a, const Scalar& b) { return a.is_integral() && b.is_integral(); }
bool complex(const Scalar& a, const Scalar& b) { return a.is_complex() || b.is_complex(); }

Value no_complex(Lower& l, std::string_view what) { return l.wrong("`" + std::string(what) + "` of complex numbers"); }

// ---- arithmetic

IValue add(Lower& l, const Scalar& a, const Scalar& b) {
  int64_t result = 0;
  if (integral(a, b))
    return __builtin_add_overflow(a.to_int(), b.to_int(), &result) ? overflow(l, a, "+", b)
                                                                   : IValue(a.to_dim() + b.to_dim());
  if (complex(a, b)) return a.to_complex() + b.to_complex();
  return a.to_double() + b.to_double();
}
IValue sub(Lower& l, const Scalar& a, const Scalar& b) {
  int64_t result = 0;
  if (integral(a, b))
    return __builtin_sub_overflow(a.to_int(), b.to_int(), &result) ? overflow(l, a, "-", b)
                                                                   : IValue(a.to_dim() - b.to_dim());
  if (complex(a, b)) return a.to_complex() - b.to_complex();
  return a.to_double() - b.to_double();
}
IValue mul(Lower& l, const Scalar& a, const Scalar& b) {
  int64_t result = 0;
  if (integral(a, b))
    return __builtin_mul_overflow(a.to_int(), b.to_int(), &result) ? overflow(l, a, "*", b)
                                                                   : IValue(a.to_dim() * b.to_dim());
  if (complex(a, b)) return a.to_complex() * b.to_complex();
  return a.to_double() * b.to_double();
}
// Of ints too a float; by zero inf or NaN, where Python raises.
IValue div(Lower&, const Scalar& a, const Scalar& b) {
  if (complex(a, b)) return a.to_complex() / b.to_complex();
  return a.to_double() / b.to_double();
}

Value device_add(Lower& l, DType, Value x, Value y) { return l.hlo.add(x, y); }
Value device_sub(Lower& l, DType, Value x, Value y) { return l.hlo.subtract(x, y); }
Value device_mul(Lower& l, DType, Value x, Value y) { return l.hlo.multiply(x, y); }
Value device_div(Lower& l, DType, Value x, Value y) { return l.hlo.divide(x, y); }

// Whether a / b is an int that there is: says why not.
bool divisible(Lower& l, const Scalar& a, const Scalar& b, std::string_view what) {
  if (b.to_int() == 0) zero_division(l, what);
  else if (a.to_int() == INT64_MIN && b.to_int() == -1) overflow(l, a, "//", b);
  else return true;
  return false;
}

IValue floordiv(Lower& l, const Scalar& a, const Scalar& b) {
  if (complex(a, b)) return l.wrong("`floordiv` of complex numbers");
  if (!integral(a, b)) return std::floor(a.to_double() / b.to_double());
  return divisible(l, a, b, "division by 0") ? IValue(floordiv(a.to_dim(), b.to_dim())) : IValue(Tensor());
}
// The sign is the divisor's. Of floats: fmod(fmod(a, b) + b, b), as TorchScript has it (NaN for an infinite b).
double float_remainder(double a, double b) { return std::fmod(b + std::fmod(a, b), b); }
IValue remainder(Lower& l, const Scalar& a, const Scalar& b) {
  if (complex(a, b)) return l.wrong("`remainder` of complex numbers");
  if (!integral(a, b)) return float_remainder(a.to_double(), b.to_double());
  return divisible(l, a, b, "modulo by zero") ? IValue(mod(a.to_dim(), b.to_dim())) : IValue(Tensor());
}
IValue round_to_zero_floordiv(Lower& l, const Scalar& a, const Scalar& b) {
  if (!integral(a, b)) return l.wrong("`__round_to_zero_floordiv` takes ints");
  return divisible(l, a, b, "division by 0") ? IValue(Dim(a.to_int() / b.to_int())) : IValue(Tensor());
}

Value zero_of(Lower& l, Value x) { return l.full_like(x, int64_t{0}); }
Value less(Lower& l, Value x, Value y) { return l.hlo.compare(x, y, ComparisonDirection::Lt); }

// StableHLO's division cuts; a quotient of a remainder whose sign is not the divisor's is one less.
Value wrong_side(Lower& l, Value rest, Value y) {
  Value zero = zero_of(l, rest);
  Value nonzero = l.hlo.compare(rest, zero, ComparisonDirection::Ne);
  return l.hlo.and_(nonzero, l.hlo.xor_(less(l, rest, zero), less(l, y, zero)));
}
Value device_floordiv(Lower& l, DType dtype, Value x, Value y) {
  if (is_complex(dtype)) return no_complex(l, "floordiv");
  Value quotient = l.hlo.divide(x, y);
  if (is_float(dtype)) return l.hlo.floor(quotient);
  Value one = l.full_like(x, int64_t{1});
  return l.hlo.select(wrong_side(l, l.hlo.remainder(x, y), y), l.hlo.subtract(quotient, one), quotient);
}
Value device_remainder(Lower& l, DType dtype, Value x, Value y) {
  if (is_complex(dtype)) return no_complex(l, "remainder");
  Value rest = l.hlo.remainder(x, y);
  if (is_float(dtype)) return l.hlo.remainder(l.hlo.add(y, rest), y);
  return l.hlo.select(wrong_side(l, rest, y), l.hlo.add(rest, y), rest);
}
Value device_round_to_zero_floordiv(Lower& l, DType dtype, Value x, Value y) {
  return is_integral(dtype) ? l.hlo.divide(x, y) : no_complex(l, "__round_to_zero_floordiv");
}

// (quotient, remainder), Python's of ints; of floats by way of fmod.
ScriptResults divmod(Lower& l, Arguments arguments) {
  auto a = python_number(l, argument(arguments, 0)), b = python_number(l, argument(arguments, 1));
  if (!a || !b) return std::nullopt;
  if (!a->known || !b->known) return unknown(l, "an argument of `divmod`");
  const Scalar &x = *a->known, &y = *b->known;
  if (complex(x, y)) return refused(l, "`divmod` of complex numbers");
  if (y.is_zero()) {
    zero_division(l, integral(x, y) ? "integer division or modulo by zero" : "float divmod()");
    return IValues{};
  }
  if (integral(x, y)) {
    if (!divisible(l, x, y, "")) return IValues{};
    return IValues{floordiv(x.to_dim(), y.to_dim()), mod(x.to_dim(), y.to_dim())};
  }
  double rest = std::fmod(x.to_double(), y.to_double());
  if (rest != 0 && (rest < 0) != (y.to_double() < 0)) rest += y.to_double();
  return IValues{(x.to_double() - rest) / y.to_double(), rest};
}

// Always a float: 2 ** 3 is 8.0.
IValue pow(Lower& l, const Scalar& a, const Scalar& b) {
  if (complex(a, b)) return std::pow(a.to_complex(), b.to_complex());
  if (a.is_zero() && b.to_double() < 0) return zero_division(l, "0.0 cannot be raised to a negative power");
  return std::pow(a.to_double(), b.to_double());
}
Value device_pow(Lower& l, DType, Value x, Value y) { return l.hlo.power(x, y); }

// ---- bits

template <typename Fn>
IValue bits(Lower& l, const Scalar& a, const Scalar& b, std::string_view name, Fn fn) {
  if (a.is_bool() && b.is_bool()) return fn(a.to_int(), b.to_int()) != 0;
  if (integral(a, b)) return Dim(fn(a.to_int(), b.to_int()));
  return l.wrong("`" + std::string(name) + "` of " + a.text() + " and " + b.text() + ", expected ints or bools");
}
IValue bit_and(Lower& l, const Scalar& a, const Scalar& b) {
  return bits(l, a, b, "__and__", [](int64_t x, int64_t y) { return x & y; });
}
IValue bit_or(Lower& l, const Scalar& a, const Scalar& b) {
  return bits(l, a, b, "__or__", [](int64_t x, int64_t y) { return x | y; });
}
IValue bit_xor(Lower& l, const Scalar& a, const Scalar& b) {
  return bits(l, a, b, "__xor__", [](int64_t x, int64_t y) { return x ^ y; });
}
bool shiftable(Lower& l, const Scalar& a, const Scalar& b) {
  if (integral(a, b) && b.to_int() >= 0 && b.to_int() < 64) return true;
  l.wrong("a shift of " + a.text() + " by " + b.text() + ", expected an int by 0 to 63");
  return false;
}
IValue lshift(Lower& l, const Scalar& a, const Scalar& b) {
  if (!shiftable(l, a, b)) return Tensor();
  int64_t result = 0;
  if (b.to_int() == 63 || __builtin_mul_overflow(a.to_int(), int64_t{1} << b.to_int(), &result))
    return a.is_zero() ? IValue(Dim(0)) : overflow(l, a, "<<", b);
  return a.to_dim() * Dim(int64_t{1} << b.to_int());
}
IValue rshift(Lower& l, const Scalar& a, const Scalar& b) {
  if (!shiftable(l, a, b)) return Tensor();
  return Dim(a.to_int() >> b.to_int());
}

using BitOp = Value (stablehlo::Builder::*)(Value, Value);
// Bools stay bools.
template <Known kKnown, BitOp kOp>
ScriptResults bitwise(Lower& l, Arguments arguments) {
  auto a = python_number(l, argument(arguments, 0, "a")), b = python_number(l, argument(arguments, 1, "b"));
  if (!a || !b) return std::nullopt;
  if (a->known && b->known) return IValues{kKnown(l, *a->known, *b->known)};
  DType dtype = common_type(*a, *b);
  if (!is_integral(dtype)) return refused(l, "bits of a float or complex number");
  return IValues{l.device_number((l.hlo.*kOp)(read(l, *a, dtype), read(l, *b, dtype)))};
}
template <Known kKnown>
ScriptResults shift(Lower& l, Arguments arguments) {
  auto a = python_number(l, argument(arguments, 0, "a")), b = python_number(l, argument(arguments, 1, "b"));
  if (!a || !b) return std::nullopt;
  if (!a->known || !b->known) return unknown(l, "a shifted int");
  return IValues{kKnown(l, *a->known, *b->known)};
}

// ---- comparisons

// Of an int and a float in floats, as TorchScript does.
template <ComparisonDirection kDirection>
bool holds(const auto& x, const auto& y) {
  switch (kDirection) {
    case ComparisonDirection::Eq: return x == y;
    case ComparisonDirection::Ne: return x != y;
    case ComparisonDirection::Lt: return x < y;
    case ComparisonDirection::Le: return x <= y;
    case ComparisonDirection::Gt: return x > y;
    case ComparisonDirection::Ge: return x >= y;
  }
  return false;
}

template <ComparisonDirection kDirection>
ScriptResults compare(Lower& l, Arguments arguments) {
  constexpr bool kEquality = kDirection == ComparisonDirection::Eq || kDirection == ComparisonDirection::Ne;
  const IValue &left = argument(arguments, 0, "a"), &right = argument(arguments, 1, "b");
  auto a = python_number(l, left), b = python_number(l, right);
  if (a && b) {
    DType dtype = common_type(*a, *b);
    if (!kEquality && is_complex(dtype)) return refused(l, "complex numbers have no order");
    if (!a->known || !b->known)
      return IValues{l.device_number(l.hlo.compare(read(l, *a, dtype), read(l, *b, dtype), kDirection))};
    if constexpr (kEquality)
      if (is_complex(dtype))
        return IValues{(a->known->to_complex() == b->known->to_complex()) == (kDirection == ComparisonDirection::Eq)};
    if (is_float(dtype)) return IValues{holds<kDirection>(a->known->to_double(), b->known->to_double())};
    return IValues{holds<kDirection>(a->known->to_int(), b->known->to_int())};
  }
  auto *x = left.get<std::string>(), *y = right.get<std::string>();
  if (x && y) return IValues{holds<kDirection>(*x, *y)};
  if (!kEquality || left.is_tensor() || right.is_tensor()) return std::nullopt;
  switch (equal(l, left, right)) {
    case Answer::Unknown: return unknown(l, "whether two values are equal");
    case Answer::Yes: return IValues{kDirection == ComparisonDirection::Eq};
    case Answer::No: break;
  }
  return IValues{kDirection == ComparisonDirection::Ne};
}

// One thing: numbers, None and members of an Enum by value, others by identity. A text is another one each time it is
// made, so TorchScript's answer is mostly False where Python's is True: refused.
std::optional<bool> is_same(Lower& l, const IValue& a, const IValue& b) {
  if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
  auto x = python_number(l, a), y = python_number(l, b);
  if (x && y) {
    if (x->dtype != y->dtype) return false;
    if (x->known && y->known) return equal(l, a, b) == Answer::Yes;
    l.refuse(Kind::DataDependent,
             {{"what", std::string("whether two numbers are one")}, {"advice", std::string("compare them with `==`")}});
    return std::nullopt;
  }
  if (auto* t = a.get<Tensor>()) return b.is_tensor() && t->node() == b.get<Tensor>()->node();
  if (a.data.index() != b.data.index()) return false;
  if (auto* list = a.get<ListRef>()) return *list == *b.get<ListRef>();
  if (auto* dict = a.get<DictRef>()) return *dict == *b.get<DictRef>();
  if (auto* tuple = a.get<TupleRef>()) return *tuple == *b.get<TupleRef>();
  if (auto* object = a.get<ObjectRef>(); object && !(*object)->is_enum) return *object == *b.get<ObjectRef>();
  if (a.get<std::string>()) {
    l.wrong("`is` of two texts, which TorchScript answers by where they lie in memory; compare them with `==`");
    return std::nullopt;
  }
  return equal(l, a, b) == Answer::Yes;
}
template <bool kIs>
ScriptResults identity(Lower& l, Arguments arguments) {
  auto same = is_same(l, argument(arguments, 0, "self"), argument(arguments, 1, "obj"));
  if (!same) return IValues{};
  return IValues{*same == kIs};
}

ScriptResults not_(Lower& l, Arguments arguments) {
  auto a = python_number(l, argument(arguments, 0, "self"));
  if (!a) return std::nullopt;
  if (a->known) return IValues{!a->known->to_bool()};
  return IValues{l.device_number(l.hlo.not_(read(l, *a, DType::Bool)))};
}

// ---- one number

ScriptResults neg(Lower& l, Arguments arguments) {
  auto a = python_number(l, argument(arguments, 0, "a"));
  if (!a) return std::nullopt;
  DType dtype = a->dtype == DType::Bool ? DType::Int64 : a->dtype;
  if (!a->known) return IValues{l.device_number(l.hlo.negate(read(l, *a, dtype)))};
  if (a->known->is_complex()) return IValues{-a->known->to_complex()};
  if (a->known->is_float()) return IValues{-a->known->to_double()};
  if (a->known->to_int() == INT64_MIN) return IValues{overflow(l, Scalar(0), "-", *a->known)};
  return IValues{-a->known->to_dim()};
}

// Also of a tensor, where Python's abs() was called.
ScriptResults abs(Lower& l, Arguments arguments) {
  auto a = python_number(l, argument(arguments, 0, "a"));
  if (!a) return call_overloaded(l, "aten::abs", {{"", argument(arguments, 0, "x")}});
  DType dtype = a->dtype == DType::Bool ? DType::Int64 : a->dtype;
  if (!a->known) return IValues{l.device_number(l.hlo.abs(read(l, *a, dtype)))};
  if (a->known->is_complex()) return IValues{std::abs(a->known->to_complex())};
  if (a->known->is_float()) return IValues{std::fabs(a->known->to_double())};
  if (a->known->to_int() == INT64_MIN) return IValues{overflow(l, Scalar(0), "-", *a->known)};
  return IValues{a->known->to_int() < 0 ? -a->known->to_dim() : a->known->to_dim()};
}

// A float as an int; refuses one that there is no int for.
IValue int_of(Lower& l, double value) {
  if (value >= -9223372036854775808.0 && value < 9223372036854775808.0) return Dim(static_cast<int64_t>(value));
  return l.wrong("OverflowError: cannot convert float " + Scalar(value).text() + " to integer");
}
// Toward zero; a float out of range becomes the end of the range.
Value device_int(Lower& l, Value x) { return l.convert(x, DType::Int64); }

using OfValue = Value (stablehlo::Builder::*)(Value);
template <double (*kFn)(double), OfValue kDevice>
ScriptResults to_whole(Lower& l, Arguments arguments) {
  auto a = python_number(l, argument(arguments, 0, "a"));
  if (!a) return std::nullopt;
  if (a->is_integral()) return IValues{boxed(l, *a)};
  if (is_complex(a->dtype)) return refused(l, "rounding of a complex number");
  if (!a->known) return IValues{l.device_number(device_int(l, (l.hlo.*kDevice)(read(l, *a, DType::Float64))))};
  return IValues{int_of(l, kFn(a->known->to_double()))};
}
// Halves to even; the result is a float.
ScriptResults round(Lower& l, Arguments arguments) {
  auto a = python_number(l, argument(arguments, 0, "a"));
  if (!a) return std::nullopt;
  if (is_complex(a->dtype)) return refused(l, "rounding of a complex number");
  if (!a->known) return IValues{l.device_number(l.hlo.round_nearest_even(read(l, *a, DType::Float64)))};
  return IValues{std::nearbyint(a->known->to_double())};
}

// ---- casts: of numbers, of texts, and of tensors with one element

// A number, or a tensor's element as one. Of a tensor that has not one element, None, which is refused.
std::optional<IValue> number_in(Lower& l, const IValue& value) {
  if (value.number()) return value;
  auto* t = value.get<Tensor>();
  if (!t) return std::nullopt;
  return t->is_device_number() ? value : lower::number_of(l, *t).value_or(IValue());
}

IValue as_int(Lower& l, const Scalar& n) {
  if (n.is_integral()) return n.to_dim();
  if (n.is_complex() && n.to_complex().imag() != 0) return l.wrong("an int of the complex number " + n.text());
  return int_of(l, n.to_double());
}
IValue as_float(Lower& l, const Scalar& n) {
  if (n.is_complex() && n.to_complex().imag() != 0) return l.wrong("a float of the complex number " + n.text());
  return n.to_double();
}
IValue as_bool(Lower&, const Scalar& n) { return n.to_bool(); }
IValue as_complex(Lower&, const Scalar& n) { return n.to_complex(); }

using Cast = IValue (*)(Lower&, const Scalar&);
IValue cast(Lower& l, const IValue& value, DType dtype, Cast known) {
  auto number = python_number(l, value);
  if (!number) return value;  // refused, or poison
  if (number->known) return known(l, *number->known);
  if (is_complex(number->dtype) && !is_complex(dtype) && dtype != DType::Bool)
    return l.wrong("a real number of a complex one");
  if (number->dtype == dtype) return number->device;
  return l.device_number(read(l, *number, dtype));
}
template <DType kType, Cast kCast>
ScriptResults cast_row(Lower& l, Arguments arguments) {
  auto value = number_in(l, argument(arguments, 0, "a"));
  if (!value) return std::nullopt;
  return IValues{cast(l, *value, kType, kCast)};
}
// TorchScript's conversions of texts are those of C: blanks before are passed over, and none may come after.
std::string_view without_blanks(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\n\v\f\r");
  text = text.substr(std::min(begin, text.size()));
  if (text.starts_with('+') && !text.substr(1).starts_with('-')) text.remove_prefix(1);
  return text;
}
ScriptResults int_row(Lower& l, Arguments arguments) {
  auto* text = argument<std::string>(arguments, 0, "a");
  if (!text) return cast_row<DType::Int64, as_int>(l, arguments);
  std::string_view digits = without_blanks(*text);
  int64_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size())
    return refused(l, "ValueError: invalid literal for int() with base 10: " + describe(IValue(*text)));
  return IValues{Dim(value)};
}
ScriptResults float_row(Lower& l, Arguments arguments) {
  auto* text = argument<std::string>(arguments, 0, "a");
  if (!text) return cast_row<DType::Float64, as_float>(l, arguments);
  std::string_view digits = without_blanks(*text);
  double value = 0;
  std::string_view magnitude = digits.starts_with('-') ? digits.substr(1) : digits;
  bool hex = magnitude.starts_with("0x") || magnitude.starts_with("0X");
  std::from_chars_result parsed{digits.data(), std::errc::invalid_argument};
  if (!hex) parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size())
    return refused(l, "ValueError: could not convert string to float: " + describe(IValue(*text)));
  return IValues{value};
}
// (real) or (real, imaginary)
ScriptResults complex_row(Lower& l, Arguments arguments) {
  if (arguments.size() < 2) return cast_row<DType::Complex128, as_complex>(l, arguments);
  auto a = number_in(l, argument(arguments, 0)), b = number_in(l, argument(arguments, 1));
  if (!a || !b) return std::nullopt;
  auto real = python_number(l, *a), imaginary = python_number(l, *b);
  if (!real || !imaginary) return IValues{Tensor()};  // refused, or poison
  if (is_complex(real->dtype) || is_complex(imaginary->dtype))
    return refused(l, "a part of a complex number is complex");
  if (real->known && imaginary->known) return IValues{Complex(real->known->to_double(), imaginary->known->to_double())};
  return IValues{l.device_number(l.hlo.complex(read(l, *real, DType::Float64), read(l, *imaginary, DType::Float64)))};
}

// ---- ranges

// How many numbers range(lo, hi, step) has.
ScriptResults range_length(Lower& l, Arguments arguments) {
  auto lo = int_argument(l, arguments, 0, "lo"), hi = int_argument(l, arguments, 1, "hi"),
       step = int_argument(l, arguments, 2, "step");
  if (!lo || !hi || !step) return IValues{};
  if (*step == Dim(0)) return refused(l, "ValueError: range() arg 3 must not be zero");
  bool up = *step > Dim(0);
  if (up ? *lo >= *hi : *lo <= *hi) return IValues{Dim(0)};
  Dim span = up ? *hi - *lo : *lo - *hi;
  if (span == Dim(INT64_MAX) || *step == Dim(INT64_MIN)) return refused(l, "a range that does not fit 64 bits");
  return IValues{ceildiv(span, up ? *step : -*step)};
}
// start + index * step
ScriptResults derive_index(Lower& l, Arguments arguments) {
  auto index = python_number(l, argument(arguments, 0)), start = python_number(l, argument(arguments, 1)),
       step = python_number(l, argument(arguments, 2));
  if (!index || !start || !step || !index->is_integral() || !start->is_integral() || !step->is_integral())
    return std::nullopt;
  if (!index->known || !start->known || !step->known) {
    Value product = l.hlo.multiply(read(l, *index, DType::Int64), read(l, *step, DType::Int64));
    return IValues{l.device_number(l.hlo.add(read(l, *start, DType::Int64), product))};
  }
  IValue product = mul(l, *index->known, *step->known);
  auto n = product.number();
  return IValues{n ? add(l, *start->known, *n) : product};
}

ScriptResults divide(Lower& l, Arguments arguments) {
  auto quotient = binary<div, device_div, DType::Float64>(l, arguments);
  return quotient || arguments.size() > 2 ? std::move(quotient) : with_constant_number(l, "aten::div", arguments);
}

ScriptResults subtract(Lower& l, Arguments arguments) {
  auto difference = binary<sub, device_sub>(l, arguments);
  return difference ? std::move(difference) : with_constant_number(l, "aten::sub", arguments);
}

}  // namespace

// `add` and `mul` serve texts and lists too: script_containers.cpp.
ScriptResults add_numbers(Lower& l, Arguments arguments) { return binary<add, device_add>(l, arguments); }
ScriptResults mul_numbers(Lower& l, Arguments arguments) { return binary<mul, device_mul>(l, arguments); }

std::span<const lower::ScriptRow> script_number_ops() {
  using Order = ComparisonDirection;
  using stablehlo::Builder;
  static constexpr ScriptRow rows[] = {
      {"aten::Bool", cast_row<DType::Bool, as_bool>},
      {"aten::Complex", complex_row},
      {"aten::Float", float_row},
      {"aten::Int", int_row},
      {"aten::__and__", bitwise<bit_and, &Builder::and_>},
      {"aten::__derive_index", derive_index},
      {"aten::__is__", identity<true>},
      {"aten::__isnot__", identity<false>},
      {"aten::__lshift__", shift<lshift>},
      {"aten::__not__", not_},
      {"aten::__or__", bitwise<bit_or, &Builder::or_>},
      {"aten::__range_length", range_length},
      {"aten::__round_to_zero_floordiv", binary<round_to_zero_floordiv, device_round_to_zero_floordiv>},
      {"aten::__rshift__", shift<rshift>},
      {"aten::__xor__", bitwise<bit_xor, &Builder::xor_>},
      {"aten::ceil", to_whole<std::ceil, &Builder::ceil>},
      {"aten::div", divide},
      {"aten::divmod", divmod},
      {"aten::eq", compare<Order::Eq>},
      {"aten::floor", to_whole<std::floor, &Builder::floor>},
      {"aten::floordiv", binary<floordiv, device_floordiv>},
      {"aten::ge", compare<Order::Ge>},
      {"aten::gt", compare<Order::Gt>},
      {"aten::le", compare<Order::Le>},
      {"aten::lt", compare<Order::Lt>},
      {"aten::ne", compare<Order::Ne>},
      {"aten::neg", neg},
      {"aten::pow", binary<pow, device_pow, DType::Float64>},
      {"aten::remainder", binary<remainder, device_remainder>},
      {"aten::round", round},
      {"aten::sub", subtract},
      {"prim::abs", abs},
  };
  return rows;
}

}  // namespace torchlift::aten
