#include "bundle/manifest.hpp"

#include <xxhash.h>

#include <algorithm>
#include <map>
#include <new>
#include <set>

#include "base/json.hpp"
#include "base/kinds.hpp"
#include "base/text.hpp"
#include "bundle/digest.hpp"
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

void write_sizes(JsonWriter& json, const std::vector<std::string>& sizes) {
  if (sizes.empty()) return;
  json.key("sizes").begin_array();
  for (auto& size : sizes) json.string(size);
  json.end_array();
}

void write_argument(JsonWriter& json, const Argument& argument) {
  json.begin_object();
  json.key("role").string(name_of(argument.role));
  write_names(json, argument.name, argument.aliases);
  write_type(json, argument.type);
  write_number(json, "leaf", argument.leaf);
  write_number(json, "result", argument.result);
  write_sizes(json, argument.sizes);
  if (argument.model_dtype) json.key("model_dtype").string(info(*argument.model_dtype).torch_name);
  if (!argument.in_state_dict) json.key("in_state_dict").boolean(false);
  json.end_object();
}

void write_result(JsonWriter& json, const ProgramResult& result) {
  json.begin_object();
  json.key("role").string(name_of(result.role));
  write_names(json, result.name, result.aliases);
  write_type(json, result.type);
  write_sizes(json, result.sizes);
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

void write_source(JsonWriter& json, std::string_view key, const Source& source) {
  json.key(key).begin_object();
  json.key("file").string(source.file);
  json.key("format").string(source.format);
  json.key("digest").string(source.digest);
  json.end_object();
}

void write_file_entry(JsonWriter& json, const StoredFile& file) {
  json.begin_object();
  json.key("file").string(file.file);
  json.key("bytes").integer(static_cast<int64_t>(file.bytes));
  if (!file.digest.empty()) json.key("digest").string(file.digest);
  json.end_object();
}

void write_weights_info(JsonWriter& json, const WeightsInfo& weights) {
  json.key("weights").begin_object();
  json.key("file").string(weights.file);
  json.key("digest").string(weights.digest);
  json.key("bytes").integer(static_cast<int64_t>(weights.bytes));
  if (weights.reference) json.key("reference").boolean(true);
  if (!weights.shards.empty()) write_list(json, "shards", weights.shards, write_file_entry);
  if (weights.bound) write_source(json, "bound", *weights.bound);
  write_list(json, "tensors", weights.tensors, [](JsonWriter& to, const StoredTensor& tensor) {
    to.begin_object().key("name").string(tensor.name).key("digest").string(tensor.digest);
    if (tensor.offset) to.key("offset").integer(static_cast<int64_t>(*tensor.offset));
    to.end_object();
  });
  json.end_object();
}

void write_inlined(JsonWriter& json, const InlinedWeight& weight) {
  json.begin_object().key("name").string(weight.name);
  write_type(json, weight.type);
  json.key("digest").string(weight.digest).end_object();
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
  Status weights() const;
  Status stored_file(const std::string& field, const std::string& name, std::set<std::string>& seen) const;
  Status type(const std::string& field, const TensorType& type) const;
  Status argument(const std::string& field, const Program& program, size_t number) const;
  Status written(const std::string& field, const Program& program, const Argument& argument) const;
  Status leaves(const std::string& field, const std::vector<Leaf>& leaves, size_t tensors) const;
  Status program(const std::string& field, const Program& program) const;
  Status same_weights(const std::string& field, const Program& program) const;
};

// A name in the bundle's own directory.
bool is_plain_name(std::string_view name) {
  auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  return !name.empty() && name.size() <= 200 && name[0] != '.' && std::all_of(name.begin(), name.end(), allowed);
}

Status Checker::stored_file(const std::string& field, const std::string& name, std::set<std::string>& seen) const {
  if (!is_plain_name(name) || !name.ends_with(".safetensors"))
    return problem(field, "is " + quoted(name) + ", expected the name of a safetensors file");
  if (!seen.insert(name).second) return problem(field, "is " + quoted(name) + ", as another file");
  return Unit{};
}

Status Checker::file_names() const {
  if (manifest.programs.empty()) return problem("programs", "is empty");
  std::set<std::string> seen;
  for (size_t i = 0; i < manifest.programs.size(); ++i) {
    std::string field = "programs[" + std::to_string(i) + "].file";
    auto& name = manifest.programs[i].file;
    if (!is_plain_name(name) || !is_program_file(name))
      return problem(field, "is " + quoted(name) + ", expected a file name like \"model.b8.mlir\"");
    if (!seen.insert(name).second) return problem(field, "is " + quoted(name) + ", as of another program");
  }
  if (manifest.weights) TRY_OK(weights());
  seen.insert(std::string(kWeightsFile));
  for (size_t i = 0; i < manifest.samples.size(); ++i)
    TRY_OK(stored_file("samples[" + std::to_string(i) + "].file", manifest.samples[i].file, seen));
  return Unit{};
}

Status Checker::weights() const {
  auto& info = *manifest.weights;
  if (info.reference) {
    if (info.file.empty() || info.file.find('\0') != std::string::npos || !info.shards.empty())
      return problem("weights.file", "is " + quoted(info.file) + ", expected the path of the model file");
  } else {
    std::string_view expected = info.shards.empty() ? kWeightsFile : kWeightsIndex;
    if (info.file != expected)
      return problem("weights.file", "is " + quoted(info.file) + ", expected " + quoted(expected));
  }
  std::set<std::string> files, names;
  uint64_t bytes = 0;
  for (size_t i = 0; i < info.shards.size(); ++i) {
    TRY_OK(stored_file("weights.shards[" + std::to_string(i) + "].file", info.shards[i].file, files));
    if (__builtin_add_overflow(bytes, info.shards[i].bytes, &bytes)) break;
  }
  if (!info.shards.empty() && bytes != info.bytes)
    return problem("weights.bytes", "is " + std::to_string(info.bytes) + ", the shards have other sizes together");
  for (size_t i = 0; i < info.tensors.size(); ++i) {
    std::string field = "weights.tensors[" + std::to_string(i) + "]";
    if (!names.insert(info.tensors[i].name).second)
      return problem(field + ".name", "is " + quoted(info.tensors[i].name) + ", as of another tensor");
    if (info.tensors[i].offset.has_value() != info.reference)
      return problem(field + ".offset", info.reference ? "is missing" : "stands at a tensor of the bundle's own");
  }
  // Where digests are kept, every weight has one, in the order of the arguments.
  if (info.tensors.empty()) return Unit{};
  for (auto& program : manifest.programs) {
    size_t next = 0;
    for (auto& argument : program.arguments) {
      if (argument.role == ArgumentRole::Input) continue;
      if (next == info.tensors.size() || info.tensors[next].name != argument.name)
        return problem("weights.tensors", "has no " + quoted(argument.name) + " at number " + std::to_string(next));
      ++next;
    }
    if (next != info.tensors.size())
      return problem("weights.tensors", "has " + quoted(info.tensors[next].name) + ", which `" +
                                            printable(program.file) + "` does not take");
  }
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
  if (argument.model_dtype && argument.role != ArgumentRole::Weight)
    return problem(field + ".model_dtype", "stands at an argument that is no weight");
  if (!argument.sizes.empty() && argument.sizes.size() != argument.type.shape.size())
    return problem(field + ".sizes", "has " + std::to_string(argument.sizes.size()) + " entries, `shape` has " +
                                         std::to_string(argument.type.shape.size()));
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
  for (size_t i = 0; i < program.results.size(); ++i) {
    std::string name = field + ".results[" + std::to_string(i) + "]";
    auto& result = program.results[i];
    TRY_OK(type(name, result.type));
    if (!result.sizes.empty() && result.sizes.size() != result.type.shape.size())
      return problem(name + ".sizes", "has " + std::to_string(result.sizes.size()) + " entries, `shape` has " +
                                          std::to_string(result.type.shape.size()));
  }
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

bool is_program_file(std::string_view name) {
  return name.size() > 5 && (name.ends_with(".mlir") || name.ends_with(".mlirbc"));
}

std::string to_json(const Manifest& manifest) {
  JsonWriter json(2);
  json.begin_object();
  json.key("format").string(kFormatName);
  json.key("format_version").integer(kFormatVersion);
  json.key("producer").string(manifest.producer);
  write_source(json, "source", manifest.source);
  json.key("precision").string(manifest.precision);
  if (manifest.weights) write_weights_info(json, *manifest.weights);
  if (manifest.inputs) write_tree(json.key("input_tree"), *manifest.inputs);
  if (manifest.outputs) write_tree(json.key("output_tree"), *manifest.outputs);
  write_list(json, "programs", manifest.programs, write_program);
  if (!manifest.inlined.empty()) write_list(json, "inlined", manifest.inlined, write_inlined);
  if (!manifest.samples.empty()) write_list(json, "samples", manifest.samples, write_file_entry);
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
  Digester digester;
  digester.update(bytes);
  return digester.text();
}

Digester::Digester() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  XXH3_128bits_reset(state_);
}
Digester::~Digester() { XXH3_freeState(state_); }

void Digester::update(ByteView bytes) { XXH3_128bits_update(state_, bytes.data(), bytes.size()); }

std::string Digester::text() const {
  XXH128_hash_t hash = XXH3_128bits_digest(state_);
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "xxh3-128:";
  for (uint64_t half : {hash.high64, hash.low64})
    for (int shift = 60; shift >= 0; shift -= 4) out += kHex[(half >> shift) & 15];
  return out;
}

}  // namespace torchlift::bundle
