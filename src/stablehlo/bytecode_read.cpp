// Reading a bytecode file: the tables, then the operations.
#include <array>

#include "base/text.hpp"
#include "stablehlo/bytecode.hpp"
#include "stablehlo/bytecode_sections.hpp"

namespace torchlift::stablehlo::bytecode {
namespace {

class Reader {
 public:
  Reader(ByteView bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  Result<File> run() {
    if (!is_bytecode(bytes_)) return wrong_file("it does not begin as MLIR's bytecode", path_);
    Decoder in(bytes_.subspan(4), 4);
    const uint64_t format = in.varint();
    if (in.ok() && format != kFormat)
      return wrong_file("its bytecode has format " + std::to_string(format) + ", expected " + std::to_string(kFormat),
                        path_);
    file_.producer = in.terminated();
    while (in.ok() && !in.at_end()) {
      const Decoder::Section section = in.section();
      if (!in.ok()) break;
      if (section.id >= kSections) in.fail("a section of kind " + std::to_string(section.id));
      else if (sections_[section.id]) in.fail("two sections of kind " + std::to_string(section.id));
      else sections_[section.id] = section;
    }
    TRY_OK(finished(in, "the list of sections"));
    TRY_OK(strings());
    TRY_OK(dialects());
    TRY_OK(entries());
    TRY_OK(properties());
    TRY_OK(operations());
    return std::move(file_);
  }

 private:
  static constexpr size_t kSections = 9;

  Status finished(Decoder& in, std::string_view what) {
    if (in.ok() && !in.at_end()) in.fail(std::to_string(in.left()) + " bytes are left over");
    if (in.ok()) return Unit{};
    return wrong_file(std::string(what) + ": " + in.problem(), path_);
  }

  Decoder open(SectionId id) const {
    const auto& section = sections_[static_cast<size_t>(id)];
    if (section) return Decoder(section->bytes, section->offset);
    Decoder none{ByteView()};
    none.fail("it is not there");
    return none;
  }

  Status strings() {
    Decoder in = open(SectionId::String);
    std::vector<uint64_t> sizes(in.count());
    for (size_t i = sizes.size(); i-- > 0;) sizes[i] = in.varint();  // the last one's comes first
    for (uint64_t size : sizes) {
      std::string_view text = in.bytes(size);
      if (!in.ok()) break;
      if (text.empty() || text.back() != '\0') in.fail("a string without a zero byte at its end");
      else file_.strings.emplace_back(text.substr(0, text.size() - 1));
    }
    return finished(in, "the strings");
  }

  Status dialects() {
    Decoder in = open(SectionId::Dialect);
    for (uint64_t n = in.count(); in.ok() && n > 0; --n) {
      const auto [name, has_version] = in.flagged();
      if (name >= file_.strings.size()) in.fail("the name of a dialect is string " + std::to_string(name));
      else file_.dialects.push_back(file_.strings[name]);
      if (has_version) in.section();
    }
    const uint64_t names = in.varint();
    while (in.ok() && !in.at_end()) {
      const auto dialect = static_cast<uint32_t>(in.index(file_.dialects.size(), "dialect"));
      for (uint64_t n = in.count(); in.ok() && n > 0; --n) {
        const auto [name, registered] = in.flagged();
        if (name >= file_.strings.size()) in.fail("the name of an operation is string " + std::to_string(name));
        else file_.names.push_back({dialect, file_.strings[name]});
      }
    }
    if (in.ok() && names != file_.names.size()) in.fail(std::to_string(names) + " operations are announced");
    return finished(in, "the dialects");
  }

  Status entries() {
    Decoder offsets = open(SectionId::AttributeTypeOffset);
    Decoder data = open(SectionId::AttributeType);
    const uint64_t attributes = offsets.count();
    const uint64_t types = offsets.count();
    for (auto [size, table] : {std::pair(attributes, &file_.attributes), std::pair(types, &file_.types)}) {
      while (offsets.ok() && table->size() < size) {
        const auto dialect = static_cast<uint32_t>(offsets.index(file_.dialects.size(), "dialect"));
        const uint64_t n = offsets.count();
        if (n == 0 || n > size - table->size()) offsets.fail("a group of " + std::to_string(n));
        for (uint64_t i = 0; offsets.ok() && i < n; ++i) {
          const auto [bytes, encoded] = offsets.flagged();
          table->push_back({dialect, encoded, std::string(data.bytes(bytes))});
          if (!data.ok()) offsets.fail("they are longer than what they lead to");
        }
      }
    }
    TRY_OK(finished(offsets, "the offsets of attributes and types"));
    return finished(data, "attributes and types");
  }

  Status properties() {
    if (!sections_[static_cast<size_t>(SectionId::Properties)]) return Unit{};
    Decoder in = open(SectionId::Properties);
    for (uint64_t n = in.count(); in.ok() && n > 0; --n) file_.properties.emplace_back(in.bytes(in.varint()));
    return finished(in, "the properties");
  }

  // ---- operations. A scope is an isolated region with all that lies in it; it maps the numbers of the file to ours.
  using Scope = std::vector<uint32_t>;

  Status operations() {
    Decoder in = open(SectionId::Ir);
    const auto [count, has_arguments] = in.flagged();
    if (in.ok() && (count != 1 || has_arguments)) in.fail("the top level is not one operation");
    Scope scope;
    uint32_t defined = 0;
    operation(in, file_.root, scope, defined, 0, 0);
    return finished(in, "the operations");
  }

  uint32_t entry(Decoder& in, const std::vector<Entry>& table, const char* what) const {
    return static_cast<uint32_t>(in.index(table.size(), what));
  }

  // `next`: our number of the next value to be defined in the region, of which `end` is the last.
  void operation(Decoder& in, Operation& out, Scope& scope, uint32_t& next, uint32_t end, size_t depth) {
    out.name = static_cast<uint32_t>(in.index(file_.names.size(), "operation name"));
    const uint8_t mask = in.byte();
    if ((mask & ~kAllParts) != 0) in.fail("an operation with parts " + std::to_string(mask));
    out.location = entry(in, file_.attributes, "attribute");
    if ((mask & kHasAttributes) != 0) out.attributes = entry(in, file_.attributes, "attribute");
    if ((mask & kHasProperties) != 0)
      out.properties = static_cast<uint32_t>(in.index(file_.properties.size(), "properties"));
    if ((mask & kHasResults) != 0) {
      const uint64_t count = in.count();
      for (uint64_t i = 0; in.ok() && i < count; ++i) out.result_types.push_back(entry(in, file_.types, "type"));
      out.first_result = define(in, next, end, out.result_types.size());
    }
    if ((mask & kHasOperands) != 0)
      for (uint64_t n = in.count(); in.ok() && n > 0; --n) {
        const uint64_t number = in.index(scope.size(), "value");
        if (in.ok()) out.operands.push_back(scope[number]);
      }
    if ((mask & kHasSuccessors) != 0) in.fail("an operation with successors");
    if ((mask & kHasUseOrder) != 0) skip_use_order(in, out.result_types.size());
    if ((mask & kHasRegions) == 0 || !in.ok()) return;
    if (depth == kMaxDepth) return in.fail("regions nest deeper than " + std::to_string(kMaxDepth));
    const auto [count, isolated] = in.flagged();
    if (count > in.left()) return in.fail(std::to_string(count) + " regions");
    out.isolated = isolated;
    if (!isolated) return regions(in, out, scope, count, depth + 1);
    const Decoder::Section section = in.section();
    if (in.ok() && section.id != static_cast<uint8_t>(SectionId::Ir)) in.fail("regions in another section");
    if (!in.ok()) return;
    Scope inner;
    Decoder content(section.bytes, section.offset);
    regions(content, out, inner, count, depth + 1);
    if (content.ok() && !content.at_end()) content.fail(std::to_string(content.left()) + " bytes are left over");
    if (!content.ok()) in.fail(content.problem());
  }

  void regions(Decoder& in, Operation& out, Scope& scope, uint64_t count, size_t depth) {
    for (uint64_t i = 0; in.ok() && i < count; ++i) region(in, out.regions.emplace_back(), scope, depth);
  }

  void region(Decoder& in, Region& out, Scope& scope, size_t depth) {
    const uint64_t blocks = in.varint();
    out.empty = blocks == 0;
    if (out.empty || !in.ok()) return;
    if (blocks != 1) return in.fail("a region of " + std::to_string(blocks) + " blocks");
    // Each value has a type in the file, which takes a byte.
    const uint64_t values = in.count();
    if (values > bytes_.size() - file_.values) return in.fail("more values than bytes");
    uint32_t next = file_.values;
    file_.values += static_cast<uint32_t>(values);
    const uint32_t end = file_.values;
    const size_t outer = scope.size();
    for (uint32_t value = next; value < end; ++value) scope.push_back(value);
    const auto [operations, has_arguments] = in.flagged();
    if (operations > in.left()) return in.fail(std::to_string(operations) + " operations");
    if (has_arguments) {
      const uint64_t count = in.count();
      for (uint64_t i = 0; in.ok() && i < count; ++i) {
        const auto [type, has_location] = in.flagged();
        if (type >= file_.types.size()) in.fail("type " + std::to_string(type));
        BlockArgument& argument = out.arguments.emplace_back();
        argument.type = static_cast<uint32_t>(type);
        if (has_location) argument.location = entry(in, file_.attributes, "attribute");
      }
      out.first_argument = define(in, next, end, out.arguments.size());
      const uint8_t mask = in.byte();
      if (mask == kHasUseOrder) skip_use_order(in, out.arguments.size());
      else if (mask != 0) in.fail("a block with parts " + std::to_string(mask));
    }
    for (uint64_t i = 0; in.ok() && i < operations; ++i)
      operation(in, out.operations.emplace_back(), scope, next, end, depth);
    if (in.ok() && next != end) in.fail(std::to_string(end - next) + " values are announced and not defined");
    scope.resize(outer);
  }

  static uint32_t define(Decoder& in, uint32_t& next, uint32_t end, size_t count) {
    const uint32_t first = next;
    if (count > end - next) in.fail("more values than are announced");
    else next += static_cast<uint32_t>(count);
    return first;
  }

  // In which order MLIR keeps the uses of a value: without a meaning.
  static void skip_use_order(Decoder& in, size_t values) {
    uint64_t lists = 1;
    if (values != 1) lists = in.count();
    for (uint64_t i = 0; in.ok() && i < lists; ++i) {
      if (values != 1) in.varint();
      const auto [count, pairs] = in.flagged();
      if (count > in.left()) in.fail("an order of " + std::to_string(count) + " uses");
      for (uint64_t k = 0; in.ok() && k < count; ++k) in.varint();
    }
  }

  ByteView bytes_;
  const std::string& path_;
  std::array<std::optional<Decoder::Section>, kSections> sections_;
  File file_;
};

}  // namespace

Result<File> read(ByteView bytes, const std::string& path) {
  if (bytes.size() > UINT32_MAX) return wrong_file("it has more than 4 GiB", path);
  return Reader(bytes, path).run();
}

}  // namespace torchlift::stablehlo::bytecode
