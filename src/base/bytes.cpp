#include "base/bytes.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/kinds.hpp"

namespace torchlift {
namespace {

template <typename T>
T read_little(ByteView bytes, size_t offset) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    value =
        static_cast<T>(value | static_cast<T>(static_cast<T>(std::to_integer<uint8_t>(bytes[offset + i])) << (8 * i)));
  return value;
}

Diagnostic system_error(Kind kind, const std::string& path, int error) {
  return diagnose(kind, {{"reason", std::string(std::strerror(error))}}, path);
}

}  // namespace

std::optional<ByteView> slice(ByteView bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
  return bytes.subspan(offset, size);
}

uint16_t read_u16(ByteView bytes, size_t offset) { return read_little<uint16_t>(bytes, offset); }
uint32_t read_u32(ByteView bytes, size_t offset) { return read_little<uint32_t>(bytes, offset); }
uint64_t read_u64(ByteView bytes, size_t offset) { return read_little<uint64_t>(bytes, offset); }

Result<File> File::open(const std::string& path) {
  File file;
  file.path_ = path;
  file.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe is opened, and refused, at once
  if (file.descriptor_ < 0) return system_error(Kind::CannotOpen, path, errno);
  struct stat status {};
  if (::fstat(file.descriptor_, &status) != 0) return system_error(Kind::CannotOpen, path, errno);
  if (S_ISDIR(status.st_mode)) return system_error(Kind::CannotOpen, path, EISDIR);
  if (!S_ISREG(status.st_mode))
    return diagnose(Kind::CannotOpen, {{"reason", std::string("it is not a regular file")}}, path);
  if (status.st_size == 0) return file;
  auto size = static_cast<size_t>(status.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor_, 0);
  if (data == MAP_FAILED) return system_error(Kind::CannotOpen, path, errno);
  file.bytes_ = {static_cast<const std::byte*>(data), size};
  return file;
}

File::File(File&& other) noexcept { *this = std::move(other); }

File& File::operator=(File&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

File::~File() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status File::read_at(uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    ssize_t n = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(Kind::CannotRead, path_, errno);
    if (n == 0)
      return diagnose(Kind::CannotRead, {{"reason", std::string("it became shorter while it was read")}}, path_);
    out = out.subspan(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return Unit{};
}

}  // namespace torchlift
