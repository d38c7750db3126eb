// Batches of matrices, shared by the factorizations.
#pragma once

#include <initializer_list>

#include "aten/ops.hpp"

namespace torchlift::aten {

// At least 2-D of single or double precision, as LAPACK has them, and square if asked; refuses where not.
bool expect_matrices(Lower& l, Tensor a, bool square);

Dims batch_of(Tensor t);  // the axes before the last two
Dims with(Dims dims, std::initializer_list<Dim> more);
Value as_batch(Lower& l, Tensor t);  // [batch, m, n]
Tensor make_shaped(Lower& l, Value v, Dims shape);
// The same, with LAPACK's strides: columns first.
Tensor make_columns(Lower& l, Value v, Dims shape);
Dims column_major_strides(const Dims& shape);

double epsilon(DType real);            // the distance from 1 to the next number, of float32 or float64
Value number(Lower& l, const Dim& n);  // int64 of rank 0
Value transpose_last_two(Lower& l, Value v);
Value adjoint(Lower& l, Value v);  // transposed and conjugated
// Ones where the last two axes are equal.
Value identity_matrix(Lower& l, DType dtype, const Dims& shape);
// Zero outside of the lower (upper) triangle, which holds the diagonal.
Value keep_triangle(Lower& l, Value v, bool lower);
// [..., m, n] to [..., min(m, n)]
Value diagonal_of(Lower& l, Value v);
// Columns of each v [batch, m, n] in the order of keys [batch, n], ascending; keys sorted as well.
struct SortedColumns {
  Value keys;
  Values columns;
};
SortedColumns sort_columns(Lower& l, Value keys, const Values& columns);
// Matrices [batch, m, n] whose squares would leave the range of their dtype divided by their greatest element, as
// LAPACK does; the others as they are. factor: [batch], real.
struct ScaledMatrices {
  Value matrices;
  Value factor;
};
ScaledMatrices scaled_into_range(Lower& l, Value v);
// [batch, ...] times the real factor of its batch.
Value scaled_back(Lower& l, Value v, Value factor);
// LAPACK's measure of a pivot: of complex numbers the sum of both parts' sizes.
Value pivot_size(Lower& l, Value v);
// Rows of each matrix [batch, m, k] in the order of [batch, m].
Value permute_rows(Lower& l, Value v, Value order);
// Where each number of order [batch, m] stands: it takes permuted rows back.
Value inverse_order(Lower& l, Value order);
// Products of the last two axes of [batch, m, k] and [batch, k, n], at full precision whatever the import asks for.
Value batch_product(Lower& l, Value a, Value b);

}  // namespace torchlift::aten
