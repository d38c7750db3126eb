// Higher-order operators: graphs that are walked in place, and those that become branches and loops.
#include <algorithm>
#include <functional>

#include "aten/axes.hpp"
#include "aten/families.hpp"

namespace torchlift::aten {
namespace {

using lower::higher_order;
using torch::BlockId;

using Operands = std::span<const IValue>;

IValue::List list_of(const IValue& v) {
  if (auto* list = v.get<IValue::List>()) return *list;
  return v.is_none() ? IValue::List{} : IValue::List{v};
}

// What follows `first`, lists opened.
IValue::List rest_of(Operands operands, size_t first) {
  IValue::List out;
  for (size_t i = first; i < operands.size(); ++i)
    for (const IValue& v : list_of(operands[i])) out.push_back(v);
  return out;
}

IValue::List concat(IValue::List a, const IValue::List& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const BlockId* graph_at(Lower& l, Operands operands, size_t i) {
  const BlockId* graph = i < operands.size() ? operands[i].get<BlockId>() : nullptr;
  if (!graph) l.wrong("expected a graph as argument " + std::to_string(i));
  return graph;
}

// ---- graphs walked in place

// Gradients have no meaning here.
IValues wrap_with_set_grad_enabled(Lower& l, Operands operands) {
  const BlockId* graph = graph_at(l, operands, 1);
  return graph ? l.call_graph(*graph, rest_of(operands, 2)) : IValues{};
}

std::string device_type(const IValue& v) {
  if (auto* text = v.get<std::string>()) return *text;
  if (auto* device = v.get<torch::Device>()) return device->type;
  return "";
}

// (device type, dtype, enabled, cache_enabled, graph, arguments...): the graph has no casts; its operators get them.
IValues wrap_with_autocast(Lower& l, Operands operands) {
  const BlockId* graph = graph_at(l, operands, 4);
  if (!graph) return {};
  std::string device = device_type(operands[0]);
  auto enabled = operands[2].number();
  if (device != "cpu" && enabled && enabled->to_bool()) {
    l.unsupported("device_type", device,
                  "export the model with autocast for `cpu`: each device has its own list of operators");
    return {};
  }
  Lower::Autocast before = l.autocast;
  if (device == "cpu") {
    const DType* dtype = operands[1].get<DType>();
    l.autocast = {.enabled = enabled && enabled->to_bool(), .dtype = dtype ? *dtype : DType::BFloat16};
  }
  IValues results = l.call_graph(*graph, rest_of(operands, 5));
  l.autocast = before;
  return results;
}

// (graph, name, arguments...)
IValues invoke_subgraph(Lower& l, Operands operands) {
  const BlockId* graph = graph_at(l, operands, 0);
  return graph ? l.call_graph(*graph, rest_of(operands, 2)) : IValues{};
}

// (graph, arguments)
IValues strict_mode(Lower& l, Operands operands) {
  const BlockId* graph = graph_at(l, operands, 0);
  return graph ? l.call_graph(*graph, rest_of(operands, 1)) : IValues{};
}

// ---- regions

using Roots = std::vector<lower::TensorNode*>;

// What a graph gives when it is walked in a region: the values of its results, and those of outer tensors that it
// wrote.
struct RegionResult {
  Values values;
  std::vector<std::pair<lower::TensorNode*, Value>> written;
};

Value value_of(Lower& l, const IValue& v) {
  if (auto* t = v.get<Tensor>()) return l.read(*t);
  if (auto n = v.number()) return l.constant(n->dtype(), *n);
  return {};
}

RegionResult walk_in_region(Lower& l, BlockId graph, const IValue::List& inputs) {
  Lower::Region region(l);
  RegionResult out;
  for (const IValue& v : l.call_graph(graph, inputs)) out.values.push_back(value_of(l, v));
  out.written = region.written();
  return out;
}

// The types of what a graph gives. It is walked in a branch that nothing uses, and so falls away.
Values try_in_region(Lower& l, const std::function<Values()>& walk) {
  return l.hlo.case_(l.constant(DType::Int32, 0), {walk});
}

IValues tensors_of(Lower& l, const Values& values) {
  IValues out;
  for (Value v : values) out.emplace_back(l.make(v));
  return out;
}

IValue::List make_all(Lower& l, std::span<const Value> values) {
  IValue::List out;
  for (Value v : values) out.emplace_back(l.make(v));
  return out;
}

// Loops carry tensors; a write to another one would have to be carried too.
bool refuse_writes(Lower& l, const RegionResult& result) {
  if (result.written.empty()) return false;
  l.unsupported("body", "a graph that writes to a tensor from outside of the loop",
                "carry that tensor through the loop");
  return true;
}

std::optional<Values> read_all(Lower& l, const IValue::List& list, std::string_view what) {
  Values out;
  for (const IValue& v : list) {
    auto* t = v.get<Tensor>();
    if (!t) {
      l.unsupported(std::string(what), describe(v), "carry a tensor instead of a number");
      return std::nullopt;
    }
    if (t->is_poison()) return std::nullopt;
    out.push_back(l.read(*t));
  }
  return out;
}

// A one-element truth value, rank 0.
Value predicate_of(Lower& l, const IValue& v) {
  Value p = value_of(l, v);
  if (!p.has_value()) return {};
  if (product(l.type(p).dims) != Dim(1)) return l.wrong("expected a predicate of one element, got " + describe(v));
  return l.convert(l.hlo.reshape(p, {}), DType::Bool);
}

// ---- cond

// The values of a branch: its results, then the current value of every tensor that some branch writes.
Values branch_values(Lower& l, BlockId graph, const IValue::List& inputs, const Roots& roots) {
  RegionResult result = walk_in_region(l, graph, inputs);
  for (lower::TensorNode* root : roots) {
    auto it =
        std::find_if(result.written.begin(), result.written.end(), [&](const auto& w) { return w.first == root; });
    result.values.push_back(it == result.written.end() ? root->value : it->second);
  }
  return result.values;
}

// The outer tensors that either branch writes, in order of the first write.
Roots written_roots(Lower& l, std::span<const BlockId> graphs, const IValue::List& inputs) {
  Roots roots;
  for (BlockId graph : graphs)
    try_in_region(l, [&] {
      RegionResult result = walk_in_region(l, graph, inputs);
      for (auto& [root, value] : result.written)
        if (std::find(roots.begin(), roots.end(), root) == roots.end()) roots.push_back(root);
      return result.values;
    });
  return roots;
}

// (predicate, graph if true, graph if false, arguments). A predicate that is known here chooses here.
IValues cond(Lower& l, Operands operands) {
  const BlockId* on_true = graph_at(l, operands, 1);
  const BlockId* on_false = graph_at(l, operands, 2);
  if (!on_true || !on_false) return {};
  IValue::List inputs = rest_of(operands, 3);
  if (auto known = operands[0].number()) return l.call_graph(known->to_bool() ? *on_true : *on_false, inputs);
  Value predicate = predicate_of(l, operands[0]);
  if (!predicate.has_value()) return {};
  Roots roots = written_roots(l, std::array{*on_true, *on_false}, inputs);
  Values results = l.hlo.if_(
      predicate, [&] { return branch_values(l, *on_true, inputs, roots); },
      [&] { return branch_values(l, *on_false, inputs, roots); });
  if (results.size() < roots.size()) return {};
  size_t outputs = results.size() - roots.size();
  for (size_t i = 0; i < roots.size(); ++i) l.write(Tensor(roots[i]), results[outputs + i]);
  results.resize(outputs);
  return tensors_of(l, results);
}

// ---- loops

// (graph of the condition, graph of the body, carried, further arguments)
IValues while_loop(Lower& l, Operands operands) {
  const BlockId* condition = graph_at(l, operands, 0);
  const BlockId* body = graph_at(l, operands, 1);
  if (!condition || !body || operands.size() < 3) return {};
  IValue::List further = rest_of(operands, 3);
  auto inits = read_all(l, list_of(operands[2]), "carried");
  if (!inits) return {};
  auto more = [&](std::span<const Value> carried) -> Value {
    Lower::Region region(l);
    IValues result = l.call_graph(*condition, concat(make_all(l, carried), further));
    return result.size() == 1 ? predicate_of(l, result[0]) : Value();
  };
  auto step = [&](std::span<const Value> carried) -> Values {
    RegionResult result = walk_in_region(l, *body, concat(make_all(l, carried), further));
    if (refuse_writes(l, result)) return Values(carried.size());
    return result.values;
  };
  return tensors_of(l, l.hlo.while_(*inits, more, step));
}

// Slice `at` of every value, along axis 0, which falls away.
Values slices_at(Lower& l, const Values& values, Value at) {
  Values out;
  for (Value v : values) {
    Dims size = l.type(v).dims, rest(size.begin() + 1, size.end());
    size[0] = 1;
    Values starts(size.size(), l.constant(DType::Int64, 0));
    starts[0] = at;
    out.push_back(l.hlo.reshape(l.hlo.dynamic_slice(v, starts, size), rest));
  }
  return out;
}

Value put_slice(Lower& l, Value all, Value slice, Value at) {
  if (!all.has_value() || !slice.has_value()) return {};
  Values starts(l.type(all).rank(), l.constant(DType::Int64, 0));
  starts[0] = at;
  return l.hlo.dynamic_update_slice(all, insert_axis(l, slice, 0), starts);
}

// The number of steps: the size of axis 0, which all share.
std::optional<Dim> step_count(Lower& l, const Values& xs) {
  std::optional<Dim> count;
  for (Value v : xs) {
    if (!v.has_value()) return std::nullopt;
    if (l.type(v).rank() == 0 || (count && *count != l.type(v).dims[0])) {
      l.wrong("expected operands of one size along dim 0");
      return std::nullopt;
    }
    count = l.type(v).dims[0];
  }
  if (!count) l.wrong("expected at least one operand to go through");
  return count;
}

struct Loop {
  BlockId graph;
  Values carry;  // before the first step
  Values xs;     // gone through along axis 0
  IValue::List further;
};

// Every step gives the new carry, then what is stacked up: the last carry, then the stacks.
IValues run_loop(Lower& l, const Loop& loop) {
  auto count = step_count(l, loop.xs);
  if (!count) return {};
  size_t carried = loop.carry.size();
  auto walk = [&](std::span<const Value> carry, Value at) -> Values {
    IValue::List inputs = concat(make_all(l, carry), make_all(l, slices_at(l, loop.xs, at)));
    RegionResult result = walk_in_region(l, loop.graph, concat(std::move(inputs), loop.further));
    if (refuse_writes(l, result)) return {};
    return result.values;
  };
  Values types = try_in_region(l, [&] { return walk(loop.carry, l.constant(DType::Int64, 0)); });
  if (types.size() < carried) return {};
  Values inits{l.constant(DType::Int64, 0)};
  inits.insert(inits.end(), loop.carry.begin(), loop.carry.end());
  for (size_t i = carried; i < types.size(); ++i) {
    if (!types[i].has_value()) return {};
    Dims shape = l.type(types[i]).dims;
    shape.insert(shape.begin(), *count);
    inits.push_back(l.full(shape, l.type(types[i]).dtype, 0));
  }
  auto more = [&](std::span<const Value> a) {
    return l.hlo.compare(a[0], l.constant(DType::Int64, Scalar(*count)), ComparisonDirection::Lt);
  };
  auto step = [&](std::span<const Value> a) -> Values {
    Values results = walk(a.subspan(1, carried), a[0]);
    if (results.size() != a.size() - 1) return Values(a.size());
    for (size_t i = carried; i < results.size(); ++i) results[i] = put_slice(l, a[i + 1], results[i], a[0]);
    results.insert(results.begin(), l.hlo.add(a[0], l.constant(DType::Int64, 1)));
    return results;
  };
  Values results = l.hlo.while_(inits, more, step);
  results.erase(results.begin());
  return tensors_of(l, results);
}

// (graph, initial carry, operands to go through, further arguments); files of torch 2.6 have a dim and a flag between.
IValues scan(Lower& l, Operands operands) {
  const BlockId* graph = graph_at(l, operands, 0);
  if (!graph || operands.size() < 3) return {};
  size_t further = 3;
  if (operands.size() > 4 && operands[3].is_number()) {
    if (!operands[3].number()->is_zero() || operands[4].number().value_or(Scalar(false)).to_bool()) {
      l.unsupported("reverse", "a dim other than 0 or a reversed scan", "export again with a later version of torch");
      return {};
    }
    further = 5;
  }
  auto carry = read_all(l, list_of(operands[1]), "init");
  auto xs = read_all(l, list_of(operands[2]), "xs");
  if (!carry || !xs) return {};
  return run_loop(l, {*graph, *carry, *xs, rest_of(operands, further)});
}

// (graph, operands to go through, further arguments)
IValues map_impl(Lower& l, Operands operands) {
  const BlockId* graph = graph_at(l, operands, 0);
  if (!graph || operands.size() < 2) return {};
  auto xs = read_all(l, list_of(operands[1]), "xs");
  if (!xs) return {};
  return run_loop(l, {*graph, {}, *xs, rest_of(operands, 2)});
}

}  // namespace

std::span<const Row> control_flow_ops() {
  static constexpr Row rows[] = {
      higher_order<cond>("higher_order::cond"),
      higher_order<invoke_subgraph>("higher_order::invoke_subgraph"),
      higher_order<map_impl>("higher_order::map_impl"),
      higher_order<scan>("higher_order::scan"),
      higher_order<strict_mode>("higher_order::strict_mode"),
      higher_order<while_loop>("higher_order::while_loop"),
      higher_order<wrap_with_autocast>("higher_order::wrap_with_autocast"),
      higher_order<wrap_with_set_grad_enabled>("higher_order::wrap_with_set_grad_enabled"),
  };
  return rows;
}

}  // namespace torchlift::aten
