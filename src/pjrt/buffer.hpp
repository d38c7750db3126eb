// An array in a device's memory, and the events that tell when something is done.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "base/dtype.hpp"
#include "base/result.hpp"
#include "pjrt/client.hpp"

namespace torchlift::pjrt {

// PJRT's number of an element type, none for those it lacks (complex32).
std::optional<int32_t> element_type_of(DType dtype);
std::optional<DType> dtype_of(int32_t element_type);

// Owns an event; an empty Event is ready.
class Event {
 public:
  Event() = default;
  Event(const Api* api, abi::Event* handle) : api_(api), handle_(handle) {}
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;
  ~Event();
  Result<bool> is_ready() const;
  // Blocks; an error of the work that the event stands for comes back here.
  Status wait() const;

 private:
  const Api* api_ = nullptr;
  abi::Event* handle_ = nullptr;
};

// Elements that lie in the host's memory, dense and row-major.
struct HostView {
  DType dtype;
  std::span<const int64_t> sizes;
  ByteView bytes;
};

enum class HostMemory : uint8_t {
  Copied,    // may be changed or freed as soon as from_host returns
  Borrowed,  // is neither changed nor freed while the buffer lives. Plugins for the CPU use it in place where it begins
             // at a multiple of 64 bytes, and copy it otherwise. Never for an argument that is donated.
};

// Owns a buffer. Destroying one whose host memory was borrowed waits until the plugin has let go of that memory.
class Buffer {
 public:
  // view.bytes holds exactly the elements; HostMemory says how long.
  static Result<Buffer> from_host(const Client& client, const Device& device, const HostView& view, HostMemory memory);
  Buffer(const Api* api, abi::Buffer* handle) : api_(api), handle_(handle) {}
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  abi::Buffer* handle() const { return handle_; }
  Result<DType> dtype() const;
  Result<std::vector<int64_t>> sizes() const;
  // Waits for the buffer, then copies it, row-major. `out` has exactly the buffer's size, as to_host_size says it.
  Status to_host(std::span<std::byte> out) const;
  Result<size_t> to_host_size() const;
  Result<Event> ready() const;
  // Whether it was donated or deleted; its elements cannot be read any more.
  Result<bool> is_deleted() const;
  // Address in the memory of the device: to see whether host memory is used in place, and whether donation reused it.
  Result<uintptr_t> unsafe_pointer() const;

 private:
  void destroy();
  const Api* api_ = nullptr;
  abi::Buffer* handle_ = nullptr;
  Event released_;  // fires when the plugin lets go of borrowed host memory
};

}  // namespace torchlift::pjrt
