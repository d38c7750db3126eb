#include "frontend/export/load.hpp"

#include <algorithm>

#include "base/kinds.hpp"
#include "base/text.hpp"
#include "frontend/export/graph.hpp"
#include "frontend/export/json.hpp"
#include "frontend/export/signature.hpp"
#include "frontend/export/values.hpp"
#include "frontend/export/weights.hpp"
#include "torch/verify.hpp"

namespace torchlift::frontend {
namespace {

constexpr int64_t kOldestMajor = 5;
constexpr int64_t kNewestMajor = 8;
constexpr std::string_view kDefaultModel = "model";
constexpr std::string_view kTopLevelProgram = "serialized_exported_program.json";

std::vector<std::string> model_names(const archive::Archive& archive) {
  if (archive.kind() == archive::FileKind::Pt2Zip) return {std::string(kDefaultModel)};
  constexpr std::string_view kSuffix = ".json";
  std::string folder = archive.member_name("models/");
  std::vector<std::string> out;
  for (const archive::Member& member : archive.zip().members()) {
    if (!member.name.starts_with(folder) || !member.name.ends_with(kSuffix)) continue;
    out.push_back(member.name.substr(folder.size(), member.name.size() - folder.size() - kSuffix.size()));
  }
  return out;
}

Result<std::string> chosen_model(const archive::Archive& archive, const std::vector<std::string>& names,
                                 const LoadOptions& options) {
  std::string wanted = options.model;
  if (wanted.empty()) wanted = names.size() == 1 ? names.front() : std::string(kDefaultModel);
  if (std::find(names.begin(), names.end(), wanted) != names.end()) return wanted;
  std::string all = join(names, ", ", [](const std::string& name) { return "`" + printable(name) + "`"; });
  return diagnose(Kind::ModelMissing, {{"name", printable(wanted)}, {"models", all}}, archive.name());
}

// {"major": 8, "minor": 20}; a bare number in PyTorch 2.2.
Result<int64_t> read_version(Element element, JsonReader& json, torch::Program& program) {
  int64_t major = 0;
  if (element.is_int64()) {
    TRY(major, json.integer(element));
    program.schema_version = std::to_string(major);
  } else {
    TRY(Object version, json.object(element));
    TRY(major, json.integer_field(version, "major"));
    TRY(int64_t minor, json.integer_field(version, "minor"));
    program.schema_version = std::to_string(major) + "." + std::to_string(minor);
  }
  if (major < kOldestMajor || major > kNewestMajor)
    return json.error(Kind::ProgramVersion, {{"got", program.schema_version}});
  return major;
}

Status read_program(Element root_element, JsonReader& json, torch::Program& program) {
  TRY(Object root, json.object(root_element));
  TRY(int64_t major, json.field(root, "schema_version", [&](Element e) { return read_version(e, json, program); }));
  std::string_view version;
  TRY_OK(json.optional_text(root, "torch_version", version));
  if (!version.empty()) program.producer = "torch " + std::string(version);
  ValueReader values(json, major);
  GraphReader graph(values, program);
  auto read_module = [&](Element element) -> Status {
    TRY(Object module, json.object(element));
    TRY_OK(json.field(module, "graph", [&](Element e) { return graph.read(e); }));
    TRY_OK(json.field(module, "signature", [&](Element e) { return read_signature(e, graph, json, program); }));
    return read_call(module, json, program);
  };
  TRY_OK(json.field(root, "graph_module", read_module));
  program.hints = solve_hints(graph.hints());
  return json.optional_field(root, "range_constraints", [&](Element e) { return read_ranges(e, json, program); });
}

}  // namespace

Result<Loaded> load(archive::Archive& archive, const LoadOptions& options) {
  TRY_OK(archive::expect_pt2(archive));
  Loaded out;
  out.model_names = model_names(archive);
  TRY(out.program.name, chosen_model(archive, out.model_names, options));
  bool top_level = archive.kind() == archive::FileKind::Pt2Zip;
  std::string path = top_level ? std::string(kTopLevelProgram) : "models/" + out.program.name + ".json";
  std::string member = archive.member_name(path);
  {
    TRY(archive::MemberBytes bytes, archive.read(path));
    TRY(JsonDocument document, JsonDocument::parse(bytes.text(), archive.name(), member));
    JsonReader json(archive.name(), member);
    TRY_OK(read_program(document.root(), json, out.program));
  }
  TRY(out.records, read_weights(archive, out.program));
  Status sound = torch::verify(out.program);
  if (sound) return out;
  for (Diagnostic& problem : sound.errors()) {
    problem.place.file = archive.name();
    problem.place.member = member;
  }
  return std::move(sound.errors());
}

}  // namespace torchlift::frontend
