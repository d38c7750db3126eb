// Pooling over windows whose places are random: PyTorch draws `random_samples` with an operator of its own, and from
// them the places follow (Graham, "Fractional Max-Pooling", arXiv 1412.6071).
#include <array>

#include "aten/axes.hpp"
#include "aten/formula.hpp"
#include "aten/pooling.hpp"

namespace torchlift::aten {
namespace {

// Where the windows along one axis begin, [planes, out], from a number of [0, 1) for each plane. PyTorch computes in
// the samples' dtype, step by step.
Formula window_starts(Formula sample, DType dtype, const Dim& in, const Dim& out, int64_t size) {
  Lower& l = sample.lower();
  Dims grid{l.type(sample).dims[0], out};
  auto step = [&](Formula x) { return x.with(rounded(l, x, dtype)); };
  auto whole = [&](const Dim& n) { return convert(Formula(l, l.full(grid, DType::Int64, Scalar(n))), sample.dtype()); };
  Formula u = sample.with(l.hlo.broadcast_in_dim(sample, grid, {0}));
  Formula place(l, l.hlo.iota({DType::Int64, grid}, 1));
  Formula last = convert(place.with(l.full(grid, DType::Int64, Scalar(in - Dim(size)))), DType::Int64);
  if (out == Dim(1)) return last;
  Formula alpha = step(step(whole(in - Dim(size))) / step(whole(out - Dim(1))));
  Formula begin = step(step(step(convert(place, sample.dtype())) + u) * alpha), first = step(u * alpha);
  Formula start = convert(floor(begin), DType::Int64) - convert(floor(first), DType::Int64);
  return select(eq(place, place.with(l.full(grid, DType::Int64, Scalar(out - Dim(1))))), last, start);
}

// (greatest elements, their numbers in the plane)
template <size_t kSpatial>
std::tuple<Tensor, Tensor> fractional_max_pool(Lower& l, Tensor self, std::vector<int64_t> kernel_size,
                                               Dims output_size, Tensor random_samples) {
  constexpr auto kAxes = static_cast<int64_t>(kSpatial);
  if (self.is_poison() || random_samples.is_poison() || !l.expect_rank(self, kAxes + 1, kAxes + 2, "input")) return {};
  if (kernel_size.size() != kSpatial || output_size.size() != kSpatial || !is_float(self.dtype()))
    return l.wrong("expected a floating-point input and " + std::to_string(kSpatial) + " sizes, got " + describe(self));
  Dims outer(self.shape().begin(), self.shape().end() - kAxes), result = outer;
  Dim planes = product(outer), inner(1);
  if (random_samples.numel() != planes * Dim(kAxes) || random_samples.dtype() != self.dtype())
    return l.wrong("expected " + std::to_string(kSpatial) + " samples for each plane, got " + describe(random_samples));
  DType wide = lower::accumulate_type(self.dtype());
  Value samples = l.hlo.reshape(l.read(random_samples, wide), {planes, Dim(kAxes)});
  // [planes, out..., kernel...]: the number in the plane of each element of each window.
  Dims grid{planes};
  for (auto& d : output_size) grid.push_back(d);
  for (int64_t k : kernel_size) grid.push_back(k);
  Formula number(l, l.full(grid, DType::Int64, 0));
  for (int64_t axis = 0; axis < kAxes; ++axis) {
    auto i = static_cast<size_t>(axis);
    Dim in = self.dim(axis - kAxes), out = output_size[i];
    if (out < Dim(1) || kernel_size[i] < 1 || in < out + Dim(kernel_size[i] - 1))
      return l.wrong("windows of " + std::to_string(kernel_size[i]) + " for " + out.text() +
                     " results do not fit into " + in.text());
    // PyTorch takes the samples of two axes from the last: width first.
    int64_t of = kSpatial == 2 ? 1 - axis : axis;
    Formula sample(l, l.hlo.reshape(slice_axis(l, samples, 1, of, Dim(of + 1)), {planes}));
    Formula start = window_starts(sample, self.dtype(), in, out, kernel_size[i]);
    Formula begin = number.with(l.hlo.broadcast_in_dim(start, grid, {0, axis + 1}));
    Formula within = number.with(l.hlo.iota({DType::Int64, grid}, 1 + kAxes + axis));
    number = number * number.with(l.full(grid, DType::Int64, Scalar(in))) + begin + within;
    inner = inner * in;
    result.push_back(out);
  }
  Dims cells = grid;
  cells.push_back(Dim(1));
  Value plane = l.hlo.iota({DType::Int64, cells}, 0);
  stablehlo::Gather g{};
  g.collapsed_slice_dims = g.start_index_map = {0, 1};
  g.index_vector_dim = static_cast<int64_t>(grid.size());
  g.slice_sizes = {Dim(1), Dim(1)};
  Value flat = l.hlo.reshape(l.read(self), {planes, inner});
  Value windows = l.hlo.gather(flat, l.hlo.concatenate({plane, l.hlo.reshape(number, cells)}, g.index_vector_dim), g);
  Ints kernel;
  for (int64_t i = 0; i < kAxes; ++i) kernel.push_back(1 + kAxes + i);
  Values init{l.constant(self.dtype(), l.lowest(self.dtype())), l.constant(DType::Int64, l.highest(DType::Int64))};
  Values best =
      l.hlo.reduce({windows, number}, init, kernel, [&](std::span<const Value> v) { return first_maximum(l, v); });
  return {l.make(l.hlo.reshape(best[0], result)), l.make(l.hlo.reshape(best[1], result))};
}

}  // namespace

std::span<const Row> fractional_pooling_ops() {
  static constexpr auto kFloat32 = lower::AutocastRule::Float32;
  static constexpr Row rows[] = {
      op<fractional_max_pool<2>>("fractional_max_pool2d", kFloat32),
      op<fractional_max_pool<3>>("fractional_max_pool3d", kFloat32),
  };
  return rows;
}

}  // namespace torchlift::aten
