#include "bundle/read.hpp"

#include <sys/stat.h>

#include "base/kinds.hpp"
#include "base/text.hpp"
#include "bundle/signature.hpp"

namespace torchlift::bundle {
namespace {

bool exists(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0;
}

Status check_size(const std::string& path, uint64_t expected) {
  struct stat status {};
  // A file that is not there is named by whoever opens it.
  if (::stat(path.c_str(), &status) != 0 || static_cast<uint64_t>(status.st_size) == expected) return Unit{};
  return diagnose(Kind::WeightsSize,
                  {{"got", static_cast<int64_t>(status.st_size)}, {"expected", static_cast<int64_t>(expected)}}, path);
}

}  // namespace

std::string path_in(const std::string& directory, std::string_view name) { return directory + "/" + std::string(name); }

Result<Manifest> open(const std::string& directory) {
  std::string path = path_in(directory, kManifestFile);
  if (exists(directory) && !exists(path)) return diagnose(Kind::NotABundle, {}, directory);
  TRY(auto file, File::open(path));
  return read_manifest(file.bytes(), path);
}

Result<std::string> read_program(const std::string& directory, const Program& program) {
  std::string path = path_in(directory, program.file);
  TRY(auto file, File::open(path));
  std::string text(torchlift::text_of(file.bytes()));
  if (std::string digest = digest_of(bytes_of(text)); digest != program.digest)
    return diagnose(Kind::BundleDigest, {{"member", program.file}, {"got", digest}, {"expected", program.digest}},
                    path);
  TRY(auto signature, read_signature(text, path));
  TRY_OK(check_signature(program, signature, path));
  return text;
}

Result<StateDict> open_weights(const std::string& directory, const Manifest& manifest) {
  if (!manifest.weights) return diagnose(Kind::WeightsNotInBundle, {}, directory);
  auto& info = *manifest.weights;
  if (info.reference)
    return StateDict::open_reference(info.file.starts_with('/') ? info.file : path_in(directory, info.file), manifest);
  if (info.shards.empty()) TRY_OK(check_size(path_in(directory, info.file), info.bytes));
  for (auto& shard : info.shards) TRY_OK(check_size(path_in(directory, shard.file), shard.bytes));
  return StateDict::open(path_in(directory, info.file));
}

}  // namespace torchlift::bundle
