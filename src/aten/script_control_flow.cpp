// Branches and loops of TorchScript. What is known at import is decided and unrolled here; what depends on tensors
// becomes stablehlo.case and stablehlo.while, whose results must have one type.
#include <algorithm>
#include <bit>

#include "aten/families.hpp"
#include "aten/script.hpp"
#include "base/kinds.hpp"
#include "lower/script.hpp"

namespace torchlift::aten {
namespace {

using lower::is_uninitialized;
using lower::Type;

using Roots = std::vector<lower::TensorNode*>;
using torch::BlockId;

constexpr int64_t kMaxIterations = 1'000'000;  // of one loop at import, whatever its body is
constexpr int kMaxDepth = 16;                  // of containers that a branch gives

// A condition: known, or a value of the device of rank 0.
struct Condition {
  std::optional<bool> known;
  Value value;
};

std::optional<Condition> condition_of(Lower& l, const IValue& v) {
  if (auto n = v.number()) return Condition{n->to_bool(), {}};
  auto* t = v.get<Tensor>();
  if (!t || t->is_poison()) return std::nullopt;
  if (auto n = l.known(*t)) return Condition{n->to_bool(), {}};
  Value p = l.read(*t);
  if (!p.has_value() || product(l.type(p).dims) != Dim(1)) {
    l.wrong("expected a condition of one element, got " + describe(v));
    return std::nullopt;
  }
  return Condition{std::nullopt, l.convert(l.hlo.reshape(p, {}), DType::Bool)};
}

// ---- what leaves a branch

bool is_scalar(const IValue& v) {
  auto* t = v.get<Tensor>();
  return v.is_number() || (t && t->is_device_number());
}

DType scalar_dtype(const IValue& v) {
  if (auto* t = v.get<Tensor>()) return t->dtype();
  if (v.get<bool>()) return DType::Bool;
  if (v.get<Dim>()) return DType::Int64;
  if (v.get<double>()) return DType::Float64;
  return DType::Complex128;
}

bool equal_known(const IValue& a, const IValue& b) {
  if (a.data.index() != b.data.index()) return false;
  if (auto* x = a.get<Tensor>()) return *x == *b.get<Tensor>();
  if (auto* x = a.get<Dim>()) return *x == *b.get<Dim>();
  if (auto* x = a.get<double>()) return std::bit_cast<uint64_t>(*x) == std::bit_cast<uint64_t>(*b.get<double>());
  if (auto* x = a.get<ObjectRef>()) {
    auto& y = *b.get<ObjectRef>();
    return *x == y || ((*x)->is_enum && y->is_enum && (*x)->type == y->type &&
                       describe((*x)->attributes[0].second) == describe(y->attributes[0].second));
  }
  if (auto* x = a.get<ListRef>()) return *x == *b.get<ListRef>();
  if (auto* x = a.get<DictRef>()) return *x == *b.get<DictRef>();
  if (auto* x = a.get<TupleRef>()) return *x == *b.get<TupleRef>();
  if (auto* x = a.get<bool>()) return *x == *b.get<bool>();
  if (auto* x = a.get<std::string>()) return *x == *b.get<std::string>();
  if (auto* x = a.get<torch::Device>()) return *x == *b.get<torch::Device>();
  return a.is_none() || describe(a) == describe(b);
}

const std::vector<IValue>* items_of(const IValue& v) {
  if (auto* list = v.get<ListRef>()) return &(*list)->items;
  if (auto* tuple = v.get<TupleRef>()) return &(*tuple)->items;
  return nullptr;
}

IValue with_items(Lower& l, const IValue& like, std::vector<IValue> items) {
  if (auto* list = like.get<ListRef>()) return make_list(l, (*list)->element_type, std::move(items));
  auto out = std::make_shared<ScriptTuple>(**like.get<TupleRef>());
  out->items = std::move(items);
  return TupleRef(std::move(out));
}

// How two branches' values become one. Equal values stay what they are; the places where they differ are results of the
// operation, in order.
struct Merge {
  Lower& l;
  std::vector<bool> is_number;
  std::vector<Type> types;
  bool failed = false;

  void differ(const IValue& a, const IValue& b) {
    if (!failed) l.refuse(Kind::ScriptBranches, {{"then", describe(a)}, {"else", describe(b)}});
    failed = true;
  }

  // Finds the places. `a` and `b` belong to regions that are gone: only their types count.
  void plan(const IValue& a, const IValue& b, int depth) {
    if (failed || equal_known(a, b)) return;
    const IValue& some = is_uninitialized(a) ? b : a;
    const IValue& other = is_uninitialized(b) ? a : b;
    if (depth > kMaxDepth) return differ(a, b);
    if (is_scalar(some) && is_scalar(other) && scalar_dtype(some) == scalar_dtype(other)) {
      types.push_back({scalar_dtype(some), {}});
      is_number.push_back(true);
      return;
    }
    auto* x = some.get<Tensor>();
    auto* y = other.get<Tensor>();
    if (x && y && !x->is_device_number() && !y->is_device_number()) {
      if (x->is_poison() || y->is_poison()) failed = true;
      else if (x->dtype() != y->dtype() || !(x->shape() == y->shape())) return differ(a, b);
      types.push_back({x->dtype(), x->shape()});
      is_number.push_back(false);
      return;
    }
    const auto* left = items_of(some);
    const auto* right = items_of(other);
    if (!left || !right || left->size() != right->size() || some.data.index() != other.data.index())
      return differ(a, b);
    for (size_t i = 0; i < left->size(); ++i) plan((*left)[i], (*right)[i], depth + 1);
  }

  // The values that one branch puts into the places.
  void values(const IValue& mine, const IValue& theirs, Values& out, size_t& at) {
    if (equal_known(mine, theirs)) return;
    const auto* left = items_of(is_uninitialized(mine) ? theirs : mine);
    if (left) {
      const auto* right = items_of(is_uninitialized(theirs) ? mine : theirs);
      for (size_t i = 0; right && i < left->size() && i < right->size(); ++i)
        values(is_uninitialized(mine) ? lower::uninitialized_value() : (*left)[i],
               is_uninitialized(theirs) ? lower::uninitialized_value() : (*right)[i], out, at);
      return;
    }
    if (at >= types.size()) return;
    const Type& type = types[at++];
    if (is_uninitialized(mine)) out.push_back(l.full(type.dims, type.dtype, Scalar(0)));
    else if (auto* t = mine.get<Tensor>()) out.push_back(l.read(*t));
    else out.push_back(l.constant(type.dtype, *mine.number()));
  }

  // The merged value over the results.
  IValue merged(const IValue& a, const IValue& b, std::span<const Value> results, size_t& at) {
    if (equal_known(a, b)) return a;
    const IValue& some = is_uninitialized(a) ? b : a;
    if (const auto* left = items_of(some)) {
      const auto* right = items_of(is_uninitialized(b) ? a : b);
      std::vector<IValue> items;
      for (size_t i = 0; right && i < left->size() && i < right->size(); ++i)
        items.push_back(merged((*left)[i], (*right)[i], results, at));
      return with_items(l, some, std::move(items));
    }
    if (at >= results.size()) return Tensor();
    bool number = is_number[at];
    Value value = results[at++];
    return number ? l.device_number(value) : l.make(value);
  }
};

// ---- aliases

void add_tensors(const IValue& v, std::vector<Tensor>& out, int depth = 0) {
  if (auto* t = v.get<Tensor>(); t && !t->is_poison() && !t->is_device_number()) out.push_back(*t);
  if (const auto* items = items_of(v); items && depth < kMaxDepth)
    for (const IValue& item : *items) add_tensors(item, out, depth + 1);
}

// PyTorch's branch gives a tensor itself, ours a copy. Where that tensor was there before (its node is older than
// `begin`), or is given twice, a later write in place to either would have to show in the other: it is refused.
void forbid_shared_writes(Lower& l, const std::vector<IValue>& given, const IValues& results, size_t begin) {
  std::vector<Tensor> from, to;
  for (const IValue& v : given) add_tensors(v, from);
  for (const IValue& v : results) add_tensors(v, to);
  bool shared = false;
  for (size_t i = 0; i < from.size(); ++i) {
    bool older = from[i].node()->root()->index < begin;
    if (older && i < to.size() && to[i] == from[i]) continue;  // it is the tensor itself
    bool twice = std::any_of(from.begin() + static_cast<std::ptrdiff_t>(i) + 1, from.end(),
                             [&](const Tensor& other) { return other.shares_storage_with(from[i]); });
    if (older) l.forbid_writes(from[i]);
    shared = shared || older || twice;
  }
  if (!shared) return;
  for (const Tensor& t : to)
    if (t.node()->root()->index >= begin) l.forbid_writes(t);
}

// ---- prim::If

struct Branch {
  std::vector<IValue> results;
  Roots written;
  bool raised = false;
};

// What a branch gives, found by walking it in a region that nothing uses, and so falls away.
Branch try_branch(Lower& l, BlockId block) {
  Branch out;
  bool before = std::exchange(l.script->raised, false);
  l.hlo.case_(l.constant(DType::Int32, 0), {[&]() -> Values {
                Lower::Region region(l);
                out.results = l.call_graph(block, {});
                for (auto& [root, value] : region.written()) out.written.push_back(root);
                return {};
              }});
  out.raised = std::exchange(l.script->raised, before);
  return out;
}

Values branch_values(Lower& l, BlockId block, const std::vector<IValue>& theirs, Merge& merge, const Roots& roots) {
  Lower::Region region(l);
  std::vector<IValue> results = l.call_graph(block, {});
  Values out;
  size_t at = 0;
  for (size_t i = 0; i < results.size() && i < theirs.size(); ++i) merge.values(results[i], theirs[i], out, at);
  auto written = region.written();
  for (lower::TensorNode* root : roots) {
    auto it = std::find_if(written.begin(), written.end(), [&](const auto& w) { return w.first == root; });
    out.push_back(it == written.end() ? root->value : it->second);
  }
  return out;
}

// (condition, block if true, block if false)
ScriptResults prim_if(Lower& l, Arguments arguments) {
  auto* on_true = arguments.size() == 3 ? arguments[1].value.get<BlockId>() : nullptr;
  auto* on_false = arguments.size() == 3 ? arguments[2].value.get<BlockId>() : nullptr;
  if (!on_true || !on_false) return std::nullopt;
  auto condition = condition_of(l, arguments[0].value);
  if (!condition) return IValues{};
  if (condition->known) return l.call_graph(*condition->known ? *on_true : *on_false, {});

  size_t begin = l.new_node()->index;
  Branch yes = try_branch(l, *on_true), no = try_branch(l, *on_false);
  // A branch that raises is not taken by a program that goes on.
  if (yes.raised && !no.raised) return l.call_graph(*on_false, {});
  if (no.raised && !yes.raised) return l.call_graph(*on_true, {});
  Merge merge{.l = l, .is_number = {}, .types = {}};
  for (size_t i = 0; i < yes.results.size() && i < no.results.size(); ++i) merge.plan(yes.results[i], no.results[i], 0);
  if (merge.failed) return IValues(yes.results.size(), IValue(Tensor()));
  Roots roots = yes.written;
  for (lower::TensorNode* root : no.written)
    if (std::find(roots.begin(), roots.end(), root) == roots.end()) roots.push_back(root);
  Values results = l.hlo.if_(
      condition->value, [&] { return branch_values(l, *on_true, no.results, merge, roots); },
      [&] { return branch_values(l, *on_false, yes.results, merge, roots); });
  if (results.size() != merge.types.size() + roots.size()) return IValues(yes.results.size(), IValue(Tensor()));
  IValues out;
  size_t at = 0;
  std::span<const Value> places(results.data(), merge.types.size());
  for (size_t i = 0; i < yes.results.size() && i < no.results.size(); ++i)
    out.push_back(merge.merged(yes.results[i], no.results[i], places, at));
  for (size_t i = 0; i < roots.size(); ++i) l.write(Tensor(roots[i]), results[merge.types.size() + i]);
  forbid_shared_writes(l, yes.results, out, begin);
  forbid_shared_writes(l, no.results, out, begin);
  return out;
}

// ---- prim::Loop

struct Loop {
  IValue trips;  // the number of iterations at most
  BlockId body;
  int64_t step = 0;           // iterations done
  std::vector<IValue> state;  // condition, carried...
};

std::optional<int64_t> known_count(const IValue& v) {
  auto n = v.number();
  if (!n || !n->is_integral()) return std::nullopt;
  return n->to_int();
}

// The rest of the loop on the device. Numbers that an iteration changes become numbers of the device; all else that
// changes must be tensors that keep their types.
ScriptResults device_loop(Lower& l, Loop& loop) {
  size_t count = loop.state.size();
  std::vector<bool> varies(count, false);
  varies[0] = true;
  auto inputs_of = [&](std::span<const Value> carried, std::span<const size_t> places) {
    std::vector<IValue> inputs = {l.device_number(carried[0])};
    inputs.insert(inputs.end(), loop.state.begin() + 1, loop.state.end());
    for (size_t k = 0; k < places.size(); ++k)
      if (places[k] > 0)
        inputs[places[k]] = is_scalar(loop.state[places[k]]) ? l.device_number(carried[k + 1]) : l.make(carried[k + 1]);
    return inputs;
  };
  auto initial_value = [&](size_t i) -> Value {
    const IValue& v = loop.state[i];
    if (auto* t = v.get<Tensor>()) return l.read(*t);
    if (auto n = v.number()) return l.constant(n->dtype(), *n);
    return {};
  };
  auto refuse = [&](std::string problem) {
    l.refuse(Kind::ScriptLoop,
             {{"problem", std::move(problem)}, {"advice", "carry tensors of one shape through it, and numbers"}});
    return IValues(count - 1, IValue(Tensor()));
  };
  auto places_of = [&] {
    std::vector<size_t> places;
    for (size_t i = 0; i < count; ++i)
      if (varies[i]) places.push_back(i);
    return places;
  };
  // Which of the carried values change, and which tensors from outside are written: found by walking the body until no
  // more do.
  Roots roots;
  size_t begin = l.new_node()->index;
  std::vector<IValue> given;  // what the body gives, tried
  while (true) {
    std::vector<size_t> places = places_of();
    Values inits = {l.constant(DType::Int64, Scalar(loop.step))};
    for (size_t i : places) {
      Value v = initial_value(i);
      if (!v.has_value()) return refuse(describe(loop.state[i]) + " changes in it");
      inits.push_back(v);
    }
    std::vector<IValue> after;
    bool more = false;
    l.hlo.case_(l.constant(DType::Int32, 0), {[&]() -> Values {
                  Lower::Region region(l);
                  after = l.call_graph(loop.body, inputs_of(inits, places));
                  for (auto& [root, value] : region.written())
                    if (std::find(roots.begin(), roots.end(), root) == roots.end()) {
                      roots.push_back(root);
                      more = true;
                    }
                  return {};
                }});
    if (after.size() != count) return IValues(count - 1, IValue(Tensor()));
    for (size_t i = 1; i < count; ++i) {
      if (varies[i] || equal_known(after[i], loop.state[i])) continue;
      varies[i] = more = true;
    }
    if (more) continue;
    for (size_t i : places) {
      if (i == 0) continue;
      const IValue &a = loop.state[i], &b = after[i];
      auto *x = a.get<Tensor>(), *y = b.get<Tensor>();
      bool same = is_scalar(a)
                      ? is_scalar(b) && scalar_dtype(a) == scalar_dtype(b)
                      : x && y && !y->is_device_number() && x->dtype() == y->dtype() && x->shape() == y->shape();
      if (!same) return refuse(describe(a) + " becomes " + describe(b));
    }
    given.assign(after.begin() + 1, after.end());
    break;
  }

  std::vector<size_t> places = places_of();
  auto condition = condition_of(l, loop.state[0]);
  if (!condition) return IValues(count - 1, IValue(Tensor()));
  Values inits = {l.constant(DType::Int64, Scalar(loop.step)),
                  condition->known ? l.constant(DType::Bool, Scalar(*condition->known)) : condition->value};
  for (size_t i : places)
    if (i > 0) inits.push_back(initial_value(i));
  size_t first_root = inits.size();
  for (lower::TensorNode* root : roots) inits.push_back(root->value);
  Value trips;
  if (auto n = known_count(loop.trips)) trips = l.constant(DType::Int64, Scalar(*n));
  else if (auto* t = loop.trips.get<Tensor>()) trips = l.read(*t);
  auto more = [&](std::span<const Value> a) {
    return l.hlo.and_(l.hlo.compare(a[0], trips, ComparisonDirection::Lt), a[1]);
  };
  auto step = [&](std::span<const Value> a) -> Values {
    Lower::Region region(l);
    for (size_t i = 0; i < roots.size(); ++i) l.write(Tensor(roots[i]), a[first_root + i]);
    std::vector<IValue> after = l.call_graph(loop.body, inputs_of(a, places));
    Values out = {l.hlo.add(a[0], l.constant(DType::Int64, Scalar(1)))};
    for (size_t i : places) {
      const IValue& v = i < after.size() ? after[i] : loop.state[i];
      if (i == 0) {
        auto next = condition_of(l, v);
        out.push_back(!next ? Value() : next->known ? l.constant(DType::Bool, Scalar(*next->known)) : next->value);
      } else if (auto* t = v.get<Tensor>()) {
        out.push_back(l.read(*t));
      } else {
        out.push_back(v.number() ? l.constant(v.number()->dtype(), *v.number()) : Value());
      }
    }
    for (lower::TensorNode* root : roots) out.push_back(root->value);
    return out;
  };
  Values results = l.hlo.while_(inits, more, step);
  if (results.size() != inits.size()) return IValues(count - 1, IValue(Tensor()));
  IValues out(loop.state.begin() + 1, loop.state.end());
  for (size_t k = 1; k < places.size(); ++k)
    out[places[k] - 1] = is_scalar(loop.state[places[k]]) ? l.device_number(results[k + 1]) : l.make(results[k + 1]);
  for (size_t i = 0; i < roots.size(); ++i) l.write(Tensor(roots[i]), results[first_root + i]);
  forbid_shared_writes(l, std::vector<IValue>(loop.state.begin() + 1, loop.state.end()), out,
                       begin);  // of no iteration
  forbid_shared_writes(l, given, out, begin);
  return out;
}

// (iterations at most, condition, body, carried...): the body takes the number of the iteration and what is carried,
// and gives the next condition and what is carried on.
ScriptResults prim_loop(Lower& l, Arguments arguments) {
  auto* body = arguments.size() >= 3 ? arguments[2].value.get<BlockId>() : nullptr;
  if (!body) return std::nullopt;
  Loop loop{.trips = arguments[0].value, .body = *body, .step = 0, .state = {}};
  if (auto* t = loop.trips.get<Tensor>())
    if (auto n = l.known(*t)) loop.trips = IValue(*n);
  loop.state.push_back(arguments[1].value);
  for (size_t i = 3; i < arguments.size(); ++i) loop.state.push_back(arguments[i].value);
  size_t count = loop.state.size();
  while (true) {
    auto trips = known_count(loop.trips);
    auto condition = condition_of(l, loop.state[0]);
    if (!condition) return IValues(count - 1, IValue(Tensor()));
    if (condition->known && !*condition->known) break;
    if (trips && loop.step >= *trips) break;
    if (!trips || !condition->known) return device_loop(l, loop);
    if (loop.step >= kMaxIterations) {
      l.refuse(Kind::ScriptTooLong, {{"limit", kMaxIterations}});
      l.script->stopped = true;
      return IValues(count - 1, IValue(Tensor()));
    }
    std::vector<IValue> inputs = {Dim(loop.step)};
    inputs.insert(inputs.end(), loop.state.begin() + 1, loop.state.end());
    std::vector<IValue> after = l.call_graph(loop.body, std::move(inputs));
    if (after.size() != count || l.script->stopped) return IValues(count - 1, IValue(Tensor()));
    loop.state = std::move(after);
    ++loop.step;
  }
  return IValues(loop.state.begin() + 1, loop.state.end());
}

}  // namespace

std::span<const ScriptRow> script_control_flow_ops() {
  static constexpr ScriptRow rows[] = {
      {"prim::If", prim_if},
      {"prim::Loop", prim_loop, true},
  };
  return rows;
}

}  // namespace torchlift::aten
