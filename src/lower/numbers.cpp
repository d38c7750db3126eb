#include "lower/numbers.hpp"

namespace torchlift::lower {
namespace {

NumberKind kind_of(DType dtype) {
  if (is_bool(dtype)) return NumberKind::Bool;
  if (is_complex(dtype)) return NumberKind::Complex;
  return is_float(dtype) ? NumberKind::Float : NumberKind::Int;
}

DType dtype_of(NumberKind kind) {
  switch (kind) {
    case NumberKind::Bool: return DType::Bool;
    case NumberKind::Int: return DType::Int64;
    case NumberKind::Complex: return DType::Complex128;
    case NumberKind::Float:
    case NumberKind::AsTensor: break;
  }
  return DType::Float64;
}

IValue converted(const Scalar& number, NumberKind kind) {
  switch (kind) {
    case NumberKind::Bool: return number.to_bool();
    case NumberKind::Int: return number.to_dim();
    case NumberKind::Float: return number.to_double();
    case NumberKind::Complex: return number.to_complex();
    case NumberKind::AsTensor: break;
  }
  return IValue(number);
}

}  // namespace

std::optional<IValue> number_of(Lower& l, Tensor t, NumberKind kind) {
  if (t.is_poison()) return IValue(t);
  if (t.numel() != Dim(1)) {
    l.wrong("a tensor of " + std::to_string(t.numel().concrete()) + " elements cannot become a Python number");
    return std::nullopt;
  }
  if (kind == NumberKind::AsTensor) kind = kind_of(t.dtype());
  if (is_complex(t.dtype()) && (kind == NumberKind::Int || kind == NumberKind::Float)) {
    l.wrong("a complex number cannot become an int or float");
    return std::nullopt;
  }
  if (auto number = l.known(t)) return converted(*number, kind);
  return IValue(l.device_number(l.convert(l.hlo.reshape(l.read(t), {}), dtype_of(kind))));
}

std::optional<IValue> implicit_number_of(Lower& l, Tensor t, NumberKind kind) {
  if (t.rank() != 0) {
    l.wrong("a tensor of " + std::to_string(t.rank()) +
            " dimensions stands in the place of a number, only one of no "
            "dimensions can");
    return std::nullopt;
  }
  if (kind == NumberKind::Int && !is_integer(t.dtype())) {
    l.wrong("a tensor of " + std::string(info(t.dtype()).torch_name) + " stands in the place of an int");
    return std::nullopt;
  }
  return number_of(l, t, kind);
}

}  // namespace torchlift::lower
