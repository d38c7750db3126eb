#include "torch/cursor.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace torchlift::torch {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_char(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c); }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void append_utf8(std::string& out, uint32_t code) {
  auto put = [&](uint32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 63));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 63));
    put(0x80 | (code & 63));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 63));
    put(0x80 | ((code >> 6) & 63));
    put(0x80 | (code & 63));
  }
}

}  // namespace

void Cursor::skip_spaces() {
  while (peek() == ' ' || peek() == '\t') ++offset_;
}

void Cursor::advance(size_t count) { offset_ = std::min(text_.size(), offset_ + count); }

bool Cursor::take(char c) {
  skip_spaces();
  if (at_end() || peek() != c) return false;
  ++offset_;
  return true;
}

bool Cursor::take(std::string_view text) {
  skip_spaces();
  if (!rest().starts_with(text)) return false;
  offset_ += text.size();
  return true;
}

std::string_view Cursor::identifier() {
  skip_spaces();
  size_t start = offset_;
  if (is_digit(peek())) return {};
  while (is_name_char(peek())) ++offset_;
  return taken_since(start);
}

std::optional<std::variant<int64_t, double>> Cursor::number() {
  skip_spaces();
  size_t end = offset_;
  if (peek() == '-' || peek() == '+') ++end;
  std::string_view sign = text_.substr(offset_, end - offset_);
  for (auto [word, value] : {std::pair<std::string_view, double>{"inf", std::numeric_limits<double>::infinity()},
                             std::pair<std::string_view, double>{"nan", std::numeric_limits<double>::quiet_NaN()}}) {
    if (!text_.substr(end).starts_with(word)) continue;
    offset_ = end + word.size();
    return sign == "-" ? -value : value;
  }
  bool integral = true;
  size_t digits = 0;
  for (; end < text_.size(); ++end) {
    char c = text_[end];
    bool exponent_sign = (c == '-' || c == '+') && digits > 0 && (text_[end - 1] == 'e' || text_[end - 1] == 'E');
    if (is_digit(c)) {
      ++digits;
    } else if (c == '.' || ((c == 'e' || c == 'E') && digits > 0) || exponent_sign) {
      integral = false;
    } else {
      break;
    }
  }
  if (digits == 0) return std::nullopt;
  const char* first = text_.data() + offset_ + (sign == "+" ? 1 : 0);
  const char* last = text_.data() + end;
  if (integral) {
    int64_t value = 0;
    auto [at, error] = std::from_chars(first, last, value);
    if (error != std::errc() || at != last) return std::nullopt;
    offset_ = end;
    return value;
  }
  double value = 0;
  auto [at, error] = std::from_chars(first, last, value);
  if (at != last || error == std::errc::invalid_argument) return std::nullopt;
  offset_ = end;
  return value;
}

std::optional<std::string> Cursor::string_literal() {
  skip_spaces();
  char quote = peek();
  if (quote != '\'' && quote != '"') return std::nullopt;
  size_t at = offset_ + 1;
  auto digits = [&](int count, int base) -> std::optional<uint32_t> {
    uint32_t value = 0;
    for (int i = 0; i < count; ++i, ++at) {
      int digit = at < text_.size() ? hex_digit(text_[at]) : -1;
      if (digit < 0 || digit >= base) return std::nullopt;
      value = value * static_cast<uint32_t>(base) + static_cast<uint32_t>(digit);
    }
    return value;
  };
  std::string out;
  while (at < text_.size()) {
    char c = text_[at++];
    if (c == quote) {
      offset_ = at;
      return out;
    }
    if (c != '\\') {
      out += c;
      continue;
    }
    if (at >= text_.size()) return std::nullopt;
    char escape = text_[at++];
    switch (escape) {
      case 'n': out += '\n'; break;
      case 't': out += '\t'; break;
      case 'r': out += '\r'; break;
      case 'f': out += '\f'; break;
      case 'v': out += '\v'; break;
      case 'a': out += '\a'; break;
      case 'b': out += '\b'; break;
      case 'x': {
        auto code = digits(2, 16);
        if (!code) return std::nullopt;
        out += static_cast<char>(static_cast<unsigned char>(*code));
        break;
      }
      case 'u': {
        auto code = digits(4, 16);
        if (!code) return std::nullopt;
        append_utf8(out, *code);
        break;
      }
      case '0':
      case '1':
      case '2':
      case '3': {
        --at;
        auto code = digits(3, 8);
        if (!code) return std::nullopt;
        out += static_cast<char>(static_cast<unsigned char>(*code));
        break;
      }
      default: out += escape;
    }
  }
  return std::nullopt;
}

std::string string_literal_of(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (char character : text) {
    auto c = static_cast<unsigned char>(character);
    if (c == '"' || c == '\\') {
      out += {'\\', character};
    } else if (c == '\n') {
      out += "\\n";
    } else if (c < 0x20 || c >= 0x7F) {
      out += {'\\', 'x', kHex[c >> 4], kHex[c & 15]};
    } else {
      out += character;
    }
  }
  return out + '"';
}

}  // namespace torchlift::torch
