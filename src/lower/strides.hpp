// PyTorch's stride rules: which results are dense, which keep an operand's order, which reshapes are views.
#pragma once

#include <optional>
#include <span>

#include "lower/tensor.hpp"
#include "torch/program.hpp"

namespace torchlift::lower {

bool is_contiguous(std::span<const Dim> shape, std::span<const Dim> strides);
bool is_contiguous(std::span<const Dim> shape, std::span<const Dim> strides, torch::MemoryFormat format);
bool is_non_overlapping_and_dense(std::span<const Dim> shape, std::span<const Dim> strides);

// Strides of NHWC (rank 4) or NDHWC (rank 5) order.
Dims channels_last_strides(std::span<const Dim> shape);
// The order that PyTorch reads from strides (suggest_memory_format): ChannelsLast, ChannelsLast3d or Contiguous.
torch::MemoryFormat suggest_memory_format(std::span<const Dim> shape, std::span<const Dim> strides);
Dims strides_for(std::span<const Dim> shape, torch::MemoryFormat format);  // Contiguous, ChannelsLast, ChannelsLast3d

// The strides under which a tensor of `shape` and `strides` can be seen as `new_shape` without a copy; nothing if it
// cannot (ATen's computeStride).
std::optional<Dims> view_strides(std::span<const Dim> shape, std::span<const Dim> strides,
                                 std::span<const Dim> new_shape);

// Strides of the result of an elementwise operator over these operands, broadcast to `shape` (ATen's TensorIterator).
Dims iterator_strides(std::span<const Tensor> operands, std::span<const Dim> shape);

// Dense strides in the order of another tensor's strides (ATen's infer_dense_strides / preserve_format).
Dims dense_strides_like(std::span<const Dim> shape, std::span<const Dim> strides);

// Axes from the outermost in memory to the innermost.
std::vector<int64_t> memory_order(std::span<const Dim> shape, std::span<const Dim> strides);

}  // namespace torchlift::lower
