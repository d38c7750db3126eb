// Names of inputs and outputs, as Python would write them.
#include <algorithm>

#include "torch/program.hpp"

namespace torchlift::torch {
namespace {

bool is_dictionary(const TreeSpec& spec) {
  return spec.type == "builtins.dict" || spec.type == "collections.OrderedDict" ||
         spec.type == "collections.defaultdict";
}

std::string python_text(const std::string& text) {
  std::string out = "'";
  for (char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

// "[0]", "['mask']", ".x"
std::string step(const TreeSpec& spec, size_t child) {
  if (child >= spec.keys.size()) return "[" + std::to_string(child) + "]";
  if (is_dictionary(spec)) return "[" + python_text(spec.keys[child]) + "]";
  return "." + spec.keys[child];
}

void add_leaves(const TreeSpec& spec, const std::string& path, std::vector<std::string>& out) {
  if (spec.is_leaf()) {
    out.push_back(path);
    return;
  }
  for (size_t i = 0; i < spec.children.size(); ++i) add_leaves(spec.children[i], path + step(spec, i), out);
}

bool is_call(const TreeSpec& tree) {
  return tree.type == "builtins.tuple" && tree.children.size() == 2 && tree.children[0].type == "builtins.tuple" &&
         is_dictionary(tree.children[1]) && tree.children[1].keys.size() == tree.children[1].children.size();
}

std::vector<std::string> call_paths(const Program& program) {
  std::vector<std::string> out;
  if (!program.input_tree || !is_call(*program.input_tree)) return out;
  const TreeSpec& positional = program.input_tree->children[0];
  const TreeSpec& keywords = program.input_tree->children[1];
  for (size_t i = 0; i < positional.children.size(); ++i) {
    bool named = i < program.argument_names.size();
    add_leaves(positional.children[i], named ? program.argument_names[i] : "args[" + std::to_string(i) + "]", out);
  }
  for (size_t i = 0; i < keywords.children.size(); ++i) add_leaves(keywords.children[i], keywords.keys[i], out);
  return out;
}

// The placeholder's own name, or the name that the file gives to a literal.
std::string own_name(const Program& program, const InputSpec& input) {
  if (const auto* id = input.argument.get<ValueId>()) return program.value(*id).name;
  return input.target;
}

}  // namespace

std::vector<std::string> leaf_paths(const TreeSpec& spec) {
  std::vector<std::string> out;
  add_leaves(spec, "", out);
  return out;
}

std::vector<std::string> input_paths(const Program& program) {
  std::vector<std::string> names;
  for (const InputSpec& input : program.inputs)
    if (input.kind == InputKind::User || input.kind == InputKind::Constant) names.push_back(own_name(program, input));
  std::vector<std::string> paths = call_paths(program);
  return paths.size() == names.size() ? paths : names;
}

std::vector<std::string> output_paths(const Program& program) {
  auto count =
      static_cast<size_t>(std::count_if(program.outputs.begin(), program.outputs.end(), [](const OutputSpec& output) {
        return output.kind == OutputKind::User || output.kind == OutputKind::Loss ||
               output.kind == OutputKind::GradientToParameter || output.kind == OutputKind::GradientToUserInput;
      }));
  if (program.output_tree) {
    std::vector<std::string> paths = leaf_paths(*program.output_tree);
    if (paths.size() == count) return paths;
  }
  std::vector<std::string> paths(count);
  for (size_t i = 0; i < count && count > 1; ++i) paths[i] = "[" + std::to_string(i) + "]";
  return paths;
}

}  // namespace torchlift::torch
