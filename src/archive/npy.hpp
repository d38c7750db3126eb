// numpy's file of one array, versions 1 to 3, little-endian.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/dtype.hpp"
#include "base/result.hpp"

namespace torchlift::archive {

// What the header says, and the array's bytes as they lie in the file.
struct NpyHeader {
  DType dtype{};
  std::vector<int64_t> shape;
  bool column_major = false;  // numpy's fortran_order
  ByteView bytes;
};
Result<NpyHeader> read_npy_header(ByteView bytes, const std::string& path);

// An array, dense and row-major. An array that numpy stored in column-major order is put in order on reading.
class NpyFile {
 public:
  static Result<NpyFile> open(const std::string& path);
  DType dtype() const { return header_.dtype; }
  const std::vector<int64_t>& shape() const { return header_.shape; }
  ByteView bytes() const { return header_.column_major ? ByteView(ordered_) : header_.bytes; }

 private:
  explicit NpyFile(File file) : file_(std::move(file)) {}
  File file_;
  NpyHeader header_;
  std::vector<std::byte> ordered_;
};

// Version 1. A dtype that numpy lacks (bfloat16, 8-bit floats) is refused.
Status write_npy(const std::string& path, DType dtype, const std::vector<int64_t>& shape, ByteView bytes);

}  // namespace torchlift::archive
