// Comparisons, and questions about values.
#include <array>

#include "aten/families.hpp"
#include "aten/pointwise.hpp"
#include "aten/reduction.hpp"
#include "aten/special_functions.hpp"
#include "base/kinds.hpp"

namespace torchlift::aten {
namespace {

// In result_type; NaN differs from everything. Complex numbers are equal or not.
template <ComparisonDirection kDirection>
Tensor compare(Lower& l, Tensor self, Operand other) {
  return l.compare(self, other, kDirection);
}

// A truth value of each part of a number, for integers a constant.
template <typename Fn>
Tensor ask(Lower& l, Tensor self, bool of_integers, Fn&& fn) {
  if (is_integral(self.dtype()))
    return map(l, self, {}, [&](Formula x) { return convert(x, DType::Bool).like(of_integers); });
  return map(l, self, {}, std::forward<Fn>(fn));
}

lower::Refused refuse_value(Lower& l, std::string what) {
  return l.refuse(
      Kind::DataDependent,
      {{"what", std::move(what)},
       {"advice", "compute with the tensor itself (torch.where, masks), or move this decision out of the model"}});
}

}  // namespace

// ---- questions about numbers

Tensor isnan(Lower& l, Tensor self) {
  return ask(l, self, false, [](Formula x) { return is_nan(x); });
}

Tensor isinf(Lower& l, Tensor self) {
  auto infinite = [](Formula x) { return eq(formula::abs(x), kInfinity); };
  return ask(l, self, false,
             [&](Formula x) { return is_complex(x.dtype()) ? infinite(real(x)) | infinite(imag(x)) : infinite(x); });
}

Tensor isfinite(Lower& l, Tensor self) {
  return ask(l, self, true,
             [](Formula x) { return is_complex(x.dtype()) ? is_finite(real(x)) & is_finite(imag(x)) : is_finite(x); });
}

Tensor isposinf(Lower& l, Tensor self) {
  return ask(l, self, false, [](Formula x) { return eq(x, kInfinity); });
}
Tensor isneginf(Lower& l, Tensor self) {
  return ask(l, self, false, [](Formula x) { return eq(x, -kInfinity); });
}

// Whether the imaginary part is zero.
Tensor isreal(Lower& l, Tensor self) {
  if (!is_complex(self.dtype())) return map(l, self, {}, [](Formula x) { return eq(x, x) | ne(x, x); });
  return map(l, self, {}, [](Formula z) { return eq(imag(z), 0.0); });
}

// |self - other| <= atol + |rtol * other|, where that distance is finite; equal values are close in any case.
Tensor isclose(Lower& l, Tensor self, Tensor other, double rtol, double atol, bool equal_nan) {
  if (!equal_dtypes(l, self, other)) return {};
  DType dtype = self.dtype();
  return zip(l, self, other, dtype, [&](Formula a, Formula b) {
    Formula close = eq(a, b);
    if (equal_nan && !is_integral(dtype)) close = close | (is_nan(a) & is_nan(b));
    if (rtol == 0 && atol == 0) return close;
    DType wide = lower::float_type(dtype);
    Formula x = convert(a, wide), y = convert(b, wide);
    Formula distance = formula::abs(x - y), allowed = formula::abs(y * rtol) + atol;
    return close | (is_finite(distance) & (distance <= allowed));
  });
}

// ---- answers that would be Python values

bool allclose(Lower& l, Tensor, Tensor, double, double, bool) {
  refuse_value(l, "the answer of allclose");
  return false;
}
bool equal(Lower& l, Tensor self, Tensor other) {
  bool alike = self.shape() == other.shape();
  if (alike) refuse_value(l, "the answer of equal");
  return false;  // tensors of other shapes are not equal
}

namespace {

// The number that a tensor is known to hold: a Python number in its place, or a constant of one element.
Optional<Scalar> known_number(Lower& l, Tensor self) {
  if (self.number()) return self.number();
  auto number = l.hlo.splat_value(l.read(self));
  if (!number || self.numel() != Dim(1)) return std::nullopt;
  return std::visit([](auto v) { return Scalar(v); }, *number);
}

}  // namespace

IValue item(Lower& l, Tensor self) {
  if (self.numel() != Dim(1)) return l.wrong("expected one element, got " + describe(self));
  if (auto number = known_number(l, self)) return IValue(*number);
  return refuse_value(l, "a Python number");
}
bool is_nonzero(Lower& l, Tensor self) {
  if (auto number = known_number(l, self)) return number->to_bool();
  refuse_value(l, "a Python truth value");
  return false;
}

std::span<const Row> comparison_ops() {
  static constexpr Row rows[] = {
      op<item>("_local_scalar_dense"),
      op<allclose>("allclose"),
      op<compare<ComparisonDirection::Eq>>("eq"),
      op<equal>("equal"),
      op<compare<ComparisonDirection::Ge>>("ge"),
      op<compare<ComparisonDirection::Gt>>("greater"),
      op<compare<ComparisonDirection::Ge>>("greater_equal"),
      op<compare<ComparisonDirection::Gt>>("gt"),
      op<is_nonzero>("is_nonzero"),
      op<isclose>("isclose"),
      op<isfinite>("isfinite"),
      op<isinf>("isinf"),
      op<isnan>("isnan"),
      op<isneginf>("isneginf"),
      op<isposinf>("isposinf"),
      op<isreal>("isreal"),
      op<item>("item"),
      op<compare<ComparisonDirection::Le>>("le"),
      op<compare<ComparisonDirection::Lt>>("less"),
      op<compare<ComparisonDirection::Le>>("less_equal"),
      op<compare<ComparisonDirection::Lt>>("lt"),
      op<compare<ComparisonDirection::Ne>>("ne"),
      op<compare<ComparisonDirection::Ne>>("not_equal"),
  };
  return rows;
}

}  // namespace torchlift::aten
