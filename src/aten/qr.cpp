// QR by Householder reflections: one while over the columns, over all matrices of a batch at once. LAPACK's xGEQR2 and
// xLARFG give the signs.
#include "aten/qr.hpp"

#include <span>

#include "aten/axes.hpp"
#include "aten/formula.hpp"
#include "aten/linear_algebra.hpp"

namespace torchlift::aten {
namespace {

// [batch] laid over [batch, ...].
Formula over(Formula x, const Dims& shape) { return x.with(x.hlo().broadcast_in_dim(x, shape, {0})); }

struct Column {
  Formula entries;  // [batch, m]
  Formula row;      // [batch, m], the number of each row
  Formula at;       // [batch, m], the number of the column
};

Column column_of(Lower& l, Value a, Value k) {
  const Dims s = l.type(a).dims;
  Dims grid{s[0], s[1]};
  Value zero = number(l, 0);
  Value entries = l.hlo.reshape(l.hlo.dynamic_slice(a, {zero, zero, k}, {s[0], s[1], Dim(1)}), grid);
  return {{l, entries}, {l, l.hlo.iota({DType::Int64, grid}, 1)}, {l, l.hlo.broadcast_in_dim(k, grid, {})}};
}

// v of the k-th reflection, [batch, m], from where it is stored.
Formula stored_vector(Lower& l, Value a, Value k) {
  Column c = column_of(l, a, k);
  return select(eq(c.row, c.at), 1, select(c.row > c.at, c.entries, 0));
}

struct Reflection {
  Formula v;     // [batch, m]
  Formula tau;   // [batch]
  Formula beta;  // [batch]: what stands on the diagonal after it
};

// The reflection that clears a column below its diagonal (xLARFG).
Reflection reflection_of(const Column& c) {
  Formula x = c.entries;
  Lower& l = x.lower();
  auto sum = [&](Formula terms) { return terms.with(l.hlo.reduce(terms, {1}, Reducer::Add)); };
  Formula alpha = sum(select(eq(c.row, c.at), x, 0));
  Formula tail = select(c.row > c.at, x, 0);
  // The sum of squares is scaled by the greatest element, so that it neither overflows nor vanishes.
  Formula size = abs(select(c.row >= c.at, x, 0));
  Formula scale = size.with(l.hlo.reduce(size, {1}, Reducer::MaximumNan));
  Formula safe = select(eq(scale, 0), 1, scale);
  Formula ratio = size / over(safe, l.type(size).dims);
  Formula norm = safe * sqrt(sum(ratio * ratio));
  Formula below = abs(tail);
  Formula rest = below.with(l.hlo.reduce(below, {1}, Reducer::MaximumNan));
  Formula done = eq(rest, 0);
  if (is_complex(x.dtype())) done = done & eq(imag(alpha), 0);
  Formula re = real_part(alpha);
  Formula beta = select(re < 0, norm, -norm);
  Formula real_tau = (beta - re) / beta;
  Formula tau = is_complex(x.dtype()) ? complex(real_tau, -imag(alpha) / beta) : real_tau;
  Formula divisor = alpha - as_dtype(beta, x.dtype());
  Formula v = tail / over(select(done, 1, divisor), l.type(tail).dims);
  v = select(eq(c.row, c.at), 1, select(over(done, l.type(v).dims), 0, v));
  return {v, select(done, 0, tau), select(done, alpha, as_dtype(beta, x.dtype()))};
}

// (1 - tau v v^H) A for each matrix of a batch.
Formula reflect(Formula a, Formula v, Formula tau) {
  Lower& l = a.lower();
  const Dims s = l.type(a).dims;
  Formula rows = a.with(l.hlo.broadcast_in_dim(v, s, {0, 1}));
  Formula product = a.with(l.hlo.reduce(conjugate(rows) * a, {1}, Reducer::Add));  // v^H A: [batch, n]
  Formula spread = a.with(l.hlo.broadcast_in_dim(product, s, {0, 2}));
  return a - over(tau, s) * rows * spread;
}

}  // namespace

Reflections householder(Lower& l, Value a) {
  if (!a.has_value()) return {};
  const Dims s = l.type(a).dims;
  Dim steps = min(s[1], s[2]);
  Value tau = l.full({s[0], steps}, l.type(a).dtype, 0);
  if (product(s) == Dim(0)) return {a, tau};
  auto more = [&](std::span<const Value> v) { return l.hlo.compare(v[0], number(l, steps), ComparisonDirection::Lt); };
  auto step = [&](std::span<const Value> v) -> Values {
    Value k = v[0], zero = number(l, 0);
    Formula matrix{l, v[1]};
    Column c = column_of(l, v[1], k);
    Reflection r = reflection_of(c);
    Formula changed = reflect(matrix, r.v, conjugate(r.tau));
    Formula column{l, l.hlo.iota({DType::Int64, s}, 2)}, at{l, l.hlo.broadcast_in_dim(k, s, {})};
    Formula beta = over(r.beta, l.type(c.entries).dims);
    Formula own = select(eq(c.row, c.at), beta, select(c.row > c.at, r.v, c.entries));
    Formula stored = matrix.with(l.hlo.broadcast_in_dim(own, s, {0, 1}));
    Formula next = select(column > at, changed, select(eq(column, at), stored, matrix));
    return {l.hlo.add(k, number(l, 1)), next, l.hlo.dynamic_update_slice(v[2], insert_axis(l, r.tau, 1), {zero, k})};
  };
  Values out = l.hlo.while_({number(l, 0), a, tau}, more, step);
  return {out[1], out[2]};
}

Value reflections_as_matrix(Lower& l, const Reflections& r, const Dim& columns) {
  if (!r.a.has_value() || !r.tau.has_value()) return {};
  const Dims s = l.type(r.a).dims;
  Dim steps = l.type(r.tau).dims[1];
  Value q = identity_matrix(l, l.type(r.a).dtype, {s[0], s[1], columns});
  if (product(s) * steps == Dim(0)) return q;
  auto more = [&](std::span<const Value> v) { return l.hlo.compare(v[0], number(l, 0), ComparisonDirection::Ge); };
  auto step = [&](std::span<const Value> v) -> Values {
    Value k = v[0];
    Value tau = l.hlo.reshape(l.hlo.dynamic_slice(r.tau, {number(l, 0), k}, {s[0], Dim(1)}), {s[0]});
    return {l.hlo.subtract(k, number(l, 1)), reflect({l, v[1]}, stored_vector(l, r.a, k), {l, tau})};
  };
  return l.hlo.while_({number(l, steps - Dim(1)), q}, more, step)[1];
}

HessenbergFactors hessenberg(Lower& l, Value a) {
  if (!a.has_value()) return {};
  const Dims s = l.type(a).dims;
  Dim steps = s[1] - Dim(2);
  Value z = identity_matrix(l, l.type(a).dtype, s);
  if (steps < Dim(1) || product(s) == Dim(0)) return {a, z};
  auto more = [&](std::span<const Value> v) { return l.hlo.compare(v[0], number(l, steps), ComparisonDirection::Lt); };
  auto step = [&](std::span<const Value> v) -> Values {
    Value next = l.hlo.add(v[0], number(l, 1));
    Column c = column_of(l, v[1], v[0]);
    c.at = c.at + c.at.like(1);  // what is below the subdiagonal goes
    Reflection r = reflection_of(c);
    // From the left by its adjoint, from the right by itself: that is from the left on the adjoint.
    Formula left = reflect({l, v[1]}, r.v, conjugate(r.tau));
    Formula both = reflect(left.with(adjoint(l, left)), r.v, conjugate(r.tau));
    Formula vectors = reflect(left.with(adjoint(l, v[2])), r.v, conjugate(r.tau));
    return {next, adjoint(l, both), adjoint(l, vectors)};
  };
  Values out = l.hlo.while_({number(l, 0), a, z}, more, step);
  return {out[1], out[2]};
}

QrFactors qr_factors(Lower& l, Value a, bool complete) {
  Reflections r = householder(l, a);
  if (!r.a.has_value()) return {};
  const Dims s = l.type(a).dims;
  Dim k = complete ? s[1] : min(s[1], s[2]);
  return {reflections_as_matrix(l, r, k), slice_axis(l, keep_triangle(l, r.a, false), 1, 0, k)};
}

namespace {

// (Q, R) with A = Q R; of the mode "r" Q is empty.
std::tuple<Tensor, Tensor> linalg_qr(Lower& l, Tensor A, std::string mode) {
  if (!expect_matrices(l, A, false)) return {};
  if (mode != "reduced" && mode != "complete" && mode != "r")
    return l.wrong("expected mode reduced, complete or r, got " + mode);
  Dims batch = batch_of(A);
  Dim m = A.dim(-2), n = A.dim(-1), k = mode == "complete" ? m : min(m, n);
  Value a = as_batch(l, A);
  if (mode == "r") {
    Value r = slice_axis(l, keep_triangle(l, householder(l, a).a, false), 1, 0, k);
    return {l.make(l.full({Dim(0)}, A.dtype(), 0)), make_columns(l, r, with(batch, {k, n}))};
  }
  QrFactors f = qr_factors(l, a, mode == "complete");
  return {make_columns(l, f.q, with(batch, {m, k})), make_columns(l, f.r, with(batch, {k, n}))};
}

std::tuple<Tensor, Tensor> qr(Lower& l, Tensor self, bool some) {
  return linalg_qr(l, self, some ? "reduced" : "complete");
}

// (R and the reflections below it, tau)
std::tuple<Tensor, Tensor> geqrf(Lower& l, Tensor self) {
  if (!expect_matrices(l, self, false)) return {};
  Reflections r = householder(l, as_batch(l, self));
  if (!r.a.has_value()) return {};
  return {make_columns(l, r.a, self.shape()),
          make_shaped(l, r.tau, with(batch_of(self), {min(self.dim(-2), self.dim(-1))}))};
}

bool expect_reflections(Lower& l, Tensor input, Tensor tau) {
  if (!expect_matrices(l, input, false) || tau.is_poison()) return false;
  if (tau.dtype() == input.dtype() && tau.rank() == input.rank() - 1 && tau.dim(-1) <= input.dim(-1) &&
      Dims(tau.shape().begin(), tau.shape().end() - 1) == batch_of(input))
    return true;
  l.wrong("expected as many factors as reflections, got " + describe(tau) + " for " + describe(input));
  return false;
}

Reflections reflections_of(Lower& l, Tensor input, Tensor tau) {
  return {as_batch(l, input), l.hlo.reshape(l.read(tau), {product(batch_of(input)), tau.dim(-1)})};
}

// The first n columns of the product of the reflections stored in input [..., m, n].
Tensor linalg_householder_product(Lower& l, Tensor input, Tensor tau) {
  if (!expect_reflections(l, input, tau)) return {};
  if (input.dim(-2) < input.dim(-1))
    return l.wrong("expected at least as many rows as columns, got " + describe(input));
  return make_columns(l, reflections_as_matrix(l, reflections_of(l, input, tau), input.dim(-1)), input.shape());
}
Tensor orgqr(Lower& l, Tensor self, Tensor input2) { return linalg_householder_product(l, self, input2); }

// Q other, other Q, or the same with Q^H.
Tensor ormqr(Lower& l, Tensor self, Tensor input2, Tensor input3, bool left, bool transpose) {
  if (!expect_reflections(l, self, input2) || !expect_matrices(l, input3, false)) return {};
  Dim size = input3.dim(left ? -2 : -1);
  if (input3.dtype() != self.dtype() || batch_of(input3) != batch_of(self) || size != self.dim(-2))
    return l.wrong("shapes of " + describe(self) + " and " + describe(input3) + " do not fit");
  Value q = reflections_as_matrix(l, reflections_of(l, self, input2), size);
  if (transpose) q = adjoint(l, q);
  Value other = as_batch(l, input3);
  return make_columns(l, left ? batch_product(l, q, other) : batch_product(l, other, q), input3.shape());
}

}  // namespace

std::span<const Row> qr_ops() {
  static constexpr auto kFloat32 = lower::AutocastRule::Float32;
  static constexpr Row rows[] = {
      op<geqrf>("geqrf", kFloat32),         op<linalg_householder_product>("linalg_householder_product", kFloat32),
      op<linalg_qr>("linalg_qr", kFloat32), op<orgqr>("orgqr", kFloat32),
      op<ormqr>("ormqr", kFloat32),         op<qr>("qr", kFloat32),
  };
  return rows;
}

}  // namespace torchlift::aten
