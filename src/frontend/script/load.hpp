// A TorchScript archive (torch.jit.save) -> torch::Program: its code compiled, its objects and weights read, nothing
// interpreted. The program has no entry yet: entry.hpp makes one for a method. See docs/frontend-script.md.
#pragma once

#include <cstdint>
#include <vector>

#include "archive/archive.hpp"
#include "archive/record.hpp"
#include "base/result.hpp"
#include "torch/program.hpp"

namespace torchlift::frontend::script {

struct ScriptFile {
  torch::Program program;                // block 0 is empty
  std::vector<archive::Record> records;  // by RecordId; they point into the archive, which has to outlive them
  int64_t version = 0;                   // of the file format
};

struct LoadOptions {
  // Places are lines of the author's own files, where the archive tells them, else lines of its `code/` members.
  // Reading them takes about as long as everything else.
  bool author_lines = true;
};

// CHECKs that the archive is of kind TorchScript. Problems of the objects are reported together (at most 20), others
// stop at the first. The program has passed torch::verify.
Result<ScriptFile> load(archive::Archive& archive, const LoadOptions& options = {});

}  // namespace torchlift::frontend::script
