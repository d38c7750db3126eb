// Schema text -> Schema.
#include <algorithm>
#include <array>
#include <utility>

#include "base/kinds.hpp"
#include "base/text.hpp"
#include "torch/cursor.hpp"
#include "torch/schema.hpp"

namespace torchlift::torch {
namespace {

constexpr int kMaxTypeDepth = 8;

constexpr auto kBases = std::to_array<std::pair<std::string_view, SchemaBase>>({
    {"Tensor", SchemaBase::Tensor},
    {"Scalar", SchemaBase::Scalar},
    {"int", SchemaBase::Int},
    {"SymInt", SchemaBase::SymInt},
    {"float", SchemaBase::Float},
    {"SymFloat", SchemaBase::Float},
    {"bool", SchemaBase::Bool},
    {"SymBool", SchemaBase::Bool},
    {"str", SchemaBase::Str},
    {"complex", SchemaBase::Complex},
    {"Device", SchemaBase::Device},
    {"ScalarType", SchemaBase::ScalarType},
    {"Layout", SchemaBase::Layout},
    {"MemoryFormat", SchemaBase::MemoryFormat},
    {"Generator", SchemaBase::Generator},
    {"Storage", SchemaBase::Storage},
    {"Dimname", SchemaBase::Dimname},
    {"Stream", SchemaBase::Stream},
    {"Any", SchemaBase::Any},
});

// Type constructors whose parentheses hold types; after any other name they hold an alias mark.
constexpr auto kConstructors =
    std::to_array<std::string_view>({"Dict", "Future", "RRef", "Await", "Optional", "Union"});

SchemaBase base_named(std::string_view name) {
  for (const auto& [text, base] : kBases)
    if (text == name) return base;
  return SchemaBase::Other;
}

struct MarkedType {
  SchemaType type;
  std::optional<AliasMark> alias;
};

class SchemaParser {
 public:
  explicit SchemaParser(std::string_view text) : text_(text), cursor_(text) {}
  Result<Schema> schema();

 private:
  Status name(Schema& schema);
  Result<SchemaArgument> argument(bool keyword_only);
  Status returns(Schema& schema);
  Result<MarkedType> type(int depth = 0);
  Status base_type(SchemaType& out, int depth);
  Result<AliasMark> alias_mark();
  Result<Operand> default_value(const SchemaType& type, int depth = 0);
  Result<Operand> decoded(Operand plain, const SchemaType& type);
  Status want(std::string_view text);
  Diagnostic unexpected(std::string_view expected) const;

  std::string_view text_;
  Cursor cursor_;
};

Diagnostic SchemaParser::unexpected(std::string_view expected) const {
  std::string got = cursor_.at_end() ? "its end" : quoted(cursor_.rest().substr(0, 16));
  return diagnose(Kind::SchemaSyntax, {{"schema", printable(text_.substr(0, 200))},
                                       {"got", got},
                                       {"column", static_cast<int64_t>(cursor_.offset() + 1)},
                                       {"expected", std::string(expected)}});
}

Status SchemaParser::want(std::string_view text) {
  if (!cursor_.take(text)) return unexpected("`" + std::string(text) + "`");
  return Unit{};
}

Status SchemaParser::name(Schema& schema) {
  std::string_view space = cursor_.identifier();
  if (space.empty()) return unexpected("a namespace");
  TRY_OK(want("::"));
  std::string_view base = cursor_.identifier();
  if (base.empty()) return unexpected("an operator name");
  schema.name = std::string(space) + "::" + std::string(base);
  if (!cursor_.take('.')) return Unit{};
  schema.overload = cursor_.identifier();
  if (schema.overload.empty()) return unexpected("an overload name");
  if (schema.overload == "default") schema.overload.clear();
  return Unit{};
}

Result<AliasMark> SchemaParser::alias_mark() {
  AliasMark mark;
  size_t start = cursor_.offset();
  while (!cursor_.at_end() && cursor_.peek() != ')') cursor_.advance();
  std::string_view inside = cursor_.taken_since(start);
  TRY_OK(want(")"));
  mark.wildcard = inside.find('*') != std::string_view::npos;
  inside = inside.substr(0, inside.find_first_of(" *-"));
  mark.write = inside.ends_with('!');
  if (mark.write) inside.remove_suffix(1);
  mark.set = inside;
  return mark;
}

Status SchemaParser::base_type(SchemaType& out, int depth) {
  if (depth >= kMaxTypeDepth) return unexpected("a type that is not nested as deeply");
  if (cursor_.take('(')) {  // a tuple type
    while (!cursor_.take(')')) {
      TRY_OK(type(depth + 1));
      if (!cursor_.take(',') && cursor_.peek() != ')') return unexpected("`,` or `)`");
    }
    return Unit{};
  }
  std::string_view name = cursor_.identifier();
  if (name.empty()) return unexpected("a type");
  while (cursor_.peek() == '.' && cursor_.peek(1) != '.') {  // __torch__.torch.classes.quantized.LinearPackedParams
    cursor_.advance();
    cursor_.identifier();
  }
  out.base = base_named(name);
  if (std::find(kConstructors.begin(), kConstructors.end(), name) == kConstructors.end() || cursor_.peek() != '(')
    return Unit{};
  cursor_.advance();
  do {
    TRY_OK(type(depth + 1));
  } while (cursor_.take(','));
  return want(")");
}

Result<MarkedType> SchemaParser::type(int depth) {
  MarkedType out;
  SchemaType& t = out.type;
  TRY_OK(base_type(t, depth));
  while (true) {
    if (cursor_.peek() == '(') {
      cursor_.advance();
      TRY(out.alias, alias_mark());
    } else if (cursor_.peek() == '[') {
      cursor_.advance();
      if (t.list) t.base = SchemaBase::Other;  // a list of lists
      t.element_optional = std::exchange(t.optional, false);
      t.list = true;
      if (auto size = cursor_.number(); size && std::holds_alternative<int64_t>(*size))
        t.list_size = std::get<int64_t>(*size);
      TRY_OK(want("]"));
    } else if (cursor_.peek() == '?') {
      cursor_.advance();
      t.optional = true;
    } else {
      return out;
    }
  }
}

// Enumerations stand as c10's numbers, an integer may stand for a float, and one value for a list of fixed size.
Result<Operand> SchemaParser::decoded(Operand plain, const SchemaType& type) {
  const auto* number = plain.get<int64_t>();
  if (!number) return plain;
  if (type.list && type.list_size > 0) {
    SchemaType element{.base = type.base};
    TRY(Operand one, decoded(plain, element));
    return Operand{Operand::List(static_cast<size_t>(std::min<int64_t>(type.list_size, 16)), one)};
  }
  auto known = [&](auto value) -> Result<Operand> {
    if (!value) return unexpected("a number of that enumeration");
    return Operand{*value};
  };
  switch (type.base) {
    case SchemaBase::Float: return Operand{static_cast<double>(*number)};
    case SchemaBase::ScalarType: return known(dtype_from_c10(*number));
    case SchemaBase::Layout: return known(layout_from_c10(*number));
    case SchemaBase::MemoryFormat: return known(memory_format_from_c10(*number));
    case SchemaBase::Tensor:
    case SchemaBase::Scalar:
    case SchemaBase::Int:
    case SchemaBase::SymInt:
    case SchemaBase::Bool:
    case SchemaBase::Str:
    case SchemaBase::Complex:
    case SchemaBase::Device:
    case SchemaBase::Generator:
    case SchemaBase::Storage:
    case SchemaBase::Dimname:
    case SchemaBase::Stream:
    case SchemaBase::Any:
    case SchemaBase::Other: return plain;
  }
  return plain;
}

Result<Operand> SchemaParser::default_value(const SchemaType& type, int depth) {
  if (depth >= kMaxTypeDepth) return unexpected("a default that is not nested as deeply");
  if (cursor_.take('[')) {
    Operand::List list;
    SchemaType element{.base = type.base};
    while (!cursor_.take(']')) {
      TRY(list.emplace_back(), default_value(element, depth + 1));
      if (!cursor_.take(',') && cursor_.peek() != ']') return unexpected("`,` or `]`");
    }
    return Operand{std::move(list)};
  }
  if (auto text = cursor_.string_literal()) return Operand{*std::move(text)};
  if (auto number = cursor_.number()) {
    if (const auto* real = std::get_if<double>(&*number)) return Operand{*real};
    return decoded(Operand{std::get<int64_t>(*number)}, type);
  }
  std::string_view word = cursor_.identifier();
  if (word == "None") return Operand{None{}};
  if (word == "True" || word == "False") return Operand{word == "True"};
  return unexpected("a default value");
}

Result<SchemaArgument> SchemaParser::argument(bool keyword_only) {
  SchemaArgument out{
      .name = {}, .type = {}, .type_text = {}, .default_value = {}, .keyword_only = keyword_only, .alias = {}};
  cursor_.skip_spaces();
  size_t start = cursor_.offset();
  TRY(MarkedType marked, type());
  out.type = marked.type;
  out.alias = marked.alias;
  if (out.type.base == SchemaBase::Other) out.type_text = cursor_.taken_since(start);
  out.name = cursor_.identifier();
  if (cursor_.take('=')) {
    TRY(out.default_value, default_value(out.type));
  }
  return out;
}

Status SchemaParser::returns(Schema& schema) {
  TRY_OK(want("->"));
  auto add = [&]() -> Status {
    TRY(MarkedType marked, type());
    schema.returns.push_back({.name = std::string(cursor_.identifier()), .type = marked.type, .alias = marked.alias});
    return Unit{};
  };
  if (cursor_.take("...")) return Unit{};
  if (!cursor_.take('(')) return add();
  while (!cursor_.take(')')) {
    TRY_OK(add());
    if (!cursor_.take(',') && cursor_.peek() != ')') return unexpected("`,` or `)`");
  }
  return Unit{};
}

Result<Schema> SchemaParser::schema() {
  Schema out;
  TRY_OK(name(out));
  TRY_OK(want("("));
  bool keyword_only = false;
  while (!cursor_.take(')')) {
    if (cursor_.take("...")) {
      out.is_variadic = true;
    } else if (cursor_.take('*')) {
      keyword_only = true;
    } else {
      TRY(out.arguments.emplace_back(), argument(keyword_only));
    }
    if (!cursor_.take(',') && cursor_.peek() != ')') return unexpected("`,` or `)`");
  }
  TRY_OK(returns(out));
  cursor_.skip_spaces();
  if (!cursor_.at_end()) return unexpected("the end");
  return out;
}

}  // namespace

Result<Schema> parse_schema(std::string_view text) { return SchemaParser(text).schema(); }

std::optional<DType> dtype_from_c10(int64_t number) {
  switch (number) {
    case 0: return DType::UInt8;
    case 1: return DType::Int8;
    case 2: return DType::Int16;
    case 3: return DType::Int32;
    case 4: return DType::Int64;
    case 5: return DType::Float16;
    case 6: return DType::Float32;
    case 7: return DType::Float64;
    case 8: return DType::Complex32;
    case 9: return DType::Complex64;
    case 10: return DType::Complex128;
    case 11: return DType::Bool;
    case 15: return DType::BFloat16;
    case 23: return DType::Float8E5M2;
    case 24: return DType::Float8E4M3FN;
    case 25: return DType::Float8E5M2FNUZ;
    case 26: return DType::Float8E4M3FNUZ;
    case 27: return DType::UInt16;
    case 28: return DType::UInt32;
    case 29: return DType::UInt64;
    case 44: return DType::Float8E8M0FNU;
    default: return std::nullopt;  // 12-14, 16-22, 30-43: quantized, bit and sub-byte types
  }
}

std::optional<Layout> layout_from_c10(int64_t number) {
  constexpr std::array kLayouts{Layout::Strided,   Layout::SparseCoo, Layout::SparseCsr, Layout::Mkldnn,
                                Layout::SparseCsc, Layout::SparseBsr, Layout::SparseBsc};
  if (number < 0 || number >= static_cast<int64_t>(kLayouts.size())) return std::nullopt;
  return kLayouts[static_cast<size_t>(number)];
}

std::optional<MemoryFormat> memory_format_from_c10(int64_t number) {
  constexpr std::array kFormats{MemoryFormat::Contiguous, MemoryFormat::Preserve, MemoryFormat::ChannelsLast,
                                MemoryFormat::ChannelsLast3d};
  if (number < 0 || number >= static_cast<int64_t>(kFormats.size())) return std::nullopt;
  return kFormats[static_cast<size_t>(number)];
}

}  // namespace torchlift::torch
