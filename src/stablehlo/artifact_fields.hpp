// How the attributes of our operations stand in an artifact: one description, which the writer and the reader follow.
// A codec has a method for each form: lists of integers are tensors of i64, a lone integer is an i64 or i32, and so on.
// `Ref<T>` is T to the reader and const T to the writer.
#pragma once

#include "stablehlo/attributes.hpp"
#include "stablehlo/opcode.hpp"
#include "stablehlo/vhlo.hpp"

namespace torchlift::stablehlo::artifact {

template <typename Codec, typename T>
using Ref = typename Codec::template Ref<T>;

template <typename Codec>
void fields(Codec&, Ref<Codec, NoAttributes>&) {}

template <typename Codec>
void fields(Codec& c, Ref<Codec, Constant>& a) {
  c.constant("value", a);
}

template <typename Codec>
void fields(Codec& c, Ref<Codec, Compare>& a) {
  c.enumerator("comparison_direction", vhlo::AttributeCode::VhloComparisonDirection, a.direction,
               ComparisonDirection::Lt);
  c.enumerator("compare_type", vhlo::AttributeCode::VhloComparisonType, a.type, ComparisonType::Unsigned);
}

template <typename Codec>
void fields(Codec& c, Ref<Codec, ReducePrecision>& a) {
  c.int32("exponent_bits", a.exponent_bits);
  c.int32("mantissa_bits", a.mantissa_bits);
}

template <typename Codec>
void fields(Codec& c, Ref<Codec, BroadcastInDim>& a) {
  c.ints("broadcast_dimensions", a.broadcast_dimensions);
}

template <typename Codec>
void fields(Codec& c, Ref<Codec, Dimension>& a) {
  c.int64(c.opcode() == Opcode::Iota ? "iota_dimension" : "dimension", a.dimension);
}

template <typename Codec>
void fields(Codec& c, Ref<Codec, Dimensions>& a) {
  c.ints("dimensions", a.dimensions);
}

template <typename Codec>
void fields(Codec& c, Ref<Codec, Transpose>& a) {
  c.ints("permutation", a.permutation);
}

template <typename Codec>
void fields(Codec& c, Ref<Codec, Slice>& a) {
  c.ints("start_indices", a.start_indices);
  c.ints("limit_indices", a.limit_indices);
  c.ints("strides", a.strides);
}

template <typename Codec>
void fields(Codec& c, Ref<Codec, DynamicSlice>& a) {
  c.ints("slice_sizes", a.slice_sizes);
}

template <typename Codec>
void fields(Codec& c, Ref<Codec, Pad>& a) {
  c.ints("edge_padding_low", a.edge_padding_low);
  c.ints("edge_padding_high", a.edge_padding_high);
  c.ints("interior_padding", a.interior_padding);
}

template <typename Codec>
void fields(Codec& c, Ref<Codec, Gather>& a) {
  c.ints("offset_dims", a.offset_dims);
  c.ints("collapsed_slice_dims", a.collapsed_slice_dims);
  c.ints("operand_batching_dims", a.operand_batching_dims);
  c.ints("start_indices_batching_dims", a.start_indices_batching_dims);
  c.ints("start_index_map", a.start_index_map);
  c.int64("index_vector_dim", a.index_vector_dim);
  c.ints("slice_sizes", a.slice_sizes);
  c.boolean("indices_are_sorted", a.indices_are_sorted);
}

template <typename Codec>
void fields(Codec& c, Ref<Codec, Scatter>& a) {
  c.ints("update_window_dims", a.update_window_dims);
  c.ints("inserted_window_dims", a.inserted_window_dims);
  c.ints("input_batching_dims", a.input_batching_dims);
  c.ints("scatter_indices_batching_dims", a.scatter_indices_batching_dims);
  c.ints("scatter_dims_to_operand_dims", a.scatter_dims_to_operand_dims);
  c.int64("index_vector_dim", a.index_vector_dim);
  c.boolean("indices_are_sorted", a.indices_are_sorted);
  c.boolean("unique_indices", a.unique_indices);
}

template <typename Codec>
void fields(Codec& c, Ref<Codec, Sort>& a) {
  c.int64("dimension", a.dimension);
  c.boolean("is_stable", a.is_stable);
}

template <typename Codec>
void fields(Codec& c, Ref<Codec, BatchNorm>& a) {
  c.float32("epsilon", a.epsilon);
  c.int64("feature_index", a.feature_index);
}

template <typename Codec>
void fields(Codec& c, Ref<Codec, Window>& a) {
  c.ints("window_dimensions", a.window_dimensions);
  c.ints("window_strides", a.window_strides);
  c.ints("base_dilations", a.base_dilations);
  c.ints("window_dilations", a.window_dilations);
  c.pairs("padding", a.padding_low, a.padding_high);
}

template <typename Codec>
void fields(Codec& c, Ref<Codec, SelectAndScatter>& a) {
  c.ints("window_dimensions", a.window_dimensions);
  c.ints("window_strides", a.window_strides);
  c.pairs("padding", a.padding_low, a.padding_high);
}

template <typename Codec>
void fields(Codec& c, Ref<Codec, Cholesky>& a) {
  c.boolean("lower", a.lower);
}

template <typename Codec>
void fields(Codec& c, Ref<Codec, Convolution>& a) {
  c.ints("window_strides", a.window_strides);
  c.pairs("padding", a.padding_low, a.padding_high);
  c.ints("lhs_dilation", a.lhs_dilation);
  c.ints("rhs_dilation", a.rhs_dilation);
  c.bools("window_reversal", a.window_reversal);
  c.int64("input_batch_dimension", a.input_batch_dimension);
  c.int64("input_feature_dimension", a.input_feature_dimension);
  c.ints("input_spatial_dimensions", a.input_spatial_dimensions);
  c.int64("kernel_input_feature_dimension", a.kernel_input_feature_dimension);
  c.int64("kernel_output_feature_dimension", a.kernel_output_feature_dimension);
  c.ints("kernel_spatial_dimensions", a.kernel_spatial_dimensions);
  c.int64("output_batch_dimension", a.output_batch_dimension);
  c.int64("output_feature_dimension", a.output_feature_dimension);
  c.ints("output_spatial_dimensions", a.output_spatial_dimensions);
  c.int64("feature_group_count", a.feature_group_count);
  c.int64("batch_group_count", a.batch_group_count);
  c.precision("precision_config", a.precision);
}

template <typename Codec>
void fields(Codec& c, Ref<Codec, DotGeneral>& a) {
  c.ints("lhs_batching_dimensions", a.lhs_batching_dimensions);
  c.ints("rhs_batching_dimensions", a.rhs_batching_dimensions);
  c.ints("lhs_contracting_dimensions", a.lhs_contracting_dimensions);
  c.ints("rhs_contracting_dimensions", a.rhs_contracting_dimensions);
  c.precision("precision_config", a.precision);
}

template <typename Codec>
void fields(Codec& c, Ref<Codec, Fft>& a) {
  c.enumerator("fft_type", vhlo::AttributeCode::VhloFftType, a.type, FftType::Irfft);
  c.ints("fft_length", a.length);
}

template <typename Codec>
void fields(Codec& c, Ref<Codec, TriangularSolve>& a) {
  c.boolean("left_side", a.left_side);
  c.boolean("lower", a.lower);
  c.boolean("unit_diagonal", a.unit_diagonal);
  // 0 is none of the specification's.
  c.enumerator("transpose_a", vhlo::AttributeCode::VhloTranspose, a.transpose_a, TransposeA::Adjoint, 1);
}

template <typename Codec>
void fields(Codec& c, Ref<Codec, Call>& a) {
  c.function("callee", a.callee);
}

template <typename Codec>
void fields(Codec& c, Ref<Codec, Composite>& a) {
  c.string("name", a.name);
  c.dictionary("composite_attributes", a.attributes);
  c.function("decomposition", a.decomposition);
  c.int32("version", a.version);
}

template <typename Codec>
void fields(Codec& c, Ref<Codec, CustomCall>& a) {
  constexpr int64_t kTypedFfi = 4;
  c.string("call_target_name", a.call_target_name);
  c.boolean("has_side_effect", a.has_side_effect);
  c.dictionary("backend_config", a.backend_config);
  c.always("api_version", {vhlo::AttributeCode::VhloCustomCallApiVersion, {kTypedFfi}, {}});
  for (const char* name : {"called_computations", "operand_layouts", "output_operand_aliases", "result_layouts"})
    c.always(name, {vhlo::AttributeCode::VhloArray, {0}, {}});
}

template <typename Codec>
void fields(Codec& c, Ref<Codec, RngBitGenerator>& a) {
  c.enumerator("rng_algorithm", vhlo::AttributeCode::VhloRngAlgorithm, a.algorithm, RngAlgorithm::Philox);
}

// What an attribute says that later versions of an operation have added, where nothing was said before. Such a one may
// be missing, and one that says this may be left out. Nothing for other attributes.
enum class Default : uint8_t { NoneType, EmptyTensor, EmptyArray, Accuracy };
inline std::optional<Default> default_of(std::string_view attribute) {
  struct Row {
    std::string_view attribute;
    Default value;
  };
  static constexpr Row kRows[] = {
      {"accumulation_type", Default::NoneType},
      {"allow_imprecise_accumulation", Default::NoneType},
      {"input_batching_dims", Default::EmptyTensor},
      {"lhs_component_count", Default::NoneType},
      {"lhs_precision_type", Default::NoneType},
      {"num_primitive_operations", Default::NoneType},
      {"operand_batching_dims", Default::EmptyTensor},
      {"result_accuracy", Default::Accuracy},
      {"result_tilings", Default::EmptyArray},
      {"rhs_component_count", Default::NoneType},
      {"rhs_precision_type", Default::NoneType},
      {"scatter_indices_batching_dims", Default::EmptyTensor},
      {"start_indices_batching_dims", Default::EmptyTensor},
  };
  for (const Row& row : kRows)
    if (row.attribute == attribute) return row.value;
  return std::nullopt;
}

}  // namespace torchlift::stablehlo::artifact
