// What an archive declares of its values against what is inferred.
#include <gtest/gtest.h>

#include <set>

#include "aten/ops.hpp"
#include "base/kinds.hpp"
#include "lower/evaluate.hpp"
#include "torch/parse.hpp"

namespace torchlift::aten {
namespace {

// max.dim of f32[2, 3], with another shape declared for the indices.
Result<lower::Lowered> lower_max(const std::string& output) {
  std::string text =
      "program \"max\" producer \"\" schema \"8.20\"\ninput user \"\" = %x\noutput user \"\" = " + output +
      "\n\nblock 0 \"\"\n  input %x: f32[2, 3]\n"
      "  %values: f32[2], %indices: i64[3] = aten::max.dim(self=%x, dim=1) \"max\" @0\n"
      "  %sum: i64[] = aten::sum(self=%indices) \"sum\" @0\n  return " +
      output + "\n\nlocation 0 \"\" \"\"\n";
  if (output != "%sum") text.erase(text.find("  %sum"), text.find("  return") - text.find("  %sum"));
  auto program = torch::parse_program(text, "text");
  EXPECT_TRUE(program) << (program ? "" : to_text(program.error()));
  return lower::lower(*program, table(), {});
}

TEST(DeclaredTypes, a_difference_in_a_result_that_is_used_is_refused) {
  for (const char* output : {"%indices", "%sum"}) {
    auto lowered = lower_max(output);
    ASSERT_FALSE(lowered) << output;
    EXPECT_EQ(lowered.errors().front().kind, Kind::TypeDiffers) << output;
    EXPECT_EQ(lowered.errors().front().place.node, "%max") << output;
  }
}

TEST(DeclaredTypes, a_result_that_nobody_uses_may_differ) {
  auto lowered = lower_max("%values");
  ASSERT_TRUE(lowered) << to_text(lowered.error());
  EXPECT_EQ(lowered->results.size(), 1u);
}

}  // namespace
}  // namespace torchlift::aten
