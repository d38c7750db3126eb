// Work along axes that several families share: picking along an axis, sliding windows, tables made while importing.
#pragma once

#include "aten/ops.hpp"

namespace torchlift::aten {

// Whether a table of that many entries may be made; refuses where not. Sizes come from files.
bool table_fits(Lower& l, double entries);

// A table of floating-point numbers as a constant.
Value constant_floats(Lower& l, DType dtype, const std::vector<double>& values, Dims dims);

// A rank-1 value laid along one axis of `shape`.
Value along_axis(Lower& l, Value v, int64_t axis, const Dims& shape);

// The elements at fixed places of one axis; every place lies inside.
Value take_along(Lower& l, Value v, int64_t axis, const Ints& places);

// The part of one axis from `start` to `limit`.
Value slice_axis(Lower& l, Value v, int64_t axis, Dim start, Dim limit, int64_t stride = 1);

// Zeros (or `fill`) before and after along one axis; negative amounts cut.
Value pad_axis(Lower& l, Value v, int64_t axis, Dim low, Dim high, const Scalar& fill = 0);

// The narrowest of int32 and int64 that counts the places of an axis of that size: half the memory to move, where
// places are carried along with values.
DType place_dtype(const Dim& size);

// Sliding windows along one axis: the axis becomes two, [count, size], and element (i, j) is i * stride + j * dilation.
struct WindowsAlong {
  int64_t axis = 0;
  Dim count;
  Dim size;
  int64_t stride = 1;
  int64_t dilation = 1;
};
Value windows_along(Lower& l, Value v, const WindowsAlong& w);
// The reverse: windows [count, size] at axis and axis + 1 are added up into an axis of `extent` elements.
Value overlap_add_along(Lower& l, Value v, const WindowsAlong& w, Dim extent);

// The axis moved to the last place, and back.
Value move_last(Lower& l, Value v, int64_t axis);
Value move_from_last(Lower& l, Value v, int64_t axis);

// A float32 value rounded to what float16 or bfloat16 can hold; other dtypes leave it as it is. For the few kernels of
// PyTorch that keep their sums in the narrow dtype: a pair of conversions would not do, compilers may leave it out.
Value rounded(Lower& l, Value wide, DType narrow);
// The sum along one axis, which falls away, from its start to its end, rounded after each step.
Value sum_in_steps(Lower& l, Value wide, int64_t axis, DType narrow);
inline bool is_half(DType dtype) { return dtype == DType::Float16 || dtype == DType::BFloat16; }

// Complex conjugate; real values as they are.
Value conj(Lower& l, Value v);

// A copy with one axis more or less, of size one.
Value insert_axis(Lower& l, Value v, int64_t axis);
Value drop_axis(Lower& l, Value v, int64_t axis);

}  // namespace torchlift::aten
