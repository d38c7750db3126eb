// Pointwise operators of one tensor: signs, roundings, exponentials, trigonometry, complex conjugates.
#include <cmath>

#include "aten/axes.hpp"
#include "aten/families.hpp"
#include "aten/pointwise.hpp"
#include "aten/special_functions.hpp"

namespace torchlift::aten {
namespace {

Tensor copy_of(Lower& l, Tensor self) {
  return map(l, self, {}, [](Formula x) { return x; });
}

// fn where the dtype has fractions; integers are copied.
template <typename Fn>
Tensor map_fractions(Lower& l, Tensor self, Fn&& fn) {
  return is_integral(self.dtype()) ? copy_of(l, self) : map(l, self, {}, std::forward<Fn>(fn));
}

}  // namespace

// An operator that is one function of its element; integers become float32, half precision is computed in float32.
template <Formula (*kFn)(Formula)>
Tensor elementary(Lower& l, Tensor self) {
  return map_wide(l, self, kFn);
}

// ---- signs

// |self|; of complex numbers the magnitude, a real tensor.
Tensor abs(Lower& l, Tensor self) {
  if (is_bool(self.dtype()) || is_unsigned(self.dtype())) return copy_of(l, self);
  return map(l, self, {}, [](Formula x) { return formula::abs(x); });
}

Tensor neg(Lower& l, Tensor self) {
  if (is_bool(self.dtype()))
    return l.wrong("negation of a bool tensor is not supported by PyTorch; use `~` or `logical_not()`");
  return l.neg(self);
}

// self itself.
Tensor positive(Lower&, Tensor self) { return self; }

// -1, 0 or 1; NaN gives 0.
Tensor sign(Lower& l, Tensor self) {
  return map(l, self, {}, [](Formula x) {
    if (is_bool(x.dtype())) return x;
    if (is_unsigned(x.dtype())) return min(x, 1.0);
    return select(is_nan(x), 0.0, formula::sign(x));
  });
}

// z / |z|, 0 at 0; of real numbers the sign.
Tensor sgn(Lower& l, Tensor self) {
  if (!is_complex(self.dtype())) return sign(l, self);
  return map(l, self, {}, [&](Formula z) {
    Formula size = formula::abs(z);
    return select(eq(size, 0.0), 0.0, z / convert(size, z.dtype()));
  });
}

// Whether the sign bit is set: also of -0 and of NaN.
Tensor signbit(Lower& l, Tensor self) {
  if (is_bool(self.dtype())) return map(l, self, {}, [](Formula x) { return x.like(false); });
  if (is_integral(self.dtype())) return map(l, self, {}, [](Formula x) { return x < 0.0; });
  return map(l, self, lower::accumulate_type(self.dtype()), formula::sign_bit);
}

// max(self, 0), NaN kept.
Tensor relu(Lower& l, Tensor self) {
  if (is_bool(self.dtype())) return l.wrong("expected numbers, got " + describe(self));
  return map(l, self, {}, [](Formula x) { return max(x, 0.0); });
}

// ---- roundings

Tensor ceil(Lower& l, Tensor self) { return map_fractions(l, self, formula::ceil); }
Tensor floor(Lower& l, Tensor self) { return map_fractions(l, self, formula::floor); }
Tensor trunc(Lower& l, Tensor self) { return map_fractions(l, self, formula::trunc); }
// self - trunc(self).
Tensor frac(Lower& l, Tensor self) {
  return map(l, self, {}, [](Formula x) { return x - formula::trunc(x); });
}
// Halves go to the even neighbour.
Tensor round(Lower& l, Tensor self) { return map_fractions(l, self, formula::round); }
// The same at a decimal place, by scaling as PyTorch does.
Tensor round_decimals(Lower& l, Tensor self, int64_t decimals) {
  if (decimals == 0) return round(l, self);
  double scale = std::pow(10.0, std::abs(static_cast<double>(decimals)));
  if (is_integral(self.dtype())) return l.wrong("PyTorch rounds no integers to decimal places, got " + describe(self));
  return map_wide(l, self, [&](Formula x) {
    return decimals < 0 ? formula::round(x / scale) * scale : formula::round(x * scale) / scale;
  });
}

// ---- powers and logarithms

Tensor square(Lower& l, Tensor self) { return pow(l, self, l.wrap(2)); }
Tensor reciprocal(Lower& l, Tensor self) {
  return map_wide(l, self, [](Formula x) { return 1.0 / (is_complex(x.dtype()) ? select(eq(x, 0.0), 0.0, x) : x); });
}
Tensor sigmoid(Lower& l, Tensor self) { return map_wide(l, self, formula::logistic); }

// log(x / (1 - x)), with x held between eps and 1 - eps if eps is given. PyTorch rounds half precision after each step.
Tensor logit(Lower& l, Tensor self, Optional<double> eps) {
  return map_wide(l, self, [&](Formula x) {
    auto step = [&](Formula v) { return v.with(rounded(l, v, self.dtype())); };
    if (eps) x = step(select(x < *eps, *eps, select(x > 1 - *eps, 1 - *eps, x)));
    return log(step(x / step(1.0 - x)));
  });
}

// sin(pi x) / (pi x), 1 at 0.
Tensor sinc(Lower& l, Tensor self) {
  return map_wide(l, self, [](Formula x) {
    Formula angle = x * kPi;
    return select(eq(x, 0.0), 1.0, sin(angle) / angle);
  });
}

Tensor deg2rad(Lower& l, Tensor self) {
  return map_wide(l, self, [](Formula x) { return x * (kPi / 180); });
}
Tensor rad2deg(Lower& l, Tensor self) {
  return map_wide(l, self, [](Formula x) { return x * (180 / kPi); });
}

// ---- complex numbers

// The argument of a complex number; pi for negative reals, 0 for others, NaN for NaN.
Tensor angle(Lower& l, Tensor self) {
  if (is_complex(self.dtype())) return map(l, self, {}, [](Formula z) { return formula::atan2(imag(z), real(z)); });
  return map_float(l, self, [](Formula x) { return select(is_nan(x), x, select(x < 0.0, kPi, x.like(0))); });
}

namespace {

Value conjugate(Lower& l, Value v) {
  Formula z(l, v);
  return complex(real(z), -imag(z));
}

}  // namespace

// The conjugate as a view: writes to it are conjugated back. Of real tensors self itself.
Tensor conjugate_view(Lower& l, Tensor self) {
  if (!is_complex(self.dtype())) return self;
  return l.view(self, self.shape(), self.strides(), self.node()->storage_offset,
                {.read = [&l](Value base) { return conjugate(l, base); },
                 .write = [&l](Value, Value update) { return conjugate(l, update); }});
}

// The negated tensor as a view.
Tensor neg_view(Lower& l, Tensor self) {
  return l.view(self, self.shape(), self.strides(), self.node()->storage_offset,
                {.read = [&l](Value base) { return l.hlo.negate(base); },
                 .write = [&l](Value, Value update) { return l.hlo.negate(update); }});
}

// The conjugate as a copy. Of real tensors self itself.
Tensor conj_physical(Lower& l, Tensor self) {
  if (!is_complex(self.dtype())) return self;
  return map(l, self, {}, [&](Formula z) { return conjugate(l, z); });
}

// A conjugate is an ordinary tensor here; whether it was resolved cannot be seen.
Tensor resolve(Lower&, Tensor self) { return self; }

// ---- repairs

// NaN and infinities replaced; by default with 0 and the greatest finite numbers. Integers are copied.
Tensor nan_to_num(Lower& l, Tensor self, Optional<double> nan, Optional<double> posinf, Optional<double> neginf) {
  if (is_integral(self.dtype())) return copy_of(l, self);
  auto repair = [&](Formula x) {
    double greatest = std::get<double>(stablehlo::largest_finite(x.dtype()));
    Formula result = select(is_nan(x), nan.value_or(0), x);
    result = select(eq(x, kInfinity), posinf.value_or(greatest), result);
    return select(eq(x, -kInfinity), neginf.value_or(-greatest), result);
  };
  return map(l, self, {},
             [&](Formula x) { return is_complex(x.dtype()) ? complex(repair(real(x)), repair(imag(x))) : repair(x); });
}

// (mantissa, exponent) with self = mantissa * 2^exponent and 0.5 <= |mantissa| < 1.
std::tuple<Tensor, Tensor> frexp(Lower& l, Tensor self) {
  DType dtype = self.dtype();
  if (is_integral(dtype) || is_complex(dtype))
    return l.wrong("expected a floating-point tensor, got " + describe(self));
  formula::Parts parts = formula::frexp(Formula(l, l.read(self, lower::accumulate_type(dtype))));
  return {l.make_elementwise(l.convert(parts.mantissa, dtype), std::array{self}),
          l.make_elementwise(parts.exponent, std::array{self})};
}

std::span<const Row> elementary_ops() {
  static constexpr Row rows[] = {
      op<conjugate_view>("_conj"),
      op<conj_physical>("_conj_physical", aliases("self")),
      op<neg_view>("_neg_view"),
      op<abs>("abs"),
      op<abs>("absolute"),
      op<elementary<formula::acos>>("acos"),
      op<elementary<formula::acosh>>("acosh"),
      op<angle>("angle"),
      op<elementary<formula::acos>>("arccos"),
      op<elementary<formula::acosh>>("arccosh"),
      op<elementary<formula::asin>>("arcsin"),
      op<elementary<formula::asinh>>("arcsinh"),
      op<elementary<formula::atan>>("arctan"),
      op<elementary<formula::atanh>>("arctanh"),
      op<elementary<formula::asin>>("asin"),
      op<elementary<formula::asinh>>("asinh"),
      op<elementary<formula::atan>>("atan"),
      op<elementary<formula::atanh>>("atanh"),
      op<ceil>("ceil"),
      op<conjugate_view>("conj"),
      op<conj_physical>("conj_physical", aliases("self")),
      op<elementary<formula::cos>>("cos"),
      op<elementary<formula::cosh>>("cosh"),
      op<deg2rad>("deg2rad"),
      op<elementary<formula::exp>>("exp"),
      op<elementary<formula::exp2>>("exp2"),
      op<elementary<formula::expm1>>("expm1"),
      op<trunc>("fix"),
      op<floor>("floor"),
      op<frac>("frac"),
      op<frexp>("frexp.Tensor"),
      op<elementary<formula::log>>("log"),
      op<elementary<formula::log10>>("log10"),
      op<elementary<formula::log1p>>("log1p"),
      op<elementary<formula::log2>>("log2"),
      op<logit>("logit"),
      op<nan_to_num>("nan_to_num"),
      op<neg>("neg"),
      op<neg>("negative"),
      op<positive>("positive"),
      op<rad2deg>("rad2deg"),
      op<reciprocal>("reciprocal"),
      op<relu>("relu"),
      op<resolve>("resolve_conj"),
      op<resolve>("resolve_neg"),
      op<round>("round"),
      op<round_decimals>("round.decimals"),
      op<elementary<formula::rsqrt>>("rsqrt"),
      op<sgn>("sgn"),
      op<sigmoid>("sigmoid"),
      op<sign>("sign"),
      op<signbit>("signbit"),
      op<elementary<formula::sin>>("sin"),
      op<sinc>("sinc"),
      op<elementary<formula::sinh>>("sinh"),
      op<elementary<formula::exp2>>("special_exp2"),
      op<sigmoid>("special_expit"),
      op<elementary<formula::expm1>>("special_expm1"),
      op<elementary<formula::log1p>>("special_log1p"),
      op<logit>("special_logit"),
      op<round_decimals>("special_round"),
      op<sinc>("special_sinc"),
      op<elementary<formula::sqrt>>("sqrt"),
      op<square>("square"),
      op<elementary<formula::tan>>("tan"),
      op<elementary<formula::tanh>>("tanh"),
      op<trunc>("trunc"),
  };
  return rows;
}

}  // namespace torchlift::aten
