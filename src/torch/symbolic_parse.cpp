// Text -> symbolic expressions: sympy's constructor calls, and infix text.
#include <algorithm>
#include <array>
#include <limits>

#include "base/kinds.hpp"
#include "base/text.hpp"
#include "torch/cursor.hpp"
#include "torch/symbolic.hpp"

namespace torchlift::torch {
namespace {

// sympy's and Python's words; never the name of a symbol.
constexpr auto kWords = std::to_array<std::string_view>(
    {"True", "False", "true", "false", "None", "oo", "zoo", "nan", "inf", "int_oo", "and", "or", "not"});

constexpr auto kLongNames = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"Eq", "Equality"},
    {"Ne", "Unequality"},
    {"Lt", "StrictLessThan"},
    {"Le", "LessThan"},
    {"Gt", "StrictGreaterThan"},
    {"Ge", "GreaterThan"},
});

bool is_word(std::string_view name) { return std::find(kWords.begin(), kWords.end(), name) != kWords.end(); }

std::string long_name(std::string_view head) {
  for (const auto& [brief, full] : kLongNames)
    if (head == brief) return std::string(full);
  return std::string(head);
}

// What the two grammars share: the cursor, the limits, atoms that are words, messages.
class ExprParser {
 public:
  explicit ExprParser(std::string_view text) : text_(text), cursor_(text) {}

 protected:
  Diagnostic unexpected(std::string_view expected) const {
    std::string got = cursor_.at_end() ? "its end" : quoted(cursor_.rest().substr(0, 16));
    return diagnose(Kind::SymbolicSyntax, {{"expression", printable(text_.substr(0, 200))},
                                           {"got", got},
                                           {"column", static_cast<int64_t>(cursor_.offset() + 1)},
                                           {"expected", std::string(expected)}});
  }
  Diagnostic too_deep() const { return unexpected("at most " + std::to_string(kMaxSymbolicDepth) + " levels"); }
  Status check_size() const {
    if (text_.size() > kMaxSymbolicText) return unexpected("at most " + std::to_string(kMaxSymbolicText) + " bytes");
    return Unit{};
  }
  Status check_end() {
    cursor_.skip_spaces();
    if (!cursor_.at_end()) return unexpected("the end");
    return Unit{};
  }
  // True, oo, nan: nothing for any other word.
  std::optional<SymExpr> constant(std::string_view word) const {
    if (word == "True" || word == "true") return SymExpr::of_bool(true);
    if (word == "False" || word == "false") return SymExpr::of_bool(false);
    if (word == "oo" || word == "inf" || word == "int_oo")
      return SymExpr::of_float(std::numeric_limits<double>::infinity());
    if (word == "nan") return SymExpr::of_float(std::numeric_limits<double>::quiet_NaN());
    return std::nullopt;
  }

  std::string_view text_;
  Cursor cursor_;
};

class SreprParser : ExprParser {
 public:
  using ExprParser::ExprParser;
  Result<SymExpr> parse() {
    TRY_OK(check_size());
    TRY(SymExpr out, item(0));
    TRY_OK(check_end());
    return out;
  }

 private:
  Result<SymExpr> item(int depth);
  Result<SymExpr> constructor(std::string_view head, int depth);
  Result<SymExpr> integer();
  Result<SymExpr> real();
  Result<SymExpr> symbol();
  Status assumptions();
};

// {"," NAME "=" word-or-number} ")"
Status SreprParser::assumptions() {
  while (cursor_.take(',')) {
    if (cursor_.identifier().empty()) return unexpected("a keyword");
    if (!cursor_.take('=')) return unexpected("`=`");
    if (!cursor_.number() && cursor_.identifier().empty()) return unexpected("a value");
  }
  if (!cursor_.take(')')) return unexpected("`)`");
  return Unit{};
}

Result<SymExpr> SreprParser::integer() {
  auto number = cursor_.number();
  if (!number || !std::holds_alternative<int64_t>(*number)) return unexpected("a 64-bit integer");
  TRY_OK(assumptions());
  return SymExpr::of(std::get<int64_t>(*number));
}

// Float('0.5', precision=53)
Result<SymExpr> SreprParser::real() {
  std::optional<std::string> text = cursor_.string_literal();
  std::string spelled = text ? *text : std::string();
  Cursor inner(spelled);
  auto number = text ? inner.number() : cursor_.number();
  if (!number || (text && !inner.at_end())) return unexpected("a number");
  TRY_OK(assumptions());
  return SymExpr::of_float(std::visit([](auto value) { return static_cast<double>(value); }, *number));
}

Result<SymExpr> SreprParser::symbol() {
  std::optional<std::string> name = cursor_.string_literal();
  if (!name) return unexpected("a symbol's name");
  if (name->empty() || Cursor(*name).identifier() != *name || is_word(*name))
    return unexpected("a name that is an identifier before this");
  TRY_OK(assumptions());
  return SymExpr::symbol(*std::move(name));
}

Result<SymExpr> SreprParser::constructor(std::string_view head, int depth) {
  if (head == "Integer") return integer();
  if (head == "Float") return real();
  if (head == "Symbol") return symbol();
  std::vector<SymExpr> arguments;
  if (cursor_.take(')')) return SymExpr::call(long_name(head), {});
  do {
    Cursor before = cursor_;
    bool keyword = !cursor_.identifier().empty() && cursor_.peek() == '=';
    cursor_ = before;
    if (keyword) {  // evaluate=False
      cursor_.identifier();
      cursor_.advance();
      if (!cursor_.number() && cursor_.identifier().empty()) return unexpected("a value");
      continue;
    }
    TRY(arguments.emplace_back(), item(depth + 1));
  } while (cursor_.take(','));
  if (!cursor_.take(')')) return unexpected("`,` or `)`");
  return SymExpr::call(long_name(head), std::move(arguments));
}

Result<SymExpr> SreprParser::item(int depth) {
  if (depth >= kMaxSymbolicDepth) return too_deep();
  cursor_.skip_spaces();
  if (cursor_.peek() == '-' || (cursor_.peek() >= '0' && cursor_.peek() <= '9')) {
    if (cursor_.rest().starts_with("-oo")) {
      cursor_.advance(3);
      return SymExpr::of_float(-std::numeric_limits<double>::infinity());
    }
    auto number = cursor_.number();
    if (!number) return unexpected("a 64-bit number");
    if (const auto* whole = std::get_if<int64_t>(&*number)) return SymExpr::of(*whole);
    return SymExpr::of_float(std::get<double>(*number));
  }
  std::string_view head = cursor_.identifier();
  if (head.empty()) return unexpected("a constructor");
  if (cursor_.take('(')) {
    if (is_word(head)) return unexpected("a constructor's name before this");
    return constructor(head, depth);
  }
  if (auto value = constant(head)) return *std::move(value);
  return unexpected("`(`");
}

// A level of the tree takes up to two of the text: `a**(b**c)`.
constexpr int kMaxNesting = 2 * kMaxSymbolicDepth;

// Python's expression grammar, as far as sizes need it: relations, | ^ & << >> + - * / // % ** unary calls.
class InfixParser : ExprParser {
 public:
  using ExprParser::ExprParser;
  Result<SymExpr> parse() {
    TRY_OK(check_size());
    TRY(Part out, disjunction(0));
    TRY_OK(check_end());
    return std::move(out.expr);
  }

 private:
  // `open`: the outermost operator is not in parentheses, so a following one of the same kind joins it: a + b + c.
  struct Part {
    SymExpr expr;
    int depth = 0;
    bool open = false;
  };
  using Level = Result<Part> (InfixParser::*)(int);

  Result<Part> combine(std::string head, std::vector<Part> parts) const;
  Result<Part> append(std::string_view head, Part left, Part right) const;
  Result<Part> negated(Part part) const;
  Result<Part> words(int nesting, Level next, std::string_view word, std::string_view sign, std::string_view head);
  Result<Part> disjunction(int nesting) { return words(nesting, &InfixParser::conjunction, "or", "", "Or"); }
  Result<Part> conjunction(int nesting) { return words(nesting, &InfixParser::negation, "and", "", "And"); }
  Result<Part> negation(int nesting);
  Result<Part> relation(int nesting);
  Result<Part> bit_or(int nesting) { return words(nesting, &InfixParser::bit_and, "", "|", "Or"); }
  Result<Part> bit_and(int nesting) { return words(nesting, &InfixParser::shift, "", "&", "And"); }
  Result<Part> shift(int nesting);
  Result<Part> sum(int nesting);
  Result<Part> product(int nesting);
  Result<Part> unary(int nesting);
  Result<Part> power(int nesting);
  Result<Part> atom(int nesting);
  Result<Part> call(std::string_view head, int nesting);
  bool take_word(std::string_view word);
};

bool InfixParser::take_word(std::string_view word) {
  Cursor before = cursor_;
  if (!word.empty() && cursor_.identifier() == word) return true;
  cursor_ = before;
  return false;
}

Result<InfixParser::Part> InfixParser::combine(std::string head, std::vector<Part> parts) const {
  Part out;
  std::vector<SymExpr> arguments;
  for (Part& part : parts) {
    out.depth = std::max(out.depth, part.depth + 1);
    arguments.push_back(std::move(part.expr));
  }
  if (out.depth >= kMaxSymbolicDepth) return too_deep();
  out.expr = SymExpr::call(long_name(head), std::move(arguments));
  out.open = true;
  return out;
}

// left `head` right, where left may already be an open chain of the same operator.
Result<InfixParser::Part> InfixParser::append(std::string_view head, Part left, Part right) const {
  if (!left.open || left.expr.kind != SymExpr::Kind::Call || left.expr.head != head)
    return combine(std::string(head), {std::move(left), std::move(right)});
  left.depth = std::max(left.depth, right.depth + 1);
  if (left.depth >= kMaxSymbolicDepth) return too_deep();
  left.expr.arguments.push_back(std::move(right.expr));
  return left;
}

// -5, -x as Mul(-1, x), -2*x as Mul(-2, x)
Result<InfixParser::Part> InfixParser::negated(Part part) const {
  SymExpr& expr = part.expr;
  auto negate = [](SymExpr& number) {
    if (number.integer == INT64_MIN) return false;
    number.integer = -number.integer;
    return true;
  };
  if (expr.is_integer()) {
    if (!negate(expr)) return unexpected("a 64-bit number before this");
    return part;
  }
  if (expr.kind == SymExpr::Kind::Float) {
    expr.number = -expr.number;
    return part;
  }
  if (part.open && expr.kind == SymExpr::Kind::Call && expr.head == "Mul") {
    if (!expr.arguments.front().is_integer()) expr.arguments.insert(expr.arguments.begin(), SymExpr::of(-1));
    else if (!negate(expr.arguments.front())) return unexpected("a 64-bit number before this");
    return part;
  }
  return combine("Mul", {Part{.expr = SymExpr::of(-1)}, std::move(part)});
}

Result<InfixParser::Part> InfixParser::words(int nesting, Level next, std::string_view word, std::string_view sign,
                                             std::string_view head) {
  TRY(Part out, (this->*next)(nesting));
  while (take_word(word) || (!sign.empty() && cursor_.take(sign))) {
    TRY(Part right, (this->*next)(nesting));
    TRY(out, append(head, std::move(out), std::move(right)));
  }
  return out;
}

Result<InfixParser::Part> InfixParser::negation(int nesting) {
  if (nesting >= kMaxNesting) return too_deep();
  if (!take_word("not")) return relation(nesting);
  TRY(Part inner, negation(nesting + 1));
  return combine("Not", {std::move(inner)});
}

Result<InfixParser::Part> InfixParser::relation(int nesting) {
  constexpr auto kSigns = std::to_array<std::pair<std::string_view, std::string_view>>({
      {"==", "Equality"},
      {"!=", "Unequality"},
      {"<=", "LessThan"},
      {">=", "GreaterThan"},
      {"<", "StrictLessThan"},
      {">", "StrictGreaterThan"},
  });
  TRY(Part out, bit_or(nesting));
  std::vector<Part> chain;  // a < b < c is (a < b) and (b < c)
  while (true) {
    auto sign = std::find_if(kSigns.begin(), kSigns.end(), [&](const auto& row) { return cursor_.take(row.first); });
    if (sign == kSigns.end()) break;
    TRY(Part right, bit_or(nesting));
    TRY(chain.emplace_back(), combine(std::string(sign->second), {std::move(out), right}));
    out = std::move(right);
  }
  if (chain.empty()) return out;
  if (chain.size() == 1) return std::move(chain.front());
  return combine("And", std::move(chain));
}

Result<InfixParser::Part> InfixParser::shift(int nesting) {
  TRY(Part out, sum(nesting));
  while (true) {
    std::string head = cursor_.take("<<") ? "LShift" : cursor_.take(">>") ? "RShift" : "";
    if (head.empty()) return out;
    TRY(Part right, sum(nesting));
    TRY(out, combine(head, {std::move(out), std::move(right)}));
  }
}

Result<InfixParser::Part> InfixParser::sum(int nesting) {
  TRY(Part out, product(nesting));
  while (true) {
    bool plus = cursor_.take('+');
    if (!plus && !cursor_.take('-')) return out;
    TRY(Part right, product(nesting));
    if (!plus) {
      TRY(right, negated(std::move(right)));
    }
    TRY(out, append("Add", std::move(out), std::move(right)));
  }
}

Result<InfixParser::Part> InfixParser::product(int nesting) {
  TRY(Part out, unary(nesting));
  while (true) {
    cursor_.skip_spaces();
    if (cursor_.take("//")) {
      TRY(Part right, unary(nesting));
      TRY(out, combine("FloorDiv", {std::move(out), std::move(right)}));
    } else if (cursor_.take('%')) {
      TRY(Part right, unary(nesting));
      TRY(out, combine("Mod", {std::move(out), std::move(right)}));
    } else if (cursor_.take('/')) {  // sympy's a/2 is a product with a rational number
      TRY(Part right, unary(nesting));
      TRY(right, combine("Pow", {std::move(right), Part{.expr = SymExpr::of(-1)}}));
      TRY(out, append("Mul", std::move(out), std::move(right)));
    } else if (cursor_.take('*')) {
      TRY(Part right, unary(nesting));
      TRY(out, append("Mul", std::move(out), std::move(right)));
    } else {
      return out;
    }
  }
}

Result<InfixParser::Part> InfixParser::unary(int nesting) {
  if (nesting >= kMaxNesting) return too_deep();
  cursor_.skip_spaces();
  if (cursor_.take('+')) return unary(nesting + 1);
  if (cursor_.take('~')) {
    TRY(Part inner, unary(nesting + 1));
    return combine("Not", {std::move(inner)});
  }
  if (cursor_.peek() != '-') return power(nesting);
  Cursor before = cursor_;
  bool digit = cursor_.peek(1) >= '0' && cursor_.peek(1) <= '9';
  if (auto number = digit ? cursor_.number() : std::nullopt; number && !cursor_.take("**")) {
    if (const auto* whole = std::get_if<int64_t>(&*number)) return Part{.expr = SymExpr::of(*whole)};
    return Part{.expr = SymExpr::of_float(std::get<double>(*number))};
  }
  cursor_ = before;
  cursor_.advance();
  TRY(Part inner, unary(nesting + 1));
  return negated(std::move(inner));
}

Result<InfixParser::Part> InfixParser::power(int nesting) {
  TRY(Part base, atom(nesting));
  if (!cursor_.take("**")) return base;
  TRY(Part exponent, unary(nesting + 1));
  return combine("Pow", {std::move(base), std::move(exponent)});
}

Result<InfixParser::Part> InfixParser::call(std::string_view head, int nesting) {
  std::vector<Part> arguments;
  if (!cursor_.take(')')) {
    do {
      TRY(arguments.emplace_back(), disjunction(nesting + 1));
    } while (cursor_.take(','));
    if (!cursor_.take(')')) return unexpected("`,` or `)`");
  }
  TRY(Part out, combine(std::string(head), std::move(arguments)));
  out.open = false;
  return out;
}

Result<InfixParser::Part> InfixParser::atom(int nesting) {
  if (nesting >= kMaxNesting) return too_deep();
  cursor_.skip_spaces();
  if ((cursor_.peek() >= '0' && cursor_.peek() <= '9') || cursor_.peek() == '.') {
    auto number = cursor_.number();
    if (!number) return unexpected("a 64-bit number");
    if (const auto* whole = std::get_if<int64_t>(&*number)) return Part{.expr = SymExpr::of(*whole)};
    return Part{.expr = SymExpr::of_float(std::get<double>(*number))};
  }
  if (cursor_.take('(')) {
    TRY(Part inner, disjunction(nesting + 1));
    if (!cursor_.take(')')) return unexpected("`)`");
    inner.open = false;
    return inner;
  }
  std::string_view name = cursor_.identifier();
  if (name.empty()) return unexpected("a number, a name or `(`");
  if (auto value = constant(name)) return Part{.expr = *std::move(value)};
  if (is_word(name)) return unexpected("a name before this");
  if (cursor_.peek() != '(') return Part{.expr = SymExpr::symbol(std::string(name))};
  cursor_.advance();
  return call(name, nesting);
}

}  // namespace

Result<SymExpr> parse_srepr(std::string_view text) { return SreprParser(text).parse(); }

Result<SymExpr> parse_infix(std::string_view text) { return InfixParser(text).parse(); }

}  // namespace torchlift::torch
