// Writes a bundle: a directory that appears whole or not at all.
#pragma once

#include <string>
#include <vector>

#include "archive/record.hpp"
#include "bundle/manifest.hpp"
#include "bundle/weights.hpp"

namespace torchlift::bundle {

struct Bundle {
  Manifest manifest;                  // digests of the programs and `weights` are filled in by write
  std::vector<std::string> programs;  // their texts, in the order of manifest.programs
  std::vector<WeightSource> weights;  // in the order of the arguments
  bool with_weights = true;           // false: `--weights none`
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
