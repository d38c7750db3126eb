#include "stablehlo/print.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "stablehlo/builder.hpp"
#include "stablehlo/verify.hpp"

namespace torchlift::stablehlo {
namespace {

class Print : public testing::Test {
 protected:
  Value f32(Dims dims, std::string name = "") {
    return b.argument({DType::Float32, std::move(dims)},
                      {.name = std::move(name), .aliasing_output = {}, .buffer_donor = false});
  }
  std::string constant(Value v) {
    b.set_results({v});
    const std::string text = to_text(module);
    const size_t at = text.rfind("dense<");
    return text.substr(at, text.find('\n', at) - at);
  }
  Module module;
  Builder b{module};
};

TEST_F(Print, a_small_module) {
  const Value x = f32({8, 3});
  const Value w = f32({3, 4});
  const Value product = b.dot_general(x, w,
                                      {.lhs_batching_dimensions = {},
                                       .rhs_batching_dimensions = {},
                                       .lhs_contracting_dimensions = {1},
                                       .rhs_contracting_dimensions = {0},
                                       .precision = Precision::Highest});
  const Value zero = b.splat_float({DType::Float32, {8, 4}}, 0);
  const Value relu = b.maximum(product, zero);
  b.set_results({relu, b.reduce(relu, {1}, Reducer::Maximum)}, {"out", ""});
  EXPECT_EQ(to_text(module), R"(module @main {
  func.func public @main(%arg0: tensor<8x3xf32>, %arg1: tensor<3x4xf32>) -> (tensor<8x4xf32> {jax.result_info = "out"}, tensor<8xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<8x3xf32>, tensor<3x4xf32>) -> tensor<8x4xf32>
    %1 = stablehlo.constant dense<0.0> : tensor<8x4xf32>
    %2 = stablehlo.maximum %0, %1 : tensor<8x4xf32>
    %3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %4 = stablehlo.reduce(%2 init: %3) applies stablehlo.maximum across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
    return %2, %4 : tensor<8x4xf32>, tensor<8xf32>
  }
}
)");
  EXPECT_EQ(signature_text(module), "(tensor<8x3xf32>, tensor<3x4xf32>) -> (tensor<8x4xf32>, tensor<8xf32>)");
}

TEST_F(Print, regions_and_several_results) {
  const Value x = f32({4});
  const Value n = b.iota({DType::Int32, {4}}, 0);
  b.set_results(b.sort({x, n}, 0, true, [&](auto a) { return b.compare(a[0], a[1], ComparisonDirection::Lt); }));
  EXPECT_EQ(to_text(module), R"(module @main {
  func.func public @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi32>) {
    %0 = stablehlo.iota dim = 0 : tensor<4xi32>
    %1:2 = "stablehlo.sort"(%arg0, %0) ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>, %arg3: tensor<i32>, %arg4: tensor<i32>):
      %2 = stablehlo.compare LT, %arg1, %arg2 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    }) {dimension = 0 : i64, is_stable = true} : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>)
    return %1#0, %1#1 : tensor<4xf32>, tensor<4xi32>
  }
}
)");
}

TEST_F(Print, locations_are_aliases_at_the_end) {
  const Value x = f32({2}, "input \"x\"");
  b.set_location({"model.py", 87, ""});
  const Value y = b.negate(x);
  b.set_location({"model.py", 88, "encoder.0"});
  b.set_results({b.add(y, b.abs(x))});
  EXPECT_EQ(to_text(module, {.locations = true}), R"(module @main {
  func.func public @main(%arg0: tensor<2xf32> loc("input \22x\22")) -> (tensor<2xf32>) {
    %0 = stablehlo.negate %arg0 : tensor<2xf32> loc(#loc0)
    %1 = stablehlo.abs %arg0 : tensor<2xf32> loc(#loc1)
    %2 = stablehlo.add %0, %1 : tensor<2xf32> loc(#loc1)
    return %2 : tensor<2xf32>
  }
}
#loc0 = loc("model.py":87:0)
#loc1 = loc("encoder.0"("model.py":88:0))
)");
}

TEST_F(Print, argument_attributes) {
  b.set_results({b.argument({DType::Float32, {2}}, {.name = "state", .aliasing_output = 0, .buffer_donor = true})});
  EXPECT_NE(to_text(module).find("%arg0: tensor<2xf32> {jax.buffer_donor = true, tf.aliasing_output = 0 : i32}"),
            std::string::npos);
}

TEST_F(Print, floats_in_decimal_where_that_is_exact) {
  EXPECT_EQ(constant(b.splat_float(scalar(DType::Float32), 0.1)), "dense<0.1> : tensor<f32>");
  EXPECT_EQ(constant(b.splat_float(scalar(DType::Float32), 1e-5)), "dense<1.0e-05> : tensor<f32>");
  EXPECT_EQ(constant(b.splat_float(scalar(DType::Float64), 0.1)), "dense<0.1> : tensor<f64>");
  EXPECT_EQ(constant(b.splat_float(scalar(DType::Float64), 1.0 / 3)), "dense<0.3333333333333333> : tensor<f64>");
  EXPECT_EQ(constant(b.splat_float(scalar(DType::Float32), -0.0)), "dense<-0.0> : tensor<f32>");
  EXPECT_EQ(constant(b.splat_float(scalar(DType::Float16), 65504)), "dense<65504.0> : tensor<f16>");
}

TEST_F(Print, other_floats_as_bits) {
  EXPECT_EQ(constant(b.splat_float(scalar(DType::BFloat16), -INFINITY)), "dense<0xFF80> : tensor<bf16>");
  EXPECT_EQ(constant(b.splat_float(scalar(DType::Float8E4M3FN), 1)), "dense<0x38> : tensor<f8E4M3FN>");
  EXPECT_EQ(constant(b.splat_complex(scalar(DType::Complex64), {1, INFINITY})),
            "dense<(1.0, 0x7F800000)> : tensor<complex<f32>>");
}

TEST_F(Print, constants_nest_by_dimension_or_are_hex) {
  EXPECT_EQ(constant(b.constant_ints(DType::Int64, {1, 2, 3, 4}, {2, 2})), "dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>");
  EXPECT_EQ(constant(b.constant_ints(DType::Bool, {1, 0})), "dense<[true, false]> : tensor<2xi1>");
  EXPECT_EQ(constant(b.constant_ints(DType::UInt64, {-1, 0})), "dense<[18446744073709551615, 0]> : tensor<2xui64>");
  EXPECT_EQ(constant(b.splat_int({DType::Int32, {0, 2}}, 7)), "dense<> : tensor<0x2xi32>");
  Ints many(33);
  many[1] = 258;
  EXPECT_EQ(constant(b.constant_ints(DType::Int16, many)).substr(0, 20), "dense<\"0x00000201000");
}

TEST_F(Print, names_from_files_are_escaped) {
  module.name = "a b\n";
  b.set_results({}, {});
  EXPECT_EQ(to_text(module).substr(0, 18), "module @\"a b\\0A\" {");
}

TEST_F(Print, twenty_thousand_operations_take_milliseconds) {
  Value x = f32({8, 8});
  for (int i = 0; i < 20000; ++i) x = b.add(x, x);
  b.set_results({x});
  const auto start = std::chrono::steady_clock::now();
  const std::string text = to_text(module, {.locations = true});
  const auto end = std::chrono::steady_clock::now();
  EXPECT_GT(text.size(), 1000000u);
  EXPECT_LT(std::chrono::duration<double>(end - start).count(), 2.0) << "linear; the bound is for a loaded debug build";
  RecordProperty("milliseconds", static_cast<int>(std::chrono::duration<double, std::milli>(end - start).count()));
}

}  // namespace
}  // namespace torchlift::stablehlo
