// Constants, conversions, and the other elementwise operations with attributes.
#include "stablehlo/builder_draft.hpp"
#include "stablehlo/constant.hpp"

namespace torchlift::stablehlo {
namespace {

// Whether the conversion of a constant is the same everywhere: integers round to the nearest float and wrap in narrower
// integers, floats are exact in wider ones.
bool converts_exactly(DType from, DType to) {
  if (is_integral(from)) return is_integral(to) || is_complex(to) || info(to).bytes >= 2;
  const bool wide = to == DType::Float32 || to == DType::Float64;
  return is_float(from) && wide && info(to).bytes > info(from).bytes;
}

}  // namespace

Value Builder::constant(Type type, std::vector<std::byte> bytes) {
  Constant constant = packed(type, std::move(bytes));
  return one(
      {.opcode = Opcode::Constant, .operands = {}, .attributes = std::move(constant), .claimed = {std::move(type)}});
}

Value Builder::splat(Type type, const Number& value) {
  std::vector<std::byte> bytes;
  if (element_count(type) != std::optional<int64_t>(0)) append_element(bytes, type.dtype, value);
  return constant(std::move(type), std::move(bytes));
}

Value Builder::constant_ints(DType dtype, const Ints& values, Dims dims) {
  std::vector<std::byte> bytes;
  for (int64_t v : values) append_element(bytes, dtype, v);
  const Type type{dtype, std::move(dims)};
  if (element_count(type) != std::optional(static_cast<int64_t>(values.size())))
    return fail(Opcode::Constant, std::to_string(values.size()) + " elements do not fill " + to_text(type));
  return constant(type, std::move(bytes));
}

Value Builder::constant_ints(DType dtype, const Ints& values) {
  return constant_ints(dtype, values, {Dim(static_cast<int64_t>(values.size()))});
}

Value Builder::undefined(Type type) {
  return one({.opcode = Opcode::Undefined, .operands = {}, .claimed = {std::move(type)}});
}

// ---- elementwise

Value Builder::elementwise(Opcode opcode, Values operands) {
  return one({.opcode = opcode, .operands = std::move(operands)});
}

Value Builder::clamp(Value min, Value operand, Value max) {
  return one({.opcode = Opcode::Clamp, .operands = {min, operand, max}});
}

Value Builder::compare(Value lhs, Value rhs, ComparisonDirection direction, ComparisonType type) {
  return one({.opcode = Opcode::Compare, .operands = {lhs, rhs}, .attributes = Compare{direction, type}});
}

Value Builder::select(Value pred, Value on_true, Value on_false) {
  return one({.opcode = Opcode::Select, .operands = {pred, on_true, on_false}});
}

Value Builder::convert(Value operand, DType dtype) {
  const Type& from = type(operand);
  if (from.dtype == dtype) return operand;
  if (auto number = splat_value(operand); number && converts_exactly(from.dtype, dtype)) {
    // The element of ui64 comes back wrapped; above INT64_MAX it is left to the operation.
    const bool wrapped = from.dtype == DType::UInt64 && std::get<int64_t>(*number) < 0;
    if (!wrapped || is_integral(dtype)) return splat(from.with(dtype), *number);
  }
  return one({.opcode = Opcode::Convert, .operands = {operand}, .claimed = {from.with(dtype)}});
}

Value Builder::bitcast_convert(Value operand, DType dtype) {
  const Type& from = type(operand);
  if (from.dtype == dtype) return operand;
  // Only the element type of the claim counts; the sizes follow from the widths.
  return one({.opcode = Opcode::BitcastConvert, .operands = {operand}, .claimed = {scalar(dtype)}});
}

Value Builder::reduce_precision(Value operand, int64_t exponent_bits, int64_t mantissa_bits) {
  return one({.opcode = Opcode::ReducePrecision,
              .operands = {operand},
              .attributes = ReducePrecision{exponent_bits, mantissa_bits}});
}

}  // namespace torchlift::stablehlo
