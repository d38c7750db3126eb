#include "stablehlo/print_attributes.hpp"

#include <bit>
#include <charconv>

#include "base/text.hpp"
#include "stablehlo/element.hpp"

namespace torchlift::stablehlo {
namespace {

std::string number(int64_t value) { return std::to_string(value); }
std::string boolean(bool value) { return value ? "true" : "false"; }
std::string i64(int64_t value) { return number(value) + " : i64"; }

// "array<i64: 1, 2>"
std::string array(const Ints& values) {
  if (values.empty()) return "array<i64>";
  return "array<i64: " + join(values, ", ", number) + ">";
}

std::string array(const Dims& values) { return array(concrete(values)); }

// "dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>", from two columns.
std::string padding(const Ints& low, const Ints& high) {
  std::string rows;
  for (size_t i = 0; i < low.size(); ++i) rows += (i > 0 ? ", [" : "[") + number(low[i]) + ", " + number(high[i]) + "]";
  return "dense<" + (rows.empty() ? "" : "[" + rows + "]") + "> : tensor<" + std::to_string(low.size()) + "x2xi64>";
}

// A float attribute: its bits, which every value has.
std::string float_bits(double value, DType dtype) {
  std::vector<std::byte> bytes;
  append_element(bytes, dtype, value);
  std::string out;
  append_dense(out, {bytes}, scalar(dtype), 1);
  out = out.substr(6, out.size() - 7);  // without "dense<" and ">"
  return out + " : " + std::string(info(dtype).stablehlo_name);
}

struct NamedAttributeText {
  std::string operator()(bool value) const { return boolean(value); }
  std::string operator()(int64_t value) const { return i64(value); }
  std::string operator()(double value) const { return float_bits(value, DType::Float64); }
  std::string operator()(const std::string& value) const { return quoted_string(value); }
  std::string operator()(const Ints& value) const { return array(value); }
};

std::string dictionary(const std::vector<NamedAttribute>& attributes) {
  return "{" +
         join(attributes, ", ",
              [](const NamedAttribute& a) {
                return quoted_string(a.first) + " = " + std::visit(NamedAttributeText{}, a.second);
              }) +
         "}";
}

std::string_view text_of(FftType type) {
  switch (type) {
    case FftType::Fft: return "FFT";
    case FftType::Ifft: return "IFFT";
    case FftType::Rfft: return "RFFT";
    case FftType::Irfft: return "IRFFT";
  }
  return "";
}

std::string_view text_of(RngAlgorithm algorithm) {
  switch (algorithm) {
    case RngAlgorithm::Default: return "DEFAULT";
    case RngAlgorithm::ThreeFry: return "THREE_FRY";
    case RngAlgorithm::Philox: return "PHILOX";
  }
  return "";
}

std::string_view text_of(TransposeA transpose) {
  switch (transpose) {
    case TransposeA::NoTranspose: return "NO_TRANSPOSE";
    case TransposeA::Transpose: return "TRANSPOSE";
    case TransposeA::Adjoint: return "ADJOINT";
  }
  return "";
}

std::string enumerator(std::string_view kind, std::string_view value) {
  return "#stablehlo<" + std::string(kind) + " " + std::string(value) + ">";
}

// ", name = [...]", where there is something to say: the form without is readable by StableHLO 1.0.
std::string batching(std::string_view name, const Ints& values) {
  return values.empty() ? "" : ", " + std::string(name) + " = " + list_text(values);
}

// One text a struct of attributes, for the generic form.
struct Generic {
  const Module& module;

  template <typename T>
  std::string operator()(const T&) const {
    return "";
  }
  std::string operator()(const Dimensions& a) const { return "dimensions = " + array(a.dimensions); }
  std::string operator()(const Sort& a) const {
    return "dimension = " + i64(a.dimension) + ", is_stable = " + boolean(a.is_stable);
  }
  std::string operator()(const Gather& a) const {
    return "dimension_numbers = #stablehlo.gather<offset_dims = " + list_text(a.offset_dims) +
           ", collapsed_slice_dims = " + list_text(a.collapsed_slice_dims) +
           batching("operand_batching_dims", a.operand_batching_dims) +
           batching("start_indices_batching_dims", a.start_indices_batching_dims) +
           ", start_index_map = " + list_text(a.start_index_map) +
           ", index_vector_dim = " + number(a.index_vector_dim) +
           ">, indices_are_sorted = " + boolean(a.indices_are_sorted) + ", slice_sizes = " + array(a.slice_sizes);
  }
  std::string operator()(const Scatter& a) const {
    return "indices_are_sorted = " + boolean(a.indices_are_sorted) +
           ", scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = " + list_text(a.update_window_dims) +
           ", inserted_window_dims = " + list_text(a.inserted_window_dims) +
           batching("input_batching_dims", a.input_batching_dims) +
           batching("scatter_indices_batching_dims", a.scatter_indices_batching_dims) +
           ", scatter_dims_to_operand_dims = " + list_text(a.scatter_dims_to_operand_dims) +
           ", index_vector_dim = " + number(a.index_vector_dim) + ">, unique_indices = " + boolean(a.unique_indices);
  }
  std::string operator()(const BatchNorm& a) const {
    return "epsilon = " + float_bits(static_cast<double>(a.epsilon), DType::Float32) +
           ", feature_index = " + i64(a.feature_index);
  }
  std::string operator()(const Window& a) const {
    return "base_dilations = " + array(a.base_dilations) +
           ", padding = " + padding(concrete(a.padding_low), concrete(a.padding_high)) +
           ", window_dilations = " + array(a.window_dilations) + ", window_dimensions = " + array(a.window_dimensions) +
           ", window_strides = " + array(a.window_strides);
  }
  std::string operator()(const SelectAndScatter& a) const {
    return "padding = " + padding(a.padding_low, a.padding_high) +
           ", window_dimensions = " + array(a.window_dimensions) + ", window_strides = " + array(a.window_strides);
  }
  std::string operator()(const Cholesky& a) const { return "lower = " + boolean(a.lower); }
  std::string operator()(const Fft& a) const {
    return "fft_length = " + array(a.length) + ", fft_type = " + enumerator("fft_type", text_of(a.type));
  }
  std::string operator()(const TriangularSolve& a) const {
    return "left_side = " + boolean(a.left_side) + ", lower = " + boolean(a.lower) +
           ", transpose_a = " + enumerator("transpose", text_of(a.transpose_a)) +
           ", unit_diagonal = " + boolean(a.unit_diagonal);
  }
  std::string operator()(const Composite& a) const {
    return "composite_attributes = " + dictionary(a.attributes) +
           ", decomposition = " + symbol(module.at(a.decomposition).name) + ", name = " + quoted_string(a.name) +
           ", version = " + number(a.version) + " : i32";
  }
  std::string operator()(const CustomCall& a) const {
    return "api_version = 4 : i32, backend_config = " + dictionary(a.backend_config) +
           ", call_target_name = " + quoted_string(a.call_target_name) +
           ", has_side_effect = " + boolean(a.has_side_effect);
  }
  std::string operator()(const RngBitGenerator& a) const {
    return "rng_algorithm = " + enumerator("rng_algorithm", text_of(a.algorithm));
  }
};

// One text a struct, for the pretty form.
struct Pretty {
  template <typename T>
  std::string operator()(const T&) const {
    return "";
  }
  std::string operator()(const ReducePrecision& a) const {
    return ", format = e" + number(a.exponent_bits) + "m" + number(a.mantissa_bits);
  }
  std::string operator()(const BroadcastInDim& a) const { return ", dims = " + list_text(a.broadcast_dimensions); }
  std::string operator()(const Dimension& a) const { return ", dim = " + number(a.dimension); }
  std::string operator()(const Dimensions& a) const { return ", dims = " + list_text(a.dimensions); }
  std::string operator()(const Transpose& a) const { return ", dims = " + list_text(a.permutation); }
  std::string operator()(const DynamicSlice& a) const { return ", sizes = " + list_text(a.slice_sizes); }
  std::string operator()(const Pad& a) const {
    return ", low = " + list_text(a.edge_padding_low) + ", high = " + list_text(a.edge_padding_high) +
           ", interior = " + list_text(a.interior_padding);
  }
  std::string operator()(const DotGeneral& a) const {
    std::string out;
    if (!a.lhs_batching_dimensions.empty())
      out += ", batching_dims = " + list_text(a.lhs_batching_dimensions) + " x " + list_text(a.rhs_batching_dimensions);
    out += ", contracting_dims = " + list_text(a.lhs_contracting_dimensions) + " x " +
           list_text(a.rhs_contracting_dimensions);
    if (a.precision != Precision::Default) {
      const std::string precision(stablehlo::text_of(a.precision));
      out += ", precision = [" + precision + ", " + precision + "]";
    }
    return out;
  }
};

// "[b, f, 0, 1]": the letters at their dimensions, spatial dimensions counted.
std::string dimension_numbers(std::pair<int64_t, char> first, std::pair<int64_t, char> second, const Ints& spatial) {
  std::vector<std::string> out(spatial.size() + 2);
  out[static_cast<size_t>(first.first)] = first.second;
  out[static_cast<size_t>(second.first)] = second.second;
  for (size_t i = 0; i < spatial.size(); ++i) out[static_cast<size_t>(spatial[i])] = std::to_string(i);
  return "[" + join(out, ", ", [](const std::string& s) { return s; }) + "]";
}

}  // namespace

void append_integer(std::string& out, int64_t value) {
  char buffer[24];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

std::string list_text(const Ints& values) { return "[" + join(values, ", ", number) + "]"; }
std::string list_text(const Dims& values) { return list_text(concrete(values)); }

std::string quoted_string(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out = "\"";
  for (char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code >= 0x20 && code < 0x7f && c != '"' && c != '\\') {
      out += c;
    } else {
      out += '\\';
      out += kHex[code >> 4];
      out += kHex[code & 0xf];
    }
  }
  return out + '"';
}

std::string symbol(std::string_view name) {
  auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  bool plain = !name.empty() && is_letter(name[0]);
  for (char c : name) plain &= is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '$';
  return "@" + (plain ? std::string(name) : quoted_string(name));
}

std::string_view text_of(ComparisonDirection direction) {
  switch (direction) {
    case ComparisonDirection::Eq: return "EQ";
    case ComparisonDirection::Ne: return "NE";
    case ComparisonDirection::Ge: return "GE";
    case ComparisonDirection::Gt: return "GT";
    case ComparisonDirection::Le: return "LE";
    case ComparisonDirection::Lt: return "LT";
  }
  return "";
}

std::string_view text_of(ComparisonType type) {
  switch (type) {
    case ComparisonType::None: return "";
    case ComparisonType::Float: return "FLOAT";
    case ComparisonType::TotalOrder: return "TOTALORDER";
    case ComparisonType::Signed: return "SIGNED";
    case ComparisonType::Unsigned: return "UNSIGNED";
  }
  return "";
}

std::string_view text_of(Precision precision) {
  switch (precision) {
    case Precision::Default: return "DEFAULT";
    case Precision::High: return "HIGH";
    case Precision::Highest: return "HIGHEST";
  }
  return "";
}

std::string generic_attributes(const Module& module, const Inst& inst) {
  if (!inst.attributes.has_value()) return "";
  return std::visit(Generic{module}, module.attributes[inst.attributes.at()]);
}

std::string pretty_attributes(const Module& module, const Inst& inst) {
  if (!inst.attributes.has_value()) return "";
  return std::visit(Pretty{}, module.attributes[inst.attributes.at()]);
}

std::string convolution_attributes(const Convolution& c) {
  std::string pads;
  for (size_t i = 0; i < c.padding_low.size(); ++i)
    pads += (i > 0 ? ", " : "") + list_text(Dims{c.padding_low[i], c.padding_high[i]});
  std::string reverse;
  for (size_t i = 0; i < c.window_reversal.size(); ++i) reverse += (i > 0 ? ", " : "") + boolean(c.window_reversal[i]);
  std::string out =
      "dim_numbers = " +
      dimension_numbers({c.input_batch_dimension, 'b'}, {c.input_feature_dimension, 'f'}, c.input_spatial_dimensions) +
      "x" +
      dimension_numbers({c.kernel_output_feature_dimension, 'o'}, {c.kernel_input_feature_dimension, 'i'},
                        c.kernel_spatial_dimensions) +
      "->" +
      dimension_numbers({c.output_batch_dimension, 'b'}, {c.output_feature_dimension, 'f'},
                        c.output_spatial_dimensions);
  out += ", window = {stride = " + list_text(c.window_strides) + ", pad = [" + pads +
         "], lhs_dilate = " + list_text(c.lhs_dilation) + ", rhs_dilate = " + list_text(c.rhs_dilation) +
         ", reverse = [" + reverse + "]}";
  out += " {batch_group_count = " + i64(c.batch_group_count) + ", feature_group_count = " + i64(c.feature_group_count);
  if (c.precision != Precision::Default) {
    const std::string precision = enumerator("precision", text_of(c.precision));
    out += ", precision_config = [" + precision + ", " + precision + "]";
  }
  return out + "}";
}

}  // namespace torchlift::stablehlo
