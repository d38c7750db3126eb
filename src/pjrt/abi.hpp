// The part of the PJRT C interface that we call, declared by ourselves: argument structures, and the places of
// functions in a plugin's table. Binary layout only; tests/pjrt/abi_test.cpp compares every size, offset and place with
// the public header.
//
// A structure begins with its size as its writer knows it. A plugin that knows more fields takes the missing ones as
// absent, one that knows fewer ignores ours; so a field may be added here at the end of a structure only where the
// public header has it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace torchlift::pjrt::abi {

// Things that live in the plugin and are known to us by address only.
struct Error;
struct Event;
struct Client;
struct Device;
struct DeviceDescription;
struct Memory;
struct Executable;
struct LoadedExecutable;
struct Buffer;
struct ExecuteContext;

// Position of a function in the table. The numbers left out are functions that we do not call.
enum class Slot : size_t {
  ErrorDestroy = 0,
  ErrorMessage = 1,
  ErrorGetCode = 2,
  PluginInitialize = 3,
  PluginAttributes = 4,
  EventDestroy = 5,
  EventIsReady = 6,
  EventAwait = 8,
  ClientCreate = 10,
  ClientDestroy = 11,
  ClientPlatformName = 12,
  ClientPlatformVersion = 14,
  ClientAddressableDevices = 16,
  ClientCompile = 20,
  ClientBufferFromHostBuffer = 22,
  DeviceDescriptionId = 23,
  DeviceDescriptionKind = 26,
  DeviceDescriptionToString = 28,
  DeviceGetDescription = 29,
  ExecutableDestroy = 40,
  ExecutableNumOutputs = 44,
  LoadedExecutableDestroy = 50,
  LoadedExecutableGetExecutable = 51,
  LoadedExecutableExecute = 55,
  BufferDestroy = 58,
  BufferElementType = 59,
  BufferDimensions = 60,
  BufferIsDeleted = 68,
  BufferToHostBuffer = 70,
  BufferReadyEvent = 72,
  BufferUnsafePointer = 73,
  ExecutableOutputElementTypes = 90,
  ExecutableOutputDimensions = 91,
};

struct Version {
  size_t struct_size = 0;
  void* extensions = nullptr;
  int32_t major_version = 0;
  int32_t minor_version = 0;
};

// What GetPjrtApi answers: this, then one pointer per function.
struct Table {
  size_t struct_size = 0;  // of the whole table: a function whose place lies beyond is not there
  void* extensions = nullptr;
  Version version;
};

using GetApi = const Table* (*)();

// ---- errors. A function answers null, or an error that the caller destroys.

struct ErrorDestroy {
  static constexpr Slot kSlot = Slot::ErrorDestroy;
  size_t struct_size = 0;
  void* extensions = nullptr;
  Error* error = nullptr;
};

struct ErrorMessage {
  static constexpr Slot kSlot = Slot::ErrorMessage;
  size_t struct_size = 0;
  void* extensions = nullptr;
  const Error* error = nullptr;
  const char* message = nullptr;  // out; lives as long as the error
  size_t message_size = 0;        // out
};

struct ErrorGetCode {
  static constexpr Slot kSlot = Slot::ErrorGetCode;
  size_t struct_size = 0;
  void* extensions = nullptr;
  const Error* error = nullptr;
  int32_t code = 0;  // out
};

// ---- plugin

enum class ValueType : int32_t { String = 0, Int64 = 1, Int64List = 2, Float = 3, Bool = 4 };

struct NamedValue {
  size_t struct_size = 0;
  void* extensions = nullptr;
  const char* name = nullptr;
  size_t name_size = 0;
  ValueType type = ValueType::String;
  union {
    const char* string_value;
    int64_t int64_value;
    const int64_t* int64_list_value;
    float float_value;
    bool bool_value;
  };
  size_t value_size = 0;  // elements of a text or list; 1 for the others
  NamedValue() : string_value(nullptr) {}
};

struct PluginInitialize {
  static constexpr Slot kSlot = Slot::PluginInitialize;
  size_t struct_size = 0;
  void* extensions = nullptr;
};

struct PluginAttributes {
  static constexpr Slot kSlot = Slot::PluginAttributes;
  size_t struct_size = 0;
  void* extensions = nullptr;
  const NamedValue* attributes = nullptr;  // out; live as long as the process
  size_t num_attributes = 0;               // out
};

// ---- events

struct EventDestroy {
  static constexpr Slot kSlot = Slot::EventDestroy;
  size_t struct_size = 0;
  void* extensions = nullptr;
  Event* event = nullptr;
};

struct EventIsReady {
  static constexpr Slot kSlot = Slot::EventIsReady;
  size_t struct_size = 0;
  void* extensions = nullptr;
  Event* event = nullptr;
  bool is_ready = false;  // out
};

struct EventAwait {
  static constexpr Slot kSlot = Slot::EventAwait;
  size_t struct_size = 0;
  void* extensions = nullptr;
  Event* event = nullptr;
};

// ---- client and devices

struct ClientCreate {
  static constexpr Slot kSlot = Slot::ClientCreate;
  size_t struct_size = 0;
  void* extensions = nullptr;
  const NamedValue* create_options = nullptr;
  size_t num_options = 0;
  void* kv_get_callback = nullptr;  // the key-value store of several hosts: unused
  void* kv_get_user_arg = nullptr;
  void* kv_put_callback = nullptr;
  void* kv_put_user_arg = nullptr;
  Client* client = nullptr;  // out
  void* kv_try_get_callback = nullptr;
  void* kv_try_get_user_arg = nullptr;
};

struct ClientDestroy {
  static constexpr Slot kSlot = Slot::ClientDestroy;
  size_t struct_size = 0;
  void* extensions = nullptr;
  Client* client = nullptr;
};

struct ClientPlatformName {
  static constexpr Slot kSlot = Slot::ClientPlatformName;
  size_t struct_size = 0;
  void* extensions = nullptr;
  Client* client = nullptr;
  const char* platform_name = nullptr;  // out; lives as long as the client
  size_t platform_name_size = 0;        // out
};

struct ClientPlatformVersion {
  static constexpr Slot kSlot = Slot::ClientPlatformVersion;
  size_t struct_size = 0;
  void* extensions = nullptr;
  Client* client = nullptr;
  const char* platform_version = nullptr;  // out; lives as long as the client
  size_t platform_version_size = 0;        // out
};

struct ClientAddressableDevices {
  static constexpr Slot kSlot = Slot::ClientAddressableDevices;
  size_t struct_size = 0;
  void* extensions = nullptr;
  Client* client = nullptr;
  Device* const* devices = nullptr;  // out; belong to the client
  size_t num_devices = 0;            // out
};

struct DeviceGetDescription {
  static constexpr Slot kSlot = Slot::DeviceGetDescription;
  size_t struct_size = 0;
  void* extensions = nullptr;
  Device* device = nullptr;
  DeviceDescription* description = nullptr;  // out; belongs to the device
};

struct DeviceDescriptionId {
  static constexpr Slot kSlot = Slot::DeviceDescriptionId;
  size_t struct_size = 0;
  void* extensions = nullptr;
  DeviceDescription* description = nullptr;
  int32_t id = 0;  // out
};

struct DeviceDescriptionKind {
  static constexpr Slot kSlot = Slot::DeviceDescriptionKind;
  size_t struct_size = 0;
  void* extensions = nullptr;
  DeviceDescription* description = nullptr;
  const char* kind = nullptr;  // out; lives as long as the device
  size_t kind_size = 0;        // out
};

struct DeviceDescriptionToString {
  static constexpr Slot kSlot = Slot::DeviceDescriptionToString;
  size_t struct_size = 0;
  void* extensions = nullptr;
  DeviceDescription* description = nullptr;
  const char* text = nullptr;  // out; lives as long as the device
  size_t text_size = 0;        // out
};

// ---- programs

struct Program {
  size_t struct_size = 0;
  void* extensions = nullptr;
  const char* code = nullptr;  // `char*` in the interface, for a function that we do not call; compiling only reads
  size_t code_size = 0;
  const char* format = nullptr;
  size_t format_size = 0;
};

struct ClientCompile {
  static constexpr Slot kSlot = Slot::ClientCompile;
  size_t struct_size = 0;
  void* extensions = nullptr;
  Client* client = nullptr;
  const Program* program = nullptr;  // needed during the call only
  const char* compile_options = nullptr;
  size_t compile_options_size = 0;
  LoadedExecutable* executable = nullptr;  // out
};

struct LoadedExecutableDestroy {
  static constexpr Slot kSlot = Slot::LoadedExecutableDestroy;
  size_t struct_size = 0;
  void* extensions = nullptr;
  LoadedExecutable* executable = nullptr;
};

struct LoadedExecutableGetExecutable {
  static constexpr Slot kSlot = Slot::LoadedExecutableGetExecutable;
  size_t struct_size = 0;
  void* extensions = nullptr;
  LoadedExecutable* loaded_executable = nullptr;
  Executable* executable = nullptr;  // out; the caller destroys it
};

struct ExecutableDestroy {
  static constexpr Slot kSlot = Slot::ExecutableDestroy;
  size_t struct_size = 0;
  void* extensions = nullptr;
  Executable* executable = nullptr;
};

struct ExecutableNumOutputs {
  static constexpr Slot kSlot = Slot::ExecutableNumOutputs;
  size_t struct_size = 0;
  void* extensions = nullptr;
  Executable* executable = nullptr;
  size_t num_outputs = 0;  // out
};

struct ExecutableOutputElementTypes {
  static constexpr Slot kSlot = Slot::ExecutableOutputElementTypes;
  size_t struct_size = 0;
  void* extensions = nullptr;
  Executable* executable = nullptr;
  const int32_t* output_types = nullptr;  // out; live as long as the executable
  size_t num_output_types = 0;            // out
};

struct ExecutableOutputDimensions {
  static constexpr Slot kSlot = Slot::ExecutableOutputDimensions;
  size_t struct_size = 0;
  void* extensions = nullptr;
  Executable* executable = nullptr;
  size_t num_outputs = 0;             // out
  const int64_t* dims = nullptr;      // out; of all outputs, one after the other
  const size_t* dim_sizes = nullptr;  // out; ranks
};

struct ExecuteOptions {
  size_t struct_size = 0;
  void* extensions = nullptr;
  void* send_callbacks = nullptr;
  void* recv_callbacks = nullptr;
  size_t num_send_ops = 0;
  size_t num_recv_ops = 0;
  int32_t launch_id = 0;
  const int64_t* non_donatable_input_indices = nullptr;
  size_t num_non_donatable_input_indices = 0;
  ExecuteContext* context = nullptr;
  const char* call_location = nullptr;
  size_t num_tasks = 0;
  int32_t* task_ids = nullptr;
  int64_t* incarnation_ids = nullptr;
};

struct LoadedExecutableExecute {
  static constexpr Slot kSlot = Slot::LoadedExecutableExecute;
  size_t struct_size = 0;
  void* extensions = nullptr;
  LoadedExecutable* executable = nullptr;
  ExecuteOptions* options = nullptr;
  Buffer* const* const* argument_lists = nullptr;  // [num_devices][num_args]
  size_t num_devices = 0;
  size_t num_args = 0;
  Buffer** const* output_lists = nullptr;    // [num_devices][outputs]; lists of the caller, filled by the plugin
  Event** device_complete_events = nullptr;  // [num_devices], or null: none are made
  Device* execute_device = nullptr;          // for portable executables only
};

// ---- buffers

enum class HostBufferSemantics : int32_t {
  ImmutableOnlyDuringCall = 0,
  ImmutableUntilTransferCompletes = 1,
  ImmutableZeroCopy = 2,
  MutableZeroCopy = 3,
};

enum class MemoryLayoutType : int32_t { Tiled = 0, Strides = 1 };

struct TiledLayout {
  size_t struct_size = 0;
  void* extensions = nullptr;
  const int64_t* minor_to_major = nullptr;  // the fastest varying dimension first
  size_t minor_to_major_size = 0;
  const int64_t* tile_dims = nullptr;
  const size_t* tile_dim_sizes = nullptr;
  size_t num_tiles = 0;
};

struct MemoryLayout {
  size_t struct_size = 0;
  void* extensions = nullptr;
  TiledLayout tiled;  // a union in the interface; this is its largest member, and the only one that we use
  MemoryLayoutType type = MemoryLayoutType::Tiled;
};

struct ClientBufferFromHostBuffer {
  static constexpr Slot kSlot = Slot::ClientBufferFromHostBuffer;
  size_t struct_size = 0;
  void* extensions = nullptr;
  Client* client = nullptr;
  const void* data = nullptr;
  int32_t type = 0;
  const int64_t* dims = nullptr;
  size_t num_dims = 0;
  const int64_t* byte_strides = nullptr;  // null: dense, row-major
  size_t num_byte_strides = 0;
  HostBufferSemantics host_buffer_semantics = HostBufferSemantics::ImmutableOnlyDuringCall;
  Device* device = nullptr;
  Memory* memory = nullptr;
  MemoryLayout* device_layout = nullptr;
  Event* done_with_host_buffer = nullptr;  // out; the caller destroys it
  Buffer* buffer = nullptr;                // out; the caller destroys it
};

struct BufferDestroy {
  static constexpr Slot kSlot = Slot::BufferDestroy;
  size_t struct_size = 0;
  void* extensions = nullptr;
  Buffer* buffer = nullptr;
};

struct BufferElementType {
  static constexpr Slot kSlot = Slot::BufferElementType;
  size_t struct_size = 0;
  void* extensions = nullptr;
  Buffer* buffer = nullptr;
  int32_t type = 0;  // out
};

struct BufferDimensions {
  static constexpr Slot kSlot = Slot::BufferDimensions;
  size_t struct_size = 0;
  void* extensions = nullptr;
  Buffer* buffer = nullptr;
  const int64_t* dims = nullptr;  // out; live as long as the buffer
  size_t num_dims = 0;            // out
};

struct BufferIsDeleted {
  static constexpr Slot kSlot = Slot::BufferIsDeleted;
  size_t struct_size = 0;
  void* extensions = nullptr;
  Buffer* buffer = nullptr;
  bool is_deleted = false;  // out
};

struct BufferToHostBuffer {
  static constexpr Slot kSlot = Slot::BufferToHostBuffer;
  size_t struct_size = 0;
  void* extensions = nullptr;
  Buffer* src = nullptr;
  MemoryLayout* host_layout = nullptr;
  void* dst = nullptr;     // null: only the size is answered
  size_t dst_size = 0;     // in and out
  Event* event = nullptr;  // out; the caller destroys it
};

struct BufferReadyEvent {
  static constexpr Slot kSlot = Slot::BufferReadyEvent;
  size_t struct_size = 0;
  void* extensions = nullptr;
  Buffer* buffer = nullptr;
  Event* event = nullptr;  // out; the caller destroys it
};

struct BufferUnsafePointer {
  static constexpr Slot kSlot = Slot::BufferUnsafePointer;
  size_t struct_size = 0;
  void* extensions = nullptr;
  Buffer* buffer = nullptr;
  uintptr_t pointer = 0;  // out
};

// The size to write into a structure: up to the end of its last field. Padding behind a small last field is left out,
// since a later version may put a field there.
template <typename Struct>
inline constexpr size_t kStructSize = sizeof(Struct);
template <>
inline constexpr size_t kStructSize<ErrorGetCode> = offsetof(ErrorGetCode, code) + sizeof(int32_t);
template <>
inline constexpr size_t kStructSize<EventIsReady> = offsetof(EventIsReady, is_ready) + sizeof(bool);
template <>
inline constexpr size_t kStructSize<DeviceDescriptionId> = offsetof(DeviceDescriptionId, id) + sizeof(int32_t);
template <>
inline constexpr size_t kStructSize<MemoryLayout> = offsetof(MemoryLayout, type) + sizeof(MemoryLayoutType);
template <>
inline constexpr size_t kStructSize<BufferElementType> = offsetof(BufferElementType, type) + sizeof(int32_t);
template <>
inline constexpr size_t kStructSize<BufferIsDeleted> = offsetof(BufferIsDeleted, is_deleted) + sizeof(bool);

// Where the pointer to a function lies in the table.
inline constexpr size_t offset_of(Slot slot) { return sizeof(Table) + static_cast<size_t>(slot) * sizeof(void*); }

}  // namespace torchlift::pjrt::abi
