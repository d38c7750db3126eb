// Construction, text and symbols of symbolic expressions. See symbolic_parse.cpp and symbolic_evaluate.cpp for the
// rest.
#include "torch/symbolic.hpp"

#include <cmath>
#include <set>

#include "base/text.hpp"

namespace torchlift::torch {

SymExpr SymExpr::of_float(double value) { return {.kind = Kind::Float, .number = value, .head = {}, .arguments = {}}; }

SymExpr SymExpr::of_bool(bool value) { return {.kind = Kind::Bool, .integer = value, .head = {}, .arguments = {}}; }

SymExpr SymExpr::symbol(std::string name) { return {.kind = Kind::Symbol, .head = std::move(name), .arguments = {}}; }

SymExpr SymExpr::call(std::string head, std::vector<SymExpr> arguments) {
  return {.kind = Kind::Call, .head = std::move(head), .arguments = std::move(arguments)};
}

namespace {

// Python's, from loose to tight.
enum class Binding : uint8_t { Relation, Sum, Product, Power, Atom };

struct Printed {
  std::string text;
  Binding binding = Binding::Atom;
};

Printed print(const SymExpr& expr);

// The expression as an operand of an operator: in parentheses unless it binds tighter than the operator does.
std::string operand(const SymExpr& expr, Binding around) {
  Printed printed = print(expr);
  return printed.binding > around ? printed.text : "(" + printed.text + ")";
}

Printed print_number(std::string text) {
  Binding binding = text.starts_with('-') ? Binding::Product : Binding::Atom;
  return {std::move(text), binding};
}

std::string float_text(double value) {
  if (std::isinf(value)) return value < 0 ? "-oo" : "oo";
  return shortest(value);
}

// `a - x` and `a - 2*x` stand for sums with these products. A number after the factor -1 would be read as its own sign.
bool is_negative_product(const SymExpr& expr) {
  if (expr.kind != SymExpr::Kind::Call || expr.head != "Mul" || expr.arguments.size() < 2) return false;
  const SymExpr& factor = expr.arguments.front();
  if (!factor.is_integer() || factor.integer >= 0 || factor.integer == INT64_MIN) return false;
  bool number_next = expr.arguments[1].is_integer() || expr.arguments[1].kind == SymExpr::Kind::Float;
  return factor.integer != -1 || !number_next;
}

std::string product_text(const std::vector<SymExpr>& factors) {
  std::string out;
  for (size_t i = 0; i < factors.size(); ++i) {
    if (i > 0) out += '*';
    bool plain = i == 0 && factors[i].is_integer();  // a leading negative factor needs no parentheses
    out += plain ? std::to_string(factors[i].integer) : operand(factors[i], Binding::Product);
  }
  return out;
}

std::string negated_product_text(const SymExpr& expr) {
  std::vector<SymExpr> factors = expr.arguments;
  factors.front().integer = -factors.front().integer;
  if (factors.front().integer != 1) return product_text(factors);
  factors.erase(factors.begin());
  return factors.size() == 1 ? operand(factors.front(), Binding::Product) : product_text(factors);
}

Printed print_sum(const std::vector<SymExpr>& terms) {
  std::string out;
  for (size_t i = 0; i < terms.size(); ++i) {
    const SymExpr& term = terms[i];
    if (i > 0 && term.is_integer() && term.integer < 0 && term.integer != INT64_MIN) {
      out += " - " + std::to_string(-term.integer);
    } else if (i > 0 && is_negative_product(term)) {
      out += " - " + negated_product_text(term);
    } else {
      if (i > 0) out += " + ";
      out += operand(term, Binding::Sum);
    }
  }
  return {out, Binding::Sum};
}

std::string_view relation_sign(std::string_view head) {
  if (head == "Equality") return " == ";
  if (head == "Unequality") return " != ";
  if (head == "StrictLessThan") return " < ";
  if (head == "LessThan") return " <= ";
  if (head == "StrictGreaterThan") return " > ";
  if (head == "GreaterThan") return " >= ";
  return {};
}

Printed print_call(const SymExpr& expr) {
  const std::vector<SymExpr>& arguments = expr.arguments;
  bool two = arguments.size() == 2;
  if (expr.head == "Add" && arguments.size() >= 2) return print_sum(arguments);
  if (expr.head == "Mul" && arguments.size() >= 2) return {product_text(arguments), Binding::Product};
  if (std::string_view sign = relation_sign(expr.head); two && !sign.empty())
    return {operand(arguments[0], Binding::Relation) + std::string(sign) + operand(arguments[1], Binding::Relation),
            Binding::Relation};
  std::string_view sign = expr.head == "FloorDiv" ? "//" : expr.head == "Mod" ? " % " : expr.head == "Pow" ? "**" : "";
  if (two && !sign.empty()) {
    Binding binding = expr.head == "Pow" ? Binding::Power : Binding::Product;
    return {operand(arguments[0], binding) + std::string(sign) + operand(arguments[1], binding), binding};
  }
  return {expr.head + "(" + join(arguments, ", ", [](const SymExpr& argument) { return print(argument).text; }) + ")"};
}

Printed print(const SymExpr& expr) {
  switch (expr.kind) {
    case SymExpr::Kind::Integer: return print_number(std::to_string(expr.integer));
    case SymExpr::Kind::Float: return print_number(float_text(expr.number));
    case SymExpr::Kind::Bool: return {expr.integer ? "True" : "False"};
    case SymExpr::Kind::Symbol: return {expr.head};
    case SymExpr::Kind::Call: return print_call(expr);
  }
  return {};
}

void collect_symbols(const SymExpr& expr, std::set<std::string>& out) {
  if (expr.kind == SymExpr::Kind::Symbol) out.insert(expr.head);
  for (const SymExpr& argument : expr.arguments) collect_symbols(argument, out);
}

}  // namespace

std::string to_text(const SymExpr& expr) { return print(expr).text; }

std::vector<std::string> symbols_of(const SymExpr& expr) {
  std::set<std::string> symbols;
  collect_symbols(expr, symbols);
  return {symbols.begin(), symbols.end()};
}

}  // namespace torchlift::torch
