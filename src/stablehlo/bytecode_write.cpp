// Writing a bytecode file. Equal files are equal bytes.
#include <algorithm>
#include <map>
#include <set>

#include "base/check.hpp"
#include "stablehlo/bytecode.hpp"
#include "stablehlo/bytecode_sections.hpp"

namespace torchlift::stablehlo::bytecode {
namespace {

class Writer {
 public:
  explicit Writer(const File& file)
      : file_(file), strings_(file.strings), numbers_(file.values, 0), regions_(file.values, 0) {
    for (size_t i = 0; i < strings_.size(); ++i) string_numbers_.emplace(strings_[i], i);
  }

  std::string run() {
    Encoder out;
    out.bytes("ML\xefR");
    out.varint(kFormat);
    out.bytes(file_.producer);
    out.byte(0);
    section(out, SectionId::Dialect, dialects());
    auto [offsets, entries] = this->entries();
    section(out, SectionId::AttributeTypeOffset, offsets);
    section(out, SectionId::AttributeType, entries);
    find_closed(file_.root);
    Encoder ir;
    ir.flagged(1, false);
    operation(ir, file_.root, 0);
    section(out, SectionId::Ir, ir);
    Encoder no_resources;
    no_resources.varint(0);
    section(out, SectionId::ResourceOffset, no_resources);
    section(out, SectionId::Resource, Encoder());
    section(out, SectionId::String, strings());
    section(out, SectionId::Properties, properties());
    return std::move(out).take();
  }

 private:
  static void section(Encoder& out, SectionId id, const Encoder& content) {
    out.section(static_cast<uint8_t>(id), content);
  }

  size_t string(const std::string& text) {
    auto [at, is_new] = string_numbers_.emplace(text, strings_.size());
    if (is_new) strings_.push_back(text);
    return at->second;
  }

  // Items in groups of one dialect: its number, how many, each of them.
  template <typename Item, typename Fn>
  static void grouped(Encoder& out, const std::vector<Item>& items, Fn&& each) {
    for (size_t begin = 0; begin < items.size();) {
      size_t end = begin;
      while (end < items.size() && items[end].dialect == items[begin].dialect) ++end;
      out.varint(items[begin].dialect);
      out.varint(end - begin);
      for (; begin < end; ++begin) each(items[begin]);
    }
  }

  Encoder dialects() {
    Encoder out;
    out.varint(file_.dialects.size());
    for (const std::string& name : file_.dialects) out.flagged(string(name), false);
    out.varint(file_.names.size());
    grouped(out, file_.names, [&](const OperationName& name) { out.flagged(string(name.name), true); });
    return out;
  }

  std::pair<Encoder, Encoder> entries() const {
    std::pair<Encoder, Encoder> out;
    Encoder& offsets = out.first;
    Encoder& data = out.second;
    offsets.varint(file_.attributes.size());
    offsets.varint(file_.types.size());
    auto each = [&](const Entry& entry) {
      offsets.flagged(entry.bytes.size(), entry.encoded);
      data.bytes(entry.bytes);
    };
    grouped(offsets, file_.attributes, each);
    grouped(offsets, file_.types, each);
    return out;
  }

  Encoder strings() const {
    Encoder out;
    out.varint(strings_.size());
    for (size_t i = strings_.size(); i-- > 0;) out.varint(strings_[i].size() + 1);
    for (const std::string& text : strings_) {
      out.bytes(text);
      out.byte(0);
    }
    return out;
  }

  Encoder properties() const {
    Encoder out;
    out.varint(file_.properties.size());
    for (const std::string& bytes : file_.properties) {
      out.varint(bytes.size());
      out.bytes(bytes);
    }
    return out;
  }

  // ---- which operations use no values from outside in their regions
  // Regions are numbered as they begin: what a region sees is defined in it, or in one that has begun before it.
  // Gives the first region whose values the operation uses, in its own regions too.
  uint32_t find_closed(const Operation& op) {
    uint32_t own = UINT32_MAX;
    for (uint32_t value : op.operands) own = std::min(own, regions_[value]);
    const uint32_t begin = next_region_;
    uint32_t inner = UINT32_MAX;
    for (const Region& region : op.regions) {
      const uint32_t number = next_region_++;
      auto define = [&](uint32_t value, size_t count) { std::fill_n(regions_.begin() + value, count, number); };
      define(region.first_argument, region.arguments.size());
      for (const Operation& child : region.operations) define(child.first_result, child.result_types.size());
      for (const Operation& child : region.operations) inner = std::min(inner, find_closed(child));
    }
    if (!op.regions.empty() && inner >= begin) closed_.insert(&op);
    return std::min(own, inner);
  }

  // `first`: the number that the values of the operation's regions begin at, where these are not isolated.
  void operation(Encoder& out, const Operation& op, uint32_t first) {
    out.varint(op.name);
    out.byte(static_cast<uint8_t>((op.attributes ? kHasAttributes : 0) | (op.result_types.empty() ? 0 : kHasResults) |
                                  (op.operands.empty() ? 0 : kHasOperands) | (op.regions.empty() ? 0 : kHasRegions) |
                                  (op.properties ? kHasProperties : 0)));
    out.varint(op.location);
    if (op.attributes) out.varint(*op.attributes);
    if (op.properties) out.varint(*op.properties);
    if (!op.result_types.empty()) {
      out.varint(op.result_types.size());
      for (uint32_t type : op.result_types) out.varint(type);
    }
    if (!op.operands.empty()) {
      out.varint(op.operands.size());
      for (uint32_t value : op.operands) out.varint(numbers_[value]);
    }
    if (op.regions.empty()) return;
    // Numbers in an isolated region begin at 0. Where they would take two bytes, that pays.
    const bool isolated = op.isolated || (first >= kTwoBytes && closed_.contains(&op));
    out.flagged(op.regions.size(), isolated);
    if (!isolated) {
      for (const Region& r : op.regions) region(out, r, first);
      return;
    }
    Encoder content;
    for (const Region& r : op.regions) region(content, r, 0);
    section(out, SectionId::Ir, content);
  }

  void region(Encoder& out, const Region& region, uint32_t first) {
    out.varint(region.empty ? 0 : 1);
    if (region.empty) return;
    // All values are numbered first: those of an inner region come after all of the outer one.
    uint32_t next = first;
    for (size_t i = 0; i < region.arguments.size(); ++i) numbers_[region.first_argument + i] = next++;
    for (const Operation& op : region.operations)
      for (size_t i = 0; i < op.result_types.size(); ++i) numbers_[op.first_result + i] = next++;
    out.varint(next - first);
    out.flagged(region.operations.size(), !region.arguments.empty());
    if (!region.arguments.empty()) {
      out.varint(region.arguments.size());
      for (const BlockArgument& argument : region.arguments) {
        out.flagged(argument.type, argument.location.has_value());
        if (argument.location) out.varint(*argument.location);
      }
      out.byte(0);  // no order of uses
    }
    for (const Operation& op : region.operations) operation(out, op, next);
  }

  const File& file_;
  std::vector<std::string> strings_;
  std::map<std::string, size_t> string_numbers_;
  static constexpr uint32_t kTwoBytes = 128;
  std::vector<uint32_t> numbers_;  // by our number of a value, the file's
  std::vector<uint32_t> regions_;  // and the region that defines it
  uint32_t next_region_ = 0;
  std::set<const Operation*> closed_;
};

}  // namespace

std::string write(const File& file) { return Writer(file).run(); }

}  // namespace torchlift::stablehlo::bytecode
