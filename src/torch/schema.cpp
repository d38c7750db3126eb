// The table of schemas: an index over the text, and each name's schemas parsed when they are first asked for.
#include "torch/schema.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <mutex>
#include <span>
#include <unordered_map>

#include "base/check.hpp"

extern "C" {
extern const char torchlift_aten_schemas[];
extern const char torchlift_aten_schemas_end[];
extern const char torchlift_extra_schemas[];
extern const char torchlift_extra_schemas_end[];
}

namespace torchlift::torch {
namespace {

struct Entry {
  std::vector<std::string_view> lines;
  std::once_flag parsed;
  std::vector<Schema> schemas;
};

struct Table {
  std::unordered_map<std::string_view, Entry> entries;  // nodes never move
  std::vector<std::string_view> full_names;             // sorted

  Table();
  void add_lines(std::string_view text);
};

std::string_view base_name(std::string_view full_name) { return full_name.substr(0, full_name.find('.')); }

Table::Table() {
  add_lines({torchlift_aten_schemas, static_cast<size_t>(torchlift_aten_schemas_end - torchlift_aten_schemas)});
  add_lines({torchlift_extra_schemas, static_cast<size_t>(torchlift_extra_schemas_end - torchlift_extra_schemas)});
  std::sort(full_names.begin(), full_names.end());
}

void Table::add_lines(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.empty() || line.starts_with('#')) continue;
    std::string_view full_name = line.substr(0, line.find('('));
    entries[base_name(full_name)].lines.push_back(line);
    full_names.push_back(full_name);
  }
}

Table& table() {
  static Table* const instance = new Table;  // never destroyed: references to schemas stay valid to the end
  return *instance;
}

std::vector<std::string> split_tags(std::string_view text) {
  std::vector<std::string> tags;
  if (text == "-") return tags;
  while (!text.empty()) {
    std::string_view tag = text.substr(0, text.find(','));
    tags.emplace_back(tag);
    text.remove_prefix(std::min(text.size(), tag.size() + 1));
  }
  return tags;
}

void parse_lines(Entry& entry) {
  for (std::string_view line : entry.lines) {
    std::array<std::string_view, 3> columns;  // schema, tags, place in TorchScript's order
    for (std::string_view& column : columns) {
      column = line.substr(0, line.find('\t'));
      line.remove_prefix(std::min(line.size(), column.size() + 1));
    }
    Result<Schema> schema = parse_schema(columns[0]);
    CHECK(schema.ok()) << schema.error().message();
    if (!columns[1].empty()) schema->tags = split_tags(columns[1]);
    int64_t place = static_cast<int64_t>(entry.schemas.size());
    std::string_view order = columns[2];
    if (order.empty() || std::from_chars(order.data(), order.data() + order.size(), place).ec == std::errc())
      schema->script_order = place;
    entry.schemas.push_back(std::move(schema).value());
  }
}

// ---- functional partners

std::span<const SchemaArgument> without_out(const Schema& schema) {
  auto end = std::find_if(schema.arguments.begin(), schema.arguments.end(),
                          [](const SchemaArgument& argument) { return argument.is_out(); });
  return {schema.arguments.begin(), end};
}

bool has_out(const Schema& schema) {
  return std::any_of(schema.arguments.begin(), schema.arguments.end(),
                     [](const SchemaArgument& argument) { return argument.is_out(); });
}

bool writes(const Schema& schema) {
  return std::any_of(schema.arguments.begin(), schema.arguments.end(),
                     [](const SchemaArgument& argument) { return argument.alias && argument.alias->write; });
}

// Factories take these from `out` in their out= form.
bool is_tensor_option(const SchemaArgument& argument) {
  return argument.keyword_only && (argument.name == "dtype" || argument.name == "layout" || argument.name == "device" ||
                                   argument.name == "pin_memory");
}

enum class Match : uint8_t { Exact, WithoutTensorOptions, FirstNameAside };

bool same_parameters(const Schema& schema, const Schema& candidate, Match match) {
  std::vector<const SchemaArgument*> right;
  for (const SchemaArgument& argument : candidate.arguments)
    if (match != Match::WithoutTensorOptions || !is_tensor_option(argument)) right.push_back(&argument);
  std::span<const SchemaArgument> left = without_out(schema);
  if (left.size() != right.size()) return false;
  for (size_t i = 0; i < left.size(); ++i) {
    if (left[i].type != right[i]->type) return false;
    if (left[i].name != right[i]->name && !(i == 0 && match == Match::FirstNameAside)) return false;
  }
  return true;
}

// In-place operators whose functional form has another name or another order of parameters.
constexpr auto kPartners = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"aten::normal_", "aten::normal_functional"},
    {"aten::polygamma_", "aten::polygamma"},
    {"aten::rrelu_with_noise_", "aten::rrelu_with_noise_functional"},
});

// `add_` -> `add`, `__iadd__` -> `__add__`; empty for a name that is not in-place.
std::string functional_name(std::string_view name) {
  size_t dunder = name.find("::__i");
  if (dunder != std::string_view::npos && name.ends_with("__"))
    return std::string(name.substr(0, dunder + 4)) + std::string(name.substr(dunder + 5));
  if (!name.ends_with('_') || name.ends_with("__")) return {};
  return std::string(name.substr(0, name.size() - 1));
}

}  // namespace

const std::vector<Schema>& schemas_named(std::string_view name) {
  static const std::vector<Schema> none;
  auto found = table().entries.find(name);
  if (found == table().entries.end()) return none;
  Entry& entry = found->second;
  std::call_once(entry.parsed, parse_lines, std::ref(entry));
  return entry.schemas;
}

const Schema* find_schema(std::string_view full_name) {
  std::string_view base = base_name(full_name);
  std::string_view overload = full_name.substr(std::min(full_name.size(), base.size() + 1));
  if (overload == "default") overload = {};
  for (const Schema& schema : schemas_named(base))
    if (schema.overload == overload) return &schema;
  return nullptr;
}

std::vector<std::string_view> schema_names() { return table().full_names; }

const Schema* functional_partner(const Schema& schema) {
  for (const auto& [in_place, functional] : kPartners)
    if (schema.full_name() == in_place) return find_schema(functional);
  bool out = has_out(schema);
  std::string name = out ? schema.name : functional_name(schema.name);
  const std::vector<Schema>& candidates = schemas_named(name);
  for (Match match : {Match::Exact, out ? Match::WithoutTensorOptions : Match::FirstNameAside})
    for (const Schema& candidate : candidates)
      if (!writes(candidate) && same_parameters(schema, candidate, match)) return &candidate;
  return nullptr;
}

}  // namespace torchlift::torch
