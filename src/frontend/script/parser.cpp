#include "frontend/script/parser.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "base/text.hpp"
#include "frontend/script/lexer.hpp"

namespace torchlift::frontend::script {
namespace {

// Python's statements that PyTorch's printer does not write.
constexpr std::array<std::string_view, 14> kOtherStatements = {"break", "continue", "raise",  "assert",   "del",
                                                               "try",   "global",   "import", "nonlocal", "elif",
                                                               "async", "lambda",   "yield",  "from"};

class Parser {
 public:
  Parser(std::vector<Token> tokens, const std::string& member) : tokens_(std::move(tokens)), member_(member) {}
  Result<Source> run();

 private:
  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  bool sees(std::string_view word, size_t ahead = 0) const;
  bool take(std::string_view word);
  bool take(TokenKind kind);
  Status want(std::string_view word);
  Result<std::string> name();
  Diagnostic unexpected(std::string expected) const;

  Result<ClassDef> class_def();
  Result<ClassItem> class_item();
  Result<Def> def();
  Result<ParameterSyntax> parameter();

  Result<std::vector<Stmt>> block();
  Result<Stmt> statement();
  Result<Stmt> compound();
  Result<Stmt> simple();

  Result<std::vector<Expr>> expressions(bool& trailing_comma);
  Result<Expr> expression();
  Result<Expr> operand();
  Result<Expr> primary();
  Result<Expr> number(bool negative);
  Result<std::optional<double>> real_number(const Token& token, bool negative);
  Result<Expr> parenthesised();
  Result<Expr> subscript(Expr base);
  Result<Expr> call(Expr callee);
  Result<std::vector<Expr>> items(std::string_view close);
  Result<Expr> dict();
  Result<Expr> finished(Expr expr) const;

  std::vector<Token> tokens_;
  const std::string& member_;
  size_t at_ = 0;
  size_t depth_ = 0;  // of expressions being read
};

std::string described(const Token& token) {
  switch (token.kind) {
    case TokenKind::Newline: return "the end of the line";
    case TokenKind::Indent: return "a deeper block";
    case TokenKind::Dedent: return "the end of the block";
    case TokenKind::End: return "the end of the file";
    case TokenKind::Name:
    case TokenKind::Integer:
    case TokenKind::Real:
    case TokenKind::Imaginary:
    case TokenKind::Symbol: return "`" + printable(token.text.substr(0, 40)) + "`";
    case TokenKind::String: return "a text";
  }
  return "";
}

Diagnostic Parser::unexpected(std::string expected) const {
  return syntax_error(member_, peek().at, described(peek()), std::move(expected));
}

bool Parser::sees(std::string_view word, size_t ahead) const {
  const Token& token = peek(ahead);
  return (token.kind == TokenKind::Name || token.kind == TokenKind::Symbol) && token.text == word;
}

bool Parser::take(std::string_view word) {
  if (!sees(word)) return false;
  ++at_;
  return true;
}

bool Parser::take(TokenKind kind) {
  if (peek().kind != kind || kind == TokenKind::End) return false;
  ++at_;
  return true;
}

Status Parser::want(std::string_view word) {
  if (!take(word)) return unexpected("`" + std::string(word) + "`");
  return Unit{};
}

Result<std::string> Parser::name() {
  if (peek().kind != TokenKind::Name) return unexpected("a name");
  return std::string(tokens_[at_++].text);
}

// ---- expressions

Result<Expr> Parser::finished(Expr expr) const {
  size_t deepest = 0;
  for (const Expr& part : expr.parts) deepest = std::max<size_t>(deepest, part.depth);
  if (deepest >= kMaxExpressionDepth) return size_error(member_, "the depth of an expression", kMaxExpressionDepth);
  expr.depth = static_cast<uint16_t>(deepest + 1);
  return expr;
}

// Items up to the closing bracket; a comma may stand before it.
Result<std::vector<Expr>> Parser::items(std::string_view close) {
  std::vector<Expr> out;
  while (!take(close)) {
    TRY(out.emplace_back(), expression());
    if (!take(",") && !sees(close)) return unexpected("`,` or `" + std::string(close) + "`");
  }
  return out;
}

Result<Expr> Parser::parenthesised() {
  Expr out{.kind = ExprKind::Tuple, .at = peek().at};
  TRY_OK(want("("));
  while (!take(")")) {
    TRY(out.parts.emplace_back(), expression());
    if (out.parts.size() == 1 && take(")")) {
      Expr inner = std::move(out.parts.front());
      inner.in_parentheses = true;
      return inner;
    }
    if (!take(",") && !sees(")")) return unexpected("`,` or `)`");
  }
  return finished(std::move(out));
}

Result<Expr> Parser::dict() {
  Expr out{.kind = ExprKind::Dict, .at = peek().at};
  TRY_OK(want("{"));
  while (!take("}")) {
    TRY(out.parts.emplace_back(), expression());
    TRY_OK(want(":"));
    TRY(out.parts.emplace_back(), expression());
    if (!take(",") && !sees("}")) return unexpected("`,` or `}`");
  }
  return finished(std::move(out));
}

// A Real, an Integer where a real one may stand, or `inf` and `nan`, with an Imaginary's or `infj`'s value; nothing if
// the token is none of these.
Result<std::optional<double>> Parser::real_number(const Token& token, bool negative) {
  double value = 0;
  if (token.kind == TokenKind::Name) {
    std::string_view word = token.text.substr(0, 3);
    if (word != "inf" && word != "nan") return std::optional<double>();
    value = word == "inf" ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else {
    auto [end, error] = std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
    if (error != std::errc() || end != token.text.data() + token.text.size())
      return syntax_error(member_, token.at, described(token), "a number of 64 bits");
  }
  return std::optional(negative ? -value : value);
}

bool is_real(const Token& token) {
  return token.kind == TokenKind::Real || token.kind == TokenKind::Integer ||
         (token.kind == TokenKind::Name && (token.text == "inf" || token.text == "nan"));
}

bool is_imaginary(const Token& token) {
  return token.kind == TokenKind::Imaginary ||
         (token.kind == TokenKind::Name && (token.text == "infj" || token.text == "nanj"));
}

// 3, -2.5, -inf, 1.-2.j, 3.j: a sign belongs to the literal, because no operators are written.
Result<Expr> Parser::number(bool negative) {
  const Token& token = peek();
  Expr out{.kind = ExprKind::Literal, .at = token.at};
  bool has_imaginary = is_real(token) && (sees("+", 1) || sees("-", 1)) && is_imaginary(peek(2));
  if (is_imaginary(token) || has_imaginary) {
    double real = 0;
    if (has_imaginary) {
      TRY(auto value, real_number(token, negative));
      real = value.value_or(0);
      negative = sees("-", 1);
      at_ += 2;
    }
    TRY(auto imaginary, real_number(peek(), negative));
    out.literal.data = std::complex<double>(real, imaginary.value_or(0));
  } else if (token.kind == TokenKind::Integer) {
    uint64_t value = 0;
    auto [end, error] = std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
    constexpr uint64_t kLimit = uint64_t{1} << 63;
    if (error != std::errc() || value > kLimit - (negative ? 0 : 1)) return unexpected("an integer of 64 bits");
    out.literal.data = static_cast<int64_t>(negative ? 0 - value : value);
  } else if (is_real(token)) {
    TRY(auto value, real_number(token, negative));
    out.literal.data = value.value_or(0);
  } else {
    return unexpected("a number after `-`");
  }
  ++at_;
  return out;
}

Result<Expr> Parser::primary() {
  const Token& token = peek();
  Expr out{.kind = ExprKind::Literal, .at = token.at};
  if (take("-")) {
    TRY(out, number(true));
    out.at = token.at;
    return out;
  }
  bool starts_complex = is_real(token) && (sees("+", 1) || sees("-", 1)) && is_imaginary(peek(2));
  if (token.kind == TokenKind::Integer || token.kind == TokenKind::Real || token.kind == TokenKind::Imaginary ||
      starts_complex)
    return number(false);
  if (token.kind == TokenKind::String) {
    auto text = text_of_literal(token.text);
    if (!text) return unexpected("a text whose escapes are C's");
    out.literal.data = *std::move(text);
    ++at_;
    return out;
  }
  if (sees("(")) return parenthesised();
  if (sees("{")) return dict();
  if (take("[")) {
    out.kind = ExprKind::List;
    TRY(out.parts, items("]"));
    return finished(std::move(out));
  }
  if (token.kind != TokenKind::Name) return unexpected("an expression");
  ++at_;
  if (token.text == "None") return out;
  if (token.text == "True" || token.text == "False") {
    out.literal.data = token.text == "True";
    return out;
  }
  out.kind = ExprKind::Name;
  out.text = token.text;
  return out;
}

// x[i], List[int], x[1:], Dict[str, int]
Result<Expr> Parser::subscript(Expr base) {
  Expr out{.kind = ExprKind::Subscript};
  Expr none{.kind = ExprKind::Literal, .at = peek().at};
  out.parts.push_back(std::move(base));
  TRY_OK(want("["));
  if (sees(":")) {
    out.parts.push_back(none);
  } else {
    TRY(out.parts.emplace_back(), expression());
  }
  if (take(":")) {
    out.kind = ExprKind::Slice;
    if (sees("]")) {
      out.parts.push_back(none);
    } else {
      TRY(out.parts.emplace_back(), expression());
    }
    TRY_OK(want("]"));
    return finished(std::move(out));
  }
  if (take(",")) {
    TRY(auto rest, items("]"));
    for (Expr& each : rest) out.parts.push_back(std::move(each));
  } else {
    TRY_OK(want("]"));
  }
  return finished(std::move(out));
}

Result<Expr> Parser::call(Expr callee) {
  Expr out{.kind = ExprKind::Call};
  out.parts.push_back(std::move(callee));
  TRY_OK(want("("));
  while (!take(")")) {
    std::string keyword;
    if (peek().kind == TokenKind::Name && sees("=", 1)) {
      keyword = peek().text;
      at_ += 2;
    } else if (!out.keywords.empty() && !out.keywords.back().empty()) {
      return unexpected("a keyword argument after another");
    }
    out.keywords.push_back(std::move(keyword));
    TRY(out.parts.emplace_back(), expression());
    if (!take(",") && !sees(")")) return unexpected("`,` or `)`");
  }
  return finished(std::move(out));
}

// A place is that of the first character: of `(x).f()` the parenthesis, where debug ranges have the call.
Result<Expr> Parser::operand() {
  Position at = peek().at;
  TRY(Expr out, primary());
  while (true) {
    if (sees("(")) {
      TRY(out, call(std::move(out)));
    } else if (sees("[")) {
      TRY(out, subscript(std::move(out)));
    } else if (take(".")) {
      Expr attribute{.kind = ExprKind::Attribute};
      TRY(attribute.text, name());
      attribute.parts.push_back(std::move(out));
      TRY(out, finished(std::move(attribute)));
    } else {
      return out;
    }
    out.at = at;
  }
}

Result<Expr> Parser::expression() {
  if (depth_ >= kMaxExpressionDepth) return size_error(member_, "the depth of an expression", kMaxExpressionDepth);
  ++depth_;
  Result<Expr> out = operand();
  --depth_;
  return out;
}

// One or more; `trailing_comma` tells `a, = x` from `a = x`.
Result<std::vector<Expr>> Parser::expressions(bool& trailing_comma) {
  std::vector<Expr> out;
  trailing_comma = false;
  do {
    TRY(out.emplace_back(), expression());
    trailing_comma = take(",");
  } while (trailing_comma && !sees("=") && peek().kind != TokenKind::Newline);
  return out;
}

// ---- statements

Result<std::vector<Stmt>> Parser::block() {
  TRY_OK(want(":"));
  if (!take(TokenKind::Newline)) return unexpected("the end of the line");
  if (!take(TokenKind::Indent)) return unexpected("a deeper block");
  std::vector<Stmt> out;
  while (!take(TokenKind::Dedent)) {
    TRY(out.emplace_back(), statement());
  }
  return out;
}

Result<Stmt> Parser::compound() {
  Stmt out{.at = peek().at};
  bool comma = false;
  if (take("if")) {
    out.kind = StmtKind::If;
    TRY(out.values.emplace_back(), expression());
    TRY(out.body, block());
    if (take("else")) {
      TRY(out.orelse, block());
    }
  } else if (take("while")) {
    out.kind = StmtKind::While;
    TRY(out.values.emplace_back(), expression());
    TRY(out.body, block());
  } else if (take("for")) {
    out.kind = StmtKind::For;
    TRY(out.targets.emplace_back(), expression());
    TRY_OK(want("in"));
    TRY(Expr range, expression());
    if (range.kind != ExprKind::Call || !range.parts.front().is_name("range") || range.parts.size() != 2 ||
        !range.keywords.front().empty())
      return syntax_error(member_, range.at, "another loop", "`range` of one number after `in`");
    out.values.push_back(std::move(range.parts.back()));
    TRY(out.body, block());
  } else if (take("with")) {
    out.kind = StmtKind::With;
    TRY(out.values.emplace_back(), expression());
    if (take("as")) {
      TRY(out.targets, expressions(comma));
      if (out.targets.size() != 1 || comma) return unexpected("one name after `as`");
    }
    TRY(out.body, block());
  } else {
    out.kind = StmtKind::Def;
    TRY(Def function, def());
    out.function = std::make_shared<Def>(std::move(function));
  }
  return out;
}

Result<Stmt> Parser::simple() {
  Stmt out{.at = peek().at};
  bool comma = false;
  if (take("pass")) return out;
  if (take("return")) {
    out.kind = StmtKind::Return;
    if (peek().kind == TokenKind::Newline) return out;
    TRY(out.values, expressions(comma));
    if (out.values.size() > 1 || comma) {
      Expr tuple{.kind = ExprKind::Tuple, .at = out.values.front().at, .parts = std::move(out.values)};
      out.values.clear();
      TRY(out.values.emplace_back(), finished(std::move(tuple)));
    }
    return out;
  }
  TRY(out.values, expressions(comma));
  out.kind = StmtKind::Expression;
  if (!sees("=") && !sees(":")) {
    if (out.values.size() > 1 || comma) return unexpected("`=`");
    return out;
  }
  out.kind = StmtKind::Assign;
  out.targets = std::move(out.values);
  out.values.clear();
  out.unpacks = comma;
  if (out.targets.size() == 1 && !comma && take(":")) {
    TRY(out.type.emplace_back(), expression());
  }
  TRY_OK(want("="));
  TRY(out.values, expressions(comma));
  if (out.targets.size() == 1 && !out.unpacks && (out.values.size() > 1 || comma)) {
    Expr tuple{.kind = ExprKind::Tuple, .at = out.values.front().at, .parts = std::move(out.values)};
    out.values.clear();
    TRY(out.values.emplace_back(), finished(std::move(tuple)));
  }
  return out;
}

Result<Stmt> Parser::statement() {
  for (std::string_view word : {"if", "while", "for", "with", "def"})
    if (sees(word)) return compound();
  for (std::string_view word : kOtherStatements)
    if (sees(word) && !sees("=", 1) && !sees(",", 1) && !sees(".", 1))
      return diagnose(Kind::ScriptStatement,
                      {{"line", static_cast<int64_t>(peek().at.line)}, {"statement", std::string(word)}}, "", member_);
  TRY(Stmt out, simple());
  if (!take(TokenKind::Newline)) return unexpected("the end of the line");
  return out;
}

// ---- definitions

Result<ParameterSyntax> Parser::parameter() {
  ParameterSyntax out{.at = peek().at};
  TRY(out.name, name());
  if (take(":")) {
    TRY(out.type.emplace_back(), expression());
  }
  if (take("=")) {
    TRY(out.default_value.emplace_back(), expression());
  }
  return out;
}

Result<Def> Parser::def() {
  Def out{.at = peek().at};
  TRY_OK(want("def"));
  TRY(out.name, name());
  TRY_OK(want("("));
  while (!take(")")) {
    TRY(out.parameters.emplace_back(), parameter());
    if (!take(",") && !sees(")")) return unexpected("`,` or `)`");
  }
  if (take("->")) {
    TRY(out.result_type.emplace_back(), expression());
  }
  TRY(out.body, block());
  return out;
}

Result<ClassItem> Parser::class_item() {
  ClassItem out{.at = peek().at};
  TRY(out.name, name());
  if (out.name == "__annotations__" && take("[")) {
    auto text = peek().kind == TokenKind::String ? text_of_literal(peek().text) : std::nullopt;
    if (!text) return unexpected("an attribute's name in quotes");
    out.name = *std::move(text);
    ++at_;
    TRY_OK(want("]"));
    TRY_OK(want("="));
    TRY(out.type.emplace_back(), expression());
  } else {
    if (take(":")) {
      TRY(out.type.emplace_back(), expression());
    }
    if (out.type.empty() && !sees("=")) return unexpected("`:` or `=`");
    if (take("=")) {
      TRY(out.value.emplace_back(), expression());
    }
  }
  if (!take(TokenKind::Newline)) return unexpected("the end of the line");
  return out;
}

Result<ClassDef> Parser::class_def() {
  ClassDef out{.at = peek().at};
  TRY_OK(want("class"));
  TRY(out.name, name());
  if (take("(")) {
    TRY(out.base, name());
    TRY_OK(want(")"));
  }
  TRY_OK(want(":"));
  if (!take(TokenKind::Newline)) return unexpected("the end of the line");
  if (!take(TokenKind::Indent)) return out;  // a class without a body: the printer writes no `pass`
  while (!take(TokenKind::Dedent)) {
    if (sees("def")) {
      TRY(out.methods.emplace_back(), def());
    } else if (take("pass")) {
      if (!take(TokenKind::Newline)) return unexpected("the end of the line");
    } else {
      TRY(out.items.emplace_back(), class_item());
    }
  }
  return out;
}

Result<Source> Parser::run() {
  Source out;
  while (peek().kind != TokenKind::End) {
    if (sees("class")) {
      TRY(out.classes.emplace_back(), class_def());
    } else if (sees("def")) {
      TRY(out.functions.emplace_back(), def());
    } else if (sees("op_version_set") || sees("import")) {  // of the first versions
      while (!take(TokenKind::Newline)) ++at_;
    } else {
      return unexpected("`class` or `def`");
    }
  }
  return out;
}

}  // namespace

Result<Source> parse_source(std::string_view text, const std::string& member) {
  TRY(std::vector<Token> tokens, tokens_of(text, member));
  return Parser(std::move(tokens), member).run();
}

std::optional<std::string> type_text(const Expr& expr) {
  if (expr.kind == ExprKind::Name) return expr.text;
  if (expr.kind == ExprKind::Literal && expr.literal.is_none()) return "NoneType";
  if (expr.kind == ExprKind::Tuple && expr.parts.empty()) return "()";
  if (expr.kind != ExprKind::Attribute && expr.kind != ExprKind::Subscript) return std::nullopt;
  std::optional<std::string> out = type_text(expr.parts.front());
  if (!out) return std::nullopt;
  if (expr.kind == ExprKind::Attribute) return *out + "." + expr.text;
  *out += "[";
  for (size_t i = 1; i < expr.parts.size(); ++i) {
    std::optional<std::string> part = type_text(expr.parts[i]);
    if (!part) return std::nullopt;
    *out += (i == 1 ? "" : ", ") + *part;
  }
  return *out + "]";
}

}  // namespace torchlift::frontend::script
