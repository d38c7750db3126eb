#include "run/host_tensor.hpp"

namespace torchlift::run {

std::optional<uint64_t> byte_size(const TensorType& type) {
  auto size = static_cast<uint64_t>(info(type.dtype).bytes);
  for (int64_t dim : type.shape)
    if (dim < 0 || __builtin_mul_overflow(size, static_cast<uint64_t>(dim), &size)) return std::nullopt;
  return size;
}

HostTensor HostTensor::own(TensorType type, std::vector<std::byte> bytes) {
  HostTensor out;
  out.type_ = std::move(type);
  out.owned_ = true;
  out.storage_ = std::move(bytes);
  return out;
}

HostTensor HostTensor::view(TensorType type, ByteView bytes) {
  HostTensor out;
  out.type_ = std::move(type);
  out.view_ = bytes;
  return out;
}

}  // namespace torchlift::run
