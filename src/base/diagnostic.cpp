#include "base/diagnostic.hpp"

#include <array>

#include "base/check.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

namespace torchlift {
namespace {

constexpr std::array kKinds = {
#define DIAGNOSTIC(name, id, severity, message, advice) KindInfo{#name, id, Severity::severity, message, advice},
#include "base/diagnostics.def"
#undef DIAGNOSTIC
};

std::string text_of(const Argument& argument) {
  if (auto* i = std::get_if<int64_t>(&argument)) return std::to_string(*i);
  if (auto* f = std::get_if<double>(&argument)) return shortest(*f);
  return printable(std::get<std::string>(argument));
}

std::string fill(std::string_view pattern, const Arguments& arguments) {
  std::string out;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '{') {
      out += pattern[i];
      continue;
    }
    size_t end = pattern.find('}', i);
    CHECK(end != std::string_view::npos) << pattern;
    std::string_view name = pattern.substr(i + 1, end - i - 1);
    const Argument* found = nullptr;
    for (auto& [key, value] : arguments)
      if (key == name) found = &value;
    CHECK(found != nullptr) << "the message `" << pattern << "` lacks its argument " << name;
    out += text_of(*found);
    i = end;
  }
  return out;
}

constexpr std::string_view name_of(Severity severity) {
  switch (severity) {
    case Severity::Note: return "note";
    case Severity::Warning: return "warning";
    case Severity::Error: return "error";
  }
  return "";
}

}  // namespace

const KindInfo& info(Kind kind) { return kKinds[static_cast<size_t>(kind)]; }
size_t kind_count() { return kKinds.size(); }

std::string Diagnostic::message() const { return fill(info(kind).message, arguments); }
std::string Diagnostic::advice() const { return fill(info(kind).advice, arguments); }

Diagnostic diagnose(Kind kind, Arguments arguments) {
  return Diagnostic{.kind = kind, .arguments = std::move(arguments), .place = {}, .got = {}};
}

Diagnostic diagnose(Kind kind, Arguments arguments, std::string file, std::string member) {
  Diagnostic d = diagnose(kind, std::move(arguments));
  d.place.file = std::move(file);
  d.place.member = std::move(member);
  return d;
}

// error[unsupported-mode]: grid_sampler_2d with interpolation_mode=2 has no lowering
//   --> model.py:87 in forward
//    |    out = F.grid_sample(vol, grid, mode="bicubic")
//   in  model.pt2, node %grid_sampler_2d_3 (212 of 348), module encoder.warp
//   got input f32[1,3,64,64], grid f32[1,64,64,2]
//   fix use mode="bilinear"
std::string to_text(const Diagnostic& d) {
  std::string out;
  out += std::string(name_of(d.severity())) + "[" + std::string(info(d.kind).id) + "]: " + d.message() + "\n";
  const Place& p = d.place;
  if (!p.source.empty()) {
    const SourceLine& s = p.source.front();
    out += "  --> " + printable(s.file) + ":" + std::to_string(s.line);
    if (!s.function.empty()) out += " in " + printable(s.function);
    out += "\n";
    if (!s.text.empty()) out += "   |    " + printable(s.text) + "\n";
  }
  std::string in;
  auto part = [&in](std::string text) { in += (in.empty() ? "" : ", ") + std::move(text); };
  if (!p.file.empty()) part(printable(p.file));
  if (!p.member.empty()) part("`" + printable(p.member) + "`");
  if (!p.node.empty()) {
    std::string where = "node " + printable(p.node);
    if (p.node_index >= 0)
      where += " (" + std::to_string(p.node_index + 1) + " of " + std::to_string(p.node_count) + ")";
    part(where);
  }
  if (!p.module.empty()) part("module " + printable(p.module));
  if (!in.empty()) out += "  in  " + in + "\n";
  if (!d.got.empty()) out += "  got " + printable(d.got) + "\n";
  std::string advice = d.advice();
  for (size_t begin = 0; begin < advice.size();) {
    size_t end = advice.find('\n', begin);
    if (end == std::string::npos) end = advice.size();
    out += (begin == 0 ? "  fix " : "      ") + advice.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return out;
}

std::string to_json(const Diagnostic& d) {
  JsonWriter json;
  json.begin_object();
  json.key("kind").string(info(d.kind).id);
  json.key("severity").string(name_of(d.severity()));
  json.key("message").string(d.message());
  if (std::string advice = d.advice(); !advice.empty()) json.key("advice").string(advice);
  json.key("arguments").begin_object();
  for (auto& [name, value] : d.arguments) {
    json.key(name);
    if (auto* i = std::get_if<int64_t>(&value)) json.integer(*i);
    else if (auto* f = std::get_if<double>(&value)) json.number(*f);
    else json.string(std::get<std::string>(value));
  }
  json.end_object();
  const Place& p = d.place;
  if (!p.file.empty()) json.key("file").string(p.file);
  if (!p.member.empty()) json.key("member").string(p.member);
  if (!p.node.empty()) json.key("node").string(p.node);
  if (p.node_index >= 0) {
    json.key("node_index").integer(p.node_index);
    json.key("node_count").integer(p.node_count);
  }
  if (!p.module.empty()) json.key("module").string(p.module);
  if (!d.got.empty()) json.key("got").string(d.got);
  if (!p.source.empty()) {
    json.key("source").begin_array();
    for (const SourceLine& s : p.source) {
      json.begin_object();
      json.key("file").string(s.file).key("line").integer(s.line).key("function").string(s.function);
      if (!s.text.empty()) json.key("text").string(s.text);
      json.end_object();
    }
    json.end_array();
  }
  json.end_object();
  return std::move(json).take();
}

void DiagnosticSink::add(Diagnostic diagnostic) {
  if (diagnostic.severity() == Severity::Error) ++errors_;
  all_.push_back(std::move(diagnostic));
}

}  // namespace torchlift
