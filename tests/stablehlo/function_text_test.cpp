// Functions that somebody else wrote: what is read of them, what is refused, and that names are put before all of them.
#include <gtest/gtest.h>

#include "base/kinds.hpp"
#include "stablehlo/builder.hpp"
#include "stablehlo/function_text.hpp"
#include "stablehlo/passes.hpp"
#include "stablehlo/print.hpp"
#include "stablehlo/verify.hpp"

namespace torchlift::stablehlo {
namespace {

constexpr const char* kPlain = R"(
// a comment with @no_name and a }
func.func @f(%x: tensor<2x3xf32>, %arg1: tensor<complex<f32>>) -> (tensor<2x3xf32>, tensor<i1>) {
  %0:2 = call @"a helper"(%x) : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<i1>)  // }
  return %0#0, %0#1 : tensor<2x3xf32>, tensor<i1>
}
func.func private @"a helper"(%arg0: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<i1>) {
  %c = stablehlo.constant dense<true> : tensor<i1>
  %0 = stablehlo.custom_call @f(%arg0) {note = "} @f \" @g", d = #stablehlo.dot<x = [0]>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0, %c : tensor<2x3xf32>, tensor<i1>
}
)";

TEST(FunctionText, signature_and_names_are_read) {
  std::string text = kPlain;
  text.replace(text.find("stablehlo.custom_call @f"), 24, "call @\"a helper\"");
  auto recursive = read_function_text(text, "file.mlir");
  ASSERT_FALSE(recursive);
  EXPECT_NE(recursive.error().message().find("recursion"), std::string::npos);

  auto f = read_function_text(kPlain, "file.mlir");
  ASSERT_TRUE(f) << to_text(f.error());
  EXPECT_EQ(f->name, "f");
  EXPECT_EQ(f->argument_names, (std::vector<std::string>{"x", "arg1"}));
  ASSERT_EQ(f->arguments.size(), 2u);
  EXPECT_EQ(to_text(f->arguments[0]), "tensor<2x3xf32>");
  EXPECT_EQ(to_text(f->arguments[1]), "tensor<complex<f32>>");
  ASSERT_EQ(f->results.size(), 2u);
  EXPECT_EQ(to_text(f->results[1]), "tensor<i1>");
  std::string out = with_prefix(*f, "p0.");
  EXPECT_NE(out.find("func.func private @p0.f(%x: tensor<2x3xf32>, %arg1"), std::string::npos) << out;
  EXPECT_NE(out.find("call @\"p0.a helper\"(%x)"), std::string::npos) << out;
  EXPECT_NE(out.find("func.func private @\"p0.a helper\""), std::string::npos) << out;
  EXPECT_NE(out.find("custom_call @f(%arg0)"), std::string::npos) << "a target is no function: " << out;
  EXPECT_NE(out.find("\"} @f \\\" @g\""), std::string::npos) << "strings stay as they are: " << out;
}

TEST(FunctionText, a_module_and_decorations_are_read) {
  auto f = read_function_text(
      "module @m attributes {mhlo.num_partitions = 1 : i32} {\n"
      "  func.func public @main(%arg0: tensor<f32> {jax.buffer_donor = true} loc(\"x\")) -> tensor<f32> attributes {a} "
      "{\n    return %arg0 : tensor<f32> loc(unknown)\n  } loc(unknown)\n} loc(unknown)\n",
      "file.mlir");
  ASSERT_TRUE(f) << to_text(f.error());
  EXPECT_EQ(with_prefix(*f, "p."),
            "  func.func private @p.main(%arg0: tensor<f32>) -> (tensor<f32>) {\n"
            "    return %arg0 : tensor<f32> loc(unknown)\n  }\n");
}

TEST(FunctionText, what_cannot_be_carried_is_refused_with_its_line) {
  struct Row {
    const char* text;
    const char* problem;
    int64_t line;
  };
  const Row rows[] = {
      {"", "no public function", 1},
      {"func.func private @f() { return }", "no public function", 1},
      {"\n\nhello", "there is \"hello\"", 3},
      {"#loc = loc(unknown)", "without aliases and locations", 1},
      {"func.func @f() {\n return loc(#loc1)\n}", "without aliases and locations", 2},
      {"func.func @f() {\n return : !alias\n}", "without aliases", 2},
      {"func.func @f(%x: tensor<?xf32>) { return }", "no tensor type of fixed sizes", 1},
      {"func.func @f(%x: tensor<*xf32>) { return }", "no tensor type of fixed sizes", 1},
      {"func.func @f(%x: tensor<2xi7>) { return }", "no tensor type of fixed sizes", 1},
      {"func.func @f(%x: tensor<9000000000x9000000000xf32>) { return }", "no tensor type of fixed sizes", 1},
      {"func.func @f(%x: tensor<2xf32", "no tensor type of fixed sizes", 1},
      {"func.func @f(%x: tuple<tensor<f32>>) { return }", "a tensor type", 1},
      {"func.func @f() -> !stablehlo.token { return }", "a tensor type", 1},
      {"func.func @f(tensor<f32>) { return }", "the name of an argument", 1},
      {"func.func @f(%: tensor<f32>) { return }", "a name of no letter", 1},
      {"func.func @f(%x: tensor<f32>)", "the body", 1},
      {"func.func @f() {\n return ", "the end of the text", 2},
      {"func.func @f() { ( } )", "expected `)`", 1},
      {"func.func @f() { return } }", "there is \"}\"", 1},
      {"func.func @f() { return }\nfunc.func @g() { return }", "a second function is public", 2},
      {"func.func @f() { return }\nfunc.func private @f() { return }", "a second function is called", 2},
      {"func.func @f() {\n call @g() : () -> ()\n return }", "no function of the text is called \"g\"", 2},
      {"func.func @f() { call @f() : () -> () return }", "recursion", 1},
      {"func.func @f() { \"text\n\" }", "a string that does not end", 1},
      {"func.func @f() attributes {a = \"\\", "a string that does not end", 1},
      {"module {\nmodule {\n} }", "expected `func.func`", 2},
      {"\"builtin.module\"() ({ }) : () -> ()", "expected `func.func`", 1},
  };
  for (const Row& row : rows) {
    auto f = read_function_text(row.text, "file.mlir");
    ASSERT_FALSE(f) << row.text;
    EXPECT_EQ(f.error().kind, Kind::CustomFile);
    EXPECT_EQ(f.error().place.file, "file.mlir");
    EXPECT_NE(f.error().message().find(row.problem), std::string::npos) << row.text << "\n" << f.error().message();
    EXPECT_TRUE(f.error().message().starts_with("line " + std::to_string(row.line) + ":")) << row.text << "\n"
                                                                                           << f.error().message();
  }
}

TEST(FunctionText, every_cut_is_refused_and_every_change_is_read_or_refused) {
  std::string whole = kPlain;
  whole.replace(whole.find("custom_call @f"), 14, "custom_call");
  while (whole.ends_with('\n')) whole.pop_back();
  ASSERT_TRUE(read_function_text(whole, "f"));
  const size_t helper = whole.find("func.func private");
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(read_function_text(whole.substr(0, size), "f")) << size << " of " << helper;
  for (size_t at = 0; at < whole.size(); ++at)
    for (char c : {'\0', '{', '}', '"', '@', '#', '%', '<', '>', '\\', '\n', '\xff'}) {
      std::string changed = whole;
      changed[at] = c;
      auto f = read_function_text(changed, "f");
      if (!f) continue;
      auto again = read_function_text(with_prefix(*f, "p."), "f");
      EXPECT_TRUE(!again && again.error().message().find("no public function") != std::string::npos) << changed;
    }
}

TEST(FunctionText, it_is_called_like_any_function) {
  Module module;
  Builder b(module);
  std::string text = kPlain;
  text.replace(text.find("custom_call @f"), 14, "custom_call");
  auto f = read_function_text(text, "f");
  ASSERT_TRUE(f);
  Value x = b.argument({DType::Float32, {Dim(2), Dim(3)}});
  Value y = b.argument({DType::Complex64, {}});
  FunctionId id = declare(module, *f, "p0.");
  FunctionId other = declare(module, *f, "p1.");
  Values first = b.call(id, {x, y});
  b.call(other, {x, y});  // nothing uses it
  EXPECT_TRUE(b.call(id, {x}).size() != 2 || !b.call(id, {x})[0].has_value());
  b.set_results(first);
  simplify(module);
  EXPECT_EQ(module.functions.size(), 2u);
  for (const VerifyError& e : verify(module)) ADD_FAILURE() << e.message;
  EXPECT_NE(to_text(module).find("func.func private @p0.f(tensor<2x3xf32>, tensor<complex<f32>>) -> (tensor<2x3xf32>, "
                                 "tensor<i1>)\n}"),
            std::string::npos)
      << "a declaration, where no text is given";
  std::string printed = to_text(module, {.definitions = {{"p0.f", with_prefix(*f, "p0.")}}});
  EXPECT_NE(printed.find("call @p0.f(%arg0, %arg1)"), std::string::npos) << printed;
  EXPECT_NE(printed.find("func.func private @p0.f("), std::string::npos);
  EXPECT_EQ(printed.find("p1."), std::string::npos);
}

TEST(ParseType, reads_what_is_printed) {
  for (DType dtype : {DType::Bool, DType::UInt8, DType::BFloat16, DType::Complex128, DType::Float8E4M3FN})
    for (const Dims& dims : {Dims{}, Dims{Dim(0)}, Dims{Dim(2), Dim(30)}}) {
      auto type = parse_type(to_text(Type{dtype, dims}));
      ASSERT_TRUE(type);
      EXPECT_EQ(*type, (Type{dtype, dims}));
    }
  for (const char* text :
       {"", "tensor<>", "tensor<2>", "tensor<2x>", "tensor<2xf32", "tensor<-1xf32>", "tensor<2 xf32>", "tensor<?xf32>",
        "tensor<99999999999999999999xf32>", "memref<2xf32>", "tensor<2xf32, #e>"})
    EXPECT_FALSE(parse_type(text)) << text;
}

}  // namespace
}  // namespace torchlift::stablehlo
