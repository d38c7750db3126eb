// A reading place in a text: the small steps that the parsers of this room share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace torchlift::torch {

class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  bool at_end() const { return offset_ >= text_.size(); }
  char peek(size_t ahead = 0) const { return offset_ + ahead < text_.size() ? text_[offset_ + ahead] : '\0'; }
  size_t offset() const { return offset_; }
  std::string_view rest() const { return text_.substr(offset_); }
  std::string_view taken_since(size_t start) const { return text_.substr(start, offset_ - start); }

  void skip_spaces();              // blanks and tabs
  void advance(size_t count = 1);  // not past the end
  bool take(char c);               // the character stands here, after blanks: step over it
  bool take(std::string_view text);
  std::string_view identifier();  // letters, digits and underscores, no digit first; empty if none stands here
  // A decimal number with optional sign; "inf" and "nan" are doubles. Nothing if none stands here or it leaves 64 bits.
  std::optional<std::variant<int64_t, double>> number();
  std::optional<std::string> string_literal();  // Python's, with ' or "; escapes resolved

 private:
  std::string_view text_;
  size_t offset_ = 0;
};

// A Python string literal that `string_literal` reads back: "a\"b\n". All bytes outside printable ASCII are escaped.
std::string string_literal_of(std::string_view text);

}  // namespace torchlift::torch
