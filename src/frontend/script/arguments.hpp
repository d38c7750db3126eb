// How leaves (tensors and literals) form the arguments of a TorchScript method, by the types that it declares.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "frontend/script/entry.hpp"
#include "torch/program.hpp"
#include "torch/script_type.hpp"

namespace torchlift::frontend::script {

// An argument, or a part of one. A leaf is a tensor, or a literal as the parameter's type wants it.
struct ArgumentNode {
  enum class Kind : uint8_t { Leaf, Tuple, List, Dict };
  Kind kind = Kind::Leaf;
  std::variant<TensorLeaf, torch::Operand> leaf;
  torch::ScriptType type;         // of a Tuple (a NamedTuple's class), List or Dict
  std::vector<std::string> keys;  // of a Dict or a NamedTuple, one per child
  std::vector<ArgumentNode> children;
};

// What stands for one parameter; `given` is false where its default is taken.
struct BoundArgument {
  const torch::Parameter* parameter = nullptr;
  bool given = false;
  ArgumentNode node;
};

// One for each parameter (self aside), in order.
Result<std::vector<BoundArgument>> bind_leaves(const torch::Program& script, std::string_view method,
                                               const std::vector<torch::Parameter>& parameters,
                                               const std::vector<ScriptLeaf>& leaves);

}  // namespace torchlift::frontend::script
