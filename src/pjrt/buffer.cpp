#include "pjrt/buffer.hpp"

#include <array>
#include <numeric>
#include <utility>

#include "base/check.hpp"
#include "base/kinds.hpp"

namespace torchlift::pjrt {
namespace {

struct ElementType {
  DType dtype;
  int32_t number;
};

constexpr std::array kElementTypes = {
    ElementType{DType::Bool, 1},
    ElementType{DType::Int8, 2},
    ElementType{DType::Int16, 3},
    ElementType{DType::Int32, 4},
    ElementType{DType::Int64, 5},
    ElementType{DType::UInt8, 6},
    ElementType{DType::UInt16, 7},
    ElementType{DType::UInt32, 8},
    ElementType{DType::UInt64, 9},
    ElementType{DType::Float16, 10},
    ElementType{DType::Float32, 11},
    ElementType{DType::Float64, 12},
    ElementType{DType::BFloat16, 13},
    ElementType{DType::Complex64, 14},
    ElementType{DType::Complex128, 15},
    ElementType{DType::Float8E5M2, 16},
    ElementType{DType::Float8E4M3FN, 17},
    ElementType{DType::Float8E5M2FNUZ, 19},
    ElementType{DType::Float8E4M3FNUZ, 20},
    ElementType{DType::Float8E8M0FNU, 28},
};

int64_t element_count(std::span<const int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

// An address to give for no bytes: plugins refuse null.
constexpr std::byte kNothing{};

}  // namespace

std::optional<int32_t> element_type_of(DType dtype) {
  for (const ElementType& row : kElementTypes)
    if (row.dtype == dtype) return row.number;
  return std::nullopt;
}

std::optional<DType> dtype_of(int32_t element_type) {
  for (const ElementType& row : kElementTypes)
    if (row.number == element_type) return row.dtype;
  return std::nullopt;
}

// ---- Event

Event::Event(Event&& other) noexcept : api_(other.api_), handle_(std::exchange(other.handle_, nullptr)) {}

Event& Event::operator=(Event&& other) noexcept {
  std::swap(api_, other.api_);
  std::swap(handle_, other.handle_);
  return *this;
}

Event::~Event() {
  if (handle_ == nullptr) return;
  abi::EventDestroy args;
  args.event = handle_;
  (void)api_->call(args);
}

Result<bool> Event::is_ready() const {
  if (handle_ == nullptr) return true;
  abi::EventIsReady args;
  args.event = handle_;
  TRY_OK(api_->call(args));
  return args.is_ready;
}

Status Event::wait() const {
  if (handle_ == nullptr) return Unit{};
  abi::EventAwait args;
  args.event = handle_;
  return api_->call(args);
}

// ---- Buffer

Result<Buffer> Buffer::from_host(const Client& client, const Device& device, const HostView& view, HostMemory memory) {
  std::optional<int32_t> type = element_type_of(view.dtype);
  if (!type)
    return diagnose(Kind::DeviceDType, {{"dtype", std::string(info(view.dtype).torch_name)}}, client.api().file());
  CHECK(static_cast<int64_t>(view.bytes.size()) == element_count(view.sizes) * info(view.dtype).bytes)
      << view.bytes.size() << " bytes";
  bool borrowed = memory == HostMemory::Borrowed;
  abi::ClientBufferFromHostBuffer args;
  args.client = client.handle();
  args.data = view.bytes.empty() ? &kNothing : view.bytes.data();
  args.type = *type;
  args.dims = view.sizes.data();
  args.num_dims = view.sizes.size();
  args.host_buffer_semantics = borrowed ? abi::HostBufferSemantics::ImmutableZeroCopy
                                        : abi::HostBufferSemantics::ImmutableUntilTransferCompletes;
  args.device = device.handle;
  TRY_OK(client.api().call(args));
  Buffer out(&client.api(), args.buffer);
  Event released(&client.api(), args.done_with_host_buffer);
  if (borrowed) {
    out.released_ = std::move(released);
  } else {
    TRY_OK(released.wait());
  }
  return out;
}

Buffer::Buffer(Buffer&& other) noexcept
    : api_(other.api_), handle_(std::exchange(other.handle_, nullptr)), released_(std::move(other.released_)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this == &other) return *this;
  destroy();
  api_ = other.api_;
  handle_ = std::exchange(other.handle_, nullptr);
  released_ = std::exchange(other.released_, Event());
  return *this;
}

Buffer::~Buffer() { destroy(); }

void Buffer::destroy() {
  if (handle_ == nullptr) return;
  abi::BufferDestroy args;
  args.buffer = std::exchange(handle_, nullptr);
  (void)api_->call(args);
  // An error here is one of the transfer, which whoever read the buffer has been told already.
  (void)released_.wait();
  released_ = Event();
}

Result<DType> Buffer::dtype() const {
  abi::BufferElementType args;
  args.buffer = handle_;
  TRY_OK(api_->call(args));
  std::optional<DType> out = dtype_of(args.type);
  if (!out) return diagnose(Kind::DeviceDType, {{"dtype", "number " + std::to_string(args.type)}}, api_->file());
  return *out;
}

Result<std::vector<int64_t>> Buffer::sizes() const {
  abi::BufferDimensions args;
  args.buffer = handle_;
  TRY_OK(api_->call(args));
  return std::vector<int64_t>(args.dims, args.dims + args.num_dims);
}

Result<size_t> Buffer::to_host_size() const {
  abi::BufferToHostBuffer args;
  args.src = handle_;
  TRY_OK(api_->call(args));
  Event unused(api_, args.event);
  return args.dst_size;
}

Status Buffer::to_host(std::span<std::byte> out) const {
  TRY(std::vector<int64_t> sizes, this->sizes());
  // Row-major: the last dimension varies fastest. Devices other than the CPU may hold another order.
  std::vector<int64_t> minor_to_major(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) minor_to_major[i] = static_cast<int64_t>(sizes.size() - 1 - i);
  abi::MemoryLayout layout;
  layout.struct_size = abi::kStructSize<abi::MemoryLayout>;
  layout.tiled.struct_size = abi::kStructSize<abi::TiledLayout>;
  layout.tiled.minor_to_major = minor_to_major.data();
  layout.tiled.minor_to_major_size = minor_to_major.size();
  std::byte nothing{};
  abi::BufferToHostBuffer args;
  args.src = handle_;
  args.host_layout = &layout;
  args.dst = out.empty() ? &nothing : out.data();
  args.dst_size = out.size();
  TRY_OK(api_->call(args));
  Event done(api_, args.event);
  return done.wait();
}

Result<Event> Buffer::ready() const {
  abi::BufferReadyEvent args;
  args.buffer = handle_;
  TRY_OK(api_->call(args));
  return Event(api_, args.event);
}

Result<bool> Buffer::is_deleted() const {
  abi::BufferIsDeleted args;
  args.buffer = handle_;
  TRY_OK(api_->call(args));
  return args.is_deleted;
}

Result<uintptr_t> Buffer::unsafe_pointer() const {
  abi::BufferUnsafePointer args;
  args.buffer = handle_;
  TRY_OK(api_->call(args));
  return args.pointer;
}

}  // namespace torchlift::pjrt
