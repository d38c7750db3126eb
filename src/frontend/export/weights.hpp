// The tensors that the inputs of the entry name: parameters, buffers, constants, and the records they lie in.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "archive/archive.hpp"
#include "archive/torch_save.hpp"
#include "base/result.hpp"
#include "torch/program.hpp"

namespace torchlift::frontend {

// Tensors of one archive by name: a PayloadConfig with raw records, or a torch.save file.
class TensorStore {
 public:
  virtual ~TensorStore() = default;
  virtual bool contains(std::string_view name) const = 0;
  // The tensor `name`, which is contained; its bounds are checked.
  virtual Result<archive::TensorRecord> tensor(std::string_view name) = 0;
};

// Of the weights and of the constants of a model, in whichever layout each has. An archive without the member has an
// empty store.
Result<std::unique_ptr<TensorStore>> open_weights(archive::Archive& archive, const std::string& model);
Result<std::unique_ptr<TensorStore>> open_constants(archive::Archive& archive, const std::string& model);

// Fills program.weights and the inputs' WeightIds; returns the records by RecordId. Lists every tensor that cannot be
// had.
Result<std::vector<archive::Record>> read_weights(archive::Archive& archive, torch::Program& program);

}  // namespace torchlift::frontend
