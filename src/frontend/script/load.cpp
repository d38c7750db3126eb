#include "frontend/script/load.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "archive/torch_save.hpp"
#include "base/check.hpp"
#include "base/kinds.hpp"
#include "base/text.hpp"
#include "frontend/script/compile.hpp"
#include "frontend/script/debug_ranges.hpp"
#include "frontend/script/objects.hpp"
#include "frontend/script/version.hpp"
#include "torch/verify.hpp"

namespace torchlift::frontend::script {
namespace {

constexpr std::string_view kCode = "code/";
constexpr std::string_view kSource = ".py";
constexpr std::string_view kRanges = ".debug_pkl";

Result<archive::TorchSave> read_pickle(const archive::Archive& archive, const std::string& name) {
  return archive::TorchSave::read(archive.zip(), archive.member_name(name + ".pkl"), archive.member_name(name + "/"));
}

// "code/__torch__/a/b.py" -> "__torch__.a.b"
std::string prefix_of(std::string_view path) {
  path.remove_prefix(kCode.size());
  path.remove_suffix(kSource.size());
  std::string out(path);
  std::replace(out.begin(), out.end(), '/', '.');
  return out;
}

std::vector<Diagnostic> placed(std::vector<Diagnostic> problems, const archive::Archive& archive,
                               const std::string& member) {
  for (Diagnostic& problem : problems) {
    if (problem.place.file.empty()) problem.place.file = archive.name();
    if (problem.place.member.empty()) problem.place.member = member;
  }
  return problems;
}

// Lines of the author's files are for messages alone: a member that cannot be read is passed over.
std::optional<DebugRanges> read_ranges(const archive::Archive& archive, const std::string& member) {
  const archive::Member* found = archive.zip().find(member);
  if (found == nullptr) return std::nullopt;
  Result<archive::MemberBytes> bytes = archive.zip().read(*found);
  if (!bytes) return std::nullopt;
  Result<DebugRanges> ranges = DebugRanges::read(bytes->bytes(), archive.name(), member);
  return ranges ? std::optional(std::move(ranges).value()) : std::nullopt;
}

Status compile_code(const archive::Archive& archive, const Constants& constants, int64_t version,
                    const LoadOptions& options, torch::Program& program) {
  std::string folder = archive.member_name(kCode);
  std::vector<const archive::Member*> members;
  for (const archive::Member& member : archive.zip().members())
    if (member.name.starts_with(folder) && member.name.ends_with(kSource)) members.push_back(&member);
  std::sort(members.begin(), members.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  for (const archive::Member* member : members) {
    TRY(archive::MemberBytes text, archive.zip().read(*member));
    std::optional<DebugRanges> ranges;
    if (options.author_lines) ranges = read_ranges(archive, member->name + std::string(kRanges));
    SourceFile source{.prefix = prefix_of(std::string_view(member->name).substr(folder.size() - kCode.size())),
                      .text = std::string(text.text()),
                      .ranges = ranges ? &*ranges : nullptr};
    Status compiled = compile(source, constants, version, program);
    if (!compiled) return placed(std::move(compiled.errors()), archive, member->name);
  }
  Status linked = link(program);
  if (!linked) return placed(std::move(linked.errors()), archive, folder);
  return Unit{};
}

Diagnostic no_module(const archive::Archive& archive, std::string path, std::string got, std::string expected) {
  return diagnose(Kind::ScriptValue,
                  {{"path", std::move(path)}, {"got", std::move(got)}, {"expected", std::move(expected)}},
                  archive.name());
}

// The elements of the tuple are CONSTANTS.c0, CONSTANTS.c1, ...
Result<Constants> read_constants(const archive::TorchSave& saved, const archive::Archive& archive,
                                 std::vector<std::string>& names, ObjectReader& objects) {
  const auto* tuple = saved.pickle().get_if<archive::PickleTuple>(saved.root());
  if (tuple == nullptr) return no_module(archive, "CONSTANTS", "no tuple", "a tuple of constants");
  Constants constants;
  names.reserve(tuple->items.size());  // their texts stay in place
  for (size_t i = 0; i < tuple->items.size(); ++i) {
    names.push_back("CONSTANTS.c" + std::to_string(i));
    constants.values.push_back(objects.value(tuple->items[i], names.back()));
  }
  return constants;
}

}  // namespace

Result<ScriptFile> load(archive::Archive& archive, const LoadOptions& options) {
  CHECK(archive.kind() == archive::FileKind::TorchScript) << "the caller has looked at the kind";
  ScriptFile file;
  torch::Program& program = file.program;
  TRY(file.version, read_version(archive));
  program.name = archive.root();
  program.schema_version = std::to_string(file.version);
  program.blocks.emplace_back();

  TRY(archive::TorchSave data, read_pickle(archive, "data"));
  TRY(archive::TorchSave constants, read_pickle(archive, "constants"));
  Harvest harvest{.program = program, .file = archive.name()};
  ObjectReader constant_objects(constants, true, harvest);
  ObjectReader objects(data, false, harvest);
  std::vector<std::string> constant_names;
  TRY(Constants table, read_constants(constants, archive, constant_names, constant_objects));
  if (!harvest.problems.empty()) return std::move(harvest.problems);
  TRY_OK(compile_code(archive, table, file.version, options, program));
  constant_objects.finish();
  torch::Operand root = objects.value(data.root(), "");
  objects.finish();
  if (!harvest.problems.empty()) return std::move(harvest.problems);
  TRY_OK(check_object_tree(program, archive.name()));

  const auto* id = root.get<torch::ObjectId>();
  if (id == nullptr || program.object(*id).kind != torch::ObjectKind::Instance)
    return no_module(archive, "data.pkl", "no object", "the module");
  program.root = *id;
  file.records = std::move(harvest.records);
  Status sound = torch::verify(program);
  if (!sound) return placed(std::move(sound.errors()), archive, "");
  return file;
}

}  // namespace torchlift::frontend::script
