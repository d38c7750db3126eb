#include "bundle/staging.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "base/kinds.hpp"
#include "bundle/manifest.hpp"

namespace torchlift::bundle {
namespace {

namespace fs = std::filesystem;

Diagnostic cannot_write(const fs::path& path, int error) {
  return diagnose(Kind::CannotWrite, {{"path", path.string()}, {"reason", std::string(std::strerror(error))}});
}

void sync_directory(const fs::path& path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);  // a file system that cannot sync a directory is no error
  ::close(descriptor);
}

}  // namespace

Result<fs::path> target_of(const std::string& directory) {
  if (directory.empty()) return cannot_write(directory, ENOENT);
  std::error_code error;
  fs::path path = fs::absolute(directory, error);
  if (!error) path = fs::weakly_canonical(path, error);
  if (error) return cannot_write(directory, error.value());
  if (!path.has_filename()) path = path.parent_path();
  if (!path.has_filename()) return cannot_write(directory, EBUSY);  // the root directory
  return path;
}

bool belongs_to_bundle(std::string_view name) {
  return name == kManifestFile || name == kServerManifestFile || name == kWeightsIndex ||
         (name.starts_with("weights") && name.ends_with(".safetensors")) ||
         (name.starts_with("sample") && name.ends_with(".safetensors")) ||
         (name.starts_with("model") && is_program_file(name));
}

Result<bool> has_bundle(const fs::path& target) {
  std::error_code error;
  fs::file_status status = fs::status(target, error);
  if (status.type() == fs::file_type::not_found) return false;
  if (error) return cannot_write(target, error.value());
  if (!fs::is_directory(status)) return cannot_write(target, ENOTDIR);
  bool has_manifest = false;
  std::optional<std::string> foreign, first;
  fs::directory_iterator entries(target, error), end;
  for (; !error && entries != end; entries.increment(error)) {
    std::string name = entries->path().filename().string();
    has_manifest |= name == kManifestFile || name == kServerManifestFile;
    if (!first || name < *first) first = name;
    bool ours = belongs_to_bundle(name) && !entries->is_directory(error);
    if (!ours && (!foreign || name < *foreign)) foreign = name;
  }
  if (error) return cannot_write(target, error.value());
  if (!foreign && first && !has_manifest) foreign = first;
  if (foreign) return diagnose(Kind::OutputOccupied, {{"path", target.string()}, {"entry", *foreign}});
  return has_manifest;
}

Staging& Staging::operator=(Staging&& other) noexcept {
  std::swap(target_, other.target_);
  std::swap(path_, other.path_);
  std::swap(made_, other.made_);
  return *this;
}

Staging::~Staging() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
  for (size_t i = made_.size(); i-- > 0;) ::rmdir(made_[i].c_str());
}

Result<Staging> Staging::create(const fs::path& target) {
  static std::atomic<uint64_t> count{0};
  Staging staging;
  staging.target_ = target;
  TRY_OK(staging.make_parents());
  std::string stem = "." + target.filename().string().substr(0, 100) + "." + std::to_string(::getpid()) + ".";
  fs::path path;
  int failed = 0;
  do {
    path = target.parent_path() / (stem + std::to_string(count++) + ".tmp");
    failed = ::mkdir(path.c_str(), 0777);
  } while (failed != 0 && errno == EEXIST);
  if (failed != 0) return cannot_write(target, errno);
  staging.path_ = path;
  return staging;
}

Status Staging::make_parents() {
  std::vector<fs::path> missing;
  std::error_code error;
  for (fs::path parent = target_.parent_path(); !fs::exists(parent, error) && !error && parent.has_relative_path();
       parent = parent.parent_path())
    missing.push_back(parent);
  if (error) return cannot_write(target_, error.value());
  for (size_t i = missing.size(); i-- > 0;) {
    if (::mkdir(missing[i].c_str(), 0777) == 0) made_.push_back(missing[i]);
    else if (errno != EEXIST) return cannot_write(target_, errno);
  }
  return Unit{};
}

Status Staging::take_place(bool replace) {
  sync_directory(path_);
  if (replace) TRY_OK(swap_with_old());
  else if (::rename(path_.c_str(), target_.c_str()) != 0) return cannot_write(target_, errno);
  else path_.clear();
  made_.clear();
  sync_directory(target_.parent_path());
  return Unit{};
}

// The old bundle becomes the staging directory, which the destructor removes. On file systems that cannot exchange two
// names the old bundle is set aside first.
Status Staging::swap_with_old() {
  if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) == 0) return Unit{};
  if (errno != EINVAL && errno != ENOSYS) return cannot_write(target_, errno);
  fs::path old = path_;
  old += ".old";
  if (::rename(target_.c_str(), old.c_str()) != 0) return cannot_write(target_, errno);
  if (::rename(path_.c_str(), target_.c_str()) != 0) {
    int error = errno;
    ::rename(old.c_str(), target_.c_str());
    return cannot_write(target_, error);
  }
  path_ = old;
  return Unit{};
}

}  // namespace torchlift::bundle
