// Pytree specs: JSON in texts of the program's JSON.
#include <algorithm>

#include "frontend/export/signature.hpp"

namespace torchlift::frontend {
namespace {

using torch::TreeSpec;

constexpr int kMaxTreeDepth = 64;

// Keys of a context such as `["b", "a"]`, or `[factory, ["b", "a"]]` of a defaultdict. Empty where it is something
// else.
std::vector<std::string> context_keys(std::string_view context, bool in_second_place) {
  simdjson::dom::parser parser;
  Element root;
  if (parser.allocate(context.size(), kMaxTreeDepth) != simdjson::SUCCESS) return {};
  if (parser.parse(context.data(), context.size()).get(root) != simdjson::SUCCESS) return {};
  Array items;
  if (in_second_place && root.at(1).get(root) != simdjson::SUCCESS) return {};
  if (root.get(items) != simdjson::SUCCESS) return {};
  std::vector<std::string> keys;
  for (Element item : items) {
    std::string_view text;
    keys.emplace_back(item.get(text) == simdjson::SUCCESS ? std::string(text) : simdjson::minify(item));
  }
  return keys;
}

class TreeReader {
 public:
  TreeReader(JsonReader& json, const Element* field_names) : json_(json), field_names_(field_names) {}
  Result<TreeSpec> tree(Element element, int depth);

 private:
  std::vector<std::string> keys_of(const TreeSpec& spec) const;
  std::vector<std::string> fields_of(std::string_view registered_name) const;

  JsonReader& json_;
  const Element* field_names_;
};

std::vector<std::string> TreeReader::fields_of(std::string_view registered_name) const {
  std::vector<std::string> out;
  Object all;
  Array fields;
  if (field_names_ == nullptr || field_names_->get(all) != simdjson::SUCCESS) return out;
  if (all[registered_name]["field_names"].get(fields) != simdjson::SUCCESS) return out;
  for (Element field : fields) {
    std::string_view text;
    if (field.get(text) == simdjson::SUCCESS) out.emplace_back(text);
  }
  return out;
}

// Types that nobody described here stay opaque: their leaves have positions.
std::vector<std::string> TreeReader::keys_of(const TreeSpec& spec) const {
  if (spec.type == "collections.namedtuple") return fields_of(spec.context);
  if (spec.type == "builtins.tuple" || spec.type == "builtins.list" || spec.type == "collections.deque") return {};
  return context_keys(spec.context, spec.type == "collections.defaultdict");
}

Result<TreeSpec> TreeReader::tree(Element element, int depth) {
  if (depth >= kMaxTreeDepth)
    return json_.wrong("a tree that is deeper", "at most " + std::to_string(kMaxTreeDepth) + " levels");
  TRY(Object object, json_.object(element));
  TreeSpec out;
  TRY_OK(json_.optional_field(object, "type", [&](Element type) -> Status {
    TRY(out.type, json_.text(type));
    return Unit{};
  }));
  if (out.is_leaf()) return out;
  TRY_OK(json_.optional_field(object, "context", [&](Element context) -> Status {
    std::string_view text;
    out.context = context.get(text) == simdjson::SUCCESS ? std::string(text) : simdjson::minify(context);
    return Unit{};
  }));
  TRY_OK(json_.field(object, "children_spec", [&](Element children) {
    return json_.each(children, [&](Element child) -> Status {
      TRY(out.children.emplace_back(), tree(child, depth + 1));
      return Unit{};
    });
  }));
  out.keys = keys_of(out);
  if (out.keys.size() != out.children.size()) out.keys.clear();
  return out;
}

}  // namespace

Result<TreeSpec> parse_tree_spec(std::string_view text, JsonReader& json, const Element* field_names) {
  simdjson::dom::parser parser;
  Element root;
  simdjson::error_code error = parser.allocate(text.size(), kMaxJsonDepth);
  if (error == simdjson::SUCCESS) error = parser.parse(text.data(), text.size()).get(root);
  if (error != simdjson::SUCCESS) return json.wrong("a text that is no JSON", "a tree as JSON");
  TRY(Array items, json.array(root));
  Element protocol, spec;
  if (items.size() != 2 || items.at(0).get(protocol) != simdjson::SUCCESS || items.at(1).get(spec) != simdjson::SUCCESS)
    return json.wrong(root, "a list of a protocol number and a tree");
  TRY(int64_t version, json.integer(protocol));
  if (version != 1) return json.wrong("protocol " + std::to_string(version), "protocol 1");
  return TreeReader(json, field_names).tree(spec, 0);
}

Status read_call(Object graph_module, JsonReader& json, torch::Program& program) {
  Element fields;
  bool has_fields = graph_module["treespec_namedtuple_fields"].get(fields) == simdjson::SUCCESS;
  auto tree = [&](std::optional<TreeSpec>& out) {
    return [&](Element element) -> Status {
      TRY(std::string_view text, json.text(element));
      if (text.empty()) return Unit{};
      TRY(out, parse_tree_spec(text, json, has_fields ? &fields : nullptr));
      return Unit{};
    };
  };
  auto signature = [&](Element element) -> Status {
    TRY(Object object, json.object(element));
    TRY_OK(json.optional_field(object, "in_spec", tree(program.input_tree)));
    TRY_OK(json.optional_field(object, "out_spec", tree(program.output_tree)));
    return json.optional_field(object, "forward_arg_names", [&](Element names) {
      return json.each(names, [&](Element name) -> Status {
        TRY(program.argument_names.emplace_back(), json.text(name));
        return Unit{};
      });
    });
  };
  return json.optional_field(graph_module, "module_call_graph", [&](Element element) {
    return json.each(element, [&](Element entry) -> Status {
      TRY(Object object, json.object(entry));
      TRY(std::string_view module, json.text_field(object, "fqn"));
      if (!module.empty() || program.input_tree) return Unit{};
      return json.optional_field(object, "signature", signature);
    });
  });
}

}  // namespace torchlift::frontend
