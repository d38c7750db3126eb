// Views, copies and joins of tensors, shared by the families. Functions are the lowerings themselves, under ATen's
// names.
#pragma once

#include "aten/ops.hpp"
#include "torch/program.hpp"

namespace torchlift::aten {

// ---- views by shape (shaping.cpp)
Tensor view(Lower& l, Tensor self, Dims size);
// Those of a dense copy: self's order of axes, unless a memory format asks for another.
Dims strides_of_copy(const Tensor& self, Optional<torch::MemoryFormat> format);
Tensor reshape(Lower& l, Tensor self, Dims shape);  // a view where the strides allow one, else a copy
Tensor flatten(Lower& l, Tensor self, int64_t start_dim, int64_t end_dim);
Tensor squeeze_dim(Lower& l, Tensor self, int64_t dim);
Tensor unsqueeze(Lower& l, Tensor self, int64_t dim);
Tensor transpose(Lower& l, Tensor self, int64_t dim0, int64_t dim1);
Tensor permute(Lower& l, Tensor self, std::vector<int64_t> dims);
Tensor movedim(Lower& l, Tensor self, int64_t source, int64_t destination);
Tensor expand(Lower& l, Tensor self, Dims size, bool implicit);

// ---- parts (slicing.cpp)
Tensor select(Lower& l, Tensor self, int64_t dim, Dim index);
Tensor slice(Lower& l, Tensor self, int64_t dim, Optional<Dim> start, Optional<Dim> end, Dim step);
Tensor narrow(Lower& l, Tensor self, int64_t dim, Dim start, Dim length);
TensorList split_with_sizes(Lower& l, Tensor self, Dims split_sizes, int64_t dim);
TensorList chunk(Lower& l, Tensor self, int64_t chunks, int64_t dim);
TensorList unbind(Lower& l, Tensor self, int64_t dim);
Tensor diagonal(Lower& l, Tensor self, int64_t offset, int64_t dim1, int64_t dim2);

// ---- copies (copying.cpp)
Tensor clone(Lower& l, Tensor self, Optional<torch::MemoryFormat> memory_format);
Tensor contiguous(Lower& l, Tensor self, torch::MemoryFormat memory_format);

// A lowering that returns views, as its *_copy variant: the same values in fresh storage.
Tensor fresh(Lower& l, Tensor view);
TensorList fresh(Lower& l, const TensorList& views);
template <auto F>
struct Copied;
template <typename R, typename... Args, R (*F)(Lower&, Args...)>
struct Copied<F> {
  static R call(Lower& l, Args... args) { return fresh(l, F(l, std::move(args)...)); }
};

// ---- joins and rearrangements (joining.cpp)
Tensor cat(Lower& l, TensorList tensors, int64_t dim);
Tensor stack(Lower& l, TensorList tensors, int64_t dim);
Tensor flip(Lower& l, Tensor self, std::vector<int64_t> dims);
Tensor repeat(Lower& l, Tensor self, Dims repeats);

// ---- padding and diagonals (padding.cpp)
Tensor constant_pad_nd(Lower& l, Tensor self, Dims pad, Scalar value);
Tensor pad(Lower& l, Tensor self, Dims pad, std::string mode, Optional<double> value);

// The family's files.
std::span<const Row> shape_view_ops();
std::span<const Row> slicing_ops();
std::span<const Row> copying_ops();
std::span<const Row> joining_ops();
std::span<const Row> padding_ops();

}  // namespace torchlift::aten
