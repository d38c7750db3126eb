// Modules broken by hand.
#include "stablehlo/verify.hpp"

#include <gtest/gtest.h>

#include "stablehlo/builder.hpp"

namespace torchlift::stablehlo {
namespace {

class Verify : public testing::Test {
 protected:
  Verify() : x(b.argument({DType::Float32, {4}})) {}
  Region& body() { return module.regions[0]; }
  Inst& last() { return module.insts.back(); }
  std::string first_error() {
    const auto errors = verify(module);
    return errors.empty() ? "" : errors[0].message;
  }
  Module module;
  Builder b{module};
  Value x;
};

TEST_F(Verify, a_sound_module_has_no_errors) {
  b.set_results({b.reduce(b.abs(x), {0}, Reducer::Add)});
  EXPECT_EQ(first_error(), "");
}

TEST_F(Verify, placeholders_are_refused) {
  b.set_location({"model.py", 7, ""});
  b.set_results({b.undefined({DType::Float32, {2}})});
  EXPECT_EQ(first_error(), "undefined: a placeholder for what could not be built");
  EXPECT_EQ(verify(module)[0].location.line, 7);
}

TEST_F(Verify, poisoned_results_are_refused) {
  b.set_results({Value{}});
  EXPECT_EQ(first_error(), "result 0 of a region is not defined there");
}

TEST_F(Verify, values_are_defined_before_use) {
  b.abs(b.negate(x));
  std::swap(body().insts[0], body().insts[1]);
  EXPECT_EQ(first_error(), "abs: operand 0 is not defined here");
}

TEST_F(Verify, values_of_a_region_stay_there) {
  Value inner;
  b.if_(
      b.splat_bool(scalar(DType::Bool), true), [&] { return Values{inner = b.abs(x)}; }, [&] { return Values{x}; });
  b.set_results({inner});
  EXPECT_EQ(first_error(), "result 0 of a region is not defined there");
}

TEST_F(Verify, reducers_see_nothing_outside) {
  const Value outside = b.splat_float(scalar(DType::Float32), 2);
  b.reduce({x}, {outside}, {0}, [&](auto a) { return Values{b.add(a[0], outside)}; });
  EXPECT_EQ(first_error(), "add: operand 1 is not defined here");
}

TEST_F(Verify, types_are_inferred_again) {
  b.set_results({b.transpose(b.reshape(x, {2, 2}), {1, 0})});
  module.values[last().results[0].at()].type.dims = {4, 1};
  EXPECT_EQ(first_error(), "transpose: result 0 is tensor<4x1xf32>, tensor<2x2xf32> is inferred");
}

TEST_F(Verify, constraints_are_checked_again) {
  b.reverse(x, {0});
  std::get<Dimensions>(module.attributes[last().attributes.at()]).dimensions = {1};
  EXPECT_EQ(first_error(), "reverse: (C3) dimensions [1] leaves tensor<4xf32>");
}

TEST_F(Verify, attributes_belong_to_their_operation) {
  b.reverse(x, {0});
  last().opcode = Opcode::Transpose;
  EXPECT_EQ(first_error(), "transpose: the attributes belong to another operation");
  last().attributes = AttributesId(99);
  EXPECT_EQ(first_error(), "transpose: attributes out of range");
}

TEST_F(Verify, ids_are_in_range) {
  b.abs(x);
  last().operands[0] = Value(999);
  EXPECT_EQ(first_error(), "abs: operand 0 is not defined here");
  body().insts.push_back(InstId(999));
  module.functions[0].body = RegionId(50);
  EXPECT_EQ(first_error(), "function `main` has no body");
}

TEST_F(Verify, an_instruction_occurs_once) {
  b.abs(x);
  body().insts.push_back(body().insts[0]);
  EXPECT_EQ(first_error(), "abs: the instruction is used twice");
}

TEST_F(Verify, aliased_results_exist) {
  module.functions[0].arguments[0].aliasing_output = 3;
  EXPECT_EQ(first_error(), "argument `` aliases result 3 of 0");
}

TEST_F(Verify, helpers_do_not_call_themselves) {
  const FunctionId f = b.function("f", {}, [&](auto) { return Values{b.splat_bool(scalar(DType::Bool), true)}; });
  b.function("g", {}, [&](auto) { return b.call(f, {}); });
  EXPECT_EQ(first_error(), "");
  std::get<Call>(module.attributes.back()).callee = FunctionId(2);
  EXPECT_EQ(first_error(), "call: a helper calls main, itself or a later helper");
}

TEST_F(Verify, errors_are_bounded) {
  for (int i = 0; i < 100; ++i) b.undefined({DType::Float32, {2}});
  EXPECT_EQ(verify(module).size(), kMaxVerifyErrors);
}

}  // namespace
}  // namespace torchlift::stablehlo
