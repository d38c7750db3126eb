// Pointwise operators on bits, truth values and whole numbers.
#include "aten/families.hpp"
#include "aten/pointwise.hpp"

namespace torchlift::aten {
namespace {

using Binary = Value (stablehlo::Builder::*)(Value, Value);

// Over the promoted integer type, or over truth values.
template <Binary kOp>
Tensor bits(Lower& l, Operand self, Operand other) {
  return l.binary(self, other, kOp);
}

// Over truth values: zero is false, everything else true, NaN too.
template <Binary kOp>
Tensor logical(Lower& l, Tensor self, Tensor other) {
  if (!computes_in(l, lower::result_type(std::array{self, other}), takes::kReal | takes::kComplex)) return {};
  return zip(l, self, other, DType::Bool, [&](Formula a, Formula b) { return (l.hlo.*kOp)(a, b); });
}

constexpr Binary kAnd = &stablehlo::Builder::and_;
constexpr Binary kOr = &stablehlo::Builder::or_;
constexpr Binary kXor = &stablehlo::Builder::xor_;

}  // namespace

Tensor bitwise_not(Lower& l, Tensor self) { return l.unary(self, &stablehlo::Builder::not_); }
Tensor logical_not(Lower& l, Tensor self) {
  return map(l, self, DType::Bool, [](Formula x) { return !x; });
}

// A shift by a negative number, or by all bits and more, gives 0.
Tensor left_shift(Lower& l, Operand self, Operand other) {
  DType dtype = lower::result_type(std::array{Tensor(self), Tensor(other)});
  if (!is_integer(dtype)) return l.wrong("expected integers to shift, got " + describe(self));
  return l.binary(self, other, &stablehlo::Builder::shift_left);
}

// The sign is shifted in.
Tensor right_shift(Lower& l, Operand self, Operand other) {
  DType dtype = lower::result_type(std::array{Tensor(self), Tensor(other)});
  if (!is_integer(dtype)) return l.wrong("expected integers to shift, got " + describe(self));
  return l.binary(
      self, other,
      is_unsigned(dtype) ? &stablehlo::Builder::shift_right_logical : &stablehlo::Builder::shift_right_arithmetic);
}

namespace {

// Euclid's algorithm on all elements at once, until every remainder is zero.
Formula greatest_common_divisor(Formula a, Formula b) {
  Lower& l = a.lower();
  Values end = l.hlo.while_(
      {a, b}, [&](std::span<const Value> v) { return any(ne(Formula(l, v[1]), 0.0)); },
      [&](std::span<const Value> v) {
        Formula x(l, v[0]), y(l, v[1]);
        Formula done = eq(y, 0.0);
        return Values{select(done, x, y), select(done, y, formula::fmod(x, select(done, 1.0, y)))};
      });
  Formula result(l, end[0]);
  return is_unsigned(result.dtype()) ? result : formula::abs(result);
}

}  // namespace

Tensor gcd(Lower& l, Tensor self, Tensor other) {
  if (!computes_in(l, lower::result_type(std::array{self, other}), takes::kIntegers)) return {};
  return zip(l, self, other, {}, greatest_common_divisor);
}

// |self / gcd * other|, 0 where both are 0. As in C++, narrow integers are computed as int, and the result wraps.
Tensor lcm(Lower& l, Tensor self, Tensor other) {
  DType dtype = lower::result_type(std::array{self, other});
  if (!computes_in(l, dtype, takes::kIntegers)) return {};
  DType compute = info(dtype).bytes < 4 ? DType::Int32 : dtype;
  return zip_all(l, std::array{self, other}, compute, dtype, [](std::span<const Formula> v) {
    Formula divisor = greatest_common_divisor(v[0], v[1]);
    Formula result = v[0] / select(eq(divisor, 0.0), 1.0, divisor) * v[1];
    return is_unsigned(result.dtype()) ? result : formula::abs(result);
  });
}

std::span<const Row> bitwise_ops() {
  static constexpr Row rows[] = {
      op<bits<kAnd>>("__and__"),
      op<bits<kAnd>>("__iand__"),
      op<left_shift>("__ilshift__"),
      op<bits<kOr>>("__ior__"),
      op<right_shift>("__irshift__"),
      op<bits<kXor>>("__ixor__"),
      op<left_shift>("__lshift__"),
      op<bits<kOr>>("__or__"),
      op<right_shift>("__rshift__"),
      op<bits<kXor>>("__xor__"),
      op<bits<kAnd>>("bitwise_and"),
      op<left_shift>("bitwise_left_shift"),
      op<bitwise_not>("bitwise_not"),
      op<bits<kOr>>("bitwise_or"),
      op<right_shift>("bitwise_right_shift"),
      op<bits<kXor>>("bitwise_xor"),
      op<gcd>("gcd"),
      op<lcm>("lcm"),
      op<logical<kAnd>>("logical_and"),
      op<logical_not>("logical_not"),
      op<logical<kOr>>("logical_or"),
      op<logical<kXor>>("logical_xor"),
  };
  return rows;
}

}  // namespace torchlift::aten
