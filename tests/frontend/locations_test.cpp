#include "frontend/export/locations.hpp"

#include <gtest/gtest.h>

#include "frontend/export/graph.hpp"

namespace torchlift::frontend {
namespace {

TEST(Locations, a_traceback_is_turned_innermost_first_without_torchs_own_files) {
  std::vector<SourceLine> frames = parse_stack_trace(
      "  File \"/home/u/model.py\", line 12, in forward\n"
      "    x = self.encoder(x)\n"
      "  File \"/opt/py/site-packages/torch/nn/modules/module.py\", line 1739, in _call_impl\n"
      "    return forward_call(*args, **kwargs)\n"
      "  File \"/home/u/encoder.py\", line 7, in forward\n"
      "    return self.fc(x)\n"
      "           ^^^^^^^^^^\n"
      "  File \"<eval_with_key>.3\", line 4, in forward\n"
      "    fc = self.fc(x)\n");
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].file, "/home/u/encoder.py");
  EXPECT_EQ(frames[0].line, 7);
  EXPECT_EQ(frames[0].function, "forward");
  EXPECT_EQ(frames[0].text, "return self.fc(x)");
  EXPECT_EQ(frames[1].line, 12);
}

TEST(Locations, torchs_own_files_stay_where_nothing_else_is_known) {
  EXPECT_EQ(parse_stack_trace("File \"/x/site-packages/torch/a.py\", line 3, in f").size(), 1u);
}

TEST(Locations, odd_tracebacks_give_what_can_be_read) {
  EXPECT_TRUE(parse_stack_trace("").empty());
  EXPECT_TRUE(parse_stack_trace("no frames\n at all").empty());
  EXPECT_TRUE(parse_stack_trace("File \"x.py\", line many, in f").empty());
  EXPECT_TRUE(parse_stack_trace("File \", line 3").empty());
  std::string many;
  for (int i = 0; i < 1000; ++i)
    many += "File \"m.py\", line " + std::to_string(i) + ", in f\n" + std::string(10000, 'x') + "\n";
  std::vector<SourceLine> frames = parse_stack_trace(many);
  ASSERT_EQ(frames.size(), kMaxFrames);
  EXPECT_EQ(frames[0].line, 999);
  EXPECT_EQ(frames[0].text.size(), kMaxSourceText);
}

TEST(Locations, the_last_module_is_found_outside_of_brackets) {
  EXPECT_EQ(parse_module_stack("L__self__,,__main__.M;L__self___fc,layers[0,1].fc,torch.nn.Linear"),
            (std::pair<std::string, std::string>{"layers[0,1].fc", "torch.nn.Linear"}));
  EXPECT_EQ(parse_module_stack("L__self__,f(a;b,c),my.Type"),
            (std::pair<std::string, std::string>{"f(a;b,c)", "my.Type"}));
  EXPECT_EQ(parse_module_stack(""), (std::pair<std::string, std::string>{}));
  EXPECT_EQ(parse_module_stack("))),,"), (std::pair<std::string, std::string>{}));
}

TEST(Locations, equal_places_are_one_location) {
  LocationTable table;
  torch::LocId a = table.intern("File \"m.py\", line 1, in f\n  x = y", "L__self__,a,T");
  torch::LocId b = table.intern("File \"m.py\", line 2, in f\n  x = y", "L__self__,a,T");
  torch::LocId c = table.intern("  File \"m.py\", line 1, in f\n    x = y\n", "root,,R;L__self__,a,T");
  EXPECT_NE(a, b);
  EXPECT_EQ(a, c);
  EXPECT_EQ(std::move(table).take().size(), 2u);
}

TEST(Targets, python_names_become_operator_names) {
  EXPECT_EQ(target_name("torch.ops.aten.add.Tensor"), "aten::add.Tensor");
  EXPECT_EQ(target_name("torch.ops.aten.relu.default"), "aten::relu");
  EXPECT_EQ(target_name("torch.ops.higher_order.cond"), "higher_order::cond");
  EXPECT_EQ(target_name("_operator.mul"), "_operator::mul");
  EXPECT_EQ(target_name("math.trunc"), "math::trunc");
  EXPECT_EQ(target_name("torch.sym_max"), "torch::sym_max");
  EXPECT_EQ(target_name("torch._sym_sqrt"), "torch::sym_sqrt");
  EXPECT_EQ(target_name("torch._functorch.vmap.wrapper"), "torch._functorch.vmap.wrapper");
  EXPECT_EQ(target_name("#ns:name"), "#ns:name");
}

TEST(Json, odd_numbers_are_quoted_outside_of_texts_only) {
  EXPECT_EQ(quote_odd_numbers(R"([NaN, -Infinity, 1e400, 99999999999999999999, 1, -2.5, true, "NaN \" NaN"])"),
            R"(["NaN", "-Infinity", "1e400", "99999999999999999999", 1, -2.5, true, "NaN \" NaN"])");
  EXPECT_EQ(quote_odd_numbers(R"({"a": [1, 2.0, null]})"), std::nullopt);
  EXPECT_EQ(quote_odd_numbers("\"open"), std::nullopt);
  EXPECT_EQ(quote_odd_numbers("\"\\"), std::nullopt);
}

}  // namespace
}  // namespace torchlift::frontend
