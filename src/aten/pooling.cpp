// Pooling with windows of fixed size: torch.nn.functional's "Pooling functions". Adaptive pooling is in
// adaptive_pooling.cpp.
#include "aten/pooling.hpp"

#include <array>
#include <vector>

#include "aten/axes.hpp"
#include "aten/families.hpp"

namespace torchlift::aten {
namespace {

// Sliding windows over the last axes, one entry per spatial axis.
struct PoolWindow {
  Ints kernel;
  Ints stride;
  Ints padding;
  Ints dilation;
  Dims input;  // sizes of the pooled axes
  Dims output;
  Dims high;  // what the windows reach beyond the input, may be negative
};

// A list of one entry stands for all axes; an empty stride is the kernel's size.
std::optional<Ints> spread(Lower& l, const std::vector<int64_t>& list, size_t spatial, std::string_view what) {
  if (list.size() == spatial) return list;
  if (list.size() == 1) return Ints(spatial, list.front());
  l.wrong("expected " + std::to_string(spatial) + " entries of " + std::string(what) + ", got " +
          std::to_string(list.size()));
  return std::nullopt;
}

// PyTorch's size of the output: with ceil_mode the last window may start in the input or its left padding only.
Dim pooled_size(const Dim& input, const PoolWindow& w, size_t i, bool ceil_mode) {
  Dim reach = input + Dim(2 * w.padding[i] - w.dilation[i] * (w.kernel[i] - 1) - 1);
  Dim stride(w.stride[i]);
  Dim size = (ceil_mode ? ceildiv(reach, stride) : floordiv(reach, stride)) + Dim(1);
  if (ceil_mode && (size - Dim(1)) * stride >= input + Dim(w.padding[i])) size = size - Dim(1);
  return size;
}

struct PoolArguments {
  std::vector<int64_t> kernel_size;
  std::vector<int64_t> stride;
  std::vector<int64_t> padding;
  std::vector<int64_t> dilation;
  bool ceil_mode = false;
};

std::optional<PoolWindow> pool_window(Lower& l, Tensor self, size_t spatial, const PoolArguments& a) {
  auto rank = static_cast<int64_t>(spatial);
  if (self.is_poison() || !l.expect_rank(self, rank + 1, rank + 2, "input")) return std::nullopt;
  auto kernel = spread(l, a.kernel_size, spatial, "kernel_size");
  auto stride = a.stride.empty() ? kernel : spread(l, a.stride, spatial, "stride");
  auto padding = spread(l, a.padding, spatial, "padding");
  auto dilation = spread(l, a.dilation, spatial, "dilation");
  if (!kernel || !stride || !padding || !dilation) return std::nullopt;
  constexpr int64_t kLargest = int64_t{1} << 30;
  for (const Ints* list : {&*kernel, &*stride, &*padding, &*dilation})
    for (int64_t entry : *list)
      if (entry > kLargest) {
        l.wrong("expected window entries below " + std::to_string(kLargest) + ", got " + std::to_string(entry));
        return std::nullopt;
      }
  PoolWindow w{*kernel, *stride, *padding, *dilation, {}, {}, {}};
  for (size_t i = 0; i < spatial; ++i) {
    if (w.kernel[i] < 1 || w.stride[i] < 1 || w.dilation[i] < 1 || w.padding[i] < 0 ||
        w.padding[i] > (w.dilation[i] * (w.kernel[i] - 1) + 1) / 2) {
      l.wrong("expected positive kernel_size, stride and dilation and a padding of at most half the kernel");
      return std::nullopt;
    }
    Dim input = self.dim(static_cast<int64_t>(i) - rank);
    Dim output = pooled_size(input, w, i, a.ceil_mode);
    if (output < Dim(1)) {
      l.wrong("windows of " + std::to_string(w.kernel[i]) + " do not fit into " + describe(self));
      return std::nullopt;
    }
    Dim reach = (output - Dim(1)) * Dim(w.stride[i]) + Dim(w.dilation[i] * (w.kernel[i] - 1) + 1);
    w.high.push_back(reach - input - Dim(w.padding[i]));
    w.input.push_back(input);
    w.output.push_back(output);
  }
  return w;
}

// The window over a value whose last axes are pooled.
stablehlo::Window window_over(size_t rank, const PoolWindow& w) {
  size_t outer = rank - w.kernel.size();
  stablehlo::Window out{};
  out.window_dimensions.assign(outer, Dim(1));
  out.window_strides.assign(outer, 1);
  out.window_dilations.assign(outer, 1);
  out.padding_low.assign(outer, Dim(0));
  out.padding_high.assign(outer, Dim(0));
  for (size_t i = 0; i < w.kernel.size(); ++i) {
    out.window_dimensions.emplace_back(w.kernel[i]);
    out.window_strides.push_back(w.stride[i]);
    out.window_dilations.push_back(w.dilation[i]);
    out.padding_low.emplace_back(w.padding[i]);
    out.padding_high.push_back(w.high[i]);
  }
  return out;
}

// A result of pooling keeps the memory order that the input suggests.
Tensor make_pooled(Lower& l, Value v, Tensor self) {
  if (!v.has_value()) return {};
  const Dims& shape = l.type(v).dims;
  return l.make(v, lower::strides_for(shape, lower::suggest_memory_format(self.shape(), self.strides())));
}

// ---- max

// Padding counts as minus infinity; NaN wins.
template <size_t kSpatial>
Tensor max_pool(Lower& l, Tensor self, std::vector<int64_t> kernel_size, std::vector<int64_t> stride,
                std::vector<int64_t> padding, std::vector<int64_t> dilation, bool ceil_mode) {
  auto w = pool_window(l, self, kSpatial, {kernel_size, stride, padding, dilation, ceil_mode});
  if (!w) return {};
  Value x = l.read(self);
  return make_pooled(l, l.hlo.reduce_window(x, window_over(l.type(x).rank(), *w), Reducer::MaximumNan), self);
}

// Also where each maximum stands, counted in the pooled axes of the input.
template <size_t kSpatial>
std::tuple<Tensor, Tensor> max_pool_with_indices(Lower& l, Tensor self, std::vector<int64_t> kernel_size,
                                                 std::vector<int64_t> stride, std::vector<int64_t> padding,
                                                 std::vector<int64_t> dilation, bool ceil_mode) {
  auto w = pool_window(l, self, kSpatial, {kernel_size, stride, padding, dilation, ceil_mode});
  if (!w) return {};
  Value x = l.read(self);
  Values inits{l.hlo.identity(Reducer::Maximum, self.dtype()), l.constant(DType::Int64, l.highest(DType::Int64))};
  Values both =
      l.hlo.reduce_window({x, plane_numbers(l, self.shape(), kSpatial)}, inits, window_over(l.type(x).rank(), *w),
                          [&l](std::span<const Value> a) { return first_maximum(l, a); });
  return {make_pooled(l, both[0], self), make_pooled(l, both[1], self)};
}

// ---- average

// How many elements each window has: those of the input, and of its padding if that counts. Windows that ceil_mode adds
// at the end are cut where the padding ends.
Value window_counts(Lower& l, const PoolWindow& w, DType dtype, bool count_include_pad) {
  Dims shape = w.input;
  PoolWindow over = w;
  if (count_include_pad) {
    for (size_t i = 0; i < shape.size(); ++i) {
      shape[i] = shape[i] + Dim(2 * w.padding[i]);
      over.padding[i] = 0;
      over.high[i] = w.high[i] - Dim(w.padding[i]);
    }
  }
  return l.hlo.reduce_window(l.full(shape, dtype, 1), window_over(shape.size(), over), Reducer::Add);
}

// Whether no window leaves the input, or at most into padding that counts.
bool windows_are_full(const PoolWindow& w, bool count_include_pad) {
  for (size_t i = 0; i < w.kernel.size(); ++i) {
    int64_t counted = count_include_pad ? w.padding[i] : 0;
    if (w.high[i] > Dim(counted) || (w.padding[i] > 0 && !count_include_pad)) return false;
  }
  return true;
}

// The sum of each window, divided by divisor_override or by the number of its elements.
template <size_t kSpatial>
Tensor avg_pool(Lower& l, Tensor self, std::vector<int64_t> kernel_size, std::vector<int64_t> stride,
                std::vector<int64_t> padding, bool ceil_mode, bool count_include_pad,
                Optional<int64_t> divisor_override) {
  auto w = pool_window(l, self, kSpatial, {kernel_size, stride, padding, {1}, ceil_mode});
  if (!w) return {};
  if (divisor_override && *divisor_override == 0) return l.wrong("expected a divisor other than zero");
  if (is_bool(self.dtype()) || is_complex(self.dtype())) return l.wrong("expected real numbers, got " + describe(self));
  DType wide = lower::accumulate_type(self.dtype());
  Value x = l.read(self, wide);
  Value sum = l.hlo.reduce_window(x, window_over(l.type(x).rank(), *w), Reducer::Add);
  if (!sum.has_value()) return {};
  const Dims shape = l.type(sum).dims;
  Value divisor;
  if (divisor_override || windows_are_full(*w, count_include_pad)) {
    int64_t full = 1;
    for (int64_t k : w->kernel) full *= k;
    divisor = l.full(shape, wide, Scalar(divisor_override.value_or(full)));
  } else {
    divisor = l.broadcast_to(window_counts(l, *w, wide, count_include_pad), shape);
  }
  return make_pooled(l, l.convert(l.hlo.divide(sum, divisor), self.dtype()), self);
}

Tensor avg_pool1d(Lower& l, Tensor self, std::vector<int64_t> kernel_size, std::vector<int64_t> stride,
                  std::vector<int64_t> padding, bool ceil_mode, bool count_include_pad) {
  return avg_pool<1>(l, self, kernel_size, stride, padding, ceil_mode, count_include_pad, {});
}

// ---- unpooling

// Puts every element where `indices` says in a plane of zeros; elements of one place are added up, or one is left.
Tensor to_places(Lower& l, Tensor self, Tensor indices, const Dims& output_size, int64_t spatial, bool add) {
  if (self.is_poison() || indices.is_poison() || !l.expect_rank(self, spatial + 1, spatial + 2, "input")) return {};
  if (static_cast<int64_t>(output_size.size()) != spatial || indices.shape() != self.shape())
    return l.wrong("expected indices of the input's shape and " + std::to_string(spatial) + " sizes, got " +
                   describe(indices));
  Dim outer(1), inner = product(output_size), count(1);
  Dims shape;
  for (int64_t i = 0; i < self.rank(); ++i) {
    bool pooled = i >= self.rank() - spatial;
    (pooled ? count : outer) = (pooled ? count : outer) * self.dim(i);
    if (!pooled) shape.push_back(self.dim(i));
  }
  shape.insert(shape.end(), output_size.begin(), output_size.end());
  Dims grid{outer, count};
  Value plane = l.hlo.reshape(l.hlo.iota({DType::Int64, grid}, 0), {outer, count, Dim(1)});
  Value place = l.hlo.reshape(l.read(indices, DType::Int64), {outer, count, Dim(1)});
  stablehlo::Scatter s{};
  s.inserted_window_dims = {0, 1};
  s.scatter_dims_to_operand_dims = {0, 1};
  s.index_vector_dim = 2;
  DType wide = add ? lower::accumulate_type(self.dtype()) : self.dtype();
  Value zeros = l.full({outer, inner}, wide, 0), index = l.hlo.concatenate({plane, place}, 2);
  Value values = l.hlo.reshape(l.read(self, wide), grid);
  Value filled =
      add ? l.hlo.scatter(zeros, index, values, s, Reducer::Add) : l.hlo.scatter_replace(zeros, index, values, s);
  return make_pooled(l, l.hlo.reshape(l.convert(filled, self.dtype()), shape), self);
}

Tensor max_unpool(Lower& l, Tensor self, Tensor indices, const Dims& output_size, int64_t spatial) {
  return to_places(l, self, indices, output_size, spatial, false);
}
Tensor max_unpool2d(Lower& l, Tensor self, Tensor indices, Dims output_size) {
  return max_unpool(l, self, indices, output_size, 2);
}
Tensor max_unpool3d(Lower& l, Tensor self, Tensor indices, Dims output_size, Ignored, Ignored) {
  return max_unpool(l, self, indices, output_size, 3);
}

// The gradient of each window goes to its greatest element; where the windows lie is in `indices` already.
template <int64_t kSpatial>
Tensor max_pool_backward(Lower& l, Tensor grad_output, Tensor self, Ignored, Ignored, Ignored, Ignored, Ignored,
                         Tensor indices) {
  if (self.is_poison() || !l.expect_rank(self, kSpatial + 1, kSpatial + 2, "input")) return {};
  return to_places(l, grad_output, indices, Dims(self.shape().end() - kSpatial, self.shape().end()), kSpatial, true);
}
template <int64_t kSpatial>
Tensor fractional_max_pool_backward(Lower& l, Tensor grad_output, Tensor self, Ignored, Ignored, Tensor indices) {
  return max_pool_backward<kSpatial>(l, grad_output, self, {}, {}, {}, {}, {}, indices);
}

}  // namespace

Value plane_numbers(Lower& l, const Dims& shape, size_t spatial) {
  Dims plane(shape.end() - static_cast<std::ptrdiff_t>(spatial), shape.end());
  Value numbers = l.hlo.reshape(l.hlo.iota({DType::Int64, {product(plane)}}, 0), plane);
  return l.broadcast_to(numbers, shape);
}

Values first_maximum(Lower& l, std::span<const Value> a) {
  auto greater = [&](Value x, Value y) { return l.hlo.compare(x, y, ComparisonDirection::Gt); };
  Value x = a[0], y = a[2], nan_x = l.is_nan(x), nan_y = l.is_nan(y);
  Value tied = l.hlo.or_(l.hlo.compare(x, y, ComparisonDirection::Eq), l.hlo.and_(nan_x, nan_y));
  // Of equals the first; of several NaN the last, as PyTorch's loop leaves it.
  Value later = l.hlo.select(nan_x, greater(a[3], a[1]), greater(a[1], a[3]));
  Value better = l.hlo.or_(greater(y, x), l.hlo.and_(nan_y, l.hlo.not_(nan_x)));
  Value take = l.hlo.or_(better, l.hlo.and_(tied, later));
  return {l.hlo.select(take, y, x), l.hlo.select(take, a[3], a[1])};
}

std::span<const Row> window_pooling_ops() {
  static constexpr auto kFloat32 = lower::AutocastRule::Float32;
  static constexpr Row rows[] = {
      op<avg_pool1d>("avg_pool1d"),
      op<avg_pool<2>>("avg_pool2d"),
      op<avg_pool<3>>("avg_pool3d", kFloat32),
      op<max_pool<1>>("max_pool1d"),
      op<max_pool_with_indices<1>>("max_pool1d_with_indices"),
      op<max_pool<2>>("max_pool2d"),
      op<max_pool_with_indices<2>>("max_pool2d_with_indices"),
      op<max_pool_backward<2>>("max_pool2d_with_indices_backward"),
      op<max_pool_backward<3>>("max_pool3d_with_indices_backward"),
      op<fractional_max_pool_backward<2>>("fractional_max_pool2d_backward"),
      op<fractional_max_pool_backward<3>>("fractional_max_pool3d_backward"),
      op<max_pool<3>>("max_pool3d", kFloat32),
      op<max_pool_with_indices<3>>("max_pool3d_with_indices"),
      op<max_unpool2d>("max_unpool2d", kFloat32),
      op<max_unpool3d>("max_unpool3d", kFloat32),
      op<max_pool<2>>("mkldnn_max_pool2d"),
      op<max_pool<3>>("mkldnn_max_pool3d"),
  };
  return rows;
}

std::span<const Row> pooling_ops() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> all;
    for (std::span<const Row> part : {window_pooling_ops(), adaptive_pooling_ops(), fractional_pooling_ops()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rows;
}

}  // namespace torchlift::aten
