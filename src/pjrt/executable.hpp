// A compiled program on a client's device.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "pjrt/buffer.hpp"
#include "pjrt/client.hpp"
#include "pjrt/compile_options.hpp"

namespace torchlift::pjrt {

struct OutputType {
  std::optional<DType> dtype;  // none: a type that torchlift does not have
  std::vector<int64_t> sizes;
};

class Executable {
 public:
  // `program`: StableHLO as text, as MLIR bytecode, or as a portable artifact; the plugin tells them apart. Its entry
  // is called `main`.
  static Result<Executable> compile(const Client& client, ByteView program, const CompileOptions& options = {});
  Executable(Executable&& other) noexcept;
  Executable& operator=(Executable&& other) noexcept;
  ~Executable();

  size_t output_count() const { return output_count_; }
  // What the plugin will answer. Old plugins lack the functions: PluginFunctionMissing.
  Result<std::vector<OutputType>> output_types() const;

  // Starts the program on one device and returns at once; the outputs become ready later. Plugins check the arguments'
  // byte sizes at most: the caller has checked number, types and shapes. Arguments that the program marks as donated
  // are deleted by the call, except those whose positions stand in `non_donatable`.
  Result<std::vector<Buffer>> execute(std::span<const Buffer* const> arguments,
                                      std::span<const int64_t> non_donatable = {}) const;

 private:
  Executable(const Api* api, abi::LoadedExecutable* handle) : api_(api), handle_(handle) {}
  void destroy();
  const Api* api_ = nullptr;
  abi::LoadedExecutable* handle_ = nullptr;
  size_t output_count_ = 0;
};

}  // namespace torchlift::pjrt
