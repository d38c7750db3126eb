// Views over bytes that somebody else owns, bounds-checked little-endian fields, and read-only files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace torchlift {

using ByteView = std::span<const std::byte>;

inline ByteView bytes_of(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }
inline std::string_view text_of(ByteView bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// The `size` bytes at `offset`, or nothing if they are not all there (no overflow on any values).
std::optional<ByteView> slice(ByteView bytes, uint64_t offset, uint64_t size);

// Little-endian fields; the caller has checked that the bytes are there.
uint16_t read_u16(ByteView bytes, size_t offset);
uint32_t read_u32(ByteView bytes, size_t offset);
uint64_t read_u64(ByteView bytes, size_t offset);

// A regular file, open for reading. Pages of `bytes()` are mapped, shared with the page cache and never held in
// anonymous memory. A file that another process cuts while it is mapped raises SIGBUS: weights are therefore copied by
// `read_at` or copy_file_range, and only small records are read through the map.
class File {
 public:
  static Result<File> open(const std::string& path);
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  uint64_t size() const { return bytes_.size(); }
  ByteView bytes() const { return bytes_; }
  // Fills `out` from `offset`; a short file is an error.
  Status read_at(uint64_t offset, std::span<std::byte> out) const;

 private:
  File() = default;
  std::string path_;
  int descriptor_ = -1;
  ByteView bytes_;
};

}  // namespace torchlift
