// Sorting and selecting by order: sort, topk, kthvalue, median, mode; searching in sorted sequences; isin.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "aten/axes.hpp"
#include "aten/families.hpp"
#include "aten/formula.hpp"
#include "aten/indexing.hpp"
#include "aten/shaping.hpp"
#include "aten/sorting.hpp"
#include "base/kinds.hpp"

namespace torchlift::aten {
namespace {

using Pair = std::tuple<Tensor, Tensor>;

size_t at(int64_t i) { return static_cast<size_t>(i); }

struct Sorted {
  Value values, places;
};

// Stable. Every NaN is the largest; -0 equals 0.
Sorted sort_values(Lower& l, Value v, const Dims& shape, int64_t axis, bool descending) {
  Value places = l.hlo.iota({DType::Int64, shape}, axis);
  Values out = l.hlo.sort({v, places}, axis, true, [&](std::span<const Value> a) {
    Value first = descending ? a[1] : a[0], second = descending ? a[0] : a[1];
    Value less = l.hlo.compare(first, second, ComparisonDirection::Lt);
    if (!is_float(l.type(first).dtype)) return less;
    Value only_second_nan = l.hlo.and_(l.is_nan(second), l.hlo.not_(l.is_nan(first)));
    return l.hlo.or_(less, only_second_nan);
  });
  return {out[0], out[1]};
}

bool has_order(Lower& l, const Tensor& self) {
  if (is_complex(self.dtype())) l.wrong("complex numbers have no order");
  return !is_complex(self.dtype());
}

Pair sort(Lower& l, Tensor self, int64_t dim, bool descending) {
  if (self.is_poison() || !has_order(l, self)) return {};
  auto axis = l.axis(dim, self.rank());
  if (!axis) return {};
  Value v = l.read(self);
  if (self.rank() == 0) return {l.make(v), l.make(l.constant(DType::Int64, 0))};
  Sorted s = sort_values(l, v, self.shape(), *axis, descending);
  Dims strides = lower::dense_strides_like(self.shape(), self.strides());
  return {l.make(s.values, strides), l.make(s.places, strides)};
}
Pair sort_stable(Lower& l, Tensor self, Ignored, int64_t dim, bool descending) {
  return sort(l, self, dim, descending);
}
Tensor argsort(Lower& l, Tensor self, int64_t dim, bool descending) {
  return std::get<1>(sort(l, self, dim, descending));
}
Tensor argsort_stable(Lower& l, Tensor self, Ignored, int64_t dim, bool descending) {
  return argsort(l, self, dim, descending);
}
Tensor msort(Lower& l, Tensor self) { return std::get<0>(sort(l, self, 0, false)); }

// Numbers that float32 holds exactly.
bool fits_float32(DType dtype) { return dtype == DType::Float32 || info(dtype).bytes <= 2; }

// The k first of an axis sorted by sort_values, in the one form that XLA knows to be a top-k and does without sorting
// the rest: rows of float32 compared by nothing but GT, places in int32, both cut to k. In the total order of
// IEEE 754 a positive NaN is the largest, a negative one the smallest.
Sorted top_values(Lower& l, Value v, int64_t axis, const Dim& k, bool largest) {
  DType dtype = l.type(v).dtype;
  Value moved = move_last(l, v, axis);
  Dims shape = l.type(moved).dims;
  Dim size = shape.back();
  Formula x(l, l.convert(moved, DType::Float32));
  Formula keys = select(is_nan(x), std::numeric_limits<double>::quiet_NaN(), x);
  if (!largest) keys = -keys;
  Dims rows{floordiv(product(shape), size), size};
  Values out = l.hlo.sort(
      {l.hlo.reshape(keys, rows), l.hlo.iota({DType::Int32, rows}, 1)}, 1, true, [&](std::span<const Value> a) {
        return l.hlo.compare(a[0], a[1], ComparisonDirection::Gt, stablehlo::ComparisonType::TotalOrder);
      });
  shape.back() = k;
  auto first = [&](Value sorted) {
    return move_from_last(l, l.hlo.reshape(slice_axis(l, sorted, 1, 0, k), shape), axis);
  };
  Formula values(l, first(out[0]));
  return {l.convert(largest ? values : -values, dtype), l.convert(first(out[1]), DType::Int64)};
}

// PyTorch selects among numbers, though it sorts bools.
bool selects_in(Lower& l, const Tensor& self) {
  if (is_bool(self.dtype())) l.wrong("PyTorch selects no bool by its order, got " + describe(self));
  return has_order(l, self) && !is_bool(self.dtype());
}

// The k first of the sorted axis. Which of equal elements PyTorch picks is not defined; here the earlier ones. A tensor
// without dimensions is given back, whatever k.
Pair topk(Lower& l, Tensor self, Dim k, int64_t dim, bool largest, bool) {
  if (self.is_poison() || !selects_in(l, self)) return {};
  auto axis = l.axis(dim, self.rank());
  if (!axis) return {};
  Dim size = self.rank() == 0 ? Dim(1) : self.dim(*axis);
  if (k < Dim(0) || k > size) return l.wrong("topk of " + k.text() + " in an axis of " + size.text());
  Value v = l.read(self);
  if (self.rank() == 0) return {l.make(v), l.make(l.constant(DType::Int64, 0))};
  if (fits_float32(self.dtype()) && place_dtype(size) == DType::Int32 && size > Dim(0)) {
    Sorted s = top_values(l, v, *axis, k, largest);
    return {l.make(s.values), l.make(s.places)};
  }
  Sorted s = sort_values(l, v, self.shape(), *axis, largest);
  return {l.make(slice_axis(l, s.values, *axis, 0, k)), l.make(slice_axis(l, s.places, *axis, 0, k))};
}

// ---- the element at one rank of the order

struct RankSite {
  int64_t axis = 0;
  Dims shape;   // of self, rank 0 as one element
  Dims result;  // without the axis, or with one element in its place
};
std::optional<RankSite> rank_site(Lower& l, const Tensor& self, int64_t dim, bool keepdim) {
  auto axis = l.axis(dim, self.rank());
  if (!axis) return std::nullopt;
  if (self.rank() == 0) return RankSite{0, {Dim(1)}, {}};
  RankSite site{*axis, self.shape(), self.shape()};
  if (site.shape[at(*axis)] == Dim(0)) {
    l.wrong("an order statistic of an axis without elements");
    return std::nullopt;
  }
  if (keepdim) site.result[at(*axis)] = 1;
  else site.result.erase(site.result.begin() + *axis);
  return site;
}

Pair at_rank(Lower& l, const Sorted& s, const RankSite& site, const Dim& rank) {
  auto pick = [&](Value v) { return l.make(l.hlo.reshape(slice_axis(l, v, site.axis, rank, rank + 1), site.result)); };
  return {pick(s.values), pick(s.places)};
}

Pair kthvalue(Lower& l, Tensor self, Dim k, int64_t dim, bool keepdim) {
  if (self.is_poison() || !selects_in(l, self)) return {};
  auto site = rank_site(l, self, dim, keepdim);
  if (!site) return {};
  if (k < Dim(1) || k > site->shape[at(site->axis)]) return l.wrong("kthvalue with k " + k.text());
  Sorted s = sort_values(l, l.hlo.reshape(l.read(self), site->shape), site->shape, site->axis, false);
  return at_rank(l, s, *site, k - 1);
}

// At the ranks given for each line of the axis (sizes of the axis 1).
Pair at_ranks(Lower& l, const Sorted& s, const RankSite& site, Value ranks) {
  Tensor places = l.make(ranks);
  auto pick = [&](Value v) {
    Tensor element = gather(l, l.make(v), site.axis, places, false);
    return l.make(l.hlo.reshape(l.read(element), site.result));
  };
  return {pick(s.values), pick(s.places)};
}

Value count_along(Lower& l, Value flags, int64_t axis) {
  Value counts = l.hlo.reduce(l.hlo.convert(flags, DType::Int64), {axis}, Reducer::Add);
  return insert_axis(l, counts, axis);
}

// The lower of the two middle elements. A NaN anywhere is the median (the first one); nanmedian leaves NaNs out, unless
// there is nothing else.
Pair median_along(Lower& l, Tensor self, int64_t dim, bool keepdim, bool ignore_nan) {
  if (self.is_poison() || !has_order(l, self)) return {};
  auto site = rank_site(l, self, dim, keepdim);
  if (!site) return {};
  Value v = l.hlo.reshape(l.read(self), site->shape);
  Sorted s = sort_values(l, v, site->shape, site->axis, false);
  Dim n = site->shape[at(site->axis)];
  if (!is_float(self.dtype())) return at_rank(l, s, *site, floordiv(n - 1, 2));
  // NaNs stand last, in their own order: the first of them at n - nans.
  Value nans = count_along(l, l.is_nan(v), site->axis);
  Value numbers = l.hlo.subtract(l.full_like(nans, Scalar(n)), nans);
  Value none = l.full_like(nans, 0);
  Value ranks;
  if (ignore_nan) {
    Value middle = l.hlo.divide(l.hlo.subtract(numbers, l.full_like(nans, 1)), l.full_like(nans, 2));
    ranks = l.hlo.maximum(middle, none);
  } else {
    Value any = l.hlo.compare(nans, none, ComparisonDirection::Gt);
    ranks = l.hlo.select(any, numbers, l.full_like(nans, Scalar(floordiv(n - 1, 2))));
  }
  return at_ranks(l, s, *site, ranks);
}

template <bool kIgnoreNan>
Pair median_dim(Lower& l, Tensor self, int64_t dim, bool keepdim) {
  return median_along(l, self, dim, keepdim, kIgnoreNan);
}

// Over all elements; of none it is NaN.
template <bool kIgnoreNan>
Tensor median(Lower& l, Tensor self) {
  if (self.is_poison()) return {};
  if (self.is_empty()) {
    if (is_float(self.dtype())) return l.make(l.constant(self.dtype(), std::nan("")));
    return l.make(l.constant(self.dtype(), l.lowest(self.dtype())));
  }
  return std::get<0>(median_along(l, reshape(l, self, {self.numel()}), 0, false, kIgnoreNan));
}

// The most frequent element, of several the smallest, and its last place. NaNs are equal to nothing.
Pair mode(Lower& l, Tensor self, int64_t dim, bool keepdim) {
  if (self.is_poison() || !has_order(l, self)) return {};
  auto site = rank_site(l, self, dim, keepdim);
  if (!site) return {};
  Sorted s = sort_values(l, l.hlo.reshape(l.read(self), site->shape), site->shape, site->axis, false);
  // How many elements equal each one: every pair along the axis is compared.
  Dim n = site->shape[at(site->axis)];
  Dims pairs = site->shape;
  pairs.insert(pairs.begin() + site->axis, n);
  Ints as_row, as_column;
  for (int64_t i = 0; i <= static_cast<int64_t>(site->shape.size()); ++i) {
    if (i != site->axis) as_row.push_back(i);
    if (i != site->axis + 1) as_column.push_back(i);
  }
  Value equal = l.hlo.compare(l.hlo.broadcast_in_dim(s.values, pairs, as_row),
                              l.hlo.broadcast_in_dim(s.values, pairs, as_column), ComparisonDirection::Eq);
  Value counts = l.hlo.reduce(l.hlo.convert(equal, DType::Int64), {site->axis}, Reducer::Add);
  counts = l.hlo.maximum(counts, l.full_like(counts, 1));
  Value most = insert_axis(l, l.hlo.reduce(counts, {site->axis}, Reducer::Maximum), site->axis);
  // The first run of that length ends `most` - 1 after the first place where it is reached.
  Value ranks = l.hlo.iota({DType::Int64, site->shape}, site->axis);
  Value best = l.hlo.compare(counts, l.broadcast_to(most, site->shape), ComparisonDirection::Eq);
  Value first = l.hlo.reduce(l.hlo.select(best, ranks, l.full_like(ranks, Scalar(n))), {site->axis}, Reducer::Minimum);
  Value last = l.hlo.subtract(l.hlo.add(insert_axis(l, first, site->axis), most), l.full_like(most, 1));
  return at_ranks(l, s, *site, last);
}

// ---- quantiles

// The place in the order as a float: where it falls between two elements, `interpolation` says what is taken.
Tensor interpolated(Lower& l, Tensor sorted, Tensor ranks, const std::string& interpolation) {
  DType dtype = sorted.dtype();
  Value r = l.read(ranks);
  if (interpolation == "lower") r = l.hlo.floor(r);
  if (interpolation == "higher") r = l.hlo.ceil(r);
  if (interpolation == "nearest") r = l.hlo.round_nearest_even(r);
  auto element = [&](Value rank) {
    return l.read(gather(l, sorted, -1, l.make(l.convert(rank, DType::Int64)), false));
  };
  Value below = l.hlo.floor(r), low = element(below);
  if (interpolation != "linear" && interpolation != "midpoint") return l.make(low);
  Value high = element(l.hlo.ceil(r));
  Value weight = interpolation == "midpoint" ? l.full_like(r, 0.5) : l.hlo.subtract(r, below);
  // lerp, from the nearer end
  Value span = l.hlo.subtract(high, low), half = l.constant(dtype, 0.5), one = l.full_like(weight, 1);
  Value near_low = l.hlo.compare(weight, l.broadcast_to(half, ranks.shape()), ComparisonDirection::Lt);
  return l.make(l.hlo.select(near_low, l.hlo.add(low, l.hlo.multiply(weight, span)),
                             l.hlo.subtract(high, l.hlo.multiply(span, l.hlo.subtract(one, weight)))));
}

// q: one rank, or a list of them, which becomes the first axis. A NaN in a line gives NaN; nanquantile leaves NaNs out.
template <bool kIgnoreNan>
Tensor quantile(Lower& l, Tensor self, Tensor q, Optional<int64_t> dim, bool keepdim, std::string interpolation) {
  static constexpr std::string_view kKinds[] = {"linear", "lower", "higher", "midpoint", "nearest"};
  if (std::find(std::begin(kKinds), std::end(kKinds), interpolation) == std::end(kKinds))
    return l.unsupported("interpolation", "'" + interpolation + "'");
  if (self.is_poison() || q.is_poison()) return {};
  if (!is_float(self.dtype()) || q.rank() > 1 || self.is_empty())
    return l.wrong("quantile of " + describe(self) + " at " + describe(q));
  auto axis = l.axis(dim.value_or(0), self.rank());
  if (!axis) return {};
  Dims reduced = keepdim ? self.shape() : Dims{};
  for (Dim& d : reduced) d = dim && &d != &reduced[at(*axis)] ? d : Dim(1);
  if (dim && !keepdim && self.rank() > 0) {
    reduced = self.shape();
    reduced.erase(reduced.begin() + *axis);
  }
  Tensor lines = !dim || self.rank() == 0 ? reshape(l, self, {self.numel()}) : movedim(l, self, *axis, -1);
  int64_t last = lines.rank() - 1;
  Dim n = lines.dim(-1), count = q.numel();
  Tensor sorted = l.make(sort_values(l, l.read(lines), lines.shape(), last, false).values);
  Dims shape = lines.shape();
  shape[at(last)] = count;
  DType dtype = self.dtype();
  Value flags = l.is_nan(l.read(sorted));
  Value nans = l.broadcast_to(l.convert(count_along(l, flags, last), dtype), shape);
  Value places = l.hlo.broadcast_in_dim(l.hlo.reshape(l.read(q, dtype), {count}), shape, {last});
  Value end = l.full(shape, dtype, Scalar(n - 1)), zero = l.full(shape, dtype, 0);
  Value ranks;
  if (kIgnoreNan) {
    ranks = l.hlo.maximum(l.hlo.multiply(places, l.hlo.subtract(end, nans)), zero);
  } else {
    ranks = l.hlo.select(l.hlo.compare(nans, zero, ComparisonDirection::Gt), end, l.hlo.multiply(places, end));
  }
  Tensor out = movedim(l, interpolated(l, sorted, l.make(ranks), interpolation), -1, 0);
  if (q.rank() == 1) reduced.insert(reduced.begin(), count);
  return fresh(l, reshape(l, out, std::move(reduced)));
}

template <bool kIgnoreNan>
Tensor quantile_scalar(Lower& l, Tensor self, double q, Optional<int64_t> dim, bool keepdim,
                       std::string interpolation) {
  if (self.is_poison()) return {};
  return quantile<kIgnoreNan>(l, self, l.make(l.constant(self.dtype(), q)), dim, keepdim, std::move(interpolation));
}

// ---- searching

}  // namespace

Value search_sorted(Lower& l, Value sequence, Value values, bool right) {
  Dims shape = l.type(values).dims, lines = l.type(sequence).dims;
  if (lines.empty()) return {};
  Dim n = lines.back();
  Value low = l.full(shape, DType::Int64, 0), high = l.full(shape, DType::Int64, Scalar(n));
  Value one = l.full_like(low, 1);
  stablehlo::Gather g{};
  auto axes = static_cast<int64_t>(lines.size());
  for (int64_t i = 0; i + 1 < axes; ++i) g.operand_batching_dims.push_back(i);
  g.start_indices_batching_dims = g.operand_batching_dims;
  g.collapsed_slice_dims = {axes - 1};
  g.start_index_map = {axes - 1};
  g.index_vector_dim = static_cast<int64_t>(shape.size());
  g.slice_sizes = Dims(lines.size(), Dim(1));
  int64_t rounds = 0;
  for (int64_t left = l.pin(n); left > 0; left /= 2) ++rounds;
  for (int64_t i = 0; i < rounds; ++i) {
    Value open = l.hlo.compare(low, high, ComparisonDirection::Lt);
    Value middle = l.hlo.add(low, l.hlo.shift_right_logical(l.hlo.subtract(high, low), one));
    Value element = l.hlo.gather(sequence, middle, g);
    // Not "less than": a NaN counts as larger than all.
    Value before =
        l.hlo.not_(l.hlo.compare(element, values, right ? ComparisonDirection::Gt : ComparisonDirection::Ge));
    low = l.hlo.select(l.hlo.and_(open, before), l.hlo.add(middle, one), low);
    high = l.hlo.select(l.hlo.and_(open, l.hlo.not_(before)), middle, high);
  }
  return low;
}

namespace {

Tensor searchsorted(Lower& l, Tensor sorted_sequence, Operand self, bool out_int32, bool right,
                    Optional<std::string> side, Optional<Tensor> sorter) {
  if (sorted_sequence.is_poison() || self.is_poison()) return {};
  if (side && *side != "left" && *side != "right") return l.unsupported("side", "'" + *side + "'");
  if (sorted_sequence.rank() == 0) return l.wrong("expected a sequence with dimensions");
  if (sorter) sorted_sequence = gather(l, sorted_sequence, -1, *sorter, false);
  int64_t lines = sorted_sequence.rank() - 1;
  bool fits = lines == 0 || lines == self.rank() - 1;
  for (int64_t i = 0; i < lines && fits; ++i) fits = sorted_sequence.dim(i) == self.dim(i);
  if (!fits) return l.wrong("searchsorted of " + describe(self) + " in " + describe(sorted_sequence));
  DType dtype = self.is_wrapped_number() ? lower::result_type(std::array<Tensor, 2>{sorted_sequence, self})
                                         : lower::promote_types(sorted_sequence.dtype(), self.dtype());
  Value places = search_sorted(l, l.read(sorted_sequence, dtype), l.read(self, dtype), right || side == "right");
  return l.make(out_int32 ? l.convert(places, DType::Int32) : places);
}

Tensor bucketize(Lower& l, Operand self, Tensor boundaries, bool out_int32, bool right) {
  if (!boundaries.is_poison() && !l.expect_rank(boundaries, 1, 1, "boundaries")) return {};
  return searchsorted(l, boundaries, self, out_int32, right, {}, {});
}

// Whether each element equals one of the test elements.
Tensor isin(Lower& l, Operand elements, Operand test_elements, bool, bool invert) {
  if (elements.is_poison() || test_elements.is_poison()) return {};
  DType dtype = lower::result_type(std::array<Tensor, 2>{elements, test_elements});
  Dims table{elements.numel(), test_elements.numel()};
  Value e = l.hlo.reshape(l.read(elements, dtype), {table[0]}),
        t = l.hlo.reshape(l.read(test_elements, dtype), {table[1]});
  Value equal = l.hlo.compare(l.hlo.broadcast_in_dim(e, table, {0}), l.hlo.broadcast_in_dim(t, table, {1}),
                              ComparisonDirection::Eq);
  Value found = l.hlo.reshape(l.hlo.reduce(equal, {1}, Reducer::Or), elements.shape());
  return l.make(invert ? l.hlo.not_(found) : found);
}

// ---- refused

lower::Refused refuse_unique(Lower& l) {
  return l.refuse(Kind::DataDependent, {{"what", std::string("the number of unique elements")},
                                        {"advice", std::string("keep that step outside of the exported part")}});
}
Pair unique(Lower& l, Tensor, bool, bool) { return refuse_unique(l); }
std::tuple<Tensor, Tensor, Tensor> unique2(Lower& l, Tensor, bool, bool, bool) { return refuse_unique(l); }
std::tuple<Tensor, Tensor, Tensor> unique_consecutive(Lower& l, Tensor, bool, bool, Optional<int64_t>) {
  return refuse_unique(l);
}
std::tuple<Tensor, Tensor, Tensor> unique_dim(Lower& l, Tensor, int64_t, bool, bool, bool) { return refuse_unique(l); }

}  // namespace

std::span<const Row> sorting_ops() {
  static constexpr Row rows[] = {
      op<unique>("_unique"),
      op<unique2>("_unique2"),
      op<argsort>("argsort"),
      op<argsort_stable>("argsort.stable"),
      op<bucketize>("bucketize"),
      op<isin>("isin"),
      op<kthvalue>("kthvalue"),
      op<median<false>>("median"),
      op<median_dim<false>>("median.dim"),
      op<mode>("mode"),
      op<msort>("msort"),
      op<median<true>>("nanmedian"),
      op<median_dim<true>>("nanmedian.dim"),
      op<quantile<true>>("nanquantile"),
      op<quantile_scalar<true>>("nanquantile.scalar"),
      op<quantile<false>>("quantile", lower::AutocastRule::Float32),
      op<quantile_scalar<false>>("quantile.scalar", lower::AutocastRule::Float32),
      op<searchsorted>("searchsorted"),
      op<sort>("sort"),
      op<sort_stable>("sort.stable"),
      op<topk>("topk"),
      op<unique_consecutive>("unique_consecutive"),
      op<unique_dim>("unique_dim"),
  };
  return rows;
}

}  // namespace torchlift::aten
