#include "frontend/script/arguments.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

#include "base/kinds.hpp"
#include "base/text.hpp"
#include "frontend/script/literals.hpp"
#include "torch/cursor.hpp"

namespace torchlift::frontend::script {

using torch::Operand;
using torch::ScriptType;

namespace {

constexpr size_t kMaxArgumentDepth = 16;

// The leaves that have paths, as a tree: "d['a'][0]" is root -> "d" -> "a" -> "0".
struct PathNode {
  std::string step;
  const ScriptLeaf* leaf = nullptr;
  std::vector<PathNode> children;  // in the order of the leaves

  PathNode* find(std::string_view name) {
    auto found = std::find_if(children.begin(), children.end(), [&](const auto& child) { return child.step == name; });
    return found == children.end() ? nullptr : &*found;
  }
  PathNode& at(const std::string& name) {
    if (PathNode* found = find(name)) return *found;
    PathNode& added = children.emplace_back();
    added.step = name;
    return added;
  }
};

// "xs[0].y['k']" -> "xs", "0", "y", "k"; nothing if it is written otherwise.
std::optional<std::vector<std::string>> steps_of(std::string_view path) {
  torch::Cursor cursor(path);
  std::vector<std::string> steps = {std::string(cursor.identifier())};
  if (steps.front().empty()) return std::nullopt;
  while (!cursor.at_end()) {
    if (steps.size() >= kMaxPathSteps) return std::nullopt;
    if (cursor.take('.')) {
      steps.emplace_back(cursor.identifier());
      if (steps.back().empty()) return std::nullopt;
      continue;
    }
    if (!cursor.take('[')) return std::nullopt;
    if (auto text = cursor.string_literal()) {
      steps.push_back(*text);
    } else {
      auto number = cursor.number();
      const auto* position = number ? std::get_if<int64_t>(&*number) : nullptr;
      if (position == nullptr || *position < 0) return std::nullopt;
      steps.push_back(std::to_string(*position));
    }
    if (!cursor.take(']')) return std::nullopt;
  }
  return steps;
}

std::string shown(const std::variant<TensorLeaf, Operand>& value) {
  if (const auto* tensor = std::get_if<TensorLeaf>(&value))
    return std::string(info(tensor->dtype).short_name) + "[" +
           join(tensor->sizes, ",", [](int64_t size) { return std::to_string(size); }) + "]";
  return literal_text(std::get<Operand>(value));
}

class Binder {
 public:
  Binder(const torch::Program& script, std::string_view method, const std::vector<torch::Parameter>& parameters)
      : script_(script), method_(method), parameters_(parameters) {}
  Result<std::vector<BoundArgument>> bind(const std::vector<ScriptLeaf>& leaves);

 private:
  Status read_types();
  Status sort_leaves(const std::vector<ScriptLeaf>& leaves);
  Result<std::vector<BoundArgument>> bind_positional();
  Result<std::vector<BoundArgument>> attempt(size_t count, size_t length);
  Result<ArgumentNode> take(const ScriptType& type, size_t depth);
  Result<ArgumentNode> take_parts(const ScriptType& type, const std::vector<ScriptType>& parts, size_t depth);
  Result<ArgumentNode> by_path(const ScriptType& type, PathNode& node, size_t depth);
  Result<ArgumentNode> parts_by_path(const ScriptType& type, const std::vector<ScriptType>& parts, PathNode& node,
                                     size_t depth);
  Result<ArgumentNode> leaf(const ScriptType& type, const std::variant<TensorLeaf, Operand>& value, size_t depth) const;
  Result<ArgumentNode> literal_parts(const ScriptType& type, const Operand::List& list, size_t depth) const;
  Result<std::optional<std::vector<ScriptType>>> parts_of(const ScriptType& type) const;
  const torch::Class* named_tuple(const ScriptType& type) const;
  ArgumentNode parts_node(const ScriptType& type) const;
  Diagnostic wrong(std::string problem, std::string advice = "") const;

  const torch::Program& script_;
  std::string_view method_;
  const std::vector<torch::Parameter>& parameters_;
  std::vector<ScriptType> types_;            // of the parameters
  std::vector<const ScriptLeaf*> in_order_;  // without path
  PathNode paths_;                           // the others; its children are parameters
  std::string argument_;                     // at work, for messages
  size_t next_ = 0;                          // of in_order_
  size_t length_ = 0;                        // of the list that is filled by position
  size_t lists_ = 0;                         // that were filled by position
};

Diagnostic Binder::wrong(std::string problem, std::string advice) const {
  return diagnose(Kind::ScriptArgument, {{"argument", printable(argument_)},
                                         {"method", printable(method_)},
                                         {"problem", std::move(problem)},
                                         {"advice", std::move(advice)}});
}

const torch::Class* Binder::named_tuple(const ScriptType& type) const {
  auto found = std::find_if(script_.classes.begin(), script_.classes.end(),
                            [&](const torch::Class& each) { return each.name == type.name; });
  bool is_tuple = found != script_.classes.end() && found->kind == torch::ClassKind::NamedTuple;
  return is_tuple ? &*found : nullptr;
}

// The types of the parts of a tuple; nothing for other types.
Result<std::optional<std::vector<ScriptType>>> Binder::parts_of(const ScriptType& type) const {
  using Parts = std::optional<std::vector<ScriptType>>;
  if (type.is("Tuple")) return Parts(type.arguments);
  const torch::Class* fields = type.is_class() ? named_tuple(type) : nullptr;
  if (fields == nullptr) return Parts();
  std::vector<ScriptType> parts;
  for (const auto& [name, text] : fields->attributes) {
    TRY(parts.emplace_back(), torch::parse_script_type(text));
  }
  return Parts(std::move(parts));
}

ArgumentNode Binder::parts_node(const ScriptType& type) const {
  ArgumentNode node;
  node.kind = type.is("List") ? ArgumentNode::Kind::List : ArgumentNode::Kind::Tuple;
  node.type = type;
  if (const torch::Class* fields = named_tuple(type))
    for (const auto& [name, text] : fields->attributes) node.keys.push_back(name);
  return node;
}

Status Binder::read_types() {
  for (const torch::Parameter& parameter : parameters_) {
    TRY(types_.emplace_back(), torch::parse_script_type(parameter.type.empty() ? "Tensor" : parameter.type));
  }
  return Unit{};
}

Status Binder::sort_leaves(const std::vector<ScriptLeaf>& leaves) {
  if (leaves.size() > kMaxLeaves) {
    argument_ = std::to_string(kMaxLeaves);
    return wrong("is one of " + std::to_string(leaves.size()) + ", at most " + std::to_string(kMaxLeaves) +
                 " are taken");
  }
  for (const ScriptLeaf& leaf : leaves) {
    argument_ = leaf.path;
    if (leaf.path.empty()) {
      argument_ = std::to_string(in_order_.size());
      if (!paths_.children.empty()) return wrong("has no name and follows arguments with names");
      in_order_.push_back(&leaf);
      continue;
    }
    auto steps = steps_of(leaf.path);
    if (!steps) return wrong("is not written as a path", "write it as `x`, `xs[0]`, `d['key']` or `pair.first`");
    bool known = std::any_of(parameters_.begin(), parameters_.end(),
                             [&](const torch::Parameter& parameter) { return parameter.name == steps->front(); });
    if (!known)
      return wrong("is none of its parameters",
                   "they are " + join(parameters_, ", ", [](const torch::Parameter& p) { return "`" + p.name + "`"; }));
    PathNode* node = &paths_;
    for (const std::string& step : *steps) {
      if (node->leaf != nullptr) return wrong("is a part of an argument that is given as a whole");
      node = &node->at(step);
    }
    if (node->leaf != nullptr || !node->children.empty()) return wrong("is given twice");
    node->leaf = &leaf;
  }
  return Unit{};
}

// ---- one leaf

Result<ArgumentNode> Binder::literal_parts(const ScriptType& type, const Operand::List& list, size_t depth) const {
  bool is_list = type.is("List");
  TRY(auto parts, parts_of(type));
  if (!is_list && (!parts || parts->size() != list.size()))
    return wrong("is " + literal_text({list}) + ", expected `" + print(type) + "`");
  ArgumentNode node = parts_node(type);
  for (size_t i = 0; i < list.size(); ++i) {
    TRY(node.children.emplace_back(), leaf(is_list ? type.arguments[0] : (*parts)[i], list[i], depth + 1));
  }
  return node;
}

Result<ArgumentNode> Binder::leaf(const ScriptType& type, const std::variant<TensorLeaf, Operand>& value,
                                  size_t depth) const {
  if (depth >= kMaxArgumentDepth) return wrong("is nested too deep");
  if (type.is("Optional")) {
    const auto* literal = std::get_if<Operand>(&value);
    if (literal == nullptr || !literal->is_none()) return leaf(type.arguments[0], value, depth + 1);
  }
  if (type.is("Union")) {
    for (const ScriptType& choice : type.arguments)
      if (auto node = leaf(choice, value, depth + 1)) return node;
  }
  ArgumentNode node;
  node.leaf = value;
  if (const auto* tensor = std::get_if<TensorLeaf>(&value)) {
    if (type.is("Tensor") || type.is("Any")) return node;
    bool number = type.is("int") || type.is("float") || type.is("bool") || type.is("number") || type.is("complex");
    return wrong("is " + shown(*tensor) + ", expected `" + print(type) + "`",
                 number ? "give its value: TorchScript computes sizes and branches with it" : "");
  }
  const auto& literal = std::get<Operand>(value);
  const auto* list = literal.get<Operand::List>();
  if (list != nullptr && !type.is("Any")) return literal_parts(type, *list, depth);
  std::optional<Operand> fitting = list == nullptr ? literal_as(type, literal) : std::nullopt;
  if (fitting) {
    node.leaf = std::move(*fitting);
    return node;
  }
  std::string advice;
  if (type.is("Tensor")) advice = "give its type and sizes, such as f32[1,3]";
  if (type.is_class()) advice = "call a method that makes it inside the program";
  return wrong("is " + shown(value) + ", expected `" + print(type) + "`", std::move(advice));
}

// ---- leaves in order

Result<ArgumentNode> Binder::take_parts(const ScriptType& type, const std::vector<ScriptType>& parts, size_t depth) {
  ArgumentNode node = parts_node(type);
  for (const ScriptType& part : parts) {
    TRY(node.children.emplace_back(), take(part, depth + 1));
  }
  return node;
}

Result<ArgumentNode> Binder::take(const ScriptType& type, size_t depth) {
  if (depth >= kMaxArgumentDepth) return wrong("is nested too deep");
  const ScriptLeaf* ahead = next_ < in_order_.size() ? in_order_[next_] : nullptr;
  const auto* literal = ahead == nullptr ? nullptr : std::get_if<Operand>(&ahead->value);
  bool whole = literal != nullptr && (literal->is_none() || literal->get<Operand::List>() != nullptr);
  if (!whole) {
    TRY(auto parts, parts_of(type));
    if (parts) return take_parts(type, *parts, depth);
    if (type.is("List")) {
      if (++lists_ > 1)
        return wrong("is a second list whose length is not known", "name its parts: `" + argument_ + "[0]`");
      return take_parts(type, std::vector<ScriptType>(length_, type.arguments[0]), depth);
    }
    if (type.is("Optional")) return take(type.arguments[0], depth + 1);
    if (type.is("Union")) {
      auto start = std::pair(next_, lists_);
      for (const ScriptType& choice : type.arguments) {
        if (auto node = take(choice, depth + 1)) return node;
        std::tie(next_, lists_) = start;
      }
    }
    if (type.is("Dict"))
      return wrong("is a dict, whose keys are not known", "name its parts: `" + argument_ + "['key']`");
  }
  if (ahead == nullptr) return wrong("has no value");
  TRY(ArgumentNode node, leaf(type, ahead->value, depth));
  ++next_;
  return node;
}

// The first `count` parameters take the leaves in order, lists take `length` items; the others have names or defaults.
Result<std::vector<BoundArgument>> Binder::attempt(size_t count, size_t length) {
  next_ = 0;
  lists_ = 0;
  length_ = length;
  std::vector<BoundArgument> out;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    argument_ = parameters_[i].name;
    BoundArgument bound{.parameter = &parameters_[i], .given = true, .node = {}};
    PathNode* node = paths_.find(argument_);
    if (i < count && node != nullptr) return wrong("is given by position and by name");
    if (i < count) {
      TRY(bound.node, take(types_[i], 0));
    } else if (node != nullptr) {
      TRY(bound.node, by_path(types_[i], *node, 0));
    } else if (parameters_[i].default_value) {
      bound.given = false;
    } else {
      return wrong("has no value, expected `" + print(types_[i]) + "`");
    }
    out.push_back(std::move(bound));
  }
  if (next_ < in_order_.size()) {
    argument_ = std::to_string(next_);
    return wrong("is " + shown(in_order_[next_]->value) + ", for which no parameter is left");
  }
  return out;
}

// As many parameters as can be take leaves. With a list among them, every way that uses up the leaves counts, and there
// must be one.
Result<std::vector<BoundArgument>> Binder::bind_positional() {
  std::optional<std::vector<BoundArgument>> found;
  std::optional<Diagnostic> problem;
  size_t furthest = 0;
  for (size_t count = std::min(parameters_.size(), in_order_.size()) + 1; count-- > 0;) {
    for (size_t length = 0; length <= in_order_.size(); ++length) {
      Result<std::vector<BoundArgument>> bound = attempt(count, length);
      if (bound && found) {
        argument_ = parameters_[count - 1].name;
        return wrong("is a list or follows one, and the leaves can be divided in several ways",
                     "name the parts of the list: `" + argument_ + "[0]`");
      }
      if (bound) {
        if (lists_ == 0) return bound;
        found = std::move(bound).value();
      } else if (!problem || next_ > furthest) {
        problem = bound.error();
        furthest = next_;
      }
      if (lists_ == 0) break;  // the length says nothing
    }
  }
  if (found) return std::move(*found);
  return std::move(*problem);
}

// ---- leaves by path

Result<ArgumentNode> Binder::parts_by_path(const ScriptType& type, const std::vector<ScriptType>& parts, PathNode& node,
                                           size_t depth) {
  ArgumentNode out = parts_node(type);
  if (node.children.size() != parts.size())
    return wrong("has " + std::to_string(node.children.size()) + " parts, expected " + std::to_string(parts.size()));
  for (size_t i = 0; i < parts.size(); ++i) {
    PathNode* child = node.find(std::to_string(i));
    if (child == nullptr && i < out.keys.size()) child = node.find(out.keys[i]);
    if (child == nullptr) return wrong("has no part `[" + std::to_string(i) + "]`");
    TRY(out.children.emplace_back(), by_path(parts[i], *child, depth + 1));
  }
  return out;
}

Result<ArgumentNode> Binder::by_path(const ScriptType& type, PathNode& node, size_t depth) {
  if (depth >= kMaxArgumentDepth) return wrong("is nested too deep");
  if (node.leaf != nullptr) return leaf(type, node.leaf->value, depth);
  if (type.is("Optional")) return by_path(type.arguments[0], node, depth + 1);
  if (type.is("Union")) {
    for (const ScriptType& choice : type.arguments)
      if (auto found = by_path(choice, node, depth + 1)) return found;
  }
  TRY(auto parts, parts_of(type));
  if (parts) return parts_by_path(type, *parts, node, depth);
  if (type.is("List"))
    return parts_by_path(type, std::vector<ScriptType>(node.children.size(), type.arguments[0]), node, depth);
  if (!type.is("Dict") || !type.arguments[0].is("str"))
    return wrong("is given in parts, expected `" + print(type) + "`");
  ArgumentNode out;
  out.kind = ArgumentNode::Kind::Dict;
  out.type = type;
  for (PathNode& child : node.children) {
    out.keys.push_back(child.step);
    TRY(out.children.emplace_back(), by_path(type.arguments[1], child, depth + 1));
  }
  return out;
}

Result<std::vector<BoundArgument>> Binder::bind(const std::vector<ScriptLeaf>& leaves) {
  TRY_OK(read_types());
  TRY_OK(sort_leaves(leaves));
  return bind_positional();
}

}  // namespace

Result<std::vector<BoundArgument>> bind_leaves(const torch::Program& script, std::string_view method,
                                               const std::vector<torch::Parameter>& parameters,
                                               const std::vector<ScriptLeaf>& leaves) {
  return Binder(script, method, parameters).bind(leaves);
}

}  // namespace torchlift::frontend::script
