// Sampling at computed places and windows as columns: torch.nn.functional's "Vision functions", fold and unfold.
#include "aten/vision.hpp"

#include <array>
#include <cmath>
#include <vector>

#include "aten/axes.hpp"
#include "aten/families.hpp"
#include "aten/formula.hpp"
#include "aten/linear_algebra.hpp"

namespace torchlift::aten {
namespace {

using namespace formula;  // NOLINT: operators on values

enum class Interpolation : int64_t { Bilinear = 0, Nearest = 1, Bicubic = 2 };
enum class Padding : int64_t { Zeros = 0, Border = 1, Reflection = 2 };

struct GridMode {
  Interpolation interpolation{};
  Padding padding{};
  bool align_corners = false;
  DType dtype{};  // of the grid: PyTorch rounds coordinates of half precision after each step
};

// A place along one axis that an element is taken from: its number, its weight, and whether it lies in the input.
struct Tap {
  Value place;
  Value weight;  // without id: one
  Value inside;
};

// ---- coordinates, as ATen's GridSampler.h computes them

Formula unnormalize(Formula coordinate, const Dim& size, const GridMode& mode) {
  Lower& l = coordinate.lower();
  auto n = static_cast<double>(size.concrete());  // a factor, no size
  auto round_off = [&](Formula x) { return Formula(l, rounded(l, x, mode.dtype)); };
  Formula from_edge = round_off(coordinate + 1.0);
  if (mode.align_corners) return round_off(from_edge * ((n - 1.0) / 2.0));
  return round_off(round_off(from_edge * (n / 2.0)) - 0.5);
}

Formula clip(Formula x, const Dim& size) { return min(max(x, 0.0), static_cast<double>(size.concrete()) - 1.0); }

// Mirrored at both ends until it lies between; the bounds are given as twice their value.
Formula reflect(Formula x, int64_t twice_low, int64_t twice_high, DType dtype) {
  if (twice_low == twice_high) return x.like(0.0);
  Lower& l = x.lower();
  auto round_off = [&](Formula y) { return Formula(l, rounded(l, y, dtype)); };
  double low = static_cast<double>(twice_low) / 2, period = static_cast<double>(twice_high - twice_low);
  Formula distance = abs(round_off(x - low));
  Formula whole = round_off(floor(round_off(distance / period)) * period);
  Formula extra = round_off(distance - whole);
  return round_off(min(extra, round_off(period - extra)) + low);
}

Formula into_image(Formula x, const Dim& size, const GridMode& mode) {
  if (mode.padding == Padding::Zeros) return x;
  if (mode.padding == Padding::Border) return clip(x, size);
  int64_t n = size.concrete();
  return clip(mode.align_corners ? reflect(x, 0, 2 * (n - 1), mode.dtype) : reflect(x, -1, 2 * n - 1, mode.dtype),
              size);
}

Tap tap_at(Lower& l, Formula place, const Dim& size, Value weight) {
  double last = static_cast<double>(size.concrete()) - 1.0;
  Value inside = (place >= 0.0) & (place <= last);
  return {l.hlo.convert(clip(place, size), DType::Int64), weight, inside};
}

std::vector<Tap> bicubic_taps(Lower& l, Formula x, const Dim& size, const GridMode& mode) {
  auto r = [&](Formula y) { return Formula(l, rounded(l, y, mode.dtype)); };
  Formula left = floor(x), t = r(x - left);
  auto near = [&](Formula y) { return r(r(r(r(r(y * 1.25) - 2.25) * y) * y) + 1.0); };  // A = -0.75
  auto far = [&](Formula y) { return r(r(r(r(r(r(y * -0.75) + 3.75) * y) - 6.0) * y) + 3.0); };
  std::array weights{far(r(t + 1.0)), near(t), near(r(1.0 - t)), far(r(2.0 - t))};
  std::vector<Tap> taps;
  for (size_t k = 0; k < weights.size(); ++k)
    taps.push_back(tap_at(l, into_image(left + (static_cast<double>(k) - 1.0), size, mode), size, weights[k]));
  return taps;
}

// The places along one axis for normalized coordinates.
std::vector<Tap> taps_along(Lower& l, Value coordinate, const Dim& size, const GridMode& mode) {
  Formula x = unnormalize({l, coordinate}, size, mode);
  if (mode.interpolation == Interpolation::Bicubic) return bicubic_taps(l, x, size, mode);
  x = into_image(x, size, mode);
  if (mode.interpolation == Interpolation::Nearest) return {tap_at(l, round(x), size, {})};
  Formula left = floor(x), distance{l, rounded(l, x - left, mode.dtype)};
  return {tap_at(l, left, size, rounded(l, 1.0 - distance, mode.dtype)), tap_at(l, left + 1.0, size, distance)};
}

// Elements of input [N, C, spatial...] at one combination of places [N, out...]: [N, C, out...], weighted.
Value sample_combination(Lower& l, Value input, const std::vector<Tap>& taps, DType dtype) {
  const Dims places = l.type(taps.front().place).dims;
  auto rank = static_cast<int64_t>(places.size());
  Dims column = places;
  column.emplace_back(1);
  Values columns{l.hlo.reshape(l.hlo.iota({DType::Int64, places}, 0), column)};
  Value weight, inside = taps.front().inside;
  for (const Tap& tap : taps) {
    columns.push_back(l.hlo.reshape(tap.place, column));
    inside = l.hlo.and_(inside, tap.inside);
    if (!tap.weight.has_value()) continue;
    weight = weight.has_value() ? rounded(l, l.hlo.multiply(weight, tap.weight), dtype) : tap.weight;
  }
  stablehlo::Gather g{};
  g.offset_dims = {1};
  g.collapsed_slice_dims = g.start_index_map = {0};
  for (int64_t i = 2; i < static_cast<int64_t>(taps.size()) + 2; ++i) {
    g.collapsed_slice_dims.push_back(i);
    g.start_index_map.push_back(i);
  }
  g.index_vector_dim = rank;
  g.slice_sizes.assign(taps.size() + 2, Dim(1));
  g.slice_sizes[1] = l.type(input).dims[1];
  Value taken = l.hlo.gather(input, l.hlo.concatenate(columns, rank), std::move(g));
  if (!taken.has_value()) return {};
  const Dims result = l.type(taken).dims;
  Ints axes{0};
  for (int64_t i = 2; i < static_cast<int64_t>(result.size()); ++i) axes.push_back(i);
  if (weight.has_value())
    taken = rounded(l, l.hlo.multiply(taken, l.hlo.broadcast_in_dim(weight, result, axes)), dtype);
  return l.hlo.select(l.hlo.broadcast_in_dim(inside, result, axes), taken, l.full_like(taken, 0));
}

// The sum over every combination of one tap for each axis, rounded to `dtype` after each step. With few taps the
// weights are multiplied first, as PyTorch does.
Value sample_products(Lower& l, Value input, const std::vector<std::vector<Tap>>& axes, DType dtype) {
  std::vector<std::vector<Tap>> combinations{{}};
  for (const std::vector<Tap>& taps : axes) {
    std::vector<std::vector<Tap>> longer;
    for (const std::vector<Tap>& head : combinations)
      for (const Tap& tap : taps) {
        longer.push_back(head);
        longer.back().push_back(tap);
      }
    combinations = std::move(longer);
  }
  Value sum;
  for (const std::vector<Tap>& taps : combinations) {
    Value term = sample_combination(l, input, taps, dtype);
    sum = sum.has_value() ? rounded(l, l.hlo.add(sum, term), dtype) : term;
  }
  return sum;
}

// Bicubic: each row is interpolated, then the rows are.
Value sample_rows(Lower& l, Value input, const std::vector<Tap>& rows, const std::vector<Tap>& columns, DType dtype) {
  Value sum;
  for (const Tap& row : rows) {
    Value line = sample_products(l, input, {{{row.place, {}, row.inside}}, columns}, dtype);
    if (!line.has_value()) return {};
    Value weight = l.hlo.broadcast_in_dim(row.weight, l.type(line).dims, {0, 2, 3});
    Value term = rounded(l, l.hlo.multiply(line, weight), dtype);
    sum = sum.has_value() ? rounded(l, l.hlo.add(sum, term), dtype) : term;
  }
  return sum;
}

std::optional<GridMode> grid_mode(Lower& l, Tensor input, Tensor grid, int64_t interpolation, int64_t padding,
                                  bool align_corners, int64_t spatial) {
  if (input.is_poison() || grid.is_poison()) return std::nullopt;
  if (!l.expect_rank(input, spatial + 2, spatial + 2, "input") ||
      !l.expect_rank(grid, spatial + 2, spatial + 2, "grid"))
    return std::nullopt;
  bool fits = input.dtype() == grid.dtype() && is_float(input.dtype()) && grid.dim(-1) == Dim(spatial) &&
              grid.dim(0) == input.dim(0);
  for (int64_t i = 2; i < input.rank(); ++i) fits = fits && input.dim(i) >= Dim(1);
  if (!fits) {
    l.wrong("the grid does not fit the input: " + describe(input) + ", " + describe(grid));
    return std::nullopt;
  }
  bool bicubic = interpolation == 2;
  if (interpolation < 0 || interpolation > 2 || (bicubic && spatial != 2)) {
    l.unsupported("interpolation_mode", std::to_string(interpolation),
                  "it is 0 (bilinear), 1 (nearest), or in 2-D 2 (bicubic)");
    return std::nullopt;
  }
  if (padding < 0 || padding > 2) {
    l.unsupported("padding_mode", std::to_string(padding), "it is 0 (zeros), 1 (border) or 2 (reflection)");
    return std::nullopt;
  }
  return GridMode{static_cast<Interpolation>(interpolation), static_cast<Padding>(padding), align_corners,
                  grid.dtype()};
}

// Samples of input where grid points, in [-1, 1] over the image; the grid's last axis is (x, y) or (x, y, z).
template <int64_t kSpatial>
Tensor grid_sample(Lower& l, Tensor input, Tensor grid, int64_t interpolation_mode, int64_t padding_mode,
                   bool align_corners) {
  auto mode = grid_mode(l, input, grid, interpolation_mode, padding_mode, align_corners, kSpatial);
  if (!mode) return {};
  DType wide = lower::accumulate_type(input.dtype());
  Value coordinates = l.read(grid, wide);
  std::vector<std::vector<Tap>> axes;
  for (int64_t i = 0; i < kSpatial; ++i) {
    int64_t entry = kSpatial - 1 - i;  // axes of the image are z, y, x
    Value coordinate = drop_axis(l, slice_axis(l, coordinates, kSpatial + 1, entry, entry + 1), kSpatial + 1);
    if (!coordinate.has_value()) return {};
    axes.push_back(taps_along(l, coordinate, input.dim(i + 2), *mode));
  }
  Value x = l.read(input, wide);
  bool bicubic = mode->interpolation == Interpolation::Bicubic;
  Value sum = bicubic ? sample_rows(l, x, axes[0], axes[1], input.dtype()) : sample_products(l, x, axes, input.dtype());
  return l.make(l.convert(sum, input.dtype()));
}

Tensor grid_sampler(Lower& l, Tensor input, Tensor grid, int64_t interpolation_mode, int64_t padding_mode,
                    bool align_corners) {
  if (input.rank() == 5) return grid_sample<3>(l, input, grid, interpolation_mode, padding_mode, align_corners);
  return grid_sample<2>(l, input, grid, interpolation_mode, padding_mode, align_corners);
}

// ---- affine_grid

// -1 to 1 in equal steps; without align_corners the centres of the pixels.
std::vector<double> normalized_places(int64_t count, bool align_corners) {
  std::vector<double> out;
  for (int64_t i = 0; i < count; ++i) {
    double place = count <= 1 ? 0 : -1 + 2 * static_cast<double>(i) / static_cast<double>(count - 1);
    if (!align_corners) place = place * static_cast<double>(count - 1) / static_cast<double>(count);
    out.push_back(place);
  }
  return out;
}

// Where theta sends every place of an image of that size: [N, spatial..., axes].
Tensor affine_grid_generator(Lower& l, Tensor theta, Dims size, bool align_corners) {
  if (theta.is_poison() || !l.expect_rank(theta, 3, 3, "theta")) return {};
  size_t spatial = size.size() < 2 ? 0 : size.size() - 2;
  Dim rows(static_cast<int64_t>(spatial));
  if (spatial < 2 || spatial > 3 || theta.dim(1) != rows || theta.dim(2) != rows + Dim(1) || theta.dim(0) != size[0])
    return l.wrong("expected theta [N, 2, 3] or [N, 3, 4] for a size of 4 or 5 entries, got " + describe(theta) +
                   " for " + text_of(size));
  DType dtype = theta.dtype(), wide = lower::accumulate_type(dtype);
  Dims plane(size.begin() + 2, size.end());
  if (!table_fits(l, static_cast<double>(product(plane).concrete()))) return {};
  Dims column = plane;
  column.emplace_back(1);
  Values columns;
  for (size_t i = spatial; i-- > 0;) {  // x is the innermost axis
    int64_t count = l.pin(plane[i]);
    Value places = constant_floats(l, wide, normalized_places(count, align_corners), {Dim(count)});
    columns.push_back(l.hlo.reshape(along_axis(l, places, static_cast<int64_t>(i), plane), column));
  }
  columns.push_back(l.full(column, wide, 1));
  Value base = l.hlo.concatenate(columns, static_cast<int64_t>(spatial));  // [spatial..., axes + 1]
  stablehlo::DotGeneral d{};
  d.lhs_contracting_dimensions = {2};
  d.rhs_contracting_dimensions = {static_cast<int64_t>(spatial)};
  Value grid = contract(l, l.read(theta, wide), base, std::move(d));  // [N, axes, spatial...]
  return l.make(l.convert(move_last(l, grid, 1), dtype));
}

// ---- windows as columns

struct ColumnArguments {
  std::vector<int64_t> kernel_size, dilation, padding, stride;
};

// The windows along the two axes of an image of this size.
std::optional<std::array<WindowsAlong, 2>> column_windows(Lower& l, const Dims& image, const ColumnArguments& a) {
  std::array<WindowsAlong, 2> out;
  for (size_t i = 0; i < 2; ++i) {
    auto entry = [&](const std::vector<int64_t>& list) {
      return list.empty() ? int64_t{0} : list[std::min(i, list.size() - 1)];
    };
    int64_t kernel = entry(a.kernel_size), dilation = entry(a.dilation), padding = entry(a.padding),
            stride = entry(a.stride);
    constexpr int64_t kLargest = int64_t{1} << 30;
    if (kernel < 1 || dilation < 1 || stride < 1 || padding < 0 ||
        std::max({kernel, dilation, padding, stride}) > kLargest) {
      l.wrong("expected positive kernel_size, dilation and stride and no negative padding");
      return std::nullopt;
    }
    Dim reach = image[i] + Dim(2 * padding) - Dim(dilation * (kernel - 1) + 1);
    if (reach < Dim(0)) {
      l.wrong("windows of " + std::to_string(kernel) + " do not fit into " + text_of(image));
      return std::nullopt;
    }
    out[i] = {.axis = 0,
              .count = floordiv(reach, Dim(stride)) + Dim(1),
              .size = Dim(kernel),
              .stride = stride,
              .dilation = dilation};
  }
  return out;
}

int64_t padding_of(const ColumnArguments& a, size_t i) {
  return a.padding.empty() ? 0 : a.padding[std::min(i, a.padding.size() - 1)];
}

// Every window of the image as a column: [N, C * window, windows].
Tensor im2col(Lower& l, Tensor self, std::vector<int64_t> kernel_size, std::vector<int64_t> dilation,
              std::vector<int64_t> padding, std::vector<int64_t> stride) {
  if (self.is_poison() || !l.expect_rank(self, 3, 4, "input")) return {};
  ColumnArguments a{kernel_size, dilation, padding, stride};
  auto windows = column_windows(l, {self.dim(-2), self.dim(-1)}, a);
  if (!windows) return {};
  auto [rows, columns] = *windows;
  int64_t first = self.rank() - 2;  // of the image's axes
  Value v = pad_axis(l, l.read(self), first, padding_of(a, 0), padding_of(a, 0));
  v = pad_axis(l, v, first + 1, padding_of(a, 1), padding_of(a, 1));
  columns.axis = first + 1;
  rows.axis = first;
  v = windows_along(l, windows_along(l, v, columns), rows);  // [..., rows, kh, columns, kw]
  Ints order;
  for (int64_t i = 0; i < first; ++i) order.push_back(i);
  for (int64_t i : {1, 3, 0, 2}) order.push_back(first + i);
  Dims result;
  if (self.rank() == 4) result.push_back(self.dim(0));
  result.push_back(self.dim(-3) * rows.size * columns.size);
  result.push_back(rows.count * columns.count);
  return l.make(l.hlo.reshape(l.hlo.transpose(v, order), result));
}

// The reverse: columns are put back and summed where windows overlap.
Tensor col2im(Lower& l, Tensor self, Dims output_size, std::vector<int64_t> kernel_size, std::vector<int64_t> dilation,
              std::vector<int64_t> padding, std::vector<int64_t> stride) {
  if (self.is_poison() || !l.expect_rank(self, 2, 3, "input")) return {};
  if (output_size.size() != 2) return l.wrong("expected two sizes, got " + text_of(output_size));
  ColumnArguments a{kernel_size, dilation, padding, stride};
  auto windows = column_windows(l, output_size, a);
  if (!windows) return {};
  auto [rows, columns] = *windows;
  Dim window = rows.size * columns.size;
  if (mod(self.dim(-2), window) != Dim(0) || self.dim(-1) != rows.count * columns.count)
    return l.wrong("columns of " + describe(self) + " do not fit the windows of " + text_of(output_size));
  Dims split, result;
  if (self.rank() == 3) split.push_back(self.dim(0));
  split.push_back(floordiv(self.dim(-2), window));
  result = split;
  split.insert(split.end(), {rows.size, columns.size, rows.count, columns.count});
  auto first = static_cast<int64_t>(result.size());
  Ints order;
  for (int64_t i = 0; i < first; ++i) order.push_back(i);
  for (int64_t i : {2, 0, 3, 1}) order.push_back(first + i);
  Value v = l.hlo.transpose(l.hlo.reshape(l.read(self), split), order);  // [..., rows, kh, columns, kw]
  Dim pad_rows(padding_of(a, 0)), pad_columns(padding_of(a, 1));
  columns.axis = first + 2;
  rows.axis = first;
  v = overlap_add_along(l, v, columns, output_size[1] + pad_columns + pad_columns);
  v = overlap_add_along(l, v, rows, output_size[0] + pad_rows + pad_rows);
  v = slice_axis(l, v, first, pad_rows, pad_rows + output_size[0]);
  return l.make(slice_axis(l, v, first + 1, pad_columns, pad_columns + output_size[1]));
}

}  // namespace

std::span<const Row> sampling_ops() {
  static constexpr auto kFloat32 = lower::AutocastRule::Float32;
  static constexpr Row rows[] = {
      op<affine_grid_generator>("affine_grid_generator"),
      op<col2im>("col2im"),
      op<grid_sampler>("grid_sampler", kFloat32),
      op<grid_sample<2>>("grid_sampler_2d"),
      op<grid_sample<3>>("grid_sampler_3d"),
      op<im2col>("im2col"),
  };
  return rows;
}

std::span<const Row> vision_ops() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> all;
    for (std::span<const Row> part : {sampling_ops(), upsample_ops(), region_ops(), deformable_ops()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rows;
}

}  // namespace torchlift::aten
