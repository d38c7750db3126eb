// The words of TorchScript's saved code.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/kinds.hpp"
#include "base/result.hpp"
#include "frontend/script/syntax.hpp"

namespace torchlift::frontend::script {

enum class TokenKind : uint8_t { Name, Integer, Real, Imaginary, String, Symbol, Newline, Indent, Dedent, End };

struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text;  // a String with its quotes, an Imaginary without its `j`
  Position at;
};

// Ends with an End; every Indent has its Dedent. Line ends inside of brackets are no tokens, nor are comments and empty
// lines. The texts are views of `text`.
Result<std::vector<Token>> tokens_of(std::string_view text, const std::string& member);

// What a String says: C's escapes (of one letter, or three octal digits), as the printer writes them; nothing if there
// is another.
std::optional<std::string> text_of_literal(std::string_view literal);

// "line {line} has {got}, expected {expected}" and its like; `member` is the archive member.
Diagnostic syntax_error(const std::string& member, Position at, std::string got, std::string expected);
Diagnostic size_error(const std::string& member, std::string what, size_t limit);

}  // namespace torchlift::frontend::script
