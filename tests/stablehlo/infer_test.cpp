// Result types, expressions of sizes included, and refusals: one line a rule.
#include <gtest/gtest.h>

#include <limits>

#include "stablehlo/builder.hpp"
#include "stablehlo/verify.hpp"

namespace torchlift::stablehlo {
namespace {

class Infer : public testing::Test {
 protected:
  Value f32(Dims dims) { return b.argument({DType::Float32, std::move(dims)}); }
  Value i32(Dims dims) { return b.argument({DType::Int32, std::move(dims)}); }
  std::string text(Value v) { return v.has_value() ? to_text(b.type(v)) : "poison"; }
  std::string sizes(Value v) {
    std::string out;
    for (const Dim& d : b.type(v).dims) out += (out.empty() ? "" : ", ") + d.text();
    return out;
  }
  // The value is poison because of this rule.
  void refused(Value v, const std::string& rule) {
    EXPECT_FALSE(v.has_value()) << rule;
    ASSERT_FALSE(b.failures().empty()) << rule;
    EXPECT_NE(b.failures().back().message.find(rule), std::string::npos)
        << b.failures().back().message << " is not " << rule;
    EXPECT_EQ(b.failures().size(), ++refusals) << rule;
  }

  const Dim n = Dim::symbol("s0", 8);
  Module module;
  Builder b{module};
  size_t refusals = 0;
};

TEST_F(Infer, elementwise_takes_the_richer_sizes) {
  EXPECT_EQ(sizes(b.add(f32({8, 3}), f32({n, 3}))), "8 (s0), 3");
  EXPECT_EQ(text(b.is_finite(f32({2}))), "tensor<2xi1>");
  EXPECT_EQ(text(b.complex(f32({2}), f32({2}))), "tensor<2xcomplex<f32>>");
  refused(b.add(f32({8}), f32({3})), "(C1)");
  refused(b.add(f32({8}), i32({8})), "(C1)");
  refused(b.sine(i32({8})), "no elements of type i32");
  refused(b.subtract(b.splat_bool(scalar(DType::Bool), true), b.splat_bool(scalar(DType::Bool), true)), "i1");
  refused(b.complex(b.convert(f32({2}), DType::BFloat16), b.convert(f32({2}), DType::BFloat16)), "bf16");
}

TEST_F(Infer, failures_name_operation_types_and_place) {
  b.set_location({"model.py", 87, ""});
  refused(b.add(f32({8}), i32({3})), "(C1)");
  EXPECT_EQ(b.failures()[0].opcode, Opcode::Add);
  EXPECT_EQ(b.failures()[0].got, "tensor<8xf32>, tensor<3xi32>");
  EXPECT_EQ(b.failures()[0].location.line, 87);
}

TEST_F(Infer, poison_flows_in_silence) {
  const Value poison;
  EXPECT_EQ(text(b.add(poison, f32({2}))), "poison");
  EXPECT_EQ(text(b.reshape(poison, {2})), "poison");
  EXPECT_EQ(text(b.reduce(poison, {0}, Reducer::Add)), "poison");
  EXPECT_EQ(text(b.broadcast_in_dim(poison, {2}, {})), "poison");
  EXPECT_EQ(b.sort({f32({2}), poison}, 0, true, [](auto) { return Value{}; }).size(), 2u);
  const Values looped = b.while_(
      {f32({2})}, [&](auto) { return Value{}; }, [](auto a) { return Values{a[0]}; });
  EXPECT_EQ(text(looped[0]), "poison");
  EXPECT_TRUE(b.failures().empty());
}

TEST_F(Infer, shapes) {
  const Value x = f32({n, 3});
  EXPECT_EQ(sizes(b.broadcast_in_dim(x, {2, 8, 3}, {1, 2})), "2, 8 (s0), 3");
  refused(b.broadcast_in_dim(x, {8, 4}, {0, 1}), "(C5)");
  refused(b.broadcast_in_dim(x, {8, 3}, {0}), "(C2)");
  refused(b.broadcast_in_dim(x, {8, 3}, {0, 2}), "(C3)");
  refused(b.broadcast_in_dim(x, {8, 3}, {0, 0}), "(C4)");
  EXPECT_EQ(sizes(b.concatenate({x, x, f32({2, 3})}, 0)), "18 (2*s0 + 2), 3");
  refused(b.concatenate({x, f32({2, 4})}, 0), "(C2)");
  refused(b.concatenate({x, x}, 2), "(C4)");
  refused(b.concatenate({}, 0), "too few");
  EXPECT_EQ(sizes(b.pad(x, b.splat_float(scalar(DType::Float32), 0), {1, -1}, {0, 2}, {2, 0})), "23 (3*s0 - 1), 4");
  refused(b.pad(x, b.splat_float(scalar(DType::Float32), 0), {0, -4}, {0, 0}), "(C4)");
  refused(b.pad(x, b.splat_float(scalar(DType::Float32), 0), {0, 0}, {0, 0}, {0, -1}), "(C3)");
  refused(b.pad(x, x, {1, 0}, {0, 0}), "(C1)");
  EXPECT_EQ(sizes(b.reshape(x, {n * Dim(3)})), "24 (3*s0)");
  refused(b.reshape(x, {25}), "(C2)");
  refused(b.reshape(x, {-24}), "negative");
  refused(b.iota({DType::Int32, {}}, 0), "(C1)");
  refused(b.reverse(x, {1, 1}), "(C2)");
  EXPECT_EQ(sizes(b.transpose(x, {1, 0})), "3, 8 (s0)");
  refused(b.transpose(x, {0, 0}), "(C2)");
}

TEST_F(Infer, slices) {
  const Value x = f32({n, 3});
  EXPECT_EQ(sizes(b.slice(x, {1, 0}, {n, 2})), "7 (s0 - 1), 2");
  EXPECT_EQ(text(b.slice(x, {0, 0}, {8, 3}, {3, 1})), "tensor<3x3xf32>");
  refused(b.slice(x, {2, 0}, {1, 3}), "(C3)");
  refused(b.slice(x, {0, 0}, {9, 3}), "(C3)");
  refused(b.slice(x, {0, 0}, {8, 3}, {0, 1}), "(C4)");
  const Value i = i32({});
  EXPECT_EQ(sizes(b.dynamic_slice(x, {i, i}, {n, 1})), "8 (s0), 1");
  refused(b.dynamic_slice(x, {i}, {8, 1}), "start indices");
  refused(b.dynamic_slice(x, {i, i}, {8, 4}), "(C4)");
  EXPECT_EQ(sizes(b.dynamic_update_slice(x, f32({2, 1}), {i, i})), "8 (s0), 3");
  refused(b.dynamic_update_slice(x, f32({9, 1}), {i, i}), "(C6)");
}

TEST_F(Infer, what_changes_nothing_is_the_operand) {
  const Value x = f32({8, 3});
  EXPECT_EQ(b.transpose(x, {0, 1}), x);
  EXPECT_EQ(b.convert(x, DType::Float32), x);
  EXPECT_EQ(b.slice(x, {0, 0}, {8, 3}), x);
  EXPECT_EQ(b.pad(x, b.splat_float(scalar(DType::Float32), 0), {0, 0}, {0, 0}), x);
  EXPECT_EQ(b.broadcast_in_dim(x, {8, 3}, {0, 1}), x);
  EXPECT_EQ(b.reduce(x, {}, Reducer::Add), x);
  EXPECT_EQ(b.reshape(x, {n, 3}), x);
  EXPECT_EQ(sizes(x), "8 (s0), 3") << "the operand learns where its size comes from";
}

TEST_F(Infer, constants_broadcast_and_convert_at_once) {
  const Value one = b.splat_int(scalar(DType::Int64), 1);
  const Value ones = b.convert(b.broadcast_in_dim(one, {4, 2}, {}), DType::Float32);
  EXPECT_EQ(std::get<double>(*b.splat_value(ones)), 1.0);
  EXPECT_EQ(text(ones), "tensor<4x2xf32>");
  const Value narrowed = b.convert(b.splat_float(scalar(DType::Float64), 0.1), DType::Float32);
  EXPECT_FALSE(b.splat_value(narrowed).has_value()) << "narrowing a float is left to the device";
}

TEST_F(Infer, types_that_are_too_large_are_refused) {
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  EXPECT_FALSE(b.argument({DType::Float32, {kHuge, kHuge}}).has_value());
  ++refusals;
  refused(b.broadcast_in_dim(f32({}), {kHuge, 2}, {}), "2^60");
  refused(b.splat_float({DType::Float32, Dims(65, Dim(1))}, 0), "dimensions");
  const Value wide = f32({1 << 30});
  refused(b.dot_general(wide, wide, {}), "2^60");
  refused(b.pad(wide, f32({}), {kHuge}, {kHuge}), "2^60");
}

TEST_F(Infer, reductions) {
  const Value x = f32({n, 3, 5});
  EXPECT_EQ(sizes(b.reduce(x, {1}, Reducer::Add)), "8 (s0), 5");
  refused(b.reduce(x, {3}, Reducer::Add), "(C4)");
  refused(b.reduce(x, {1, 1}, Reducer::Add), "(C5)");
  refused(b.reduce(x, {1}, Reducer::And), "no identity");
  refused(b.reduce(x, i32({}), {1}, Reducer::Add), "(C2)");
  refused(
      b.reduce({x}, {f32({})}, {1}, [&](auto a) { return Values{b.compare(a[0], a[1], ComparisonDirection::Lt)}; })[0],
      "the region's results have tensor<i1>");
  refused(b.reduce({x}, {f32({})}, {1}, [](auto) { return Values{}; })[0], "the region's results are 0, 1 are wanted");
  Window window{.window_dimensions = {1, 2, 3},
                .window_strides = {1, 1, 2},
                .base_dilations = {},
                .window_dilations = {},
                .padding_low = {0, 1, 0},
                .padding_high = {}};
  EXPECT_EQ(sizes(b.reduce_window(x, window, Reducer::Maximum)), "8 (s0), 3, 2");
  window.window_dimensions[2] = 9;
  EXPECT_EQ(text(b.reduce_window(x, window, Reducer::Maximum)), "tensor<8x3x0xf32>") << "no window fits";
  window.window_strides[0] = 0;
  refused(b.reduce_window(x, window, Reducer::Maximum), "(C7)");
  refused(b.sort({x}, 3, true, [&](auto a) { return b.compare(a[0], a[1], ComparisonDirection::Lt); })[0], "(C4)");
  refused(b.sort({x}, 0, true, [&](auto a) { return a[0]; })[0], "(C5)");
}

TEST_F(Infer, contractions) {
  const DotGeneral matmul{.lhs_batching_dimensions = {0},
                          .rhs_batching_dimensions = {0},
                          .lhs_contracting_dimensions = {2},
                          .rhs_contracting_dimensions = {1}};
  EXPECT_EQ(sizes(b.dot_general(f32({8, 2, 3}), f32({n, 3, 4}), matmul)), "8 (s0), 2, 4");
  EXPECT_EQ(text(b.dot_general(b.splat_int({DType::Int8, {2, 3}}, 1), b.splat_int({DType::Int8, {3}}, 1),
                               {.lhs_batching_dimensions = {},
                                .rhs_batching_dimensions = {},
                                .lhs_contracting_dimensions = {1},
                                .rhs_contracting_dimensions = {0}},
                               DType::Int32)),
            "tensor<2xi32>");
  refused(b.dot_general(f32({8, 2, 3}), f32({8, 4, 4}), matmul),
          "(C10) contracting dimensions 2 and 1 have sizes 3 and 4");
  refused(b.dot_general(f32({8, 2, 3}), f32({7, 3, 4}), matmul), "(C9)");
  refused(b.dot_general(f32({2, 3}), f32({2, 3}), matmul), "(C5)");
  refused(b.dot_general(f32({2}), f32({2}), {}, DType::BFloat16), "(C13)");
  Convolution conv;
  conv.window_strides = {2};
  conv.padding_low = {1};
  conv.padding_high = {1};
  const Dim length = Dim::symbol("s1", 10);
  EXPECT_EQ(sizes(b.convolution(f32({n, 3, length}), f32({6, 3, 4}), conv)), "8 (s0), 6, 5 (floordiv(s1 - 2, 2) + 1)");
  refused(b.convolution(f32({8, 3, 10}), f32({6, 2, 4}), conv), "(C14)");
  refused(b.convolution(f32({8, 3, 10}), f32({6, 3}), conv), "(C1)");
  conv.feature_group_count = 2;
  refused(b.convolution(f32({8, 3, 10}), f32({6, 3, 4}), conv), "(C11)");
  refused(b.cholesky(f32({2, 3}), true), "(C3)");
  refused(b.triangular_solve(f32({3, 3}), f32({2, 3}), {}), "(C3)");
  refused(b.fft(f32({8}), FftType::Fft, {8}), "(C2)");
  refused(b.fft(f32({8}), FftType::Rfft, {7}), "(C4)");
}

TEST_F(Infer, gather_and_scatter) {
  const Value x = f32({8, n});
  const Value rows = i32({5, 1});
  const Gather take{.offset_dims = {1},
                    .collapsed_slice_dims = {0},
                    .operand_batching_dims = {},
                    .start_indices_batching_dims = {},
                    .start_index_map = {0},
                    .index_vector_dim = 1,
                    .slice_sizes = {1, n}};
  EXPECT_EQ(sizes(b.gather(x, rows, take)), "5, 8 (s0)");
  Gather bad = take;
  bad.slice_sizes = {2, 8};
  refused(b.gather(x, rows, bad), "(C9)");
  bad = take;
  bad.offset_dims = {2};
  refused(b.gather(x, rows, bad), "(C5)");
  bad = take;
  bad.start_index_map = {0, 1};
  refused(b.gather(x, rows, bad), "index map has 2 entries");
  bad = take;
  bad.index_vector_dim = 3;
  refused(b.gather(x, rows, bad), "index_vector_dim");
  refused(b.gather(x, f32({5, 1}), take), "no integers");
  const Scatter put{.update_window_dims = {1},
                    .inserted_window_dims = {0},
                    .input_batching_dims = {},
                    .scatter_indices_batching_dims = {},
                    .scatter_dims_to_operand_dims = {0},
                    .index_vector_dim = 1};
  EXPECT_EQ(sizes(b.scatter(x, rows, f32({5, 8}), put, Reducer::Add)), "8, 8 (s0)");
  EXPECT_EQ(text(b.scatter_replace(x, rows, f32({5, 2}), put)), "tensor<8x8xf32>") << "a window may be smaller";
  refused(b.scatter(x, rows, f32({5, 9}), put, Reducer::Add), "(C4)");
  refused(b.scatter(x, rows, f32({4, 8}), put, Reducer::Add), "(C4)");
  refused(b.scatter(x, rows, i32({5, 8}), put, Reducer::Add), "(C6)");
}

TEST_F(Infer, bits_and_conversions) {
  EXPECT_EQ(text(b.bitcast_convert(f32({8}), DType::UInt8)), "tensor<8x4xui8>");
  EXPECT_EQ(text(b.bitcast_convert(b.bitcast_convert(f32({8}), DType::UInt8), DType::Float32)), "tensor<8xf32>");
  refused(b.bitcast_convert(f32({8}), DType::Float64), "(C1)");
  refused(b.bitcast_convert(f32({8}), DType::Bool), "i1");
  refused(b.reduce_precision(f32({8}), 0, 3), "(C2)");
  refused(b.clamp(f32({3}), f32({8}), f32({})), "(C1)");
  refused(b.select(f32({}), f32({8}), f32({8})), "(I1)");
  refused(b.compare(b.complex(f32({}), f32({})), b.complex(f32({}), f32({})), ComparisonDirection::Lt), "(C4)");
  refused(b.constant({DType::Float32, {3}}, std::vector<std::byte>(8)), "(C1)");
  refused(b.constant_ints(DType::Int64, {1, 2, 3}, {2}), "do not fill");
}

TEST_F(Infer, control_flow) {
  const Value x = f32({n});
  const Value i = i32({});
  EXPECT_EQ(sizes(b.case_(i, {[&] { return Values{f32({8})}; }, [&] { return Values{x}; }})[0]), "8 (s0)");
  b.case_(i, {});
  refused({}, "too few");
  b.case_(x, {[&] { return Values{x}; }});
  refused({}, "(I1)");
  refused(b.if_(
              b.splat_bool(scalar(DType::Bool), true), [&] { return Values{x}; }, [&] { return Values{i}; })[0],
          "(C2)");
  refused(b.while_(
              {x}, [&](auto a) { return a[0]; }, [](auto a) { return Values{a[0]}; })[0],
          "cond");
  refused(
      b.while_(
          {i}, [&](auto a) { return b.compare(a[0], i, ComparisonDirection::Lt); }, [&](auto) { return Values{x}; })[0],
      "body");
  refused(b.rng_bit_generator(x, RngAlgorithm::Philox, {DType::UInt32, {3}})[0], "(I2)");
  EXPECT_TRUE(b.call(FunctionId(7), {x}).empty());
}

TEST_F(Infer, regions_may_not_nest_without_end) {
  std::function<Values()> nest = [&] {
    return b.if_(b.splat_bool(scalar(DType::Bool), true), nest, [&] { return Values{f32({})}; });
  };
  nest();
  EXPECT_NE(b.failures().at(0).message.find("nest deeper"), std::string::npos);
}

// Sizes come from files: whatever they are, a method answers.
TEST_F(Infer, no_number_crashes_the_builder) {
  constexpr int64_t kNumbers[] = {
      0, 1, 2, -1, 3, 7, int64_t{1} << 40, INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1};
  uint64_t state = 1;
  auto next = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const uint64_t high = state >> 33;
    return high % 3 == 0 ? kNumbers[high / 3 % std::size(kNumbers)] : static_cast<int64_t>(high % 5) - 1;
  };
  auto ints = [&](size_t count) {
    Ints out(count);
    for (int64_t& v : out) v = next();
    return out;
  };
  auto dims = [&](size_t count) { return dims_of(ints(count)); };
  const Value x = f32({4, 3, 5});
  const Value indices = i32({4, 2});
  for (int round = 0; round < 3000; ++round) {
    b.broadcast_in_dim(x, dims(4), ints(3));
    b.concatenate({x, x}, next());
    b.iota({DType::Float32, dims(2)}, next());
    b.pad(x, f32({}), dims(3), dims(3), ints(3));
    b.reshape(x, dims(3));
    b.reverse(x, ints(2));
    b.slice(x, dims(3), dims(3), ints(3));
    b.transpose(x, ints(3));
    b.dynamic_slice(x, {i32({}), i32({}), i32({})}, dims(3));
    b.gather(x, indices,
             {.offset_dims = ints(1),
              .collapsed_slice_dims = ints(2),
              .operand_batching_dims = {},
              .start_indices_batching_dims = {},
              .start_index_map = ints(2),
              .index_vector_dim = next(),
              .slice_sizes = dims(3)});
    b.scatter(x, indices, f32({4, 3}),
              {.update_window_dims = ints(1),
               .inserted_window_dims = ints(1),
               .input_batching_dims = ints(1),
               .scatter_indices_batching_dims = ints(1),
               .scatter_dims_to_operand_dims = ints(1),
               .index_vector_dim = next()},
              Reducer::Add);
    b.reduce(x, ints(2), Reducer::Minimum);
    b.reduce_window(x,
                    {.window_dimensions = dims(3),
                     .window_strides = ints(3),
                     .base_dilations = ints(3),
                     .window_dilations = ints(3),
                     .padding_low = dims(3),
                     .padding_high = dims(3)},
                    Reducer::Add);
    b.dot_general(x, x,
                  {.lhs_batching_dimensions = ints(1),
                   .rhs_batching_dimensions = ints(1),
                   .lhs_contracting_dimensions = ints(1),
                   .rhs_contracting_dimensions = ints(1)});
    Convolution conv;
    conv.window_strides = ints(1);
    conv.padding_low = dims(1);
    conv.padding_high = dims(1);
    conv.lhs_dilation = ints(1);
    conv.rhs_dilation = ints(1);
    conv.feature_group_count = next();
    conv.batch_group_count = next();
    if (round % 2 == 1) conv.input_spatial_dimensions = ints(1);
    b.convolution(x, x, conv);
    b.fft(x, FftType::Rfft, dims(2));
    b.reduce_precision(x, next(), next());
    b.splat(Type{DType::Complex64, dims(3)}, 1.0);
  }
  EXPECT_TRUE(verify(module).empty());
}

}  // namespace
}  // namespace torchlift::stablehlo
