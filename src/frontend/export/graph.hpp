// The graphs of one program: nodes, values, nested graphs. Includes simdjson.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/export/locations.hpp"
#include "frontend/export/values.hpp"
#include "torch/program.hpp"

namespace torchlift::frontend {

inline constexpr int kMaxGraphDepth = 32;

// "torch.ops.aten.add.Tensor" -> "aten::add.Tensor", "torch.ops.aten.relu.default" -> "aten::relu", "_operator.mul" ->
// "_operator::mul", "torch._sym_sqrt" -> "torch::sym_sqrt". Other names stay as they are.
std::string target_name(std::string_view target);

// The values of one graph by name.
using Names = std::unordered_map<std::string_view, torch::ValueId>;

// Reads graphs breadth first: values and instructions stand in the program in the order of its blocks.
class GraphReader {
 public:
  GraphReader(ValueReader& values, torch::Program& program)
      : values_(values), json_(values.json()), program_(program) {}

  // The entry and all graphs nested in it.
  Status read(Element graph);

  // Of the entry: what stands in `inputs`, literals included, and the names of its values.
  const std::vector<torch::Operand>& entry_inputs() const { return entry_inputs_; }
  const Names& entry_names() const { return entry_names_; }
  const std::vector<Hint>& hints() const { return hints_; }

  // An Argument of the entry, for the signature.
  Result<torch::Operand> entry_argument(Element element);
  Result<torch::ValueId> entry_value(Element name_object);  // {"name": "x"}

 private:
  struct Pending {
    torch::BlockId block;
    Element graph;
    std::string_view name;
    int depth = 0;
  };
  struct Declared {  // what a graph says of its values
    std::unordered_map<std::string_view, Element> tensors, numbers;
  };
  using ReadItem = Result<torch::Operand> (GraphReader::*)(Element);

  Status pending_graph(const Pending& pending);
  Status graph(const Pending& pending);
  Status declarations(Object graph);
  Result<std::vector<torch::Operand>> inputs(Object graph);
  Status node(Element element);
  Status arguments(Element element, torch::Inst& inst);
  Status results(Element element, torch::Inst& inst);
  Result<torch::LocId> location(Object node);

  Result<torch::Operand> argument(Element element);
  Result<torch::Operand> tagged_argument(std::string_view tag, Element payload);
  Result<torch::Operand> list(Element element, int levels, ReadItem item_reader);
  Result<torch::Operand> tensor(Element element);
  Result<torch::Operand> optional_tensor(Element element);
  Result<torch::Operand> integer(Element element);
  Result<torch::Operand> real(Element element);
  Result<torch::Operand> boolean(Element element);
  Result<torch::Operand> string(Element element);
  Result<torch::Operand> complex(Element element);
  Result<torch::Operand> sym_number(Element element);
  Result<torch::Operand> dtype(Element element);
  Result<torch::Operand> memory_format(Element element);
  Result<torch::Operand> layout(Element element);
  Result<torch::Operand> device(Element element);
  Result<torch::Operand> nested_graph(Element element);
  Result<torch::Operand> custom_object(Element element);
  Result<torch::Operand> operator_name(Element element);
  Result<torch::Operand> dictionary(Element element);
  Result<torch::Operand> none(Element) { return torch::Operand{torch::None{}}; }
  Result<torch::Operand> value_named(std::string_view name, torch::ValueKind kind);
  Result<torch::Operand> define(std::string_view name, torch::ValueKind kind);

  ValueReader& values_;
  JsonReader& json_;
  torch::Program& program_;
  LocationTable locations_;
  std::deque<Pending> pending_;
  std::vector<torch::Operand> entry_inputs_;
  Names entry_names_;
  std::vector<Hint> hints_;

  // Of the graph being read.
  Names names_;
  Declared declared_;
  int depth_ = 0;
  bool defining_ = false;  // names stand for new values: inputs of the graph, results of a node
  torch::ValueKind number_kind_ = torch::ValueKind::SymInt;  // of the as_sym_* being read
};

}  // namespace torchlift::frontend
