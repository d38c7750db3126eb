// Two-sided Jacobi rotations for Hermitian matrices, one-sided ones (Hestenes) for singular values. The columns stand
// in two halves, left and right: column i of the left and of the right are a pair, all pairs are rotated at once, and
// between two steps the columns move on as the players of a round-robin tournament do, so that each pair meets once in
// a sweep. Brent and Luk, SIAM J. Sci. Stat. Comput. 6 (1985) 69; Golub and Van Loan, Matrix Computations, 8.5 and 8.6.
#include "aten/jacobi.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <span>

#include "aten/axes.hpp"
#include "aten/formula.hpp"

namespace torchlift::aten {
namespace {

constexpr int64_t kMostSweeps = 40;  // convergence is quadratic: ten are enough for any matrix of double precision

Formula sum(Formula x, int64_t axis) { return x.with(x.hlo().reduce(x, {axis}, Reducer::Add)); }

// A rotation of columns p and q of each pair: p' = c p - s conj(phase) q, q' = s phase p + c q.
struct Rotation {
  Formula cosine;  // [batch, h], real
  Formula sine;    // [batch, h], of the matrix's dtype, its phase included
};

// The rotation that makes [[app, apq], [conj(apq), aqq]] diagonal; none where apq is zero.
Rotation rotation_of(Formula app, Formula aqq, Formula apq) {
  Formula size = abs(apq);
  Formula none = eq(size, 0);
  Formula safe = select(none, 1, size);
  Formula tau = (aqq - app) / (safe * 2.0);
  Formula t = select(tau < 0, -1, tau.like(1)) / (abs(tau) + sqrt(tau * tau + 1.0));
  t = select(none, 0, t);
  Formula cosine = rsqrt(t * t + 1.0);
  Formula phase = apq / as_dtype(safe, apq.dtype());
  return {cosine, as_dtype(t * cosine, apq.dtype()) * phase};
}

// The columns of a matrix [batch, m, 2h] in two halves of [batch, m, h].
struct Halves {
  Formula left, right;
};

Halves halves_of(Lower& l, Value v) {
  Dim width = l.type(v).dims[2], h = floordiv(width, 2);
  return {{l, slice_axis(l, v, 2, 0, h)}, {l, slice_axis(l, v, 2, h, width)}};
}
Value joined(const Halves& v) { return v.left.hlo().concatenate({v.left, v.right}, 2); }

Halves rotated(const Halves& v, const Rotation& r) {
  auto spread = [&](Formula x) { return x.with(x.hlo().broadcast_in_dim(x, x.lower().type(v.left).dims, {0, 2})); };
  Formula c = spread(as_dtype(r.cosine, v.left.dtype())), s = spread(r.sine);
  return {c * v.left - conjugate(s) * v.right, s * v.left + c * v.right};
}

// One step of the tournament: the first of the left stays, all others move on by one place.
Value moved_on(Lower& l, Value v, int64_t axis) {
  Dim width = l.type(v).dims[static_cast<size_t>(axis)], h = floordiv(width, 2);
  if (h <= Dim(1)) return v;
  auto part = [&](Dim from, Dim to) { return slice_axis(l, v, axis, from, to); };
  Values order{part(0, 1), part(h, h + Dim(1))};
  if (h > Dim(2)) order.push_back(part(1, h - Dim(1)));
  order.push_back(part(h + Dim(1), width));
  order.push_back(part(h - Dim(1), h));
  return l.hlo.concatenate(order, axis);
}

// Even widths: a column of zeros more.
Value even(Lower& l, Value v, int64_t axis) {
  Dim width = l.type(v).dims[static_cast<size_t>(axis)];
  return l.pin(width) % 2 == 0 ? v : pad_axis(l, v, axis, 0, 1);
}

// Sweeps over `state` until `open` says that nothing is left to do. A sweep has steps for every pair once.
Values sweeps(Lower& l, Values state, const Dim& width, const std::function<Values(std::span<const Value>)>& step,
              const std::function<Value(std::span<const Value>)>& open) {
  auto counted = [&](const Dim& limit) {
    return [&l, limit](std::span<const Value> v) {
      return l.hlo.compare(v[0], number(l, limit), ComparisonDirection::Lt);
    };
  };
  auto next = [&](Value count) { return l.hlo.add(count, number(l, 1)); };
  auto sweep = [&](std::span<const Value> v) -> Values {
    Values inner{number(l, 0)};
    inner.insert(inner.end(), v.begin() + 1, v.end());
    auto one = [&](std::span<const Value> w) -> Values {
      Values out = step(w.subspan(1));
      out.insert(out.begin(), next(w[0]));
      return out;
    };
    Values out = l.hlo.while_(inner, counted(width - Dim(1)), one);
    out[0] = next(v[0]);
    return out;
  };
  auto more = [&](std::span<const Value> v) { return l.hlo.and_(counted(Dim(kMostSweeps))(v), open(v.subspan(1))); };
  state.insert(state.begin(), number(l, 0));
  Values out = l.hlo.while_(state, more, sweep);
  out.erase(out.begin());
  return out;
}

}  // namespace

Eigen hermitian_eigen(Lower& l, Value a) {
  if (!a.has_value()) return {};
  const Dims s = l.type(a).dims;
  DType dtype = l.type(a).dtype, real_dtype = real_of(dtype);
  Dim n = s[1];
  if (n == Dim(0) || s[0] == Dim(0)) return {l.full({s[0], n}, real_dtype, 0), a};
  ScaledMatrices scaled = scaled_into_range(l, a);
  // The added row and column are zero, and stay so: their eigenvalue is taken out at the end by its place.
  Value whole = even(l, even(l, scaled.matrices, 1), 2);
  Dim width = l.type(whole).dims[1], h = floordiv(width, 2);
  Value vectors = identity_matrix(l, dtype, {s[0], width, width});
  auto step = [&](std::span<const Value> v) -> Values {
    Halves columns = halves_of(l, v[0]);
    Formula top_left{l, slice_axis(l, columns.left, 1, 0, h)}, top_right{l, slice_axis(l, columns.right, 1, 0, h)};
    Formula bottom_right{l, slice_axis(l, columns.right, 1, h, width)};
    auto diagonal = [&](Formula x) { return x.with(diagonal_of(l, x)); };
    Rotation r = rotation_of(real_part(diagonal(top_left)), real_part(diagonal(bottom_right)), diagonal(top_right));
    Value turned = adjoint(l, joined(rotated(columns, r)));  // (A J)^H = J^H A
    turned = joined(rotated(halves_of(l, turned), r));       // J^H A J, Hermitian
    Value next = moved_on(l, moved_on(l, turned, 1), 2);
    return {next, moved_on(l, joined(rotated(halves_of(l, v[1]), r)), 2)};
  };
  auto open = [&](std::span<const Value> v) -> Value {
    Formula size = abs(Formula{l, v[0]});
    Formula diagonal{l, identity_matrix(l, DType::Bool, l.type(v[0]).dims)};
    auto norm = [&](Formula x) { return sum(sum(x * x, 2), 1); };
    Formula all = norm(size), off = norm(select(diagonal, 0, size));
    double eps = epsilon(real_dtype);
    return any(off > all * (eps * eps));
  };
  Values out = sweeps(l, {whole, vectors}, width, step, open);
  if (out.size() < 2 || !out[0].has_value()) return {};
  Formula values = real_part(Formula{l, diagonal_of(l, out[0])});
  Value found = out[1];
  if (!(width == n)) {
    // The column of the added row is the one with a one there: it goes last.
    Formula added = abs(Formula{l, slice_axis(l, out[1], 1, n, width)});
    Formula is_added = values.with(l.hlo.reshape(added, l.type(values).dims)) > 0.5;
    values = select(is_added, std::numeric_limits<double>::infinity(), values);
    found = slice_axis(l, out[1], 1, 0, n);
  }
  SortedColumns sorted = sort_columns(l, values, {found});
  if (sorted.columns.empty()) return {};
  return {scaled_back(l, slice_axis(l, sorted.keys, 1, 0, n), scaled.factor),
          slice_axis(l, sorted.columns[0], 2, 0, n)};
}

Singular singular_values(Lower& l, Value a) {
  if (!a.has_value()) return {};
  const Dims s = l.type(a).dims;
  if (s[1] < s[2]) {  // of the adjoint, with u and v exchanged
    Singular other = singular_values(l, adjoint(l, a));
    return {other.v, other.values, other.u};
  }
  DType dtype = l.type(a).dtype, real_dtype = real_of(dtype);
  Dim m = s[1], n = s[2];
  if (product(s) == Dim(0)) {
    Dim k = min(m, n);
    return {l.full({s[0], m, k}, dtype, 0), l.full({s[0], k}, real_dtype, 0), l.full({s[0], n, k}, dtype, 0)};
  }
  ScaledMatrices scaled = scaled_into_range(l, a);
  Value whole = even(l, scaled.matrices, 2);
  Dim width = l.type(whole).dims[2];
  // The added column has no counterpart in v: v is [n, width], and turns with the columns of a.
  Value vectors = identity_matrix(l, dtype, {s[0], n, width});
  auto step = [&](std::span<const Value> v) -> Values {
    Halves columns = halves_of(l, v[0]);
    auto dot = [&](Formula x, Formula y) { return sum(conjugate(x) * y, 1); };
    Rotation r = rotation_of(real_part(dot(columns.left, columns.left)), real_part(dot(columns.right, columns.right)),
                             dot(columns.left, columns.right));
    return {moved_on(l, joined(rotated(columns, r)), 2), moved_on(l, joined(rotated(halves_of(l, v[1]), r)), 2)};
  };
  // Open while two columns, as vectors of length one, have a product above the rounding of such a sum.
  double tolerance = epsilon(real_dtype) * std::sqrt(static_cast<double>(l.pin(m)));
  auto open = [&](std::span<const Value> v) -> Value {
    Formula products = abs(Formula{l, batch_product(l, adjoint(l, v[0]), v[0])});
    Formula squares{l, diagonal_of(l, products)};
    const Dims grid = l.type(products).dims;
    Formula rows = products.with(l.hlo.broadcast_in_dim(squares, grid, {0, 1}));
    Formula columns = products.with(l.hlo.broadcast_in_dim(squares, grid, {0, 2}));
    Formula diagonal{l, identity_matrix(l, DType::Bool, grid)};
    return any((!diagonal) & (products > sqrt(rows) * sqrt(columns) * tolerance));
  };
  Values out = sweeps(l, {whole, vectors}, width, step, open);
  if (out.size() < 2 || !out[0].has_value()) return {};
  Formula columns{l, out[0]};
  Formula size = abs(columns);
  Formula lengths = sqrt(sum(size * size, 1));
  // The added column never gained anything and goes last with its length of zero, if another zero does not tie: either
  // is as good, but the one that v does not know must go.
  Formula order = -lengths;
  if (!(width == n)) {
    Formula known = abs(Formula{l, out[1]});
    order = select(eq(sum(known, 1), 0), std::numeric_limits<double>::infinity(), order);
  }
  SortedColumns sorted = sort_columns(l, order, {columns, out[1]});
  if (sorted.columns.size() < 2) return {};
  Formula values = -Formula(l, slice_axis(l, sorted.keys, 1, 0, n));
  Formula u{l, slice_axis(l, sorted.columns[0], 2, 0, n)};
  Formula divisor = as_dtype(select(eq(values, 0), 1, values), dtype);
  return {u / u.with(l.hlo.broadcast_in_dim(divisor, l.type(u).dims, {0, 2})), scaled_back(l, values, scaled.factor),
          slice_axis(l, sorted.columns[1], 2, 0, n)};
}

}  // namespace torchlift::aten
