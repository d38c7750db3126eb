// The tables of VHLO.
#include "stablehlo/vhlo.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/check.hpp"

namespace torchlift::stablehlo::vhlo {
namespace {

constexpr Version version_literal(std::string_view text) {
  if (text.empty()) return {1 << 20, 0, 0};  // no end
  std::array<int, 3> parts{};
  size_t part = 0;
  for (char c : text) {
    if (c == '.') ++part;
    else parts[part] = 10 * parts[part] + (c - '0');
  }
  return {parts[0], parts[1], parts[2]};
}

constexpr CodeInfo kAttributes[] = {
#define VHLO_ATTRIBUTE(dialect, name, code, layout, since) {Dialect::dialect, code, layout, "", version_literal(since)},
#define VHLO_TYPE(dialect, name, code, layout, text, since)
#include "stablehlo/vhlo_codes.def"
#undef VHLO_ATTRIBUTE
#undef VHLO_TYPE
};

constexpr CodeInfo kTypes[] = {
#define VHLO_ATTRIBUTE(dialect, name, code, layout, since)
#define VHLO_TYPE(dialect, name, code, layout, text, since) \
  {Dialect::dialect, code, layout, text, version_literal(since)},
#include "stablehlo/vhlo_codes.def"
#undef VHLO_ATTRIBUTE
#undef VHLO_TYPE
};

template <typename Code, size_t n>
std::optional<Code> find(const CodeInfo (&table)[n], Dialect dialect, uint64_t code) {
  for (size_t i = 0; i < n; ++i)
    if (table[i].dialect == dialect && table[i].code == code) return static_cast<Code>(i);
  return std::nullopt;
}

OperationInfo row(std::string_view name, int version, std::string_view since, std::string_view until,
                  std::string_view attributes) {
  OperationInfo out{name, version, version_literal(since), version_literal(until), {}};
  while (!attributes.empty()) {
    const size_t end = std::min(attributes.find(' '), attributes.size());
    out.attributes.push_back(attributes.substr(0, end));
    attributes.remove_prefix(std::min(end + 1, attributes.size()));
  }
  return out;
}

const std::vector<OperationInfo>& operations() {
  static const std::vector<OperationInfo> kRows = {
#define VHLO_OP(name, version, since, until, attributes) row(name, version, since, until, attributes),
#include "stablehlo/vhlo_ops.def"
#undef VHLO_OP
  };
  return kRows;
}

}  // namespace

std::optional<Version> parse_version(std::string_view text) {
  std::array<int, 3> parts{};
  for (size_t i = 0; i < parts.size(); ++i) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parts[i]);
    if (error != std::errc() || parts[i] < 0 || text.starts_with('-')) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (i + 1 == parts.size()) break;
    if (!text.starts_with('.')) return std::nullopt;
    text.remove_prefix(1);
  }
  if (!text.empty()) return std::nullopt;
  return Version{parts[0], parts[1], parts[2]};
}

std::string to_text(Version version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor) + "." + std::to_string(version.patch);
}

const CodeInfo& info(AttributeCode code) { return kAttributes[static_cast<size_t>(code)]; }
const CodeInfo& info(TypeCode code) { return kTypes[static_cast<size_t>(code)]; }

std::optional<AttributeCode> attribute_code(Dialect dialect, uint64_t code) {
  return find<AttributeCode>(kAttributes, dialect, code);
}
std::optional<TypeCode> type_code(Dialect dialect, uint64_t code) { return find<TypeCode>(kTypes, dialect, code); }

std::span<const OperationInfo> versions_of(std::string_view name) {
  auto [begin, end] = std::equal_range(operations().begin(), operations().end(), OperationInfo{name, 0, {}, {}, {}},
                                       [](const OperationInfo& a, const OperationInfo& b) { return a.name < b.name; });
  return {begin, end};
}

std::optional<unsigned> width_of(const Type& type) {
  switch (type.code) {
    case TypeCode::VhloBoolean: return 1;
    case TypeCode::VhloI2:
    case TypeCode::VhloUI2: return 2;
    case TypeCode::VhloI4:
    case TypeCode::VhloUI4:
    case TypeCode::VhloF4E2M1FN: return 4;
    case TypeCode::VhloF6E2M3FN:
    case TypeCode::VhloF6E3M2FN: return 6;
    case TypeCode::VhloI8:
    case TypeCode::VhloUI8:
    case TypeCode::VhloF8E4M3FN:
    case TypeCode::VhloF8E5M2:
    case TypeCode::VhloF8E4M3FNUZ:
    case TypeCode::VhloF8E5M2FNUZ:
    case TypeCode::VhloF8E4M3B11FNUZ:
    case TypeCode::VhloF8E4M3:
    case TypeCode::VhloF8E3M4:
    case TypeCode::VhloF8E8M0FNU: return 8;
    case TypeCode::VhloI16:
    case TypeCode::VhloUI16:
    case TypeCode::VhloBF16:
    case TypeCode::VhloF16:
    case TypeCode::BuiltinBF16:
    case TypeCode::BuiltinF16: return 16;
    case TypeCode::VhloTF32: return 19;
    case TypeCode::VhloI32:
    case TypeCode::VhloUI32:
    case TypeCode::VhloF32:
    case TypeCode::BuiltinF32: return 32;
    case TypeCode::VhloIndex:
    case TypeCode::VhloI64:
    case TypeCode::VhloUI64:
    case TypeCode::VhloF64:
    case TypeCode::BuiltinIndex:
    case TypeCode::BuiltinF64: return 64;
    case TypeCode::BuiltinInteger:
      if (const int64_t width = type.fields[0] >> 2; width > 0 && width <= 64) return static_cast<unsigned>(width);
      return std::nullopt;
    case TypeCode::VhloComplex:
    case TypeCode::VhloFunction:
    case TypeCode::VhloRankedTensor:
    case TypeCode::VhloRankedTensorWithEncoding:
    case TypeCode::VhloToken:
    case TypeCode::VhloTuple:
    case TypeCode::VhloUniformQuantized:
    case TypeCode::VhloUnrankedTensor:
    case TypeCode::VhloWitness:
    case TypeCode::VhloUniformQuantizedPerAxis:
    case TypeCode::VhloNone:
    case TypeCode::VhloRankedBuffer:
    case TypeCode::VhloFuture:
    case TypeCode::BuiltinComplex:
    case TypeCode::BuiltinNone:
    case TypeCode::BuiltinRankedTensor:
    case TypeCode::BuiltinRankedTensorWithEncoding:
    case TypeCode::BuiltinTuple:
    case TypeCode::BuiltinUnrankedTensor: return std::nullopt;
  }
  return std::nullopt;
}

std::optional<AttributeNumber> Program::attribute(const bytecode::Operation& op, std::string_view name) const {
  const OperationInfo* row = info(op);
  if (row == nullptr || !op.properties) return std::nullopt;
  auto at = std::find(row->attributes.begin(), row->attributes.end(), name);
  if (at == row->attributes.end()) return std::nullopt;
  return properties[*op.properties][static_cast<size_t>(at - row->attributes.begin())];
}

Result<std::vector<FunctionInfo>> functions(const Program& program, const std::string& path) {
  std::vector<FunctionInfo> out;
  for (const bytecode::Region& region : program.root.regions)
    for (const bytecode::Operation& op : region.operations) {
      const OperationInfo* row = program.info(op);
      if (row == nullptr || row->name != "func")
        return bytecode::wrong_file("the top level holds something else than functions", path);
      const Attribute& name = program.at(*program.attribute(op, "sym_name"));
      const Attribute& visibility = program.at(*program.attribute(op, "sym_visibility"));
      const Attribute& type = program.at(*program.attribute(op, "function_type"));
      if (name.code != AttributeCode::VhloString || visibility.code != AttributeCode::VhloString ||
          type.code != AttributeCode::VhloType)
        return bytecode::wrong_file("a function without a name or type", path);
      const Type& function = program.type(static_cast<TypeNumber>(type.fields[0]));
      if (function.code != TypeCode::VhloFunction || op.regions.size() != 1)
        return bytecode::wrong_file("`" + name.bytes + "` has no type of a function", path);
      FunctionInfo& f = out.emplace_back();
      f.name = name.bytes;
      f.is_public = visibility.bytes != "private" && visibility.bytes != "nested";
      f.operation = &op;
      const auto inputs = static_cast<size_t>(function.fields[0]);
      for (size_t i = 1; i < function.fields.size(); ++i) {
        if (i == inputs + 1) continue;  // how many results
        auto& list = i <= inputs ? f.signature.arguments : f.signature.results;
        list.push_back(static_cast<TypeNumber>(function.fields[i]));
      }
    }
  return out;
}

}  // namespace torchlift::stablehlo::vhlo
