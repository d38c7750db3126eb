// Small, locale-free text helpers.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace torchlift {

// Shortest text that reads back as the same double, always with a point or an exponent: "2.0", "1e-05", "inf", "nan".
std::string shortest(double value);

// Length of the valid UTF-8 sequence at the start of `text` (not empty), 0 if there is none.
size_t utf8_length(std::string_view text);

// Text from a file, fit for a terminal: control characters and invalid UTF-8 become \xNN.
std::string printable(std::string_view text);

// `printable`, in double quotes, with " and \ escaped.
std::string quoted(std::string_view text);

template <typename Range, typename Fn>
std::string join(const Range& range, std::string_view separator, Fn&& text_of) {
  std::string out;
  bool first = true;
  for (const auto& item : range) {
    if (!first) out += separator;
    first = false;
    out += text_of(item);
  }
  return out;
}

}  // namespace torchlift
