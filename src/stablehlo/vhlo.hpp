// A program as a portable artifact holds it: operations of VHLO, StableHLO's stable twin, with attributes and types as
// trees of codes (vhlo_ops.def, vhlo_codes.def). Whatever StableHLO can say stands here, also what our own modules
// never do; artifact.hpp goes between the two.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stablehlo/bytecode.hpp"

namespace torchlift::stablehlo::vhlo {

struct Version {
  int major = 0;
  int minor = 0;
  int patch = 0;
  auto operator<=>(const Version&) const = default;
};

std::optional<Version> parse_version(std::string_view text);  // "1.0.0"
std::string to_text(Version version);

inline constexpr Version kOldestVersion{1, 0, 0};   // that is written
inline constexpr Version kNewestVersion{1, 20, 0};  // of the tables

enum class Dialect : uint8_t { Builtin, Vhlo };

enum class AttributeCode : uint8_t {
#define VHLO_ATTRIBUTE(dialect, name, code, layout, since) dialect##name,
#define VHLO_TYPE(dialect, name, code, layout, text, since)
#include "stablehlo/vhlo_codes.def"
#undef VHLO_ATTRIBUTE
#undef VHLO_TYPE
};

enum class TypeCode : uint8_t {
#define VHLO_ATTRIBUTE(dialect, name, code, layout, since)
#define VHLO_TYPE(dialect, name, code, layout, text, since) dialect##name,
#include "stablehlo/vhlo_codes.def"
#undef VHLO_ATTRIBUTE
#undef VHLO_TYPE
};

struct CodeInfo {
  Dialect dialect{};
  uint8_t code = 0;
  std::string_view layout;
  std::string_view text;  // of types without fields
  Version since;
};
const CodeInfo& info(AttributeCode code);
const CodeInfo& info(TypeCode code);
std::optional<AttributeCode> attribute_code(Dialect dialect, uint64_t code);
std::optional<TypeCode> type_code(Dialect dialect, uint64_t code);

// One version of an operation.
struct OperationInfo {
  std::string_view name;  // "dot_general"
  int version = 0;
  Version since;
  Version until;
  std::vector<std::string_view> attributes;  // in the order of an artifact
};
std::span<const OperationInfo> versions_of(std::string_view name);  // oldest first; none: no such operation

// An attribute or type: the fields of its layout one after the other, a list as its length and its items.
template <typename Code>
struct Node {
  Code code{};
  std::vector<int64_t> fields;
  std::string bytes;  // of the fields `s` and `b`
  auto operator<=>(const Node&) const = default;
};
using Attribute = Node<AttributeCode>;
using Type = Node<TypeCode>;

// Numbers of attributes and types in a Program.
using AttributeNumber = uint32_t;
using TypeNumber = uint32_t;

struct Name {
  const OperationInfo* info = nullptr;  // none: builtin.module
};

struct Program {
  std::string producer;            // "StableHLO_v1.0.0"
  std::optional<Version> version;  // where the producer says one
  std::vector<Name> names;
  std::vector<Attribute> attributes;
  std::vector<Type> types;
  // Of an operation: one attribute per name of its row. Of the module: its name and visibility, each 0 where it is
  // missing or twice the number and one.
  std::vector<std::vector<AttributeNumber>> properties;
  bytecode::Operation root;  // builtin.module; numbers are those of the tables here
  uint32_t values = 0;
  uint64_t bytes = 0;  // of the file, where it is from one

  const Attribute& at(AttributeNumber n) const { return attributes[n]; }
  const Type& type(TypeNumber n) const { return types[n]; }
  const OperationInfo* info(const bytecode::Operation& op) const { return names[op.name].info; }
  // Of an operation of VHLO; nothing if its version has no such attribute.
  std::optional<AttributeNumber> attribute(const bytecode::Operation& op, std::string_view name) const;
  // The items of an array, of a dictionary (key, value, key, ...) and other lists that stand alone.
  std::span<const int64_t> items(const Attribute& list) const { return std::span(list.fields).subspan(1); }
};

constexpr size_t kMaxNodeDepth = 32;       // of attributes and types in one another
constexpr size_t kMaxNodeSize = 1u << 20;  // nodes of one, with all that is in it

// Operations, attributes and types that are in none of the tables are refused, and so are cycles.
Result<Program> read(ByteView bytes, const std::string& path);

// Attributes and types in the order of their use, the most used first, as MLIR itself has them: that makes small
// numbers.
std::string write(const Program& program);

// Makes equal nodes one.
template <typename Code>
class Pool {
 public:
  explicit Pool(std::vector<Node<Code>>& nodes) : nodes_(nodes) {}
  uint32_t intern(Node<Code> node) {
    auto [at, is_new] = numbers_.emplace(std::move(node), static_cast<uint32_t>(nodes_.size()));
    if (is_new) nodes_.push_back(at->first);
    return at->second;
  }

 private:
  std::vector<Node<Code>>& nodes_;
  std::map<Node<Code>, uint32_t> numbers_;
};

// Bits of a number of the type: i32 has 32; nothing for other types.
std::optional<unsigned> width_of(const Type& type);

// `fn(letter, field)` for each field of a node in turn, items of lists under the lower-case letter of the list.
template <typename Code, typename Fn>
void for_each_field(const Node<Code>& node, Fn&& fn) {
  size_t at = 0;
  for (char letter : info(node.code).layout) {
    if (letter == 's' || letter == 'b') continue;
    const bool is_list =
        letter == 'T' || letter == 'A' || letter == 'Z' || letter == 'V' || letter == 'D' || letter == 'P';
    size_t count = is_list ? static_cast<size_t>(node.fields[at++]) : 1;
    if (letter == 'P') count *= 2;
    if (letter == 'o' || letter == 'O') {
      if (node.fields[at] >= 0) fn('a', node.fields[at]);
      ++at;
      continue;
    }
    const char item = letter == 'P' ? 'a' : is_list ? static_cast<char>(letter - 'A' + 'a') : letter;
    for (size_t i = 0; i < count; ++i) fn(item, node.fields[at++]);
  }
}

// The program's functions, for whoever asks what an artifact is.
struct Signature {
  std::vector<TypeNumber> arguments;
  std::vector<TypeNumber> results;
};
struct FunctionInfo {
  std::string name;
  bool is_public = false;
  Signature signature;
  const bytecode::Operation* operation = nullptr;
};
// Each top-level func; anything else on the top level is an error, as are types that are no function's.
Result<std::vector<FunctionInfo>> functions(const Program& program, const std::string& path);

// How StableHLO's text has it: "tensor<8x3xf32>", "!stablehlo.token".
std::string type_text(const Program& program, TypeNumber type);

// MLIR's text of a StableHLO module, every operation in the generic form. An artifact of a few bytes can stand for a
// very long text: at most kMaxTextRatio times its bytes (and a megabyte) are written, more is an error.
constexpr uint64_t kMaxTextRatio = 256;
Result<std::string> to_text(const Program& program, const std::string& path, bool locations = false);

}  // namespace torchlift::stablehlo::vhlo
