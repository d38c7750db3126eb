// Lifetimes, faults and threads, on the fake plugin: what was made is destroyed once, whatever fails and in whatever
// order.
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "base/kinds.hpp"
#include "fake_plugin/fake.hpp"
#include "pjrt/executable.hpp"

namespace torchlift::pjrt {
namespace {

using fake::fake;
using fake::Thing;

constexpr std::string_view kCopy = "result 11 4 copy 0\n";
constexpr std::string_view kIncrementState = "result 6 4 increment 0\ndonate 0 0\n";

class FakePlugin : public testing::Test {
 protected:
  void SetUp() override { fake().reset(); }
  void TearDown() override {
    for (Thing thing : {Thing::Client, Thing::Executable, Thing::Buffer, Thing::Event, Thing::Error})
      EXPECT_EQ(fake().live(thing), 0) << "left alive: thing " << static_cast<int>(thing);
    EXPECT_STREQ(fake().violations(), "");
  }
  static Client client() { return Client::create(Plugin::load(fake::plugin_file()).value()).value(); }
};

struct alignas(64) Memory {
  std::array<std::byte, 64> bytes{};
};

Result<Buffer> place(const Client& client, const Memory& memory, HostMemory how = HostMemory::Copied) {
  std::array<int64_t, 1> sizes = {4};
  HostView view{.dtype = DType::UInt8, .sizes = sizes, .bytes = ByteView(memory.bytes).first(4)};
  return Buffer::from_host(client, client.devices()[0], view, how);
}

std::array<std::byte, 4> read(const Buffer& buffer) {
  std::array<std::byte, 4> out{};
  EXPECT_TRUE(buffer.to_host(out).ok());
  return out;
}

Result<std::vector<Buffer>> execute(const Executable& program, const Buffer& argument) {
  std::array<const Buffer*, 1> arguments = {&argument};
  return program.execute(arguments);
}

// One whole use of a client; the first error ends it.
Status use_once() {
  TRY(Plugin plugin, Plugin::load(fake::plugin_file()));
  TRY(auto attributes, plugin.attributes());
  TRY(Client client, Client::create(plugin));
  TRY(Executable program, Executable::compile(client, bytes_of(kIncrementState)));
  TRY(auto types, program.output_types());
  Memory memory;
  TRY(Buffer borrowed, place(client, memory, HostMemory::Borrowed));
  TRY(Buffer state, place(client, memory));
  for (int i = 0; i < 3; ++i) {
    TRY(std::vector<Buffer> results, execute(program, state));
    state = std::move(results[0]);
  }
  TRY(auto sizes, state.sizes());
  TRY(auto dtype, state.dtype());
  TRY(size_t size, state.to_host_size());
  TRY(Event ready, state.ready());
  TRY_OK(ready.wait());
  TRY(bool is_ready, ready.is_ready());
  TRY(bool is_deleted, state.is_deleted());
  std::vector<std::byte> out(size);
  TRY_OK(state.to_host(out));
  EXPECT_EQ(out[0], std::byte{3});
  EXPECT_EQ(sizes, std::vector<int64_t>{4});
  EXPECT_EQ(dtype, DType::UInt8);
  EXPECT_EQ(types[0].sizes, sizes);
  EXPECT_EQ(attributes[0].text(), "1.13.3");
  EXPECT_TRUE(is_ready);
  EXPECT_FALSE(is_deleted);
  return Unit{};
}

TEST_F(FakePlugin, everything_is_destroyed_after_use) { ASSERT_TRUE(use_once().ok()); }

TEST_F(FakePlugin, every_call_may_fail_and_nothing_leaks) {
  ASSERT_TRUE(use_once().ok());
  for (size_t slot = 0; slot < 92; ++slot) {
    auto function = static_cast<abi::Slot>(slot);
    // A thing whose destruction fails stays, and nobody can help it.
    if (function_name(function).ends_with("_Destroy")) continue;
    for (int64_t nth = 1; nth <= fake().calls(function); ++nth) {
      fake().reset();
      fake().fail(function, nth, 8);
      Status outcome = use_once();
      if (!outcome.ok()) {
        EXPECT_EQ(outcome.error().kind, Kind::PluginError);
        EXPECT_EQ(error_code(outcome.error()), 8);
        EXPECT_NE(outcome.error().message().find(function_name(function)), std::string::npos);
      }
      TearDown();
      fake().reset();
      ASSERT_TRUE(use_once().ok());
    }
  }
}

TEST_F(FakePlugin, an_error_keeps_the_plugins_own_words) {
  fake().fail(abi::Slot::ClientCreate, 1, 9);
  auto failed = Client::create(Plugin::load(fake::plugin_file()).value());
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().place.file, fake::plugin_file());
  EXPECT_NE(failed.error().message().find("PJRT_Client_Create answered code 9 (FAILED_PRECONDITION)"),
            std::string::npos);
  EXPECT_NE(failed.error().message().find("and to say it on two lines"), std::string::npos);
}

TEST_F(FakePlugin, an_older_table_names_the_function_it_lacks) {
  Client one = client();
  Executable program = Executable::compile(one, bytes_of(kCopy)).value();
  fake().end_table_at(abi::Slot::ExecutableOutputElementTypes);
  EXPECT_EQ(program.output_types().error().kind, Kind::PluginFunctionMissing);
  Memory memory;
  fake().end_table_at(abi::Slot::ClientBufferFromHostBuffer);
  auto failed = place(one, memory);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().kind, Kind::PluginFunctionMissing);
  EXPECT_NE(failed.error().message().find("PJRT_Client_BufferFromHostBuffer"), std::string::npos);
  fake().end_table_at(static_cast<abi::Slot>(92));
}

TEST_F(FakePlugin, borrowed_memory_is_let_go_before_the_buffer_is_gone) {
  Client one = client();
  Executable program = Executable::compile(one, bytes_of(kCopy)).value();
  auto memory = std::make_unique<Memory>();
  std::vector<Buffer> results;
  {
    Buffer argument = place(one, *memory, HostMemory::Borrowed).value();
    EXPECT_EQ(argument.unsafe_pointer().value(), reinterpret_cast<uintptr_t>(memory->bytes.data()));
    fake().hold_work(true);
    results = execute(program, argument).value();
    fake().hold_work(false);
  }
  memory.reset();  // under the address sanitizer, a late read is seen
  EXPECT_EQ(fake().borrowed(), 1);
}

TEST_F(FakePlugin, unready_outputs_may_be_used_and_dropped) {
  Client one = client();
  Executable program = Executable::compile(one, bytes_of(kIncrementState)).value();
  Memory memory;
  Buffer state = place(one, memory).value();
  fake().hold_work(true);
  std::vector<Buffer> first = execute(program, state).value();
  EXPECT_FALSE(first[0].ready().value().is_ready().value());
  EXPECT_TRUE(state.is_deleted().value());
  std::vector<Buffer> second = execute(program, first[0]).value();
  first.clear();
  fake().hold_work(false);
  EXPECT_EQ(read(second[0])[0], std::byte{2});
}

TEST_F(FakePlugin, a_failure_on_the_device_arrives_with_the_results) {
  Client one = client();
  Executable program = Executable::compile(one, bytes_of(kCopy)).value();
  Memory memory;
  Buffer argument = place(one, memory).value();
  fake().fail_work(1);
  std::vector<Buffer> results = execute(program, argument).value();
  std::array<std::byte, 16> out{};
  Status failed = results[0].to_host(out);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(error_code(failed.error()), 13);
}

TEST_F(FakePlugin, threads_may_share_a_client_and_a_program) {
  Client one = client();
  Executable program = Executable::compile(one, bytes_of(kIncrementState)).value();
  auto work = [&one, &program] {
    Memory memory;
    for (int i = 0; i < 50; ++i) {
      Buffer state = place(one, memory).value();
      for (int step = 0; step < 3; ++step) state = std::move(execute(program, state).value()[0]);
      EXPECT_EQ(read(state)[3], std::byte{3});
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
}

TEST_F(FakePlugin, an_unknown_client_option_is_the_plugins_error) {
  Plugin plugin = Plugin::load(fake::plugin_file()).value();
  EXPECT_TRUE(Client::create(plugin, {.values = {{"known", int64_t{2}}}}).ok());
  EXPECT_EQ(error_code(Client::create(plugin, {.values = {{"other", std::string("x")}}}).error()), 3);
}

TEST_F(FakePlugin, a_dtype_that_pjrt_lacks_is_refused) {
  Client one = client();
  std::array<int64_t, 1> sizes = {0};
  auto refused = Buffer::from_host(one, one.devices()[0], {.dtype = DType::Complex32, .sizes = sizes, .bytes = {}},
                                   HostMemory::Copied);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, Kind::DeviceDType);
}

TEST(Plugin, a_library_that_is_no_plugin_is_refused) {
  auto refused = Plugin::load("libm.so.6");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, Kind::PluginLoad);
  EXPECT_NE(refused.error().message().find("GetPjrtApi"), std::string::npos);
  EXPECT_EQ(Plugin::load("/nowhere/plugin.so").error().kind, Kind::PluginLoad);
}

}  // namespace
}  // namespace torchlift::pjrt
