// What a TorchScript program declares, by name, and how its functions are called: for the rows of its language.
#pragma once

#include <functional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lower/ivalue.hpp"
#include "torch/program.hpp"

namespace torchlift::lower {

class Script {
 public:
  explicit Script(const torch::Program& program);

  const torch::Program& program() const { return program_; }
  torch::FunctionId function(std::string_view name) const;  // "__torch__.M.forward"; none if there is none
  const torch::Class* find_class(std::string_view name) const;

  // Walks a function; one argument per parameter.
  std::function<IValue(torch::FunctionId, std::vector<IValue>)> call;
  // The objects and tensors of the file; equal ids give one value.
  std::function<IValue(torch::ObjectId)> object;
  std::function<IValue(torch::WeightId)> weight;

  bool stopped = false;  // the model raised an exception: what follows is not walked
  bool raised = false;   // the same in a branch that may not be taken

 private:
  const torch::Program& program_;
  std::unordered_map<std::string_view, torch::FunctionId> functions_;
  std::unordered_map<std::string_view, const torch::Class*> classes_;
};

}  // namespace torchlift::lower
