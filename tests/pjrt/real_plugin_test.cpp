// What we rely on in XLA's CPU plugin: programs as text, numbers, memory in place, donation, errors passed on whole.
#include "real_plugin.hpp"

#include <array>
#include <cstring>

#include "base/kinds.hpp"
#include "pjrt/executable.hpp"

namespace torchlift::pjrt {
namespace {

using RealPlugin = RealPluginTest;

constexpr std::string_view kDotAndAdd = R"(
func.func @main(%x: tensor<2x3xf32>, %w: tensor<3x2xf32>, %b: tensor<2xf32>) -> tensor<2x2xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<2xf32>) -> tensor<2x2xf32>
  %2 = stablehlo.add %0, %1 : tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}
)";

constexpr std::string_view kCounter = R"(
func.func @main(%state: tensor<16xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<16xf32>) -> tensor<16xf32> {
  %0 = stablehlo.add %state, %x : tensor<16xf32>
  return %0 : tensor<16xf32>
}
)";

struct alignas(64) Floats16 {
  std::array<float, 16> values{};
};

template <size_t count>
ByteView bytes_of_floats(const std::array<float, count>& values) {
  return std::as_bytes(std::span(values));
}

template <size_t count>
Buffer place(const std::array<float, count>& values, std::vector<int64_t> sizes,
             HostMemory memory = HostMemory::Copied) {
  const Client& client = real_client();
  HostView view{.dtype = DType::Float32, .sizes = sizes, .bytes = bytes_of_floats(values)};
  return Buffer::from_host(client, client.devices()[0], view, memory).value();
}

template <size_t count>
std::array<float, count> read(const Buffer& buffer) {
  std::array<float, count> out{};
  Status done = buffer.to_host(std::as_writable_bytes(std::span(out)));
  EXPECT_TRUE(done.ok());
  return out;
}

TEST_F(RealPlugin, dot_and_add_give_the_right_numbers) {
  Executable program = Executable::compile(real_client(), bytes_of(kDotAndAdd)).value();
  ASSERT_EQ(program.output_count(), 1u);
  Buffer x = place<6>({1, 2, 3, 4, 5, 6}, {2, 3});
  Buffer w = place<6>({1, 0, 0, 1, 1, 1}, {3, 2});
  Buffer b = place<2>({10, 20}, {2});
  std::array<const Buffer*, 3> arguments = {&x, &w, &b};
  std::vector<Buffer> results = program.execute(arguments).value();
  EXPECT_EQ(results[0].sizes().value(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(results[0].dtype().value(), DType::Float32);
  EXPECT_EQ(results[0].to_host_size().value(), 16u);
  EXPECT_EQ(read<4>(results[0]), (std::array<float, 4>{14, 25, 20, 31}));
}

TEST_F(RealPlugin, output_types_are_known_before_the_first_call) {
  Executable program = Executable::compile(real_client(), bytes_of(kDotAndAdd)).value();
  std::vector<OutputType> types = program.output_types().value();
  ASSERT_EQ(types.size(), 1u);
  EXPECT_EQ(types[0].dtype, DType::Float32);
  EXPECT_EQ(types[0].sizes, (std::vector<int64_t>{2, 2}));
}

TEST_F(RealPlugin, borrowed_memory_is_used_in_place_where_it_is_aligned) {
  Floats16 aligned;
  Buffer in_place = place(aligned.values, {16}, HostMemory::Borrowed);
  EXPECT_EQ(in_place.unsafe_pointer().value(), reinterpret_cast<uintptr_t>(aligned.values.data()));
  struct alignas(64) {
    float shift = 0;
    std::array<float, 16> values{};
  } shifted;
  Buffer copied = place(shifted.values, {16}, HostMemory::Borrowed);
  EXPECT_NE(copied.unsafe_pointer().value(), reinterpret_cast<uintptr_t>(shifted.values.data()));
  Buffer asked_to_copy = place(aligned.values, {16}, HostMemory::Copied);
  EXPECT_NE(asked_to_copy.unsafe_pointer().value(), reinterpret_cast<uintptr_t>(aligned.values.data()));
}

TEST_F(RealPlugin, a_donated_argument_becomes_the_output) {
  Executable program = Executable::compile(real_client(), bytes_of(kCounter)).value();
  Floats16 ones;
  ones.values.fill(1);
  Buffer state = place(ones.values, {16});
  Buffer x = place(ones.values, {16});
  uintptr_t before = state.unsafe_pointer().value();
  std::array<const Buffer*, 2> arguments = {&state, &x};
  std::vector<Buffer> results = program.execute(arguments).value();
  EXPECT_EQ(results[0].unsafe_pointer().value(), before);
  EXPECT_TRUE(state.is_deleted().value());
  EXPECT_FALSE(x.is_deleted().value());
  EXPECT_EQ(read<16>(results[0])[15], 2);
  std::array<float, 16> out{};
  Status late = state.to_host(std::as_writable_bytes(std::span(out)));
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(error_code(late.error()), 3);
}

TEST_F(RealPlugin, a_kept_argument_survives_donation) {
  Executable program = Executable::compile(real_client(), bytes_of(kCounter)).value();
  Floats16 ones;
  ones.values.fill(1);
  Buffer state = place(ones.values, {16}, HostMemory::Borrowed);
  std::array<const Buffer*, 2> arguments = {&state, &state};
  std::array<int64_t, 2> kept = {0, 1};
  std::vector<Buffer> results = program.execute(arguments, kept).value();
  EXPECT_EQ(read<16>(results[0])[0], 2);
  EXPECT_FALSE(state.is_deleted().value());
  EXPECT_EQ(ones.values[0], 1);
}

TEST_F(RealPlugin, errors_of_the_compiler_are_passed_on_whole) {
  auto failed = Executable::compile(real_client(),
                                    bytes_of("func.func @main() -> tensor<2xf32> { return %nothing : tensor<2xf32> }"));
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().kind, Kind::PluginError);
  EXPECT_NE(error_code(failed.error()), 0);
  EXPECT_NE(failed.error().message().find("PJRT_Client_Compile"), std::string::npos);
  EXPECT_NE(failed.error().message().find("-:1:45: error:"), std::string::npos) << failed.error().message();
  EXPECT_EQ(failed.error().place.file, real_client().api().file());
}

TEST_F(RealPlugin, a_wrong_flag_is_named_and_a_right_one_is_taken) {
  CompileOptions wrong;
  wrong.flags = {{"xla_no_such_flag", true}};
  auto failed = Executable::compile(real_client(), bytes_of(kDotAndAdd), wrong);
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().message().find("xla_no_such_flag"), std::string::npos);
  CompileOptions right;
  right.flags = {{"xla_backend_optimization_level", int64_t{0}}, {"xla_llvm_disable_expensive_passes", true}};
  EXPECT_TRUE(Executable::compile(real_client(), bytes_of(kDotAndAdd), right).ok());
}

TEST_F(RealPlugin, empty_and_scalar_tensors_go_there_and_back) {
  const Client& client = real_client();
  std::vector<int64_t> empty = {0, 3};
  HostView nothing{.dtype = DType::Float64, .sizes = empty, .bytes = {}};
  Buffer none = Buffer::from_host(client, client.devices()[0], nothing, HostMemory::Borrowed).value();
  EXPECT_TRUE(none.to_host({}).ok());
  EXPECT_EQ(none.sizes().value(), empty);
  Buffer scalar = place<1>({7}, {});
  EXPECT_EQ(read<1>(scalar)[0], 7);
}

TEST_F(RealPlugin, says_which_stablehlo_it_reads) {
  Plugin plugin = Plugin::load(find_plugin("cpu").value()).value();
  std::vector<Attribute> attributes = plugin.attributes().value();
  std::string version;
  for (const Attribute& attribute : attributes)
    if (attribute.name == "stablehlo_current_version") version = attribute.text();
  EXPECT_EQ(version.substr(0, 2), "1.");
  EXPECT_EQ(real_client().platform(), "cpu");
}

}  // namespace
}  // namespace torchlift::pjrt
