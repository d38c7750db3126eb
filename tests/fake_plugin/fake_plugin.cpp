// A small PJRT plugin for tests: it checks how it is called, counts what is alive, fails or waits when it is told to,
// and runs programs of a language of its own (control.hpp). Two devices; executions happen later, on a thread.
#include <algorithm>
#include <numeric>
#include <sstream>
#include <string_view>
#include <tuple>
#include <utility>

#include "state.hpp"

namespace torchlift::fake {
namespace {

constexpr std::string_view kPlatform = "fake";
constexpr std::string_view kPlatformVersion = "fake 1";
constexpr std::string_view kDeviceKind = "fake device";
constexpr size_t kZeroCopyAlignment = 64;
constexpr std::array<size_t, 30> kElementBytes = {0,  1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2, 8,
                                                  16, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1};

abi::Error* error(int32_t code, std::string message) {
  auto* out = new abi::Error{{code, std::move(message)}};
  state().born(Thing::Error, out);
  return out;
}

abi::Event* event(std::shared_ptr<Signal> signal, std::shared_ptr<void> keeps = nullptr) {
  auto* out = new abi::Event{std::move(signal), std::move(keeps)};
  state().born(Thing::Event, out);
  return out;
}

// The event of a signal that lies in `data`.
abi::Event* ready_event(const std::shared_ptr<Data>& data) { return event({data, &data->ready}, data); }

abi::Buffer* buffer(int32_t type, std::vector<int64_t> dims, std::shared_ptr<Data> data) {
  auto* out = new abi::Buffer{type, std::move(dims), std::move(data)};
  state().born(Thing::Buffer, out);
  return out;
}

size_t byte_size(int32_t type, const std::vector<int64_t>& dims) {
  size_t size = kElementBytes[static_cast<size_t>(type)];
  for (int64_t dim : dims) size *= static_cast<size_t>(dim);
  return size;
}

abi::Error* dead() { return error(3, "the thing is not alive"); }
abi::Error* deleted() { return error(3, "the buffer was deleted or donated"); }

// ---- errors, events

void error_destroy(abi::ErrorDestroy* args) {
  (void)state().begin_call(Slot::ErrorDestroy, args->struct_size, abi::kStructSize<abi::ErrorDestroy>);
  if (args->error != nullptr && state().dies(Thing::Error, args->error)) delete args->error;
}

void error_message(abi::ErrorMessage* args) {
  (void)state().begin_call(Slot::ErrorMessage, args->struct_size, abi::kStructSize<abi::ErrorMessage>);
  if (!state().check_alive(Thing::Error, args->error, Slot::ErrorMessage)) return;
  args->message = args->error->failure.message.data();
  args->message_size = args->error->failure.message.size();
}

abi::Error* error_code(abi::ErrorGetCode& args) {
  if (!state().check_alive(Thing::Error, args.error, Slot::ErrorGetCode)) return dead();
  args.code = args.error->failure.code;
  return nullptr;
}

abi::Error* event_destroy(abi::EventDestroy& args) {
  if (!state().dies(Thing::Event, args.event)) return dead();
  delete args.event;
  return nullptr;
}

abi::Error* event_is_ready(abi::EventIsReady& args) {
  if (!state().check_alive(Thing::Event, args.event, Slot::EventIsReady)) return dead();
  args.is_ready = args.event->signal->is_ready();
  return nullptr;
}

abi::Error* event_await(abi::EventAwait& args) {
  if (!state().check_alive(Thing::Event, args.event, Slot::EventAwait)) return dead();
  std::optional<Failure> failure = args.event->signal->wait();
  return failure ? error(failure->code, failure->message) : nullptr;
}

// ---- plugin, client, devices

abi::Error* plugin_initialize(abi::PluginInitialize&) { return nullptr; }

abi::Error* plugin_attributes(abi::PluginAttributes& args) {
  static const std::array<int64_t, 3> kStablehlo = {1, 13, 3};
  static const std::array<abi::NamedValue, 2> kAttributes = [] {
    std::array<abi::NamedValue, 2> out;
    out[0].name = "stablehlo_current_version";
    out[0].name_size = std::strlen(out[0].name);
    out[0].type = abi::ValueType::Int64List;
    out[0].int64_list_value = kStablehlo.data();
    out[0].value_size = kStablehlo.size();
    out[1].name = "maker";
    out[1].name_size = std::strlen(out[1].name);
    out[1].type = abi::ValueType::String;
    out[1].string_value = "tests";
    out[1].value_size = 5;
    return out;
  }();
  args.attributes = kAttributes.data();
  args.num_attributes = kAttributes.size();
  return nullptr;
}

abi::Error* client_create(abi::ClientCreate& args) {
  for (size_t i = 0; i < args.num_options; ++i)
    if (std::string_view name(args.create_options[i].name, args.create_options[i].name_size); name != "known")
      return error(3, "unknown option " + std::string(name));
  auto* client = new abi::Client;
  for (size_t i = 0; i < client->devices.size(); ++i) {
    client->devices[i].description.id = static_cast<int>(i);
    client->device_list[i] = &client->devices[i];
  }
  state().born(Thing::Client, client);
  args.client = client;
  return nullptr;
}

abi::Error* client_destroy(abi::ClientDestroy& args) {
  for (Thing thing : {Thing::Executable, Thing::Buffer})
    if (state().live(thing) > 0) state().violation("a client was destroyed before what was made from it");
  if (!state().dies(Thing::Client, args.client)) return dead();
  delete args.client;
  return nullptr;
}

abi::Error* platform_name(abi::ClientPlatformName& args) {
  args.platform_name = kPlatform.data();
  args.platform_name_size = kPlatform.size();
  return nullptr;
}

abi::Error* platform_version(abi::ClientPlatformVersion& args) {
  args.platform_version = kPlatformVersion.data();
  args.platform_version_size = kPlatformVersion.size();
  return nullptr;
}

abi::Error* addressable_devices(abi::ClientAddressableDevices& args) {
  if (!state().check_alive(Thing::Client, args.client, Slot::ClientAddressableDevices)) return dead();
  args.devices = args.client->device_list.data();
  args.num_devices = args.client->device_list.size();
  return nullptr;
}

abi::Error* device_description(abi::DeviceGetDescription& args) {
  args.description = &args.device->description;
  return nullptr;
}

abi::Error* device_id(abi::DeviceDescriptionId& args) {
  args.id = args.description->id;
  return nullptr;
}

abi::Error* device_kind(abi::DeviceDescriptionKind& args) {
  args.kind = kDeviceKind.data();
  args.kind_size = kDeviceKind.size();
  return nullptr;
}

abi::Error* device_text(abi::DeviceDescriptionToString& args) {
  args.text = kDeviceKind.data();
  args.text_size = kDeviceKind.size();
  return nullptr;
}

// ---- programs

std::optional<std::vector<int64_t>> parse_dims(const std::string& text) {
  std::vector<int64_t> dims;
  if (text == "-") return dims;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) dims.push_back(std::stoll(part));
  return dims;
}

bool parse_statement(const std::string& line, abi::LoadedExecutable& program) {
  std::istringstream words(line);
  std::string verb;
  if (!(words >> verb)) return true;
  if (verb == "donate") {
    size_t argument = 0;
    size_t result = 0;
    if (!(words >> argument >> result)) return false;
    program.donated[argument] = result;
    return true;
  }
  abi::FakeResult result;
  std::string dims;
  if (verb != "result" || !(words >> result.type >> dims >> result.rule)) return false;
  result.dims = *parse_dims(dims);
  if (result.rule != "zeros" && !(words >> result.argument)) return false;
  program.results.push_back(std::move(result));
  return true;
}

// XLA's plugins abort on options without counts; the one replica and partition of these bytes is what we write.
bool has_counts(std::string_view options) {
  return options.find(std::string_view("\x20\x01\x28\x01", 4)) != std::string_view::npos;
}

abi::Error* compile(abi::ClientCompile& args) {
  if (!state().check_alive(Thing::Client, args.client, Slot::ClientCompile)) return dead();
  if (!has_counts({args.compile_options, args.compile_options_size})) {
    state().violation("compile options without the numbers of replicas and partitions");
    return error(3, "compile options");
  }
  if (std::string_view(args.program->format, args.program->format_size) != "mlir") return error(3, "format");
  auto program = std::make_unique<abi::LoadedExecutable>();
  program->client = args.client;
  std::istringstream lines(std::string(args.program->code, args.program->code_size));
  for (std::string line; std::getline(lines, line);)
    if (!parse_statement(line, *program)) return error(3, "cannot parse `" + line + "`");
  args.executable = program.release();
  state().born(Thing::Executable, args.executable);
  return nullptr;
}

abi::Error* loaded_destroy(abi::LoadedExecutableDestroy& args) {
  if (!state().dies(Thing::Executable, args.executable)) return dead();
  delete args.executable;
  return nullptr;
}

abi::Error* get_executable(abi::LoadedExecutableGetExecutable& args) {
  if (!state().check_alive(Thing::Executable, args.loaded_executable, Slot::LoadedExecutableGetExecutable))
    return dead();
  auto* out = new abi::Executable;
  out->results = args.loaded_executable->results;
  for (const abi::FakeResult& result : out->results) {
    out->types.push_back(result.type);
    out->dims.insert(out->dims.end(), result.dims.begin(), result.dims.end());
    out->ranks.push_back(result.dims.size());
  }
  state().born(Thing::Executable, out);
  args.executable = out;
  return nullptr;
}

abi::Error* executable_destroy(abi::ExecutableDestroy& args) {
  if (!state().dies(Thing::Executable, args.executable)) return dead();
  delete args.executable;
  return nullptr;
}

abi::Error* output_count(abi::ExecutableNumOutputs& args) {
  args.num_outputs = args.executable->results.size();
  return nullptr;
}

abi::Error* output_types(abi::ExecutableOutputElementTypes& args) {
  args.output_types = args.executable->types.data();
  args.num_output_types = args.executable->types.size();
  return nullptr;
}

abi::Error* output_dims(abi::ExecutableOutputDimensions& args) {
  args.dims = args.executable->dims.data();
  args.dim_sizes = args.executable->ranks.data();
  args.num_outputs = args.executable->ranks.size();
  return nullptr;
}

// ---- executing

// Fills `out` by the rule, once the argument is ready.
void compute(const std::string& rule, const std::shared_ptr<Data>& argument, const std::shared_ptr<Data>& out) {
  std::optional<Failure> failure = state().begin_work();
  if (argument != nullptr && !failure) failure = argument->ready.wait();
  if (failure) return out->ready.set(failure);
  out->owned.assign(out->size, std::byte{});
  if (argument != nullptr) std::copy_n(argument->bytes(), std::min(argument->size, out->size), out->owned.begin());
  if (rule == "increment")
    for (std::byte& byte : out->owned) byte = static_cast<std::byte>(std::to_integer<int>(byte) + 1);
  out->ready.set();
}

// Donated arguments that the caller did not keep, by result.
std::map<size_t, size_t> donations(const abi::LoadedExecutableExecute& args) {
  std::map<size_t, size_t> out;
  const int64_t* kept = args.options->non_donatable_input_indices;
  const int64_t* end = kept + args.options->num_non_donatable_input_indices;
  for (const auto& [argument, result] : args.executable->donated)
    if (std::find(kept, end, static_cast<int64_t>(argument)) == end) out[result] = argument;
  return out;
}

abi::Error* check_arguments(const abi::LoadedExecutableExecute& args) {
  if (!state().check_alive(Thing::Executable, args.executable, Slot::LoadedExecutableExecute)) return dead();
  if (args.num_devices != 1 || args.device_complete_events != nullptr) return error(12, "one device, no events");
  for (size_t i = 0; i < args.num_args; ++i) {
    abi::Buffer* argument = args.argument_lists[0][i];
    if (!state().check_alive(Thing::Buffer, argument, Slot::LoadedExecutableExecute)) return dead();
    if (argument->data == nullptr) return deleted();
  }
  for (const abi::FakeResult& result : args.executable->results)
    if (result.rule != "zeros" && result.argument >= args.num_args) return error(3, "too few arguments");
  return nullptr;
}

abi::Error* execute(abi::LoadedExecutableExecute& args) {
  if (abi::Error* wrong = check_arguments(args)) return wrong;
  const auto& results = args.executable->results;
  std::map<size_t, size_t> donated = donations(args);
  for (size_t i = 0; i < results.size(); ++i) {
    const abi::FakeResult& result = results[i];
    auto out = std::make_shared<Data>();
    out->size = byte_size(result.type, result.dims);
    std::shared_ptr<Data> argument = result.rule == "zeros" ? nullptr : args.argument_lists[0][result.argument]->data;
    args.executable->client->queue.push([rule = result.rule, argument, out] { compute(rule, argument, out); });
    args.output_lists[0][i] = buffer(result.type, result.dims, out);
  }
  for (const auto& [result, index] : donated) {
    abi::Buffer* argument = args.argument_lists[0][index];
    if (argument->data->borrowed != nullptr) state().violation("borrowed memory was donated");
    argument->data = nullptr;
  }
  return nullptr;
}

// ---- buffers

abi::Error* from_host(abi::ClientBufferFromHostBuffer& args) {
  if (!state().check_alive(Thing::Client, args.client, Slot::ClientBufferFromHostBuffer)) return dead();
  if (args.data == nullptr) return error(3, "no data");
  if (args.type <= 0 || static_cast<size_t>(args.type) >= kElementBytes.size()) return error(3, "element type");
  const auto* bytes = static_cast<const std::byte*>(args.data);
  std::vector<int64_t> dims(args.dims, args.dims + args.num_dims);
  auto data = std::make_shared<Data>();
  data->size = byte_size(args.type, dims);
  bool borrows = args.host_buffer_semantics == abi::HostBufferSemantics::ImmutableZeroCopy &&
                 reinterpret_cast<uintptr_t>(bytes) % kZeroCopyAlignment == 0;
  auto done = std::make_shared<Signal>();
  if (borrows) {
    state().count_borrowed();
    data->borrowed = bytes;
    data->sum = Data::sum_of(bytes, data->size);
    done = data->released;
  } else {
    data->owned.assign(bytes, bytes + data->size);
    done->set();
  }
  data->ready.set();
  args.done_with_host_buffer = event(std::move(done));
  args.buffer = buffer(args.type, std::move(dims), std::move(data));
  return nullptr;
}

abi::Error* buffer_destroy(abi::BufferDestroy& args) {
  if (!state().dies(Thing::Buffer, args.buffer)) return dead();
  delete args.buffer;
  return nullptr;
}

abi::Error* buffer_type(abi::BufferElementType& args) {
  if (!state().check_alive(Thing::Buffer, args.buffer, Slot::BufferElementType)) return dead();
  args.type = args.buffer->type;
  return nullptr;
}

abi::Error* buffer_dims(abi::BufferDimensions& args) {
  if (!state().check_alive(Thing::Buffer, args.buffer, Slot::BufferDimensions)) return dead();
  args.dims = args.buffer->dims.data();
  args.num_dims = args.buffer->dims.size();
  return nullptr;
}

abi::Error* buffer_is_deleted(abi::BufferIsDeleted& args) {
  if (!state().check_alive(Thing::Buffer, args.buffer, Slot::BufferIsDeleted)) return dead();
  args.is_deleted = args.buffer->data == nullptr;
  return nullptr;
}

abi::Error* to_host(abi::BufferToHostBuffer& args) {
  if (!state().check_alive(Thing::Buffer, args.src, Slot::BufferToHostBuffer)) return dead();
  std::shared_ptr<Data> data = args.src->data;
  if (data == nullptr) return deleted();
  if (args.dst == nullptr) {
    args.dst_size = data->size;
    return nullptr;
  }
  if (args.dst_size != data->size) return error(3, "the destination has another size");
  if (args.host_layout == nullptr || args.host_layout->struct_size != abi::kStructSize<abi::MemoryLayout>)
    state().violation("a copy to the host without a layout");
  auto done = std::make_shared<Signal>();
  auto* out = static_cast<std::byte*>(args.dst);
  std::optional<Failure> failure = data->ready.wait();
  if (!failure) std::copy_n(data->bytes(), data->size, out);
  done->set(failure);
  args.event = event(std::move(done));
  return nullptr;
}

abi::Error* buffer_ready(abi::BufferReadyEvent& args) {
  if (!state().check_alive(Thing::Buffer, args.buffer, Slot::BufferReadyEvent)) return dead();
  if (args.buffer->data == nullptr) return deleted();
  args.event = ready_event(args.buffer->data);
  return nullptr;
}

abi::Error* buffer_pointer(abi::BufferUnsafePointer& args) {
  if (!state().check_alive(Thing::Buffer, args.buffer, Slot::BufferUnsafePointer)) return dead();
  if (args.buffer->data == nullptr) return deleted();
  (void)args.buffer->data->ready.wait();
  args.pointer = reinterpret_cast<uintptr_t>(args.buffer->data->bytes());
  return nullptr;
}

// ---- the table

template <typename Args, abi::Error* (*body)(Args&)>
abi::Error* entry(Args* args) {
  if (auto failure = state().begin_call(Args::kSlot, args->struct_size, abi::kStructSize<Args>))
    return error(failure->code, failure->message);
  return body(*args);
}

struct FullTable {
  abi::Table head;
  std::array<void*, kSlots> functions{};
};

template <typename Args, abi::Error* (*body)(Args&)>
void put(FullTable& table) {
  table.functions[static_cast<size_t>(Args::kSlot)] = reinterpret_cast<void*>(&entry<Args, body>);
}

FullTable& full_table() {
  static FullTable* table = [] {
    auto* out = new FullTable;
    out->head.struct_size = sizeof(FullTable);
    out->head.version.minor_version = 81;
    out->functions[static_cast<size_t>(Slot::ErrorDestroy)] = reinterpret_cast<void*>(&error_destroy);
    out->functions[static_cast<size_t>(Slot::ErrorMessage)] = reinterpret_cast<void*>(&error_message);
    put<abi::ErrorGetCode, error_code>(*out);
    put<abi::PluginInitialize, plugin_initialize>(*out);
    put<abi::PluginAttributes, plugin_attributes>(*out);
    put<abi::EventDestroy, event_destroy>(*out);
    put<abi::EventIsReady, event_is_ready>(*out);
    put<abi::EventAwait, event_await>(*out);
    put<abi::ClientCreate, client_create>(*out);
    put<abi::ClientDestroy, client_destroy>(*out);
    put<abi::ClientPlatformName, platform_name>(*out);
    put<abi::ClientPlatformVersion, platform_version>(*out);
    put<abi::ClientAddressableDevices, addressable_devices>(*out);
    put<abi::DeviceGetDescription, device_description>(*out);
    put<abi::DeviceDescriptionId, device_id>(*out);
    put<abi::DeviceDescriptionKind, device_kind>(*out);
    put<abi::DeviceDescriptionToString, device_text>(*out);
    put<abi::ClientCompile, compile>(*out);
    put<abi::LoadedExecutableDestroy, loaded_destroy>(*out);
    put<abi::LoadedExecutableGetExecutable, get_executable>(*out);
    put<abi::ExecutableDestroy, executable_destroy>(*out);
    put<abi::ExecutableNumOutputs, output_count>(*out);
    put<abi::ExecutableOutputElementTypes, output_types>(*out);
    put<abi::ExecutableOutputDimensions, output_dims>(*out);
    put<abi::LoadedExecutableExecute, execute>(*out);
    put<abi::ClientBufferFromHostBuffer, from_host>(*out);
    put<abi::BufferDestroy, buffer_destroy>(*out);
    put<abi::BufferElementType, buffer_type>(*out);
    put<abi::BufferDimensions, buffer_dims>(*out);
    put<abi::BufferIsDeleted, buffer_is_deleted>(*out);
    put<abi::BufferToHostBuffer, to_host>(*out);
    put<abi::BufferReadyEvent, buffer_ready>(*out);
    put<abi::BufferUnsafePointer, buffer_pointer>(*out);
    return out;
  }();
  return *table;
}

const Control kControl = {
    .reset =
        [] {
          state().reset();
          full_table().head.struct_size = sizeof(FullTable);
        },
    .fail = [](Slot slot, int64_t nth, int32_t code) { state().fail(slot, nth, code); },
    .delay = [](Slot slot, int64_t nth, int64_t milliseconds) { state().delay(slot, nth, milliseconds); },
    .fail_work = [](int64_t nth) { state().fail_work(nth); },
    .hold_work = [](bool hold) { state().hold_work(hold); },
    .end_table_at = [](Slot slot) { full_table().head.struct_size = abi::offset_of(slot); },
    .live = [](Thing thing) { return state().live(thing); },
    .calls = [](Slot slot) { return state().calls(slot); },
    .borrowed = [] { return state().borrowed(); },
    .violations = [] { return state().violations(); },
};

}  // namespace
}  // namespace torchlift::fake

extern "C" const torchlift::pjrt::abi::Table* GetPjrtApi() { return &torchlift::fake::full_table().head; }
extern "C" const torchlift::fake::Control* torchlift_fake_control() { return &torchlift::fake::kControl; }
