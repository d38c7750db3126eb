// Reads manifest.json, and the constants of case files: every field by name, with its place in the message.
#include <simdjson.h>

#include <algorithm>
#include <array>

#include "base/kinds.hpp"
#include "base/text.hpp"
#include "bundle/manifest.hpp"
#include "bundle/manifest_json.hpp"

namespace torchlift::bundle {
namespace {

using simdjson::dom::element;

constexpr int kMaxTreeDepth = 256;

// A JSON value and its place in the file.
struct Field {
  element value;
  std::string name;  // "programs[0].arguments[3]"
  const std::string* path;

  Diagnostic problem(std::string text) const {
    return diagnose(Kind::ManifestField, {{"field", name.empty() ? "manifest" : name}, {"problem", std::move(text)}},
                    *path);
  }
  std::string child_name(std::string_view key) const {
    return name.empty() ? std::string(key) : name + "." + std::string(key);
  }

  Result<Field> at(std::string_view key) const;
  Result<std::optional<Field>> find(std::string_view key) const;
  Result<std::string> string() const;
  Result<int64_t> integer() const;
  Result<std::vector<Field>> items() const;
  Result<std::vector<std::pair<std::string, Field>>> entries() const;
};

Result<std::optional<Field>> Field::find(std::string_view key) const {
  simdjson::dom::object object;
  if (value.get(object) != simdjson::SUCCESS) return problem("is no JSON object");
  std::optional<Field> found;
  for (auto [name_here, item] : object) {
    if (name_here != key) continue;
    if (found) return problem("has the key " + torchlift::quoted(key) + " twice");
    found = Field{item, child_name(key), path};
  }
  return found;
}

Result<Field> Field::at(std::string_view key) const {
  TRY(auto found, find(key));
  if (!found) return problem("has no key " + torchlift::quoted(key));
  return std::move(*found);
}

Result<std::string> Field::string() const {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) return problem("is no string");
  return std::string(text);
}

Result<int64_t> Field::integer() const {
  int64_t number = 0;
  if (value.get(number) != simdjson::SUCCESS) return problem("is no integer");
  return number;
}

Result<std::vector<Field>> Field::items() const {
  simdjson::dom::array array;
  if (value.get(array) != simdjson::SUCCESS) return problem("is no list");
  std::vector<Field> out;
  for (element item : array) out.push_back({item, name + "[" + std::to_string(out.size()) + "]", path});
  return out;
}

Result<std::vector<std::pair<std::string, Field>>> Field::entries() const {
  simdjson::dom::object object;
  if (value.get(object) != simdjson::SUCCESS) return problem("is no JSON object");
  std::vector<std::pair<std::string, Field>> out;
  for (auto [key, item] : object) out.emplace_back(key, Field{item, child_name(key), path});
  return out;
}

// Fields of a record in one line each: a missing one is an error, `optional_` ones may be left out.

Result<std::string> string_at(const Field& record, std::string_view key) {
  TRY(auto field, record.at(key));
  return field.string();
}

Result<std::optional<size_t>> optional_number(const Field& record, std::string_view key) {
  TRY(auto field, record.find(key));
  if (!field) return std::optional<size_t>();
  TRY(auto number, field->integer());
  if (number < 0) return field->problem("is " + std::to_string(number) + ", expected a number from 0");
  return std::optional<size_t>(static_cast<size_t>(number));
}

Result<std::vector<std::string>> optional_strings(const Field& record, std::string_view key) {
  std::vector<std::string> out;
  TRY(auto field, record.find(key));
  if (!field) return out;
  TRY(auto items, field->items());
  for (auto& item : items) {
    TRY(auto text, item.string());
    out.push_back(std::move(text));
  }
  return out;
}

template <typename T, typename Read>
Result<std::vector<T>> list_at(const Field& record, std::string_view key, Read read) {
  TRY(auto field, record.at(key));
  TRY(auto items, field.items());
  std::vector<T> out;
  for (auto& item : items) {
    TRY(auto next, read(item));
    out.push_back(std::move(next));
  }
  return out;
}

template <typename Enum, size_t N>
Result<Enum> role_at(const Field& record, const std::array<Enum, N>& roles) {
  TRY(auto field, record.at("role"));
  TRY(auto text, field.string());
  for (Enum role : roles)
    if (name_of(role) == text) return role;
  return field.problem("is " + torchlift::quoted(text) + ", expected one of " +
                       join(roles, ", ", [](Enum role) { return std::string(name_of(role)); }));
}

Result<TensorType> read_type(const Field& record) {
  TensorType out;
  TRY(auto field, record.at("dtype"));
  TRY(auto name, field.string());
  auto dtype = dtype_from_torch_name(name);
  if (!dtype) return field.problem("is " + torchlift::quoted(name) + ", which is no dtype of PyTorch's");
  out.dtype = *dtype;
  TRY(out.shape, list_at<int64_t>(record, "shape", [](const Field& item) { return item.integer(); }));
  return out;
}

// A double as JSON number, or one of the three words that JSON lacks.
std::optional<double> float_of(element value) {
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS) {
    if (text == "inf") return std::numeric_limits<double>::infinity();
    if (text == "-inf") return -std::numeric_limits<double>::infinity();
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
    return std::nullopt;
  }
  double number = 0;
  if (value.get(number) == simdjson::SUCCESS) return number;
  return std::nullopt;
}

Result<Constant> read_constant_object(const Field& field) {
  TRY(auto entries, field.entries());
  if (entries.size() == 1) {
    auto& [key, item] = entries.front();
    std::string_view text;
    if (key == "str" && item.value.get(text) == simdjson::SUCCESS) return Constant(std::string(text));
    if (key == "repr" && item.value.get(text) == simdjson::SUCCESS) return Constant(Repr{std::string(text)});
    simdjson::dom::array parts;
    if (key == "complex" && item.value.get(parts) == simdjson::SUCCESS && parts.size() == 2) {
      auto real = float_of(parts.at(0).value_unsafe());
      auto imaginary = float_of(parts.at(1).value_unsafe());
      if (real && imaginary) return Constant(std::complex<double>(*real, *imaginary));
    }
  }
  return field.problem("is an object that stands for no constant");
}

Result<Constant> read_constant(const Field& field) {
  element value = field.value;
  if (value.is_null()) return Constant();
  if (bool b = false; value.get(b) == simdjson::SUCCESS) return Constant(b);
  if (int64_t i = 0; value.is_int64() && value.get(i) == simdjson::SUCCESS) return Constant(i);
  if (value.is_uint64()) return field.problem("is an integer beyond 64 bits with sign");
  if (auto number = float_of(value)) return Constant(*number);
  if (std::string_view text; value.get(text) == simdjson::SUCCESS) return Constant(std::string(text));
  return read_constant_object(field);
}

Result<bool> flag_at(const Field& record, std::string_view key, bool otherwise) {
  TRY(auto field, record.find(key));
  if (!field) return otherwise;
  bool out = false;
  if (field->value.get(out) != simdjson::SUCCESS) return field->problem("is neither true nor false");
  return out;
}

Result<std::optional<DType>> optional_dtype(const Field& record, std::string_view key) {
  TRY(auto field, record.find(key));
  if (!field) return std::optional<DType>();
  TRY(auto name, field->string());
  auto dtype = dtype_from_torch_name(name);
  if (!dtype) return field->problem("is " + torchlift::quoted(name) + ", which is no dtype of PyTorch's");
  return dtype;
}

Result<uint64_t> bytes_at(const Field& record, std::string_view key) {
  TRY(auto field, record.at(key));
  TRY(auto count, field.integer());
  if (count < 0) return field.problem("is negative");
  return static_cast<uint64_t>(count);
}

template <typename T, typename Read>
Result<std::vector<T>> optional_list(const Field& record, std::string_view key, Read read) {
  TRY(auto field, record.find(key));
  if (!field) return std::vector<T>();
  return list_at<T>(record, key, read);
}

Result<Argument> read_argument(const Field& record) {
  Argument out;
  TRY(out.role, role_at(record, std::array{ArgumentRole::Input, ArgumentRole::Weight, ArgumentRole::State}));
  TRY(out.name, string_at(record, "name"));
  TRY(out.aliases, optional_strings(record, "aliases"));
  TRY(out.type, read_type(record));
  TRY(out.leaf, optional_number(record, "leaf"));
  TRY(out.result, optional_number(record, "result"));
  TRY(out.sizes, optional_strings(record, "sizes"));
  TRY(out.model_dtype, optional_dtype(record, "model_dtype"));
  TRY(out.in_state_dict, flag_at(record, "in_state_dict", true));
  return out;
}

Result<ProgramResult> read_result(const Field& record) {
  ProgramResult out;
  TRY(out.role, role_at(record, std::array{ResultRole::Output, ResultRole::BufferMutation, ResultRole::InputMutation}));
  TRY(out.name, string_at(record, "name"));
  TRY(out.aliases, optional_strings(record, "aliases"));
  TRY(out.type, read_type(record));
  TRY(out.sizes, optional_strings(record, "sizes"));
  return out;
}

Result<Leaf> read_leaf(const Field& record) {
  Leaf out;
  TRY(out.path, string_at(record, "path"));
  TRY(out.tensor, optional_number(record, "tensor"));
  TRY(auto constant, record.find("constant"));
  if (out.tensor.has_value() == constant.has_value()) return record.problem("must have one of `tensor` and `constant`");
  if (constant) {
    TRY(out.constant, read_constant(*constant));
  }
  return out;
}

Result<std::vector<Binding>> read_dims(const Field& record) {
  TRY(auto field, record.at("dims"));
  TRY(auto entries, field.entries());
  std::vector<Binding> out;
  for (auto& [symbol, item] : entries) {
    TRY(auto size, item.integer());
    out.push_back({symbol, size});
  }
  return out;
}

Result<Program> read_program(const Field& record) {
  Program out;
  TRY(out.file, string_at(record, "file"));
  TRY(out.digest, string_at(record, "digest"));
  TRY(out.dims, read_dims(record));
  TRY(out.arguments, list_at<Argument>(record, "arguments", read_argument));
  TRY(out.results, list_at<ProgramResult>(record, "results", read_result));
  TRY(out.inputs, list_at<Leaf>(record, "inputs", read_leaf));
  TRY(out.outputs, list_at<Leaf>(record, "outputs", read_leaf));
  return out;
}

Result<TreeNode> read_tree(const Field& field, int depth) {
  TreeNode out;
  if (field.value.is_null()) return out;
  if (depth == 0) return field.problem("is nested more than " + std::to_string(kMaxTreeDepth) + " deep");
  TRY(out.type, string_at(field, "type"));
  if (out.type.empty()) return field.problem("has an empty type");
  TRY(auto context, field.find("context"));
  if (context) {
    TRY(out.context, context->string());
  }
  TRY(out.keys, optional_strings(field, "keys"));
  TRY(out.children,
      list_at<TreeNode>(field, "children", [&](const Field& child) { return read_tree(child, depth - 1); }));
  if (!out.keys.empty() && out.keys.size() != out.children.size())
    return field.problem("has " + std::to_string(out.keys.size()) + " keys for " + std::to_string(out.children.size()) +
                         " children");
  return out;
}

Result<std::optional<TreeNode>> optional_tree(const Field& record, std::string_view key) {
  TRY(auto field, record.find(key));
  if (!field) return std::optional<TreeNode>();
  TRY(auto tree, read_tree(*field, kMaxTreeDepth));
  return std::optional<TreeNode>(std::move(tree));
}

Result<Source> read_source(const Field& record) {
  Source out;
  TRY(out.file, string_at(record, "file"));
  TRY(out.format, string_at(record, "format"));
  TRY(out.digest, string_at(record, "digest"));
  return out;
}

Result<StoredFile> read_stored_file(const Field& record) {
  StoredFile out;
  TRY(out.file, string_at(record, "file"));
  TRY(out.bytes, bytes_at(record, "bytes"));
  TRY(auto digest, record.find("digest"));
  if (digest) {
    TRY(out.digest, digest->string());
  }
  return out;
}

Result<StoredTensor> read_stored_tensor(const Field& record) {
  StoredTensor out;
  TRY(out.name, string_at(record, "name"));
  TRY(out.digest, string_at(record, "digest"));
  TRY(out.offset, optional_number(record, "offset"));
  return out;
}

Result<InlinedWeight> read_inlined(const Field& record) {
  InlinedWeight out;
  TRY(out.name, string_at(record, "name"));
  TRY(out.type, read_type(record));
  TRY(out.digest, string_at(record, "digest"));
  return out;
}

Result<std::optional<WeightsInfo>> optional_weights(const Field& record) {
  TRY(auto field, record.find("weights"));
  if (!field) return std::optional<WeightsInfo>();
  WeightsInfo out;
  TRY(out.file, string_at(*field, "file"));
  TRY(out.digest, string_at(*field, "digest"));
  TRY(out.bytes, bytes_at(*field, "bytes"));
  TRY(out.reference, flag_at(*field, "reference", false));
  TRY(out.shards, optional_list<StoredFile>(*field, "shards", read_stored_file));
  TRY(out.tensors, optional_list<StoredTensor>(*field, "tensors", read_stored_tensor));
  TRY(auto bound, field->find("bound"));
  if (bound) {
    TRY(out.bound, read_source(*bound));
  }
  return std::optional<WeightsInfo>(std::move(out));
}

Status check_version(const Field& root) {
  TRY(auto format, root.at("format"));
  TRY(auto name, format.string());
  if (name != kFormatName) return format.problem("is " + torchlift::quoted(name) + ", expected \"torchlift-bundle\"");
  TRY(auto field, root.at("format_version"));
  TRY(auto version, field.integer());
  if (version == kFormatVersion) return Unit{};
  TRY(auto producer, string_at(root, "producer"));
  return diagnose(Kind::ManifestVersion, {{"got", version}, {"expected", kFormatVersion}, {"producer", producer}},
                  *root.path);
}

Result<Manifest> read_root(const Field& root) {
  TRY_OK(check_version(root));
  Manifest out;
  TRY(out.producer, string_at(root, "producer"));
  TRY(auto source, root.at("source"));
  TRY(out.source, read_source(source));
  TRY(out.precision, string_at(root, "precision"));
  TRY(out.weights, optional_weights(root));
  TRY(out.inputs, optional_tree(root, "input_tree"));
  TRY(out.outputs, optional_tree(root, "output_tree"));
  TRY(out.programs, list_at<Program>(root, "programs", read_program));
  TRY(out.inlined, optional_list<InlinedWeight>(root, "inlined", read_inlined));
  TRY(out.samples, optional_list<StoredFile>(root, "samples", read_stored_file));
  return out;
}

}  // namespace

Result<Manifest> read_manifest(ByteView json, const std::string& path) {
  if (json.empty()) return diagnose(Kind::EmptyFile, {}, path);
  simdjson::dom::parser parser;
  simdjson::padded_string text(torchlift::text_of(json));
  Field root{{}, "", &path};
  if (auto error = parser.parse(text).get(root.value); error != simdjson::SUCCESS)
    return root.problem(std::string("is no JSON: ") + simdjson::error_message(error));
  TRY(auto manifest, read_root(root));
  TRY_OK(check(manifest, path));
  return manifest;
}

void write_constant(JsonWriter& json, const Constant& constant) {
  struct Visitor {
    JsonWriter& json;
    void operator()(std::monostate) const { json.null(); }
    void operator()(bool value) const { json.boolean(value); }
    void operator()(int64_t value) const { json.integer(value); }
    void operator()(double value) const { json.number(value); }
    void operator()(const std::string& value) const {
      if (value == "inf" || value == "-inf" || value == "nan")
        json.begin_object().key("str").string(value).end_object();
      else json.string(value);
    }
    void operator()(std::complex<double> value) const {
      json.begin_object()
          .key("complex")
          .begin_array()
          .number(value.real())
          .number(value.imag())
          .end_array()
          .end_object();
    }
    void operator()(const Repr& value) const { json.begin_object().key("repr").string(value.text).end_object(); }
  };
  std::visit(Visitor{json}, constant);
}

std::string to_json(const NamedConstants& constants) {
  JsonWriter json;
  json.begin_object();
  for (auto& [name, value] : constants) write_constant(json.key(name), value);
  json.end_object();
  return std::move(json).take();
}

Result<NamedConstants> read_constants(std::string_view text, const std::string& path) {
  simdjson::dom::parser parser;
  simdjson::padded_string padded(text);
  Field root{{}, "values", &path};
  if (auto error = parser.parse(padded).get(root.value); error != simdjson::SUCCESS)
    return root.problem(std::string("is no JSON: ") + simdjson::error_message(error));
  TRY(auto entries, root.entries());
  NamedConstants out;
  for (auto& [name, field] : entries) {
    TRY(auto value, read_constant(field));
    out.emplace_back(name, std::move(value));
  }
  return out;
}

}  // namespace torchlift::bundle
