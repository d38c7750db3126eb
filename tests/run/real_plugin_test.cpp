// Whole sessions on the real CPU plugin.
#include "pjrt/real_plugin.hpp"

#include <cstring>

#include "base/kinds.hpp"
#include "run/program_cache.hpp"
#include "run/session.hpp"

namespace torchlift::run {
namespace {

using RealPluginSession = RealPluginTest;

constexpr std::string_view kAccumulate = R"(
func.func @main(%x: tensor<2xf64>, %w: tensor<2xf64>, %sum: tensor<2xf64> {tf.aliasing_output = 1 : i32})
    -> (tensor<2xf64>, tensor<2xf64>) {
  %0 = stablehlo.multiply %x, %w : tensor<2xf64>
  %1 = stablehlo.add %sum, %0 : tensor<2xf64>
  return %0, %1 : tensor<2xf64>, tensor<2xf64>
}
)";

const TensorType kPair{.dtype = DType::Float64, .shape = {2}};

bundle::Program signature() {
  using bundle::ArgumentRole;
  using bundle::ResultRole;
  bundle::Program out;
  out.arguments = {{.role = ArgumentRole::Input, .name = "x", .aliases = {}, .type = kPair, .leaf = 0, .result = {}},
                   {.role = ArgumentRole::Weight, .name = "w", .aliases = {}, .type = kPair, .leaf = {}, .result = {}},
                   {.role = ArgumentRole::State, .name = "sum", .aliases = {}, .type = kPair, .leaf = {}, .result = 1}};
  out.results = {{.role = ResultRole::Output, .name = "[0]", .aliases = {}, .type = kPair},
                 {.role = ResultRole::BufferMutation, .name = "sum", .aliases = {}, .type = kPair}};
  return out;
}

HostTensor pair(const std::array<double, 2>& values) {
  return HostTensor::view(kPair, std::as_bytes(std::span(values)));
}

double first(const HostTensor& tensor) {
  double out = 0;
  std::memcpy(&out, tensor.bytes().data(), sizeof(out));
  return out;
}

TEST_F(RealPluginSession, calls_accumulate_in_the_state) {
  ProgramCache programs(real_client());
  const pjrt::Executable* executable = programs.get(kAccumulate).value();
  EXPECT_EQ(programs.get(kAccumulate).value(), executable);
  EXPECT_EQ(programs.compiled(), 1u);
  alignas(64) std::array<double, 2> weight = {3, 4};
  std::array<double, 2> zero = {100, 0};
  std::array residents = {pair(weight), pair(zero)};
  Session session = Session::create(real_client(), *executable, signature(), residents).value();
  std::array<double, 2> x = {2, 1};
  std::array inputs = {pair(x)};
  EXPECT_EQ(first(session.run(inputs).value()[0]), 6);
  EXPECT_EQ(first(session.run(inputs, Fetch::All).value()[1]), 112);
  EXPECT_EQ(first(session.read(2).value()), 112);
}

TEST_F(RealPluginSession, a_signature_of_another_program_is_refused) {
  ProgramCache programs(real_client());
  bundle::Program other = signature();
  other.results[0].type.dtype = DType::Float32;
  std::array<double, 2> zero = {0, 0};
  std::array residents = {pair(zero), pair(zero)};
  auto refused = Session::create(real_client(), *programs.get(kAccumulate).value(), other, residents);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, Kind::ProgramResults);
}

}  // namespace
}  // namespace torchlift::run
