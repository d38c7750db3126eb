// Compiled programs by their bytes: equal programs are compiled once.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "pjrt/executable.hpp"

namespace torchlift::run {

// Not for several threads at once.
class ProgramCache {
 public:
  // `client` outlives the cache.
  explicit ProgramCache(const pjrt::Client& client, pjrt::CompileOptions options = {})
      : client_(&client), options_(std::move(options)) {}

  // The compiled program; it lives as long as the cache. Programs are told apart by their XXH3-128 and length.
  Result<const pjrt::Executable*> get(std::string_view program);

  size_t compiled() const { return compiled_; }  // programs compiled so far: calls of get() less the repeated ones

 private:
  struct Key {
    uint64_t low;
    uint64_t high;
    uint64_t size;
    auto operator<=>(const Key&) const = default;
  };
  const pjrt::Client* client_;
  pjrt::CompileOptions options_;
  std::map<Key, pjrt::Executable> programs_;
  size_t compiled_ = 0;
};

}  // namespace torchlift::run
