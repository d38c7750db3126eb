// --custom: operators of the user's own, by functions in StableHLO text and by custom calls.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/kinds.hpp"
#include "cli/command.hpp"
#include "cli/custom.hpp"
#include "support/temporary_directory.hpp"

namespace torchlift::cli {
namespace {

std::string data(const std::string& name) { return std::string(TORCHLIFT_SOURCE_DIR) + "/tests/data/custom/" + name; }

std::string all_of(const std::vector<Diagnostic>& diagnostics) {
  std::string out;
  for (const Diagnostic& d : diagnostics) out += to_text(d);
  return out;
}

struct Custom : testing::Test {
  test::TemporaryDirectory directory;
  std::string out = directory.file("out");

  Result<Output> import(const std::string& model, std::vector<std::string> custom, std::vector<std::string> dims = {}) {
    ImportOptions options;
    options.file = data(model);
    options.directory = out;
    options.lift.custom = std::move(custom);
    options.lift.dims = std::move(dims);
    return run_import(options);
  }

  std::string program(const std::string& name = "model.mlir") { return test::read_text(out + "/" + name); }

  // Imports, and expects one refusal of this kind that says this.
  void expect_refused(const std::string& model, const std::vector<std::string>& custom, Kind kind,
                      const std::string& words) {
    auto result = import(model, custom);
    ASSERT_FALSE(result) << words;
    EXPECT_EQ(result.error().kind, kind) << all_of(result.errors());
    EXPECT_NE(result.error().message().find(words), std::string::npos) << all_of(result.errors());
    EXPECT_EQ(exit_code(result.errors()), ExitCode::Refused);
    EXPECT_FALSE(std::filesystem::exists(out));
  }

  std::string function(const std::string& name, const std::string& text) {
    test::write_text(directory.file(name), text);
    return directory.file(name);
  }
};

TEST_F(Custom, a_function_becomes_a_private_function_of_the_program) {
  auto result = import("soft_cap.pt2", {"mine::soft_cap=" + data("soft_cap_2.mlir")});
  ASSERT_TRUE(result) << all_of(result.errors());
  std::string text = program();
  EXPECT_NE(text.find("= call @custom0.soft_cap(%arg0, "), std::string::npos) << text;
  EXPECT_NE(text.find("func.func private @custom0.soft_cap(%x: tensor<2x3xf32>, %cap: tensor<f64>)"),
            std::string::npos);
  EXPECT_NE(text.find("func.call @custom0.spread(%cap)"), std::string::npos);
  EXPECT_EQ(text.find("custom1"), std::string::npos) << "one function serves both calls";
  EXPECT_LT(text.find("@main"), text.find("private"));
}

TEST_F(Custom, of_several_files_the_one_with_the_types_of_the_call_is_taken) {
  auto result = import(
      "soft_cap.pt2",
      {"mine::soft_cap=" + data("soft_cap_2.mlir"), "mine::soft_cap.default=" + data("soft_cap_4.mlir")}, {"x.0=4,2"});
  ASSERT_TRUE(result) << all_of(result.errors());
  EXPECT_NE(program("model.b4.mlir").find("@custom0.main(%x: tensor<4x3xf32>"), std::string::npos);
  EXPECT_NE(program("model.b2.mlir").find("@custom0.soft_cap(%x: tensor<2x3xf32>"), std::string::npos);
}

TEST_F(Custom, a_custom_call_carries_what_is_no_tensor_as_attributes) {
  auto result = import("tagged.pt2", {"mine::tagged=custom_call:my_kernel"});
  ASSERT_TRUE(result) << all_of(result.errors());
  EXPECT_NE(
      program().find(R"("stablehlo.custom_call"(%arg0) {api_version = 4 : i32, backend_config = {"mode" = "fast", )"
                     R"("times" = 3 : i64, "exact" = true, )"
                     R"("dtype" = "bfloat16"}, call_target_name = "my_kernel", has_side_effect = false})"),
      std::string::npos)
      << program();
}

TEST_F(Custom, a_custom_call_is_named_like_its_operator_and_counts_lists_of_tensors) {
  auto result = import("mix.pt2", {"mine::mix=custom_call"});
  ASSERT_TRUE(result) << all_of(result.errors());
  EXPECT_NE(program().find(R"(%0:2 = "stablehlo.custom_call"(%arg0, %arg1) {api_version = 4 : i32, backend_config = )"
                           R"({"xs" = 2 : i64, "bias" = "None", "weights" = array<i64: 2, -3>}, )"
                           R"(call_target_name = "mine::mix", has_side_effect = false} : )"
                           R"((tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>))"),
            std::string::npos)
      << program();
}

TEST_F(Custom, a_known_operator_may_be_given_another_meaning) {
  auto result = import("gelu.pt2", {"aten::gelu=" + data("twice.mlir")});
  ASSERT_TRUE(result) << all_of(result.errors());
  EXPECT_NE(program().find("call @custom0.twice(%arg0)"), std::string::npos);
}

TEST_F(Custom, inspect_counts_it_as_supported) {
  InspectOptions options;
  options.model = data("soft_cap.pt2");
  auto without = run_inspect(options);
  ASSERT_TRUE(without);
  EXPECT_NE(without->text.find("mine::soft_cap  not supported"), std::string::npos) << without->text;
  EXPECT_NE(all_of(without->notes).find("--custom mine::soft_cap=FILE.mlir"), std::string::npos);
  options.lift.custom = {"mine::soft_cap=" + data("soft_cap_2.mlir")};
  auto with = run_inspect(options);
  ASSERT_TRUE(with);
  EXPECT_EQ(with->code, ExitCode::Ok);
  EXPECT_EQ(with->text.find("not supported"), std::string::npos) << with->text;
}

TEST_F(Custom, wrong_options_are_named) {
  const std::string file = data("soft_cap_2.mlir");
  expect_refused("soft_cap.pt2", {"mine::soft_cap"}, Kind::CustomOption, "has no `=`");
  expect_refused("soft_cap.pt2", {"soft_cap=" + file}, Kind::CustomOption, "names no operator with its namespace");
  expect_refused("soft_cap.pt2", {"mine::=" + file}, Kind::CustomOption, "names no operator");
  expect_refused("soft_cap.pt2", {"mine::soft_cap=tanh"}, Kind::CustomOption, "names neither");
  expect_refused("soft_cap.pt2", {"mine::soft_cap=custom_call:"}, Kind::CustomOption, "has no name after");
  expect_refused("soft_cap.pt2", {"mine::soft_cap=custom_call", "mine::soft_cap=" + file}, Kind::CustomOption,
                 "second meaning");
  expect_refused("soft_cap.pt2", {"mine::soft_cap=" + file, "mine::soft_cap=custom_call"}, Kind::CustomOption,
                 "second meaning");
  expect_refused("soft_cap.pt2", {"mine::soft_cap=" + directory.file("missing.mlir")}, Kind::CannotOpen, "");
  expect_refused("soft_cap.pt2", {"mine::softcap=" + file}, Kind::CustomUnused,
                 "`--custom mine::softcap` is used by no");
  auto unused = import("soft_cap.pt2", {"mine::softcap=" + file});
  EXPECT_NE(all_of(unused.errors()).find("mine::soft_cap"), std::string::npos) << "the unknown ones are listed";
  RunOptions run;
  ASSERT_TRUE(import("soft_cap.pt2", {"mine::soft_cap=" + file}));
  run.model = out;
  run.lift.custom = {"mine::soft_cap=" + file};
  auto result = run_run(run);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, Kind::ImportOption);
}

TEST_F(Custom, types_must_be_those_of_the_call) {
  expect_refused("soft_cap.pt2", {"mine::soft_cap=" + data("soft_cap_4.mlir")}, Kind::CustomTypes,
                 "is called as (tensor<2x3xf32>, tensor<f64>) -> (tensor<2x3xf32>), ");
  expect_refused("soft_cap.pt2", {"mine::soft_cap=" + data("twice.mlir")}, Kind::CustomTypes,
                 "twice.mlir has (tensor<2x3xf32>) -> (tensor<2x3xf32>)");
  expect_refused("parts.pt2", {"mine::parts=" + data("twice.mlir")}, Kind::CustomTypes,
                 "-> (tensor<2x3xf32>, tensor<2x");
  std::string f64 = function("f64.mlir",
                             "func.func @f(%x: tensor<2x3xf32>) -> tensor<2x3xf64> {\n"
                             "  %0 = stablehlo.convert %x : (tensor<2x3xf32>) -> tensor<2x3xf64>\n"
                             "  return %0 : tensor<2x3xf64>\n}\n");
  expect_refused("gelu.pt2", {"aten::gelu=" + f64}, Kind::CustomTypes,
                 "f64.mlir has (tensor<2x3xf32>) -> (tensor<2x3xf64>)");
  expect_refused("gelu.pt2", {"aten::gelu=" + function("no.mlir", "def f(x): return x")}, Kind::CustomFile, "line 1");
}

// Where two calls of an operator may look alike, names tell them apart.
TEST_F(Custom, numbers_and_arguments_beside_none_must_be_named) {
  std::string text = test::read_text(data("soft_cap_2.mlir"));
  size_t at;
  while ((at = text.find("%cap")) != std::string::npos) text.replace(at, 4, "%arg1");
  expect_refused("soft_cap.pt2", {"mine::soft_cap=" + function("unnamed.mlir", text)}, Kind::CustomCallRefused,
                 "argument 1 of the function is called `%arg1`, the operator calls it `cap`");
  text = test::read_text(data("mix.mlir"));
  while ((at = text.find("%xs_1")) != std::string::npos) text.replace(at, 5, "%bias");
  expect_refused("mix.pt2", {"mine::mix=" + function("names.mlir", text)}, Kind::CustomCallRefused,
                 "is called `%bias`, the operator calls it `xs_1`");
}

TEST_F(Custom, what_is_no_function_of_tensors_is_refused) {
  expect_refused("push.pt2", {"mine::push=custom_call"}, Kind::CustomCallRefused, "it gives no result");
  expect_refused("scale.pt2", {"mine::scale=custom_call"}, Kind::CustomCallRefused,
                 "argument `factors` is [0.5, 2.0, -1.5], which no attribute holds");
  expect_refused("tagged.pt2", {"mine::tagged=" + data("twice.mlir")}, Kind::CustomCallRefused,
                 "argument `mode` is 'fast', a function takes tensors and numbers");
}

TEST(ReadCustom, overloads_are_meant_by_their_name_or_all_at_once) {
  auto ops = read_custom({"a::f=custom_call", "a::f.x=custom_call:g"});
  ASSERT_TRUE(ops);
  ASSERT_EQ(ops->size(), 2u);
  stablehlo::Module module;
  lower::CustomCalls calls(module, *ops);
  EXPECT_EQ(calls.find("a::f")->target, "a::f");
  EXPECT_EQ(calls.find("a::f.y")->target, "a::f");
  EXPECT_EQ(calls.find("a::f.x")->target, "g");
  EXPECT_EQ(calls.find("a::ff"), nullptr);
}

struct RealPluginCustom : Custom {
  void expect_right(const std::string& model, const std::string& inputs, std::vector<std::string> custom,
                    ExitCode code = ExitCode::Ok) {
    VerifyOptions options;
    options.run.model = data(model);
    options.run.inputs = {data(inputs)};
    options.run.lift.custom = std::move(custom);
    auto result = run_verify(options);
    ASSERT_TRUE(result) << all_of(result.errors());
    EXPECT_EQ(result->code, code) << result->text;
  }
};

TEST_F(RealPluginCustom, functions_compute_what_pytorch_does) {
  std::vector<std::string> both = {"mine::soft_cap=" + data("soft_cap_2.mlir"),
                                   "mine::soft_cap=" + data("soft_cap_4.mlir")};
  expect_right("soft_cap.pt2", "soft_cap.safetensors", both);
  expect_right("soft_cap.pt2", "soft_cap.alt0.safetensors", both);
  expect_right("mix.pt2", "mix.safetensors", {"mine::mix=" + data("mix.mlir")});
  expect_right("parts.pt2", "parts.safetensors", {"mine::parts=" + data("parts.mlir")});
  expect_right("scale.pt2", "scale.safetensors", {"mine::scale=" + data("scale.mlir")});
  expect_right("gelu.pt2", "gelu.safetensors", {"aten::gelu=" + data("twice.mlir")}, ExitCode::Different);
}

// The plugin is who knows whether a body is right, and whether there is such a target.
TEST_F(RealPluginCustom, what_the_plugin_refuses_is_reported) {
  RunOptions options;
  options.model = data("gelu.pt2");
  options.inputs = {data("gelu.safetensors")};
  for (std::string meaning : {std::string("custom_call:no_such_target"),
                              function("body.mlir",
                                       "func.func @f(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {\n"
                                       "  %0 = stablehlo.no_such_operation %arg0 : tensor<2x3xf32>\n"
                                       "  return %0 : tensor<2x3xf32>\n}\n")}) {
    options.lift.custom = {"aten::gelu=" + meaning};
    auto result = run_run(options);
    ASSERT_FALSE(result) << meaning;
    EXPECT_EQ(exit_code(result.errors()), ExitCode::Device) << all_of(result.errors());
  }
}

}  // namespace
}  // namespace torchlift::cli
