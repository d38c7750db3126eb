// The walk: a torch::Program with its sizes chosen becomes a StableHLO module. Python values are computed on the spot,
// tensors become values of the module; one run reports every problem of the program.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "lower/custom.hpp"
#include "lower/op.hpp"
#include "stablehlo/module.hpp"
#include "torch/program.hpp"

namespace torchlift::lower {

// A size or a number that the caller fixes: by symbol ("s77"), or by input path and axis ("x.0"); for int inputs the
// path.
struct Binding {
  std::string name;
  int64_t size = 0;
};

// All symbols of the program bound: requested sizes first, then the sizes of the example inputs. `requested` may name
// symbols or input axes; expressions such as 2*s60 are solved and checked, and every range of the program is checked.
Result<torch::Bindings> bind_sizes(const torch::Program& program, const std::vector<Binding>& requested);

// An input axis ("x.0") or int input ("n") that a Binding may name, and its size over the program's symbols.
struct NamedSize {
  std::string name;
  torch::SymExpr expr;
};
std::vector<NamedSize> free_sizes(const torch::Program& program);  // those that are not fixed

struct Options {
  torch::Bindings sizes;
  Precision precision = Precision::Highest;
  bool allow_train_dropout = false;
  uint64_t seed = 0;                             // of random numbers: aten/generator.hpp
  std::vector<CustomOp> custom{};                // come before the table
  std::span<const torch::Schema> own_schemas{};  // of rows of the table that are none of PyTorch's: own_ops.hpp
  int64_t inline_below = 0;                      // weights of fewer bytes become constants
  std::optional<size_t> fail_operation;          // for tests: this StableHLO operation, counted as they are made, fails
  // Of a TorchScript program: what a call before stored on its modules, by path ("encoder.count"): the type of a
  // tensor, which is then an argument, or a value.
  std::map<std::string, std::variant<stablehlo::Type, IValue>> state{};
  // Dense row-major bytes of a weight, for constants.
  std::function<Result<std::vector<std::byte>>(torch::WeightId)> read_weight;
};

enum class ArgumentRole : uint8_t { Input, Weight, State };
enum class ResultRole : uint8_t { Output, BufferMutation, InputMutation };

struct EntryArgument {
  ArgumentRole role{};
  std::string name;                  // path of an input, PyTorch's name of a weight
  std::vector<std::string> aliases;  // further names of a weight
  DType dtype{};
  Dims shape;
  std::optional<size_t> leaf;             // Input
  std::optional<torch::WeightId> weight;  // Weight, State
  bool whole_record = false;              // the argument is the weight's whole storage, flat: its views are written
  std::optional<size_t> result;           // the result that holds its value after the call
};

struct EntryResult {
  ResultRole role{};
  std::string name;
  std::vector<std::string> aliases;
  DType dtype{};
  Dims shape;
  std::optional<size_t> storage_of;  // Output: the argument whose storage it has in PyTorch; here it is a copy
};

// A leaf of the inputs or outputs in pytree order: the number of an argument or result, or a Python value.
struct Leaf {
  std::string path;
  std::optional<size_t> tensor;
  IValue value;
};

// How inference compares with what the file declares (tensor_values).
struct Agreement {
  size_t nodes = 0;             // node results compared
  size_t type_differences = 0;  // dtype or shape
  size_t strides = 0;           // results with declared strides
  size_t stride_differences = 0;
  std::vector<std::string> examples;  // of differing strides: "%view: [..] declared [..]"
};

struct Lowered {
  stablehlo::Module module;
  std::map<std::string, std::string> definitions;  // of functions that it only declares, for PrintOptions
  std::vector<EntryArgument> arguments;
  std::vector<EntryResult> results;
  std::vector<Leaf> inputs;
  std::vector<Leaf> outputs;
  std::optional<torch::TreeSpec> output_tree;  // of a TorchScript program, whose file has none
  // What the call stores on the modules of a TorchScript program: a result that holds a tensor, or a value.
  struct Stored {
    std::string path;
    std::optional<size_t> result;
    IValue value;
  };
  std::vector<Stored> state;
  Agreement agreement;
  struct PinnedSize {
    std::string node;
    std::string expr;
    std::vector<SourceLine> source;
  };
  std::vector<PinnedSize> pins;
  size_t operations = 0;          // StableHLO operations made, before dead ones were removed
  std::vector<Diagnostic> notes;  // warnings and notes of a walk that succeeded
};

// The operator table is given: this room knows no operator by name.
Result<Lowered> lower(const torch::Program& program, const OpTable& table, const Options& options);

// Every operator of the program, with how often it occurs, and whether the table has it.
struct OperatorUse {
  std::string target;
  size_t count = 0;
  bool supported = false;
};
std::vector<OperatorUse> operators_of(const torch::Program& program, const OpTable& table, const Options& options = {});

}  // namespace torchlift::lower
