#include "torch/symbolic.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/kinds.hpp"

namespace torchlift::torch {
namespace {

SymExpr srepr(std::string_view text) {
  Result<SymExpr> expr = parse_srepr(text);
  EXPECT_TRUE(expr.ok()) << text << ": " << (expr.ok() ? "" : expr.error().message());
  return expr.ok() ? std::move(expr).value() : SymExpr{};
}

SymExpr infix(std::string_view text) {
  Result<SymExpr> expr = parse_infix(text);
  EXPECT_TRUE(expr.ok()) << text << ": " << (expr.ok() ? "" : expr.error().message());
  return expr.ok() ? std::move(expr).value() : SymExpr{};
}

const Bindings kBindings{{"a", Dim::symbol("a", 7)}, {"b", Dim::symbol("b", 3)}, {"zero", Dim(0)}, {"n", Dim(-7)}};

std::string value_of(std::string_view text) {
  std::optional<SymValue> value = evaluate(infix(text), kBindings);
  if (!value) return "none";
  if (const auto* truth = std::get_if<bool>(&*value)) return *truth ? "True" : "False";
  if (const auto* dim = std::get_if<Dim>(&*value)) return std::to_string(dim->concrete());
  return "float " + std::to_string(std::get<double>(*value));
}

TEST(Symbolic, srepr_reads_constructors_and_forgets_assumptions) {
  SymExpr expr = srepr("Mul(Integer(2), Symbol('s60', positive=True, integer=True))");
  EXPECT_EQ(expr, SymExpr::call("Mul", {SymExpr::of(2), SymExpr::symbol("s60")}));
  EXPECT_EQ(srepr("Integer(-9223372036854775808)"), SymExpr::of(INT64_MIN));
  EXPECT_EQ(srepr("Float('0.5', precision=53)"), SymExpr::of_float(0.5));
  EXPECT_EQ(srepr("true"), SymExpr::of_bool(true));
  EXPECT_EQ(srepr("Gt(Symbol('u0'), Integer(4))").head, "StrictGreaterThan");
  EXPECT_EQ(srepr("Max(Integer(1), Symbol('s0'), evaluate=False)").arguments.size(), 2u);
  EXPECT_EQ(to_text(srepr("Add(Mul(Integer(2), Symbol('s60')), Integer(-1))")), "2*s60 - 1");
}

TEST(Symbolic, malformed_srepr_is_a_diagnostic) {
  for (std::string_view text :
       {"", "Add(", "Add(Integer(1)", "Integer()", "Integer(1.5)", "Integer(99999999999999999999)", "Symbol('a b')",
        "Symbol('True')", "Symbol(s0)", "s0", "Add(Integer(1)) x", "Float('x')", "oo(Integer(1))", "'text'"}) {
    Result<SymExpr> expr = parse_srepr(text);
    ASSERT_FALSE(expr.ok()) << text;
    EXPECT_EQ(expr.error().kind, Kind::SymbolicSyntax);
  }
}

TEST(Symbolic, depth_and_length_are_bounded) {
  auto nested = [](std::string_view open, int depth, std::string_view inner, std::string_view close) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += open;
    text += inner;
    for (int i = 0; i < depth; ++i) text += close;
    return text;
  };
  EXPECT_TRUE(parse_srepr(nested("Identity(", kMaxSymbolicDepth - 1, "Integer(1)", ")")).ok());
  EXPECT_FALSE(parse_srepr(nested("Identity(", 100000 / 10, "Integer(1)", ")")).ok());
  EXPECT_FALSE(parse_infix(nested("(", 10000, "1", ")")).ok());
  EXPECT_FALSE(parse_infix(nested("-", 10000, "a", "")).ok());
  EXPECT_FALSE(parse_infix(nested("not ", 10000, "a", "")).ok());
  EXPECT_FALSE(parse_infix(nested("a//", 10000, "a", "")).ok());
  EXPECT_FALSE(parse_infix(nested("a**", 10000, "a", "")).ok());
  EXPECT_TRUE(parse_infix(nested("a + ", 10000, "a", "")).ok());
  EXPECT_FALSE(parse_infix(nested("a + ", 100000, "a", "")).ok());
}

TEST(Symbolic, infix_follows_pythons_precedence) {
  EXPECT_EQ(value_of("a + b*2"), "13");
  EXPECT_EQ(value_of("-2**2"), "-4");
  EXPECT_EQ(value_of("2**-1 + 0.5"), "float 1.000000");
  EXPECT_EQ(value_of("2**3**2"), "512");
  EXPECT_EQ(value_of("a - b - 1"), "3");
  EXPECT_EQ(value_of("a//b*2"), "4");
  EXPECT_EQ(value_of("1 << 2 + 1"), "8");
  EXPECT_EQ(value_of("1 < b < a"), "True");
  EXPECT_EQ(value_of("not a == 7 or b != 3"), "False");
  EXPECT_EQ(value_of("(a > 3) & (b > 3)"), "False");
}

TEST(Symbolic, malformed_infix_is_a_diagnostic) {
  for (std::string_view text : {"", "a +", "(a", "a b", "a)", "Max(a", "and", "1..2", "99999999999999999999", "a = b",
                                "1 - -9223372036854775808"}) {
    Result<SymExpr> expr = parse_infix(text);
    ASSERT_FALSE(expr.ok()) << text;
    EXPECT_EQ(expr.error().kind, Kind::SymbolicSyntax);
  }
}

TEST(Symbolic, text_is_read_back_as_the_same_tree) {
  for (std::string_view text : {"Add(Integer(1), Mul(Integer(-1), Symbol('x')))",
                                "Mul(Integer(-1), Integer(5))",
                                "Add(Symbol('x'), Integer(-5))",
                                "Add(Symbol('x'), Mul(Integer(-2), Symbol('y'), Symbol('z')))",
                                "Pow(Integer(-2), Integer(2))",
                                "Add(Add(Symbol('x'), Symbol('y')), Symbol('z'))",
                                "Mul(Mul(Symbol('x'), Symbol('y')), Integer(-3))",
                                "Add(Symbol('x'), Mul(Integer(-1), Mul(Integer(2), Symbol('y'))))",
                                "Add(Symbol('x'), Mul(Integer(-1), Integer(3)))",
                                "Add(Symbol('x'), Mul(Integer(-1), Float('2.5'), Symbol('y')))",
                                "Add(Symbol('x'), Mul(Integer(-1), Float('2.5')))",
                                "FloorDiv(Add(Symbol('x'), Integer(1)), Integer(2))",
                                "Mul(FloorDiv(Symbol('x'), Integer(2)), Integer(2))",
                                "Pow(Symbol('x'), Pow(Symbol('y'), Integer(-1)))",
                                "Add(Integer(7))",
                                "Add()",
                                "Equality(Symbol('x'), true)",
                                "StrictLessThan(LessThan(Symbol('x'), Integer(1)), Integer(2))",
                                "Not(And(Symbol('x'), Or(Symbol('y'), false)))",
                                "Add(Symbol('x'), Integer(-9223372036854775808))",
                                "Float('-0.0')",
                                "-oo",
                                "Mod(Symbol('x'), Integer(-3))",
                                "Piecewise(ExprCondPair(Integer(1), true))",
                                "Max(Integer(1), Mul(Rational(1, 2), Symbol('s0')))"}) {
    SymExpr expr = srepr(text);
    EXPECT_EQ(infix(to_text(expr)), expr) << text << " as " << to_text(expr);
  }
}

TEST(Symbolic, division_and_remainder_round_toward_minus_infinity) {
  EXPECT_EQ(value_of("n//2"), "-4");
  EXPECT_EQ(value_of("n % 2"), "1");
  EXPECT_EQ(value_of("7 % -2"), "-1");
  EXPECT_EQ(value_of("7.5 % -2"), "float -0.500000");
  EXPECT_EQ(value_of("CeilDiv(a, 2)"), "4");
  EXPECT_EQ(value_of("CeilDiv(a, -2)"), "-3");
  EXPECT_EQ(value_of("ModularIndexing(a, 2, 2)"), "1");
  EXPECT_EQ(value_of("IntTrueDiv(a, 2)"), "float 3.500000");
}

TEST(Symbolic, conversions_keep_integers_exact) {
  EXPECT_EQ(value_of("FloorToInt(IntTrueDiv(9223372036854775807, 2))"), "4611686018427387903");
  EXPECT_EQ(value_of("CeilToInt(IntTrueDiv(a, 2))"), "4");
  EXPECT_EQ(value_of("floor(a/2)"), "3");
  EXPECT_EQ(value_of("TruncToInt(n*0.5)"), "-3");
  EXPECT_EQ(value_of("RoundToInt(2.5)"), "2");
  EXPECT_EQ(value_of("RoundDecimal(2.675, 2)"), "float 2.670000");
  EXPECT_EQ(value_of("ToFloat(a)"), "float 7.000000");
  EXPECT_EQ(value_of("FloorToInt(oo)"), "none");
  EXPECT_EQ(value_of("(a + 1)/2"), "4");
}

TEST(Symbolic, choices_need_only_the_branch_taken) {
  EXPECT_EQ(value_of("Where(a > 3, a, unknown)"), "7");
  EXPECT_EQ(value_of("ITE(a < 3, unknown, True)"), "True");
  EXPECT_EQ(value_of("Piecewise(ExprCondPair(1, a < 3), ExprCondPair(2, True))"), "2");
}

TEST(Symbolic, functions_and_shapes) {
  EXPECT_EQ(value_of("Max(a, b, 9)"), "9");
  EXPECT_EQ(value_of("Min(a, 2.5)"), "float 2.500000");
  EXPECT_EQ(value_of("OpaqueUnaryFn_sqrt(a + 2)"), "float 3.000000");
  EXPECT_EQ(value_of("OpaqueUnaryFn_sqrt(n)"), "none");
  EXPECT_EQ(value_of("IsNonOverlappingAndDenseIndicator(2, 3, 3, 1)"), "1");
  EXPECT_EQ(value_of("IsNonOverlappingAndDenseIndicator(2, 3, 4, 1)"), "0");
  EXPECT_EQ(value_of("PowByNatural(a, 2)"), "49");
  EXPECT_EQ(value_of("a >> 1"), "3");
}

TEST(Symbolic, an_unbound_symbol_an_unknown_head_or_a_zero_divisor_has_no_value) {
  for (std::string_view text : {"unknown", "Strange(a)", "a//zero", "a % zero", "a/zero", "IntTrueDiv(a, zero)",
                                "zero**-1", "CeilDiv(a, zero)", "1 << 1000", "1 << -1", "2**1000000"})
    EXPECT_EQ(value_of(text), "none") << text;
}

TEST(Symbolic, sizes_keep_their_expression) {
  std::optional<Dim> size = evaluate_size(infix("2*a//2 + b"), kBindings);
  ASSERT_TRUE(size);
  EXPECT_EQ(size->concrete(), 10);
  EXPECT_EQ(size->expr().text(), "a + b");
  EXPECT_FALSE(evaluate_size(infix("0.5*a"), kBindings));
}

TEST(Symbolic, symbols_are_listed_once_and_sorted) {
  EXPECT_EQ(symbols_of(infix("Max(b, a) + b*s10")), (std::vector<std::string>{"a", "b", "s10"}));
}

TEST(Symbolic, a_linear_size_gives_its_symbol) {
  EXPECT_EQ(solve_linear(infix("2*s + 1"), 9, "s", {}), 4);
  EXPECT_EQ(solve_linear(infix("2*s + a"), 9, "s", kBindings), 1);
  EXPECT_EQ(solve_linear(infix("2*s"), 9, "s", {}), std::nullopt);
  EXPECT_EQ(solve_linear(infix("s//2"), 9, "s", {}), std::nullopt);
  EXPECT_EQ(solve_linear(infix("s*s"), 9, "s", {}), std::nullopt);
  EXPECT_EQ(solve_linear(infix("s + other"), 9, "s", {}), std::nullopt);
}

}  // namespace
}  // namespace torchlift::torch
