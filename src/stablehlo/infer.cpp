#include "stablehlo/infer.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace torchlift::stablehlo {
namespace {

constexpr size_t kAny = std::numeric_limits<size_t>::max();

struct Arity {
  size_t least;
  size_t most;
  size_t least_regions = 0;
  size_t most_regions = 0;
};

Arity arity_of(Opcode opcode) {
  switch (opcode) {
    case Opcode::Constant:
    case Opcode::Iota:
    case Opcode::Undefined: return {0, 0};
    case Opcode::Clamp:
    case Opcode::Select: return {3, 3};
    case Opcode::Compare:
    case Opcode::Gather:
    case Opcode::Pad:
    case Opcode::DotGeneral:
    case Opcode::Convolution:
    case Opcode::TriangularSolve: return {2, 2};
    case Opcode::Concatenate:
    case Opcode::DynamicSlice: return {1, kAny};
    case Opcode::DynamicUpdateSlice: return {2, kAny};
    case Opcode::Scatter: return {3, kAny, 1, 1};
    case Opcode::Sort: return {1, kAny, 1, 1};
    case Opcode::BatchNormInference: return {5, 5};
    case Opcode::Reduce:
    case Opcode::ReduceWindow: return {2, kAny, 1, 1};
    case Opcode::SelectAndScatter: return {3, 3, 2, 2};
    case Opcode::Call:
    case Opcode::Composite:
    case Opcode::CustomCall: return {0, kAny};
    case Opcode::OptimizationBarrier: return {0, kAny};
    case Opcode::Case: return {1, 1, 1, kAny};
    case Opcode::If: return {1, 1, 2, 2};
    case Opcode::While: return {0, kAny, 2, 2};
    default: break;
  }
  const bool two = opcode >= Opcode::Add && opcode <= Opcode::Xor;  // the order of ops.def
  return two ? Arity{2, 2} : Arity{1, 1};
}

template <typename T, size_t I = 0>
constexpr size_t index_of() {
  if constexpr (std::is_same_v<std::variant_alternative_t<I, Attributes>, T>) return I;
  else return index_of<T, I + 1>();
}

constexpr std::array kAttributes = {
#define OP(enumerator, name, form, elements, attributes) index_of<attributes>(),
#include "stablehlo/ops.def"
#undef OP
};

bool needs_claim(Opcode opcode) {
  switch (opcode) {
    case Opcode::BitcastConvert:
    case Opcode::BroadcastInDim:
    case Opcode::Constant:
    case Opcode::Convert:
    case Opcode::Convolution:
    case Opcode::DotGeneral:
    case Opcode::Iota:
    case Opcode::Reshape:
    case Opcode::Undefined: return true;
    default: return false;
  }
}

Inference infer_undefined(const Site& site) { return site.claimed[0]; }

Inference dispatch(const Site& site) {
  switch (site.opcode) {
    case Opcode::Clamp: return infer_clamp(site);
    case Opcode::Compare: return infer_compare(site);
    case Opcode::Select: return infer_select(site);
    case Opcode::Convert: return infer_convert(site);
    case Opcode::BitcastConvert: return infer_bitcast_convert(site);
    case Opcode::ReducePrecision: return infer_reduce_precision(site);
    case Opcode::BroadcastInDim: return infer_broadcast_in_dim(site);
    case Opcode::Concatenate: return infer_concatenate(site);
    case Opcode::Constant: return infer_constant(site);
    case Opcode::DynamicSlice: return infer_dynamic_slice(site);
    case Opcode::DynamicUpdateSlice: return infer_dynamic_update_slice(site);
    case Opcode::Gather: return infer_gather(site);
    case Opcode::Iota: return infer_iota(site);
    case Opcode::Pad: return infer_pad(site);
    case Opcode::Reshape: return infer_reshape(site);
    case Opcode::Reverse: return infer_reverse(site);
    case Opcode::Scatter: return infer_scatter(site);
    case Opcode::Slice: return infer_slice(site);
    case Opcode::Sort: return infer_sort(site);
    case Opcode::Transpose: return infer_transpose(site);
    case Opcode::BatchNormInference: return infer_batch_norm_inference(site);
    case Opcode::Reduce: return infer_reduce(site);
    case Opcode::ReduceWindow: return infer_reduce_window(site);
    case Opcode::SelectAndScatter: return infer_select_and_scatter(site);
    case Opcode::Cholesky: return infer_cholesky(site);
    case Opcode::Convolution: return infer_convolution(site);
    case Opcode::DotGeneral: return infer_dot_general(site);
    case Opcode::Fft: return infer_fft(site);
    case Opcode::TriangularSolve: return infer_triangular_solve(site);
    case Opcode::Call:
    case Opcode::Composite: return infer_call(site);
    case Opcode::Case: return infer_case(site);
    case Opcode::CustomCall: return infer_custom_call(site);
    case Opcode::If: return infer_if(site);
    case Opcode::OptimizationBarrier: return infer_optimization_barrier(site);
    case Opcode::RngBitGenerator: return infer_rng_bit_generator(site);
    case Opcode::While: return infer_while(site);
    case Opcode::Undefined: return infer_undefined(site);
    default: return infer_elementwise(site);
  }
}

}  // namespace

bool has_right_attributes(Opcode opcode, const Attributes& attributes) {
  return kAttributes[static_cast<size_t>(opcode)] == attributes.index();
}

bool has_isolated_regions(Opcode opcode) {
  switch (opcode) {
    case Opcode::Reduce:
    case Opcode::ReduceWindow:
    case Opcode::Scatter:
    case Opcode::SelectAndScatter:
    case Opcode::Sort: return true;
    default: return false;
  }
}

Inference infer(const Site& site) {
  const Arity arity = arity_of(site.opcode);
  if (site.operands.size() < arity.least || site.operands.size() > arity.most)
    return refuse(site.operands.size(), " operands are too ", site.operands.size() < arity.least ? "few" : "many");
  if (site.regions.size() < arity.least_regions || site.regions.size() > arity.most_regions)
    return refuse(site.regions.size(), " regions are too ", site.regions.size() < arity.least_regions ? "few" : "many");
  if (!has_right_attributes(site.opcode, site.attributes)) return refuse("the attributes belong to another operation");
  if (needs_claim(site.opcode) && site.claimed.size() != 1) return refuse("one result type must be given");
  for (const Type& type : site.claimed)
    if (std::string problem = problem_of(type); !problem.empty()) return refuse(problem);

  Inference out = dispatch(site);
  for (const Type& type : out.types) {
    if (!out.ok()) break;
    out.problem = problem_of(type);
  }
  if (!out.ok()) out.types.clear();
  return out;
}

bool all_below(const Ints& values, size_t bound) {
  return std::all_of(values.begin(), values.end(),
                     [bound](int64_t v) { return v >= 0 && static_cast<size_t>(v) < bound; });
}

bool all_at_least(const Ints& values, int64_t bound) {
  return std::all_of(values.begin(), values.end(), [bound](int64_t v) { return v >= bound; });
}

bool is_unique(Ints values) {
  std::sort(values.begin(), values.end());
  return std::adjacent_find(values.begin(), values.end()) == values.end();
}

bool is_sorted(const Ints& values) { return std::is_sorted(values.begin(), values.end()); }

bool contains(const Ints& values, int64_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

Ints concat(const Ints& a, const Ints& b) {
  Ints out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

bool same_dims(const Type& a, const Type& b) { return a.dims == b.dims; }

namespace {

// (size - 1) * dilation + 1, and nothing of nothing.
Dim dilate(const Dim& size, int64_t dilation) {
  if (dilation == 1 || size.concrete() == 0) return size;
  return (size - Dim(1)) * Dim(dilation) + Dim(1);
}

}  // namespace

Dim window_count(const WindowDim& w) {
  const Dim padded = w.low + dilate(w.size, w.base_dilation) + w.high;
  const Dim window = dilate(w.window, w.window_dilation);
  if (padded.concrete() <= 0 || window > padded) return 0;
  return floordiv(padded - window, Dim(w.stride)) + Dim(1);
}

std::vector<Type> scalars_of(const Site& site, size_t first, size_t count) {
  std::vector<Type> out;
  for (size_t i = first; i < first + count; ++i) out.push_back(scalar(site.type(i).dtype));
  return out;
}

namespace {

std::string signature_problem(const Module& module, const Values& values, const std::vector<Type>& wanted,
                              std::string_view what) {
  if (values.size() != wanted.size())
    return std::string(what) + " are " + say(values.size()) + ", " + say(wanted.size()) + " are wanted";
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!module.contains(values[i])) return std::string(what) + " hold no value at " + say(i);
    if (module.type(values[i]) != wanted[i])
      return std::string(what) + " have " + say(module.type(values[i])) + " at " + say(i) + ", " + say(wanted[i]) +
             " is wanted";
  }
  return "";
}

}  // namespace

std::string signature_problem(const Site& site, size_t region, const std::vector<Type>& arguments,
                              const std::vector<Type>& results) {
  const Region& r = site.module.at(site.regions[region]);
  std::string problem = signature_problem(site.module, r.arguments, arguments, "the region's arguments");
  return problem.empty() ? signature_problem(site.module, r.results, results, "the region's results") : problem;
}

}  // namespace torchlift::stablehlo
