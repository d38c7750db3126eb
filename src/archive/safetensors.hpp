// The safetensors file: eight bytes of header length, a JSON header, then the tensors' bytes without a gap. What the
// official reader accepts is accepted here; what it refuses is refused with the reason.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/dtype.hpp"
#include "base/output_file.hpp"
#include "base/result.hpp"

namespace torchlift::archive {

// One tensor of a file, dense and row-major. `dtype` is the stored one: complex128 stands as float64 with a last
// dimension of 2.
struct SafetensorsTensor {
  std::string name;
  DType dtype{};
  std::vector<int64_t> shape;
  uint64_t offset = 0;  // in the file
  ByteView bytes;       // in the file's map
};

class SafetensorsFile {
 public:
  static Result<SafetensorsFile> open(const std::string& path);

  // In the order of their bytes.
  const std::vector<SafetensorsTensor>& tensors() const { return tensors_; }
  const SafetensorsTensor* find(std::string_view name) const;  // nullptr: there is none
  // In the order of the header; a key occurs once.
  const std::vector<std::pair<std::string, std::string>>& metadata() const { return metadata_; }
  const std::string* find_metadata(std::string_view key) const;
  const File& file() const { return file_; }

 private:
  explicit SafetensorsFile(File file) : file_(std::move(file)) {}
  File file_;
  std::vector<SafetensorsTensor> tensors_;
  std::vector<size_t> by_name_;  // indices of tensors_, sorted by name
  std::vector<std::pair<std::string, std::string>> metadata_;
};

// The header alone, over the bytes of a whole file (views in the result point into `bytes`); `path` names it in
// messages.
struct SafetensorsHeader {
  std::vector<SafetensorsTensor> tensors;
  std::vector<std::pair<std::string, std::string>> metadata;
};
Result<SafetensorsHeader> read_safetensors_header(ByteView bytes, const std::string& path);

// What is to be written: the bytes follow, entry by entry, in this order.
struct SafetensorsEntry {
  std::string name;
  DType dtype{};  // one that the format has: see storage_of
  std::vector<int64_t> shape;
};

// How a dtype that the format lacks is stored: complex128 as float64, complex32 as float16, with a further dimension
// of 2.
SafetensorsEntry storage_of(std::string name, DType dtype, std::vector<int64_t> shape);

// The header's bytes, length field included, padded with spaces to a multiple of 64. Equal calls give equal bytes.
std::string safetensors_header(const std::vector<SafetensorsEntry>& entries,
                               const std::vector<std::pair<std::string, std::string>>& metadata);

uint64_t byte_size(const SafetensorsEntry& entry);

// A whole file from memory: results of a run.
struct SafetensorsData {
  SafetensorsEntry entry;
  ByteView bytes;
};
Status write_safetensors(const std::string& path, const std::vector<SafetensorsData>& tensors,
                         const std::vector<std::pair<std::string, std::string>>& metadata);

}  // namespace torchlift::archive
