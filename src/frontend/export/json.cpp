#include "frontend/export/json.hpp"

#include <charconv>
#include <limits>

#include "base/kinds.hpp"
#include "base/text.hpp"

namespace torchlift::frontend {
namespace {

constexpr size_t kShownText = 40;

std::string shown(Element element) {
  switch (element.type()) {
    case simdjson::dom::element_type::ARRAY: return "a list";
    case simdjson::dom::element_type::OBJECT: return "an object";
    case simdjson::dom::element_type::NULL_VALUE: return "null";
    case simdjson::dom::element_type::STRING: {
      std::string_view text;
      if (element.get(text) != simdjson::SUCCESS) return "a text";
      return text.size() <= kShownText ? quoted(text) : quoted(text.substr(0, kShownText)) + "...";
    }
    case simdjson::dom::element_type::INT64:
    case simdjson::dom::element_type::UINT64:
    case simdjson::dom::element_type::DOUBLE:
    case simdjson::dom::element_type::BOOL: return simdjson::minify(element);
  }
  return "something else";
}

bool is_number_char(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

// Whether a JSON library can hold the number: an integer of 64 bits, or a finite double.
bool is_plain_number(std::string_view token) {
  const char* begin = token.data();
  const char* end = begin + token.size();
  if (token.find_first_of(".eE") == std::string_view::npos) {
    int64_t integer = 0;
    auto [at, error] = std::from_chars(begin, end, integer);
    return error == std::errc() || at != end;
  }
  double number = 0;
  auto [at, error] = std::from_chars(begin, end, number);
  return error == std::errc() || at != end;
}

// The length of a number, NaN or Infinity at the start of the text that has to be quoted; 0 if there is none.
size_t odd_number_length(std::string_view text, size_t& length) {
  for (std::string_view word : {"NaN", "Infinity", "-Infinity"})
    if (text.starts_with(word)) return length = word.size();
  length = 0;
  while (length < text.size() && is_number_char(text[length])) ++length;
  if (length == 0) {
    length = 1;
    return 0;
  }
  return is_plain_number(text.substr(0, length)) ? 0 : length;
}

}  // namespace

std::optional<std::string> quote_odd_numbers(std::string_view text) {
  std::string out;
  bool found = false;
  size_t copied = 0;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i)
        if (text[i] == '\\') ++i;
      ++i;
      continue;
    }
    size_t length = 0;
    if (odd_number_length(text.substr(i), length) > 0) {
      out += text.substr(copied, i - copied);
      out += '"';
      out += text.substr(i, length);
      out += '"';
      copied = i + length;
      found = true;
    }
    i += length;
  }
  if (!found) return std::nullopt;
  out += text.substr(copied);
  return out;
}

Result<JsonDocument> JsonDocument::parse(std::string_view text, const std::string& file, const std::string& member) {
  auto refuse = [&](std::string problem) {
    return diagnose(Kind::JsonSyntax, {{"problem", std::move(problem)}}, file, member);
  };
  if (text.size() > kMaxJsonBytes)
    return refuse(std::to_string(text.size()) + " bytes, at most " + std::to_string(kMaxJsonBytes) + " are read");
  JsonDocument out;
  simdjson::error_code error = out.parser_->allocate(text.size(), kMaxJsonDepth);
  if (error == simdjson::SUCCESS) error = out.parser_->parse(text.data(), text.size()).get(out.root_);
  if (error == simdjson::SUCCESS) return out;
  auto repaired = quote_odd_numbers(text);
  if (repaired && repaired->size() <= kMaxJsonBytes) {
    error = out.parser_->allocate(repaired->size(), kMaxJsonDepth);
    if (error == simdjson::SUCCESS) error = out.parser_->parse(*repaired).get(out.root_);
    if (error == simdjson::SUCCESS) return out;
  }
  return refuse(simdjson::error_message(error));
}

std::string JsonReader::path() const {
  std::string out;
  for (const Step& step : steps_) {
    if (step.key.empty()) {
      out += "[" + std::to_string(step.index) + "]";
      continue;
    }
    if (!out.empty()) out += '.';
    out += printable(step.key.substr(0, 200));
  }
  return out.empty() ? "the program" : out;
}

Diagnostic JsonReader::error(Kind kind, Arguments arguments) const {
  arguments.emplace_back("path", path());
  return diagnose(kind, std::move(arguments), file_, member_);
}

Diagnostic JsonReader::wrong(Element got, std::string expected) const { return wrong(shown(got), std::move(expected)); }

Diagnostic JsonReader::wrong(std::string got, std::string expected) const {
  return error(Kind::ProgramField, {{"got", std::move(got)}, {"expected", std::move(expected)}});
}

Diagnostic JsonReader::missing(std::string_view field) const {
  return error(Kind::ProgramFieldMissing, {{"field", std::string(field)}});
}

Diagnostic JsonReader::unknown_tag(std::string_view tag) const {
  return error(Kind::ProgramTag, {{"tag", printable(tag.substr(0, 100))}});
}

Result<Object> JsonReader::object(Element element) const {
  Object out;
  if (element.get(out) != simdjson::SUCCESS) return wrong(element, "an object");
  return out;
}

Result<Array> JsonReader::array(Element element) const {
  Array out;
  if (element.get(out) != simdjson::SUCCESS) return wrong(element, "a list");
  return out;
}

Result<std::string_view> JsonReader::text(Element element) const {
  std::string_view out;
  if (element.get(out) != simdjson::SUCCESS) return wrong(element, "a text");
  return out;
}

Result<int64_t> JsonReader::integer(Element element) const {
  int64_t out = 0;
  if (!element.is_int64() || element.get(out) != simdjson::SUCCESS) return wrong(element, "a 64-bit integer");
  return out;
}

Result<double> JsonReader::number(Element element) const {
  double out = 0;
  if (element.get(out) == simdjson::SUCCESS) return out;
  std::string_view text;
  if (element.get(text) != simdjson::SUCCESS) return wrong(element, "a number");
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error == std::errc::result_out_of_range) {  // 1e400, 1e-400
    double magnitude = text.find("e-") != std::string_view::npos ? 0.0 : std::numeric_limits<double>::infinity();
    return text.starts_with('-') ? -magnitude : magnitude;
  }
  if (error != std::errc() || end != text.data() + text.size()) return wrong(element, "a number");
  return out;
}

Result<bool> JsonReader::boolean(Element element) const {
  bool out = false;
  if (element.get(out) != simdjson::SUCCESS) return wrong(element, "true or false");
  return out;
}

Result<std::pair<std::string_view, Element>> JsonReader::tagged(Element element) const {
  TRY(Object members, object(element));
  if (members.size() != 1)
    return wrong("an object of " + std::to_string(members.size()) + " keys", "an object with one key, its tag");
  auto member = *members.begin();
  return std::pair(member.key, member.value);
}

Result<bool> JsonReader::boolean_field(Object object, std::string_view key, bool otherwise) {
  bool out = otherwise;
  TRY_OK(optional_field(object, key, [&](Element element) -> Status {
    TRY(out, boolean(element));
    return Unit{};
  }));
  return out;
}

}  // namespace torchlift::frontend
