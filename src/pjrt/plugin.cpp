#include "pjrt/plugin.hpp"

#include <dlfcn.h>

#include <array>
#include <map>
#include <memory>
#include <mutex>

#include "base/kinds.hpp"
#include "base/text.hpp"

namespace torchlift::pjrt {
namespace {

constexpr int kMajorVersion = 0;
// Errors are read by the table's first three functions; a table without them is no PJRT table at all.
constexpr size_t kSmallestTable = abi::offset_of(abi::Slot::ClientCreate);

// Tables of this process's plugins. The library is opened and initialised under the lock, so only once.
struct Registry {
  std::mutex mutex;
  std::map<const abi::Table*, std::unique_ptr<Api>> loaded;
};

Registry& registry() {
  static Registry* it = new Registry;  // never destroyed: plugins' threads outlive static objects
  return *it;
}

Result<const abi::Table*> open_table(const std::string& file) {
  auto failed = [&file](std::string reason) {
    return diagnose(Kind::PluginLoad, {{"reason", std::move(reason)}}, file);
  };
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* reason = dlerror();  // NOLINT(concurrency-mt-unsafe): under the registry's lock
    return failed(reason != nullptr ? reason : "no reason was given");
  }
  auto get_api = reinterpret_cast<abi::GetApi>(dlsym(library, "GetPjrtApi"));
  if (get_api == nullptr) return failed("it exports no `GetPjrtApi`, so it is no PJRT plugin");
  const abi::Table* table = get_api();
  if (table == nullptr) return failed("its `GetPjrtApi` answered nothing");
  if (table->struct_size < kSmallestTable)
    return failed("its function table has " + std::to_string(table->struct_size) + " bytes, expected at least " +
                  std::to_string(kSmallestTable));
  return table;
}

std::string version_text(int major_version, int minor_version) {
  return std::to_string(major_version) + "." + std::to_string(minor_version);
}

struct FunctionName {
  abi::Slot slot;
  std::string_view name;
};

constexpr std::array kFunctionNames = {
    FunctionName{abi::Slot::ErrorDestroy, "PJRT_Error_Destroy"},
    FunctionName{abi::Slot::ErrorMessage, "PJRT_Error_Message"},
    FunctionName{abi::Slot::ErrorGetCode, "PJRT_Error_GetCode"},
    FunctionName{abi::Slot::PluginInitialize, "PJRT_Plugin_Initialize"},
    FunctionName{abi::Slot::PluginAttributes, "PJRT_Plugin_Attributes"},
    FunctionName{abi::Slot::EventDestroy, "PJRT_Event_Destroy"},
    FunctionName{abi::Slot::EventIsReady, "PJRT_Event_IsReady"},
    FunctionName{abi::Slot::EventAwait, "PJRT_Event_Await"},
    FunctionName{abi::Slot::ClientCreate, "PJRT_Client_Create"},
    FunctionName{abi::Slot::ClientDestroy, "PJRT_Client_Destroy"},
    FunctionName{abi::Slot::ClientPlatformName, "PJRT_Client_PlatformName"},
    FunctionName{abi::Slot::ClientPlatformVersion, "PJRT_Client_PlatformVersion"},
    FunctionName{abi::Slot::ClientAddressableDevices, "PJRT_Client_AddressableDevices"},
    FunctionName{abi::Slot::ClientCompile, "PJRT_Client_Compile"},
    FunctionName{abi::Slot::ClientBufferFromHostBuffer, "PJRT_Client_BufferFromHostBuffer"},
    FunctionName{abi::Slot::DeviceDescriptionId, "PJRT_DeviceDescription_Id"},
    FunctionName{abi::Slot::DeviceDescriptionKind, "PJRT_DeviceDescription_Kind"},
    FunctionName{abi::Slot::DeviceDescriptionToString, "PJRT_DeviceDescription_ToString"},
    FunctionName{abi::Slot::DeviceGetDescription, "PJRT_Device_GetDescription"},
    FunctionName{abi::Slot::ExecutableDestroy, "PJRT_Executable_Destroy"},
    FunctionName{abi::Slot::ExecutableNumOutputs, "PJRT_Executable_NumOutputs"},
    FunctionName{abi::Slot::LoadedExecutableDestroy, "PJRT_LoadedExecutable_Destroy"},
    FunctionName{abi::Slot::LoadedExecutableGetExecutable, "PJRT_LoadedExecutable_GetExecutable"},
    FunctionName{abi::Slot::LoadedExecutableExecute, "PJRT_LoadedExecutable_Execute"},
    FunctionName{abi::Slot::BufferDestroy, "PJRT_Buffer_Destroy"},
    FunctionName{abi::Slot::BufferElementType, "PJRT_Buffer_ElementType"},
    FunctionName{abi::Slot::BufferDimensions, "PJRT_Buffer_Dimensions"},
    FunctionName{abi::Slot::BufferIsDeleted, "PJRT_Buffer_IsDeleted"},
    FunctionName{abi::Slot::BufferToHostBuffer, "PJRT_Buffer_ToHostBuffer"},
    FunctionName{abi::Slot::BufferReadyEvent, "PJRT_Buffer_ReadyEvent"},
    FunctionName{abi::Slot::BufferUnsafePointer, "PJRT_Buffer_UnsafePointer"},
    FunctionName{abi::Slot::ExecutableOutputElementTypes, "PJRT_Executable_OutputElementTypes"},
    FunctionName{abi::Slot::ExecutableOutputDimensions, "PJRT_Executable_OutputDimensions"},
};

// Numbered as in the interface, from 0.
constexpr std::array<std::string_view, 17> kErrorCodes = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

Attribute attribute_of(const abi::NamedValue& raw) {
  Attribute out;
  out.name.assign(raw.name, raw.name_size);
  switch (raw.type) {
    case abi::ValueType::String: out.value = std::string(raw.string_value, raw.value_size); break;
    case abi::ValueType::Int64: out.value = raw.int64_value; break;
    case abi::ValueType::Int64List:
      out.value = std::vector<int64_t>(raw.int64_list_value, raw.int64_list_value + raw.value_size);
      break;
    case abi::ValueType::Float: out.value = static_cast<double>(raw.float_value); break;
    case abi::ValueType::Bool: out.value = raw.bool_value; break;
  }
  return out;
}

}  // namespace

std::string_view function_name(abi::Slot slot) {
  for (const FunctionName& row : kFunctionNames)
    if (row.slot == slot) return row.name;
  return "?";
}

std::string_view error_code_name(int64_t code) {
  return code >= 0 && static_cast<size_t>(code) < kErrorCodes.size() ? kErrorCodes[static_cast<size_t>(code)] : "?";
}

int64_t error_code(const Diagnostic& diagnostic) {
  if (diagnostic.kind != Kind::PluginError) return 0;
  for (const auto& [name, value] : diagnostic.arguments)
    if (name == "code") return std::get<int64_t>(value);
  return 0;
}

Diagnostic Api::missing(abi::Slot slot) const {
  return diagnose(Kind::PluginFunctionMissing,
                  {{"version", version_text(table_->version.major_version, table_->version.minor_version)},
                   {"function", std::string(function_name(slot))}},
                  file_);
}

Diagnostic Api::take(abi::Error* error, abi::Slot slot) const {
  // The three functions for errors lie in every table (kSmallestTable). The first and last of them answer nothing.
  abi::ErrorMessage message;
  message.struct_size = abi::kStructSize<abi::ErrorMessage>;
  message.error = error;
  find<void (*)(abi::ErrorMessage*)>(abi::Slot::ErrorMessage)(&message);
  abi::ErrorGetCode code;
  code.error = error;
  code.struct_size = abi::kStructSize<abi::ErrorGetCode>;
  abi::Error* second = find<abi::Error* (*)(abi::ErrorGetCode*)>(abi::Slot::ErrorGetCode)(&code);
  std::string text = message.message != nullptr ? std::string(message.message, message.message_size) : "";
  auto destroy = [this](abi::Error* it) {
    abi::ErrorDestroy args;
    args.struct_size = abi::kStructSize<abi::ErrorDestroy>;
    args.error = it;
    find<void (*)(abi::ErrorDestroy*)>(abi::Slot::ErrorDestroy)(&args);
  };
  destroy(error);
  if (second != nullptr) destroy(second);
  return diagnose(Kind::PluginError,
                  {{"function", std::string(function_name(slot))},
                   {"code", int64_t{code.code}},
                   {"name", std::string(error_code_name(code.code))},
                   {"message", std::move(text)}},
                  file_);
}

std::string Attribute::text() const {
  struct Text {
    std::string operator()(const std::string& v) const { return v; }
    std::string operator()(int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return shortest(v); }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(const std::vector<int64_t>& v) const {
      return join(v, ".", [](int64_t i) { return std::to_string(i); });
    }
  };
  return std::visit(Text(), value);
}

Result<Plugin> Plugin::load(const std::string& file) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  TRY(const abi::Table* table, open_table(file));
  if (auto found = all.loaded.find(table); found != all.loaded.end()) return Plugin(found->second.get());
  if (table->version.major_version != kMajorVersion)
    return diagnose(Kind::PluginVersion,
                    {{"got", version_text(table->version.major_version, table->version.minor_version)},
                     {"expected", std::to_string(kMajorVersion) + ".x"}},
                    file);
  auto api = std::make_unique<Api>(table, file);
  abi::PluginInitialize args;
  TRY_OK(api->call(args));
  const Api* loaded = api.get();
  all.loaded.emplace(table, std::move(api));
  return Plugin(loaded);
}

Result<std::vector<Attribute>> Plugin::attributes() const {
  abi::PluginAttributes args;
  TRY_OK(api_->call(args));
  std::vector<Attribute> out;
  for (size_t i = 0; i < args.num_attributes; ++i) out.push_back(attribute_of(args.attributes[i]));
  return out;
}

}  // namespace torchlift::pjrt
