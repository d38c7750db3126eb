// Pooling to a given size: window i of `out` over an axis of `in` is [floor(i * in / out), ceil((i + 1) * in / out)).
// The windows are a product over the axes, so the axes are pooled one after another.
#include <algorithm>

#include "aten/axes.hpp"
#include "aten/pooling.hpp"

namespace torchlift::aten {
namespace {

// The windows of one axis. Where they are of one size and disjoint, `even`; else each is listed.
struct AxisWindows {
  bool even = false;
  Dim size;     // even
  Ints first;   // per window
  Ints length;  // per window
};

AxisWindows windows_of(Lower& l, const Dim& in, const Dim& out) {
  if (mod(in, out) == Dim(0)) return {.even = true, .size = floordiv(in, out), .first = {}, .length = {}};
  AxisWindows w{};
  int64_t n = l.pin(in), m = l.pin(out);
  if (!table_fits(l, static_cast<double>(n) + 2.0 * static_cast<double>(m))) return w;
  for (int64_t i = 0; i < m; ++i) {
    w.first.push_back(i * n / m);
    w.length.push_back(((i + 1) * n + m - 1) / m - w.first.back());
  }
  return w;
}

// One axis becomes two: [window, place in the window]. Windows that are shorter than the longest are filled up.
Value unfold_axis(Lower& l, Value v, int64_t axis, const Dim& out, const AxisWindows& w, Value fill) {
  if (!v.has_value()) return {};
  Dims shape = l.type(v).dims;
  Dims split = shape;
  auto at = static_cast<size_t>(axis);
  if (w.even) {
    split[at] = w.size;
    split.insert(split.begin() + axis, out);
    return l.hlo.reshape(v, split);
  }
  if (w.first.empty()) return {};
  int64_t longest = *std::max_element(w.length.begin(), w.length.end());
  Ints places, inside;
  for (size_t i = 0; i < w.first.size(); ++i)
    for (int64_t k = 0; k < longest; ++k) {
      places.push_back(w.first[i] + std::min(k, w.length[i] - 1));
      inside.push_back(k < w.length[i] ? 1 : 0);
    }
  split[at] = Dim(longest);
  split.insert(split.begin() + axis, out);
  Value taken = l.hlo.reshape(take_along(l, v, axis, places), split);
  Value mask = l.hlo.constant_ints(DType::Bool, inside, {out, Dim(longest)});
  return l.hlo.select(l.hlo.broadcast_in_dim(mask, split, {axis, axis + 1}), taken,
                      l.hlo.broadcast_in_dim(fill, split, {}));
}

// Input and sizes agree, the sizes are positive.
bool adaptive_fits(Lower& l, Tensor self, const Dims& output_size, size_t spatial) {
  auto rank = static_cast<int64_t>(spatial);
  if (self.is_poison() || !l.expect_rank(self, rank + 1, rank + 2, "input")) return false;
  bool positive = output_size.size() == spatial;
  for (const Dim& d : output_size) positive = positive && d >= Dim(1);
  for (int64_t i = 0; i < rank; ++i) positive = positive && self.dim(-1 - i) >= Dim(1);
  if (!positive)
    l.wrong("expected " + std::to_string(spatial) + " positive sizes, got " + text_of(output_size) + " for " +
            describe(self));
  return positive;
}

Tensor make_like(Lower& l, Value v, Tensor self) {
  if (!v.has_value()) return {};
  const Dims& shape = l.type(v).dims;
  return l.make(v, lower::strides_for(shape, lower::suggest_memory_format(self.shape(), self.strides())));
}

Value counts_along(Lower& l, const AxisWindows& w, int64_t axis, const Dims& shape, DType dtype) {
  if (w.even) return l.full(shape, dtype, Scalar(w.size));
  return along_axis(l, l.convert(l.hlo.constant_ints(DType::Int64, w.length), dtype), axis, shape);
}

// In half precision PyTorch's 3-D kernel adds a window's elements one after another and rounds each time.
Tensor adaptive_avg_pool3d_half(Lower& l, Tensor self, const Dims& output_size) {
  DType dtype = self.dtype();
  Value v = l.read(self, DType::Float32);
  int64_t first = self.rank() - 3;
  std::vector<AxisWindows> windows;
  for (int64_t i = 3; i-- > 0;) {  // the last axis first, so that the axes before keep their numbers
    windows.insert(windows.begin(), windows_of(l, self.dim(first + i), output_size[static_cast<size_t>(i)]));
    v = unfold_axis(l, v, first + i, output_size[static_cast<size_t>(i)], windows.front(),
                    l.constant(DType::Float32, 0));
  }
  if (!v.has_value()) return {};
  Dims shape = l.type(v).dims, result(shape.begin(), shape.begin() + first);
  Ints order;
  for (int64_t i = 0; i < first; ++i) order.push_back(i);
  for (int64_t i : {0, 2, 4, 1, 3, 5}) order.push_back(first + i);
  Dim count(1);
  for (int64_t i : {0, 2, 4}) result.push_back(shape[static_cast<size_t>(first + i)]);
  for (int64_t i : {1, 3, 5}) count = count * shape[static_cast<size_t>(first + i)];
  Dims flat = result;
  flat.push_back(count);
  v = sum_in_steps(l, l.hlo.reshape(l.hlo.transpose(v, order), flat), first + 3, dtype);
  for (int64_t i = 0; i < 3; ++i)
    v = rounded(l, l.hlo.divide(v, counts_along(l, windows[static_cast<size_t>(i)], first + i, result, DType::Float32)),
                dtype);
  return make_like(l, l.convert(v, dtype), self);
}

// Windows of one size, without gaps: one reduction over all axes.
std::optional<Value> mean_of_even_windows(Lower& l, Value v, const Dims& output_size) {
  if (!v.has_value()) return std::nullopt;
  Dims shape = l.type(v).dims, unfolded(shape.begin(), shape.end() - static_cast<int64_t>(output_size.size()));
  Ints window_axes;
  Dim count(1);
  for (size_t i = 0; i < output_size.size(); ++i) {
    AxisWindows w = windows_of(l, shape[shape.size() - output_size.size() + i], output_size[i]);
    if (!w.even) return std::nullopt;
    unfolded.push_back(output_size[i]);
    window_axes.push_back(static_cast<int64_t>(unfolded.size()));
    unfolded.push_back(w.size);
    count = count * w.size;
  }
  Value sum = l.hlo.reduce(l.hlo.reshape(v, unfolded), window_axes, Reducer::Add);
  return l.hlo.divide(sum, l.full_like(sum, Scalar(count)));
}

// The mean of each window.
template <size_t kSpatial>
Tensor adaptive_avg_pool(Lower& l, Tensor self, Dims output_size) {
  if (!adaptive_fits(l, self, output_size, kSpatial)) return {};
  if (!is_float(self.dtype())) return l.wrong("expected a floating-point input, got " + describe(self));
  if (kSpatial == 3 && is_half(self.dtype())) return adaptive_avg_pool3d_half(l, self, output_size);
  DType wide = lower::accumulate_type(self.dtype());
  Value v = l.read(self, wide);
  if (auto mean = mean_of_even_windows(l, v, output_size)) return make_like(l, l.convert(*mean, self.dtype()), self);
  for (size_t i = 0; i < kSpatial; ++i) {
    int64_t axis = self.rank() - static_cast<int64_t>(kSpatial - i);
    AxisWindows w = windows_of(l, self.dim(axis), output_size[i]);
    if (w.even && w.size == Dim(1)) continue;
    v = l.hlo.reduce(unfold_axis(l, v, axis, output_size[i], w, l.constant(wide, 0)), {axis + 1}, Reducer::Add);
    if (!v.has_value()) return {};
    const Dims shape = l.type(v).dims;
    v = l.hlo.divide(v, counts_along(l, w, axis, shape, wide));
  }
  return make_like(l, l.convert(v, self.dtype()), self);
}

Tensor adaptive_avg_pool1d(Lower& l, Tensor self, std::vector<int64_t> output_size) {
  return adaptive_avg_pool<1>(l, self, dims_of(output_size));
}

// The maximum of each window and where it stands, counted in the pooled axes of the input.
template <size_t kSpatial>
std::tuple<Tensor, Tensor> adaptive_max_pool(Lower& l, Tensor self, std::vector<int64_t> output_size) {
  Dims sizes = dims_of(output_size);
  if (!adaptive_fits(l, self, sizes, kSpatial)) return {};
  Value v = l.read(self);
  Value numbers = plane_numbers(l, self.shape(), kSpatial);
  Value lowest = l.hlo.identity(Reducer::Maximum, self.dtype());
  Value beyond = l.constant(DType::Int64, l.highest(DType::Int64));
  for (size_t i = 0; i < kSpatial; ++i) {
    int64_t axis = self.rank() - static_cast<int64_t>(kSpatial - i);
    AxisWindows w = windows_of(l, self.dim(axis), sizes[i]);
    Values both =
        l.hlo.reduce({unfold_axis(l, v, axis, sizes[i], w, lowest), unfold_axis(l, numbers, axis, sizes[i], w, beyond)},
                     {lowest, beyond}, {axis + 1}, [&l](std::span<const Value> a) { return first_maximum(l, a); });
    v = both[0];
    numbers = both[1];
  }
  return {make_like(l, v, self), make_like(l, numbers, self)};
}

}  // namespace

std::span<const Row> adaptive_pooling_ops() {
  static constexpr auto kFloat32 = lower::AutocastRule::Float32;
  static constexpr Row rows[] = {
      op<adaptive_avg_pool<2>>("_adaptive_avg_pool2d"),
      op<adaptive_avg_pool<3>>("_adaptive_avg_pool3d"),
      op<adaptive_avg_pool1d>("adaptive_avg_pool1d"),
      op<adaptive_avg_pool<2>>("adaptive_avg_pool2d"),
      op<adaptive_avg_pool<3>>("adaptive_avg_pool3d", kFloat32),
      op<adaptive_max_pool<1>>("adaptive_max_pool1d"),
      op<adaptive_max_pool<2>>("adaptive_max_pool2d"),
      op<adaptive_max_pool<3>>("adaptive_max_pool3d", kFloat32),
  };
  return rows;
}

}  // namespace torchlift::aten
