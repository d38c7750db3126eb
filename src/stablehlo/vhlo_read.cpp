// From the bytes of a portable artifact to its program.
#include <algorithm>

#include "base/check.hpp"
#include "base/text.hpp"
#include "stablehlo/vhlo.hpp"

namespace torchlift::stablehlo::vhlo {
namespace {

bool is_signed_integer(const Type& type) {
  switch (type.code) {
    case TypeCode::VhloI2:
    case TypeCode::VhloI4:
    case TypeCode::VhloI8:
    case TypeCode::VhloI16:
    case TypeCode::VhloI32:
    case TypeCode::VhloI64: return true;
    case TypeCode::BuiltinInteger: return (type.fields[0] & 3) != 2;
    default: return false;
  }
}

int64_t extended(uint64_t value, unsigned width, bool is_signed) {
  if (width >= 64) return static_cast<int64_t>(value);
  value &= (uint64_t{1} << width) - 1;
  if (is_signed && (value >> (width - 1)) != 0) value |= ~uint64_t{0} << width;
  return static_cast<int64_t>(value);
}

class Reader {
 public:
  Reader(bytecode::File file, const std::string& path) : file_(std::move(file)), path_(path) {}

  Result<Program> run() {
    out_.producer = file_.producer;
    constexpr std::string_view kProducer = "StableHLO_v";
    if (out_.producer.starts_with(kProducer)) out_.version = parse_version(out_.producer.substr(kProducer.size()));
    TRY_OK(entries("type", file_.types, out_.types, &type_code));
    TRY_OK(entries("attribute", file_.attributes, out_.attributes, &attribute_code));
    TRY_OK(check_nodes());
    TRY_OK(names());
    for (const std::string& bytes : file_.properties) {
      bytecode::Decoder in(bytes_of(bytes));
      auto& list = out_.properties.emplace_back();
      while (in.ok() && !in.at_end()) list.push_back(static_cast<AttributeNumber>(in.index(UINT32_MAX, "attribute")));
      if (!in.ok()) return wrong("properties: " + in.problem());
    }
    out_.root = std::move(file_.root);
    out_.values = file_.values;
    if (out_.info(out_.root) != nullptr || out_.root.regions.size() != 1 || out_.root.regions[0].empty ||
        !out_.root.isolated)
      return wrong("its top level is no module");
    TRY_OK(check(out_.root));
    return std::move(out_);
  }

 private:
  Diagnostic wrong(std::string problem) const { return bytecode::wrong_file(std::move(problem), path_); }

  std::optional<Dialect> dialect(uint32_t number) const {
    if (file_.dialects[number] == "builtin") return Dialect::Builtin;
    if (file_.dialects[number] == "vhlo") return Dialect::Vhlo;
    return std::nullopt;
  }

  template <typename Code>
  Status entries(const std::string& what, const std::vector<bytecode::Entry>& entries, std::vector<Node<Code>>& nodes,
                 std::optional<Code> (*by_code)(Dialect, uint64_t)) {
    for (const bytecode::Entry& entry : entries) {
      const std::string of = "of the dialect " + quoted(file_.dialects[entry.dialect]);
      const auto dialect = this->dialect(entry.dialect);
      if (!entry.encoded) return wrong("an attribute or type as text: " + quoted(entry.bytes.substr(0, 60)));
      if (!dialect) return wrong("an attribute or type " + of);
      bytecode::Decoder in(bytes_of(entry.bytes));
      const uint64_t number = in.varint();
      const auto code = by_code(*dialect, number);
      if (!code) return wrong("an " + what + " with code " + std::to_string(number) + " " + of);
      Node<Code>& node = nodes.emplace_back();
      node.code = *code;
      for (char letter : info(*code).layout) field(in, letter, node);
      if (in.ok() && !in.at_end()) in.fail(std::to_string(in.left()) + " bytes are left over");
      if (!in.ok())
        return wrong("an " + what + " with code " + std::to_string(number) + " " + of + ": " + in.problem());
    }
    return Unit{};
  }

  int64_t type(bytecode::Decoder& in) { return static_cast<int64_t>(in.index(file_.types.size(), "type")); }
  int64_t attribute(bytecode::Decoder& in) {
    return static_cast<int64_t>(in.index(file_.attributes.size(), "attribute"));
  }

  template <typename Code>
  void field(bytecode::Decoder& in, char letter, Node<Code>& node) {
    auto& fields = node.fields;
    switch (letter) {
      case 't': fields.push_back(type(in)); return;
      case 'a': fields.push_back(attribute(in)); return;
      case 'o': {
        const uint8_t flag = static_cast<uint8_t>(in.varint());
        if (flag > 1) in.fail("a flag of " + std::to_string(flag));
        fields.push_back(flag == 1 ? attribute(in) : -1);
        return;
      }
      case 'O': {
        const auto [number, is_there] = in.flagged();
        if (number >= file_.attributes.size() && is_there) in.fail("attribute " + std::to_string(number));
        fields.push_back(is_there ? static_cast<int64_t>(number) : -1);
        return;
      }
      case 'v':
      case 'd': fields.push_back(static_cast<int64_t>(letter == 'v' ? in.varint() : bits(in, 64))); return;
      case 'z': fields.push_back(in.signed_varint()); return;
      case 's': node.bytes = file_string(in); return;
      case 'b': node.bytes = in.bytes(in.varint()); return;
      case 'i':
      case 'f': number_of_type(in, letter, fields); return;
      default: break;
    }
    // Lists: their length, and then each of them.
    const uint64_t count = in.count();
    fields.push_back(static_cast<int64_t>(count));
    for (uint64_t i = 0; in.ok() && i < count; ++i) {
      if (letter == 'P') {
        fields.push_back(attribute(in));
        fields.push_back(attribute(in));
      } else {
        field(in, static_cast<char>(letter - 'A' + 'a'), node);
      }
    }
  }

  std::string file_string(bytecode::Decoder& in) {
    const uint64_t number = in.index(file_.strings.size(), "string");
    return in.ok() ? file_.strings[number] : "";
  }

  static uint64_t bits(bytecode::Decoder& in, unsigned width) {
    return width <= 8 ? in.byte() : static_cast<uint64_t>(in.signed_varint());
  }

  // Types are all read before the first attribute.
  void number_of_type(bytecode::Decoder& in, char letter, std::vector<int64_t>& fields) {
    if (!in.ok()) return;
    const Type& type = out_.types[static_cast<size_t>(fields[0])];
    const auto width = width_of(type);
    if (!width) return in.fail("a number of a type that is no number's");
    fields.push_back(extended(bits(in, *width), *width, letter == 'i' && is_signed_integer(type)));
  }

  // ---- Nothing holds itself, and no few bytes stand for a giant.
  struct Extent {
    size_t depth = 0;
    size_t size = 0;  // 0: not known yet
  };

  Status check_nodes() {
    type_extents_.resize(out_.types.size());
    attribute_extents_.resize(out_.attributes.size());
    for (size_t i = 0; i < out_.types.size() && fine_; ++i) extent(out_.types, type_extents_, i, 0);
    for (size_t i = 0; i < out_.attributes.size() && fine_; ++i) extent(out_.attributes, attribute_extents_, i, 0);
    if (!fine_)
      return wrong("attributes or types lie deeper than " + std::to_string(kMaxNodeDepth) +
                   " in one another, or have more than " + std::to_string(kMaxNodeSize) + " parts");
    return Unit{};
  }

  template <typename Code>
  Extent extent(const std::vector<Node<Code>>& nodes, std::vector<Extent>& extents, size_t number, size_t above) {
    if (extents[number].size != 0) {
      fine_ = fine_ && above + extents[number].depth <= kMaxNodeDepth;
      return extents[number];
    }
    Extent out{1, 1 + nodes[number].fields.size()};
    if (above >= kMaxNodeDepth) fine_ = false;
    if (!fine_) return out;
    for_each_field(nodes[number], [&](char letter, int64_t value) {
      if (!fine_ || (letter != 't' && letter != 'a')) return;
      const auto at = static_cast<size_t>(value);
      const Extent inner = letter == 't' ? extent(out_.types, type_extents_, at, above + 1)
                                         : extent(out_.attributes, attribute_extents_, at, above + 1);
      out.depth = std::max(out.depth, inner.depth + 1);
      out.size += inner.size;
      fine_ = fine_ && out.size <= kMaxNodeSize;
    });
    extents[number] = out;
    return out;
  }

  Status names() {
    for (const bytecode::OperationName& name : file_.names) {
      const auto dialect = this->dialect(name.dialect);
      Name& out = out_.names.emplace_back();
      if (dialect == Dialect::Builtin && name.name == "module") continue;
      if (dialect == Dialect::Vhlo) out.info = find(name.name);
      if (out.info == nullptr)
        return wrong("the operation " + quoted(file_.dialects[name.dialect] + "." + name.name) + ", which StableHLO " +
                     to_text(kNewestVersion) + " does not have");
    }
    return Unit{};
  }

  static const OperationInfo* find(std::string_view name) {
    const size_t at = name.rfind("_v");
    if (at == std::string_view::npos) return nullptr;
    for (const OperationInfo& row : versions_of(name.substr(0, at)))
      if (name.substr(at + 2) == std::to_string(row.version)) return &row;
    return nullptr;
  }

  static bool is_location(AttributeCode code) {
    switch (code) {
      case AttributeCode::BuiltinCallSiteLoc:
      case AttributeCode::BuiltinFileLineColLoc:
      case AttributeCode::BuiltinFileLineColRange:
      case AttributeCode::BuiltinFusedLoc:
      case AttributeCode::BuiltinFusedLocWithMetadata:
      case AttributeCode::BuiltinNameLoc:
      case AttributeCode::BuiltinUnknownLoc: return true;
      default: return false;
    }
  }

  Status check(const bytecode::Operation& op) {
    const OperationInfo* row = out_.info(op);
    if (row == nullptr && &op != &out_.root) return wrong("a module within the module");
    const std::string name = row == nullptr ? "module" : std::string(row->name);
    const size_t expected = row == nullptr ? 2 : row->attributes.size();
    const auto* properties = op.properties ? &out_.properties[*op.properties] : nullptr;
    const size_t got = properties == nullptr ? 0 : properties->size();
    if (got != expected && !(row == nullptr && got == 0))
      return wrong("`" + name + "` has " + std::to_string(got) + " properties, expected " + std::to_string(expected));
    for (size_t i = 0; i < got; ++i)
      if ((row == nullptr ? (*properties)[i] >> 1 : (*properties)[i]) >= out_.attributes.size())
        return wrong("`" + name + "` has an attribute that is not there");
    if (!is_location(out_.at(op.location).code)) return wrong("`" + name + "` has another attribute for a location");
    if (op.attributes && out_.at(*op.attributes).code != AttributeCode::BuiltinDictionary)
      return wrong("the attributes of `" + name + "` are no dictionary");
    for (const bytecode::Region& region : op.regions) {
      for (const bytecode::BlockArgument& argument : region.arguments)
        if (argument.location && !is_location(out_.at(*argument.location).code))
          return wrong("an argument has another attribute for a location");
      for (const bytecode::Operation& inner : region.operations) TRY_OK(check(inner));
    }
    return Unit{};
  }

  bytecode::File file_;
  const std::string& path_;
  Program out_;
  std::vector<Extent> type_extents_, attribute_extents_;
  bool fine_ = true;
};

}  // namespace

Result<Program> read(ByteView bytes, const std::string& path) {
  TRY(auto file, bytecode::read(bytes, path));
  TRY(auto program, Reader(std::move(file), path).run());
  program.bytes = bytes.size();
  return program;
}

}  // namespace torchlift::stablehlo::vhlo
