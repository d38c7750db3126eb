// Values of symbolic expressions, by Python's rules: // and % round toward minus infinity, / gives a float.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

#include "torch/symbolic.hpp"

namespace torchlift::torch {
namespace {

using Maybe = std::optional<SymValue>;
constexpr int64_t kMaxExponent = 64;
constexpr int64_t kMaxShift = 62;

// A number: an integer with its expression, or a float. Booleans count as 0 and 1.
struct Number {
  bool real = false;
  Dim dim;
  double value = 0;  // also of an integer
};

Number number_of(const SymValue& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return {.dim = Dim(*truth ? 1 : 0), .value = *truth ? 1.0 : 0.0};
  if (const auto* dim = std::get_if<Dim>(&value)) return {.dim = *dim, .value = static_cast<double>(dim->concrete())};
  double real = std::get<double>(value);
  return {.real = true, .dim = {}, .value = real};
}

bool truth_of(const SymValue& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return *truth;
  return number_of(value).value != 0;
}

// The nearest representable integer of a float that is whole.
Maybe integer_from(double whole) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (!(whole >= -kLimit && whole < kLimit)) return std::nullopt;
  return Dim(static_cast<int64_t>(whole));
}

double python_mod(double a, double b) {
  double remainder = std::fmod(a, b);
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

Maybe divide_floor(const Number& a, const Number& b) {
  if (b.value == 0) return std::nullopt;
  if (a.real || b.real) return std::floor(a.value / b.value);
  return floordiv(a.dim, b.dim);
}

Maybe modulo(const Number& a, const Number& b) {
  if (b.value == 0) return std::nullopt;
  if (a.real || b.real) return python_mod(a.value, b.value);
  return mod(a.dim, b.dim);
}

Dim divide_ceil(const Dim& a, const Dim& b) { return b.concrete() > 0 ? ceildiv(a, b) : -floordiv(-a, b); }

Maybe divide_true(const Number& a, const Number& b) {
  if (b.value == 0) return std::nullopt;
  return a.value / b.value;
}

Maybe power(const Number& base, const Number& exponent) {
  if (base.value == 0 && exponent.value < 0) return std::nullopt;
  bool whole = !base.real && !exponent.real && exponent.dim.concrete() >= 0;
  if (!whole) {
    double result = std::pow(base.value, exponent.value);
    if (std::isnan(result) && !std::isnan(base.value) && !std::isnan(exponent.value)) return std::nullopt;  // complex
    return result;
  }
  int64_t count = exponent.dim.concrete();
  int64_t size = base.dim.concrete();
  if (size >= -1 && size <= 1 && count > kMaxExponent) count = kMaxExponent + count % 2;
  if (count > kMaxExponent + 1) return std::nullopt;
  Dim result = 1;
  for (int64_t i = 0; i < count; ++i) result = result * base.dim;
  return result;
}

Maybe shift(const Number& a, const Number& b, bool left) {
  if (a.real || b.real || b.dim.concrete() < 0) return std::nullopt;
  int64_t count = b.dim.concrete();
  if (left && count > kMaxShift) return std::nullopt;
  Dim factor = int64_t{1} << std::min(count, kMaxShift);
  return left ? a.dim * factor : floordiv(a.dim, factor);
}

// Python's round(x, digits): decimal, halves to even of the exact value.
Maybe round_decimal(double value, int64_t digits) {
  constexpr int64_t kMaxDigits = 300;
  if (!std::isfinite(value) || digits > kMaxDigits) return value;
  if (digits < -kMaxDigits) return 0.0;
  if (digits < 0) {
    double unit = std::pow(10.0, static_cast<double>(-digits));
    return std::nearbyint(value / unit) * unit;
  }
  std::array<char, 640> buffer{};  // 309 digits, a point, and the decimals
  auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed,
                                    static_cast<int>(digits));
  double rounded = value;
  if (error == std::errc()) std::from_chars(buffer.data(), end, rounded);
  return rounded;
}

bool compare(std::string_view head, const SymValue& left, const SymValue& right) {
  Number a = number_of(left);
  Number b = number_of(right);
  auto decide = [&](const auto& x, const auto& y) {
    if (head == "Equality") return x == y;
    if (head == "Unequality") return !(x == y);
    if (head == "StrictLessThan") return x < y;
    if (head == "LessThan") return x <= y;
    if (head == "StrictGreaterThan") return x > y;
    return x >= y;
  };
  return a.real || b.real ? decide(a.value, b.value) : decide(a.dim.concrete(), b.dim.concrete());
}

bool is_relation(std::string_view head) {
  return head == "Equality" || head == "Unequality" || head == "StrictLessThan" || head == "LessThan" ||
         head == "StrictGreaterThan" || head == "GreaterThan";
}

// sizes..., strides...: 1 if the elements fill memory without overlap.
Maybe non_overlapping_and_dense(const std::vector<SymValue>& values) {
  size_t rank = values.size() / 2;
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride, size
  for (size_t i = 0; i < rank; ++i)
    dims.emplace_back(number_of(values[rank + i]).dim.concrete(), number_of(values[i]).dim.concrete());
  if (rank == 1) return Dim(dims[0].first == 1 || dims[0].second < 2 ? 1 : 0);
  std::sort(dims.begin(), dims.end());
  Dim expected = 1;
  for (auto [stride, size] : dims) {
    if (size == 1) continue;
    if (stride != expected.concrete()) return Dim(0);
    expected = expected * Dim(size);
  }
  return Dim(1);
}

// OpaqueUnaryFn_sqrt and its like. Outside of the function's domain Python raises.
Maybe unary_function(std::string_view name, double x) {
  using Function = double (*)(double);
  constexpr auto kFunctions = std::to_array<std::pair<std::string_view, Function>>({
      {"sqrt", std::sqrt},
      {"cos", std::cos},
      {"cosh", std::cosh},
      {"sin", std::sin},
      {"sinh", std::sinh},
      {"tan", std::tan},
      {"tanh", std::tanh},
      {"asin", std::asin},
      {"acos", std::acos},
      {"atan", std::atan},
      {"exp", std::exp},
      {"log", std::log},
      {"log2", std::log2},
      {"asinh", std::asinh},
      {"log10", std::log10},
  });
  for (const auto& [spelled, function] : kFunctions) {
    if (spelled != name) continue;
    double result = function(x);
    if (std::isfinite(x) && !std::isfinite(result)) return std::nullopt;
    return result;
  }
  return std::nullopt;
}

class Evaluator {
 public:
  explicit Evaluator(const Bindings& bindings) : bindings_(bindings) {}
  Maybe value(const SymExpr& expr) const;

 private:
  Maybe call(const SymExpr& expr) const;
  Maybe chosen(const SymExpr& expr) const;
  Maybe logic(const SymExpr& expr) const;
  Maybe sum(const std::vector<SymValue>& values) const;
  Maybe product(const SymExpr& expr) const;
  Maybe extreme(const std::vector<SymValue>& values, bool greatest) const;
  Maybe to_integer(std::string_view head, const SymExpr& argument) const;
  Maybe binary(std::string_view head, const SymValue& left, const SymValue& right) const;
  Maybe unary(std::string_view head, const SymValue& argument) const;
  std::optional<std::pair<Dim, Dim>> quotient(const SymExpr& expr) const;

  const Bindings& bindings_;
};

Maybe Evaluator::value(const SymExpr& expr) const {
  switch (expr.kind) {
    case SymExpr::Kind::Integer: return Dim(expr.integer);
    case SymExpr::Kind::Float: return expr.number;
    case SymExpr::Kind::Bool: return expr.integer != 0;
    case SymExpr::Kind::Symbol: {
      auto found = bindings_.find(expr.head);
      if (found == bindings_.end()) return std::nullopt;
      return found->second;
    }
    case SymExpr::Kind::Call: return call(expr);
  }
  return std::nullopt;
}

// Where, ITE, Piecewise: only the branch taken needs a value.
Maybe Evaluator::chosen(const SymExpr& expr) const {
  const std::vector<SymExpr>& arguments = expr.arguments;
  if (expr.head != "Piecewise") {
    if (arguments.size() != 3) return std::nullopt;
    Maybe condition = value(arguments[0]);
    if (!condition) return std::nullopt;
    return value(arguments[truth_of(*condition) ? 1 : 2]);
  }
  for (const SymExpr& pair : arguments) {
    if (pair.arguments.size() != 2) return std::nullopt;
    Maybe condition = value(pair.arguments[1]);
    if (!condition) return std::nullopt;
    if (truth_of(*condition)) return value(pair.arguments[0]);
  }
  return std::nullopt;
}

Maybe Evaluator::logic(const SymExpr& expr) const {
  bool until = expr.head == "Or";  // the operand that decides
  for (const SymExpr& argument : expr.arguments) {
    Maybe operand = value(argument);
    if (!operand) return std::nullopt;
    if (truth_of(*operand) == until) return until;
  }
  return !until;
}

Maybe Evaluator::sum(const std::vector<SymValue>& values) const {
  Dim whole = 0;
  double real = 0;
  bool is_real = false;
  for (const SymValue& value : values) {
    Number number = number_of(value);
    is_real = is_real || number.real;
    if (!number.real) whole = whole + number.dim;
    real += number.value;
  }
  if (is_real) return real;
  return whole;
}

// Factors Rational(1, 2) and x**-1 make a fraction, which stays an integer where it divides.
Maybe Evaluator::product(const SymExpr& expr) const {
  auto fraction = quotient(expr);
  if (fraction) {
    const auto& [numerator, denominator] = *fraction;
    if (denominator.concrete() == 0) return std::nullopt;
    if (denominator == Dim(-1)) return -numerator;
    if (numerator.concrete() % denominator.concrete() == 0) return floordiv(numerator, denominator);
    return static_cast<double>(numerator.concrete()) / static_cast<double>(denominator.concrete());
  }
  double real = 1;
  for (const SymExpr& argument : expr.arguments) {
    Maybe factor = value(argument);
    if (!factor) return std::nullopt;
    real *= number_of(*factor).value;
  }
  return real;
}

// numerator / denominator, where the expression is a quotient or a product of whole numbers.
std::optional<std::pair<Dim, Dim>> Evaluator::quotient(const SymExpr& expr) const {
  auto whole = [&](const SymExpr& part) -> std::optional<Dim> {
    Maybe found = value(part);
    if (!found || std::holds_alternative<double>(*found)) return std::nullopt;
    return number_of(*found).dim;
  };
  if (expr.kind != SymExpr::Kind::Call) return std::nullopt;
  const std::vector<SymExpr>& arguments = expr.arguments;
  if (arguments.size() == 2 && (expr.head == "IntTrueDiv" || expr.head == "Rational")) {
    auto numerator = whole(arguments[0]);
    auto denominator = whole(arguments[1]);
    if (!numerator || !denominator) return std::nullopt;
    return std::pair(*numerator, *denominator);
  }
  if (arguments.size() == 2 && expr.head == "Pow" && arguments[1] == SymExpr::of(-1)) {
    auto denominator = whole(arguments[0]);
    if (!denominator) return std::nullopt;
    return std::pair(Dim(1), *denominator);
  }
  if (expr.head != "Mul") return std::nullopt;
  std::pair<Dim, Dim> out(1, 1);
  for (const SymExpr& argument : arguments) {
    bool nested = argument.kind == SymExpr::Kind::Call && (argument.head == "Rational" || argument.head == "Pow");
    if (auto part = nested ? quotient(argument) : std::nullopt) {
      out = {out.first * part->first, out.second * part->second};
      continue;
    }
    auto factor = whole(argument);
    if (!factor) return std::nullopt;
    out.first = out.first * *factor;
  }
  constexpr int64_t kSafe = int64_t{1} << 62;
  if (out.second.concrete() < -kSafe || out.second.concrete() > kSafe) return std::nullopt;
  return out;
}

Maybe Evaluator::extreme(const std::vector<SymValue>& values, bool greatest) const {
  Number best = number_of(values.front());
  for (size_t i = 1; i < values.size(); ++i) {
    Number next = number_of(values[i]);
    if (!best.real && !next.real) {
      best.dim = greatest ? max(best.dim, next.dim) : min(best.dim, next.dim);
      best.value = static_cast<double>(best.dim.concrete());
    } else if (greatest ? next.value > best.value : next.value < best.value) {
      best = next;
    }
  }
  if (best.real) return best.value;
  return best.dim;
}

// FloorToInt, CeilToInt, TruncToInt, RoundToInt, sympy's floor and ceiling. Exact over quotients of integers.
Maybe Evaluator::to_integer(std::string_view head, const SymExpr& argument) const {
  bool down = head == "FloorToInt" || head == "floor";
  bool up = head == "CeilToInt" || head == "ceiling";
  if (auto fraction = down || up ? quotient(argument) : std::nullopt) {
    const auto& [numerator, denominator] = *fraction;
    if (denominator.concrete() == 0) return std::nullopt;
    return down ? floordiv(numerator, denominator) : divide_ceil(numerator, denominator);
  }
  Maybe inner = value(argument);
  if (!inner) return std::nullopt;
  Number number = number_of(*inner);
  if (!number.real) return number.dim;
  double whole = down ? std::floor(number.value) : up ? std::ceil(number.value) : std::trunc(number.value);
  if (head == "RoundToInt") whole = std::nearbyint(number.value);
  return integer_from(whole);
}

Maybe Evaluator::unary(std::string_view head, const SymValue& argument) const {
  constexpr std::string_view kOpaque = "OpaqueUnaryFn_";
  Number number = number_of(argument);
  if (head == "Not") return !truth_of(argument);
  if (head == "Identity") return argument;
  if (head == "ToFloat") return number.value;
  if (head == "TruncToFloat") return std::trunc(number.value);
  if (head.starts_with(kOpaque)) return unary_function(head.substr(kOpaque.size()), number.value);
  if (head != "Abs") return std::nullopt;
  if (number.real) return std::abs(number.value);
  return number.dim.concrete() < 0 ? -number.dim : number.dim;
}

Maybe Evaluator::binary(std::string_view head, const SymValue& left, const SymValue& right) const {
  if (is_relation(head)) return compare(head, left, right);
  Number a = number_of(left);
  Number b = number_of(right);
  if (head == "FloorDiv" || head == "CleanDiv") return divide_floor(a, b);
  if (head == "Mod" || head == "PythonMod") return modulo(a, b);
  if (head == "IntTrueDiv" || head == "FloatTrueDiv" || head == "Rational") return divide_true(a, b);
  if (head == "Pow" || head == "PowByNatural") return power(a, b);
  if (head == "FloatPow") return power({.real = true, .dim = {}, .value = a.value}, b);
  if (head == "LShift" || head == "RShift") return shift(a, b, head == "LShift");
  if (head == "RoundDecimal" && !b.real) return round_decimal(a.value, b.dim.concrete());
  if (a.real || b.real) return std::nullopt;
  if (head == "CeilDiv") {
    if (b.dim.concrete() == 0) return std::nullopt;
    return divide_ceil(a.dim, b.dim);
  }
  if (head == "BitwiseFn_bitwise_and") return Dim(a.dim.concrete() & b.dim.concrete());
  if (head == "BitwiseFn_bitwise_or") return Dim(a.dim.concrete() | b.dim.concrete());
  if (head == "BitwiseFn_bitwise_xor") return Dim(a.dim.concrete() ^ b.dim.concrete());
  return std::nullopt;
}

Maybe Evaluator::call(const SymExpr& expr) const {
  constexpr auto kToInteger =
      std::to_array<std::string_view>({"FloorToInt", "CeilToInt", "TruncToInt", "RoundToInt", "floor", "ceiling"});
  std::string_view head = expr.head;
  const std::vector<SymExpr>& arguments = expr.arguments;
  if (head == "Where" || head == "ITE" || head == "Piecewise") return chosen(expr);
  if (head == "And" || head == "Or") return logic(expr);
  if (head == "Mul") return product(expr);
  if (arguments.size() == 1 && std::find(kToInteger.begin(), kToInteger.end(), head) != kToInteger.end())
    return to_integer(head, arguments[0]);
  std::vector<SymValue> values;
  for (const SymExpr& argument : arguments) {
    Maybe found = value(argument);
    if (!found) return std::nullopt;
    values.push_back(*std::move(found));
  }
  if (head == "Add") return sum(values);
  if (head == "IsNonOverlappingAndDenseIndicator") return non_overlapping_and_dense(values);
  if ((head == "Max" || head == "Min") && !values.empty()) return extreme(values, head == "Max");
  if (head == "ModularIndexing" && values.size() == 3) {
    Maybe quotient = divide_floor(number_of(values[0]), number_of(values[1]));
    if (!quotient) return std::nullopt;
    return modulo(number_of(*quotient), number_of(values[2]));
  }
  if (values.size() == 2) return binary(head, values[0], values[1]);
  if (values.size() == 1) return unary(head, values[0]);
  return std::nullopt;
}

}  // namespace

std::optional<SymValue> evaluate(const SymExpr& expr, const Bindings& bindings) {
  return Evaluator(bindings).value(expr);
}

std::optional<Dim> evaluate_size(const SymExpr& expr, const Bindings& bindings) {
  Maybe value = evaluate(expr, bindings);
  if (!value || !std::holds_alternative<Dim>(*value)) return std::nullopt;
  return std::get<Dim>(*value);
}

std::optional<int64_t> solve_linear(const SymExpr& expr, int64_t value, const std::string& symbol,
                                    const Bindings& bindings) {
  Bindings trial = bindings;
  auto at = [&](int64_t size) -> std::optional<int64_t> {
    trial.insert_or_assign(symbol, Dim(size));
    auto found = evaluate_size(expr, trial);
    if (!found) return std::nullopt;
    return found->concrete();
  };
  // Three neighbouring points must lie on a line, and the solution must give the value.
  constexpr int64_t kStart = 4;
  constexpr int64_t kLargest = int64_t{1} << 40;
  auto first = at(kStart);
  auto second = at(kStart + 1);
  auto third = at(kStart + 2);
  if (!first || !second || !third) return std::nullopt;
  for (int64_t point : {*first, *second, *third, value})
    if (point < -kLargest || point > kLargest) return std::nullopt;
  int64_t slope = *second - *first;
  if (slope == 0 || *third - *second != slope || (value - *first) % slope != 0) return std::nullopt;
  int64_t solution = kStart + (value - *first) / slope;
  if (at(solution) != value) return std::nullopt;
  return solution;
}

}  // namespace torchlift::torch
