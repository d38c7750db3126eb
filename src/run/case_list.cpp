// Lists of cases, and the lines that tell how they ended.
#include <algorithm>
#include <set>

#include "base/bytes.hpp"
#include "base/json.hpp"
#include "base/kinds.hpp"
#include "run/cases.hpp"

namespace torchlift::run {
namespace {

std::string_view name_of(CaseStatus status) {
  switch (status) {
    case CaseStatus::Ok: return "ok";
    case CaseStatus::Refused: return "refused";
    case CaseStatus::Error: return "error";
    case CaseStatus::Timeout: return "timeout";
  }
  return "";
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::string case_name(std::string_view inputs_file) {
  constexpr std::string_view kEnding = ".safetensors";
  if (size_t slash = inputs_file.rfind('/'); slash != std::string_view::npos) inputs_file.remove_prefix(slash + 1);
  if (inputs_file.ends_with(kEnding)) inputs_file.remove_suffix(kEnding.size());
  return std::string(inputs_file);
}

std::optional<Case> parse_case(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::vector<std::string_view> parts = split(line, '\t');
  if (parts.size() < 2) return std::nullopt;
  if (std::any_of(parts.begin(), parts.end(), [](std::string_view part) { return part.empty(); })) return std::nullopt;
  Case out;
  out.program = parts[0];
  out.inputs.assign(parts.begin() + 1, parts.end());
  return out;
}

Result<std::vector<Case>> read_cases(const std::string& path) {
  TRY(File file, File::open(path));
  auto wrong = [&path](size_t line, std::string problem) {
    return diagnose(Kind::CaseList, {{"line", static_cast<int64_t>(line)}, {"problem", std::move(problem)}}, path);
  };
  std::vector<Case> cases;
  std::set<std::string> names;
  std::vector<std::string_view> lines = split(text_of(file.bytes()), '\n');
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty() || lines[i] == "\r" || lines[i][0] == '#') continue;
    std::optional<Case> one = parse_case(lines[i]);
    if (!one) return wrong(i + 1, "names no program and inputs file");
    for (const std::string& inputs : one->inputs)
      if (!names.insert(case_name(inputs)).second) return wrong(i + 1, "names case `" + case_name(inputs) + "` again");
    cases.push_back(std::move(*one));
  }
  return cases;
}

std::string status_line(std::string_view name, const CaseOutcome& outcome) {
  JsonWriter json;
  json.begin_object();
  json.key("case").string(name);
  json.key("status").string(name_of(outcome.status));
  json.key("seconds").begin_object();
  json.key("import").number(outcome.seconds.import);
  json.key("compile").number(outcome.seconds.compile);
  json.key("run").number(outcome.seconds.run);
  json.end_object();
  json.key("diagnostics").begin_array();
  for (const std::string& text : outcome.diagnostics) json.string(text);
  json.end_array();
  json.end_object();
  return std::move(json).take();
}

}  // namespace torchlift::run
