// Histograms of a known number of bins, and reductions over segments of known count.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "aten/creation.hpp"
#include "aten/indexing.hpp"
#include "aten/scan.hpp"
#include "aten/shaping.hpp"
#include "aten/sorting.hpp"
#include "base/kinds.hpp"

namespace torchlift::aten {
namespace {

constexpr int64_t kMaxBins = 1 << 24;

// How many elements lie in each of `bins` equal bins from min to max, the last one closed; others are left out. With
// min = max the range is that of the elements.
Tensor histc(Lower& l, Tensor self, int64_t bins, Scalar min, Scalar max) {
  if (self.is_poison()) return {};
  if (bins < 1 || bins > kMaxBins) return l.wrong("histc with " + std::to_string(bins) + " bins");
  if (!is_float(self.dtype())) return l.unsupported("self", describe(self), "histc on CPU takes floats");
  if (min.to_double() > max.to_double()) return l.wrong("histc from " + min.text() + " to " + max.text());
  DType dtype = self.dtype();
  Value x = l.hlo.reshape(l.read(self), {self.numel()});
  Value low = l.constant(dtype, min), high = l.constant(dtype, max);
  if (min.to_double() == max.to_double() && !self.is_empty()) {
    low = l.hlo.reduce(x, {0}, Reducer::Minimum);
    high = l.hlo.reduce(x, {0}, Reducer::Maximum);
  }
  Value same = l.hlo.compare(low, high, ComparisonDirection::Eq), one = l.constant(dtype, 1);
  low = l.hlo.select(same, l.hlo.subtract(low, one), low);
  high = l.hlo.select(same, l.hlo.add(high, one), high);
  Dims shape{self.numel()};
  auto spread = [&](Value v) { return l.broadcast_to(v, shape); };
  Value inside = l.hlo.and_(l.hlo.compare(x, spread(low), ComparisonDirection::Ge),
                            l.hlo.compare(x, spread(high), ComparisonDirection::Le));
  Value scaled = l.hlo.divide(l.hlo.multiply(l.hlo.subtract(x, spread(low)), l.full_like(x, Scalar(bins))),
                              spread(l.hlo.subtract(high, low)));
  Value place = l.convert(l.hlo.select(inside, scaled, l.full_like(x, 0)), DType::Int64);
  place = l.hlo.minimum(place, l.full_like(place, Scalar(bins - 1)));
  stablehlo::Scatter s{};
  s.inserted_window_dims = {0};
  s.scatter_dims_to_operand_dims = {0};
  s.index_vector_dim = 1;
  Value counts = l.full({Dim(bins)}, dtype, 0);
  return l.make(l.hlo.scatter(counts, place, l.hlo.convert(inside, dtype), s, Reducer::Add));
}

Tensor bincount(Lower& l, Tensor, Optional<Tensor>, Dim) {
  return l.refuse(Kind::DataDependent,
                  {{"what", std::string("the size of bincount's result")},
                   {"advice", std::string("use zeros(n).scatter_add(0, x, ones) with a known n")}});
}

// ---- histogram and histogramdd: bins by their edges

// The edges of `bins` equal bins over the range, or over the elements of one coordinate.
Tensor even_edges(Lower& l, Value coordinate, int64_t bins, Optional<std::pair<double, double>> range) {
  DType dtype = l.type(coordinate).dtype;
  bool empty = product(l.type(coordinate).dims) == Dim(0);
  Value low = l.constant(dtype, range ? range->first : 0.0), high = l.constant(dtype, range ? range->second : 1.0);
  if (!range && !empty) {
    low = l.hlo.reduce(coordinate, {0}, Reducer::Minimum);
    high = l.hlo.reduce(coordinate, {0}, Reducer::Maximum);
  }
  Value same = l.hlo.compare(low, high, ComparisonDirection::Eq), half = l.constant(dtype, 0.5);
  low = l.hlo.select(same, l.hlo.subtract(low, half), low);
  high = l.hlo.select(same, l.hlo.add(high, half), high);
  return linspace(l, l.make(low), l.make(high), bins + 1, {dtype});
}

// Counts (or sums of weights) of points, one coordinate a dimension, in the boxes between edges. The last bin is
// closed.
Tensor count_boxes(Lower& l, const Values& coordinates, const TensorList& edges, Optional<Tensor> weight,
                   bool density) {
  DType dtype = l.type(coordinates[0]).dtype;
  Dims points = l.type(coordinates[0]).dims, shape;
  Value inside = l.full(points, DType::Bool, true), place = l.full(points, DType::Int64, 0);
  for (size_t d = 0; d < edges.size(); ++d) {
    Value x = coordinates[d], ends = l.read(edges[d]);
    Dim bins = edges[d].dim(0) - 1;
    auto end = [&](const Dim& i) { return l.broadcast_to(l.hlo.slice(ends, {i}, {i + 1}), points); };
    inside = l.hlo.and_(inside, l.hlo.and_(l.hlo.compare(x, end(0), ComparisonDirection::Ge),
                                           l.hlo.compare(x, end(bins), ComparisonDirection::Le)));
    Value bin = l.hlo.subtract(search_sorted(l, ends, x, true), l.full(points, DType::Int64, 1));
    bin = l.hlo.clamp(l.constant(DType::Int64, 0), bin, l.constant(DType::Int64, Scalar(bins - 1)));
    place = l.hlo.add(l.hlo.multiply(place, l.full(points, DType::Int64, Scalar(bins))), bin);
    shape.push_back(bins);
  }
  Value amount = weight ? l.hlo.reshape(l.read(*weight, dtype), points) : l.full(points, dtype, 1);
  amount = l.hlo.select(inside, amount, l.full(points, dtype, 0));
  IndexPlan plan{.axes = {0}, .places = {place}, .shape = points, .front = 0, .result = points};
  Value counts = scatter_planned(l, l.full({product(shape)}, dtype, 0), plan, amount, Reducer::Add);
  counts = l.hlo.reshape(counts, shape);
  if (!density) return l.make(counts);
  Ints all;
  for (size_t d = 0; d < shape.size(); ++d) all.push_back(static_cast<int64_t>(d));
  counts = l.hlo.divide(counts, l.broadcast_to(l.hlo.reduce(counts, all, Reducer::Add), shape));
  for (size_t d = 0; d < shape.size(); ++d) {
    Value ends = l.read(edges[d]);
    Value widths = l.hlo.subtract(l.hlo.slice(ends, {Dim(1)}, {shape[d] + 1}), l.hlo.slice(ends, {Dim(0)}, {shape[d]}));
    counts = l.hlo.divide(counts, l.hlo.broadcast_in_dim(widths, shape, {static_cast<int64_t>(d)}));
  }
  return l.make(counts);
}

// Each coordinate of [.., n] points as a list of its own; nothing if the points do not have as many coordinates.
std::optional<Values> coordinates_of(Lower& l, Tensor self, size_t wanted) {
  if (self.rank() < 1 || !is_float(self.dtype()) || self.dim(-1) != Dim(static_cast<int64_t>(wanted)) || wanted == 0) {
    l.wrong("expected points of " + std::to_string(wanted) + " float coordinates, got " + describe(self));
    return std::nullopt;
  }
  Dim count = product(std::span(self.shape()).first(self.shape().size() - 1));
  Value table = l.hlo.reshape(l.read(self), {count, self.dim(-1)});
  Values out;
  for (int64_t d = 0; d < static_cast<int64_t>(wanted); ++d)
    out.push_back(l.hlo.reshape(l.hlo.slice(table, {Dim(0), Dim(d)}, {count, Dim(d + 1)}), {count}));
  return out;
}

bool weight_fits(Lower& l, const Optional<Tensor>& weight, const Values& coordinates) {
  if (!weight || weight->numel() == product(l.type(coordinates[0]).dims)) return true;
  l.wrong("a weight " + describe(*weight) + " does not fit the points");
  return false;
}

using Histogram = std::tuple<Tensor, Tensor>;
using HistogramDd = std::tuple<Tensor, TensorList>;

Histogram histogram_bins(Lower& l, Tensor self, Tensor bins, Optional<Tensor> weight, bool density) {
  if (self.is_poison() || bins.is_poison()) return {};
  if (!is_float(self.dtype()) || bins.rank() != 1 || bins.dim(0) < Dim(2))
    return l.wrong("histogram of " + describe(self) + " between " + describe(bins));
  Values x{l.hlo.reshape(l.read(self), {self.numel()})};
  if (!weight_fits(l, weight, x)) return {};
  Tensor edges = l.make(l.read(bins, self.dtype()));
  return {count_boxes(l, x, {edges}, weight, density), edges};
}

Histogram histogram_count(Lower& l, Tensor self, int64_t bins, Optional<std::vector<double>> range,
                          Optional<Tensor> weight, bool density) {
  if (self.is_poison()) return {};
  if (!is_float(self.dtype()) || bins < 1 || bins > kMaxBins || (range && range->size() != 2))
    return l.wrong("histogram of " + describe(self) + " in " + std::to_string(bins) + " bins");
  Value x = l.hlo.reshape(l.read(self), {self.numel()});
  if (!weight_fits(l, weight, {x})) return {};
  Optional<std::pair<double, double>> ends;
  if (range) ends = {range->at(0), range->at(1)};
  Tensor edges = even_edges(l, x, bins, ends);
  if (edges.is_poison()) return {};
  return {count_boxes(l, {x}, {edges}, weight, density), edges};
}

HistogramDd histogramdd(Lower& l, Tensor self, std::vector<int64_t> bins, Optional<std::vector<double>> range,
                        Optional<Tensor> weight, bool density) {
  if (self.is_poison()) return {};
  auto x = coordinates_of(l, self, bins.size());
  if (!x || !weight_fits(l, weight, *x)) return {};
  if (range && range->size() != 2 * bins.size())
    return l.wrong("a range of " + std::to_string(range->size()) + " numbers");
  TensorList edges;
  for (size_t d = 0; d < bins.size(); ++d) {
    if (bins[d] < 1 || bins[d] > kMaxBins) return l.wrong("histogramdd in " + std::to_string(bins[d]) + " bins");
    Optional<std::pair<double, double>> ends;
    if (range) ends = {range->at(2 * d), range->at(2 * d + 1)};
    edges.push_back(even_edges(l, (*x)[d], bins[d], ends));
    if (edges.back().is_poison()) return {};
  }
  Tensor counts = count_boxes(l, *x, edges, weight, density);
  return {counts, edges};
}

HistogramDd histogramdd_int(Lower& l, Tensor self, int64_t bins, Optional<std::vector<double>> range,
                            Optional<Tensor> weight, bool density) {
  constexpr int64_t kMaxCoordinates = 64;
  if (self.rank() < 1 || self.dim(-1) > Dim(kMaxCoordinates)) return l.wrong("histogramdd of " + describe(self));
  return histogramdd(l, self, std::vector<int64_t>(static_cast<size_t>(l.pin(self.dim(-1))), bins), std::move(range),
                     weight, density);
}

HistogramDd histogramdd_edges(Lower& l, Tensor self, TensorList bins, Ignored, Optional<Tensor> weight, bool density) {
  if (self.is_poison()) return {};
  auto x = coordinates_of(l, self, bins.size());
  if (!x || !weight_fits(l, weight, *x)) return {};
  for (Tensor& edges : bins) {
    if (edges.rank() != 1 || edges.dim(0) < Dim(2)) return l.wrong("histogramdd between " + describe(edges));
    edges = l.to(edges, self.dtype());
  }
  Tensor counts = count_boxes(l, *x, bins, weight, density);
  return {counts, bins};
}

// ---- segments: runs of the first axis, reduced each

double start_of_segment(const std::string& reduce) {
  if (reduce == "prod") return 1;
  if (reduce == "max") return -std::numeric_limits<double>::infinity();
  return reduce == "min" ? std::numeric_limits<double>::infinity() : 0;
}

Tensor segment_reduce(Lower& l, Tensor data, std::string reduce, Optional<Tensor> lengths, Optional<Tensor> indices,
                      Optional<Tensor> offsets, int64_t axis, bool, Optional<Scalar> initial) {
  if (data.is_poison()) return {};
  if (indices || (!lengths && !offsets)) return l.unsupported("indices", "a tensor", "pass lengths or offsets");
  if (axis != 0 || data.rank() < 1 || (lengths ? *lengths : *offsets).rank() != 1)
    return l.unsupported("axis", std::to_string(axis),
                         "segments are reduced along the first axis of one list of lengths only");
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kReductions{
      {{"sum", "sum"}, {"mean", "sum"}, {"prod", "prod"}, {"max", "amax"}, {"min", "amin"}}};
  auto known = std::find_if(kReductions.begin(), kReductions.end(), [&](const auto& r) { return r.first == reduce; });
  if (known == kReductions.end()) return l.unsupported("reduce", "'" + reduce + "'");
  Value ends, counts;
  if (lengths) {
    counts = l.read(*lengths, DType::Int64);
    ends = cumulate(l, counts, 0, Reducer::Add);
  } else {
    if (offsets->dim(0) < Dim(1)) return l.wrong("offsets of no segments");
    Value all = l.read(*offsets, DType::Int64);
    Dim n = offsets->dim(0);
    ends = l.hlo.slice(all, {Dim(1)}, {n});
    counts = l.hlo.subtract(ends, l.hlo.slice(all, {Dim(0)}, {n - 1}));
  }
  Dim segments = lengths ? lengths->dim(0) : offsets->dim(0) - 1;
  IndexPlan plan{.axes = {0}, .places = {}, .shape = {data.dim(0)}, .front = 0, .result = data.shape()};
  plan.places.push_back(search_sorted(l, ends, l.hlo.iota({DType::Int64, {data.dim(0)}}, 0), true));
  Dims shape = data.shape();
  shape[0] = segments;
  Value start = l.full(shape, data.dtype(), initial.value_or(start_of_segment(reduce)));
  Value out = scatter_reduced(l, start, l.read(data), std::string(known->second), true,
                              [&](Value base, Value updates, Optional<Reducer> reducer) {
                                return scatter_planned(l, base, plan, updates, reducer);
                              });
  if (reduce != "mean") return l.make(out);
  // A segment without elements has no mean, unless it starts from a given number.
  Value divisor = l.hlo.broadcast_in_dim(l.convert(counts, data.dtype()), shape, {0});
  Value none = l.hlo.compare(divisor, l.full_like(divisor, 0), ComparisonDirection::Eq);
  Value empty = initial ? out : l.full_like(out, std::nan(""));
  return l.make(l.hlo.select(none, empty, l.hlo.divide(out, divisor)));
}

}  // namespace

std::span<const Row> histogram_ops() {
  static constexpr Row rows[] = {
      op<bincount>("bincount"),
      op<histc>("histc"),
      op<histogram_count>("histogram.bin_ct"),
      op<histogram_bins>("histogram.bins_tensor"),
      op<histogramdd>("histogramdd"),
      op<histogramdd_edges>("histogramdd.TensorList_bins"),
      op<histogramdd_int>("histogramdd.int_bins"),
      op<segment_reduce>("segment_reduce"),
  };
  return rows;
}

}  // namespace torchlift::aten
