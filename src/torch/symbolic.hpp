// Symbolic sizes and numbers as a file writes them: sympy expressions (srepr since torch 2.6, infix before).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/dim.hpp"
#include "base/result.hpp"

namespace torchlift::torch {

// A tree; `head` is sympy's or torch's constructor name ("Add", "FloorDiv", ...).
struct SymExpr {
  enum class Kind : uint8_t { Integer, Float, Bool, Symbol, Call };
  Kind kind = Kind::Integer;
  int64_t integer = 0;             // Integer, Bool
  double number = 0;               // Float
  std::string head;                // Call: constructor; Symbol: its name
  std::vector<SymExpr> arguments;  // Call

  static SymExpr of(int64_t value) { return {.integer = value, .head = {}, .arguments = {}}; }
  static SymExpr of_float(double value);
  static SymExpr of_bool(bool value);
  static SymExpr symbol(std::string name);
  static SymExpr call(std::string head, std::vector<SymExpr> arguments);
  bool is_integer() const { return kind == Kind::Integer; }
  bool operator==(const SymExpr&) const = default;
};

// Limits for text from a file.
inline constexpr int kMaxSymbolicDepth = 64;
inline constexpr size_t kMaxSymbolicText = 1 << 16;

// Names of symbols are identifiers and none of Python's or sympy's words; the relations' short names (Eq, Ne, Gt, ...)
// become the long ones. Any constructor is read; symbolic_evaluate.cpp says which can be evaluated.
Result<SymExpr> parse_srepr(std::string_view text);  // "Mul(Integer(2), Symbol('s60', positive=True, integer=True))"
Result<SymExpr> parse_infix(std::string_view text);  // "2*s60 + 1", "s0//2", "Max(1, s0)"
std::string to_text(const SymExpr& expr);            // infix; parse_infix gives the same tree back

// Symbol name -> its size.
using Bindings = std::map<std::string, Dim, std::less<>>;
using SymValue = std::variant<bool, Dim, double>;

// The value with all symbols bound; nothing if one is unbound, a head is unknown, or a division is by zero.
std::optional<SymValue> evaluate(const SymExpr& expr, const Bindings& bindings);
std::optional<Dim> evaluate_size(const SymExpr& expr, const Bindings& bindings);

// The one value of `symbol` for which the expression is `value`, the other symbols bound: for expressions linear in it,
// with an integer solution.
std::optional<int64_t> solve_linear(const SymExpr& expr, int64_t value, const std::string& symbol,
                                    const Bindings& bindings);

// All symbols of the expression, sorted, once each.
std::vector<std::string> symbols_of(const SymExpr& expr);

}  // namespace torchlift::torch
