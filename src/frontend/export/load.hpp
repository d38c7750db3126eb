// `.pt2` -> torch::Program: the three archive layouts of torch.export.save (PyTorch 2.3 and newer), decoded and not
// interpreted. See docs/frontend-export.md.
#pragma once

#include <string>
#include <vector>

#include "archive/archive.hpp"
#include "archive/record.hpp"
#include "base/result.hpp"
#include "torch/program.hpp"

namespace torchlift::frontend {

struct LoadOptions {
  std::string model;  // its name in the archive; empty: the only one, or the one called "model"
};

struct Loaded {
  torch::Program program;
  std::vector<archive::Record> records;  // by RecordId; they point into the archive, which has to outlive them
  std::vector<std::string> model_names;  // all that the archive holds
};

// All problems of the weights are reported at once; others stop at the first. The program has passed torch::verify.
Result<Loaded> load(archive::Archive& archive, const LoadOptions& options = {});

}  // namespace torchlift::frontend
