#include "base/json.hpp"

#include <cmath>

#include "base/check.hpp"
#include "base/text.hpp"

namespace torchlift {

void JsonWriter::line(size_t depth) {
  if (indent_ > 0) out_ += "\n" + std::string(depth * static_cast<size_t>(indent_), ' ');
}

void JsonWriter::item() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (levels_.empty()) return;
  if (!levels_.back().empty) out_ += indent_ > 0 ? "," : ", ";
  levels_.back().empty = false;
  line(levels_.size());
}

JsonWriter& JsonWriter::begin_object() {
  item();
  out_ += '{';
  levels_.push_back({true, true});
  return *this;
}

JsonWriter& JsonWriter::end_object() {
  bool empty = levels_.back().empty;
  levels_.pop_back();
  if (!empty) line(levels_.size());
  out_ += '}';
  return *this;
}

JsonWriter& JsonWriter::begin_array() {
  item();
  out_ += '[';
  levels_.push_back({false, true});
  return *this;
}

JsonWriter& JsonWriter::end_array() {
  bool empty = levels_.back().empty;
  levels_.pop_back();
  if (!empty) line(levels_.size());
  out_ += ']';
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  CHECK(!levels_.empty() && levels_.back().object) << name;
  string(name);
  out_ += ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::string(std::string_view text) {
  item();
  constexpr std::string_view kHex = "0123456789abcdef";
  out_ += '"';
  for (size_t i = 0; i < text.size(); ++i) {
    auto c = static_cast<unsigned char>(text[i]);
    if (c == '"' || c == '\\') {
      out_ += '\\';
      out_ += text[i];
    } else if (c < 0x20 || c == 0x7F) {
      out_ += "\\u00";
      out_ += kHex[c >> 4];
      out_ += kHex[c & 15];
    } else if (c < 0x80) {
      out_ += text[i];
    } else if (size_t n = utf8_length(text.substr(i)); n > 0) {
      out_ += text.substr(i, n);
      i += n - 1;
    } else {
      out_ += "\\ufffd";
    }
  }
  out_ += '"';
  return *this;
}

JsonWriter& JsonWriter::integer(int64_t value) {
  item();
  out_ += std::to_string(value);
  return *this;
}

JsonWriter& JsonWriter::number(double value) {
  if (!std::isfinite(value)) return string(shortest(value));
  item();
  out_ += shortest(value);
  return *this;
}

JsonWriter& JsonWriter::boolean(bool value) {
  item();
  out_ += value ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::null() {
  item();
  out_ += "null";
  return *this;
}

JsonWriter& JsonWriter::integers(const std::vector<int64_t>& values) {
  item();
  out_ += "[" + join(values, ", ", [](int64_t v) { return std::to_string(v); }) + "]";
  return *this;
}

std::string JsonWriter::take() && {
  CHECK(levels_.empty()) << "an object or array is still open";
  return std::move(out_);
}

}  // namespace torchlift
