// Elementwise operations, conversions and constants.
#include "stablehlo/infer.hpp"

namespace torchlift::stablehlo {
namespace {

char letter_of(DType dtype) {
  switch (info(dtype).category) {
    case DTypeCategory::Bool: return 'b';
    case DTypeCategory::Unsigned: return 'u';
    case DTypeCategory::Signed: return 's';
    case DTypeCategory::Float: return 'f';
    case DTypeCategory::Complex: return 'c';
  }
  return '?';
}

// Element type of the result, where it is not that of the operands.
DType result_dtype(Opcode opcode, DType operand) {
  switch (opcode) {
    case Opcode::Abs:
    case Opcode::Imag:
    case Opcode::Real: return real_of(operand);
    case Opcode::Complex: return complex_of(operand);
    case Opcode::IsFinite: return DType::Bool;
    default: return operand;
  }
}

bool holds_complex(DType real) { return real == DType::Float16 || real == DType::Float32 || real == DType::Float64; }

}  // namespace

Inference infer_elementwise(const Site& site) {
  Type result = site.type(0);
  if (info(site.opcode).elements.find(letter_of(result.dtype)) == std::string_view::npos)
    return refuse("no elements of type ", result.dtype, " are allowed");
  for (size_t i = 1; i < site.operands.size(); ++i) {
    if (site.type(i) != result) return refuse("(C1) the operands' types differ");
    result.dims = richer(result.dims, site.type(i).dims);
  }
  if (site.opcode == Opcode::Complex && !holds_complex(result.dtype))
    return refuse("no complex number of two ", result.dtype, " exists");
  result.dtype = result_dtype(site.opcode, result.dtype);
  return result;
}

Inference infer_clamp(const Site& site) {
  Type result = site.type(1);
  for (size_t bound : {size_t{0}, size_t{2}}) {
    const Type& type = site.type(bound);
    if (type.dtype != result.dtype) return refuse("(C3) element types differ");
    if (type.rank() != 0 && !same_dims(type, result))
      return refuse("(C1) (C2) a bound has neither rank 0 nor the operand's sizes");
  }
  if (is_complex(result.dtype)) return refuse("complex numbers have no order");
  return result;
}

Inference infer_compare(const Site& site) {
  const Compare& compare = site.get<Compare>();
  const Type& lhs = site.type(0);
  const Type& rhs = site.type(1);
  if (lhs.dtype != rhs.dtype) return refuse("(C1) element types differ");
  if (!same_dims(lhs, rhs)) return refuse("(C2) sizes differ");
  const bool equality = compare.direction == ComparisonDirection::Eq || compare.direction == ComparisonDirection::Ne;
  if (is_complex(lhs.dtype) && !equality) return refuse("(C4) complex numbers compare by EQ and NE only");
  if (compare.type == ComparisonType::TotalOrder && !is_float(lhs.dtype))
    return refuse("(C3) TOTALORDER is for floating-point elements");
  return Type{DType::Bool, richer(lhs.dims, rhs.dims)};
}

Inference infer_select(const Site& site) {
  const Type& pred = site.type(0);
  const Type& on_true = site.type(1);
  const Type& on_false = site.type(2);
  if (!is_bool(pred.dtype)) return refuse("(I1) pred is no i1");
  if (pred.rank() != 0 && !same_dims(pred, on_true))
    return refuse("(C1) pred has neither rank 0 nor the sizes of on_true");
  if (on_true != on_false) return refuse("(C2) on_true and on_false differ");
  Dims dims = richer(on_true.dims, on_false.dims);
  return Type{on_true.dtype, pred.rank() == 0 ? std::move(dims) : richer(dims, pred.dims)};
}

Inference infer_convert(const Site& site) {
  Type result = site.claimed[0];
  if (!same_dims(result, site.type(0))) return refuse("(C1) sizes differ");
  result.dims = richer(site.type(0).dims, result.dims);
  return result;
}

// (C1) Between widths, the last dimension of the narrower side holds the parts of one element of the wider.
Inference infer_bitcast_convert(const Site& site) {
  const Type& operand = site.type(0);
  const DType from = operand.dtype;
  const DType to = site.claimed[0].dtype;
  if (is_complex(from) != is_complex(to)) return refuse("(C2) complex and real elements have no common bits");
  if (is_bool(from) != is_bool(to)) return refuse("i1 has the bits of no other type");
  Dims dims = operand.dims;
  if (info(from).bytes > info(to).bytes) dims.push_back(info(from).bytes / info(to).bytes);
  if (info(from).bytes < info(to).bytes) {
    const int64_t parts = info(to).bytes / info(from).bytes;
    if (dims.empty() || dims.back() != Dim(parts))
      return refuse("(C1) the last dimension must be ", parts, " to become ", to);
    dims.pop_back();
  }
  return Type{to, std::move(dims)};
}

Inference infer_reduce_precision(const Site& site) {
  const ReducePrecision& format = site.get<ReducePrecision>();
  if (!is_float(site.type(0).dtype)) return refuse("(I1) the operand has no floating-point elements");
  if (format.exponent_bits < 1 || format.exponent_bits > 64)
    return refuse("(C2) exponent_bits is ", format.exponent_bits);
  if (format.mantissa_bits < 0 || format.mantissa_bits > 64)
    return refuse("(C3) mantissa_bits is ", format.mantissa_bits);
  return site.type(0);
}

Inference infer_constant(const Site& site) {
  const Type& type = site.claimed[0];
  const size_t bytes = site.get<Constant>().bytes.size();
  const size_t one = static_cast<size_t>(info(type.dtype).bytes);
  const size_t all = static_cast<size_t>(byte_count(type).value_or(0));
  if (bytes != all && (bytes != one || all == 0))
    return refuse("(C1) ", bytes, " bytes are not the ", all, " of ", type);
  return type;
}

}  // namespace torchlift::stablehlo
