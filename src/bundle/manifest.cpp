#include "bundle/manifest.hpp"

#include <xxhash.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/json.hpp"
#include "base/kinds.hpp"
#include "base/text.hpp"
#include "bundle/manifest_json.hpp"

namespace torchlift::bundle {
namespace {

void write_type(JsonWriter& json, const TensorType& type) {
  json.key("dtype").string(info(type.dtype).torch_name);
  json.key("shape").integers(type.shape);
}

void write_names(JsonWriter& json, std::string_view name, const std::vector<std::string>& aliases) {
  json.key("name").string(name);
  if (aliases.empty()) return;
  json.key("aliases").begin_array();
  for (auto& alias : aliases) json.string(alias);
  json.end_array();
}

void write_number(JsonWriter& json, std::string_view key, std::optional<size_t> number) {
  if (number) json.key(key).integer(static_cast<int64_t>(*number));
}

void write_argument(JsonWriter& json, const Argument& argument) {
  json.begin_object();
  json.key("role").string(name_of(argument.role));
  write_names(json, argument.name, argument.aliases);
  write_type(json, argument.type);
  write_number(json, "leaf", argument.leaf);
  write_number(json, "result", argument.result);
  json.end_object();
}

void write_result(JsonWriter& json, const ProgramResult& result) {
  json.begin_object();
  json.key("role").string(name_of(result.role));
  write_names(json, result.name, result.aliases);
  write_type(json, result.type);
  json.end_object();
}

void write_leaf(JsonWriter& json, const Leaf& leaf) {
  json.begin_object();
  json.key("path").string(leaf.path);
  write_number(json, "tensor", leaf.tensor);
  if (!leaf.tensor) write_constant(json.key("constant"), leaf.constant);
  json.end_object();
}

void write_tree(JsonWriter& json, const TreeNode& node) {
  if (node.type.empty()) {
    json.null();
    return;
  }
  json.begin_object();
  json.key("type").string(node.type);
  if (!node.context.empty()) json.key("context").string(node.context);
  if (!node.keys.empty()) {
    json.key("keys").begin_array();
    for (auto& key : node.keys) json.string(key);
    json.end_array();
  }
  json.key("children").begin_array();
  for (auto& child : node.children) write_tree(json, child);
  json.end_array();
  json.end_object();
}

template <typename T, typename Write>
void write_list(JsonWriter& json, std::string_view key, const std::vector<T>& items, Write write) {
  json.key(key).begin_array();
  for (auto& item : items) write(json, item);
  json.end_array();
}

void write_program(JsonWriter& json, const Program& program) {
  json.begin_object();
  json.key("file").string(program.file);
  json.key("digest").string(program.digest);
  json.key("dims").begin_object();
  for (auto& dim : program.dims) json.key(dim.symbol).integer(dim.size);
  json.end_object();
  write_list(json, "arguments", program.arguments, write_argument);
  write_list(json, "results", program.results, write_result);
  write_list(json, "inputs", program.inputs, write_leaf);
  write_list(json, "outputs", program.outputs, write_leaf);
  json.end_object();
}

// ---- what must hold between the parts of a manifest

constexpr int64_t kMaxTensorBytes = int64_t{1} << 60;

struct Checker {
  const Manifest& manifest;
  std::string path;

  Diagnostic problem(std::string field, std::string text) const {
    return diagnose(Kind::ManifestField, {{"field", std::move(field)}, {"problem", std::move(text)}}, path);
  }
  Status file_names() const;
  Status type(const std::string& field, const TensorType& type) const;
  Status argument(const std::string& field, const Program& program, size_t number) const;
  Status written(const std::string& field, const Program& program, const Argument& argument) const;
  Status leaves(const std::string& field, const std::vector<Leaf>& leaves, size_t tensors) const;
  Status program(const std::string& field, const Program& program) const;
  Status same_weights(const std::string& field, const Program& program) const;
};

bool is_program_name(std::string_view name) {
  auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  return name.size() > 5 && (name.ends_with(".mlir") || name.ends_with(".mlirbc")) && name[0] != '.' &&
         std::all_of(name.begin(), name.end(), allowed);
}

Status Checker::file_names() const {
  if (manifest.programs.empty()) return problem("programs", "is empty");
  std::set<std::string> seen;
  for (size_t i = 0; i < manifest.programs.size(); ++i) {
    std::string field = "programs[" + std::to_string(i) + "].file";
    auto& name = manifest.programs[i].file;
    if (!is_program_name(name))
      return problem(field, "is " + quoted(name) + ", expected a file name like \"model.b8.mlir\"");
    if (!seen.insert(name).second) return problem(field, "is " + quoted(name) + ", as of another program");
  }
  if (manifest.weights && manifest.weights->file != kWeightsFile)
    return problem("weights.file", "is " + quoted(manifest.weights->file) + ", expected \"weights.safetensors\"");
  return Unit{};
}

Status Checker::type(const std::string& field, const TensorType& type) const {
  int64_t bytes = info(type.dtype).bytes;
  for (int64_t size : type.shape) {
    if (size < 0) return problem(field + ".shape", "has the negative size " + std::to_string(size));
    if (size > 0 && bytes > kMaxTensorBytes / size)
      return problem(field + ".shape", "makes a tensor of more than 2^60 bytes");
    bytes *= size;
  }
  return Unit{};
}

// An argument that the program writes: its result has the same name and type.
Status Checker::written(const std::string& field, const Program& program, const Argument& argument) const {
  if (*argument.result >= program.results.size())
    return problem(field + ".result", "is " + std::to_string(*argument.result) + ", the program has " +
                                          std::to_string(program.results.size()) + " results");
  auto& result = program.results[*argument.result];
  auto role = argument.role == ArgumentRole::Input ? ResultRole::InputMutation : ResultRole::BufferMutation;
  if (result.role != role)
    return problem(field + ".result", "is a result of role " + std::string(name_of(result.role)) + ", expected " +
                                          std::string(name_of(role)));
  if (result.name != argument.name)
    return problem(field + ".result", "is named " + quoted(result.name) + ", expected " + quoted(argument.name));
  if (result.type != argument.type)
    return problem(field + ".result", "is " + text_of(result.type) + ", the argument is " + text_of(argument.type));
  return Unit{};
}

Status Checker::argument(const std::string& field, const Program& program, size_t number) const {
  auto& argument = program.arguments[number];
  bool is_input = argument.role == ArgumentRole::Input;
  TRY_OK(type(field, argument.type));
  if (is_input != argument.leaf.has_value())
    return problem(field + ".leaf", is_input ? "is missing for an input" : "stands at an argument that is no input");
  if (is_input && (*argument.leaf >= program.inputs.size() || program.inputs[*argument.leaf].tensor != number))
    return problem(field + ".leaf", "is " + std::to_string(*argument.leaf) + ", which is not this argument's leaf");
  if (is_input && number > 0 && program.arguments[number - 1].role != ArgumentRole::Input)
    return problem(field + ".role", "is input, after weights; inputs come first");
  if (argument.role == ArgumentRole::Weight && argument.result)
    return problem(field + ".result", "stands at a weight, which is only read");
  if (argument.role == ArgumentRole::State && !argument.result)
    return problem(field + ".result", "is missing for a state");
  if (argument.result) TRY_OK(written(field, program, argument));
  return Unit{};
}

Status Checker::leaves(const std::string& field, const std::vector<Leaf>& leaves, size_t tensors) const {
  for (size_t i = 0; i < leaves.size(); ++i)
    if (leaves[i].tensor && *leaves[i].tensor >= tensors)
      return problem(field + "[" + std::to_string(i) + "].tensor",
                     "is " + std::to_string(*leaves[i].tensor) + ", there are " + std::to_string(tensors));
  return Unit{};
}

Status Checker::program(const std::string& field, const Program& program) const {
  for (size_t i = 0; i < program.arguments.size(); ++i)
    TRY_OK(argument(field + ".arguments[" + std::to_string(i) + "]", program, i));
  for (size_t i = 0; i < program.results.size(); ++i)
    TRY_OK(type(field + ".results[" + std::to_string(i) + "]", program.results[i].type));
  TRY_OK(leaves(field + ".inputs", program.inputs, program.arguments.size()));
  TRY_OK(leaves(field + ".outputs", program.outputs, program.results.size()));
  for (size_t i = 0; i < program.inputs.size(); ++i)
    if (auto tensor = program.inputs[i].tensor; tensor && program.arguments[*tensor].role != ArgumentRole::Input)
      return problem(field + ".inputs[" + std::to_string(i) + "].tensor", "is an argument that is no input");
  std::set<std::string> names;
  for (auto& argument : program.arguments) {
    if (argument.role == ArgumentRole::Input) continue;
    if (!names.insert(argument.name).second)
      return problem(field + ".arguments", "has two weights named " + quoted(argument.name));
    for (auto& alias : argument.aliases)
      if (!names.insert(alias).second) return problem(field + ".arguments", "has two weights named " + quoted(alias));
  }
  for (size_t i = 1; i < program.dims.size(); ++i)
    if (program.dims[i - 1].symbol >= program.dims[i].symbol)
      return problem(field + ".dims", "is not sorted by symbol");
  return same_weights(field, program);
}

// One weights file serves all programs: a name has one type.
Status Checker::same_weights(const std::string& field, const Program& program) const {
  std::map<std::string, TensorType> types;
  for (auto& argument : manifest.programs.front().arguments)
    if (argument.role != ArgumentRole::Input) types.emplace(argument.name, argument.type);
  for (auto& argument : program.arguments) {
    if (argument.role == ArgumentRole::Input) continue;
    auto known = types.find(argument.name);
    if (known != types.end() && known->second != argument.type)
      return problem(field + ".arguments", "has weight " + quoted(argument.name) + " as " + text_of(argument.type) +
                                               ", another program as " + text_of(known->second));
  }
  return Unit{};
}

size_t leaf_count(const TreeNode& node) {
  if (node.type.empty()) return 1;
  size_t count = 0;
  for (auto& child : node.children) count += leaf_count(child);
  return count;
}

}  // namespace

std::string to_json(const Manifest& manifest) {
  JsonWriter json(2);
  json.begin_object();
  json.key("format").string(kFormatName);
  json.key("format_version").integer(kFormatVersion);
  json.key("producer").string(manifest.producer);
  json.key("source").begin_object();
  json.key("file").string(manifest.source.file);
  json.key("format").string(manifest.source.format);
  json.key("digest").string(manifest.source.digest);
  json.end_object();
  json.key("precision").string(manifest.precision);
  if (manifest.weights) {
    json.key("weights").begin_object();
    json.key("file").string(manifest.weights->file);
    json.key("digest").string(manifest.weights->digest);
    json.key("bytes").integer(static_cast<int64_t>(manifest.weights->bytes));
    json.end_object();
  }
  if (manifest.inputs) write_tree(json.key("input_tree"), *manifest.inputs);
  if (manifest.outputs) write_tree(json.key("output_tree"), *manifest.outputs);
  write_list(json, "programs", manifest.programs, write_program);
  json.end_object();
  return std::move(json).take() + "\n";
}

Status check(const Manifest& manifest, const std::string& path) {
  Checker checker{manifest, path};
  TRY_OK(checker.file_names());
  for (size_t i = 0; i < manifest.programs.size(); ++i) {
    auto& program = manifest.programs[i];
    std::string field = "programs[" + std::to_string(i) + "]";
    TRY_OK(checker.program(field, program));
    if (manifest.inputs && leaf_count(*manifest.inputs) != program.inputs.size())
      return checker.problem(field + ".inputs", "has " + std::to_string(program.inputs.size()) +
                                                    " leaves, `input_tree` has " +
                                                    std::to_string(leaf_count(*manifest.inputs)));
    if (manifest.outputs && leaf_count(*manifest.outputs) != program.outputs.size())
      return checker.problem(field + ".outputs", "has " + std::to_string(program.outputs.size()) +
                                                     " leaves, `output_tree` has " +
                                                     std::to_string(leaf_count(*manifest.outputs)));
  }
  return Unit{};
}

std::string text_of(const TensorType& type) {
  return std::string(info(type.dtype).short_name) + "[" +
         join(type.shape, ",", [](int64_t size) { return std::to_string(size); }) + "]";
}

std::string text_of(const Constant& constant) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "None"; }
    std::string operator()(bool value) const { return value ? "True" : "False"; }
    std::string operator()(int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const { return shortest(value); }
    std::string operator()(const std::string& value) const { return quoted(value); }
    std::string operator()(std::complex<double> value) const {
      return "complex(" + shortest(value.real()) + ", " + shortest(value.imag()) + ")";
    }
    std::string operator()(const Repr& value) const { return printable(value.text); }
  };
  return std::visit(Visitor{}, constant);
}

std::string_view name_of(ArgumentRole role) {
  switch (role) {
    case ArgumentRole::Input: return "input";
    case ArgumentRole::Weight: return "weight";
    case ArgumentRole::State: return "state";
  }
  return "";
}

std::string_view name_of(ResultRole role) {
  switch (role) {
    case ResultRole::Output: return "output";
    case ResultRole::BufferMutation: return "buffer_mutation";
    case ResultRole::InputMutation: return "input_mutation";
  }
  return "";
}

std::string digest_of(ByteView bytes) {
  XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "xxh3-128:";
  for (uint64_t half : {hash.high64, hash.low64})
    for (int shift = 60; shift >= 0; shift -= 4) out += kHex[(half >> shift) & 15];
  return out;
}

}  // namespace torchlift::bundle
