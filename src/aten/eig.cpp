// Eigenvalues of matrices without symmetry: Hessenberg's form, then QR steps with Wilkinson's shift in complex numbers,
// each by one rotation after the other, on all matrices of a batch at once; then the eigenvectors of the triangle.
// Golub and Van Loan, Matrix Computations, 7.4 to 7.6.
#include <limits>
#include <span>

#include "aten/axes.hpp"
#include "aten/formula.hpp"
#include "aten/linear_algebra.hpp"
#include "aten/qr.hpp"

namespace torchlift::aten {
namespace {

constexpr int64_t kStepsPerValue = 30;  // LAPACK's limit; two or three are usual
constexpr int64_t kExceptionalAfter = 10;

Formula as_complex(Formula x) { return complex(x, x.like(0)); }

// Where the work is in each matrix: rows low to high, [batch]. All is done where high is 0.
struct Window {
  Formula low, high;
};

// The matrices [batch, n, n] and places in them.
class Matrices {
 public:
  Matrices(Lower& lower, Value matrices)
      : l(lower), h(l, matrices), dims(l.type(matrices).dims), grid{dims[0], dims[1]} {
    row = Formula(l, l.hlo.iota({DType::Int64, dims}, 1));
    column = Formula(l, l.hlo.iota({DType::Int64, dims}, 2));
    place = Formula(l, l.hlo.iota({DType::Int64, grid}, 1));
  }

  Formula over(Formula x) const { return x.with(l.hlo.broadcast_in_dim(x, dims, {0})); }  // of [batch]
  Formula over_places(Formula x) const { return x.with(l.hlo.broadcast_in_dim(x, grid, {0})); }
  // The element at (i, j) of each matrix, [batch].
  Formula at(Formula i, Formula j) const {
    Formula here = eq(row, over(i)) & eq(column, over(j));
    return h.with(l.hlo.reduce(select(here, h, 0), {1, 2}, Reducer::Add));
  }
  Formula diagonal() const { return h.with(diagonal_of(l, h)); }
  // |h[i, i - 1]| at place i, 0 at place 0.
  Formula subdiagonal() const {
    Dim n = dims[1];
    Value below = slice_axis(l, slice_axis(l, h, 1, 1, n), 2, 0, n - Dim(1));
    return abs(h.with(pad_axis(l, diagonal_of(l, below), 1, 1, 0)));
  }

  Lower& l;
  Formula h;
  Dims dims, grid;
  Formula row{l, {}}, column{l, {}}, place{l, {}};
};

// The rotation [[conj(c), conj(s)], [-s, c]] that clears y below x; none where it is not asked for.
struct Givens {
  Formula c, s;
};
Givens givens(Formula x, Formula y, Formula active) {
  Formula size = max(abs(x), abs(y));
  Formula safe = as_complex(select(eq(size, 0), 1, size));
  Formula a = x / safe, b = y / safe;
  Formula length = sqrt(square(abs(a)) + square(abs(b)));
  Formula usable = active & (length > 0);
  Formula divisor = as_complex(select(usable, length, 1));
  return {select(usable, a / divisor, 1), select(usable, b / divisor, 0)};
}

Value line(Lower& l, Value v, Value k, int64_t axis) {
  Dims s = l.type(v).dims;
  Values start{number(l, 0), number(l, 0), number(l, 0)};
  start[static_cast<size_t>(axis)] = k;
  s[static_cast<size_t>(axis)] = Dim(1);
  return l.hlo.dynamic_slice(v, start, s);
}
Value with_line(Lower& l, Value v, Value k, int64_t axis, Value part) {
  Values start{number(l, 0), number(l, 0), number(l, 0)};
  start[static_cast<size_t>(axis)] = k;
  return l.hlo.dynamic_update_slice(v, part, start);
}

// [batch] over one line of [batch, 1, n] or [batch, n, 1].
Formula over_line(Formula x, Value part) { return x.with(x.hlo().broadcast_in_dim(x, x.lower().type(part).dims, {0})); }

Value rotate_rows(Lower& l, Value v, Value k, const Givens& g) {
  Value next = l.hlo.add(k, number(l, 1));
  Formula upper(l, line(l, v, k, 1)), lower(l, line(l, v, next, 1));
  Formula c = over_line(g.c, upper), s = over_line(g.s, upper);
  v = with_line(l, v, k, 1, conjugate(c) * upper + conjugate(s) * lower);
  return with_line(l, v, next, 1, c * lower - s * upper);
}
Value rotate_columns(Lower& l, Value v, Value k, const Givens& g) {
  Value next = l.hlo.add(k, number(l, 1));
  Formula left(l, line(l, v, k, 2)), right(l, line(l, v, next, 2));
  Formula c = over_line(g.c, left), s = over_line(g.s, left);
  v = with_line(l, v, k, 2, c * left + s * right);
  return with_line(l, v, next, 2, conjugate(c) * right - conjugate(s) * left);
}

// The window of each matrix, after what is small below the diagonal is set to zero: beside its neighbours, and late,
// when rounding in a part that is small itself keeps the steps from an end, beside the whole matrix.
Window next_window(Matrices& m, Formula high, Formula late) {
  Lower& l = m.l;
  Formula size = abs(m.diagonal());
  Formula before = size.with(pad_axis(l, slice_axis(l, size, 1, 0, m.dims[1] - Dim(1)), 1, 1, 0));
  Formula below = m.subdiagonal();
  Formula around = size + before;
  Formula all = abs(m.h);
  Formula norm = m.over_places(all.with(l.hlo.reduce(all, {1, 2}, Reducer::MaximumNan)));
  Formula whole = eq(around, 0) | late.with(l.hlo.broadcast_in_dim(late, l.type(around).dims, {}));
  Formula limit = select(whole, norm, around) * epsilon(below.dtype());
  Formula small = below <= limit;  // holds at place 0
  Formula entry = eq(m.row, m.column + m.column.like(1));
  Formula small_rows = small.with(l.hlo.broadcast_in_dim(small, m.dims, {0, 1}));
  m.h = select(entry & small_rows, 0, m.h);
  auto last = [&](Formula mask) { return mask.with(l.hlo.reduce(select(mask, m.place, 0), {1}, Reducer::Maximum)); };
  Formula reach = m.place <= m.over_places(high);
  Formula top = last((!small) & reach);
  return {last(small & (m.place <= m.over_places(top))), top};
}

// The eigenvalue of the last two rows of the window that is nearer to its last element.
Formula wilkinson_shift(const Matrices& m, const Window& w, Formula count) {
  Formula p = w.high - w.high.like(1), q = w.high;
  Formula a = m.at(p, p), b = m.at(p, q), c = m.at(q, p), d = m.at(q, q);
  Formula half = (a - d) * 0.5;
  Formula root = sqrt(half * half + b * c);
  Formula mean = (a + d) * 0.5;
  Formula first = mean + root, second = mean - root;
  Formula shift = select(abs(first - d) <= abs(second - d), first, second);
  // Now and then another, for matrices that such steps lead in a circle.
  Formula exceptional = eq(fmod(count, count.like(kExceptionalAfter)), count.like(kExceptionalAfter - 1));
  Formula other = d + as_complex(abs(c));
  return select(exceptional.with(m.l.hlo.broadcast_in_dim(exceptional, {m.dims[0]}, {})), other, shift);
}

struct Schur {
  Value t, z;    // A = factor * Z T Z^H, T upper triangular; NaN where the steps did not come to an end
  Value factor;  // [batch]
};

Schur schur(Lower& l, Value a) {
  ScaledMatrices scaled = scaled_into_range(l, a);
  HessenbergFactors f = hessenberg(l, scaled.matrices);
  if (!f.h.has_value()) return {};
  const Dims s = l.type(a).dims;
  Dim n = s[1];
  if (n < Dim(2) || s[0] == Dim(0)) return {f.h, f.z, scaled.factor};
  auto one_step = [&](std::span<const Value> v) -> Values {
    Formula count(l, v[0]);
    Matrices m(l, v[2]);
    Window w = next_window(m, {l, v[1]}, count >= Formula(l, number(l, n * Dim(kStepsPerValue / 3))));
    Formula inside = (m.row >= m.over(w.low)) & (m.row <= m.over(w.high)) & eq(m.row, m.column);
    Formula shift = select(inside, m.over(wilkinson_shift(m, w, count)), 0);
    Formula shifted = m.h - shift;
    auto below_last = [&](std::span<const Value> u) {
      return l.hlo.compare(u[0], number(l, n - Dim(1)), ComparisonDirection::Lt);
    };
    auto element = [&](Value line_of, Value k, int64_t axis) {
      return Formula(l, l.hlo.reshape(line(l, line_of, k, axis), {s[0]}));
    };
    Value none = l.full({s[0], n}, l.type(a).dtype, 0);
    // H = Q R by rotations of neighbouring rows, then R Q by the same of columns.
    Values left =
        l.hlo.while_({number(l, 0), shifted, none, none}, below_last, [&](std::span<const Value> u) -> Values {
          Value k = u[0], next = l.hlo.add(k, number(l, 1));
          Formula at = w.low.with(l.hlo.broadcast_in_dim(k, {s[0]}, {}));
          Value column = line(l, u[1], k, 2);
          Givens g = givens(element(column, k, 1), element(column, next, 1), (at >= w.low) & (at < w.high));
          Values place{number(l, 0), k};
          return {next, rotate_rows(l, u[1], k, g), l.hlo.dynamic_update_slice(u[2], insert_axis(l, g.c, 1), place),
                  l.hlo.dynamic_update_slice(u[3], insert_axis(l, g.s, 1), place)};
        });
    Values right = l.hlo.while_({number(l, 0), left[1], v[3]}, below_last, [&](std::span<const Value> u) -> Values {
      Value k = u[0];
      auto of = [&](Value all) {
        Value one = l.hlo.dynamic_slice(all, {number(l, 0), k}, {s[0], Dim(1)});
        return Formula(l, l.hlo.reshape(one, {s[0]}));
      };
      Givens g{of(left[2]), of(left[3])};
      return {l.hlo.add(k, number(l, 1)), rotate_columns(l, u[1], k, g), rotate_columns(l, u[2], k, g)};
    });
    Formula t = Formula(l, right[1]) + shift;
    return {l.hlo.add(v[0], number(l, 1)), w.high, t, right[2]};
  };
  auto open = [&](std::span<const Value> v) -> Value {
    Formula left = any(Formula(l, v[1]) > Formula(l, v[1]).like(0));
    return l.hlo.and_(left, l.hlo.compare(v[0], number(l, n * Dim(kStepsPerValue)), ComparisonDirection::Lt));
  };
  Value high = l.full({s[0]}, DType::Int64, Scalar(n - Dim(1)));
  Values out = l.hlo.while_({number(l, 0), high, f.h, f.z}, open, one_step);
  Formula left(l, out[1]), t(l, out[2]);
  Formula lost = left.with(l.hlo.broadcast_in_dim(left > left.like(0), s, {0}));
  return {select(lost, std::numeric_limits<double>::quiet_NaN(), t), out[3], scaled.factor};
}

// Eigenvectors of an upper triangle, in columns: from the diagonal upwards, and made shorter on the way, so that those
// of eigenvalues that nearly coincide stay in range.
Value triangle_vectors(Lower& l, Value t) {
  const Dims s = l.type(t).dims;
  Dim n = s[1];
  Formula values(l, diagonal_of(l, t));  // [batch, n]
  Formula size = abs(Formula(l, t));
  Formula norm = size.with(l.hlo.reduce(size, {1, 2}, Reducer::MaximumNan));
  Formula least = norm * epsilon(norm.dtype());
  Dims grid{s[0], n};
  Formula least_row = least.with(l.hlo.broadcast_in_dim(least, grid, {0}));
  Formula place(l, l.hlo.iota({DType::Int64, grid}, 1));
  Value x = identity_matrix(l, l.type(t).dtype, s);
  auto more = [&](std::span<const Value> v) { return l.hlo.compare(v[0], number(l, 0), ComparisonDirection::Ge); };
  auto step = [&](std::span<const Value> v) -> Values {
    Value i = v[0];
    Formula known(l, l.hlo.reshape(batch_product(l, line(l, t, i, 1), v[1]), grid));  // of row i with each vector
    Formula own(l, l.hlo.reshape(l.hlo.dynamic_slice(values, {number(l, 0), i}, {s[0], Dim(1)}), {s[0]}));
    Formula at = place.with(l.hlo.broadcast_in_dim(i, grid, {}));
    // x[i] is still zero where i is above the diagonal.
    Formula difference = values - values.with(l.hlo.broadcast_in_dim(own, grid, {0}));
    Formula divisor = select(abs(difference) < least_row, as_complex(least_row), difference);
    Formula usable = select(eq(divisor, divisor.like(0)), 1, divisor);
    Formula row = select(at < place, known / usable, select(eq(at, place), 1, known.like(0)));
    Formula length = abs(row);
    Formula shorter = as_complex(select(length > 1, length.like(1) / length, 1));
    Formula next(l, with_line(l, v[1], i, 1, l.hlo.reshape(row, {s[0], Dim(1), n})));
    return {l.hlo.subtract(i, number(l, 1)), next * next.with(l.hlo.broadcast_in_dim(shorter, s, {0, 2}))};
  };
  return l.hlo.while_({number(l, n - Dim(1)), x}, more, step)[1];
}

// Columns of length one whose greatest element is real.
Formula normalised(Formula v) {
  Lower& l = v.lower();
  const Dims s = l.type(v).dims;
  auto over = [&](Formula x) { return x.with(l.hlo.broadcast_in_dim(x, s, {0, 2})); };
  Formula size = abs(v);
  Formula greatest = size.with(l.hlo.reduce(size, {1}, Reducer::MaximumNan));
  Formula hit = eq(size, over(greatest));
  Formula row(l, l.hlo.iota({DType::Int64, s}, 1));
  Formula first = row.with(l.hlo.reduce(select(hit, row, row.like(l.highest(DType::Int64))), {1}, Reducer::Minimum));
  Formula there = eq(row, over(first));
  Formula element = v.with(l.hlo.reduce(select(there, v, 0), {1}, Reducer::Add));
  Formula scaled = size / over(select(eq(greatest, 0), 1, greatest));
  Formula length = sqrt(scaled.with(l.hlo.reduce(square(scaled), {1}, Reducer::Add))) * greatest;
  Formula phase = conjugate(element) / as_complex(select(eq(greatest, 0), 1, greatest));
  return v * over(phase / as_complex(select(eq(length, 0), 1, length)));
}

// The order of LAPACK's xGEEV for real matrices, as keys: both of a conjugate pair at the place of the first, the one
// with the positive imaginary part before the other.
Value pair_order(Formula values) {
  Lower& l = values.lower();
  const Dims s = l.type(values).dims;
  Dims grid{s[0], s[1], s[1]};
  auto rows = [&](Formula x) { return x.with(l.hlo.broadcast_in_dim(x, grid, {0, 1})); };
  Formula distance = abs(rows(conjugate(values)) - values.with(l.hlo.broadcast_in_dim(values, grid, {0, 2})));
  Formula least = distance.with(l.hlo.reduce(distance, {2}, Reducer::Minimum));
  Formula number(l, l.hlo.iota({DType::Int64, grid}, 2));
  Formula nearest = select(eq(distance, rows(least)), number, number.like(l.highest(DType::Int64)));
  Formula partner = number.with(l.hlo.reduce(nearest, {2}, Reducer::Minimum));
  Formula own(l, l.hlo.iota({DType::Int64, s}, 1));
  Formula first = own.with(l.hlo.minimum(own, partner));
  return first + first + convert(imag(values) < 0, DType::Int64);
}

// Values [batch, n] and vectors in that order; complex matrices' as they are.
SortedColumns in_order(Lower& l, Tensor self, const Schur& f, Values columns) {
  Formula values(l, scaled_back(l, diagonal_of(l, f.t), f.factor));
  const Dims s = l.type(values).dims;
  columns.insert(columns.begin(), l.hlo.reshape(values, {s[0], Dim(1), s[1]}));
  if (is_complex(self.dtype())) return {{}, columns};
  return sort_columns(l, pair_order(values), columns);
}

// (eigenvalues, eigenvectors in columns), complex. Their order is the factorization's, as in PyTorch; an eigenvector is
// right but for its phase.
std::tuple<Tensor, Tensor> linalg_eig(Lower& l, Tensor self) {
  if (!expect_matrices(l, self, true)) return {};
  DType dtype = complex_of(self.dtype());
  Dims of_values = with(batch_of(self), {self.dim(-1)});
  if (self.is_empty()) return {l.make(l.full(of_values, dtype, 0)), l.make(l.full(self.shape(), dtype, 0))};
  Schur f = schur(l, as_batch(l, l.to(self, dtype)));
  if (!f.t.has_value()) return {};
  Formula vectors(l, batch_product(l, f.z, triangle_vectors(l, f.t)));
  SortedColumns sorted = in_order(l, self, f, {normalised(vectors)});
  if (sorted.columns.empty()) return {};
  return {make_shaped(l, sorted.columns[0], of_values), make_columns(l, sorted.columns[1], self.shape())};
}

Tensor linalg_eigvals(Lower& l, Tensor self) {
  if (!expect_matrices(l, self, true)) return {};
  DType dtype = complex_of(self.dtype());
  Dims of_values = with(batch_of(self), {self.dim(-1)});
  if (self.is_empty()) return l.make(l.full(of_values, dtype, 0));
  Schur f = schur(l, as_batch(l, l.to(self, dtype)));
  if (!f.t.has_value()) return {};
  SortedColumns sorted = in_order(l, self, f, {});
  return sorted.columns.empty() ? Tensor() : make_shaped(l, sorted.columns[0], of_values);
}

}  // namespace

std::span<const Row> eig_ops() {
  static constexpr auto kFloat32 = lower::AutocastRule::Float32;
  static constexpr Row rows[] = {
      op<linalg_eigvals>("_linalg_eigvals"),
      op<linalg_eig>("linalg_eig", kFloat32),
      op<linalg_eigvals>("linalg_eigvals", kFloat32),
  };
  return rows;
}

}  // namespace torchlift::aten
