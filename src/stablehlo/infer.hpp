// Types of results from operands, attributes and regions, and the specification's constraints. The builder asks before
// it adds an instruction, the verifier asks again: one source of truth, and labels like (C3) are the specification's.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "stablehlo/module.hpp"

namespace torchlift::stablehlo {

// What is known about an operation. All ids are in range.
struct Site {
  const Module& module;
  Opcode opcode{};
  std::span<const Value> operands;
  const Attributes& attributes;
  std::span<const RegionId> regions;
  std::span<const Type> claimed;  // result types, where the caller chooses them (reshape, iota, constant, ...)

  const Type& type(size_t operand) const { return module.type(operands[operand]); }
  size_t rank(size_t operand) const { return type(operand).rank(); }
  template <typename T>
  const T& get() const {
    return std::get<T>(attributes);
  }
};

struct Inference {
  std::vector<Type> types;
  std::string problem;  // the broken constraint; empty if there is none

  Inference() = default;
  Inference(Type type) { types.push_back(std::move(type)); }   // NOLINT
  Inference(std::vector<Type> all) : types(std::move(all)) {}  // NOLINT
  bool ok() const { return problem.empty(); }
};

Inference infer(const Site& site);

// Whether the attributes are those of the opcode (the alternative, not the contents).
bool has_right_attributes(Opcode opcode, const Attributes& attributes);

// Regions that see nothing of what surrounds them: bodies of reductions, sorts, scatters.
bool has_isolated_regions(Opcode opcode);

// ---- for the infer_*.cpp

inline std::string say(std::string_view text) { return std::string(text); }
inline std::string say(const Type& type) { return to_text(type); }
inline std::string say(const Dim& dim) { return std::to_string(dim.concrete()); }
inline std::string say(const Dims& dims) { return text_of(dims); }
inline std::string say(const Ints& ints) { return text_of(Dims(ints.begin(), ints.end())); }
inline std::string say(DType dtype) { return std::string(info(dtype).stablehlo_name); }
template <typename Int>
requires std::is_integral_v<Int> std::string say(Int number) { return std::to_string(number); }

template <typename... Parts>
Inference refuse(const Parts&... parts) {
  Inference out;
  ((out.problem += say(parts)), ...);
  return out;
}

// 0 <= every entry < bound, which the specification writes so too.
bool all_below(const Ints& values, size_t bound);
bool all_at_least(const Ints& values, int64_t bound);
bool is_unique(Ints values);
bool is_sorted(const Ints& values);
bool contains(const Ints& values, int64_t value);
Ints concat(const Ints& a, const Ints& b);
bool same_dims(const Type& a, const Type& b);

// Output size of a window that moves over a dilated and padded dimension; zero where it does not fit.
struct WindowDim {
  Dim size;
  Dim window;
  int64_t stride = 1;
  Dim low;
  Dim high;
  int64_t base_dilation = 1;
  int64_t window_dilation = 1;
};
Dim window_count(const WindowDim& w);

// What a region takes and gives must be these; empty if so.
std::string signature_problem(const Site& site, size_t region, const std::vector<Type>& arguments,
                              const std::vector<Type>& results);
// Rank-0 types of the operands `first` to `first + count`.
std::vector<Type> scalars_of(const Site& site, size_t first, size_t count);

Inference infer_elementwise(const Site& site);
Inference infer_clamp(const Site& site);
Inference infer_compare(const Site& site);
Inference infer_select(const Site& site);
Inference infer_convert(const Site& site);
Inference infer_bitcast_convert(const Site& site);
Inference infer_reduce_precision(const Site& site);
Inference infer_constant(const Site& site);

Inference infer_broadcast_in_dim(const Site& site);
Inference infer_concatenate(const Site& site);
Inference infer_iota(const Site& site);
Inference infer_pad(const Site& site);
Inference infer_reshape(const Site& site);
Inference infer_reverse(const Site& site);
Inference infer_slice(const Site& site);
Inference infer_transpose(const Site& site);

Inference infer_dynamic_slice(const Site& site);
Inference infer_dynamic_update_slice(const Site& site);
Inference infer_gather(const Site& site);
Inference infer_scatter(const Site& site);

Inference infer_sort(const Site& site);
Inference infer_reduce(const Site& site);
Inference infer_reduce_window(const Site& site);
Inference infer_select_and_scatter(const Site& site);
Inference infer_batch_norm_inference(const Site& site);

Inference infer_dot_general(const Site& site);
Inference infer_convolution(const Site& site);
Inference infer_cholesky(const Site& site);
Inference infer_triangular_solve(const Site& site);
Inference infer_fft(const Site& site);

Inference infer_call(const Site& site);
Inference infer_case(const Site& site);
Inference infer_if(const Site& site);
Inference infer_while(const Site& site);
Inference infer_optimization_barrier(const Site& site);
Inference infer_custom_call(const Site& site);
Inference infer_rng_bit_generator(const Site& site);

}  // namespace torchlift::stablehlo
