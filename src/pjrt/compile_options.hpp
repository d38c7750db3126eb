// Compile options as PJRT wants them: the bytes of one protobuf message, written by hand.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace torchlift::pjrt {

struct CompileOptions {
  // Counts below one abort the process in XLA's plugins; bytes() checks them.
  int64_t replicas = 1;
  int64_t partitions = 1;
  // XLA flags by name, without dashes: {"xla_backend_optimization_level", 0}. An unknown name is the plugin's error.
  using Value = std::variant<std::string, bool, int64_t, double>;
  std::vector<std::pair<std::string, Value>> flags;

  std::string bytes() const;
};

}  // namespace torchlift::pjrt
