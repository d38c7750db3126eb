// Resizing: torch.nn.functional.interpolate. Each axis is a table of source places and weights, made here with
// PyTorch's own arithmetic, in float for float32 and narrower, in double for float64.
#include <algorithm>
#include <cmath>
#include <utility>

#include "aten/axes.hpp"
#include "aten/formula.hpp"
#include "aten/vision.hpp"

namespace torchlift::aten {
namespace {

enum class Method : uint8_t { Nearest, NearestExact, Linear, Cubic, LinearAntialias, CubicAntialias, LanczosAntialias };

// What one axis of the result takes from the input: `taps` places and weights for each element, one after another.
// Places beyond the used ones of an element repeat the last one and count as zero.
struct Table {
  int64_t taps = 1;
  Ints places;
  std::vector<double> weights;  // empty: all one
  Ints used;                    // empty: all of them
};

struct Axis {
  int64_t in = 0;
  int64_t out = 0;
  bool align_corners = false;
  Optional<double> scale;  // the caller's scale factor
};

template <typename T>
T scale_of(const Axis& a) {
  if (a.align_corners) return a.out > 1 ? static_cast<T>(a.in - 1) / static_cast<T>(a.out - 1) : T(0);
  if (a.scale && *a.scale > 0) return static_cast<T>(1.0 / *a.scale);
  return static_cast<T>(a.in) / static_cast<T>(a.out);
}

Table nearest_table(const Axis& a, bool exact) {
  Table t;
  float scale = scale_of<float>({a.in, a.out, false, a.scale});
  for (int64_t i = 0; i < a.out; ++i) {
    int64_t place = 0;
    if (!exact && a.out == a.in) place = i;
    else if (!exact && a.out == 2 * a.in) place = i >> 1;
    else if (!exact) place = static_cast<int64_t>(std::floor(static_cast<float>(i) * scale));
    else
      place = static_cast<int64_t>(
          std::floor(static_cast<float>((static_cast<double>(i) + 0.5) * static_cast<double>(scale))));
    t.places.push_back(std::clamp<int64_t>(place, 0, a.in - 1));
  }
  return t;
}

template <typename T>
T source_of(const Axis& a, T scale, int64_t i, bool cubic) {
  if (a.align_corners) return scale * static_cast<T>(i);
  T source = scale * (static_cast<T>(i) + T(0.5)) - T(0.5);
  return !cubic && source < 0 ? T(0) : source;
}

// The left neighbour and the distance to it.
template <typename T>
std::pair<int64_t, T> split_source(T source, int64_t in) {
  int64_t place = std::min(static_cast<int64_t>(std::floor(static_cast<float>(source))), in - 1);
  return {place, std::clamp(source - static_cast<T>(place), T(0), T(1))};
}

template <typename T>
Table linear_table(const Axis& a) {
  Table t{.taps = 2, .places = {}, .weights = {}, .used = {}};
  T scale = scale_of<T>(a);
  for (int64_t i = 0; i < a.out; ++i) {
    auto [left, distance] = a.in == a.out ? std::pair(i, T(0)) : split_source(source_of(a, scale, i, false), a.in);
    int64_t right = a.in == a.out || left >= a.in - 1 ? left : left + 1;
    t.places.insert(t.places.end(), {left, right});
    t.weights.insert(t.weights.end(), {static_cast<double>(T(1) - distance), static_cast<double>(distance)});
  }
  return t;
}

// Keys' cubic convolution, near (|x| <= 1) and far (|x| <= 2).
template <typename T>
T cubic_near(T x, T a) {
  return ((a + 2) * x - (a + 3)) * x * x + 1;
}
template <typename T>
T cubic_far(T x, T a) {
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

template <typename T>
Table cubic_table(const Axis& axis) {
  Table t{.taps = 4, .places = {}, .weights = {}, .used = {}};
  T scale = scale_of<T>(axis);
  const T a = T(-0.75);
  for (int64_t i = 0; i < axis.out; ++i) {
    auto [left, distance] = split_source(source_of(axis, scale, i, true), axis.in);
    T rest = T(1) - distance;
    for (T w : {cubic_far(distance + 1, a), cubic_near(distance, a), cubic_near(rest, a), cubic_far(rest + 1, a)})
      t.weights.push_back(static_cast<double>(w));
    for (int64_t k = -1; k <= 2; ++k) t.places.push_back(std::clamp<int64_t>(left + k, 0, axis.in - 1));
  }
  return t;
}

// ---- antialiasing: a filter as wide as an element of the result is in the input

template <typename T>
T filter_weight(Method method, T x) {
  x = std::fabs(x);
  if (method == Method::LinearAntialias) return x < 1 ? 1 - x : T(0);
  if (method == Method::CubicAntialias) {
    if (x < 1) return cubic_near(x, T(-0.5));
    return x < 2 ? cubic_far(x, T(-0.5)) : T(0);
  }
  if (x >= 3) return T(0);
  auto sinc = [](T y) { return y == 0 ? T(1) : std::sin(y * static_cast<T>(M_PI)) / (y * static_cast<T>(M_PI)); };
  return sinc(x) * sinc(x / 3);
}

int64_t filter_size(Method method) {
  if (method == Method::LinearAntialias) return 2;
  return method == Method::CubicAntialias ? 4 : 6;
}

template <typename T>
Table antialias_table(Lower& l, const Axis& a, Method method) {
  T scale = scale_of<T>(a);
  T half = static_cast<T>(filter_size(method)) * T(0.5);
  T support = scale >= 1 ? half * scale : half;
  Table t{.taps = static_cast<int64_t>(std::ceil(support)) * 2 + 1, .places = {}, .weights = {}, .used = {}};
  if (!table_fits(l, static_cast<double>(t.taps) * static_cast<double>(a.out))) return t;
  T inverse = scale >= 1 ? 1 / scale : T(1);
  for (int64_t i = 0; i < a.out; ++i) {
    T center = scale * (static_cast<T>(i) + T(0.5));
    int64_t first = std::max<int64_t>(static_cast<int64_t>(center - support + T(0.5)), 0);
    int64_t count = std::min<int64_t>(static_cast<int64_t>(center + support + T(0.5)), a.in) - first;
    count = std::clamp<int64_t>(count, 0, t.taps);
    std::vector<T> weights;
    T total = 0;
    for (int64_t k = 0; k < count; ++k) {
      weights.push_back(filter_weight(method, (static_cast<T>(k + first) - center + T(0.5)) * inverse));
      total += weights.back();
    }
    t.used.push_back(count);
    for (int64_t k = 0; k < t.taps; ++k) {
      bool inside = k < count;
      t.places.push_back(std::clamp<int64_t>(first + std::min(k, std::max<int64_t>(count - 1, 0)), 0, a.in - 1));
      t.weights.push_back(inside ? static_cast<double>(total != 0 ? weights[static_cast<size_t>(k)] / total
                                                                  : weights[static_cast<size_t>(k)])
                                 : 0);
    }
  }
  return t;
}

Table table_for(Lower& l, const Axis& a, Method method, bool in_double) {
  switch (method) {
    case Method::Nearest: return nearest_table(a, false);
    case Method::NearestExact: return nearest_table(a, true);
    case Method::Linear: return in_double ? linear_table<double>(a) : linear_table<float>(a);
    case Method::Cubic: return in_double ? cubic_table<double>(a) : cubic_table<float>(a);
    case Method::LinearAntialias:
    case Method::CubicAntialias:
    case Method::LanczosAntialias:
      return in_double ? antialias_table<double>(l, a, method) : antialias_table<float>(l, a, method);
  }
  return {};
}

// ---- bytes: weights of whole numbers

// PyTorch keeps the weights of uint8 images in 16 bits: times the power of two that leaves the greatest below 2^15.
// Taps that the border moved to one place are added up before. Gives the binary logarithm of that power.
int64_t weights_to_int16(Table& t) {
  double greatest = 0;
  auto taps = static_cast<size_t>(t.taps);
  for (size_t row = 0; row < t.weights.size(); row += taps) {
    size_t slot = row;
    for (size_t k = row; k < row + taps; ++k) {
      if (t.places[k] != t.places[slot]) slot = k;
      if (k != slot) t.weights[slot] += std::exchange(t.weights[k], 0);
      greatest = std::max(greatest, t.weights[slot]);
    }
  }
  int64_t digits = 0;
  while (digits < 22 && 0.5 + std::ldexp(greatest, static_cast<int>(digits + 1)) < (1 << 15)) ++digits;
  for (double& w : t.weights) {
    double scaled = std::trunc(std::ldexp(w, static_cast<int>(digits)) + (w < 0 ? -0.5 : 0.5));
    // A negative weight may be greater than the greatest one: it wraps, in PyTorch as well.
    w = std::fabs(scaled) < 2147483648.0 ? static_cast<double>(static_cast<int16_t>(static_cast<int64_t>(scaled))) : 0;
  }
  return digits;
}

// ---- applying a table to one axis

// Whether every element is repeated the same number of times.
bool repeats(const Table& t, int64_t times) {
  if (t.taps != 1 || times < 1) return false;
  for (size_t i = 0; i < t.places.size(); ++i)
    if (t.places[i] != static_cast<int64_t>(i) / times) return false;
  return true;
}

Value repeat_each(Lower& l, Value v, int64_t axis, int64_t times) {
  Dims shape = l.type(v).dims, split = shape;
  split.insert(split.begin() + axis + 1, Dim(times));
  Ints kept;
  for (int64_t i = 0; i < static_cast<int64_t>(split.size()); ++i)
    if (i != axis + 1) kept.push_back(i);
  shape[static_cast<size_t>(axis)] = shape[static_cast<size_t>(axis)] * Dim(times);
  return l.hlo.reshape(l.hlo.broadcast_in_dim(v, split, kept), shape);
}

// Every k-th entry of a list, from the k-th on.
template <typename T>
std::vector<T> column(const std::vector<T>& list, int64_t k, int64_t width) {
  std::vector<T> out;
  for (size_t i = static_cast<size_t>(k); i < list.size(); i += static_cast<size_t>(width)) out.push_back(list[i]);
  return out;
}

// Few taps: one term each.
Value sum_of_taps(Lower& l, Value v, int64_t axis, const Table& t) {
  Value sum;
  for (int64_t k = 0; k < t.taps; ++k) {
    Value taken = take_along(l, v, axis, column(t.places, k, t.taps));
    if (!taken.has_value()) return {};
    const Dims shape = l.type(taken).dims;
    std::vector<double> weights = column(t.weights, k, t.taps);
    Dim count(static_cast<int64_t>(weights.size()));
    Value weight = along_axis(l, constant_floats(l, l.type(v).dtype, weights, {count}), axis, shape);
    Value term = l.hlo.multiply(taken, weight);
    sum = sum.has_value() ? l.hlo.add(sum, term) : term;
  }
  return sum;
}

// Many taps: all at once, and summed.
Value sum_of_windows(Lower& l, Value v, int64_t axis, const Table& t) {
  Dim out(static_cast<int64_t>(t.used.size())), taps(t.taps);
  Dims shape = l.type(v).dims;
  shape[static_cast<size_t>(axis)] = taps;
  shape.insert(shape.begin() + axis, out);
  Ints inside;
  for (int64_t count : t.used)
    for (int64_t k = 0; k < t.taps; ++k) inside.push_back(k < count ? 1 : 0);
  auto spread = [&](Value table) { return l.hlo.broadcast_in_dim(table, shape, {axis, axis + 1}); };
  Value taken = l.hlo.reshape(take_along(l, v, axis, t.places), shape);
  Value products = l.hlo.multiply(taken, spread(constant_floats(l, l.type(v).dtype, t.weights, {out, taps})));
  Value used = spread(l.hlo.constant_ints(DType::Bool, inside, {out, taps}));
  return l.hlo.reduce(l.hlo.select(used, products, l.full_like(products, 0)), {axis + 1}, Reducer::Add);
}

Value resize_axis(Lower& l, Value v, int64_t axis, const Dim& in, const Dim& out, const Table& t) {
  if (!v.has_value() || t.places.empty()) return {};
  // Asked only whether the table is this simple; the sizes themselves flow on.
  int64_t times = out.concrete() % in.concrete() == 0 ? out.concrete() / in.concrete() : 0;
  if (repeats(t, times)) return times == 1 ? v : repeat_each(l, v, axis, times);
  l.pin(in);
  l.pin(out);
  if (t.taps == 1) return take_along(l, v, axis, t.places);
  return t.used.empty() ? sum_of_taps(l, v, axis, t) : sum_of_windows(l, v, axis, t);
}

bool is_nearest(Method m) { return m == Method::Nearest || m == Method::NearestExact; }

bool resizable(Lower& l, Tensor self, const Dims& output_size, Method method) {
  auto spatial = static_cast<int64_t>(output_size.size());
  if (self.is_poison() || !l.expect_rank(self, spatial + 2, spatial + 2, "input")) return false;
  bool bytes = self.dtype() == DType::UInt8 && spatial == 2;
  if (!is_nearest(method) && !is_float(self.dtype()) && !bytes) {
    l.unsupported("dtype", std::string(info(self.dtype()).torch_name), "convert the input to a floating-point dtype");
    return false;
  }
  for (int64_t i = 0; i < spatial; ++i) {
    if (output_size[static_cast<size_t>(i)] >= Dim(1) && self.dim(2 + i) >= Dim(1)) continue;
    l.wrong("expected positive sizes, got " + text_of(output_size) + " for " + describe(self));
    return false;
  }
  return true;
}

Tensor make_image(Lower& l, Value v, Tensor self) {
  if (!v.has_value()) return {};
  const Dims& shape = l.type(v).dims;
  return l.make(v, lower::strides_for(shape, lower::suggest_memory_format(self.shape(), self.strides())));
}

// Each axis whose size changes is rounded and clamped to a byte by itself.
Tensor resize_bytes(Lower& l, Tensor self, const Dims& output_size, Method method, bool align_corners,
                    const std::vector<Optional<double>>& scales) {
  bool channels_last = lower::suggest_memory_format(self.shape(), self.strides()) == torch::MemoryFormat::ChannelsLast;
  if (self.dim(1) > Dim(4) && !channels_last && output_size[1] == Dim(1) && output_size[0] != self.dim(2))
    return l.unsupported("output_size", text_of(output_size),
                         "PyTorch repeats one row of such images of five and more channels; use channels_last");
  Value v = l.read(self, DType::Int32);
  for (size_t i = 2; i-- > 0;) {
    auto axis = static_cast<int64_t>(i) + 2;
    Dim in = self.dim(axis);
    if (in == output_size[i]) continue;
    if (!table_fits(l, 4.0 * static_cast<double>(output_size[i].concrete()))) return {};
    Optional<double> scale = i < scales.size() ? scales[i] : std::nullopt;
    Table t = table_for(l, {l.pin(in), l.pin(output_size[i]), align_corners, scale}, method, true);
    if (t.places.empty()) return {};
    int64_t digits = weights_to_int16(t);
    if (digits == 0) return l.unsupported("scales", "far beyond the image", "give the size only");
    Formula sum(l, t.used.empty() ? sum_of_taps(l, v, axis, t) : sum_of_windows(l, v, axis, t));
    sum = sum + sum.like(int64_t{1} << (digits - 1));
    sum = sum.with(l.hlo.shift_right_arithmetic(sum, sum.like(digits)));
    v = min(max(sum, 0.0), 255.0);
  }
  return make_image(l, l.convert(v, DType::UInt8), self);
}

Tensor resize(Lower& l, Tensor self, const Dims& output_size, Method method, bool align_corners,
              const std::vector<Optional<double>>& scales) {
  if (!resizable(l, self, output_size, method)) return {};
  if (!is_nearest(method) && self.dtype() == DType::UInt8)
    return resize_bytes(l, self, output_size, method, align_corners, scales);
  DType wide = is_nearest(method) ? self.dtype() : lower::accumulate_type(self.dtype());
  Value v = l.read(self, wide);
  for (size_t i = output_size.size(); i-- > 0;) {  // the innermost axis first, as PyTorch does
    auto axis = static_cast<int64_t>(i) + 2;
    Dim in = self.dim(axis);
    if (!table_fits(l, 4.0 * static_cast<double>(output_size[i].concrete()))) return {};
    Optional<double> scale = i < scales.size() ? scales[i] : std::nullopt;
    Table t =
        table_for(l, {in.concrete(), output_size[i].concrete(), align_corners, scale}, method, wide == DType::Float64);
    if (in == output_size[i] && method == Method::Linear) continue;
    v = resize_axis(l, v, axis, in, output_size[i], t);
  }
  return make_image(l, l.convert(v, self.dtype()), self);
}

// ---- the operators' forms

template <Method kMethod>
Tensor upsample1d(Lower& l, Tensor self, Dims output_size, Optional<double> scales) {
  return resize(l, self, output_size, kMethod, false, {scales});
}
template <Method kMethod>
Tensor upsample2d(Lower& l, Tensor self, Dims output_size, Optional<double> scales_h, Optional<double> scales_w) {
  return resize(l, self, output_size, kMethod, false, {scales_h, scales_w});
}
template <Method kMethod>
Tensor upsample3d(Lower& l, Tensor self, Dims output_size, Optional<double> scales_d, Optional<double> scales_h,
                  Optional<double> scales_w) {
  return resize(l, self, output_size, kMethod, false, {scales_d, scales_h, scales_w});
}
template <Method kMethod>
Tensor aligned1d(Lower& l, Tensor self, Dims output_size, bool align_corners, Optional<double> scales) {
  return resize(l, self, output_size, kMethod, align_corners, {scales});
}
template <Method kMethod>
Tensor aligned2d(Lower& l, Tensor self, Dims output_size, bool align_corners, Optional<double> scales_h,
                 Optional<double> scales_w) {
  return resize(l, self, output_size, kMethod, align_corners, {scales_h, scales_w});
}
template <Method kMethod>
Tensor aligned3d(Lower& l, Tensor self, Dims output_size, bool align_corners, Optional<double> scales_d,
                 Optional<double> scales_h, Optional<double> scales_w) {
  return resize(l, self, output_size, kMethod, align_corners, {scales_d, scales_h, scales_w});
}

// Sizes, or factors: then the size is cut to an integer, and the factor itself says where an element comes from.
template <Method kMethod, size_t kSpatial>
Tensor aligned_vec(Lower& l, Tensor input, Optional<Dims> output_size, bool align_corners,
                   Optional<std::vector<double>> scale_factors) {
  if (input.is_poison()) return {};
  bool by_size = output_size && !output_size->empty();
  if (by_size == (scale_factors && !scale_factors->empty()))
    return l.wrong("expected either output_size or scale_factors");
  if (by_size) {
    if (output_size->size() != kSpatial)
      return l.wrong("expected " + std::to_string(kSpatial) + " sizes, got " + text_of(*output_size));
    return resize(l, input, *output_size, kMethod, align_corners, {});
  }
  if (scale_factors->size() != kSpatial) return l.wrong("expected " + std::to_string(kSpatial) + " scale factors");
  Dims sizes;
  std::vector<Optional<double>> scales;
  for (size_t i = 0; i < kSpatial; ++i) {
    double factor = (*scale_factors)[i];
    if (!(factor > 0 && factor < 1e9)) return l.wrong("expected positive scale factors, got " + std::to_string(factor));
    Dim in = input.dim(static_cast<int64_t>(i) + 2);
    bool whole = factor == std::floor(factor);
    sizes.push_back(whole ? in * Dim(static_cast<int64_t>(factor))
                          : Dim(static_cast<int64_t>(static_cast<double>(l.pin(in)) * factor)));
    scales.emplace_back(factor);
  }
  return resize(l, input, sizes, kMethod, align_corners, scales);
}
template <Method kMethod, size_t kSpatial>
Tensor nearest_vec(Lower& l, Tensor input, Optional<Dims> output_size, Optional<std::vector<double>> scale_factors) {
  return aligned_vec<kMethod, kSpatial>(l, input, output_size, false, scale_factors);
}

}  // namespace

std::span<const Row> upsample_ops() {
  static constexpr Row rows[] = {
      op<aligned2d<Method::CubicAntialias>>("_upsample_bicubic2d_aa"),
      op<aligned_vec<Method::CubicAntialias, 2>>("_upsample_bicubic2d_aa.vec"),
      op<aligned2d<Method::LinearAntialias>>("_upsample_bilinear2d_aa"),
      op<aligned_vec<Method::LinearAntialias, 2>>("_upsample_bilinear2d_aa.vec"),
      op<aligned2d<Method::LanczosAntialias>>("_upsample_lanczos2d_aa"),
      op<aligned_vec<Method::LanczosAntialias, 2>>("_upsample_lanczos2d_aa.vec"),
      op<upsample1d<Method::NearestExact>>("_upsample_nearest_exact1d"),
      op<nearest_vec<Method::NearestExact, 1>>("_upsample_nearest_exact1d.vec"),
      op<upsample2d<Method::NearestExact>>("_upsample_nearest_exact2d"),
      op<nearest_vec<Method::NearestExact, 2>>("_upsample_nearest_exact2d.vec"),
      op<upsample3d<Method::NearestExact>>("_upsample_nearest_exact3d"),
      op<nearest_vec<Method::NearestExact, 3>>("_upsample_nearest_exact3d.vec"),
      op<aligned2d<Method::Cubic>>("upsample_bicubic2d"),
      op<aligned_vec<Method::Cubic, 2>>("upsample_bicubic2d.vec"),
      op<aligned2d<Method::Linear>>("upsample_bilinear2d"),
      op<aligned_vec<Method::Linear, 2>>("upsample_bilinear2d.vec"),
      op<aligned1d<Method::Linear>>("upsample_linear1d"),
      op<aligned_vec<Method::Linear, 1>>("upsample_linear1d.vec"),
      op<upsample1d<Method::Nearest>>("upsample_nearest1d"),
      op<nearest_vec<Method::Nearest, 1>>("upsample_nearest1d.vec"),
      op<upsample2d<Method::Nearest>>("upsample_nearest2d"),
      op<nearest_vec<Method::Nearest, 2>>("upsample_nearest2d.vec"),
      op<upsample3d<Method::Nearest>>("upsample_nearest3d"),
      op<nearest_vec<Method::Nearest, 3>>("upsample_nearest3d.vec"),
      op<aligned3d<Method::Linear>>("upsample_trilinear3d"),
      op<aligned_vec<Method::Linear, 3>>("upsample_trilinear3d.vec"),
  };
  return rows;
}

}  // namespace torchlift::aten
