// Special functions: torch.special, and their older names.
#include "aten/axes.hpp"
#include "aten/families.hpp"
#include "aten/pointwise.hpp"
#include "aten/special_functions.hpp"

namespace torchlift::aten {
namespace {

// A function of one element; integers become float32, half precision is computed in float32.
template <Formula (*kFn)(Formula)>
Tensor special(Lower& l, Tensor self) {
  return map_wide(l, self, kFn);
}

}  // namespace

// erfc(-x / sqrt(2)) / 2, in float64: PyTorch's own (1 + erf(x / sqrt(2))) / 2 has no correct digit far below zero. In
// half precision the latter, rounded after each step as PyTorch does.
Tensor ndtr(Lower& l, Tensor self) {
  DType dtype = lower::float_type(self.dtype());
  return map_wide(l, self, [&](Formula x) {
    if (is_half(dtype)) {
      auto step = [&](Formula v) { return v.with(rounded(l, v, dtype)); };
      return step(step(erf(step(x * 0.70710678118654752440))) + 1.0) * 0.5;
    }
    return formula::in_float64(x, [](Formula v) { return erfc(v * -0.70710678118654752440) * 0.5; });
  });
}

// -x log(x); 0 at 0, -inf below.
Tensor entr(Lower& l, Tensor self) {
  return map_wide(l, self, [](Formula x) {
    Formula result = select(eq(x, 0.0), 0.0, -x * log(x));
    return select(x < 0.0, -kInfinity, result);
  });
}

// The n-th derivative of digamma.
Tensor polygamma(Lower& l, int64_t n, Tensor self) {
  if (n < 0) return l.wrong("polygamma(n, x) does not support negative n, got " + std::to_string(n));
  return map_wide(l, self, [&](Formula x) { return formula::polygamma(n, x); });
}
Tensor polygamma_inplace(Lower& l, Tensor self, int64_t n) { return polygamma(l, n, self); }

// p (p - 1) / 4 log(pi) + the sum of lgamma(self - j / 2) over 0 <= j < p, rounded after each step as PyTorch does:
// near a pole of lgamma what the subtraction loses counts.
Tensor mvlgamma(Lower& l, Tensor self, int64_t p) {
  constexpr int64_t kMostTerms = 1024;
  if (p < 1 || p > kMostTerms) return l.wrong("expected p of mvlgamma between 1 and 1024, got " + std::to_string(p));
  const double log_pi = 1.14472988584940017414;
  DType dtype = lower::float_type(self.dtype());
  return map_wide(l, self, [&](Formula x) {
    auto step = [&](Formula v) { return v.with(rounded(l, v, dtype)); };
    Formula sum = x.like(0);
    for (int64_t j = p - 1; j >= 0; --j) sum = sum + step(formula::lgamma(step(x - static_cast<double>(j) / 2)));
    return step(sum) + step(x.like(static_cast<double>(p * (p - 1)) / 4 * log_pi));
  });
}

Tensor zeta(Lower& l, Operand self, Operand other) { return zip_float(l, self, other, formula::zeta, takes::kFloats); }

std::span<const Row> special_ops() {
  static constexpr Row rows[] = {
      op<special<formula::digamma>>("digamma"),
      op<special<formula::erf>>("erf"),
      op<special<formula::erfc>>("erfc"),
      op<special<formula::erfinv>>("erfinv"),
      op<special<formula::i0>>("i0"),
      op<special<formula::lgamma>>("lgamma"),
      op<mvlgamma>("mvlgamma"),
      op<polygamma>("polygamma"),
      op<polygamma_inplace>("polygamma_"),
      op<special<formula::airy_ai>>("special_airy_ai"),
      op<special<formula::bessel_j0>>("special_bessel_j0"),
      op<special<formula::bessel_j1>>("special_bessel_j1"),
      op<special<formula::bessel_y0>>("special_bessel_y0"),
      op<special<formula::bessel_y1>>("special_bessel_y1"),
      op<special<formula::digamma>>("special_digamma"),
      op<entr>("special_entr"),
      op<special<formula::erf>>("special_erf"),
      op<special<formula::erfc>>("special_erfc"),
      op<special<formula::erfcx>>("special_erfcx"),
      op<special<formula::erfinv>>("special_erfinv"),
      op<special<formula::lgamma>>("special_gammaln"),
      op<special<formula::i0>>("special_i0"),
      op<special<formula::i0e>>("special_i0e"),
      op<special<formula::i1>>("special_i1"),
      op<special<formula::i1e>>("special_i1e"),
      op<special<formula::log_ndtr>>("special_log_ndtr"),
      op<special<formula::i0>>("special_modified_bessel_i0"),
      op<special<formula::i1>>("special_modified_bessel_i1"),
      op<special<formula::k0>>("special_modified_bessel_k0"),
      op<special<formula::k1>>("special_modified_bessel_k1"),
      op<mvlgamma>("special_multigammaln"),
      op<ndtr>("special_ndtr"),
      op<special<formula::ndtri>>("special_ndtri"),
      op<polygamma>("special_polygamma"),
      op<special<formula::digamma>>("special_psi"),
      op<special<formula::k0e>>("special_scaled_modified_bessel_k0"),
      op<special<formula::k1e>>("special_scaled_modified_bessel_k1"),
      op<special<formula::spherical_j0>>("special_spherical_bessel_j0"),
      op<zeta>("special_zeta"),
  };
  return rows;
}

}  // namespace torchlift::aten
