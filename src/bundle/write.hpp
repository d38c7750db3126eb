// Writes a bundle: a directory that appears whole or not at all.
#pragma once

#include <string>
#include <vector>

#include "archive/record.hpp"
#include "archive/safetensors.hpp"
#include "bundle/manifest.hpp"
#include "bundle/weights.hpp"

namespace torchlift::bundle {

enum class WeightsAs : uint8_t {
  None,
  Copy,
  Reference,  // to their places in the model file, which stays where it is
};

// Inputs of a call and the results that are expected: a case file (tools/corpus/README.md). Views.
struct Sample {
  std::vector<archive::SafetensorsData> tensors;
  std::vector<std::pair<std::string, std::string>> metadata;
};

struct Bundle {
  Manifest manifest;                  // digests of the programs and `weights` are filled in by write
  std::vector<std::string> programs;  // their texts, in the order of manifest.programs
  std::vector<WeightSource> weights;  // in the order of the arguments
  WeightsAs weights_as = WeightsAs::Copy;
  uint64_t shard_size = 0;  // bytes of tensors in one file; 0: all
  std::vector<Sample> samples{};
  archive::Strict strict = archive::Strict::No;
};

struct WrittenBundle {
  Manifest manifest;  // as it is on disk
  std::vector<Diagnostic> warnings;
};

// Each program's signature is checked against the manifest. Everything is written into a directory beside `directory`,
// synced, and renamed into place; a bundle that was there is replaced in that last step. A directory that holds
// anything else is refused. Missing folders above it are made; after a failure nothing is left.
Result<WrittenBundle> write(const std::string& directory, Bundle bundle);

}  // namespace torchlift::bundle
