#include "stablehlo/passes.hpp"

#include <gtest/gtest.h>

#include "stablehlo/builder.hpp"
#include "stablehlo/print.hpp"
#include "stablehlo/verify.hpp"

namespace torchlift::stablehlo {
namespace {

class Passes : public testing::Test {
 protected:
  void TearDown() override { EXPECT_TRUE(verify(module).empty()) << to_text(module); }
  size_t count(Opcode opcode) { return count(module.functions[0].body, opcode); }
  size_t count(RegionId region, Opcode opcode) {
    size_t out = 0;
    for (InstId id : module.at(region).insts) {
      out += module.at(id).opcode == opcode;
      for (RegionId r : module.at(id).regions) out += count(r, opcode);
    }
    return out;
  }
  // The only result, once folded.
  std::string folded(Value v) {
    b.set_results({v});
    simplify(module);
    const Value result = module.at(module.functions[0].body).results[0];
    if (!module.constant(result)) return "no constant";
    const std::string text = to_text(module);
    const size_t at = text.rfind("dense<");
    return text.substr(at, text.find(" :", at) - at);
  }
  Value ints(const Ints& values) { return b.constant_ints(DType::Int32, values); }

  Module module;
  Builder b{module};
};

TEST_F(Passes, dead_code_goes_and_arguments_stay) {
  const Value x = b.argument({DType::Float32, {2}});
  b.argument({DType::Float32, {2}});
  b.abs(b.negate(x));
  b.set_results({b.sine(x)});
  remove_dead_code(module);
  EXPECT_EQ(module.at(module.functions[0].body).insts.size(), 1u);
  EXPECT_EQ(module.argument_types().size(), 2u);
}

TEST_F(Passes, what_a_region_uses_is_alive) {
  const Value x = b.argument({DType::Float32, {}});
  const Value y = b.sine(x);
  const Value pred = b.argument({DType::Bool, {}});
  b.set_results(b.if_(
      pred, [&] { return Values{b.abs(y)}; },
      [&] {
        b.cosine(x);
        return Values{x};
      }));
  remove_dead_code(module);
  EXPECT_EQ(count(Opcode::Sine), 1u);
  EXPECT_EQ(count(Opcode::Cosine), 0u);
}

TEST_F(Passes, side_effects_are_alive) {
  const Value x = b.argument({DType::Float32, {}});
  b.custom_call({x}, {}, {.call_target_name = "print", .has_side_effect = true, .backend_config = {}});
  b.custom_call({x}, {scalar(DType::Float32)},
                {.call_target_name = "pure", .has_side_effect = false, .backend_config = {}});
  remove_dead_code(module);
  EXPECT_EQ(count(Opcode::CustomCall), 1u);
}

TEST_F(Passes, helpers_that_nothing_calls_go) {
  const Value x = b.argument({DType::Float32, {}});
  auto helper = [&](std::string name) {
    return b.function(std::move(name), {scalar(DType::Float32)}, [&](auto a) { return Values{b.abs(a[0])}; });
  };
  helper("unused");
  const FunctionId used = helper("used");
  b.set_results(b.call(used, {x}));
  remove_dead_code(module);
  ASSERT_EQ(module.functions.size(), 2u);
  EXPECT_EQ(module.functions[1].name, "used");
  EXPECT_NE(to_text(module).find("call @used("), std::string::npos);
}

TEST_F(Passes, equal_instructions_merge) {
  const Value x = b.argument({DType::Float32, {4, 4}});
  b.set_results({b.add(b.sine(x), b.sine(x)), b.slice(x, {0, 0}, {2, 2}), b.slice(x, {1, 0}, {3, 2})});
  merge_common(module);
  EXPECT_EQ(count(Opcode::Sine), 1u);
  EXPECT_EQ(count(Opcode::Slice), 2u) << "other attributes";
}

TEST_F(Passes, bits_and_signs_of_constants_are_kept_apart) {
  const Type type = scalar(DType::Float32);
  b.set_results({b.splat_float(type, 0.0), b.splat_float(type, -0.0), b.splat_int(scalar(DType::Int32), 0),
                 b.splat_float(type, 0.0)});
  merge_common(module);
  EXPECT_EQ(count(Opcode::Constant), 3u);
}

TEST_F(Passes, branches_use_what_is_computed_outside_but_not_each_other) {
  const Value x = b.argument({DType::Float32, {}});
  const Value pred = b.argument({DType::Bool, {}});
  const Value outside = b.sine(x);
  const Values inside = b.if_(
      pred, [&] { return Values{b.add(b.sine(x), b.cosine(x))}; }, [&] { return Values{b.cosine(x)}; });
  b.set_results({outside, inside[0]});
  merge_common(module);
  EXPECT_EQ(count(Opcode::Sine), 1u);
  EXPECT_EQ(count(Opcode::Cosine), 2u);
}

TEST_F(Passes, reducers_keep_their_own_constants) {
  const Value x = b.argument({DType::Float32, {4}});
  const Value two = b.splat_float(scalar(DType::Float32), 2);
  b.set_results(b.reduce({x}, {two}, {0}, [&](auto a) {
    return Values{b.add(a[0], b.multiply(a[1], b.splat_float(scalar(DType::Float32), 2)))};
  }));
  merge_common(module);
  EXPECT_EQ(count(Opcode::Constant), 2u);
}

TEST_F(Passes, shape_arithmetic_folds) {
  EXPECT_EQ(folded(b.add(ints({1, 2}), ints({10, INT32_MAX}))), "dense<[11, -2147483647]>");
  EXPECT_EQ(folded(b.subtract(b.splat_int({DType::UInt8, {2}}, 1), b.splat_int({DType::UInt8, {2}}, 2))), "dense<255>");
  EXPECT_EQ(folded(b.maximum(b.splat_int(scalar(DType::UInt64), -1), b.splat_int(scalar(DType::UInt64), 1))),
            "dense<18446744073709551615>");
  EXPECT_EQ(folded(b.negate(ints({1, -2}))), "dense<[-1, 2]>");
  EXPECT_EQ(folded(b.not_(b.constant_ints(DType::Bool, {1, 0}))), "dense<[false, true]>");
  EXPECT_EQ(folded(b.compare(ints({1, -2}), ints({1, 3}), ComparisonDirection::Lt)), "dense<[false, true]>");
  EXPECT_EQ(folded(b.compare(b.splat_int(scalar(DType::UInt8), 255), b.splat_int(scalar(DType::UInt8), 1),
                             ComparisonDirection::Gt)),
            "dense<true>");
  EXPECT_EQ(folded(b.select(b.constant_ints(DType::Bool, {1, 0}), ints({1, 2}), ints({3, 4}))), "dense<[1, 4]>");
  EXPECT_EQ(folded(b.convert(ints({1, 2}), DType::Float32)), "dense<[1.0, 2.0]>");
  EXPECT_EQ(folded(b.concatenate({ints({1, 2}), ints({3})}, 0)), "dense<[1, 2, 3]>");
  EXPECT_EQ(folded(b.slice(ints({1, 2, 3, 4}), {1}, {4}, {2})), "dense<[2, 4]>");
  EXPECT_EQ(folded(b.broadcast_in_dim(ints({1, 2}), {2, 2}, {0})), "dense<[[1, 1], [2, 2]]>");
  EXPECT_EQ(folded(b.add(b.splat_int({DType::Int32, {1000, 1000}}, 1), b.splat_int({DType::Int32, {1000, 1000}}, 2))),
            "dense<3>");
}

TEST_F(Passes, floats_and_large_constants_are_left_alone) {
  const Value third = b.splat_float(scalar(DType::Float32), 1.0 / 3);
  EXPECT_EQ(folded(b.add(third, third)), "no constant");
  Ints many(65, 1);
  many[0] = 2;
  EXPECT_EQ(folded(b.add(ints(many), ints(many))), "no constant");
  EXPECT_EQ(folded(b.select(b.splat_bool(scalar(DType::Bool), true), third, b.splat_float(scalar(DType::Float32), 1))),
            "dense<0.33333334>")
      << "a choice is exact";
}

}  // namespace
}  // namespace torchlift::stablehlo
