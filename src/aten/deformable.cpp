// Convolution whose windows are bent: torchvision's deform_conv2d.
#include <array>

#include "aten/axes.hpp"
#include "aten/formula.hpp"
#include "aten/linear_algebra.hpp"
#include "aten/vision.hpp"

namespace torchlift::aten {
namespace {

using namespace formula;  // NOLINT: operators on values

// Along each axis of the image: the first.
struct Window {
  Dim kernel, stride, padding, dilation, image, out;
};

struct Bent {
  Tensor input, weight, offset, mask, bias;
  std::array<Window, 2> axes;
  Dim groups, offset_groups;
  bool use_mask = false;
  // [N, offset groups, window, rows, columns]
  Dims grid() const { return {input.dim(0), offset_groups, axes[0].kernel * axes[1].kernel, axes[0].out, axes[1].out}; }
};

bool well_formed(Lower& l, Bent& b) {
  for (Tensor t : {b.input, b.weight, b.offset, b.mask, b.bias})
    if (t.is_poison()) return false;
  if (!l.expect_rank(b.input, 4, 4, "input") || !l.expect_rank(b.weight, 4, 4, "weight") ||
      !l.expect_rank(b.offset, 4, 4, "offset"))
    return false;
  bool fits = b.groups >= Dim(1) && b.offset_groups >= Dim(1) && b.bias.rank() == 1 && b.bias.dim(0) == b.weight.dim(0);
  for (size_t i = 0; i < 2; ++i) {
    Window& w = b.axes[i];
    w.image = b.input.dim(static_cast<int64_t>(i) + 2);
    w.kernel = b.weight.dim(static_cast<int64_t>(i) + 2);
    fits = fits && w.kernel >= Dim(1) && w.stride >= Dim(1) && w.padding >= Dim(0) && w.dilation >= Dim(1) &&
           w.image >= Dim(1);
    if (!fits) break;
    w.out = floordiv(w.image + w.padding * Dim(2) - (w.dilation * (w.kernel - Dim(1)) + Dim(1)), w.stride) + Dim(1);
    fits = fits && w.out >= Dim(1);
  }
  Dims maps;
  if (fits) {
    Dims grid = b.grid();
    maps = {grid[0], grid[1] * grid[2], grid[3], grid[4]};
    Dims twice = maps;
    twice[1] = twice[1] * Dim(2);
    fits = b.offset.shape() == twice && (!b.use_mask || b.mask.shape() == maps) &&
           mod(b.input.dim(1), b.offset_groups) == Dim(0) && mod(b.weight.dim(0), b.groups) == Dim(0) &&
           b.input.dim(1) == b.weight.dim(1) * b.groups && b.input.dim(0) >= Dim(1);
  }
  for (Tensor t : {b.weight, b.offset, b.bias}) fits = fits && t.dtype() == b.input.dtype();
  if (!fits) {
    l.wrong("operands " + describe(b.input) + ", " + describe(b.weight) + ", " + describe(b.offset) + ", " +
            describe(b.mask) + ", " + describe(b.bias) + " do not fit");
    return false;
  }
  if (b.input.dtype() == DType::Float32 || b.input.dtype() == DType::Float64) return true;
  l.unsupported("input", describe(b.input), "convert to float32");
  return false;
}

// The input at places [grid...] of its images, zero outside: [grid..., channels of an offset group].
Formula pixels_at(Lower& l, Value images, const Dims& grid, Formula y, Formula x, const std::array<Window, 2>& axes) {
  auto last = [&](size_t i) { return static_cast<double>(axes[i].image.concrete()) - 1; };  // a bound, no size
  Formula inside = (y >= 0.0) & (y <= last(0)) & (x >= 0.0) & (x <= last(1));
  Dims column = grid;
  column.emplace_back(1);
  auto place = [&](Formula at, size_t i) {
    return l.hlo.reshape(convert(min(max(at, 0.0), last(i)), DType::Int64), column);
  };
  Value image = l.hlo.iota({DType::Int64, column}, 0), group = l.hlo.iota({DType::Int64, column}, 1);
  Value index = l.hlo.concatenate({image, group, place(y, 0), place(x, 1)}, 5);
  stablehlo::Gather g{};
  g.offset_dims = {5};
  g.collapsed_slice_dims = g.start_index_map = {0, 1, 3, 4};
  g.index_vector_dim = 5;
  g.slice_sizes = {Dim(1), Dim(1), l.type(images).dims[2], Dim(1), Dim(1)};
  Formula taken = y.with(l.hlo.gather(images, index, std::move(g)));
  return select(inside.with(l.hlo.broadcast_in_dim(inside, l.type(taken).dims, {0, 1, 2, 3, 4})), taken, 0.0);
}

// Where each element of each window is taken from along one axis, [grid...]: its regular place, moved.
Formula places_along(Lower& l, const Bent& b, size_t axis) {
  Dims grid = b.grid(), pairs = grid;
  pairs.insert(pairs.begin() + 3, Dim(2));
  const Window& w = b.axes[axis];
  Value moves = drop_axis(l,
                          slice_axis(l, l.hlo.reshape(l.read(b.offset), pairs), 3, Dim(static_cast<int64_t>(axis)),
                                     Dim(static_cast<int64_t>(axis) + 1)),
                          3);
  Formula window(l, l.hlo.iota({DType::Int64, grid}, 2)), out(l, l.hlo.iota({DType::Int64, grid}, axis == 0 ? 3 : 4));
  Formula columns = window.like(Scalar(b.axes[1].kernel));
  Formula element = axis == 0 ? window / columns : fmod(window, columns);
  Formula regular =
      out * out.like(Scalar(w.stride)) - out.like(Scalar(w.padding)) + element * element.like(Scalar(w.dilation));
  return convert(regular, b.input.dtype()) + Formula(l, moves);
}

// All windows as columns: [grid..., channels of an offset group].
Formula bent_windows(Lower& l, const Bent& b) {
  Dims grid = b.grid();
  Value images = l.hlo.reshape(l.read(b.input),
                               {grid[0], grid[1], floordiv(b.input.dim(1), grid[1]), b.axes[0].image, b.axes[1].image});
  Formula y = places_along(l, b, 0), x = places_along(l, b, 1);
  Formula top = floor(y), left = floor(x), down = y - top, right = x - left;
  auto term = [&](double row, double column, Formula weight) {
    Formula v = pixels_at(l, images, grid, top + row, left + column, b.axes);
    return v.with(l.hlo.broadcast_in_dim(weight, l.type(v).dims, {0, 1, 2, 3, 4})) * v;
  };
  Formula sum = term(0, 0, (1.0 - down) * (1.0 - right)) + term(0, 1, (1.0 - down) * right);
  sum = sum + term(1, 0, down * (1.0 - right)) + term(1, 1, down * right);
  if (!b.use_mask) return sum;
  Value mask = l.hlo.reshape(l.read(b.mask, b.input.dtype()), grid);
  return sum * sum.with(l.hlo.broadcast_in_dim(mask, l.type(sum).dims, {0, 1, 2, 3, 4}));
}

// Each window element's place is moved by `offset` (down, right), its value multiplied by `mask`; then a convolution.
Tensor deform_conv2d(Lower& l, Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, Dim stride_h,
                     Dim stride_w, Dim pad_h, Dim pad_w, Dim dilation_h, Dim dilation_w, Dim groups, Dim offset_groups,
                     bool use_mask) {
  Bent b{input,   weight,
         offset,  mask,
         bias,    {Window{{}, stride_h, pad_h, dilation_h, {}, {}}, Window{{}, stride_w, pad_w, dilation_w, {}, {}}},
         groups,  offset_groups,
         use_mask};
  if (!well_formed(l, b)) return {};
  Dims grid = b.grid();
  Formula windows = bent_windows(l, b);  // [N, offset group, window, rows, columns, channel]
  Value ordered = l.hlo.transpose(windows, {0, 1, 5, 2, 3, 4});
  Dim places = grid[3] * grid[4], inner = weight.dim(1) * grid[2], per_group = floordiv(weight.dim(0), groups);
  Value columns = l.hlo.reshape(ordered, {grid[0], groups, inner, places});
  stablehlo::DotGeneral d{};
  d.lhs_batching_dimensions = {0};
  d.rhs_batching_dimensions = {1};
  d.lhs_contracting_dimensions = {2};
  d.rhs_contracting_dimensions = {2};
  Value product = contract(l, l.hlo.reshape(l.read(weight), {groups, per_group, inner}), columns, std::move(d));
  Value images = l.hlo.transpose(product, {2, 0, 1, 3});  // from [groups, outputs, N, places]
  Formula sum(l, l.hlo.reshape(images, {grid[0], weight.dim(0), grid[3], grid[4]}));
  return l.make(sum + sum.with(along_axis(l, l.read(bias), 1, l.type(sum).dims)));
}

}  // namespace

std::span<const Row> deformable_ops() {
  static constexpr Row rows[] = {op<deform_conv2d>("torchvision::deform_conv2d")};
  return rows;
}

}  // namespace torchlift::aten
