// The entry of a TorchScript program: which method is called, with which arguments. A TorchScript file says neither, so
// the caller gives the leaves of the arguments, and gets a program whose block 0 builds the arguments of them and calls
// the method.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "torch/program.hpp"

namespace torchlift::frontend::script {

inline constexpr size_t kMaxLeaves = 1024;
inline constexpr size_t kMaxPathSteps = 16;

struct MethodInfo {
  std::string name;                          // "forward"
  std::vector<torch::Parameter> parameters;  // without self
  std::string result_type;
};

// The methods of the root that a caller may mean, `forward` first; without its hooks and names such as `__len__`.
std::vector<MethodInfo> methods(const torch::Program& script);

bool is_training(const torch::Program& script);            // the root's `training`
void set_training(torch::Program& script, bool training);  // of all modules that have one

struct TensorLeaf {
  DType dtype{};
  std::vector<int64_t> sizes;
};

// One tensor or literal of the arguments. A literal is none, bool, int64_t, double, complex, string, Device, or a list
// of literals, which stands for the whole of a List or Tuple.
struct ScriptLeaf {
  std::variant<TensorLeaf, torch::Operand> value;
  std::string path;  // "x", "xs[0]", "d['a']", "pair.first"; empty: what comes next in the order of the parameters
};

// The program with an entry that calls `method` of the root (for `forward`, with the root's hooks around it). Leaves
// are taken as Python takes arguments: those without path first, in order, then those with path. A parameter with a
// default may be left out. Inputs are in the order of the parameters; torch::input_paths names them.
Result<torch::Program> entry(const torch::Program& script, std::string_view method,
                             const std::vector<ScriptLeaf>& leaves);

}  // namespace torchlift::frontend::script
