// What recorded operator cases show without running them:
//
//   lift FOLDER [--leave DIR]
//
// 1. Storage identity: an output has the storage of an input where it has in PyTorch (`aliases` of the case), and
// nowhere else.
// 2. Whichever StableHLO operation of a program fails, the program is refused: lowerings pass poison on, and none
// crashes on it.
//    At most kFailed operations a program, evenly spread.
// 3. The program as a StableHLO artifact reads back as the same module, and is written as the same bytes again.
//
// --leave: the programs as text and artifact, for tools/artifact/check.py; storages and failures are not looked at.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>

#include <simdjson.h>

#include "archive/safetensors.hpp"
#include "aten/ops.hpp"
#include "base/kinds.hpp"
#include "cli/importer.hpp"
#include "stablehlo/artifact.hpp"
#include "stablehlo/print.hpp"

namespace torchlift {
namespace {

namespace fs = std::filesystem;

constexpr size_t kFailed = 40;

using Aliases = std::set<std::pair<int64_t, int64_t>>;  // leaf of the outputs, leaf of the inputs

Result<Aliases> recorded_aliases(const std::string& path) {
  TRY(auto file, archive::SafetensorsFile::open(path));
  Aliases out;
  const std::string* text = file.find_metadata("aliases");
  if (!text) return out;
  simdjson::dom::parser parser;
  simdjson::dom::array pairs;
  if (parser.parse(*text).get(pairs) != simdjson::SUCCESS) return out;
  for (auto pair : pairs) {
    int64_t output = 0, input = 0;
    if (pair.at(0).get(output) == simdjson::SUCCESS && pair.at(1).get(input) == simdjson::SUCCESS)
      out.insert({output, input});
  }
  return out;
}

Aliases aliases_of(const lower::Lowered& lowered) {
  Aliases out;
  for (size_t i = 0; i < lowered.outputs.size(); ++i) {
    if (!lowered.outputs[i].tensor) continue;
    auto number = lowered.results[*lowered.outputs[i].tensor].storage_of;
    if (!number) continue;
    const lower::EntryArgument& argument = lowered.arguments[*number];
    // What is recorded is the address of the storage, which an empty one has not.
    if (argument.leaf && product(argument.shape) != Dim(0))
      out.insert({static_cast<int64_t>(i), static_cast<int64_t>(*argument.leaf)});
  }
  return out;
}

std::string text_of(const Aliases& aliases) {
  std::string out;
  for (auto [output, input] : aliases)
    out += (out.empty() ? "" : ", ") + ("out." + std::to_string(output)) + " is in." + std::to_string(input);
  return out.empty() ? "none" : out;
}

Status check_identity(const lower::Lowered& lowered, const std::string& expected_file) {
  TRY(auto expected, recorded_aliases(expected_file));
  Aliases got = aliases_of(lowered);
  if (got == expected) return Unit{};
  return diagnose(Kind::Internal, {{"reason", "storages: " + text_of(got) + "; in PyTorch: " + text_of(expected)}});
}

Status check_failures(const torch::Program& program, lower::Options options, size_t operations) {
  size_t step = std::max<size_t>(1, operations / kFailed);
  for (size_t i = 0; i < operations; i += step) {
    options.fail_operation = i;
    if (lower::lower(program, aten::table(), options))
      return diagnose(Kind::Internal, {{"reason", "operation " + std::to_string(i) + " of " +
                                                      std::to_string(operations) + " failed, and a program came out"}});
  }
  return Unit{};
}

// With and without locations. A declared function (--custom) has no place here.
Status check_artifact(const stablehlo::Module& module, const fs::path& leave) {
  for (bool locations : {false, true}) {
    const std::string text = stablehlo::to_text(module, {.locations = locations});
    TRY(auto bytes, stablehlo::write_artifact(module, {.locations = locations}));
    TRY(auto again, stablehlo::read_artifact(bytes_of(bytes), "artifact"));
    if (stablehlo::to_text(again, {.locations = locations}) != text)
      return diagnose(Kind::Internal, {{"reason", std::string("the artifact is read as another module")}});
    auto program = stablehlo::vhlo::read(bytes_of(bytes), "artifact");
    TRY(auto second, stablehlo::write_artifact(again, {.version = program->version, .locations = true}));
    if (second != bytes)
      return diagnose(Kind::Internal, {{"reason", std::string("the artifact is written as other bytes")}});
    if (leave.empty()) continue;
    const std::string name = leave.string() + (locations ? ".locations" : "");
    std::ofstream(name + ".mlir") << text;
    std::ofstream(name + ".mlirbc") << bytes;
  }
  return Unit{};
}

// The programs that are refused are no matter of this test: judge.cpp knows which may be.
Result<bool> check(const std::string& program_file, const std::string& expected_file, const fs::path& leave) {
  TRY(auto model, cli::ModelFile::open(program_file));
  TRY(auto sizes, lower::bind_sizes(model.program(), {}));
  lower::Options options;
  options.sizes = std::move(sizes);
  auto lowered = lower::lower(model.program(), aten::table(), options);
  if (!lowered) return false;
  TRY_OK(check_artifact(lowered->module, leave));
  if (!leave.empty()) return true;
  TRY_OK(check_identity(*lowered, expected_file));
  TRY_OK(check_failures(model.program(), options, lowered->operations));
  return true;
}

int lift_all(const fs::path& folder, const fs::path& leave) {
  std::vector<fs::path> programs;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".pt2") programs.push_back(entry.path());
  std::sort(programs.begin(), programs.end());
  size_t checked = 0, failed = 0;
  for (const fs::path& program : programs) {
    const fs::path name = leave.empty() ? leave : leave / (folder.filename().string() + "." + program.stem().string());
    auto done = check(program.string(), fs::path(program).replace_extension(".safetensors").string(), name);
    if (done) {
      checked += *done ? 1 : 0;
      continue;
    }
    ++failed;
    std::cout << "FAILED " << program.stem().string() << "\n";
    for (const Diagnostic& d : done.errors()) std::cout << "    " << to_text(d);
  }
  std::cout << programs.size() << " programs: " << checked << " as PyTorch, " << failed << " failed\n";
  return failed > 0 || checked == 0 ? 1 : 0;
}

}  // namespace
}  // namespace torchlift

int main(int argc, char** argv) {
  const bool leave = argc == 4 && std::string_view(argv[2]) == "--leave";
  if (argc != 2 && !leave) {
    std::cerr << "lift FOLDER [--leave DIR]\n";
    return 2;
  }
  if (leave) std::filesystem::create_directories(argv[3]);
  return torchlift::lift_all(argv[1], leave ? argv[3] : "");
}
