#include "frontend/export/locations.hpp"

#include <algorithm>
#include <charconv>

namespace torchlift::frontend {
namespace {

std::string_view trimmed(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// `File "model.py", line 12, in forward`
bool parse_frame(std::string_view line, SourceLine& out) {
  constexpr std::string_view kFile = "File \"";
  constexpr std::string_view kLine = "\", line ";
  constexpr std::string_view kIn = ", in ";
  if (!line.starts_with(kFile)) return false;
  size_t end = line.rfind(kLine);
  if (end == std::string_view::npos || end < kFile.size()) return false;
  std::string_view rest = line.substr(end + kLine.size());
  out = {};
  out.file = line.substr(kFile.size(), end - kFile.size());
  auto [at, error] = std::from_chars(rest.data(), rest.data() + rest.size(), out.line);
  if (error != std::errc() || out.line < 0) return false;
  rest.remove_prefix(static_cast<size_t>(at - rest.data()));
  if (rest.starts_with(kIn)) out.function = rest.substr(kIn.size());
  return true;
}

// torch's own files and code that torch generated; what a user wrote stands elsewhere.
bool is_library(const SourceLine& frame) {
  const std::string& file = frame.file;
  if (file.starts_with('<') || file.starts_with("torch/")) return true;  // <eval_with_key>.54
  for (std::string_view part : {"-packages/torch/", "/torch/nn/", "/torch/fx/", "/torch/_"})
    if (file.find(part) != std::string::npos) return true;
  return false;
}

bool is_marker(std::string_view line) { return line.find_first_not_of("^~ ") == std::string_view::npos; }

// Splits at `separator` outside of brackets and parentheses.
std::vector<std::string_view> split_outside(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && depth > 0) --depth;
    if (c != separator || depth > 0) continue;
    out.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  out.push_back(text.substr(begin));
  return out;
}

std::string content_key(const torch::Location& location) {
  std::string key = location.module_path + '\0' + location.module_type;
  for (const SourceLine& frame : location.frames)
    key += '\0' + frame.file + '\0' + std::to_string(frame.line) + '\0' + frame.function + '\0' + frame.text;
  return key;
}

}  // namespace

std::vector<SourceLine> parse_stack_trace(std::string_view trace) {
  std::vector<SourceLine> frames;
  while (!trace.empty()) {
    std::string_view line = trace.substr(0, trace.find('\n'));
    trace.remove_prefix(std::min(trace.size(), line.size() + 1));
    line = trimmed(line);
    SourceLine frame;
    if (parse_frame(line, frame)) {
      frames.push_back(std::move(frame));
    } else if (!frames.empty() && frames.back().text.empty() && !line.empty() && !is_marker(line)) {
      frames.back().text = line.substr(0, kMaxSourceText);
    }
  }
  std::reverse(frames.begin(), frames.end());
  if (std::any_of(frames.begin(), frames.end(), [](const SourceLine& frame) { return !is_library(frame); }))
    std::erase_if(frames, is_library);
  if (frames.size() > kMaxFrames) frames.resize(kMaxFrames);
  return frames;
}

std::pair<std::string, std::string> parse_module_stack(std::string_view stack) {
  std::vector<std::string_view> fields = split_outside(split_outside(stack, ';').back(), ',');
  constexpr std::string_view kNone = "_empty_nn_module_stack";  // what export writes for nodes of its own
  if (fields.size() < 3 || fields[1].starts_with(kNone)) return {};
  return {std::string(fields[1]), std::string(fields[2])};
}

torch::LocId LocationTable::intern(std::string_view stack_trace, std::string_view module_stack) {
  std::string text(stack_trace);
  text += '\0';
  text += module_stack;
  auto [known, is_new] = by_text_.try_emplace(std::move(text));
  if (!is_new) return known->second;
  torch::Location location;
  location.frames = parse_stack_trace(stack_trace);
  std::tie(location.module_path, location.module_type) = parse_module_stack(module_stack);
  auto [same, is_first] = by_content_.try_emplace(content_key(location), torch::LocId(locations_.size()));
  if (is_first) locations_.push_back(std::move(location));
  known->second = same->second;
  return known->second;
}

}  // namespace torchlift::frontend
