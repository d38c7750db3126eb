#include "base/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/interrupt.hpp"
#include "base/kinds.hpp"

namespace torchlift {
namespace {

constexpr size_t kCopyChunk = size_t{1} << 20;
constexpr size_t kNameKept = 100;  // of the target's name, in the temporary one: a name has at most 255 bytes

Diagnostic cannot_write(const std::string& path, int error) {
  return diagnose(Kind::CannotWrite, {{"path", path}, {"reason", std::string(std::strerror(error))}});
}

std::string directory_of(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

std::string temporary_name(const std::string& path) {
  static std::atomic<uint64_t> count{0};
  size_t slash = path.rfind('/');
  std::string directory = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  return directory + "." + name.substr(0, kNameKept) + "." + std::to_string(::getpid()) + "." +
         std::to_string(count++) + ".tmp";
}

// Whether copy_file_range says that it cannot serve this pair of files, not that the copy failed.
bool cannot_copy_in_kernel(int error) {
  return error == EXDEV || error == EINVAL || error == ENOSYS || error == EOPNOTSUPP || error == EBADF ||
         error == EPERM;
}

}  // namespace

Result<OutputFile> OutputFile::create(const std::string& path) {
  OutputFile file;
  file.path_ = path;
  if (struct stat status{}; ::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return cannot_write(path, EISDIR);
    // A device or a pipe would be replaced by the file.
    if (!S_ISREG(status.st_mode))
      return diagnose(Kind::CannotWrite, {{"path", path}, {"reason", std::string("it is not a regular file")}});
    std::error_code error;  // where a link leads, the file is replaced, not the link
    if (auto target = std::filesystem::canonical(path, error); !error) file.path_ = target.string();
  }
  do {
    file.temporary_ = temporary_name(file.path_);
    file.descriptor_ = ::open(file.temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (file.descriptor_ < 0 && errno == EEXIST);
  if (file.descriptor_ >= 0) return file;
  int error = errno;
  file.temporary_.clear();
  return cannot_write(path, error);
}

OutputFile::OutputFile(OutputFile&& other) noexcept { *this = std::move(other); }

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(temporary_, other.temporary_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  return *this;
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status OutputFile::write(ByteView bytes) {
  while (!bytes.empty()) {
    if (interrupted()) return cannot_write(path_, EINTR);
    ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cannot_write(path_, errno);
    bytes = bytes.subspan(static_cast<size_t>(n));
    size_ += static_cast<uint64_t>(n);
  }
  return Unit{};
}

Status OutputFile::copy(const File& source, uint64_t offset, uint64_t size) {
  while (size > 0) {
    if (interrupted()) return cannot_write(path_, EINTR);
    auto from = static_cast<off_t>(offset);
    ssize_t n = ::copy_file_range(source.descriptor(), &from, descriptor_, nullptr, size, 0);
    if (n < 0 && errno == EINTR) continue;
    // Zero: some file systems serve nothing without an error; reading tells whether the source has ended.
    if (n == 0 || (n < 0 && cannot_copy_in_kernel(errno))) return copy_by_reading(source, offset, size);
    if (n < 0) return cannot_write(path_, errno);
    offset += static_cast<uint64_t>(n);
    size -= static_cast<uint64_t>(n);
    size_ += static_cast<uint64_t>(n);
  }
  return Unit{};
}

Status OutputFile::copy_by_reading(const File& source, uint64_t offset, uint64_t size) {
  std::vector<std::byte> buffer(static_cast<size_t>(std::min<uint64_t>(size, kCopyChunk)));
  while (size > 0) {
    auto part = std::span(buffer).first(static_cast<size_t>(std::min<uint64_t>(size, kCopyChunk)));
    TRY_OK(source.read_at(offset, part));
    TRY_OK(write(part));
    offset += part.size();
    size -= part.size();
  }
  return Unit{};
}

Status OutputFile::finish() {
  if (::fsync(descriptor_) != 0) return cannot_write(path_, errno);
  if (::close(std::exchange(descriptor_, -1)) != 0) return cannot_write(path_, errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return cannot_write(path_, errno);
  temporary_.clear();
  // The rename itself lasts through a power cut only once the directory is synced; a file system that cannot is no
  // error.
  int directory = ::open(directory_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    ::fsync(directory);
    ::close(directory);
  }
  return Unit{};
}

Status write_file(const std::string& path, ByteView bytes) {
  TRY(auto file, OutputFile::create(path));
  TRY_OK(file.write(bytes));
  return file.finish();
}

}  // namespace torchlift
