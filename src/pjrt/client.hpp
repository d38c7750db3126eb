// A client of a plugin: its devices, memory and programs. One client a process and plugin; do not fork after making
// one.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "pjrt/plugin.hpp"

namespace torchlift::pjrt {

struct Device {
  abi::Device* handle = nullptr;
  int id = 0;
  std::string kind;  // "cpu", "NVIDIA H100"
  std::string text;  // the plugin's own one-line description
};

struct ClientOptions {
  using Value = std::variant<std::string, int64_t, double, bool>;
  // Passed on as they are. XLA's CPU plugins know "cpu_device_count"; an unknown name is an error in some plugins only.
  std::vector<std::pair<std::string, Value>> values;
};

// Owns the plugin's client. Everything made from a client is destroyed before it.
class Client {
 public:
  static Result<Client> create(const Plugin& plugin, const ClientOptions& options = {});
  Client(Client&& other) noexcept;
  Client& operator=(Client&& other) noexcept;
  ~Client();

  const Api& api() const { return *api_; }
  abi::Client* handle() const { return handle_; }
  const std::string& platform() const { return platform_; }  // "cpu", "cuda"
  const std::string& platform_version() const { return platform_version_; }
  const std::vector<Device>& devices() const { return devices_; }  // those of this process; at least one

 private:
  Client(const Api* api, abi::Client* handle) : api_(api), handle_(handle) {}
  Status describe();
  const Api* api_;
  abi::Client* handle_;
  std::string platform_;
  std::string platform_version_;
  std::vector<Device> devices_;
};

}  // namespace torchlift::pjrt
