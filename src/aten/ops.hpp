// The operator table: every lowering of this room, by ATen's name.
#pragma once

#include "lower/op.hpp"

namespace torchlift::aten {

const lower::OpTable& table();

// What every lowering is written in.
using lower::aliases;
using lower::AutocastRule;
using lower::Ignored;
using lower::Ints;
using lower::IValue;
using lower::IValues;
using lower::Lower;
using lower::op;
using lower::Operand;
using lower::OptionalTensorList;
using lower::Row;
using lower::Scalar;
using lower::Tensor;
using lower::TensorList;
using lower::TensorOptions;
using lower::Value;
using lower::Values;
using lower::writes;
using stablehlo::ComparisonDirection;
using stablehlo::Reducer;

template <typename T>
using Optional = std::optional<T>;

}  // namespace torchlift::aten
