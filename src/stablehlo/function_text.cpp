#include "stablehlo/function_text.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "base/kinds.hpp"
#include "base/text.hpp"
#include "stablehlo/print_attributes.hpp"

namespace torchlift::stablehlo {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '$' || c == '.'; }

enum class TokenKind : uint8_t { End, Word, Value, Symbol, Alias, String, Other, Wrong };

// A token of MLIR's text, as far as names and brackets have to be told apart. The text of a Symbol is its name, of a
// Value its name without a result number; of a Wrong one what is the matter.
struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text;
  size_t begin = 0;
  size_t end = 0;
  bool is(std::string_view other) const {
    return (kind == TokenKind::Word || kind == TokenKind::Other) && text == other;
  }
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  const Token& peek() {
    if (!ahead_) ahead_ = read();
    return *ahead_;
  }

  size_t last_end() const { return last_end_; }  // of the token taken last

  Token next() {
    Token out = peek();
    ahead_.reset();
    last_end_ = out.end;
    return out;
  }

 private:
  char at(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }

  size_t words_end(size_t i) const {
    while (is_word(at(i))) ++i;
    return i;
  }

  void skip_space() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\n' || c == '\t' || c == '\r') ++at_;
      else if (c == '/' && at(at_ + 1) == '/') at_ = std::min(text_.find('\n', at_), text_.size());
      else return;
    }
  }

  Token token(TokenKind kind, size_t text_begin, size_t end, size_t skipped_at_end = 0) {
    Token out{kind, text_.substr(text_begin, end - skipped_at_end - text_begin), at_, end};
    at_ = end;
    return out;
  }

  Token wrong(std::string_view what) {
    Token out{TokenKind::Wrong, what, at_, text_.size()};
    at_ = text_.size();
    return out;
  }

  // After the closing quote; nothing if the string does not end on its line.
  std::optional<size_t> string_end(size_t open) const {
    for (size_t i = open + 1; i < text_.size() && text_[i] != '\n'; ++i) {
      if (text_[i] == '\\') ++i;
      else if (text_[i] == '"') return i + 1;
    }
    return std::nullopt;
  }

  Token read() {
    skip_space();
    if (at_ == text_.size()) return {TokenKind::End, "the end of the text", at_, at_};
    const char c = text_[at_];
    if (c == '\0') return wrong("a zero byte");
    if (c == '"') {
      auto end = string_end(at_);
      return end ? token(TokenKind::String, at_ + 1, *end, 1) : wrong("a string that does not end on its line");
    }
    if (c == '@' && at(at_ + 1) == '"') {
      auto end = string_end(at_ + 1);
      return end ? token(TokenKind::Symbol, at_ + 2, *end, 1) : wrong("a name that does not end on its line");
    }
    if (c == '@' || c == '%') {
      if (!is_word(at(at_ + 1))) return wrong("a name of no letter");
    }
    if (c == '@') return token(TokenKind::Symbol, at_ + 1, words_end(at_ + 1));
    if (c == '%') {
      size_t end = at_ + 1;
      while (is_word(at(end)) || at(end) == '-') ++end;
      size_t after = end;
      if (at(end) == '#')  // of several results
        do ++after;
        while (is_digit(at(after)));
      return token(TokenKind::Value, at_ + 1, after, after - end);
    }
    if (c == '#' || c == '!') {
      const size_t end = words_end(at_ + 1);
      const std::string_view name = text_.substr(at_ + 1, end - at_ - 1);
      const bool alias = !name.empty() && name.find('.') == std::string_view::npos && at(end) != '<';
      return token(alias ? TokenKind::Alias : TokenKind::Other, at_, end);
    }
    if (is_letter(c)) return token(TokenKind::Word, at_, words_end(at_));
    if (is_digit(c)) return token(TokenKind::Other, at_, words_end(at_));
    if (c == '-' && at(at_ + 1) == '>') return token(TokenKind::Other, at_, at_ + 2);
    return token(TokenKind::Other, at_, at_ + 1);
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t last_end_ = 0;
  std::optional<Token> ahead_;
};

char closing(std::string_view open) { return open == "(" ? ')' : open == "[" ? ']' : open == "{" ? '}' : '\0'; }

class Reader {
 public:
  Reader(std::string_view text, const std::string& path) : text_(text), path_(path), lexer_(text) {}

  Result<FunctionText> run() {
    if (text_.size() > kMaxFunctionText)
      return wrong("the text has " + std::to_string(text_.size()) + " bytes, at most " +
                       std::to_string(kMaxFunctionText) + " are read",
                   0);
    const bool in_module = lexer_.peek().is("module");
    if (in_module) TRY_OK(module_head());
    while (lexer_.peek().is("func.func")) TRY_OK(function());
    if (in_module) {
      TRY_OK(expect("}", "`func.func` or the `}` of the module"));
      TRY_OK(skip_location());
    }
    if (lexer_.peek().kind != TokenKind::End) return unexpected("`func.func`");
    TRY_OK(check_names());
    return std::move(out_);
  }

 private:
  struct Use {
    std::string name;
    size_t position;
    size_t caller;  // number of the function
  };

  Diagnostic wrong(std::string problem, size_t position) const {
    const std::string_view before = text_.substr(0, position);
    const int64_t line = 1 + std::count(before.begin(), before.end(), '\n');
    return diagnose(Kind::CustomFile, {{"line", line}, {"problem", std::move(problem)}}, path_);
  }

  static std::string shown(const Token& token) {
    if (token.kind == TokenKind::End || token.kind == TokenKind::Wrong) return std::string(token.text);
    return quoted(token.text.substr(0, 60));
  }

  Diagnostic unexpected(const std::string& expected) {
    const Token token = lexer_.next();
    std::string problem = "there is " + shown(token) + ", expected " + expected;
    if (token.kind == TokenKind::Alias) problem += "; print the text without aliases and locations (debug information)";
    return wrong(std::move(problem), token.begin);
  }

  Status expect(std::string_view text, const std::string& expected = "") {
    if (!lexer_.peek().is(text)) return unexpected(expected.empty() ? "`" + std::string(text) + "`" : expected);
    lexer_.next();
    return Unit{};
  }

  bool take(std::string_view text) {
    if (!lexer_.peek().is(text)) return false;
    lexer_.next();
    return true;
  }

  // From an opening bracket to the one that closes it, both included. Names of functions, where some are given, are
  // collected.
  Status skip_brackets(std::vector<Token>* symbols = nullptr) {
    std::string open;  // the brackets to be closed, innermost last
    std::string_view before;
    do {
      const Token& token = lexer_.peek();
      if (token.kind == TokenKind::End || token.kind == TokenKind::Wrong || token.kind == TokenKind::Alias)
        return unexpected(open.empty() ? "a bracket" : "`" + std::string(1, open.back()) + "`");
      // The target of a custom call is no function of the text.
      if (token.kind == TokenKind::Symbol && symbols && !before.ends_with("custom_call")) symbols->push_back(token);
      before = token.text;
      if (token.kind == TokenKind::Other) {
        if (const char close = closing(token.text); close != '\0') open += close;
        else if (token.text == ")" || token.text == "]" || token.text == "}") {
          if (open.empty() || token.text[0] != open.back())
            return unexpected(open.empty() ? "no bracket" : "`" + std::string(1, open.back()) + "`");
          open.pop_back();
        }
      }
      lexer_.next();
    } while (!open.empty());
    return Unit{};
  }

  Status skip_location() {
    if (!take("loc")) return Unit{};
    return skip_brackets();
  }

  Status module_head() {
    lexer_.next();
    if (lexer_.peek().kind == TokenKind::Symbol) lexer_.next();
    if (take("attributes")) TRY_OK(skip_brackets());
    return expect("{");
  }

  // tensor<8x3xf32>
  Result<Type> type() {
    const Token word = lexer_.peek();
    if (!word.is("tensor")) return unexpected("a tensor type");
    lexer_.next();
    const size_t end = lexer_.peek().is("<") ? type_end(lexer_.peek().begin) : word.end;
    const std::string text(text_.substr(word.begin, end - word.begin));
    auto out = parse_type(text);
    if (!out || !problem_of(*out).empty())
      return wrong(quoted(text.substr(0, 60)) + " is no tensor type of fixed sizes and a dtype of PyTorch", word.begin);
    while (lexer_.peek().begin < end) lexer_.next();
    return *out;
  }

  size_t type_end(size_t at) const {
    for (size_t depth = 0; at < text_.size(); ++at) {
      if (text_[at] == '<') ++depth;
      if (text_[at] == '>' && --depth == 0) return at + 1;
    }
    return at;
  }

  // Dictionaries and locations of arguments and results change no value.
  Status skip_decorations() {
    if (lexer_.peek().is("{")) TRY_OK(skip_brackets());
    return skip_location();
  }

  Status arguments(std::string& head, FunctionText& f) {
    TRY_OK(expect("("));
    head += "(";
    while (!take(")")) {
      if (!f.arguments.empty()) {
        TRY_OK(expect(",", "`,` or `)`"));
        head += ", ";
      }
      if (lexer_.peek().kind != TokenKind::Value) return unexpected("the name of an argument, such as `%x`");
      const Token name = lexer_.next();
      TRY_OK(expect(":"));
      TRY(auto t, type());
      TRY_OK(skip_decorations());
      head += "%" + std::string(name.text) + ": " + to_text(t);
      f.argument_names.emplace_back(name.text);
      f.arguments.push_back(std::move(t));
    }
    head += ")";
    return Unit{};
  }

  Status results(std::string& head, FunctionText& f) {
    head += " -> (";
    if (take("->")) {
      if (take("(")) {
        while (!take(")")) {
          if (!f.results.empty()) TRY_OK(expect(",", "`,` or `)`"));
          TRY(f.results.emplace_back(), type());
          TRY_OK(skip_decorations());
        }
      } else {
        TRY(f.results.emplace_back(), type());
      }
    }
    head += join(f.results, ", ", [](const Type& t) { return to_text(t); }) + ")";
    return Unit{};
  }

  Status function() {
    lexer_.next();
    bool is_public = true;
    if (take("private") || take("nested")) is_public = false;
    else take("public");
    if (lexer_.peek().kind != TokenKind::Symbol) return unexpected("the name of a function, such as `@main`");
    const Token name = lexer_.next();
    const size_t number = defined_.size();
    if (number == kMaxFunctions)
      return wrong("there are more than " + std::to_string(kMaxFunctions) + " functions", name.begin);
    if (!defined_.emplace(std::string(name.text), number).second)
      return wrong("a second function is called " + quoted(name.text), name.begin);
    if (is_public && found_) return wrong("a second function is public; mark helpers `private`", name.begin);
    FunctionText f;
    std::string head;
    TRY_OK(arguments(head, f));
    TRY_OK(results(head, f));
    if (take("attributes")) TRY_OK(skip_brackets());
    if (!lexer_.peek().is("{")) return unexpected("the body of the function");
    append("  func.func private ");
    append_name(std::string(name.text));
    append(head + " ");
    size_t at = lexer_.peek().begin;
    std::vector<Token> symbols;
    TRY_OK(skip_brackets(&symbols));
    for (const Token& s : symbols) {
      uses_.push_back({std::string(s.text), s.begin, number});
      append(text_.substr(at, s.begin - at));
      append_name(uses_.back().name);
      at = s.end;
    }
    append(text_.substr(at, lexer_.last_end() - at));
    append("\n");
    TRY_OK(skip_location());
    if (is_public) {
      found_ = true;
      out_.name = name.text;
      out_.argument_names = std::move(f.argument_names);
      out_.arguments = std::move(f.arguments);
      out_.results = std::move(f.results);
    }
    return Unit{};
  }

  void append(std::string_view text) {
    if (out_.pieces.empty()) out_.pieces.emplace_back();
    out_.pieces.back() += text;
  }

  void append_name(std::string name) {
    out_.names.push_back(std::move(name));
    out_.pieces.emplace_back();
  }

  // Every name in a body is a function of the text, and none calls itself, directly or through others: XLA knows no
  // recursion.
  Status check_names() {
    if (!found_) return wrong("there is no public function", text_.size());
    std::vector<std::set<size_t>> calls(defined_.size());
    for (const Use& use : uses_) {
      auto callee = defined_.find(use.name);
      if (callee == defined_.end()) return wrong("no function of the text is called " + quoted(use.name), use.position);
      calls[use.caller].insert(callee->second);
    }
    // Functions that call none which is left are taken away, until nothing changes.
    std::vector<size_t> open(defined_.size());
    std::vector<std::vector<size_t>> callers(defined_.size());
    std::vector<size_t> done;
    for (size_t f = 0; f < calls.size(); ++f) {
      open[f] = calls[f].size();
      if (open[f] == 0) done.push_back(f);
      for (size_t callee : calls[f]) callers[callee].push_back(f);
    }
    for (size_t i = 0; i < done.size(); ++i)
      for (size_t caller : callers[done[i]])
        if (--open[caller] == 0) done.push_back(caller);
    if (done.size() == defined_.size()) return Unit{};
    for (const auto& [name, number] : defined_)
      if (open[number] > 0)
        return wrong("function " + quoted(name) + " is part of a recursion, or calls one", text_.size());
    return Unit{};
  }

  std::string_view text_;
  const std::string& path_;
  Lexer lexer_;
  FunctionText out_;
  bool found_ = false;
  std::map<std::string, size_t> defined_;
  std::vector<Use> uses_;
};

}  // namespace

Result<FunctionText> read_function_text(std::string_view text, const std::string& path) {
  return Reader(text, path).run();
}

std::string with_prefix(const FunctionText& function, std::string_view prefix) {
  std::string out;
  for (size_t i = 0; i < function.pieces.size(); ++i) {
    if (i > 0) out += symbol(std::string(prefix) + function.names[i - 1]);
    out += function.pieces[i];
  }
  return out;
}

FunctionId declare(Module& module, const FunctionText& function, std::string_view prefix) {
  const RegionId body(module.regions.size());
  module.regions.emplace_back();
  auto add = [&](const Type& type, Values& values, size_t number) {
    module.values.push_back({.type = type, .inst = {}, .region = body, .number = number});
    values.emplace_back(module.values.size() - 1);
  };
  Region& region = module.at(body);
  for (size_t i = 0; i < function.arguments.size(); ++i) add(function.arguments[i], region.arguments, i);
  for (size_t i = 0; i < function.results.size(); ++i)
    add(function.results[i], region.results, function.arguments.size() + i);
  module.functions.push_back({.name = std::string(prefix) + function.name,
                              .arguments = std::vector<Argument>(function.arguments.size()),
                              .result_names = std::vector<std::string>(function.results.size()),
                              .body = body});
  return FunctionId(module.functions.size() - 1);
}

bool is_declaration(const Module& module, const Function& function) {
  const Region& body = module.at(function.body);
  if (!body.insts.empty() || body.results.empty()) return false;
  return std::all_of(body.results.begin(), body.results.end(), [&](Value v) {
    return module.contains(v) && module.at(v).region == function.body && module.at(v).number >= body.arguments.size();
  });
}

std::optional<Type> parse_type(std::string_view text) {
  constexpr std::string_view kBegin = "tensor<";
  if (!text.starts_with(kBegin) || !text.ends_with('>')) return std::nullopt;
  text = text.substr(kBegin.size(), text.size() - kBegin.size() - 1);
  Type out;
  while (true) {
    int64_t size = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    const auto length = static_cast<size_t>(end - text.data());
    if (error != std::errc() || size < 0 || !text.substr(length).starts_with('x')) break;
    out.dims.emplace_back(size);
    text.remove_prefix(length + 1);
  }
  const auto dtype = dtype_from_stablehlo_name(text);
  if (!dtype) return std::nullopt;
  out.dtype = *dtype;
  return out;
}

}  // namespace torchlift::stablehlo
