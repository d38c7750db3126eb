#include "frontend/script/lexer.hpp"

#include <array>
#include <optional>

#include "base/text.hpp"

namespace torchlift::frontend::script {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Lexer {
 public:
  Lexer(std::string_view text, const std::string& member) : text_(text), member_(member) {}
  Result<std::vector<Token>> run();

 private:
  Status indentation();
  Status token();
  Status string(char quote);
  void number();
  void symbol();
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  Position position(size_t offset) const { return {static_cast<uint32_t>(offset), line_}; }
  void add(TokenKind kind, size_t start) { out_.push_back({kind, text_.substr(start, at_ - start), position(start)}); }

  std::string_view text_;
  const std::string& member_;
  std::vector<Token> out_;
  std::vector<size_t> indents_{0};
  size_t at_ = 0;
  uint32_t line_ = 1;
  size_t brackets_ = 0;
  bool line_begins_ = true;
};

// At the first byte of a line that holds a statement.
Status Lexer::indentation() {
  size_t start = at_;
  while (peek() == ' ') ++at_;
  if (peek() == '\n' || peek() == '\r' || peek() == '#' || at_ >= text_.size()) return Unit{};
  if (peek() == '\t') return syntax_error(member_, position(at_), "a tab", "blanks before a statement");
  line_begins_ = false;
  size_t width = at_ - start;
  if (width > indents_.back()) {
    if (indents_.size() > kMaxStatementDepth) return size_error(member_, "the depth of its blocks", kMaxStatementDepth);
    indents_.push_back(width);
    add(TokenKind::Indent, at_);
  }
  while (width < indents_.back()) {
    indents_.pop_back();
    add(TokenKind::Dedent, at_);
  }
  if (width != indents_.back())
    return syntax_error(member_, position(at_), std::to_string(width) + " blanks before a statement",
                        std::to_string(indents_.back()));
  return Unit{};
}

Status Lexer::string(char quote) {
  size_t start = at_++;
  while (peek() != quote) {
    if (at_ >= text_.size() || peek() == '\n')
      return syntax_error(member_, position(start), "a text that does not end in its line", "a closing quote");
    at_ += peek() == '\\' && at_ + 1 < text_.size() ? 2 : 1;
    if (text_[at_ - 1] == '\n') return syntax_error(member_, position(start), "a text over two lines", "one line");
  }
  ++at_;
  add(TokenKind::String, start);
  return Unit{};
}

// 12, 2., 1e+20, 0.5, 3.j
void Lexer::number() {
  size_t start = at_;
  TokenKind kind = TokenKind::Integer;
  while (is_digit(peek())) ++at_;
  if (peek() == '.') {
    kind = TokenKind::Real;
    ++at_;
    while (is_digit(peek())) ++at_;
  }
  bool sign = peek(1) == '+' || peek(1) == '-';
  if ((peek() == 'e' || peek() == 'E') && is_digit(peek(sign ? 2 : 1))) {
    kind = TokenKind::Real;
    at_ += sign ? 2 : 1;
    while (is_digit(peek())) ++at_;
  }
  add(kind, start);
  if (peek() != 'j') return;
  out_.back().kind = TokenKind::Imaginary;
  ++at_;
}

void Lexer::symbol() {
  // Those of two characters are here to be named by a message, but for `->`.
  constexpr std::array<std::string_view, 15> kPairs = {"->", "==", "!=", "<=", ">=", "//", "**", "<<",
                                                       ">>", "+=", "-=", "*=", "/=", ":=", "%="};
  size_t start = at_;
  at_ += 1;
  for (std::string_view pair : kPairs)
    if (text_.substr(start).starts_with(pair)) at_ = start + 2;
  char c = text_[start];
  if (c == '(' || c == '[' || c == '{') ++brackets_;
  if ((c == ')' || c == ']' || c == '}') && brackets_ > 0) --brackets_;
  add(TokenKind::Symbol, start);
}

Status Lexer::token() {
  char c = peek();
  if (c == '\n') {
    if (brackets_ == 0 && !line_begins_) {
      add(TokenKind::Newline, at_);
      line_begins_ = true;
    }
    ++at_;
    ++line_;
  } else if (c == ' ' || c == '\r') {
    ++at_;
  } else if (c == '#') {
    while (at_ < text_.size() && peek() != '\n') ++at_;
  } else if (c == '"' || c == '\'') {
    return string(c);
  } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
    number();
  } else if (is_letter(c)) {
    size_t start = at_;
    while (is_letter(peek()) || is_digit(peek())) ++at_;
    add(TokenKind::Name, start);
  } else if (c > ' ' && c < 0x7F) {
    symbol();
  } else {
    return syntax_error(member_, position(at_), "the byte " + quoted(text_.substr(at_, 1)), "printable ASCII");
  }
  return Unit{};
}

Result<std::vector<Token>> Lexer::run() {
  if (text_.size() > kMaxSourceBytes) return size_error(member_, "its number of bytes", kMaxSourceBytes);
  while (at_ < text_.size()) {
    if (line_begins_ && brackets_ == 0) TRY_OK(indentation());
    if (at_ < text_.size()) TRY_OK(token());
    if (out_.size() > kMaxTokens) return size_error(member_, "its number of words", kMaxTokens);
  }
  if (brackets_ > 0) indents_.resize(1);  // the end stands inside of an expression
  if (!line_begins_ && brackets_ == 0) add(TokenKind::Newline, at_);
  for (; indents_.size() > 1; indents_.pop_back()) add(TokenKind::Dedent, at_);
  add(TokenKind::End, at_);
  return std::move(out_);
}

}  // namespace

Diagnostic syntax_error(const std::string& member, Position at, std::string got, std::string expected) {
  return diagnose(Kind::ScriptSyntax,
                  {{"line", static_cast<int64_t>(at.line)}, {"got", std::move(got)}, {"expected", std::move(expected)}},
                  "", member);
}

Diagnostic size_error(const std::string& member, std::string what, size_t limit) {
  return diagnose(Kind::ScriptSize, {{"what", std::move(what)}, {"limit", static_cast<int64_t>(limit)}}, "", member);
}

std::optional<std::string> text_of_literal(std::string_view literal) {
  constexpr std::string_view kEscapes = "\\'\"abfnrtv";
  constexpr std::string_view kMeanings = "\\'\"\a\b\f\n\r\t\v";
  auto octal = [&](size_t at) { return literal[at] >= '0' && literal[at] <= '7' ? literal[at] - '0' : -1; };
  std::string out;
  size_t end = literal.size() - 1;  // the closing quote
  for (size_t at = 1; at < end; ++at) {
    if (literal[at] != '\\') {
      out += literal[at];
      continue;
    }
    ++at;
    size_t known = kEscapes.find(literal[at]);
    if (known != std::string_view::npos) {
      out += kMeanings[known];
      continue;
    }
    if (at + 3 > end || octal(at) < 0 || octal(at) > 3 || octal(at + 1) < 0 || octal(at + 2) < 0) return std::nullopt;
    out += static_cast<char>(static_cast<unsigned char>(octal(at) * 64 + octal(at + 1) * 8 + octal(at + 2)));
    at += 2;
  }
  return out;
}

Result<std::vector<Token>> tokens_of(std::string_view text, const std::string& member) {
  return Lexer(text, member).run();
}

}  // namespace torchlift::frontend::script
