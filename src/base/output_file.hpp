// A file that appears under its name whole or not at all: written aside in the same directory, synced, renamed.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace torchlift {

class OutputFile {
 public:
  // Opens a temporary file beside `path`; nothing is at `path` before `finish`.
  static Result<OutputFile> create(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();  // removes the temporary file, unless finished

  Status write(ByteView bytes);
  // Appends `size` bytes of `source` from `offset`, in the kernel where it can; never held in memory as a whole.
  Status copy(const File& source, uint64_t offset, uint64_t size);
  uint64_t size() const { return size_; }
  // Syncs and renames.
  Status finish();

 private:
  OutputFile() = default;
  Status copy_by_reading(const File& source, uint64_t offset, uint64_t size);
  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

// The whole of `bytes` as the file `path`.
Status write_file(const std::string& path, ByteView bytes);

}  // namespace torchlift
