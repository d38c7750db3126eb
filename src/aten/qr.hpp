// Householder reflections as LAPACK has them.
#pragma once

#include "aten/matrices.hpp"

namespace torchlift::aten {

// A batch [batch, m, n] of A = Q R. Q is H_1 H_2 ... with H = 1 - tau v v^H, v one at its own row and zero above.
struct Reflections {
  Value a;    // [batch, m, n]: R on and above the diagonal, the rest of each v below it
  Value tau;  // [batch, min(m, n)]
};
Reflections householder(Lower& l, Value a);

// The first `columns` columns of H_1 H_2 ...: [batch, m, columns].
Value reflections_as_matrix(Lower& l, const Reflections& r, const Dim& columns);

// A = Z H Z^H of [batch, n, n], where H has nothing below its first subdiagonal.
struct HessenbergFactors {
  Value h, z;
};
HessenbergFactors hessenberg(Lower& l, Value a);

struct QrFactors {
  Value q;  // [batch, m, k]
  Value r;  // [batch, k, n]
};
// k is min(m, n), or m if complete.
QrFactors qr_factors(Lower& l, Value a, bool complete);

}  // namespace torchlift::aten
