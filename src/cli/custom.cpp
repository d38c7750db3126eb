#include "cli/custom.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "base/kinds.hpp"

namespace torchlift::cli {
namespace {

constexpr std::string_view kCustomCall = "custom_call";

struct Parts {
  std::string name;
  std::string meaning;
  bool is_file = false;
};

// "ns::op.default" is "ns::op".
Result<Parts> parts_of(const std::string& option) {
  auto wrong = [&](std::string problem) {
    return diagnose(Kind::CustomOption, {{"option", option}, {"problem", std::move(problem)}});
  };
  size_t equals = option.find('=');
  if (equals == std::string::npos) return wrong("has no `=`");
  Parts out{option.substr(0, equals), option.substr(equals + 1), false};
  size_t colons = out.name.find("::");
  if (colons == std::string::npos || colons == 0 || colons + 2 == out.name.size())
    return wrong("names no operator with its namespace");
  constexpr std::string_view kDefault = ".default";
  if (out.name.ends_with(kDefault)) out.name.resize(out.name.size() - kDefault.size());
  bool is_call = out.meaning == kCustomCall || out.meaning.starts_with(std::string(kCustomCall) + ":");
  if (is_call && out.meaning.ends_with(':')) return wrong("has no name after `custom_call:`");
  if (!is_call && !out.meaning.ends_with(".mlir")) return wrong("names neither a .mlir file nor `custom_call`");
  out.is_file = !is_call;
  return out;
}

}  // namespace

Result<std::vector<lower::CustomOp>> read_custom(const std::vector<std::string>& options) {
  std::vector<lower::CustomOp> out;
  for (const std::string& option : options) {
    TRY(auto parts, parts_of(option));
    auto op = std::find_if(out.begin(), out.end(), [&](const lower::CustomOp& o) { return o.name == parts.name; });
    if (op != out.end() && (!parts.is_file || !op->target.empty()))
      return diagnose(Kind::CustomOption, {{"option", option}, {"problem", std::string("says a second meaning")}});
    if (op == out.end()) op = out.insert(out.end(), {.name = parts.name, .target = {}, .functions = {}});
    if (!parts.is_file) {
      size_t colon = parts.meaning.find(':');
      op->target = colon == std::string::npos ? parts.name : parts.meaning.substr(colon + 1);
      continue;
    }
    TRY(auto file, File::open(parts.meaning));
    TRY(auto text, stablehlo::read_function_text(text_of(file.bytes()), parts.meaning));
    op->functions.push_back({std::move(text), parts.meaning});
  }
  return out;
}

}  // namespace torchlift::cli
