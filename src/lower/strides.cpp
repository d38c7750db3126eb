#include "lower/strides.hpp"

#include <algorithm>
#include <numeric>

namespace torchlift::lower {
namespace {

bool matches(std::span<const Dim> shape, std::span<const Dim> strides, std::span<const Dim> wanted) {
  if (strides.size() != shape.size()) return false;
  for (const Dim& d : shape)
    if (d == Dim(0)) return true;
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != Dim(1) && strides[i] != wanted[i]) return false;
  return true;
}

// Axes of channels-last order, fastest first.
std::span<const size_t> channels_last_axes(size_t rank) {
  static constexpr size_t kFour[] = {1, 3, 2, 0};
  static constexpr size_t kFive[] = {1, 4, 3, 2, 0};
  if (rank == 4) return kFour;
  if (rank == 5) return kFive;
  return {};
}

// c10's is_channels_last_strides: strictly by strides, where sizes of one are told apart by the neighbouring strides.
bool looks_channels_last(std::span<const Dim> shape, std::span<const Dim> strides) {
  auto axes = channels_last_axes(shape.size());
  if (axes.empty() || strides[1] == Dim(0)) return false;
  Dim least(0);
  for (size_t d : axes) {
    if (shape[d] == Dim(0) || strides[d] < least) return false;
    if (d == 0 && least == strides[1]) return false;
    least = strides[d];
    if (shape[d] > Dim(1)) least = least * shape[d];
  }
  return true;
}

Dims strides_in_order(std::span<const Dim> shape, std::span<const size_t> fastest_first) {
  Dims strides(shape.size(), Dim(1));
  Dim running(1);
  for (size_t axis : fastest_first) {
    strides[axis] = running;
    running = running * max(shape[axis], Dim(1));
  }
  return strides;
}

}  // namespace

bool is_contiguous(std::span<const Dim> shape, std::span<const Dim> strides) {
  return matches(shape, strides, contiguous_strides(shape));
}

bool is_contiguous(std::span<const Dim> shape, std::span<const Dim> strides, torch::MemoryFormat format) {
  switch (format) {
    case torch::MemoryFormat::Contiguous:
    case torch::MemoryFormat::Preserve: return is_contiguous(shape, strides);
    case torch::MemoryFormat::ChannelsLast:
      return shape.size() == 4 && matches(shape, strides, channels_last_strides(shape));
    case torch::MemoryFormat::ChannelsLast3d:
      return shape.size() == 5 && matches(shape, strides, channels_last_strides(shape));
  }
  return false;
}

bool is_non_overlapping_and_dense(std::span<const Dim> shape, std::span<const Dim> strides) {
  if (shape.size() == 1) return shape[0] < Dim(2) || strides[0] == Dim(1);
  std::vector<size_t> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {  // sizes below 2 last
    if (shape[a] < Dim(2)) return false;
    if (shape[b] < Dim(2)) return true;
    return strides[a] < strides[b];
  });
  Dim expected(1);
  for (size_t axis : order) {
    if (shape[axis] < Dim(2)) return true;
    if (strides[axis] != expected) return false;
    expected = expected * shape[axis];
  }
  return true;
}

Dims channels_last_strides(std::span<const Dim> shape) {
  auto axes = channels_last_axes(shape.size());
  if (axes.empty()) return contiguous_strides(shape);
  return strides_in_order(shape, axes);
}

torch::MemoryFormat suggest_memory_format(std::span<const Dim> shape, std::span<const Dim> strides) {
  if (!looks_channels_last(shape, strides)) return torch::MemoryFormat::Contiguous;
  return shape.size() == 4 ? torch::MemoryFormat::ChannelsLast : torch::MemoryFormat::ChannelsLast3d;
}

Dims strides_for(std::span<const Dim> shape, torch::MemoryFormat format) {
  bool last = format == torch::MemoryFormat::ChannelsLast || format == torch::MemoryFormat::ChannelsLast3d;
  return last ? channels_last_strides(shape) : contiguous_strides(shape);
}

std::optional<Dims> view_strides(std::span<const Dim> shape, std::span<const Dim> strides,
                                 std::span<const Dim> new_shape) {
  if (strides.size() != shape.size()) return std::nullopt;
  if (product(shape) == Dim(0)) {
    bool same = std::equal(shape.begin(), shape.end(), new_shape.begin(), new_shape.end());
    return same ? Dims(strides.begin(), strides.end()) : contiguous_strides(new_shape);
  }
  if (shape.empty()) return Dims(new_shape.size(), Dim(1));
  Dims out(new_shape.size(), Dim(1));
  auto view = static_cast<std::ptrdiff_t>(new_shape.size()) - 1;
  Dim chunk_base = strides.back();
  Dim tensor_numel(1), view_numel(1);
  for (auto axis = static_cast<std::ptrdiff_t>(shape.size()) - 1; axis >= 0; --axis) {
    auto a = static_cast<size_t>(axis);
    tensor_numel = tensor_numel * shape[a];
    // The end of a chunk of axes that lie contiguous in memory.
    if (axis != 0 && (shape[a - 1] == Dim(1) || strides[a - 1] == tensor_numel * chunk_base)) continue;
    while (view >= 0 && (view_numel < tensor_numel || new_shape[static_cast<size_t>(view)] == Dim(1))) {
      auto v = static_cast<size_t>(view);
      out[v] = view_numel * chunk_base;
      view_numel = view_numel * new_shape[v];
      --view;
    }
    if (view_numel != tensor_numel) return std::nullopt;
    if (axis > 0) {
      chunk_base = strides[a - 1];
      tensor_numel = Dim(1);
      view_numel = Dim(1);
    }
  }
  if (view != -1) return std::nullopt;
  return out;
}

Dims iterator_strides(std::span<const Tensor> operands, std::span<const Dim> shape) {
  size_t rank = shape.size();
  std::vector<std::vector<int64_t>> strides;  // per operand, in bytes, zero where broadcast
  bool same_shape = true, all_contiguous = true, all_last = rank == 4 || rank == 5;
  const Tensor* first = nullptr;
  bool all_dense_alike = true;
  for (const Tensor& t : operands) {
    if (t.is_poison() || t.is_wrapped_number()) continue;
    bool same = std::equal(t.shape().begin(), t.shape().end(), shape.begin(), shape.end());
    same_shape = same_shape && same;
    all_contiguous = all_contiguous && same && is_contiguous(t.shape(), t.strides());
    all_last = all_last && same && matches(t.shape(), t.strides(), channels_last_strides(t.shape()));
    if (!first) first = &t;
    all_dense_alike =
        all_dense_alike && same && is_non_overlapping_and_dense(t.shape(), t.strides()) &&
        std::equal(t.strides().begin(), t.strides().end(), first->strides().begin(), first->strides().end());
    std::vector<int64_t> own(rank, 0);
    size_t offset = rank - std::min(rank, t.shape().size());
    for (size_t i = 0; i < t.shape().size() && offset + i < rank; ++i) {
      bool spread = t.shape()[i] == Dim(1) && shape[offset + i] != Dim(1);
      own[offset + i] = spread ? 0 : t.strides()[i].concrete() * info(t.dtype()).bytes;
    }
    strides.push_back(std::move(own));
  }
  if (!first || rank == 0) return contiguous_strides(shape);
  if (same_shape && all_contiguous) return contiguous_strides(shape);
  if (same_shape && all_last) return channels_last_strides(shape);
  if (same_shape && all_dense_alike) return first->strides();

  // reorder_dimensions: an insertion sort of the axes, fastest first, that leaves ambiguous pairs as they are.
  std::vector<size_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = rank - 1 - i;
  auto compare = [&](size_t a, size_t b) {
    for (const auto& s : strides) {
      if (s[a] == 0 || s[b] == 0) continue;
      if (s[a] < s[b]) return -1;
      if (s[a] > s[b]) return 1;
      if (shape[a] > shape[b]) return 1;
    }
    return 0;
  };
  for (size_t i = 1; i < rank; ++i) {
    size_t at = i;
    for (size_t j = i; j-- > 0;) {
      int c = compare(order[j], order[at]);
      if (c < 0) break;
      if (c > 0) {
        std::swap(order[j], order[at]);
        at = j;
      }
    }
  }
  return strides_in_order(shape, order);
}

std::vector<int64_t> memory_order(std::span<const Dim> shape, std::span<const Dim> strides) {
  std::vector<int64_t> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return strides[static_cast<size_t>(a)] > strides[static_cast<size_t>(b)];
  });
  return order;
}

Dims dense_strides_like(std::span<const Dim> shape, std::span<const Dim> strides) {
  if (shape.size() != strides.size()) return contiguous_strides(shape);
  if (is_non_overlapping_and_dense(shape, strides)) return Dims(strides.begin(), strides.end());
  // ATen's infer_dense_strides: the same insertion sort, over this tensor alone.
  std::vector<size_t> order(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) order[i] = shape.size() - 1 - i;
  auto compare = [&](size_t a, size_t b) {
    if (strides[a] == Dim(0) || strides[b] == Dim(0)) return 0;
    if (strides[a] < strides[b]) return -1;
    if (strides[a] > strides[b]) return 1;
    return shape[a] > shape[b] ? 1 : 0;
  };
  for (size_t i = 1; i < order.size(); ++i) {
    size_t at = i;
    for (size_t j = i; j-- > 0;) {
      int c = compare(order[j], order[at]);
      if (c < 0) break;
      if (c > 0) {
        std::swap(order[j], order[at]);
        at = j;
      }
    }
  }
  return strides_in_order(shape, order);
}

}  // namespace torchlift::lower
