#include "lower/script_type.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace torchlift::lower {
namespace {

constexpr int kMaxTypeDepth = 16;

ScriptType plain(std::string_view name) { return {std::string(name), {}, false}; }
ScriptType of(std::string_view name, ScriptType item) { return {std::string(name), {std::move(item)}, false}; }
ScriptType optional(ScriptType item) { return item.name == "Optional" ? item : of("Optional", std::move(item)); }
bool is_unknown(const ScriptType& type) { return type.name == "?"; }

// ---- texts

class TypeParser {
 public:
  explicit TypeParser(std::string_view text) : text_(text) {}

  std::optional<ScriptType> whole() {
    auto type = one(0);
    skip();
    return at_ == text_.size() ? type : std::nullopt;
  }

 private:
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string_view word() {
    skip();
    auto is_part = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
    };
    size_t start = at_;
    while (at_ < text_.size() && is_part(text_[at_])) ++at_;
    return text_.substr(start, at_ - start);
  }
  // Up to the closing character.
  std::optional<std::vector<ScriptType>> list(char close, int depth) {
    std::vector<ScriptType> out;
    skip();
    if (text_.substr(at_).starts_with("()")) at_ += 2;  // "Tuple[()]"
    while (!take(close)) {
      auto item = one(depth + 1);
      if (!item) return std::nullopt;
      out.push_back(std::move(*item));
      if (!take(',')) return take(close) ? std::optional(std::move(out)) : std::nullopt;
    }
    return out;
  }
  bool alias_mark() {
    size_t end = text_.find(')', at_);
    if (end == std::string_view::npos) return false;
    at_ = end + 1;
    return true;
  }

  std::optional<ScriptType> one(int depth) {
    if (depth >= kMaxTypeDepth) return std::nullopt;
    ScriptType type;
    if (take('(')) {
      auto items = list(')', depth);
      if (!items) return std::nullopt;
      type = {"Tuple", std::move(*items), false};
    } else {
      type = named(word());
      if (type.name.empty()) return std::nullopt;
      constexpr std::array<std::string_view, 6> kConstructors{"Dict", "Future", "RRef", "Await", "Optional", "Union"};
      bool constructor = std::find(kConstructors.begin(), kConstructors.end(), type.name) != kConstructors.end();
      skip();
      bool suffix =
          at_ + 1 < text_.size() && (text_[at_ + 1] == ']' || (text_[at_ + 1] >= '0' && text_[at_ + 1] <= '9'));
      if (constructor && take('(')) {
        auto items = list(')', depth);
        if (!items) return std::nullopt;
        type.items = std::move(*items);
      } else if (!suffix && take('[')) {
        auto items = list(']', depth);
        if (!items) return std::nullopt;
        type.items = std::move(*items);
      }
      size_t expected = type.name == "Dict"                              ? 2
                        : type.name == "List" || type.name == "Optional" ? 1
                                                                         : type.items.size();
      if (type.items.size() != expected) return std::nullopt;
    }
    for (int suffixes = 0; suffixes < kMaxTypeDepth; ++suffixes) {
      if (take('?')) {
        type = optional(std::move(type));
      } else if (take('[')) {
        word();
        if (!take(']')) return std::nullopt;
        type = of("List", std::move(type));
      } else if (take('(')) {
        if (!alias_mark()) return std::nullopt;
      } else {
        return type;
      }
    }
    return std::nullopt;
  }

  // Enumerations are ints, names of dimensions are texts.
  static ScriptType named(std::string_view name) {
    if (name == "Scalar") return plain("number");
    if (name == "SymInt" || name == "ScalarType" || name == "Layout" || name == "MemoryFormat") return plain("int");
    if (name == "Dimname") return plain("str");
    if (name == "None") return plain("NoneType");
    ScriptType type = plain(name);
    type.variable = name.starts_with('t') && (name.size() == 1 || name[1] < 'a' || name[1] > 'z');
    return type;
  }

  std::string_view text_;
  size_t at_ = 0;
};

std::string_view name_of(torch::SchemaBase base) {
  using torch::SchemaBase;
  switch (base) {
    case SchemaBase::Tensor: return "Tensor";
    case SchemaBase::Scalar: return "number";
    case SchemaBase::Int:
    case SchemaBase::SymInt:
    case SchemaBase::ScalarType:
    case SchemaBase::Layout:
    case SchemaBase::MemoryFormat: return "int";
    case SchemaBase::Float: return "float";
    case SchemaBase::Bool: return "bool";
    case SchemaBase::Str:
    case SchemaBase::Dimname: return "str";
    case SchemaBase::Complex: return "complex";
    case SchemaBase::Device: return "Device";
    case SchemaBase::Generator: return "Generator";
    case SchemaBase::Storage: return "Storage";
    case SchemaBase::Stream: return "Stream";
    case SchemaBase::Any: return "Any";
    case SchemaBase::Other: break;
  }
  return "?";
}

// ---- values

// The type that holds both; "Any" if no other does.
ScriptType unified(const ScriptType& a, const ScriptType& b) {
  if (is_subtype(a, b)) return b;
  if (is_subtype(b, a)) return a;
  if (a.name == "NoneType") return optional(b);
  if (b.name == "NoneType") return optional(a);
  return plain("Any");
}

ScriptType type_of(const IValue& value, int depth);

ScriptType element_type(const std::vector<IValue>& items, int depth) {
  if (items.empty()) return plain("?");
  ScriptType out = type_of(items.front(), depth + 1);
  for (const IValue& item : items) out = unified(out, type_of(item, depth + 1));
  return out;
}

ScriptType declared(const std::string& text, ScriptType otherwise) {
  if (text.empty()) return otherwise;
  return parse_script_type(text).value_or(otherwise);
}

ScriptType type_of_tensor(const Tensor& t) {
  if (!t.is_device_number()) return plain("Tensor");
  if (is_bool(t.dtype())) return plain("bool");
  if (is_complex(t.dtype())) return plain("complex");
  return plain(is_float(t.dtype()) ? "float" : "int");
}

ScriptType type_of(const IValue& value, int depth) {
  if (depth >= kMaxTypeDepth) return plain("Any");
  return std::visit(
      [&](const auto& v) -> ScriptType {
        using T = std::remove_cvref_t<decltype(v)>;
        if constexpr (std::is_same_v<T, torch::None>) return plain("NoneType");
        else if constexpr (std::is_same_v<T, bool>) return plain("bool");
        else if constexpr (std::is_same_v<T, double>) return plain("float");
        else if constexpr (std::is_same_v<T, std::complex<double>>) return plain("complex");
        else if constexpr (std::is_same_v<T, std::string>) return plain("str");
        else if constexpr (std::is_same_v<T, torch::Device>) return plain("Device");
        else if constexpr (std::is_same_v<T, Tensor>) return type_of_tensor(v);
        else if constexpr (std::is_same_v<T, torch::CustomObject>) return plain(v.class_name);
        else if constexpr (std::is_same_v<T, IValue::List>) return of("List", element_type(v, depth));
        else if constexpr (std::is_same_v<T, ListRef>)
          return of("List",
                    v->element_type.empty() ? element_type(v->items, depth) : declared(v->element_type, plain("?")));
        else if constexpr (std::is_same_v<T, DictRef>) {
          ScriptType key = plain("?"), mapped = plain("?");
          if (!v->items.empty()) {
            key = type_of(v->items.front().first, depth + 1);
            mapped = type_of(v->items.front().second, depth + 1);
          }
          return {"Dict", {declared(v->key_type, key), declared(v->value_type, mapped)}, false};
        } else if constexpr (std::is_same_v<T, TupleRef>) {
          ScriptType out{"Tuple", {}, false};
          for (const IValue& item : v->items) out.items.push_back(type_of(item, depth + 1));
          return out;
        } else if constexpr (std::is_same_v<T, ObjectRef>) return plain(v->type);
        else if constexpr (std::is_same_v<T, torch::BlockId> || std::is_same_v<T, torch::OperatorName>)
          return plain("Any");
        else return plain("int");  // Dim, and the enumerations
      },
      value.data);
}

}  // namespace

std::optional<ScriptType> parse_script_type(std::string_view text) { return TypeParser(text).whole(); }

ScriptType type_of(const torch::SchemaArgument& argument) {
  if (argument.type.base == torch::SchemaBase::Other) return parse_script_type(argument.type_text).value_or(plain("?"));
  ScriptType out = plain(name_of(argument.type.base));
  if (argument.type.element_optional) out = optional(std::move(out));
  if (argument.type.list) out = of("List", std::move(out));
  return argument.type.optional ? optional(std::move(out)) : out;
}

ScriptType type_of(const IValue& value) { return type_of(value, 0); }

std::string text_of(const ScriptType& type) {
  if (type.items.empty()) return type.name;
  return type.name + "[" + join(type.items, ", ", [](const ScriptType& item) { return text_of(item); }) + "]";
}

bool bind_variables(const ScriptType& formal, const ScriptType& actual, TypeVariables& variables) {
  if (formal.variable) {
    auto [it, fresh] = variables.emplace(formal.name, actual);
    if (fresh) return true;
    ScriptType both = unified(it->second, actual);
    if (both.name == "Any" && it->second.name != "Any" && actual.name != "Any") return false;
    it->second = std::move(both);
    return true;
  }
  if (formal.items.empty()) return true;
  if (formal.name == "Optional") {
    if (actual.name == "NoneType") return true;
    return bind_variables(formal.items[0], actual.name == "Optional" ? actual.items[0] : actual, variables);
  }
  if (formal.name == "List" && actual.name == "Tuple") {  // that may become a list
    for (const ScriptType& item : actual.items)
      if (!bind_variables(formal.items[0], item, variables)) return false;
    return true;
  }
  if (formal.name != actual.name || formal.items.size() != actual.items.size()) return true;  // is_subtype says no
  for (size_t i = 0; i < formal.items.size(); ++i)
    if (!bind_variables(formal.items[i], actual.items[i], variables)) return false;
  return true;
}

ScriptType bound(const ScriptType& formal, const TypeVariables& variables) {
  if (formal.variable) {
    auto it = variables.find(formal.name);
    return it == variables.end() ? plain("?") : it->second;
  }
  ScriptType out{formal.name, {}, false};
  for (const ScriptType& item : formal.items) out.items.push_back(bound(item, variables));
  return out;
}

namespace {

bool is_same(const ScriptType& a, const ScriptType& b) {
  if (is_unknown(a) || is_unknown(b)) return true;
  if (a.name != b.name || a.items.size() != b.items.size()) return false;
  for (size_t i = 0; i < a.items.size(); ++i)
    if (!is_same(a.items[i], b.items[i])) return false;
  return true;
}

}  // namespace

bool is_subtype(const ScriptType& actual, const ScriptType& formal) {
  if (formal.name == "Any" || is_same(actual, formal)) return true;
  if (formal.name == "Optional") {
    if (actual.name == "NoneType") return true;
    return is_subtype(actual.name == "Optional" ? actual.items[0] : actual, formal.items[0]);
  }
  if (formal.name == "Union")
    return std::any_of(formal.items.begin(), formal.items.end(),
                       [&](const ScriptType& item) { return is_subtype(actual, item); });
  if (formal.name == "number") return actual.name == "int" || actual.name == "float" || actual.name == "complex";
  if (formal.name == "AnyListType") return actual.name == "List";
  if (formal.name == "AnyTupleType") return actual.name == "Tuple";
  if (formal.name == "AnyClassType" || formal.name == "AnyEnumType") return actual.name.starts_with("__torch__");
  if (formal.name == "Tuple" && actual.name == "Tuple" && formal.items.size() == actual.items.size()) {
    for (size_t i = 0; i < formal.items.size(); ++i)
      if (!is_subtype(actual.items[i], formal.items[i])) return false;
    return true;
  }
  return false;
}

}  // namespace torchlift::lower
