// Sessions on the fake plugin: checks before anything reaches the device, weights in place, state handed on, faults.
#include "run/session.hpp"

#include <gtest/gtest.h>

#include <array>

#include "base/kinds.hpp"
#include "fake_plugin/fake.hpp"

namespace torchlift::run {
namespace {

using bundle::Argument;
using bundle::ArgumentRole;
using bundle::ProgramResult;
using bundle::ResultRole;
using fake::fake;
using fake::Thing;
using pjrt::abi::Slot;

const TensorType kBytes4{.dtype = DType::UInt8, .shape = {4}};
// Arguments: input x, weight w, state s. Results: copies of x and w, and the state's new value.
constexpr std::string_view kProgram =
    "result 6 4 copy 0\nresult 6 4 copy 1\nresult 6 4 increment 2\ndonate 2 2\ndonate 1 1\ndonate 0 0\n";

bundle::Program signature() {
  bundle::Program out;
  out.arguments = {
      Argument{.role = ArgumentRole::Input, .name = "x", .aliases = {}, .type = kBytes4, .leaf = 0, .result = {}},
      Argument{.role = ArgumentRole::Weight, .name = "w", .aliases = {}, .type = kBytes4, .leaf = {}, .result = {}},
      Argument{.role = ArgumentRole::State, .name = "s", .aliases = {}, .type = kBytes4, .leaf = {}, .result = 2},
  };
  out.results = {ProgramResult{.role = ResultRole::Output, .name = "[0]", .aliases = {}, .type = kBytes4},
                 ProgramResult{.role = ResultRole::Output, .name = "[1]", .aliases = {}, .type = kBytes4},
                 ProgramResult{.role = ResultRole::BufferMutation, .name = "s", .aliases = {}, .type = kBytes4}};
  return out;
}

struct alignas(64) Memory {
  std::array<std::byte, 4> bytes{};
};

class SessionTest : public testing::Test {
 protected:
  void SetUp() override {
    fake().reset();
    client_.emplace(pjrt::Client::create(pjrt::Plugin::load(fake::plugin_file()).value()).value());
    executable_.emplace(pjrt::Executable::compile(*client_, bytes_of(kProgram)).value());
    weight_.bytes.fill(std::byte{7});
    state_.bytes.fill(std::byte{10});
    input_.bytes.fill(std::byte{3});
  }
  void TearDown() override {
    executable_.reset();
    client_.reset();
    for (Thing thing : {Thing::Client, Thing::Executable, Thing::Buffer, Thing::Event, Thing::Error})
      EXPECT_EQ(fake().live(thing), 0) << "left alive: thing " << static_cast<int>(thing);
    EXPECT_STREQ(fake().violations(), "");
  }
  Result<Session> make(bundle::Program program = signature(), TensorType weight_type = kBytes4, size_t device = 0) {
    std::array residents = {HostTensor::view(weight_type, weight_.bytes), HostTensor::view(kBytes4, state_.bytes)};
    return Session::create(*client_, *executable_, std::move(program), residents, device);
  }
  std::array<HostTensor, 1> inputs() const { return {HostTensor::view(kBytes4, input_.bytes)}; }

  Memory weight_, state_, input_;
  std::optional<pjrt::Client> client_;
  std::optional<pjrt::Executable> executable_;
};

TEST_F(SessionTest, written_state_is_handed_to_the_next_call) {
  Session session = make().value();
  for (int call = 1; call <= 3; ++call) {
    std::vector<HostTensor> results = session.run(inputs(), Fetch::All).value();
    ASSERT_EQ(results.size(), 3u);
    EXPECT_EQ(results[0].bytes()[0], std::byte{3});
    EXPECT_EQ(results[1].bytes()[3], std::byte{7});
    EXPECT_EQ(results[2].bytes()[0], static_cast<std::byte>(10 + call));
  }
  EXPECT_EQ(session.read(2).value().bytes()[0], std::byte{13});
  EXPECT_EQ(session.read(1).value().bytes()[0], std::byte{7});
  EXPECT_EQ(state_.bytes[0], std::byte{10}) << "the caller's memory is not written";
}

TEST_F(SessionTest, state_stays_on_the_device_unless_it_is_asked_for) {
  Session session = make().value();
  std::vector<HostTensor> results = session.run(inputs()).value();
  EXPECT_EQ(results[2].bytes().size(), 0u);
  EXPECT_EQ(session.read(2).value().bytes()[0], std::byte{11});
}

TEST_F(SessionTest, weights_and_inputs_are_used_in_place_and_never_donated) {
  Session session = make().value();
  EXPECT_EQ(fake().borrowed(), 1);  // the weight, not the state
  ASSERT_TRUE(session.run(inputs()).ok());
  EXPECT_EQ(fake().borrowed(), 2);
  ASSERT_TRUE(session.run(inputs()).ok());
  EXPECT_EQ(session.read(1).value().bytes()[0], std::byte{7});
}

TEST_F(SessionTest, inputs_are_checked_before_the_device_sees_them) {
  Session session = make().value();
  EXPECT_EQ(session.run({}).error().kind, Kind::InputCount);
  std::array wrong_type = {HostTensor::view({.dtype = DType::Int8, .shape = {4}}, input_.bytes)};
  auto refused = session.run(wrong_type);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message(), "input `x` is i8[4], the program takes u8[4]");
  std::array wrong_size = {HostTensor::view(kBytes4, ByteView(input_.bytes).first(3))};
  EXPECT_EQ(session.run(wrong_size).error().kind, Kind::TensorBytes);
  EXPECT_EQ(fake().calls(Slot::LoadedExecutableExecute), 0);
  EXPECT_TRUE(session.run(inputs()).ok());
}

TEST_F(SessionTest, weights_of_another_type_are_refused) {
  auto refused = make(signature(), {.dtype = DType::Int8, .shape = {4}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message(), "weight `w` is i8[4], the program declares u8[4]");
}

TEST_F(SessionTest, a_program_with_other_results_is_refused) {
  bundle::Program other = signature();
  other.results[1].type.shape = {2, 2};
  auto refused = make(other);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, Kind::ProgramResults);
  EXPECT_NE(refused.error().message().find("u8[2,2]"), std::string::npos) << refused.error().message();
}

TEST_F(SessionTest, a_device_that_is_not_there_is_refused) {
  EXPECT_TRUE(make(signature(), kBytes4, 1).ok());
  EXPECT_EQ(make(signature(), kBytes4, 2).error().kind, Kind::DeviceMissing);
}

TEST_F(SessionTest, an_old_plugin_that_does_not_know_its_results_is_taken) {
  fake().end_table_at(Slot::ExecutableOutputElementTypes);
  EXPECT_TRUE(make().ok());
}

TEST_F(SessionTest, a_call_that_fails_before_it_starts_leaves_the_state) {
  Session session = make().value();
  fake().fail(Slot::LoadedExecutableExecute, 1, 8);
  EXPECT_EQ(session.run(inputs()).error().kind, Kind::PluginError);
  EXPECT_EQ(session.run(inputs(), Fetch::All).value()[2].bytes()[0], std::byte{11});
}

TEST_F(SessionTest, a_call_that_fails_on_the_device_says_that_the_state_is_lost) {
  Session session = make().value();
  fake().fail_work(3);  // the third result: the state
  EXPECT_EQ(session.run(inputs()).error().kind, Kind::PluginError);
  auto next = session.run(inputs());
  ASSERT_FALSE(next.ok());
  EXPECT_EQ(next.error().kind, Kind::StateLost);
  EXPECT_EQ(session.read(2).error().kind, Kind::StateLost);
}

TEST_F(SessionTest, every_call_of_the_plugin_may_fail_and_nothing_leaks) {
  std::vector<Slot> functions = {Slot::ClientBufferFromHostBuffer,
                                 Slot::LoadedExecutableExecute,
                                 Slot::BufferToHostBuffer,
                                 Slot::BufferReadyEvent,
                                 Slot::EventAwait,
                                 Slot::BufferDimensions,
                                 Slot::ExecutableOutputElementTypes,
                                 Slot::BufferIsDeleted};
  for (Slot function : functions) {
    for (int64_t nth = 1; nth <= 8; ++nth) {
      fake().fail(function, nth, 8);
      if (auto session = make(); session.ok()) {
        (void)session->run(inputs());
        (void)session->run(inputs(), Fetch::All);
      }
      EXPECT_EQ(fake().live(Thing::Buffer), 0);
      fake().fail(function, 0, 0);
    }
  }
}

}  // namespace
}  // namespace torchlift::run
