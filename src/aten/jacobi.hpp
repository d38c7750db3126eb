// Eigenvalues of Hermitian matrices and singular values, by Jacobi rotations.
#pragma once

#include "aten/matrices.hpp"

namespace torchlift::aten {

struct Eigen {
  Value values;   // [batch, n], real, ascending
  Value vectors;  // [batch, n, n], in columns
};
// Of a Hermitian [batch, n, n]; of the diagonal only the real part is read.
Eigen hermitian_eigen(Lower& l, Value a);

struct Singular {
  Value u;       // [batch, m, k], k = min(m, n)
  Value values;  // [batch, k], real, descending
  Value v;       // [batch, n, k]
};
Singular singular_values(Lower& l, Value a);

}  // namespace torchlift::aten
