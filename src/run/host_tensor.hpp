// A tensor in the host's memory, dense and row-major: what goes into a program and what comes out.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "bundle/manifest.hpp"

namespace torchlift::run {

using bundle::TensorType;

// Bytes of the elements as a device holds them: complex128 as pairs of doubles, bool as one byte each. None if a size
// is negative or the product leaves 64 bits.
std::optional<uint64_t> byte_size(const TensorType& type);

class HostTensor {
 public:
  HostTensor() = default;  // float32 of no elements
  static HostTensor own(TensorType type, std::vector<std::byte> bytes);
  // The bytes belong to somebody else and outlive the tensor and its copies.
  static HostTensor view(TensorType type, ByteView bytes);

  const TensorType& type() const { return type_; }
  ByteView bytes() const { return owned_ ? ByteView(storage_) : view_; }

 private:
  TensorType type_{.dtype = DType::Float32, .shape = {0}};
  bool owned_ = false;
  std::vector<std::byte> storage_;
  ByteView view_;
};

}  // namespace torchlift::run
