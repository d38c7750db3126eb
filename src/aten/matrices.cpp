#include "aten/matrices.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "aten/axes.hpp"
#include "aten/formula.hpp"

namespace torchlift::aten {

bool expect_matrices(Lower& l, Tensor a, bool square) {
  if (a.is_poison()) return false;
  DType d = a.dtype();
  bool lapack = d == DType::Float32 || d == DType::Float64 || d == DType::Complex64 || d == DType::Complex128;
  if (lapack && a.rank() >= 2 && (!square || a.dim(-1) == a.dim(-2))) return true;
  l.wrong(std::string("expected ") + (square ? "square " : "") + "matrices of single or double precision, got " +
          describe(a));
  return false;
}

Dims batch_of(Tensor t) {
  return t.rank() < 2 ? Dims() : Dims(t.shape().begin(), t.shape().end() - 2);  // poison has no axes
}

Dims with(Dims dims, std::initializer_list<Dim> more) {
  dims.insert(dims.end(), more);
  return dims;
}

Value as_batch(Lower& l, Tensor t) { return l.hlo.reshape(l.read(t), {product(batch_of(t)), t.dim(-2), t.dim(-1)}); }

Tensor make_shaped(Lower& l, Value v, Dims shape) { return l.make(l.hlo.reshape(v, std::move(shape))); }

Tensor make_columns(Lower& l, Value v, Dims shape) {
  Dims strides = column_major_strides(shape);
  return l.make(l.hlo.reshape(v, std::move(shape)), std::move(strides));
}

Dims column_major_strides(const Dims& shape) {
  Dims swapped = shape;
  std::swap(swapped[swapped.size() - 1], swapped[swapped.size() - 2]);
  Dims strides = contiguous_strides(swapped);
  std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  return strides;
}

double epsilon(DType real) {
  return real == DType::Float64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
}

Value number(Lower& l, const Dim& n) { return l.constant(DType::Int64, Scalar(n)); }

Value transpose_last_two(Lower& l, Value v) {
  if (!v.has_value()) return {};
  Ints order;
  for (int64_t i = 0; i < static_cast<int64_t>(l.type(v).rank()); ++i) order.push_back(i);
  if (order.size() < 2) return {};
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return l.hlo.transpose(v, std::move(order));
}

Value adjoint(Lower& l, Value v) { return conj(l, transpose_last_two(l, v)); }

Value identity_matrix(Lower& l, DType dtype, const Dims& shape) {
  auto rank = static_cast<int64_t>(shape.size());
  Value row = l.hlo.iota({DType::Int64, shape}, rank - 2);
  Value column = l.hlo.iota({DType::Int64, shape}, rank - 1);
  return l.convert(l.hlo.compare(row, column, ComparisonDirection::Eq), dtype);
}

Value keep_triangle(Lower& l, Value v, bool lower) {
  if (!v.has_value()) return {};
  Dims shape = l.type(v).dims;
  auto rank = static_cast<int64_t>(shape.size());
  Value row = l.hlo.iota({DType::Int64, shape}, rank - 2);
  Value column = l.hlo.iota({DType::Int64, shape}, rank - 1);
  Value inside = l.hlo.compare(row, column, lower ? ComparisonDirection::Ge : ComparisonDirection::Le);
  return l.hlo.select(inside, v, l.full_like(v, 0));
}

Value diagonal_of(Lower& l, Value v) {
  if (!v.has_value()) return {};
  const Dims s = l.type(v).dims;
  Dim m = s[s.size() - 2], n = s[s.size() - 1], k = min(m, n);
  Dims flat(s.begin(), s.end() - 2);
  int64_t axis = static_cast<int64_t>(flat.size());
  if (k == Dim(0)) return l.full(with(flat, {Dim(0)}), l.type(v).dtype, 0);
  Value line = l.hlo.reshape(v, with(flat, {m * n}));
  return slice_axis(l, line, axis, 0, (k - Dim(1)) * (n + Dim(1)) + Dim(1), l.pin(n) + 1);
}

SortedColumns sort_columns(Lower& l, Value keys, const Values& columns) {
  const Dims s = l.type(keys).dims;
  Value place = l.hlo.iota({DType::Int64, s}, 1);
  Values sorted = l.hlo.sort({keys, place}, 1, true, [&](std::span<const Value> v) {
    return l.hlo.compare(v[0], v[1], ComparisonDirection::Lt);
  });
  if (!sorted[1].has_value()) return {};
  SortedColumns out{sorted[0], {}};
  Dims cell{s[0], s[1], Dim(1)};
  Value batch = l.hlo.iota({DType::Int64, cell}, 0);
  Value index = l.hlo.concatenate({batch, l.hlo.reshape(sorted[1], cell)}, 2);
  for (Value v : columns) {
    stablehlo::Gather g{};
    g.offset_dims = {1};
    g.collapsed_slice_dims = g.start_index_map = {0, 2};
    g.index_vector_dim = 2;
    g.slice_sizes = {Dim(1), l.type(v).dims[1], Dim(1)};
    out.columns.push_back(l.hlo.gather(v, index, std::move(g)));
  }
  return out;
}

namespace {

// A complex number's parts each; a division by a complex number would leave the range that this is for.
template <typename Fn>
Formula by_parts(Formula x, Fn&& fn) {
  return is_complex(x.dtype()) ? complex(fn(real(x)), fn(imag(x))) : fn(x);
}

Formula over_batch(Formula x, const Dims& dims) { return x.with(x.hlo().broadcast_in_dim(x, dims, {0})); }

}  // namespace

ScaledMatrices scaled_into_range(Lower& l, Value v) {
  Formula x(l, v);
  const Dims s = l.type(v).dims;
  DType real_dtype = real_of(x.dtype());
  bool wide = real_dtype == DType::Float64;
  double smallest = wide ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  double low = std::sqrt(smallest) / epsilon(real_dtype);  // xGESVD's and xGEEV's bound
  Formula size = is_complex(x.dtype()) ? max(abs(real(x)), abs(imag(x))) : abs(x);
  Formula greatest = size.with(l.hlo.reduce(size, {1, 2}, Reducer::MaximumNan));
  Formula outside = (greatest < low) | (greatest > 1 / low);
  Formula factor = select(outside & is_finite(greatest) & (greatest > 0), greatest, 1);
  return {by_parts(x, [&](Formula part) { return part / over_batch(factor, s); }), factor};
}

Value scaled_back(Lower& l, Value v, Value factor) {
  if (!v.has_value()) return {};
  const Dims s = l.type(v).dims;
  return by_parts({l, v}, [&](Formula part) { return part * over_batch({l, factor}, s); });
}

Value pivot_size(Lower& l, Value v) {
  if (!v.has_value() || !is_complex(l.type(v).dtype)) return l.hlo.abs(v);
  return l.hlo.add(l.hlo.abs(l.hlo.real(v)), l.hlo.abs(l.hlo.imag(v)));
}

Value permute_rows(Lower& l, Value v, Value order) {
  const Dims s = l.type(v).dims;
  Dims grid{s[0], s[1]}, column{s[0], s[1], Dim(1)};
  Value index =
      l.hlo.concatenate({l.hlo.reshape(l.hlo.iota({DType::Int64, grid}, 0), column), l.hlo.reshape(order, column)}, 2);
  stablehlo::Gather g{};
  g.offset_dims = {2};
  g.collapsed_slice_dims = g.start_index_map = {0, 1};
  g.index_vector_dim = 2;
  g.slice_sizes = {Dim(1), Dim(1), s[2]};
  return l.hlo.gather(v, index, std::move(g));
}

Value inverse_order(Lower& l, Value order) {
  if (!order.has_value()) return {};
  Value place = l.hlo.iota({DType::Int64, l.type(order).dims}, 1);
  return l.hlo.sort({order, place}, 1, true,
                    [&](std::span<const Value> v) { return l.hlo.compare(v[0], v[1], ComparisonDirection::Lt); })[1];
}

Value batch_product(Lower& l, Value a, Value b) {
  stablehlo::DotGeneral d{};
  d.lhs_batching_dimensions = d.rhs_batching_dimensions = {0};
  d.lhs_contracting_dimensions = {2};
  d.rhs_contracting_dimensions = {1};
  d.precision = lower::Precision::Highest;
  return l.hlo.dot_general(a, b, std::move(d));
}

}  // namespace torchlift::aten
