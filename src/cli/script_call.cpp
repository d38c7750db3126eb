#include "cli/script_call.hpp"

#include <simdjson.h>

#include <charconv>

#include "base/kinds.hpp"
#include "base/text.hpp"
#include "torch/schema.hpp"

namespace torchlift::cli {
namespace {

constexpr int kMaxArgumentDepth = 16;

using frontend::script::ScriptLeaf;
using frontend::script::TensorLeaf;

std::pair<std::string, std::string> split(const std::string& text) {
  size_t equals = text.find('=');
  if (equals == std::string::npos) return {"", text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

// "f32[8,3]"
std::optional<TensorLeaf> type_of(std::string_view text) {
  size_t open = text.find('[');
  if (open == std::string_view::npos || !text.ends_with(']')) return std::nullopt;
  auto dtype = dtype_from_short_name(text.substr(0, open));
  if (!dtype) return std::nullopt;
  TensorLeaf out{*dtype, {}};
  std::string_view sizes = text.substr(open + 1, text.size() - open - 2);
  while (!sizes.empty()) {
    std::string_view one = sizes.substr(0, sizes.find(','));
    sizes.remove_prefix(std::min(sizes.size(), one.size() + 1));
    while (one.starts_with(' ')) one.remove_prefix(1);
    int64_t size = -1;
    auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), size);
    if (error != std::errc() || end != one.data() + one.size() || size < 0) return std::nullopt;
    out.sizes.push_back(size);
  }
  return out;
}

// None, true, 5, 0.5, "text" as Python has them; a word that is none of these is a text.
torch::Operand literal_of(const std::string& text) {
  if (text == "None") return {};
  if (text == "True" || text == "False") return {text == "True"};
  int64_t integer = 0;
  const char* end = text.data() + text.size();
  if (auto [at, error] = std::from_chars(text.data(), end, integer); error == std::errc() && at == end && !text.empty())
    return {integer};
  double real = 0;
  if (auto [at, error] = std::from_chars(text.data(), end, real); error == std::errc() && at == end && !text.empty())
    return {real};
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front())
    return {text.substr(1, text.size() - 2)};
  return {text};
}

// TorchScript's dtypes are numbers.
int64_t dtype_number(DType dtype) {
  int64_t number = 0;
  while (torch::dtype_from_c10(number) != dtype) ++number;
  return number;
}

// A leaf's number, {"list": [...]}, {"tuple": [...]} or {"dict": [[key, ...], ...]}.
void name_leaves(simdjson::dom::element argument, const std::string& path, std::vector<ScriptLeaf>& leaves, int depth) {
  if (depth > kMaxArgumentDepth) return;
  if (int64_t number = 0; !argument.get(number)) {
    if (number >= 0 && static_cast<size_t>(number) < leaves.size()) leaves[static_cast<size_t>(number)].path = path;
    return;
  }
  for (const char* kind : {"list", "tuple"}) {
    simdjson::dom::array parts;
    if (argument[kind].get(parts)) continue;
    size_t i = 0;
    for (simdjson::dom::element part : parts)
      name_leaves(part, path + "[" + std::to_string(i++) + "]", leaves, depth + 1);
  }
  simdjson::dom::array items;
  if (argument["dict"].get(items)) return;
  for (simdjson::dom::element item : items) {
    simdjson::dom::array pair;
    std::string_view key;
    if (item.get(pair) || pair.size() != 2 || pair.at(0).get(key)) continue;
    name_leaves(pair.at(1).value_unsafe(), path + "['" + std::string(key) + "']", leaves, depth + 1);
  }
}

std::variant<TensorLeaf, torch::Operand> value_of(const LeafValue& value) {
  if (auto* tensor = std::get_if<run::HostTensor>(&value))
    return TensorLeaf{tensor->type().dtype, tensor->type().shape};
  return std::visit(
      [](const auto& v) -> torch::Operand {
        using T = std::remove_cvref_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate>) return {};
        else if constexpr (std::is_same_v<T, bundle::Repr>) {
          if (auto dtype = dtype_from_torch_name(v.text)) return {dtype_number(*dtype)};
          return {v.text};
        } else return {v};
      },
      std::get<bundle::Constant>(value));
}

bool is_position(std::string_view key) { return key.starts_with("in."); }
bool is_answer(std::string_view key) {
  return key.starts_with("out.") || key.starts_with("mut.") || key.starts_with("mutin.");
}

}  // namespace

Result<std::vector<ScriptLeaf>> script_leaves(const CaseFile& inputs, const torch::Program& program,
                                              const std::string& method) {
  std::vector<ScriptLeaf> out;
  for (auto& [key, value] : inputs.values)
    if (is_position(key)) out.push_back({value_of(value), ""});
  for (auto& [key, value] : inputs.values)
    if (!is_position(key) && !is_answer(key)) out.push_back({value_of(value), key});
  auto arranged = inputs.metadata.find("arguments");
  if (arranged == inputs.metadata.end()) return out;
  simdjson::dom::parser parser;
  simdjson::dom::element json;
  if (parser.parse(arranged->second).get(json) || !json.is_array())
    return diagnose(Kind::SafetensorsHeader, {{"problem", std::string("its metadata `arguments` is no JSON list")}});
  for (auto& info : frontend::script::methods(program)) {
    if (info.name != method) continue;
    size_t i = 0;
    for (simdjson::dom::element argument : json.get_array())
      if (i < info.parameters.size()) name_leaves(argument, info.parameters[i++].name, out, 0);
  }
  return out;
}

Result<ScriptCall> script_call(const LiftOptions& options) {
  ScriptCall out;
  out.method = options.method;
  std::vector<Diagnostic> problems;
  for (const std::string& text : options.inputs) {
    auto [name, value] = split(text);
    if (auto type = type_of(value)) {
      out.leaves.push_back({*type, name});
      continue;
    }
    if (value.ends_with(".npy") || value.ends_with(".safetensors")) {
      auto file = read_inputs({text});
      if (!file) {
        for (Diagnostic& d : file.errors()) problems.push_back(std::move(d));
        continue;
      }
      for (auto& [key, example] : file->values) out.leaves.push_back({value_of(example), key});
      continue;
    }
    problems.push_back(diagnose(Kind::InputOption, {{"option", text}}));
  }
  for (const std::string& text : options.arguments) {
    auto [name, value] = split(text);
    out.leaves.push_back({literal_of(value), name});
  }
  if (!problems.empty()) return problems;
  return out;
}

Status set_sizes(ScriptCall& call, const std::vector<lower::Binding>& sizes) {
  for (const lower::Binding& binding : sizes) {
    bool found = false;
    std::string known;
    for (ScriptLeaf& leaf : call.leaves) {
      auto* tensor = std::get_if<TensorLeaf>(&leaf.value);
      for (size_t axis = 0; tensor && axis < tensor->sizes.size(); ++axis) {
        std::string name = leaf.path + "." + std::to_string(axis);
        known += (known.empty() ? "" : ", ") + name;
        if (name != binding.name) continue;
        tensor->sizes[axis] = binding.size;
        found = true;
      }
    }
    if (!found) return diagnose(Kind::UnknownDim, {{"name", binding.name}, {"known", known.empty() ? "none" : known}});
  }
  return Unit{};
}

}  // namespace torchlift::cli
