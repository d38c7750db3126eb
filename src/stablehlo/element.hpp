// Single elements of constants: numbers to bytes of a dtype and back.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "base/dtype.hpp"

namespace torchlift::stablehlo {

using Number = std::variant<bool, int64_t, double, std::complex<double>>;

// Appends the element's bytes, little-endian. Integers wrap to the width; reals become floats by rounding to nearest
// even, with infinities, NaN and -0 kept where the type has them (float8 e4m3fn and the fnuz types have no infinity:
// NaN); reals become integers by truncation, saturating, NaN as 0; complex numbers lose their imaginary part in a real
// type.
void append_element(std::vector<std::byte>& out, DType dtype, const Number& value);

// The element at the start of `bytes`, which holds one. uint64 above INT64_MAX comes back wrapped.
Number read_element(DType dtype, std::span<const std::byte> bytes);

// The extreme values of a dtype: infinities for floats that have them. Complex dtypes have none.
Number lowest(DType dtype);
Number highest(DType dtype);
Number largest_finite(DType dtype);

}  // namespace torchlift::stablehlo
