#include "pjrt/client.hpp"

#include <utility>

#include "base/kinds.hpp"

namespace torchlift::pjrt {
namespace {

// Refers to the names and texts of `values`.
std::vector<abi::NamedValue> named_values(const ClientOptions& options) {
  std::vector<abi::NamedValue> out;
  for (const auto& [name, value] : options.values) {
    abi::NamedValue raw;
    raw.struct_size = sizeof(abi::NamedValue);
    raw.name = name.c_str();
    raw.name_size = name.size();
    raw.value_size = 1;
    if (const auto* text = std::get_if<std::string>(&value)) {
      raw.type = abi::ValueType::String;
      raw.string_value = text->c_str();
      raw.value_size = text->size();
    } else if (const auto* integer = std::get_if<int64_t>(&value)) {
      raw.type = abi::ValueType::Int64;
      raw.int64_value = *integer;
    } else if (const auto* number = std::get_if<double>(&value)) {
      raw.type = abi::ValueType::Float;
      raw.float_value = static_cast<float>(*number);
    } else {
      raw.type = abi::ValueType::Bool;
      raw.bool_value = std::get<bool>(value);
    }
    out.push_back(raw);
  }
  return out;
}

Result<Device> describe_device(const Api& api, abi::Device* handle) {
  Device out{.handle = handle, .id = 0, .kind = {}, .text = {}};
  abi::DeviceGetDescription description;
  description.device = handle;
  TRY_OK(api.call(description));
  abi::DeviceDescriptionId id;
  id.description = description.description;
  TRY_OK(api.call(id));
  out.id = id.id;
  abi::DeviceDescriptionKind kind;
  kind.description = description.description;
  TRY_OK(api.call(kind));
  out.kind.assign(kind.kind, kind.kind_size);
  abi::DeviceDescriptionToString text;
  text.description = description.description;
  TRY_OK(api.call(text));
  out.text.assign(text.text, text.text_size);
  return out;
}

}  // namespace

Result<Client> Client::create(const Plugin& plugin, const ClientOptions& options) {
  std::vector<abi::NamedValue> values = named_values(options);
  abi::ClientCreate args;
  args.create_options = values.data();
  args.num_options = values.size();
  TRY_OK(plugin.api().call(args));
  Client out(&plugin.api(), args.client);
  TRY_OK(out.describe());
  return out;
}

Client::Client(Client&& other) noexcept
    : api_(other.api_),
      handle_(std::exchange(other.handle_, nullptr)),
      platform_(std::move(other.platform_)),
      platform_version_(std::move(other.platform_version_)),
      devices_(std::move(other.devices_)) {}

Client& Client::operator=(Client&& other) noexcept {
  std::swap(api_, other.api_);
  std::swap(handle_, other.handle_);
  std::swap(platform_, other.platform_);
  std::swap(platform_version_, other.platform_version_);
  std::swap(devices_, other.devices_);
  return *this;
}

Client::~Client() {
  if (handle_ == nullptr) return;
  abi::ClientDestroy args;
  args.client = handle_;
  (void)api_->call(args);
}

Status Client::describe() {
  abi::ClientPlatformName name;
  name.client = handle_;
  TRY_OK(api_->call(name));
  platform_.assign(name.platform_name, name.platform_name_size);
  abi::ClientPlatformVersion version;
  version.client = handle_;
  TRY_OK(api_->call(version));
  platform_version_.assign(version.platform_version, version.platform_version_size);
  abi::ClientAddressableDevices devices;
  devices.client = handle_;
  TRY_OK(api_->call(devices));
  for (size_t i = 0; i < devices.num_devices; ++i) {
    TRY(Device device, describe_device(*api_, devices.devices[i]));
    devices_.push_back(std::move(device));
  }
  if (devices_.empty())
    return diagnose(Kind::DeviceMissing, {{"device", int64_t{0}}, {"count", int64_t{0}}}, api_->file());
  return Unit{};
}

}  // namespace torchlift::pjrt
