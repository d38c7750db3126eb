// A PJRT plugin: a shared library with one exported function, which answers a table of functions. Nothing of a plugin
// is touched that was not asked for: load() opens exactly the file it is given.
//
// All classes of this room may be used from several threads at once, as PJRT promises for its objects; only moving or
// destroying an object while another thread uses it is the caller's fault. What a plugin says is wrong comes back as a
// diagnostic of kind PluginError with the plugin's own words; XLA's plugins print to stderr besides, which we leave
// alone.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "pjrt/abi.hpp"

namespace torchlift::pjrt {

// The function table of a loaded plugin. Plugins are never unloaded (their threads may still run), so an Api lives as
// long as the process and is referred to by plain pointers.
class Api {
 public:
  Api(const abi::Table* table, std::string file) : table_(table), file_(std::move(file)) {}
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  // Calls the function that `args` belongs to. Fields past the size of an older plugin's structure are ignored by it; a
  // function past the end of its table is the diagnostic PluginFunctionMissing.
  template <typename Args>
  Status call(Args& args) const {
    args.struct_size = abi::kStructSize<Args>;
    auto function = find<abi::Error* (*)(Args*)>(Args::kSlot);
    if (function == nullptr) return missing(Args::kSlot);
    abi::Error* error = function(&args);
    if (error != nullptr) return take(error, Args::kSlot);
    return Unit{};
  }

  bool has(abi::Slot slot) const { return find<void (*)()>(slot) != nullptr; }
  const std::string& file() const { return file_; }
  const abi::Table& table() const { return *table_; }

 private:
  template <typename Function>
  Function find(abi::Slot slot) const {
    size_t offset = abi::offset_of(slot);
    if (offset + sizeof(Function) > table_->struct_size) return nullptr;
    Function function = nullptr;
    std::memcpy(&function, reinterpret_cast<const std::byte*>(table_) + offset, sizeof(Function));
    return function;
  }
  Diagnostic missing(abi::Slot slot) const;
  Diagnostic take(abi::Error* error, abi::Slot slot) const;  // destroys the error

  const abi::Table* table_;
  std::string file_;
};

// The name of a function as the public header spells it: "PJRT_Client_Create".
std::string_view function_name(abi::Slot slot);
// "INVALID_ARGUMENT" for 3.
std::string_view error_code_name(int64_t code);
// The code of the plugin's answer in a diagnostic of kind PluginError; 0 for any other diagnostic.
int64_t error_code(const Diagnostic& diagnostic);

struct Attribute {
  std::string name;
  std::variant<std::string, int64_t, std::vector<int64_t>, double, bool> value;
  std::string text() const;  // lists of numbers as "1.16.1"
};

class Plugin {
 public:
  // Opens the library, checks the version of its table and initialises it, once a process however often it is loaded.
  static Result<Plugin> load(const std::string& file);

  const Api& api() const { return *api_; }
  const std::string& file() const { return api_->file(); }
  int major_version() const { return api_->table().version.major_version; }
  int minor_version() const { return api_->table().version.minor_version; }
  // What the plugin says about itself: xla_version, stablehlo_current_version, stablehlo_minimum_version...
  Result<std::vector<Attribute>> attributes() const;

 private:
  explicit Plugin(const Api* api) : api_(api) {}
  const Api* api_;
};

}  // namespace torchlift::pjrt
