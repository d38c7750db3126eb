// A = L D L^T of symmetric matrices that need not be definite, or L D L^H of Hermitian ones: Bunch and Kaufman's
// pivoting (Mathematics of Computation 31 (1977) 163), with the storage of LAPACK's xSYTRF and xHETRF for the lower
// triangle. D has blocks of one or two rows; matrices of a batch come to their ends in different numbers of steps.
#include <cmath>

#include "aten/axes.hpp"
#include "aten/formula.hpp"
#include "aten/linear_algebra.hpp"
#include "aten/matrices.hpp"

namespace torchlift::aten {
namespace {

using namespace formula;  // NOLINT: operators on values

// Numbers and masks of a batch of square matrices: of matrices [batch], of rows [batch, n], of elements [batch, n, n].
struct Frame {
  Lower& l;
  Dims rows, square;
  bool hermitian = false;

  Formula row() const { return {l, l.hlo.iota({DType::Int64, rows}, 1)}; }
  Formula over_rows(Formula x) const { return x.with(l.hlo.broadcast_in_dim(x, rows, {0})); }
  Formula down(Formula x) const { return x.with(l.hlo.broadcast_in_dim(x, square, {0, 1})); }    // row i has x_i
  Formula across(Formula x) const { return x.with(l.hlo.broadcast_in_dim(x, square, {0, 2})); }  // column j has x_j
  Formula is(Formula index) const { return eq(row(), over_rows(index)); }
  // x_i of [batch, n], and column i of [batch, n, n].
  Formula entry(Formula x, Formula index) const {
    return x.with(l.hlo.reduce(select(is(index), x, 0.0), {1}, Reducer::Add));
  }
  Formula column(Formula a, Formula index) const {
    return a.with(l.hlo.reduce(select(across(is(index)), a, 0.0), {2}, Reducer::Add));
  }
  Formula conj(Formula x) const { return hermitian ? conjugate(x) : x; }
  Formula real_if_hermitian(Formula x) const { return hermitian ? as_dtype(real_part(x), x.dtype()) : x; }
  Formula size(Formula x) const { return x.with(pivot_size(l, x)); }
};

// The lower triangle, and its mirror image above.
Formula mirrored(const Frame& f, Formula a) {
  Formula lower = f.down(f.row()) > f.across(f.row()), same = eq(f.down(f.row()), f.across(f.row()));
  Formula upper = f.conj(a.with(transpose_last_two(f.l, a)));
  return select(same, f.real_if_hermitian(a), select(lower, a, upper));
}

// How a step goes: by one row, or by two; after exchanging rows and columns `from` and `to`.
struct Pivot {
  Formula singular, one, from, to;
};

Pivot choose_pivot(const Frame& f, Formula a, Formula k) {
  const double alpha = (1 + std::sqrt(17.0)) / 8;
  Lower& l = f.l;
  Formula row = f.row(), column = f.column(a, k), own = f.size(f.real_if_hermitian(f.entry(column, k)));
  auto greatest = [&](Formula mask, Formula sizes) {
    return sizes.with(l.hlo.reduce(select(mask, sizes, 0.0), {1}, Reducer::Maximum));
  };
  Formula below = row > f.over_rows(k), sizes = f.size(column), most = greatest(below, sizes);
  Formula hit = below & eq(sizes, f.over_rows(most));
  Formula place =
      row.with(l.hlo.reduce(select(hit, row, static_cast<double>(l.pin(f.rows[1]))), {1}, Reducer::Minimum));
  Formula there = f.column(a, place);
  Formula beside = greatest((row >= f.over_rows(k)) & !f.is(place), f.size(there));
  Formula other = f.size(f.real_if_hermitian(f.entry(there, place)));
  Formula singular = eq(max(own, most), 0.0) | is_nan(own);
  Formula stays = singular | (own >= most * alpha) | (own >= most * alpha * (most / beside));
  Formula one = stays | (other >= beside * alpha);
  return {singular, one, select(one, k, k + 1.0), select(stays, k, place)};
}

// Rows and columns exchanged; what is before them is of no use any more.
Formula exchanged(const Frame& f, Formula a, const Pivot& p) {
  Formula order = select(f.is(p.from), f.over_rows(p.to), select(f.is(p.to), f.over_rows(p.from), f.row()));
  Value turned = transpose_last_two(f.l, permute_rows(f.l, a, order));
  return f.conj(a.with(permute_rows(f.l, turned, order)));
}

Formula product(const Frame& f, Formula x, Formula y) { return f.down(x) * f.across(f.conj(y)); }

// state: k, what is left of the matrices, the factors, pivots, info.
Values ldl_step(const Frame& f, std::span<const Value> state) {
  Lower& l = f.l;
  Formula k(l, state[0]), a(l, state[1]), ld(l, state[2]), pivots(l, state[3]), found(l, state[4]), row = f.row();
  Pivot p = choose_pivot(f, a, k);
  a = exchanged(f, a, p);
  Formula next = k + 1.0, c0 = f.column(a, k), c1 = f.column(a, next);
  Formula first = f.entry(c0, k), second = f.entry(c1, next), between = f.entry(c0, next);
  // One row: the column over its pivot.
  Formula share = c0 * f.over_rows(1.0 / f.real_if_hermitian(first));
  Formula after_one = a - product(f, c0, share);
  // Two rows: both columns times the inverse of their block, scaled by the element beside its diagonal.
  Formula scale = f.hermitian ? as_dtype(abs(between), between.dtype()) : between, turn = between / scale;
  Formula d11 = f.real_if_hermitian(second) / scale, d22 = f.real_if_hermitian(first) / scale;
  Formula factor = 1.0 / (d11 * d22 - 1.0) / scale;
  Formula w0 = f.over_rows(factor) * (f.over_rows(d11) * c0 - f.over_rows(turn) * c1);
  Formula w1 = f.over_rows(factor) * (f.over_rows(d22) * c1 - f.over_rows(f.conj(turn)) * c0);
  Formula after_two = a - product(f, c0, w0) - product(f, c1, w1);
  auto whole = [&](Formula x) { return x.with(l.hlo.broadcast_in_dim(x, f.square, {0})); };
  Formula left = select(whole(p.singular), a, select(whole(p.one), after_one, after_two));
  // The columns of L, with D in the place of the ones.
  Formula one = f.over_rows(p.one), beyond = row > f.over_rows(next);
  Formula column0 = select(one, select(f.over_rows(p.singular) | f.is(k), c0, share), select(beyond, w0, c0));
  Formula column1 = select(beyond, w1, c1);
  Formula here = f.across(f.is(k)) & f.down(row >= f.over_rows(k));
  Formula beside = f.across(f.is(next) & !one) & f.down(row >= f.over_rows(next));
  ld = select(here, f.down(column0), select(beside, f.down(column1), ld));
  Formula number = p.to + 1.0, marked = convert(select(p.one, number, -number), DType::Int32);
  pivots = select(f.is(k) | (f.is(next) & !one), f.over_rows(marked), pivots);
  Formula open = k < static_cast<double>(l.pin(f.rows[1]));
  found = select(open & p.singular & eq(found, 0.0), convert(next, DType::Int32), found);
  return {select(p.one, next, k + 2.0), mirrored(f, left), ld, pivots, found};
}

std::tuple<Tensor, Tensor, Tensor> linalg_ldl_factor_ex(Lower& l, Tensor self, bool hermitian, bool) {
  if (!expect_matrices(l, self, true)) return {};
  Dims batch = batch_of(self);
  Dim count = product(batch), n = self.dim(-1);
  Frame f{l, {count, n}, {count, n, n}, hermitian && is_complex(self.dtype())};
  Formula a = mirrored(f, Formula(l, as_batch(l, self)));
  Values state{l.full({count}, DType::Int64, 0), a, l.full_like(a, 0), l.full(f.rows, DType::Int32, 0),
               l.full({count}, DType::Int32, 0)};
  if (count != Dim(0) && n != Dim(0)) {
    auto more = [&](std::span<const Value> v) -> Value {
      return any(Formula(l, v[0]) < static_cast<double>(l.pin(n)));
    };
    state = l.hlo.while_(state, more, [&](std::span<const Value> v) { return ldl_step(f, v); });
  }
  return {make_columns(l, state[2], self.shape()), make_shaped(l, state[3], with(batch, {n})),
          make_shaped(l, state[4], batch)};
}

std::tuple<Tensor, Tensor> linalg_ldl_factor(Lower& l, Tensor self, bool hermitian) {
  auto [ld, pivots, found] = linalg_ldl_factor_ex(l, self, hermitian, true);
  return {ld, pivots};
}

// ---- solving with factors that are given

struct Unpacked {
  Formula l;      // with ones on its diagonal, its rows exchanged as all steps did
  Formula order;  // [batch, n]: the row of A that each row comes from
  Formula pairs;  // [batch, n]: where a block of two rows begins
};

// LAPACK leaves the columns of L as they were when their step was done: later exchanges are made up for.
Unpacked unpack(const Frame& f, Formula ld, Formula pivots) {
  Lower& l = f.l;
  Formula row = f.row(), lower = f.down(row) > f.across(row);
  auto more = [&](std::span<const Value> v) {
    return l.hlo.compare(v[0], number(l, f.rows[1]), ComparisonDirection::Lt);
  };
  auto step = [&](std::span<const Value> v) -> Values {
    Formula k = row.with(l.broadcast_to(v[0], {f.rows[0]})), order = row.with(v[2]), pairs = row.with(v[3]);
    Formula pivot = f.entry(pivots, k), inside = row.with(v[4]), begins = (pivot < 0.0) & !inside;
    // The second row of a block has nothing of its own to do.
    Formula to = select(begins, k + 1.0, k);
    Formula from = select((pivot < 0.0) & inside, k, abs(pivot) - 1.0);
    Formula swap = select(f.is(to), f.over_rows(from), select(f.is(from), f.over_rows(to), row));
    Formula moved = ld.with(permute_rows(l, v[1], swap)), before = f.across(row < f.over_rows(k));
    Value turned = drop_axis(l, permute_rows(l, insert_axis(l, order, 2), swap), 2);
    return {l.hlo.add(v[0], number(l, 1)), select(before, moved, ld.with(v[1])), turned,
            pairs | (f.is(k) & f.over_rows(begins)), begins};
  };
  Values out = l.hlo.while_(
      {number(l, 0), ld, row, l.full(f.rows, DType::Bool, false), l.full({f.rows[0]}, DType::Bool, false)}, more, step);
  Formula pairs = row.with(out[3]), block = f.across(pairs) & eq(f.down(row), f.across(row) + 1.0);
  Formula factors = select(lower & !block, ld.with(out[1]), 0.0);
  return {factors, row.with(out[2]), pairs};
}

// D^-1 y for y [batch, n, columns].
Formula solve_blocks(const Frame& f, Formula ld, const Unpacked& u, Formula y) {
  Lower& l = f.l;
  const Dims shape = l.type(y).dims;
  auto wide = [&](Formula x) { return x.with(l.hlo.broadcast_in_dim(x, shape, {0, 1})); };
  // Row k of the result has row k + 1 of x, and the reverse; what is shifted in is not used.
  auto up = [&](Formula x) { return x.with(pad_axis(l, slice_axis(l, x, 1, 1, shape[1]), 1, 0, 1)); };
  auto down = [&](Formula x) { return x.with(pad_axis(l, slice_axis(l, x, 1, 0, shape[1] - Dim(1)), 1, 1, 0)); };
  Formula diagonal = f.real_if_hermitian(ld.with(diagonal_of(l, ld)));
  Formula row = f.row(), next = eq(f.down(row), f.across(row) + 1.0);
  Formula beside = ld.with(l.hlo.reduce(select(next, ld, 0.0), {1}, Reducer::Add));  // LD[k + 1, k]
  Formula first = diagonal / f.conj(beside), second = up(diagonal) / beside, factor = first * second - 1.0;
  Formula y0 = y / wide(f.conj(beside)), y1 = up(y) / wide(beside);
  Formula upper = (wide(second) * y0 - y1) / wide(factor), lower = (wide(first) * y1 - y0) / wide(factor);
  Formula begins = u.pairs, ends = convert(down(convert(begins, DType::Int32)), DType::Bool);
  return select(wide(begins), upper, select(wide(ends), down(lower), y / wide(diagonal)));
}

// X with A X = B, from the factors of A.
Tensor linalg_ldl_solve(Lower& l, Tensor LD, Tensor pivots, Tensor B, bool hermitian) {
  if (!expect_matrices(l, LD, true) || !expect_matrices(l, B, false) || pivots.is_poison()) return {};
  Dims row_shape(LD.shape().begin(), LD.shape().end() - 1);
  if (LD.dtype() != B.dtype() || pivots.dtype() != DType::Int32 || pivots.shape() != row_shape ||
      batch_of(B) != batch_of(LD) || B.dim(-2) != LD.dim(-1))
    return l.wrong("shapes or dtypes of " + describe(LD) + ", " + describe(pivots) + " and " + describe(B) +
                   " do not fit");
  if (B.is_empty()) return make_columns(l, l.read(B), B.shape());
  Dim count = product(batch_of(LD)), n = LD.dim(-1);
  Frame f{l, {count, n}, {count, n, n}, hermitian && is_complex(LD.dtype())};
  Formula ld(l, as_batch(l, LD)), order(l, l.hlo.reshape(l.read(pivots, DType::Int64), f.rows));
  Unpacked u = unpack(f, ld, order);
  using stablehlo::TransposeA;
  TransposeA back = f.hermitian ? TransposeA::Adjoint : TransposeA::Transpose;
  Value b = permute_rows(l, as_batch(l, B), u.order);
  Value half = l.hlo.triangular_solve(u.l, b, {.left_side = true, .lower = true, .unit_diagonal = true});
  Value blocks = solve_blocks(f, ld, u, Formula(l, half));
  Value x = l.hlo.triangular_solve(u.l, blocks,
                                   {.left_side = true, .lower = true, .unit_diagonal = true, .transpose_a = back});
  return make_columns(l, permute_rows(l, x, inverse_order(l, u.order)), B.shape());
}

}  // namespace

std::span<const Row> ldl_ops() {
  static constexpr Row rows[] = {
      op<linalg_ldl_factor>("linalg_ldl_factor"),
      op<linalg_ldl_factor_ex>("linalg_ldl_factor_ex"),
      op<linalg_ldl_solve>("linalg_ldl_solve"),
  };
  return rows;
}

}  // namespace torchlift::aten
