#include "torch/script_type.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "base/kinds.hpp"
#include "base/text.hpp"
#include "torch/cursor.hpp"

namespace torchlift::torch {
namespace {

constexpr size_t kShownText = 80;  // of a type in messages

struct Container {
  std::string_view name;
  size_t fewest;
  size_t most;
};

constexpr size_t kAny = SIZE_MAX;
constexpr std::array kContainers = {
    Container{"List", 1, 1}, Container{"Optional", 1, 1}, Container{"Future", 1, 1},   Container{"Await", 1, 1},
    Container{"RRef", 1, 1}, Container{"Dict", 2, 2},     Container{"Tuple", 0, kAny}, Container{"Union", 1, kAny},
};

const Container* find_container(std::string_view name) {
  auto found =
      std::find_if(kContainers.begin(), kContainers.end(), [&](const Container& row) { return row.name == name; });
  return found == kContainers.end() ? nullptr : &*found;
}

class TypeReader {
 public:
  explicit TypeReader(std::string_view text) : text_(text), cursor_(text) {}

  Result<ScriptType> whole() {
    TRY(ScriptType type, one(0));
    cursor_.skip_spaces();
    if (!cursor_.at_end()) return wrong("the end of the type");
    return type;
  }

 private:
  Result<ScriptType> one(size_t depth);
  Result<std::string> dotted_name();
  Status arguments(ScriptType& type, size_t depth);
  Diagnostic wrong(std::string expected, std::string got = "") const;

  std::string_view text_;
  Cursor cursor_;
};

Diagnostic TypeReader::wrong(std::string expected, std::string got) const {
  if (got.empty()) got = cursor_.at_end() ? "its end" : quoted(cursor_.rest().substr(0, 1));
  std::string shown = text_.size() <= kShownText ? printable(text_) : printable(text_.substr(0, kShownText)) + "...";
  return diagnose(Kind::ScriptType, {{"text", std::move(shown)},
                                     {"got", std::move(got)},
                                     {"column", static_cast<int64_t>(cursor_.offset() + 1)},
                                     {"expected", std::move(expected)}});
}

Result<std::string> TypeReader::dotted_name() {
  cursor_.skip_spaces();
  std::string out;
  do {
    std::string_view part = cursor_.identifier();
    if (part.empty()) return wrong("a name");
    if (!out.empty()) out += '.';
    out += part;
  } while (cursor_.take('.'));
  if (out == "None") return std::string("NoneType");
  if (out == "Scalar") return std::string("number");
  return out;
}

Status TypeReader::arguments(ScriptType& type, size_t depth) {
  if (cursor_.take('(')) {  // Tuple[()]
    if (!type.is("Tuple")) return wrong("a type");
    if (!cursor_.take(')') || !cursor_.take(']')) return wrong("`()]`");
    return Unit{};
  }
  do {
    cursor_.skip_spaces();
    if (cursor_.peek() == ']' && !type.arguments.empty()) break;  // after a last comma
    TRY(type.arguments.emplace_back(), one(depth + 1));
  } while (cursor_.take(','));
  if (!cursor_.take(']')) return wrong("`,` or `]`");
  return Unit{};
}

Result<ScriptType> TypeReader::one(size_t depth) {
  if (depth >= kMaxScriptTypeDepth)
    return wrong("at most " + std::to_string(kMaxScriptTypeDepth) + " levels", "deeper levels");
  ScriptType type;
  TRY(type.name, dotted_name());
  const Container* container = find_container(type.name);
  if (!cursor_.take('[')) return container == nullptr ? Result<ScriptType>(type) : wrong("`[`");
  if (container == nullptr) return wrong("no type arguments for `" + type.name + "`", "\"[\"");
  TRY_OK(arguments(type, depth));
  size_t count = type.arguments.size();
  if (count < container->fewest || count > container->most)
    return wrong(std::to_string(container->fewest), std::to_string(count) + " type arguments for `" + type.name + "`");
  return type;
}

}  // namespace

bool ScriptType::is_class() const { return name.starts_with("__torch__."); }

Result<ScriptType> parse_script_type(std::string_view text) {
  if (text.size() > kMaxScriptTypeText)
    return diagnose(Kind::ScriptType, {{"text", printable(text.substr(0, kShownText)) + "..."},
                                       {"got", std::to_string(text.size()) + " bytes"},
                                       {"column", int64_t{1}},
                                       {"expected", "at most " + std::to_string(kMaxScriptTypeText)}});
  return TypeReader(text).whole();
}

std::string print(const ScriptType& type) {
  if (type.arguments.empty()) return type.is("Tuple") ? "Tuple[()]" : type.name;
  return type.name + "[" + join(type.arguments, ", ", [](const ScriptType& part) { return print(part); }) + "]";
}

std::string type_argument(std::string_view type, size_t index) {
  auto parsed = parse_script_type(type);
  return parsed && index < parsed->arguments.size() ? print(parsed->arguments[index]) : "";
}

}  // namespace torchlift::torch
