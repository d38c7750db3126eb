// Contractions.
#include <utility>

#include "stablehlo/builder_draft.hpp"

namespace torchlift::stablehlo {
namespace {

void fill_spatial(Ints& dimensions, size_t count) {
  if (!dimensions.empty()) return;
  for (size_t i = 0; i < count; ++i) dimensions.push_back(static_cast<int64_t>(i) + 2);
}

void fill_defaults(Convolution& c, size_t spatial) {
  fill_default(c.window_strides, spatial, int64_t{1});
  fill_default(c.padding_low, spatial, Dim(0));
  fill_default(c.padding_high, spatial, Dim(0));
  fill_default(c.lhs_dilation, spatial, int64_t{1});
  fill_default(c.rhs_dilation, spatial, int64_t{1});
  if (c.window_reversal.empty()) c.window_reversal.assign(spatial, false);
  fill_spatial(c.input_spatial_dimensions, spatial);
  fill_spatial(c.kernel_spatial_dimensions, spatial);
  fill_spatial(c.output_spatial_dimensions, spatial);
}

}  // namespace

Value Builder::dot_general(Value lhs, Value rhs, DotGeneral attributes, std::optional<DType> result) {
  return one({.opcode = Opcode::DotGeneral,
              .operands = {lhs, rhs},
              .attributes = std::move(attributes),
              .claimed = {scalar(result.value_or(type(lhs).dtype))}});
}

Value Builder::convolution(Value lhs, Value rhs, Convolution attributes, std::optional<DType> result) {
  const size_t rank = type(lhs).rank();
  fill_defaults(attributes, rank < 2 ? 0 : rank - 2);
  return one({.opcode = Opcode::Convolution,
              .operands = {lhs, rhs},
              .attributes = std::move(attributes),
              .claimed = {scalar(result.value_or(type(lhs).dtype))}});
}

Value Builder::cholesky(Value a, bool lower) {
  return one({.opcode = Opcode::Cholesky, .operands = {a}, .attributes = Cholesky{lower}});
}

Value Builder::triangular_solve(Value a, Value b, TriangularSolve attributes) {
  return one({.opcode = Opcode::TriangularSolve, .operands = {a, b}, .attributes = attributes});
}

Value Builder::fft(Value operand, FftType type, Dims length) {
  return one({.opcode = Opcode::Fft, .operands = {operand}, .attributes = Fft{type, std::move(length)}});
}

}  // namespace torchlift::stablehlo
