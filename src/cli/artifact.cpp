#include "cli/artifact.hpp"

#include <map>

#include "base/bytes.hpp"
#include "base/json.hpp"
#include "base/kinds.hpp"
#include "base/text.hpp"
#include "stablehlo/artifact.hpp"
#include "stablehlo/print.hpp"

namespace torchlift::cli {
namespace {

using stablehlo::bytecode::Operation;
namespace vhlo = stablehlo::vhlo;

std::string types_text(const vhlo::Program& program, const std::vector<vhlo::TypeNumber>& types) {
  return "(" + join(types, ", ", [&](vhlo::TypeNumber t) { return vhlo::type_text(program, t); }) + ")";
}

// All operations but functions and what ends their regions, by their names in the artifact.
void count(const vhlo::Program& program, const Operation& op, std::map<std::string, int64_t>& counts) {
  for (const auto& region : op.regions)
    for (const Operation& inner : region.operations) {
      const vhlo::OperationInfo& row = *program.info(inner);
      if (row.name != "func" && row.name != "return")
        ++counts[std::string(row.name) + "_v" + std::to_string(row.version)];
      count(program, inner, counts);
    }
}

// The short form where we have one; else, or where it is asked for, MLIR's generic one.
Result<std::string> text_of(const vhlo::Program& program, const InspectOptions& options) {
  if (!options.generic)
    if (auto module = stablehlo::module_of(program, options.model))
      return stablehlo::to_text(*module, {.locations = options.locations});
  return vhlo::to_text(program, options.model, options.locations);
}

}  // namespace

Result<std::string> program_of(const lower::Lowered& lowered, const LiftOptions& options, bool locations) {
  if (options.program == "text") {
    if (!options.stablehlo_version.empty())
      return diagnose(Kind::CommandLine,
                      {{"problem", std::string("`--stablehlo-version` is of artifacts: give `--program artifact`")}});
    return stablehlo::to_text(lowered.module, {.locations = locations, .definitions = lowered.definitions});
  }
  stablehlo::ArtifactOptions how;
  how.locations = locations;
  if (!options.stablehlo_version.empty()) {
    how.version = vhlo::parse_version(options.stablehlo_version);
    if (!how.version)
      return diagnose(Kind::ArtifactTarget, {{"version", quoted(options.stablehlo_version)},
                                             {"oldest", vhlo::to_text(vhlo::kOldestVersion)},
                                             {"newest", vhlo::to_text(vhlo::kNewestVersion)}});
  }
  return stablehlo::write_artifact(lowered.module, how);
}

Result<bool> is_artifact_file(const std::string& path) {
  TRY(auto file, File::open(path));
  return stablehlo::bytecode::is_bytecode(file.bytes());
}

Result<Output> inspect_artifact(const InspectOptions& options) {
  TRY(auto file, File::open(options.model));
  TRY(auto program, vhlo::read(file.bytes(), options.model));
  TRY(auto functions, vhlo::functions(program, options.model));
  Output out;
  JsonWriter json;
  json.begin_object();
  json.key("producer").string(program.producer).key("bytes").integer(static_cast<int64_t>(file.size()));
  if (options.text || options.generic) {
    TRY(out.text, text_of(program, options));
    json.key("text").string(out.text).end_object();
    out.json = std::move(json).take();
    return out;
  }
  out.text = options.model + "  StableHLO artifact by " + printable(program.producer) + ", " +
             std::to_string(file.size()) + " bytes\nfunctions\n";
  json.key("functions").begin_array();
  for (const vhlo::FunctionInfo& f : functions) {
    const std::string type =
        types_text(program, f.signature.arguments) + " -> " + types_text(program, f.signature.results);
    out.text += std::string(f.is_public ? "  public  " : "  private  ") + printable(f.name) + "  " + type + "\n";
    json.begin_object().key("name").string(f.name).key("public").boolean(f.is_public).key("type").string(type);
    json.end_object();
  }
  json.end_array();
  std::map<std::string, int64_t> counts;
  count(program, program.root, counts);
  out.text += "operations\n";
  json.key("operations").begin_array();
  for (const auto& [name, number] : counts) {
    out.text += "  " + std::to_string(number) + "\t" + name + "\n";
    json.begin_object().key("name").string(name).key("count").integer(number).end_object();
  }
  json.end_array().end_object();
  out.json = std::move(json).take();
  return out;
}

}  // namespace torchlift::cli
