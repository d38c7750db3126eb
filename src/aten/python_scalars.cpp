// Arithmetic on Python numbers and sizes, computed while importing: _operator.*, math.*, torch.sym_*, aten.sym_*.
#include <cmath>

#include "aten/families.hpp"
#include "aten/ops.hpp"

namespace torchlift::aten {
namespace {

using lower::python;

bool both_int(const Scalar& a, const Scalar& b) { return a.is_integral() && b.is_integral(); }

Scalar add(Lower&, Scalar a, Scalar b) {
  if (both_int(a, b)) return a.to_dim() + b.to_dim();
  return a.to_double() + b.to_double();
}

Scalar sub(Lower&, Scalar a, Scalar b) {
  if (both_int(a, b)) return a.to_dim() - b.to_dim();
  return a.to_double() - b.to_double();
}

Scalar mul(Lower&, Scalar a, Scalar b) {
  if (both_int(a, b)) return a.to_dim() * b.to_dim();
  return a.to_double() * b.to_double();
}

IValue division_by_zero(Lower& l) { return l.wrong("division by zero"); }

IValue floordiv(Lower& l, Scalar a, Scalar b) {
  if (b.is_zero()) return division_by_zero(l);
  if (both_int(a, b)) return floordiv(a.to_dim(), b.to_dim());
  return std::floor(a.to_double() / b.to_double());
}

IValue mod(Lower& l, Scalar a, Scalar b) {
  if (b.is_zero()) return division_by_zero(l);
  if (both_int(a, b)) return mod(a.to_dim(), b.to_dim());
  double x = a.to_double(), y = b.to_double();
  double r = std::fmod(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

IValue truediv(Lower& l, Scalar a, Scalar b) {
  if (b.is_zero()) return division_by_zero(l);
  return a.to_double() / b.to_double();
}

// Integer powers stay integers, by repeated squaring; a negative exponent gives a float, as in Python.
Scalar pow(Lower&, Scalar a, Scalar b) {
  if (!both_int(a, b) || b.to_int() < 0) return std::pow(a.to_double(), b.to_double());
  Dim result(1), base = a.to_dim();
  for (int64_t n = b.to_int(); n > 0; n >>= 1) {
    if (n & 1) result = result * base;
    if (n > 1) base = base * base;
  }
  return result;
}

IValue neg(Lower&, Scalar a) {
  if (a.is_integral()) return -a.to_dim();
  return -a.to_double();
}
Scalar pos(Lower&, Scalar a) { return a.is_bool() ? Scalar(a.to_int()) : a; }

// Comparisons of sizes use their numbers: the program is specialised, so the answer holds for it.
template <typename Compare>
bool compare(const Scalar& a, const Scalar& b, Compare fn) {
  return both_int(a, b) ? fn(a.to_int(), b.to_int()) : fn(a.to_double(), b.to_double());
}
bool eq(Lower&, Scalar a, Scalar b) { return compare(a, b, std::equal_to<>()); }
bool ne(Lower&, Scalar a, Scalar b) { return compare(a, b, std::not_equal_to<>()); }
bool lt(Lower&, Scalar a, Scalar b) { return compare(a, b, std::less<>()); }
bool le(Lower&, Scalar a, Scalar b) { return compare(a, b, std::less_equal<>()); }
bool gt(Lower&, Scalar a, Scalar b) { return compare(a, b, std::greater<>()); }
bool ge(Lower&, Scalar a, Scalar b) { return compare(a, b, std::greater_equal<>()); }

IValue and_(Lower&, Scalar a, Scalar b) {
  if (a.is_bool() && b.is_bool()) return a.to_bool() && b.to_bool();
  return Dim(a.to_int() & b.to_int());
}
IValue or_(Lower&, Scalar a, Scalar b) {
  if (a.is_bool() && b.is_bool()) return a.to_bool() || b.to_bool();
  return Dim(a.to_int() | b.to_int());
}

bool shiftable(Lower& l, const Scalar& bits) {
  if (bits.to_int() >= 0 && bits.to_int() < 64) return true;
  l.wrong("shift by " + bits.text());
  return false;
}
IValue lshift(Lower& l, Scalar a, Scalar b) {
  if (!shiftable(l, b)) return Dim(0);
  return a.to_dim() * Dim(b.to_int() < 63 ? int64_t{1} << b.to_int() : INT64_MAX);
}
IValue rshift(Lower& l, Scalar a, Scalar b) {
  if (!shiftable(l, b)) return Dim(0);
  return b.to_int() < 63 ? floordiv(a.to_dim(), Dim(int64_t{1} << b.to_int())) : Dim(a.to_int() < 0 ? -1 : 0);
}

bool sym_not(Lower&, Scalar a) { return !a.to_bool(); }
Dim sym_int(Lower&, Scalar a) { return a.is_integral() ? a.to_dim() : Dim(a.to_int()); }
double sym_float(Lower&, Scalar a) { return a.to_double(); }
IValue sym_ite(Lower&, Scalar condition, IValue a, IValue b) { return condition.to_bool() ? a : b; }
Scalar sym_max(Lower&, Scalar a, Scalar b) {
  if (both_int(a, b)) return max(a.to_dim(), b.to_dim());
  return std::max(a.to_double(), b.to_double());
}
Scalar sym_min(Lower&, Scalar a, Scalar b) {
  if (both_int(a, b)) return min(a.to_dim(), b.to_dim());
  return std::min(a.to_double(), b.to_double());
}

template <double (*kFn)(double)>
double of_double(Lower&, Scalar a) {
  return kFn(a.to_double());
}

// ---- sizes of tensors

Dim sym_size(Lower& l, Tensor self, int64_t dim) {
  auto axis = l.axis(dim, self.rank());
  return axis && self.rank() > 0 ? self.dim(*axis) : Dim(1);
}
Dim sym_stride(Lower& l, Tensor self, int64_t dim) {
  auto axis = l.axis(dim, self.rank());
  return axis && self.rank() > 0 ? self.strides()[static_cast<size_t>(*axis)] : Dim(1);
}
Dim sym_numel(Lower&, Tensor self) { return self.numel(); }
Dim sym_storage_offset(Lower&, Tensor self) { return self.node()->storage_offset; }

// ---- promises about sizes, which hold here or are refused

void assert_scalar(Lower& l, Scalar self, std::string assert_msg) {
  if (!self.to_bool()) l.wrong("assertion of the model does not hold at these sizes: " + assert_msg);
}
void constrain_range(Lower& l, Scalar size, Optional<Dim> low, Optional<Dim> high) {
  Dim value = size.to_dim();
  if ((low && value < *low) || (high && value > *high)) l.wrong("size " + size.text() + " is out of the model's range");
}

}  // namespace

std::span<const Row> python_scalar_ops() {
  static constexpr Row rows[] = {
      python<add>("_operator::add"),
      python<and_>("_operator::and_"),
      python<eq>("_operator::eq"),
      python<floordiv>("_operator::floordiv"),
      python<ge>("_operator::ge"),
      python<gt>("_operator::gt"),
      python<le>("_operator::le"),
      python<lshift>("_operator::lshift"),
      python<lt>("_operator::lt"),
      python<mod>("_operator::mod"),
      python<mul>("_operator::mul"),
      python<ne>("_operator::ne"),
      python<neg>("_operator::neg"),
      python<or_>("_operator::or_"),
      python<pos>("_operator::pos"),
      python<pow>("_operator::pow"),
      python<rshift>("_operator::rshift"),
      python<sub>("_operator::sub"),
      python<truediv>("_operator::truediv"),
      python<of_double<std::trunc>>("math::trunc"),
      python<of_double<std::ceil>>("math::ceil"),
      python<of_double<std::floor>>("math::floor"),
      python<of_double<std::sqrt>>("math::sqrt"),
      python<sym_float>("torch::sym_float"),
      python<sym_int>("torch::sym_int"),
      python<sym_ite>("torch::sym_ite"),
      python<sym_max>("torch::sym_max"),
      python<sym_min>("torch::sym_min"),
      python<sym_not>("torch::sym_not"),
      python<of_double<std::sqrt>>("torch::sym_sqrt"),
      op<assert_scalar>("_assert_scalar"),
      op<constrain_range>("sym_constrain_range"),
      op<constrain_range>("sym_constrain_range_for_size"),
      op<sym_numel>("sym_numel"),
      op<sym_size>("sym_size.int"),
      op<sym_storage_offset>("sym_storage_offset"),
      op<sym_stride>("sym_stride.int"),
  };
  return rows;
}

}  // namespace torchlift::aten
