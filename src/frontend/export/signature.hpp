// What the inputs and outputs of the entry are, how they form the call's arguments, and the ranges of free sizes.
// Includes simdjson.
#pragma once

#include "frontend/export/graph.hpp"
#include "frontend/export/values.hpp"
#include "torch/program.hpp"

namespace torchlift::frontend {

// `graph_module.signature`: fills program.inputs and program.outputs. `graph` has read the entry.
Status read_signature(Element signature, GraphReader& graph, JsonReader& json, torch::Program& program);

// `graph_module.module_call_graph`: trees and argument names of the whole call.
Status read_call(Object graph_module, JsonReader& json, torch::Program& program);

// "[1, {...}]"; `field_names`: of namedtuples by registered name, may be null.
Result<torch::TreeSpec> parse_tree_spec(std::string_view text, JsonReader& json, const Element* field_names);

// `range_constraints`.
Status read_ranges(Element ranges, JsonReader& json, torch::Program& program);

// Sizes of symbols in the example run, from the hints of input sizes: bare symbols first, then linear expressions.
std::vector<std::pair<std::string, int64_t>> solve_hints(const std::vector<Hint>& hints);

}  // namespace torchlift::frontend
