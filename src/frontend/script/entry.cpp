#include "frontend/script/entry.hpp"

#include <algorithm>
#include <set>

#include "base/check.hpp"
#include "base/kinds.hpp"
#include "base/text.hpp"
#include "frontend/script/arguments.hpp"
#include "torch/verify.hpp"

namespace torchlift::frontend::script {

using torch::Operand;
using torch::TreeSpec;
using torch::ValueId;

namespace {

constexpr std::string_view kForward = "forward";
constexpr std::string_view kTraining = "training";

const torch::Class* class_of_root(const torch::Program& script) {
  const std::string& name = script.object(script.root).type;
  auto found = std::find_if(script.classes.begin(), script.classes.end(),
                            [&](const torch::Class& each) { return each.name == name; });
  return found == script.classes.end() ? nullptr : &*found;
}

const torch::Function* find_function(const torch::Program& script, const std::string& name) {
  auto found = std::find_if(script.functions.begin(), script.functions.end(),
                            [&](const torch::Function& each) { return each.name == name; });
  return found == script.functions.end() ? nullptr : &*found;
}

// `Object` may be const.
template <typename Object>
auto find_item(Object& object, std::string_view name) -> decltype(&object.items.front().second) {
  for (auto& [key, value] : object.items)
    if (const auto* text = std::get_if<std::string>(&key.data); text != nullptr && *text == name) return &value;
  return nullptr;
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "xs[0]" -> "xs_0"
std::string identifier_of(std::string_view path) {
  std::string out;
  for (char c : path) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (plain) out += c;
    else if (!out.empty() && out.back() != '_') out += '_';
  }
  while (out.size() > 1 && out.back() == '_') out.pop_back();
  return out.empty() || (out[0] >= '0' && out[0] <= '9') ? "arg" + out : out;
}

// The keys as JSON, as torch's pytrees keep them.
std::string dict_context(const std::vector<std::string>& keys) {
  return "[" + join(keys, ", ", [](const std::string& key) { return quoted(key); }) + "]";
}

// Writes block 0.
class EntryWriter {
 public:
  EntryWriter(torch::Program& program, std::string_view method) : program_(program), method_(method) {}

  Status write(const std::vector<BoundArgument>& arguments);

 private:
  ValueId value(std::string_view name, torch::ValueKind kind = torch::ValueKind::Any);
  ValueId call(std::string target, std::vector<torch::NamedOperand> operands, std::string_view result);
  Result<Operand> build(const ArgumentNode& node, const std::string& path);
  Result<Operand> leaf(const ArgumentNode& node, const std::string& path);
  Result<torch::TensorMeta> meta_of(const TensorLeaf& leaf, const std::string& path) const;
  std::vector<torch::NamedOperand> with_root(std::string_view method) const;
  Operand tuple_of(const std::vector<torch::NamedOperand>& arguments);
  void run_pre_hook(const std::string& hook, std::vector<torch::NamedOperand>& arguments);
  Operand run_hook(const std::string& hook, const std::vector<torch::NamedOperand>& arguments, Operand result);
  const torch::Function& function(const std::string& name) const;

  torch::Program& program_;
  std::string_view method_;
  std::set<std::string, std::less<>> names_;
  torch::LocId location_;
  TreeSpec positional_{.type = "builtins.tuple", .context = "null", .keys = {}, .children = {}};
  TreeSpec keywords_{.type = "builtins.dict", .context = "", .keys = {}, .children = {}};
};

ValueId EntryWriter::value(std::string_view name, torch::ValueKind kind) {
  std::string base = identifier_of(name), unique = base;
  for (size_t i = 1; !names_.insert(unique).second; ++i) unique = base + "_" + std::to_string(i);
  ValueId id(program_.values.size());
  program_.values.push_back({.name = std::move(unique), .kind = kind, .meta = {}, .expr = {}});
  return id;
}

ValueId EntryWriter::call(std::string target, std::vector<torch::NamedOperand> operands, std::string_view result) {
  ValueId out = value(result);
  torch::InstId id(program_.insts.size());
  program_.insts.push_back({.kind = torch::InstKind::Overloaded,
                            .name = program_.value(out).name,
                            .target = std::move(target),
                            .operands = std::move(operands),
                            .results = {{out}},
                            .location = location_});
  program_.blocks[0].insts.push_back(id);
  return out;
}

// Contiguous, as any input of the program.
Result<torch::TensorMeta> EntryWriter::meta_of(const TensorLeaf& leaf, const std::string& path) const {
  torch::TensorMeta meta;
  meta.dtype = leaf.dtype;
  int64_t stride = 1;
  for (size_t i = leaf.sizes.size(); i-- > 0;) {
    meta.strides.insert(meta.strides.begin(), torch::SymExpr::of(stride));
    if (leaf.sizes[i] < 0 || __builtin_mul_overflow(stride, std::max<int64_t>(leaf.sizes[i], 1), &stride))
      return diagnose(Kind::ScriptArgument, {{"argument", path},
                                             {"method", printable(method_)},
                                             {"problem", std::string("has sizes that 64 bits cannot count")},
                                             {"advice", std::string()}});
  }
  for (int64_t size : leaf.sizes) meta.sizes.push_back(torch::SymExpr::of(size));
  meta.storage_offset = torch::SymExpr::of(0);
  return meta;
}

Result<Operand> EntryWriter::leaf(const ArgumentNode& node, const std::string& path) {
  torch::InputSpec spec;
  if (const auto* tensor = std::get_if<TensorLeaf>(&node.leaf)) {
    TRY(torch::TensorMeta meta, meta_of(*tensor, path));
    ValueId id = value(path, torch::ValueKind::Tensor);
    program_.values[id.at()].meta = std::move(meta);
    program_.blocks[0].inputs.push_back(id);
    spec.argument = {id};
  } else {
    spec.kind = torch::InputKind::Constant;
    spec.target = path;
    spec.argument = std::get<Operand>(node.leaf);
  }
  program_.inputs.push_back(spec);
  return spec.argument;
}

Result<Operand> EntryWriter::build(const ArgumentNode& node, const std::string& path) {
  using Kind = ArgumentNode::Kind;
  if (node.kind == Kind::Leaf) return leaf(node, path);
  std::vector<torch::NamedOperand> operands;
  bool is_fields = node.kind == Kind::Tuple && node.type.is_class();
  if (is_fields) operands.push_back({"", {node.type.name}});
  if (node.kind == Kind::List || node.kind == Kind::Dict) operands.push_back({"", {print(node.type)}});
  for (size_t i = 0; i < node.children.size(); ++i) {
    std::string step = "[" + std::to_string(i) + "]";
    if (node.kind == Kind::Dict) step = "[" + quoted(node.keys[i]) + "]";
    if (is_fields) step = "." + node.keys[i];
    if (node.kind == Kind::Dict) operands.push_back({"", {node.keys[i]}});
    TRY(Operand part, build(node.children[i], path + step));
    operands.push_back({"", std::move(part)});
  }
  std::string target = node.kind == Kind::List   ? "prim::ListConstruct"
                       : node.kind == Kind::Dict ? "prim::DictConstruct"
                       : is_fields               ? "prim::NamedTupleConstruct"
                                                 : "prim::TupleConstruct";
  return Operand{call(std::move(target), std::move(operands), path)};
}

TreeSpec tree_of(const ArgumentNode& node) {
  using Kind = ArgumentNode::Kind;
  TreeSpec tree;
  if (node.kind == Kind::Leaf) return tree;
  tree.context = "null";
  switch (node.kind) {
    case Kind::Leaf: break;
    case Kind::List: tree.type = "builtins.list"; break;
    case Kind::Tuple: tree.type = node.type.is_class() ? "collections.namedtuple" : "builtins.tuple"; break;
    case Kind::Dict: tree.type = "builtins.dict"; break;
  }
  if (node.kind == Kind::Dict) tree.context = dict_context(node.keys);
  if (node.type.is_class()) tree.context = node.type.name;
  tree.keys = node.keys;
  for (const ArgumentNode& child : node.children) tree.children.push_back(tree_of(child));
  return tree;
}

std::vector<torch::NamedOperand> EntryWriter::with_root(std::string_view method) const {
  return {{"", {program_.root}}, {"", {std::string(method)}}};
}

Operand EntryWriter::tuple_of(const std::vector<torch::NamedOperand>& arguments) {
  std::vector<torch::NamedOperand> parts;
  for (const torch::NamedOperand& argument : arguments) parts.push_back({"", argument.value});
  return {call("prim::TupleConstruct", std::move(parts), "args")};
}

const torch::Function& EntryWriter::function(const std::string& name) const {
  const torch::Function* found = find_function(program_, program_.object(program_.root).type + "." + name);
  CHECK(found != nullptr) << "hooks were looked for: " << name;
  return *found;
}

// hook(self, (args...)): None leaves the arguments, a tuple replaces them, another value is the only one.
void EntryWriter::run_pre_hook(const std::string& hook, std::vector<torch::NamedOperand>& arguments) {
  std::vector<torch::NamedOperand> operands = with_root(hook);
  operands.push_back({"", tuple_of(arguments)});
  Operand result{call("prim::CallMethod", std::move(operands), hook)};
  Result<torch::ScriptType> type = torch::parse_script_type(function(hook).result_type);
  if (type && type->is("NoneType")) return;
  if (!type || !type->is("Tuple")) {
    arguments = {{"", std::move(result)}};
    return;
  }
  std::vector<Operand> parts;
  for (size_t i = 0; i < type->arguments.size(); ++i) parts.push_back({value(hook)});
  torch::InstId id(program_.insts.size());
  program_.insts.push_back({.kind = torch::InstKind::Overloaded,
                            .name = "",
                            .target = "prim::Unpack",
                            .operands = {{"", std::move(result)}, {"", {static_cast<int64_t>(parts.size())}}},
                            .results = parts,
                            .location = location_});
  program_.blocks[0].insts.push_back(id);
  arguments.clear();
  for (Operand& part : parts) arguments.push_back({"", std::move(part)});
}

// hook(self, (args...), result): None leaves the result.
Operand EntryWriter::run_hook(const std::string& hook, const std::vector<torch::NamedOperand>& arguments,
                              Operand result) {
  std::vector<torch::NamedOperand> operands = with_root(hook);
  operands.push_back({"", tuple_of(arguments)});
  operands.push_back({"", result});
  Operand replaced{call("prim::CallMethod", std::move(operands), hook)};
  return function(hook).result_type == "NoneType" ? result : replaced;
}

Status EntryWriter::write(const std::vector<BoundArgument>& bound) {
  location_ = torch::LocId(program_.locations.size());
  program_.locations.emplace_back();
  std::vector<std::string> pre_hooks, hooks;
  if (const torch::Class* root = class_of_root(program_); root != nullptr && method_ == kForward) {
    pre_hooks = root->forward_pre_hooks;
    hooks = root->forward_hooks;
  }
  bool hooked = !pre_hooks.empty() || !hooks.empty();
  std::vector<torch::NamedOperand> arguments;
  bool in_order = true;  // until a parameter is left out
  for (const BoundArgument& argument : bound) {
    const std::string& parameter = argument.parameter->name;
    if (!argument.given) {
      in_order = false;
      if (hooked) arguments.push_back({"", *argument.parameter->default_value});  // hooks see all arguments
      continue;
    }
    TRY(Operand operand, build(argument.node, parameter));
    arguments.push_back({in_order || hooked ? "" : parameter, std::move(operand)});
    if (in_order) {
      program_.argument_names.push_back(parameter);
    } else {
      keywords_.keys.push_back(parameter);
    }
    (in_order ? positional_ : keywords_).children.push_back(tree_of(argument.node));
  }
  keywords_.context = dict_context(keywords_.keys);
  program_.input_tree =
      TreeSpec{.type = "builtins.tuple", .context = "null", .keys = {}, .children = {positional_, keywords_}};

  for (const std::string& hook : pre_hooks) run_pre_hook(hook, arguments);
  std::vector<torch::NamedOperand> operands = with_root(method_);
  operands.insert(operands.end(), arguments.begin(), arguments.end());
  Operand result{call("prim::CallMethod", std::move(operands), method_)};
  for (const std::string& hook : hooks) result = run_hook(hook, arguments, std::move(result));
  program_.blocks[0].outputs = {result};
  program_.outputs.push_back({.kind = torch::OutputKind::User, .argument = result, .target = ""});
  return Unit{};
}

// Hooks that the class names are methods of it.
Status check_hooks(const torch::Program& script) {
  const torch::Class* root = class_of_root(script);
  if (root == nullptr) return Unit{};
  std::vector<std::string> all = root->forward_pre_hooks;
  all.insert(all.end(), root->forward_hooks.begin(), root->forward_hooks.end());
  for (const std::string& hook : all)
    if (find_function(script, root->name + "." + hook) == nullptr)
      return diagnose(Kind::ScriptValue, {{"path", printable(root->name + "." + hook)},
                                          {"got", std::string("missing")},
                                          {"expected", std::string("a hook that the class names")}});
  return Unit{};
}

}  // namespace

std::vector<MethodInfo> methods(const torch::Program& script) {
  const torch::Class* root = class_of_root(script);
  std::string prefix = script.object(script.root).type + ".";
  std::vector<MethodInfo> out;
  for (const torch::Function& function : script.functions) {
    if (!function.is_method || !function.name.starts_with(prefix) || function.parameters.empty()) continue;
    std::string name = function.name.substr(prefix.size());
    bool is_hook = root != nullptr && (contains(root->forward_hooks, name) || contains(root->forward_pre_hooks, name));
    if (is_hook || name.starts_with("__") || name.find('.') != std::string::npos) continue;
    out.push_back({.name = std::move(name),
                   .parameters = {function.parameters.begin() + 1, function.parameters.end()},
                   .result_type = function.result_type});
  }
  std::stable_partition(out.begin(), out.end(), [](const MethodInfo& method) { return method.name == kForward; });
  return out;
}

bool is_training(const torch::Program& script) {
  const Operand* training = find_item(script.object(script.root), kTraining);
  const auto* value = training == nullptr ? nullptr : training->get<bool>();
  return value != nullptr && *value;
}

void set_training(torch::Program& script, bool training) {
  std::set<std::string_view> modules;
  for (const torch::Class& each : script.classes)
    if (each.kind == torch::ClassKind::Module) modules.insert(each.name);
  for (torch::Object& object : script.objects) {
    if (object.kind != torch::ObjectKind::Instance || !modules.contains(object.type)) continue;
    Operand* value = find_item(object, kTraining);
    if (value != nullptr && value->get<bool>() != nullptr) *value = {training};
  }
}

Result<torch::Program> entry(const torch::Program& script, std::string_view method,
                             const std::vector<ScriptLeaf>& leaves) {
  CHECK(script.root.has_value() && script.blocks.front().insts.empty()) << "a program that load() has made";
  const torch::Function* found = find_function(script, script.object(script.root).type + "." + std::string(method));
  if (found == nullptr || found->parameters.empty() || method.find('.') != std::string_view::npos) {
    std::vector<MethodInfo> all = methods(script);
    std::string names = join(all, ", ", [](const MethodInfo& each) { return "`" + printable(each.name) + "`"; });
    return diagnose(Kind::MethodMissing, {{"method", printable(method)}, {"methods", all.empty() ? "none" : names}});
  }
  TRY_OK(check_hooks(script));
  std::vector<torch::Parameter> parameters(found->parameters.begin() + 1, found->parameters.end());
  TRY(std::vector<BoundArgument> bound, bind_leaves(script, method, parameters, leaves));
  torch::Program program = script;
  TRY_OK(EntryWriter(program, method).write(bound));
  TRY_OK(torch::verify(program));
  return program;
}

}  // namespace torchlift::frontend::script
