// Attributes of operations, one struct per operation that has some. Field names are the specification's. Lists of sizes
// are Dims where a size of the program may flow in, plain integers elsewhere. A list left empty in the call of a
// builder method stands for the default named in its comment; in a module it is written out.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.hpp"
#include "stablehlo/type.hpp"

namespace torchlift::stablehlo {

using FunctionId = Id<struct FunctionTag>;

enum class ComparisonDirection : uint8_t { Eq, Ne, Ge, Gt, Le, Lt };
enum class ComparisonType : uint8_t { None, Float, TotalOrder, Signed, Unsigned };  // None: by the element type
enum class Precision : uint8_t { Default, High, Highest };
enum class FftType : uint8_t { Fft, Ifft, Rfft, Irfft };
enum class RngAlgorithm : uint8_t { Default, ThreeFry, Philox };
enum class TransposeA : uint8_t { NoTranspose, Transpose, Adjoint };

using NoAttributes = std::monostate;

// One element after another, little-endian, bool as a byte 0 or 1. A splat is stored as one element.
struct Constant {
  std::vector<std::byte> bytes;
  bool operator==(const Constant&) const = default;
};

struct Compare {
  ComparisonDirection direction{};
  ComparisonType type = ComparisonType::None;
  bool operator==(const Compare&) const = default;
};

struct ReducePrecision {
  int64_t exponent_bits = 0;
  int64_t mantissa_bits = 0;
  bool operator==(const ReducePrecision&) const = default;
};

struct BroadcastInDim {
  Ints broadcast_dimensions;
  bool operator==(const BroadcastInDim&) const = default;
};

// concatenate, iota
struct Dimension {
  int64_t dimension = 0;
  bool operator==(const Dimension&) const = default;
};

// reverse, reduce
struct Dimensions {
  Ints dimensions;
  bool operator==(const Dimensions&) const = default;
};

struct Transpose {
  Ints permutation;
  bool operator==(const Transpose&) const = default;
};

struct Slice {
  Dims start_indices;
  Dims limit_indices;
  Ints strides;  // ones
  bool operator==(const Slice&) const = default;
};

struct DynamicSlice {
  Dims slice_sizes;
  bool operator==(const DynamicSlice&) const = default;
};

struct Pad {
  Dims edge_padding_low;   // may be negative: crops
  Dims edge_padding_high;  // may be negative
  Ints interior_padding;   // zeros
  bool operator==(const Pad&) const = default;
};

struct Gather {
  Ints offset_dims;
  Ints collapsed_slice_dims;
  Ints operand_batching_dims;        // needs StableHLO 1.1
  Ints start_indices_batching_dims;  // needs StableHLO 1.1
  Ints start_index_map;
  int64_t index_vector_dim = 0;
  Dims slice_sizes;
  bool indices_are_sorted = false;
  bool operator==(const Gather&) const = default;
};

struct Scatter {
  Ints update_window_dims;
  Ints inserted_window_dims;
  Ints input_batching_dims;            // needs StableHLO 1.1
  Ints scatter_indices_batching_dims;  // needs StableHLO 1.1
  Ints scatter_dims_to_operand_dims;
  int64_t index_vector_dim = 0;
  bool indices_are_sorted = false;
  bool unique_indices = false;
  bool operator==(const Scatter&) const = default;
};

struct Sort {
  int64_t dimension = 0;
  bool is_stable = false;
  bool operator==(const Sort&) const = default;
};

struct BatchNorm {
  float epsilon = 0;
  int64_t feature_index = 0;
  bool operator==(const BatchNorm&) const = default;
};

// reduce_window, one entry per dimension of the operand.
struct Window {
  Dims window_dimensions;
  Ints window_strides;    // ones
  Ints base_dilations;    // ones
  Ints window_dilations;  // ones
  Dims padding_low;       // zeros; may be negative
  Dims padding_high;      // zeros; may be negative
  bool operator==(const Window&) const = default;
};

struct SelectAndScatter {
  Ints window_dimensions;
  Ints window_strides;  // ones
  Ints padding_low;     // zeros
  Ints padding_high;    // zeros
  bool operator==(const SelectAndScatter&) const = default;
};

struct Cholesky {
  bool lower = true;
  bool operator==(const Cholesky&) const = default;
};

// Window lists have one entry per spatial dimension.
struct Convolution {
  Ints window_strides;                // ones
  Dims padding_low;                   // zeros; may be negative
  Dims padding_high;                  // zeros; may be negative
  Ints lhs_dilation;                  // ones
  Ints rhs_dilation;                  // ones
  std::vector<bool> window_reversal;  // falses
  int64_t input_batch_dimension = 0;
  int64_t input_feature_dimension = 1;
  Ints input_spatial_dimensions;  // 2, 3, ...
  int64_t kernel_input_feature_dimension = 1;
  int64_t kernel_output_feature_dimension = 0;
  Ints kernel_spatial_dimensions;  // 2, 3, ...
  int64_t output_batch_dimension = 0;
  int64_t output_feature_dimension = 1;
  Ints output_spatial_dimensions;  // 2, 3, ...
  int64_t feature_group_count = 1;
  int64_t batch_group_count = 1;
  Precision precision = Precision::Default;  // of both operands
  bool operator==(const Convolution&) const = default;
};

struct DotGeneral {
  Ints lhs_batching_dimensions;
  Ints rhs_batching_dimensions;
  Ints lhs_contracting_dimensions;
  Ints rhs_contracting_dimensions;
  Precision precision = Precision::Default;  // of both operands
  bool operator==(const DotGeneral&) const = default;
};

struct Fft {
  FftType type{};
  Dims length;  // 1 to 3 entries, of the last dimensions; for Rfft and Irfft of the real side
  bool operator==(const Fft&) const = default;
};

struct TriangularSolve {
  bool left_side = true;
  bool lower = true;
  bool unit_diagonal = false;
  TransposeA transpose_a = TransposeA::NoTranspose;
  bool operator==(const TriangularSolve&) const = default;
};

struct Call {
  FunctionId callee;
  bool operator==(const Call&) const = default;
};

// A small attribute of a composite or of a custom call's dictionary.
using NamedAttribute = std::pair<std::string, std::variant<bool, int64_t, double, std::string, Ints>>;

struct Composite {
  std::string name;  // "torch.rms_norm"
  std::vector<NamedAttribute> attributes;
  FunctionId decomposition;
  int32_t version = 0;
  bool operator==(const Composite&) const = default;
};

struct CustomCall {
  std::string call_target_name;
  bool has_side_effect = false;
  std::vector<NamedAttribute> backend_config;  // api_version 4, a dictionary
  bool operator==(const CustomCall&) const = default;
};

struct RngBitGenerator {
  RngAlgorithm algorithm{};
  bool operator==(const RngBitGenerator&) const = default;
};

using Attributes =
    std::variant<NoAttributes, Constant, Compare, ReducePrecision, BroadcastInDim, Dimension, Dimensions, Transpose,
                 Slice, DynamicSlice, Pad, Gather, Scatter, Sort, BatchNorm, Window, SelectAndScatter, Cholesky,
                 Convolution, DotGeneral, Fft, TriangularSolve, Call, Composite, CustomCall, RngBitGenerator>;

}  // namespace torchlift::stablehlo
