// From a program to the bytes of a portable artifact.
#include <algorithm>
#include <map>

#include "base/check.hpp"
#include "stablehlo/vhlo.hpp"

namespace torchlift::stablehlo::vhlo {
namespace {

// What is used, how often, and which number it gets: the most used first, the first used first among equals.
class Uses {
 public:
  explicit Uses(size_t size) : counts_(size, 0), numbers_(size, 0) {}

  bool add(uint32_t item) {  // whether it is the first time
    if (counts_[item]++ > 0) return false;
    order_.push_back(item);
    return true;
  }

  // Groups of one dialect are made longer where that makes no number longer: 128 numbers take one byte, 16384 two, ...
  template <typename Fn>
  void number(Fn&& dialect_of) {
    std::stable_sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) { return counts_[a] > counts_[b]; });
    size_t begin = 0;
    uint32_t first = 0;
    for (size_t end = 128; begin < order_.size(); begin = end, end *= 128) {
      end = std::min(end, order_.size());
      auto rank = [&](uint32_t item) { return dialect_of(item) == first ? 0 : 1 + dialect_of(item); };
      std::stable_sort(order_.begin() + static_cast<std::ptrdiff_t>(begin),
                       order_.begin() + static_cast<std::ptrdiff_t>(end),
                       [&](uint32_t a, uint32_t b) { return rank(a) < rank(b); });
      first = dialect_of(order_[end - 1]);
    }
    for (size_t i = 0; i < order_.size(); ++i) numbers_[order_[i]] = static_cast<uint32_t>(i);
  }

  uint32_t operator[](uint32_t item) const { return numbers_[item]; }
  const std::vector<uint32_t>& order() const { return order_; }

 private:
  std::vector<size_t> counts_;
  std::vector<uint32_t> order_;
  std::vector<uint32_t> numbers_;
};

class Writer {
 public:
  explicit Writer(const Program& program)
      : program_(program),
        attributes_(program.attributes.size()),
        types_(program.types.size()),
        names_(program.names.size()),
        properties_(program.properties.size()) {}

  std::string run() {
    count(program_.root);
    auto dialect = [](auto& node) { return static_cast<uint32_t>(info(node.code).dialect); };
    attributes_.number([&](uint32_t n) { return dialect(program_.attributes[n]); });
    types_.number([&](uint32_t n) { return dialect(program_.types[n]); });
    names_.number([&](uint32_t n) { return dialect_of(program_.names[n]); });
    properties_.number([](uint32_t) { return 0u; });
    file_.producer = program_.producer;
    file_.dialects = {"builtin", "vhlo"};
    for (uint32_t n : names_.order()) {
      const OperationInfo* row = program_.names[n].info;
      file_.names.push_back({dialect_of(program_.names[n]),
                             row ? std::string(row->name) + "_v" + std::to_string(row->version) : "module"});
    }
    for (uint32_t n : attributes_.order()) file_.attributes.push_back(entry(program_.attributes[n]));
    for (uint32_t n : types_.order()) file_.types.push_back(entry(program_.types[n]));
    for (uint32_t n : properties_.order()) {
      bytecode::Encoder out;
      for (AttributeNumber a : program_.properties[n]) out.varint(property(a, n == program_.root.properties));
      file_.properties.push_back(std::move(out).take());
    }
    file_.root = renumbered(program_.root);
    file_.values = program_.values;
    return bytecode::write(file_);
  }

 private:
  static uint32_t dialect_of(const Name& name) {
    return static_cast<uint32_t>(name.info == nullptr ? Dialect::Builtin : Dialect::Vhlo);
  }

  uint64_t property(AttributeNumber number, bool of_module) const {
    if (!of_module) return attributes_[number];
    return number == 0 ? 0 : uint64_t{attributes_[number >> 1]} << 1 | 1;  // may be missing
  }

  // ---- counting
  template <typename Code>
  void count_fields(const Node<Code>& node) {
    for_each_field(node, [&](char letter, int64_t value) {
      if (letter == 't') count_type(static_cast<TypeNumber>(value));
      if (letter == 'a') count_attribute(static_cast<AttributeNumber>(value));
    });
  }

  void count_type(TypeNumber n) {
    if (types_.add(n)) count_fields(program_.types[n]);
  }

  void count_attribute(AttributeNumber n) {
    if (attributes_.add(n)) count_fields(program_.attributes[n]);
  }

  void count(const bytecode::Operation& op) {
    names_.add(op.name);
    for (TypeNumber type : op.result_types) count_type(type);
    if (op.attributes) count_attribute(*op.attributes);
    count_attribute(op.location);
    if (op.properties && properties_.add(*op.properties))
      for (AttributeNumber n : program_.properties[*op.properties]) {
        if (program_.info(op) != nullptr) count_attribute(n);
        else if (n > 0) count_attribute(n >> 1);
      }
    for (const bytecode::Region& region : op.regions) {
      for (const bytecode::BlockArgument& argument : region.arguments) {
        count_type(argument.type);
        if (argument.location) count_attribute(*argument.location);
      }
      for (const bytecode::Operation& inner : region.operations) count(inner);
    }
  }

  // ---- encoding
  size_t string(const std::string& text) {
    auto [at, is_new] = strings_.emplace(text, file_.strings.size());
    if (is_new) file_.strings.push_back(text);
    return at->second;
  }

  template <typename Code>
  bytecode::Entry entry(const Node<Code>& node) {
    const CodeInfo& row = info(node.code);
    bytecode::Encoder out;
    out.varint(row.code);
    size_t at = 0;
    for (char letter : row.layout) field(out, node, letter, at);
    return {static_cast<uint32_t>(row.dialect), true, std::move(out).take()};
  }

  template <typename Code>
  void field(bytecode::Encoder& out, const Node<Code>& node, char letter, size_t& at) {
    switch (letter) {
      case 's': out.varint(string(node.bytes)); return;
      case 'b':
        out.varint(node.bytes.size());
        out.bytes(node.bytes);
        return;
      case 'T':
      case 'A':
      case 'P':
      case 'Z':
      case 'V':
      case 'D': break;
      default: return single(out, node, letter, node.fields[at++]);
    }
    const auto count = static_cast<size_t>(node.fields[at++]);
    out.varint(count);
    const char item = letter == 'P' ? 'a' : static_cast<char>(letter - 'A' + 'a');
    for (size_t i = 0; i < (letter == 'P' ? 2 * count : count); ++i) single(out, node, item, node.fields[at++]);
  }

  template <typename Code>
  void single(bytecode::Encoder& out, const Node<Code>& node, char letter, int64_t value) {
    switch (letter) {
      case 't': return out.varint(types_[static_cast<TypeNumber>(value)]);
      case 'a': return out.varint(attributes_[static_cast<AttributeNumber>(value)]);
      case 'o':
        out.varint(value >= 0 ? 1 : 0);
        if (value >= 0) out.varint(attributes_[static_cast<AttributeNumber>(value)]);
        return;
      case 'O': return out.varint(value >= 0 ? uint64_t{attributes_[static_cast<AttributeNumber>(value)]} << 1 | 1 : 0);
      case 'v': return out.varint(static_cast<uint64_t>(value));
      case 'z': return out.signed_varint(value);
      case 'd': return out.signed_varint(value);
      default: return number(out, program_.type(static_cast<TypeNumber>(node.fields[0])), value);
    }
  }

  static void number(bytecode::Encoder& out, const Type& type, int64_t value) {
    const unsigned width = width_of(type).value_or(64);
    if (width <= 8) return out.byte(static_cast<uint8_t>(value & ((1 << width) - 1)));
    const auto bits = static_cast<uint64_t>(value);
    out.signed_varint(static_cast<int64_t>(width < 64 ? bits & ((uint64_t{1} << width) - 1) : bits));
  }

  bytecode::Operation renumbered(const bytecode::Operation& op) const {
    bytecode::Operation out;
    out.name = names_[op.name];
    out.location = attributes_[op.location];
    if (op.attributes) out.attributes = attributes_[*op.attributes];
    if (op.properties) out.properties = properties_[*op.properties];
    for (TypeNumber type : op.result_types) out.result_types.push_back(types_[type]);
    out.first_result = op.first_result;
    out.operands = op.operands;
    out.isolated = op.isolated;
    for (const bytecode::Region& region : op.regions) {
      bytecode::Region& to = out.regions.emplace_back();
      to.empty = region.empty;
      to.first_argument = region.first_argument;
      for (const bytecode::BlockArgument& argument : region.arguments) {
        bytecode::BlockArgument& a = to.arguments.emplace_back();
        a.type = types_[argument.type];
        if (argument.location) a.location = attributes_[*argument.location];
      }
      to.operations.reserve(region.operations.size());
      for (const bytecode::Operation& inner : region.operations) to.operations.push_back(renumbered(inner));
    }
    return out;
  }

  const Program& program_;
  Uses attributes_, types_, names_, properties_;
  bytecode::File file_;
  std::map<std::string, size_t> strings_;
};

}  // namespace

std::string write(const Program& program) { return Writer(program).run(); }

}  // namespace torchlift::stablehlo::vhlo
