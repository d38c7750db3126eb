// Calls of an operator of the user's own that look alike and mean different things: kept apart, or refused.
#include <gtest/gtest.h>

#include "aten/ops.hpp"
#include "base/kinds.hpp"
#include "lower/evaluate.hpp"
#include "stablehlo/print.hpp"
#include "torch/parse.hpp"

namespace torchlift::aten {
namespace {

// mine::f of two calls, whose arguments are given as text.
Result<lower::Lowered> lower_two(const std::string& first, const std::string& second, lower::CustomOp op) {
  const std::string text =
      "program \"two\" producer \"\" schema \"8.20\"\ninput user \"\" = %x\ninput user \"\" = %y\n"
      "output user \"\" = %a\noutput user \"\" = %b\n\nblock 0 \"\"\n  input %x: f32[2]\n  input %y: f32[2]\n"
      "  %a: f32[2] = mine::f(" +
      first + ") \"a\" @0\n  %b: f32[2] = mine::f(" + second + ") \"b\" @0\n  return %a, %b\n\nlocation 0 \"\" \"\"\n";
  auto program = torch::parse_program(text, "two");
  EXPECT_TRUE(program) << (program ? "" : to_text(program.error()));
  lower::Options options;
  options.custom = {std::move(op)};
  return lower::lower(*program, table(), options);
}

lower::CustomOp function(const std::string& arguments) {
  auto text = stablehlo::read_function_text("func.func @f(" + arguments + ") -> tensor<2xf32> { return }", "f.mlir");
  EXPECT_TRUE(text) << (text ? "" : to_text(text.error()));
  return {.name = "mine::f", .target = {}, .functions = {{*text, "f.mlir"}}};
}

lower::CustomOp call() { return {.name = "mine::f", .target = "f", .functions = {}}; }

const std::string kPrinted = "%arg0: tensor<2xf32>, %arg1: tensor<2xf32>";

void expect_refused(const Result<lower::Lowered>& lowered) {
  ASSERT_FALSE(lowered);
  EXPECT_EQ(lowered.error().kind, Kind::CustomCallRefused);
  EXPECT_NE(lowered.error().message().find("its calls give different"), std::string::npos) << to_text(lowered.error());
}

size_t calls_in(const Result<lower::Lowered>& lowered, const std::string& word) {
  EXPECT_TRUE(lowered) << (lowered ? "" : to_text(lowered.error()));
  if (!lowered) return 0;
  size_t count = 0;
  const std::string text = stablehlo::to_text(lowered->module);
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

TEST(CustomCalls, of_two_optional_tensors_one_is_not_the_other) {
  expect_refused(lower_two("x=%x, a=%y", "x=%x, b=%y", function(kPrinted)));
  expect_refused(lower_two("x=%x, a=%y", "x=%x, b=%y", call()));
  EXPECT_EQ(calls_in(lower_two("x=%x, a=%y", "x=%y, a=%x", function(kPrinted)), " call @"), 2u);
}

TEST(CustomCalls, lists_that_are_cut_elsewhere_differ) {
  expect_refused(
      lower_two("xs=[%x, %y], ys=[%x]", "xs=[%x], ys=[%y, %x]", function(kPrinted + ", %arg2: tensor<2xf32>")));
}

TEST(CustomCalls, names_like_those_of_printers_may_be_the_operators_own) {
  const std::string turned = "%arg1: tensor<2xf32>, %arg0: tensor<2xf32>";
  auto lowered = lower_two("arg0=%x, arg1=%y", "arg0=%x, arg1=%y", function(turned));
  ASSERT_FALSE(lowered);
  EXPECT_NE(lowered.error().message().find("the operator calls it `arg0`"), std::string::npos);
  EXPECT_TRUE(lower_two("arg=%x, arg1=1.5", "arg=%x, arg1=1.5", function("%arg: tensor<2xf32>, %arg1: tensor<f64>")));
}

TEST(CustomCalls, messages_stay_readable) {
  std::string many = "%arg0: tensor<2xf32>";
  for (int i = 1; i < 1000; ++i) many += ", %arg" + std::to_string(i) + ": tensor<2xf32>";
  auto lowered = lower_two("x=%x", "x=%y", function(many));
  ASSERT_FALSE(lowered);
  EXPECT_EQ(lowered.error().kind, Kind::CustomTypes);
  EXPECT_LT(lowered.error().message().size(), 1000u);
  EXPECT_NE(lowered.error().message().find("1000 in all"), std::string::npos);
}

TEST(CustomCalls, attributes_that_differ_make_two_calls) {
  EXPECT_EQ(calls_in(lower_two("x=%x, f=0.0", "x=%x, f=-0.0", call()), "custom_call\""), 2u);
  EXPECT_EQ(calls_in(lower_two("x=%x, d=device(\"cuda\", 0)", "x=%x, d=device(\"cuda\", 1)", call()), "\"cuda:1\""),
            1u);
  EXPECT_FALSE(lower_two("x=%x, s=none", "x=%x, s=\"None\"", call())) << "a text that would be no argument";
}

}  // namespace
}  // namespace torchlift::aten
