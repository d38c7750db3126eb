#include "frontend/script/version.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "base/kinds.hpp"
#include "base/text.hpp"

namespace torchlift::frontend::script {
namespace {

constexpr size_t kShownText = 40;

bool has_folder(const archive::Archive& archive, std::string_view folder) {
  std::string prefix = archive.member_name(folder);
  const auto& members = archive.zip().members();
  return std::any_of(members.begin(), members.end(),
                     [&](const archive::Member& member) { return member.name.starts_with(prefix); });
}

Diagnostic wrong_version(const archive::Archive& archive, std::string seen, std::string advice, std::string_view path) {
  return diagnose(Kind::ScriptVersion,
                  {{"version", std::move(seen)},
                   {"oldest", kOldestVersion},
                   {"newest", kNewestVersion},
                   {"advice", std::move(advice)}},
                  archive.name(), archive.member_name(path));
}

// Decimal digits and a newline.
Result<int64_t> number_of(const archive::Archive& archive, std::string_view path) {
  TRY(archive::MemberBytes bytes, archive.read(path));
  std::string_view text = bytes.text();
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  int64_t version = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (error == std::errc() && end == text.data() + text.size() && version > 0) return version;
  return wrong_version(archive, quoted(text.substr(0, kShownText)), "the file is damaged: save it again", path);
}

}  // namespace

Result<int64_t> read_version(const archive::Archive& archive) {
  if (has_folder(archive, ".data/ts_code/")) return diagnose(Kind::TorchPackageFile, {}, archive.name());
  if (archive.find("model.json") != nullptr) return diagnose(Kind::ScriptJsonLayout, {}, archive.name());
  std::string_view path = archive.find(".data/version") != nullptr ? ".data/version" : "version";
  TRY(int64_t version, number_of(archive, path));
  if (version < kOldestVersion)
    return wrong_version(archive, std::to_string(version),
                         "load it with a PyTorch that reads it and save it again:\n"
                         "    torch.jit.save(torch.jit.load(\"model.pt\"), \"new.pt\")",
                         path);
  if (version > kNewestVersion)
    return wrong_version(archive, std::to_string(version), "a newer torchlift may read it", path);
  if (archive.find("bytecode.pkl") != nullptr && !has_folder(archive, "code/"))
    return diagnose(Kind::ScriptBytecode, {}, archive.name());
  return version;
}

}  // namespace torchlift::frontend::script
