#include "cli/case_file.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <tuple>

#include "base/kinds.hpp"
#include "base/text.hpp"

namespace torchlift::cli {
namespace {

using bundle::TensorType;

// "in" and 10 of in.10; "mut" and -1 of mut.steps; and the key itself, so that different keys differ.
std::tuple<std::string_view, long, std::string_view> parts_of(std::string_view key) {
  size_t point = std::min(key.find('.'), key.size());
  std::string_view tail = point < key.size() ? key.substr(point + 1) : "";
  long number = -1;
  if (tail.find_first_not_of("0123456789") == std::string_view::npos)
    std::from_chars(tail.data(), tail.data() + tail.size(), number);
  return {key.substr(0, point), number, key};
}

std::optional<std::string> take(std::map<std::string, std::string>& metadata, const std::string& key) {
  auto found = metadata.find(key);
  if (found == metadata.end()) return std::nullopt;
  std::string out = std::move(found->second);
  metadata.erase(found);
  return out;
}

// Tensors that stand as pairs of their real and imaginary parts.
Status make_complex(CaseFile& file, const std::string& json, const std::string& path) {
  TRY(auto entries, bundle::read_constants(json, path));
  for (auto& [key, value] : entries) {
    auto* name = std::get_if<std::string>(&value);
    DType dtype = name ? dtype_from_torch_name(*name).value_or(DType::Bool) : DType::Bool;  // Bool: no complex type
    auto found = file.values.find(key);
    if (found == file.values.end()) continue;
    auto* tensor = std::get_if<run::HostTensor>(&found->second);
    if (tensor && is_complex(dtype) && tensor->type().dtype == dtype) continue;  // stored as what it is
    if (!tensor || !is_complex(dtype) || tensor->type().dtype != real_of(dtype) || tensor->type().shape.empty() ||
        tensor->type().shape.back() != 2)
      return diagnose(Kind::SafetensorsTensor,
                      {{"tensor", key},
                       {"problem", "the metadata `complex` calls it " + bundle::text_of(value) + ", it is stored as " +
                                       text_of(found->second)}},
                      path);
    TensorType type{dtype, tensor->type().shape};
    type.shape.pop_back();
    found->second = run::HostTensor::view(std::move(type), tensor->bytes());
  }
  return Unit{};
}

bool is_npy(const std::string& path) { return path.ends_with(".npy"); }

// The file and, for "NAME=FILE", the name.
std::pair<std::string, std::string> split_name(const std::string& argument) {
  size_t equals = argument.find('=');
  if (!is_npy(argument) || equals == std::string::npos) return {"", argument};
  return {argument.substr(0, equals), argument.substr(equals + 1)};
}

Result<CaseFile> read_npy(const std::string& argument) {
  auto [name, path] = split_name(argument);
  TRY(auto array, archive::NpyFile::open(path));
  auto file = std::make_shared<archive::NpyFile>(std::move(array));
  CaseFile out;
  out.values.emplace(name.empty() ? path : name, run::HostTensor::view({file->dtype(), file->shape()}, file->bytes()));
  out.files.push_back(file);
  return out;
}

const LeafValue* find(const CaseFile& inputs, const std::string& key) {
  auto found = inputs.values.find(key);
  return found == inputs.values.end() ? nullptr : &found->second;
}

// The one tensor of the inputs, if there is only one.
const LeafValue* lone_tensor(const CaseFile& inputs) {
  return inputs.values.size() == 1 ? &inputs.values.begin()->second : nullptr;
}

// A number may stand for a tensor that holds it, and the other way round.
bool same_constant(const bundle::Constant& got, const bundle::Constant& expected) {
  if (got == expected) return true;
  auto* a = std::get_if<double>(&got);
  auto* b = std::get_if<double>(&expected);
  return a && b && *a != *a && *b != *b;  // two NaN
}

}  // namespace

bool KeyOrder::operator()(std::string_view a, std::string_view b) const { return parts_of(a) < parts_of(b); }

std::string text_of(const LeafValue& value) {
  if (auto* tensor = std::get_if<run::HostTensor>(&value)) return bundle::text_of(tensor->type());
  return bundle::text_of(std::get<bundle::Constant>(value));
}

Result<CaseFile> read_case_file(const std::string& path) {
  TRY(auto opened, archive::SafetensorsFile::open(path));
  auto file = std::make_shared<archive::SafetensorsFile>(std::move(opened));
  CaseFile out;
  for (auto& tensor : file->tensors())
    out.values.emplace(tensor.name, run::HostTensor::view({tensor.dtype, tensor.shape}, tensor.bytes));
  for (auto& [key, value] : file->metadata()) out.metadata.emplace(key, value);
  out.files.push_back(file);
  if (auto json = take(out.metadata, "complex")) TRY_OK(make_complex(out, *json, path));
  if (auto json = take(out.metadata, "values")) {
    TRY(auto constants, bundle::read_constants(*json, path));
    for (auto& [key, value] : constants) out.values.emplace(key, std::move(value));
  }
  return out;
}

Result<CaseFile> read_inputs(const std::vector<std::string>& files) {
  CaseFile out;
  for (auto& argument : files) {
    TRY(auto next, is_npy(argument) ? read_npy(argument) : read_case_file(argument));
    out.values.merge(next.values);
    if (!next.values.empty()) return diagnose(Kind::InputRepeated, {{"name", next.values.begin()->first}}, argument);
    out.metadata.merge(next.metadata);
    out.files.insert(out.files.end(), next.files.begin(), next.files.end());
  }
  return out;
}

Result<std::vector<LeafValue>> leaves_of(const CaseFile& inputs, const std::vector<bundle::Leaf>& leaves,
                                         const std::vector<std::string>& files) {
  auto is_tensor = [](const bundle::Leaf& leaf) { return leaf.tensor.has_value(); };
  bool lone = std::count_if(leaves.begin(), leaves.end(), is_tensor) == 1;
  std::vector<LeafValue> out;
  std::vector<Diagnostic> problems;
  for (size_t k = 0; k < leaves.size(); ++k) {
    const LeafValue* found = find(inputs, "in." + std::to_string(k));
    if (!found) found = find(inputs, leaves[k].path);
    if (!found && leaves[k].tensor && lone) found = lone_tensor(inputs);
    if (!found && leaves[k].tensor)
      problems.push_back(diagnose(Kind::InputMissing, {{"leaf", "in." + std::to_string(k)}, {"name", leaves[k].path}},
                                  files.empty() ? "" : files.front()));
    out.push_back(found ? *found : leaves[k].constant);
  }
  for (const std::string& file : files) {  // what was given by name must be an input
    std::string name = split_name(file).first;
    auto is_named = [&](const bundle::Leaf& leaf) {
      return name == leaf.path || name == "in." + std::to_string(&leaf - leaves.data());
    };
    if (name.empty() || std::any_of(leaves.begin(), leaves.end(), is_named)) continue;
    std::string known = join(leaves, ", ", [](const bundle::Leaf& leaf) { return "`" + leaf.path + "`"; });
    problems.push_back(diagnose(Kind::InputUnknown, {{"name", name}, {"inputs", known}}, file));
  }
  if (!problems.empty()) return problems;
  return out;
}

Result<std::vector<run::HostTensor>> arguments_of(const bundle::Program& program,
                                                  const std::vector<LeafValue>& leaves) {
  std::vector<run::HostTensor> out(program.arguments.size());
  std::vector<Diagnostic> problems;
  for (size_t k = 0; k < program.inputs.size(); ++k) {
    auto& leaf = program.inputs[k];
    auto* tensor = std::get_if<run::HostTensor>(&leaves[k]);
    if (leaf.tensor && tensor && tensor->type() == program.arguments[*leaf.tensor].type) {
      out[*leaf.tensor] = *tensor;
      continue;
    }
    auto* constant = std::get_if<bundle::Constant>(&leaves[k]);
    if (!leaf.tensor && constant && same_constant(*constant, leaf.constant)) continue;
    std::string expected =
        leaf.tensor ? bundle::text_of(program.arguments[*leaf.tensor].type) : bundle::text_of(leaf.constant);
    problems.push_back(
        diagnose(Kind::InputType, {{"name", leaf.path}, {"got", text_of(leaves[k])}, {"expected", expected}}));
  }
  if (!problems.empty()) return problems;
  size_t inputs = 0;
  while (inputs < program.arguments.size() && program.arguments[inputs].role == bundle::ArgumentRole::Input) ++inputs;
  out.resize(inputs);
  return out;
}

LeafValues answer_of(const bundle::Program& program, std::span<const run::HostTensor> results) {
  LeafValues out;
  for (size_t k = 0; k < program.outputs.size(); ++k) {
    auto& leaf = program.outputs[k];
    out.emplace("out." + std::to_string(k), leaf.tensor ? LeafValue(results[*leaf.tensor]) : LeafValue(leaf.constant));
  }
  for (size_t i = 0; i < program.results.size(); ++i) {
    auto& result = program.results[i];
    if (result.role != bundle::ResultRole::BufferMutation) continue;
    out.emplace("mut." + result.name, results[i]);
    for (auto& alias : result.aliases) out.emplace("mut." + alias, results[i]);
  }
  for (auto& argument : program.arguments)
    if (argument.leaf && argument.result)
      out.emplace("mutin." + std::to_string(*argument.leaf), results[*argument.result]);
  return out;
}

Status write_answer(const std::string& path, const LeafValues& answer) {
  if (is_npy(path)) {
    auto* tensor = answer.size() == 1 ? std::get_if<run::HostTensor>(&answer.begin()->second) : nullptr;
    if (!tensor) return diagnose(Kind::OutputFormat, {{"count", static_cast<int64_t>(answer.size())}}, path);
    return archive::write_npy(path, tensor->type().dtype, tensor->type().shape, tensor->bytes());
  }
  std::vector<archive::SafetensorsData> tensors;
  bundle::NamedConstants constants, pairs;
  for (auto& [key, value] : answer) {
    auto* tensor = std::get_if<run::HostTensor>(&value);
    if (!tensor) {
      constants.emplace_back(key, std::get<bundle::Constant>(value));
      continue;
    }
    auto& type = tensor->type();
    tensors.push_back({archive::storage_of(key, type.dtype, type.shape), tensor->bytes()});
    if (tensors.back().entry.dtype != type.dtype) pairs.emplace_back(key, std::string(info(type.dtype).torch_name));
  }
  std::vector<std::pair<std::string, std::string>> metadata;
  if (!pairs.empty()) metadata.emplace_back("complex", bundle::to_json(pairs));
  if (!constants.empty()) metadata.emplace_back("values", bundle::to_json(constants));
  return archive::write_safetensors(path, tensors, metadata);
}

}  // namespace torchlift::cli
