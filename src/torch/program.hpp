// torch::Program: what a model file says, decoded and not yet interpreted. Flat vectors indexed by typed ids, in single
// assignment form; nothing is looked up (an operator is a name), nothing is specialised (a size may be an expression).
// Both front ends end here; lower/ begins here.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/diagnostic.hpp"
#include "base/dtype.hpp"
#include "base/ids.hpp"
#include "torch/symbolic.hpp"

namespace torchlift::torch {

using ValueId = Id<struct ValueTag>;
using InstId = Id<struct InstTag>;
using BlockId = Id<struct BlockTag>;
using LocId = Id<struct LocTag>;
using WeightId = Id<struct WeightTag>;
using ObjectId = Id<struct ObjectTag>;
using FunctionId = Id<struct FunctionTag>;
using RecordId = Id<struct RecordTag>;  // bytes of a storage; the front end's caller knows where they lie

enum class Layout : uint8_t { Strided, SparseCoo, SparseCsr, SparseCsc, SparseBsr, SparseBsc, Mkldnn };
enum class MemoryFormat : uint8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };

struct Device {
  std::string type;  // "cpu", "cuda", "meta", ...
  int64_t index = -1;
  bool operator==(const Device&) const = default;
};

struct None {
  bool operator==(const None&) const = default;
};

// An operator passed as a value ("aten::_print.default").
struct OperatorName {
  std::string name;
  bool operator==(const OperatorName&) const = default;
};

struct CustomObject {
  std::string name;
  std::string class_name;
  bool operator==(const CustomObject&) const = default;
};

// What stands in an argument place: a value of the block, a literal, a nested graph, a tensor or an object of the file,
// or a list of these.
struct Operand {
  using List = std::vector<Operand>;
  std::variant<None, ValueId, bool, int64_t, double, std::complex<double>, std::string, DType, Layout, MemoryFormat,
               Device, BlockId, OperatorName, CustomObject, List, WeightId, ObjectId>
      data;

  template <typename T>
  const T* get() const {
    return std::get_if<T>(&data);
  }
  bool is_none() const { return std::holds_alternative<None>(data); }
  bool operator==(const Operand&) const = default;
};

struct NamedOperand {
  std::string
      name;  // the schema's argument name; empty for a positional argument (higher-order and symbolic operators)
  Operand value;
  bool operator==(const NamedOperand&) const = default;
};

enum class InstKind : uint8_t {
  Call,        // the target names one operator
  Overloaded,  // the target is a base name of TorchScript ("aten::add"): the arguments' types choose the overload
};

// target(operands...) -> results. A target is "aten::add.Tensor" ("aten::relu" for the overload `default`),
// "higher_order::cond", or a Python callable of symbolic arithmetic: "_operator::mul", "math::trunc", "torch::sym_max".
// Of TorchScript also what its language does, by the names of its own graphs: "prim::If", "prim::GetAttr"
// (docs/frontend-script.md lists them with their operands).
struct Inst {
  InstKind kind = InstKind::Call;
  std::string name;  // the node's own name, for messages; may be empty
  std::string target;
  std::vector<NamedOperand> operands;
  std::vector<Operand> results;  // per result: a ValueId, None (undefined), or a List of ValueIds (Tensor[])
  LocId location;
};

struct TensorMeta {
  DType dtype{};
  std::vector<SymExpr> sizes;
  std::vector<SymExpr> strides;  // empty where the file has none
  SymExpr storage_offset;
  Layout layout = Layout::Strided;
  bool requires_grad = false;
  bool operator==(const TensorMeta&) const = default;
};

enum class ValueKind : uint8_t { Tensor, SymInt, SymFloat, SymBool, CustomObject, Token, Any };  // Any: of TorchScript

struct Value {
  std::string name;  // unique in its block
  ValueKind kind = ValueKind::Tensor;
  std::optional<TensorMeta> meta;  // what the file declares of a tensor
  std::optional<SymExpr> expr;     // what the file declares of a symbolic number
};

// A graph, or a nested graph of a higher-order operator: these see nothing of the outer ones. A branch (the block of a
// prim::If or prim::Loop) sees the values of the blocks around it.
struct Block {
  std::string name;  // "" for the entry
  bool is_branch = false;
  std::vector<ValueId> inputs;
  std::vector<InstId> insts;  // in execution order
  std::vector<Operand> outputs;
};

// Where an instruction stands in the model's own code, innermost frame first.
struct Location {
  std::vector<SourceLine> frames;
  std::string module_path;  // "encoder.layers.0"
  std::string module_type;  // "torch.nn.modules.linear.Linear"
  bool operator==(const Location&) const = default;
};

// A tensor of the state dict or a constant, over a record that it may share with others. Sizes, strides and the offset
// are in elements and have been checked against the record's size.
struct Weight {
  std::string name;  // PyTorch's own
  DType dtype{};
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  int64_t storage_offset = 0;
  RecordId record;
  int64_t record_elements = 0;  // of this dtype in the whole record
  bool is_parameter = false;
  bool is_constant = false;  // of TorchScript's code ("CONSTANTS.c0"): no part of the state dict
};

enum class InputKind : uint8_t { User, Constant, Parameter, Buffer, TensorConstant, CustomObject, Token };

struct InputSpec {
  InputKind kind = InputKind::User;
  Operand argument;    // the block input's ValueId; a literal for Constant (its value, checked at call time by torch)
  std::string target;  // FQN for Parameter, Buffer, TensorConstant, CustomObject; argument name for Constant
  bool persistent = true;  // Buffer
  WeightId weight;         // for Parameter, Buffer, TensorConstant
};

enum class OutputKind : uint8_t {
  User,
  BufferMutation,
  ParameterMutation,
  UserInputMutation,
  Loss,
  GradientToParameter,
  GradientToUserInput,
  Token
};

struct OutputSpec {
  OutputKind kind = OutputKind::User;
  Operand argument;
  std::string target;  // what is mutated or differentiated
};

// A pytree: how flat leaves form (args, kwargs) or the result. A leaf has no type.
struct TreeSpec {
  std::string type;               // "builtins.tuple", "builtins.dict", ...; empty for a leaf
  std::string context;            // as in the file
  std::vector<std::string> keys;  // one per child where the type names them (dicts, namedtuples)
  std::vector<TreeSpec> children;
  bool is_leaf() const { return type.empty(); }
  bool operator==(const TreeSpec&) const = default;
};

// Paths of the leaves in order, as Python would write them after the root: "[0]['mask']", ".x".
std::vector<std::string> leaf_paths(const TreeSpec& spec);

struct Range {
  SymExpr expr;  // a symbol, or an expression such as 2*s60
  std::optional<int64_t> min;
  std::optional<int64_t> max;
};

// ---- TorchScript: classes, functions and objects. A type is kept as its text: "Tensor", "Optional[List[int]]",
// "__torch__.M" (torch/script_type.hpp reads it).

struct Parameter {
  std::string name;
  std::string type;
  std::optional<Operand> default_value;
};

struct Function {
  std::string name;  // "__torch__.M.forward" for a method, whose first parameter is self; "__torch__.clip"
  std::vector<Parameter> parameters;
  std::string result_type;
  BlockId block;  // one input per parameter, one output
  bool is_method = false;
};

enum class ClassKind : uint8_t { Module, Plain, NamedTuple, Enum, Interface };

struct Class {
  std::string name;  // "__torch__.M"
  ClassKind kind = ClassKind::Plain;
  std::vector<std::pair<std::string, std::string>> attributes;  // name and type, as declared
  std::vector<std::pair<std::string, Operand>> constants;       // Final[...] attributes; the members of an Enum
  std::vector<std::string> parameters;                          // attributes that are parameters of a module
  std::vector<std::string> buffers;                             // attributes that are its buffers
  std::vector<std::string> forward_pre_hooks;                   // names of methods
  std::vector<std::string> forward_hooks;
};

enum class ObjectKind : uint8_t { Instance, Enum, List, Dict, Tuple };

// A value of the file that is no tensor and no literal. Objects are shared by identity.
struct Object {
  ObjectKind kind = ObjectKind::Instance;
  std::string type;  // Instance, Enum, NamedTuple: the class; List, Dict: "List[int]"; empty for a plain tuple
  // Instance: attribute name and value. Enum: "name" and "value". Dict: key and value. List, Tuple: none and item.
  std::vector<std::pair<Operand, Operand>> items;
};

struct Program {
  std::string name;            // of the model inside its file: "model"
  std::string producer;        // "torch 2.13.0"
  std::string schema_version;  // "8.20"
  std::vector<Block> blocks;   // blocks[0] is the entry
  std::vector<Inst> insts;
  std::vector<Value> values;
  std::vector<Location> locations;
  std::vector<Weight> weights;
  std::vector<Range> ranges;
  std::vector<std::pair<std::string, int64_t>> hints;  // symbol -> its size in the example run, sorted
  std::vector<InputSpec> inputs;                       // one per input of the entry, same order
  std::vector<OutputSpec> outputs;                     // one per output of the entry, same order
  std::optional<TreeSpec> input_tree;                  // root: tuple of (args tuple, kwargs dict)
  std::optional<TreeSpec> output_tree;
  std::vector<std::string> argument_names;  // of the positional arguments, where the file has them
  std::vector<Class> classes;
  std::vector<Function> functions;
  std::vector<Object> objects;
  ObjectId root;  // the module itself; none for an exported program

  const Block& entry() const { return blocks.front(); }
  const Block& block(BlockId id) const { return blocks[id.at()]; }
  const Inst& inst(InstId id) const { return insts[id.at()]; }
  const Value& value(ValueId id) const { return values[id.at()]; }
  const Location& location(LocId id) const { return locations[id.at()]; }
  const Object& object(ObjectId id) const { return objects[id.at()]; }
  const Function& function(FunctionId id) const { return functions[id.at()]; }
};

// For each user or constant input, in order, its path in the call: "x", "batch['ids']", "args[2]". Names come from
// argument_names and keyword names where known.
std::vector<std::string> input_paths(const Program& program);
// For each User, Loss or Gradient output, in order: "" for a single result, "[0]", "['logits']".
std::vector<std::string> output_paths(const Program& program);

}  // namespace torchlift::torch
