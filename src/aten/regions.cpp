// Regions of images: torchvision's operators on boxes [image, x1, y1, x2, y2]. Each box decides how many samples its
// cells have, so one loop takes sample after sample of all cells of all boxes at once, as many as the greatest cell
// needs.
#include <array>
#include <functional>
#include <limits>

#include "aten/axes.hpp"
#include "aten/formula.hpp"
#include "aten/vision.hpp"
#include "base/kinds.hpp"

namespace torchlift::aten {
namespace {

using namespace formula;  // NOLINT: operators on values

// How many boxes stay depends on the scores.
Tensor nms(Lower& l, Tensor, Tensor, double) {
  return l.refuse(Kind::DataDependent,
                  {{"what", "the number of boxes that nms keeps"}, {"advice", "leave nms to the caller"}});
}

struct Regions {
  Dims grid;  // [boxes, rows, columns] of cells
  // [images, channels, rows, columns, height, width]: where each cell has channels of its own; else one row, one
  // column.
  Value pixels;
  Value cell;  // [grid..., 3]: the image, and the row and column of channels
  Value boxes;
  Dim height, width;
};

Value grid_number(Lower& l, const Dims& grid, int64_t axis) { return l.hlo.iota({DType::Int64, grid}, axis); }

std::optional<Regions> regions_of(Lower& l, Tensor input, Tensor rois, const Dim& rows, const Dim& columns,
                                  bool own_channels) {
  if (input.is_poison() || rois.is_poison() || !l.expect_rank(input, 4, 4, "input") ||
      !l.expect_rank(rois, 2, 2, "rois"))
    return std::nullopt;
  bool fits = rois.dim(1) == Dim(5) && rois.dtype() == input.dtype() && rows >= Dim(1) && columns >= Dim(1) &&
              input.dim(0) >= Dim(1) && input.dim(2) >= Dim(1) && input.dim(3) >= Dim(1) &&
              (!own_channels || mod(input.dim(1), rows * columns) == Dim(0));
  if (!fits) {
    l.wrong("expected boxes [K, 5] for cells of an image, got " + describe(rois) + " for " + describe(input) + " and " +
            text_of(Dims{rows, columns}) + " cells");
    return std::nullopt;
  }
  if (input.dtype() != DType::Float32 && input.dtype() != DType::Float64) {
    l.unsupported("input", describe(input), "convert images and boxes to float32");
    return std::nullopt;
  }
  Regions r{{rois.dim(0), rows, columns}, {}, {}, l.read(rois), input.dim(2), input.dim(3)};
  Dim cell_rows = own_channels ? rows : Dim(1), cell_columns = own_channels ? columns : Dim(1);
  r.pixels = l.hlo.reshape(l.read(input), {input.dim(0), floordiv(input.dim(1), cell_rows * cell_columns), cell_rows,
                                           cell_columns, r.height, r.width});
  Dims column = r.grid;
  column.emplace_back(1);
  Value image = drop_axis(l, slice_axis(l, l.convert(r.boxes, DType::Int64), 1, 0, 1), 1);
  Value nothing = l.full(r.grid, DType::Int64, 0);
  Values parts{along_axis(l, image, 0, r.grid), own_channels ? grid_number(l, r.grid, 1) : nothing,
               own_channels ? grid_number(l, r.grid, 2) : nothing};
  for (Value& v : parts) v = l.hlo.reshape(v, column);
  r.cell = l.hlo.concatenate(parts, 3);
  return r;
}

// One pixel for each cell, at places [grid...]: [grid..., channels].
Formula pixels_at(Lower& l, const Regions& r, Value y, Value x) {
  Dims column = r.grid;
  column.emplace_back(1);
  Value index = l.hlo.concatenate({r.cell, l.hlo.reshape(y, column), l.hlo.reshape(x, column)}, 3);
  stablehlo::Gather g{};
  g.offset_dims = {3};
  g.collapsed_slice_dims = g.start_index_map = {0, 2, 3, 4, 5};
  g.index_vector_dim = 3;
  g.slice_sizes = {Dim(1), l.type(r.pixels).dims[1], Dim(1), Dim(1), Dim(1), Dim(1)};
  return {l, l.hlo.gather(r.pixels, index, std::move(g))};
}

Formula over_channels(Lower& l, Formula cells, Formula like) {
  return cells.with(l.hlo.broadcast_in_dim(cells, l.type(like).dims, {0, 1, 2}));
}

// [boxes, channels, rows, columns]
Tensor make_pooled(Lower& l, Value cells, DType dtype) {
  return l.make(l.convert(l.hlo.transpose(cells, {0, 3, 1, 2}), dtype));
}

// The image between its pixels; up to one pixel beyond it what its border has, and further off nothing.
Formula interpolated(Lower& l, const Regions& r, Formula y, Formula x) {
  struct Line {
    Formula low, high, share, outside;
  };
  auto line = [&](Formula at, const Dim& size) -> Line {
    auto n = static_cast<double>(size.concrete());  // a bound, no size
    Formula inside = min(max(at, 0.0), n - 1), low = floor(inside);
    return {convert(low, DType::Int64), convert(min(low + 1.0, n - 1), DType::Int64), inside - low,
            (at < -1.0) | (at > n)};
  };
  Line rows = line(y, r.height), columns = line(x, r.width);
  auto term = [&](const Formula& row, const Formula& column, Formula weight) {
    Formula v = pixels_at(l, r, row, column);
    return over_channels(l, weight, v) * v;
  };
  Formula below = 1.0 - rows.share, left = 1.0 - columns.share;
  Formula sum = term(rows.low, columns.low, below * left) + term(rows.low, columns.high, below * columns.share);
  sum = sum + term(rows.high, columns.low, rows.share * left);
  sum = sum + term(rows.high, columns.high, rows.share * columns.share);
  return select(over_channels(l, rows.outside | columns.outside, sum), 0.0, sum);
}

// Calls `step` for each row and column of samples, row by row, with numbers of rank 0, and hands on what it returns.
using Step = std::function<Values(Formula row, Formula column, std::span<const Value> state)>;
Values for_each_sample(Lower& l, Value rows, Value columns, const Values& state, const Step& step) {
  Formula none(l, l.constant(DType::Int64, 0)), last_row = none.with(rows), last_column = none.with(columns);
  Values inits{none, none};
  inits.insert(inits.end(), state.begin(), state.end());
  auto more = [&](std::span<const Value> v) -> Value {
    return (none.with(v[0]) < last_row) & (none.with(v[1]) < last_column);
  };
  auto body = [&](std::span<const Value> v) -> Values {
    Formula row(l, v[0]), column(l, v[1]);
    Formula wraps = column + 1.0 >= last_column;
    Values next{select(wraps, row + 1.0, row), select(wraps, 0.0, column + 1.0)};
    Values results = step(row, column, v.subspan(2));
    next.insert(next.end(), results.begin(), results.end());
    return next;
  };
  Values out = l.hlo.while_(inits, more, body);
  return {out.begin() + 2, out.end()};
}

// The greatest of all elements, at least zero; rank 0.
Value greatest(Lower& l, Formula counts) {
  Ints axes;
  for (size_t i = 0; i < l.type(counts).rank(); ++i) axes.push_back(static_cast<int64_t>(i));
  return l.hlo.reduce(counts, l.constant(DType::Int64, 0), axes, Reducer::Maximum);
}

// ---- means of samples between pixels

// The cells of one axis of the boxes: where they start [grid...], their length and how many samples they have [boxes].
struct SampledAxis {
  Formula start, length, samples;
};

SampledAxis sampled_axis(Lower& l, const Regions& r, int64_t axis, double scale, double offset, int64_t ratio,
                         bool at_least_one) {
  auto entry = [&](int64_t i) {
    return Formula(l, drop_axis(l, slice_axis(l, r.boxes, 1, i, i + 1), 1)) * scale - offset;
  };
  Formula low = entry(axis == 1 ? 2 : 1), extent = entry(axis == 1 ? 4 : 3) - low;
  if (at_least_one) extent = max(extent, 1.0);
  Formula length = extent / static_cast<double>(r.grid[static_cast<size_t>(axis)].concrete());
  Formula samples = convert(ceil(length), DType::Int64);
  if (ratio > 0) samples = samples.like(ratio);
  auto spread = [&](Formula x) { return x.with(along_axis(l, x, 0, r.grid)); };
  Formula cell = convert(Formula(l, grid_number(l, r.grid, axis)), low.dtype());
  return {spread(low) + cell * spread(length), length, samples};
}

// The sum of samples of each cell [grid..., channels]: samples stand in the middle of equal parts.
Formula sum_of_samples(Lower& l, const Regions& r, const SampledAxis& rows, const SampledAxis& columns) {
  DType dtype = rows.start.dtype();
  Dims shape = r.grid;
  shape.push_back(l.type(r.pixels).dims[1]);
  auto spread = [&](Formula x) { return x.with(along_axis(l, x, 0, r.grid)); };
  auto place = [&](const SampledAxis& axis, Formula number) {
    Formula middle = convert(number, dtype) + 0.5, count = convert(axis.samples, dtype);
    return axis.start + spread(middle.with(l.broadcast_to(middle, {r.grid[0]})) * axis.length / count);
  };
  auto has = [&](const SampledAxis& axis, Formula number) {
    return spread(number.with(l.broadcast_to(number, {r.grid[0]})) < axis.samples);
  };
  Values sums = for_each_sample(l, greatest(l, rows.samples), greatest(l, columns.samples), {l.full(shape, dtype, 0)},
                                [&](Formula row, Formula column, std::span<const Value> state) -> Values {
                                  Formula v = interpolated(l, r, place(rows, row), place(columns, column));
                                  Formula used = over_channels(l, has(rows, row) & has(columns, column), v);
                                  return {v.with(state[0]) + select(used, v, 0.0)};
                                });
  return {l, sums[0]};
}

Formula mean_of(Lower& l, const Regions& r, Formula sum, Formula count) {
  Formula cells = convert(count, sum.dtype());
  return sum / over_channels(l, cells.with(along_axis(l, cells, 0, r.grid)), sum);
}

Tensor roi_align(Lower& l, Tensor input, Tensor rois, double spatial_scale, Dim pooled_height, Dim pooled_width,
                 int64_t sampling_ratio, bool aligned) {
  auto r = regions_of(l, input, rois, pooled_height, pooled_width, false);
  if (!r) return {};
  double offset = aligned ? 0.5 : 0.0;
  SampledAxis rows = sampled_axis(l, *r, 1, spatial_scale, offset, sampling_ratio, !aligned);
  SampledAxis columns = sampled_axis(l, *r, 2, spatial_scale, offset, sampling_ratio, !aligned);
  Formula count = max(rows.samples * columns.samples, 1.0);
  return make_pooled(l, mean_of(l, *r, sum_of_samples(l, *r, rows, columns), count), input.dtype());
}

// The channel of the input that each element of the result comes from.
Tensor channel_mapping(Lower& l, const Regions& r, Tensor input) {
  Dims each{input.dim(1)}, shape{r.grid[0], floordiv(input.dim(1), r.grid[1] * r.grid[2]), r.grid[1], r.grid[2]};
  Value numbers = l.hlo.reshape(l.hlo.iota({DType::Int32, each}, 0), Dims(shape.begin() + 1, shape.end()));
  return l.make(l.hlo.broadcast_in_dim(numbers, shape, {1, 2, 3}));
}

// As roi_align with boxes half a pixel to the left; every cell has its own channels.
std::tuple<Tensor, Tensor> ps_roi_align(Lower& l, Tensor input, Tensor rois, double spatial_scale, Dim pooled_height,
                                        Dim pooled_width, int64_t sampling_ratio) {
  auto r = regions_of(l, input, rois, pooled_height, pooled_width, true);
  if (!r) return {};
  SampledAxis rows = sampled_axis(l, *r, 1, spatial_scale, 0.5, sampling_ratio, false);
  SampledAxis columns = sampled_axis(l, *r, 2, spatial_scale, 0.5, sampling_ratio, false);
  Formula sum = sum_of_samples(l, *r, rows, columns);
  return {make_pooled(l, mean_of(l, *r, sum, rows.samples * columns.samples), input.dtype()),
          channel_mapping(l, *r, input)};
}

// ---- whole pixels

// The pixels of each cell along one axis, [grid...]: from `first` up to `end`.
struct PixelAxis {
  Formula first, end;
};

// Corners are rounded; `inclusive` boxes hold their last pixel. Cells are cut at `limit`.
PixelAxis pixel_axis(Lower& l, const Regions& r, int64_t axis, double scale, bool inclusive, double limit) {
  auto corner = [&](int64_t i) {
    Formula x = Formula(l, drop_axis(l, slice_axis(l, r.boxes, 1, i, i + 1), 1)) * scale;
    return convert(x.with(l.hlo.round_nearest_afz(x)), DType::Int64);
  };
  Formula low = corner(axis == 1 ? 2 : 1);
  Formula extent = max(corner(axis == 1 ? 4 : 3) - low + (inclusive ? 1.0 : 0.0), 1.0);
  DType dtype = l.type(r.boxes).dtype;
  Formula length = convert(extent, dtype) / static_cast<double>(r.grid[static_cast<size_t>(axis)].concrete());
  auto spread = [&](Formula x) { return x.with(along_axis(l, x, 0, r.grid)); };
  Formula cell = convert(Formula(l, grid_number(l, r.grid, axis)), dtype);
  auto cut = [&](Formula x) { return min(max(convert(x, DType::Int64) + spread(low), 0.0), limit); };
  return {cut(floor(cell * spread(length))), cut(ceil((cell + 1.0) * spread(length)))};
}

// Values of all pixels of each cell, one after the other: step(pixel, whether the cell has it, its row and column,
// state).
using PixelStep = std::function<Values(Formula, Formula, Formula, Formula, std::span<const Value>)>;
Values for_each_pixel(Lower& l, const Regions& r, const PixelAxis& rows, const PixelAxis& columns, const Values& state,
                      const PixelStep& step) {
  auto place = [&](const PixelAxis& axis, Formula number) {
    return axis.first + number.with(l.broadcast_to(number, r.grid));
  };
  return for_each_sample(l, greatest(l, rows.end - rows.first), greatest(l, columns.end - columns.first), state,
                         [&](Formula row, Formula column, std::span<const Value> now) {
                           Formula y = place(rows, row), x = place(columns, column);
                           Formula v = pixels_at(l, r, y, x);  // beyond the image the last pixel, which no cell has
                           Formula has = over_channels(l, (y < rows.end) & (x < columns.end), v);
                           return step(v, has, over_channels(l, y, v), over_channels(l, x, v), now);
                         });
}

// (the greatest pixel of each cell, its number in the image). A cell without pixels has 0 and -1; NaN is passed over.
std::tuple<Tensor, Tensor> roi_pool(Lower& l, Tensor input, Tensor rois, double spatial_scale, Dim pooled_height,
                                    Dim pooled_width) {
  auto r = regions_of(l, input, rois, pooled_height, pooled_width, false);
  if (!r) return {};
  auto h = static_cast<double>(r->height.concrete()), w = static_cast<double>(r->width.concrete());
  PixelAxis rows = pixel_axis(l, *r, 1, spatial_scale, true, h), columns = pixel_axis(l, *r, 2, spatial_scale, true, w);
  Dims shape = r->grid;
  shape.push_back(input.dim(1));
  // torchvision begins with the lowest float also in float64.
  Formula lowest(l, l.full(shape, input.dtype(), static_cast<double>(std::numeric_limits<float>::lowest())));
  Formula empty = (rows.end <= rows.first) | (columns.end <= columns.first);
  Values state{select(over_channels(l, empty, lowest), 0.0, lowest), l.full(shape, DType::Int64, -1)};
  Values out = for_each_pixel(l, *r, rows, columns, state,
                              [&](Formula v, Formula has, Formula y, Formula x, std::span<const Value> now) -> Values {
                                Formula better = has & (v > v.with(now[0]));
                                return {select(better, v, v.with(now[0])), select(better, y * w + x, y.with(now[1]))};
                              });
  return {make_pooled(l, out[0], input.dtype()), make_pooled(l, out[1], DType::Int32)};
}

// The mean of the pixels of each cell, which has its own channels; the last row and column of the image are left out.
std::tuple<Tensor, Tensor> ps_roi_pool(Lower& l, Tensor input, Tensor rois, double spatial_scale, Dim pooled_height,
                                       Dim pooled_width) {
  auto r = regions_of(l, input, rois, pooled_height, pooled_width, true);
  if (!r) return {};
  auto h = static_cast<double>(r->height.concrete()), w = static_cast<double>(r->width.concrete());
  PixelAxis rows = pixel_axis(l, *r, 1, spatial_scale, false, h - 1),
            columns = pixel_axis(l, *r, 2, spatial_scale, false, w - 1);
  Dims shape = r->grid;
  shape.push_back(l.type(r->pixels).dims[1]);
  Values out = for_each_pixel(l, *r, rows, columns, {l.full(shape, input.dtype(), 0)},
                              [&](Formula v, Formula has, Formula, Formula, std::span<const Value> now) -> Values {
                                return {v.with(now[0]) + select(has, v, 0.0)};
                              });
  Formula sum(l, out[0]);
  Formula area = over_channels(l, (rows.end - rows.first) * (columns.end - columns.first), sum);
  Formula empty = over_channels(l, (rows.end <= rows.first) | (columns.end <= columns.first), sum);
  Formula mean = select(empty, 0.0, sum / convert(area, sum.dtype()));
  return {make_pooled(l, mean, input.dtype()), channel_mapping(l, *r, input)};
}

}  // namespace

std::span<const Row> region_ops() {
  static constexpr Row rows[] = {
      op<nms>("torchvision::nms"),
      op<ps_roi_align>("torchvision::ps_roi_align"),
      op<ps_roi_pool>("torchvision::ps_roi_pool"),
      op<roi_align>("torchvision::roi_align"),
      op<roi_pool>("torchvision::roi_pool"),
  };
  return rows;
}

}  // namespace torchlift::aten
