#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include "archive/safetensors.hpp"
#include "archive/zip_builder.hpp"
#include "base/kinds.hpp"
#include "base/output_file.hpp"
#include "bundle/fixture.hpp"
#include "bundle/read.hpp"
#include "bundle/signature.hpp"
#include "support/temporary_directory.hpp"

namespace torchlift::bundle {
namespace {

using test::TemporaryDirectory;

struct BundleTest : testing::Test {
  TemporaryDirectory directory;
  MemoryRecord w{counting_bytes(48)};
  MemoryRecord n{counting_bytes(8)};
  std::string out = directory.file("out");
};

TEST_F(BundleTest, what_is_written_is_read_back_and_bound) {
  auto written = write(out, small_bundle(w, n));
  ASSERT_TRUE(written) << to_text(written.error());
  EXPECT_EQ(directory.entries(),
            (std::vector<std::string>{"out", "out/manifest.json", "out/model.mlir", "out/weights.safetensors"}));
  auto manifest = open(out);
  ASSERT_TRUE(manifest) << to_text(manifest.error());
  EXPECT_TRUE(*manifest == written->manifest);
  EXPECT_TRUE(read_program(out, manifest->programs[0]));
  auto weights = open_weights(out, *manifest);
  ASSERT_TRUE(weights) << to_text(weights.error());
  auto bound = bind(*manifest, *weights);
  ASSERT_TRUE(bound);
  EXPECT_EQ(torchlift::text_of(bound->arguments[0]), counting_bytes(48));
  EXPECT_EQ(torchlift::text_of(bound->arguments[1]), counting_bytes(8));
  auto file = archive::SafetensorsFile::open(out + "/weights.safetensors");
  ASSERT_TRUE(file);
  EXPECT_EQ(*file->find_metadata("argument_order"), R"(["layer.weight", "count"])");
  EXPECT_EQ(*file->find_metadata("aliases"), R"({"tied.weight": "layer.weight"})");
}

TEST_F(BundleTest, written_twice_is_the_same_bytes) {
  ASSERT_TRUE(write(out, small_bundle(w, n)));
  ASSERT_TRUE(write(directory.file("deep/er/again"), small_bundle(w, n)));
  for (const char* name : {"manifest.json", "model.mlir", "weights.safetensors"})
    EXPECT_EQ(test::read_text(out + "/" + name), test::read_text(directory.file("deep/er/again/") + name)) << name;
}

TEST_F(BundleTest, a_bundle_is_replaced_whole) {
  auto first = small_bundle(w, n);
  auto second_program = first.manifest.programs[0];
  second_program.file = "model.b2.mlir";
  first.manifest.programs.push_back(second_program);
  first.programs.push_back(first.programs[0]);
  ASSERT_TRUE(write(out, std::move(first)));
  auto second = small_bundle(w, n);
  second.weights_as = WeightsAs::None;
  ASSERT_TRUE(write(out, std::move(second)));
  EXPECT_EQ(directory.entries(), (std::vector<std::string>{"out", "out/manifest.json", "out/model.mlir"}));
  auto manifest = open(out);
  ASSERT_TRUE(manifest);
  auto weights = open_weights(out, *manifest);
  ASSERT_FALSE(weights);
  EXPECT_EQ(weights.error().kind, Kind::WeightsNotInBundle);
}

TEST_F(BundleTest, a_directory_with_anything_else_is_left_alone) {
  std::filesystem::create_directory(out);
  ASSERT_TRUE(write(out, small_bundle(w, n))) << "an empty directory will do";
  test::write_text(out + "/notes.txt", "mine");
  auto again = write(out, small_bundle(w, n));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, Kind::OutputOccupied);
  EXPECT_EQ(test::read_text(out + "/notes.txt"), "mine");
  std::filesystem::create_directory(directory.file("models"));
  test::write_text(directory.file("models/model.mlir"), "mine");
  EXPECT_FALSE(write(directory.file("models"), small_bundle(w, n))) << "without a manifest it is no bundle";
  EXPECT_FALSE(write(out + "/notes.txt", small_bundle(w, n)));
}

TEST_F(BundleTest, a_link_to_a_bundle_stays_a_link) {
  ASSERT_TRUE(write(out, small_bundle(w, n)));
  std::filesystem::create_directory_symlink(out, directory.file("link"));
  ASSERT_TRUE(write(directory.file("link/"), small_bundle(w, n)));
  EXPECT_TRUE(std::filesystem::is_symlink(directory.file("link")));
}

TEST_F(BundleTest, a_program_that_the_manifest_does_not_describe_is_not_written) {
  auto bundle = small_bundle(w, n);
  bundle.manifest.programs[0].arguments[0].type.shape = {2, 5};
  auto written = write(out, std::move(bundle));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, Kind::ProgramSignature);
  EXPECT_NE(written.error().message().find("argument 0 (x)"), std::string::npos) << written.error().message();
  EXPECT_TRUE(directory.entries().empty());
}

TEST_F(BundleTest, a_failing_write_leaves_nothing) {
  MemoryRecord large(std::string(1 << 20, 'x'));
  auto bundle = small_bundle(w, n);
  for (auto& argument : bundle.manifest.programs[0].arguments)
    if (argument.name == "layer.weight") argument.type.shape = {262144};
  bundle.weights[0] = {{"layer.weight", "tied.weight"}, DType::Float32, {262144}, {1}, 0, large.record};
  auto at = bundle.programs[0].find("3x4xf32");
  bundle.programs[0].replace(at, 7, "262144xf32");

  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = 512 * 1024;
  ::setrlimit(RLIMIT_FSIZE, &small);
  auto written = write(directory.file("a/b/out"), bundle);
  ::setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, Kind::CannotWrite);
  EXPECT_TRUE(directory.entries().empty());
  EXPECT_TRUE(write(directory.file("a/b/out"), bundle));
}

TEST_F(BundleTest, a_wrong_checksum_is_a_warning_and_strictly_an_error) {
  w.record.crc ^= 1;
  auto written = write(out, small_bundle(w, n));
  ASSERT_TRUE(written);
  ASSERT_EQ(written->warnings.size(), 1u);
  EXPECT_EQ(written->warnings[0].kind, Kind::WeightCrc);
  auto strict = small_bundle(w, n);
  strict.strict = archive::Strict::Yes;
  auto refused = write(directory.file("strict"), std::move(strict));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Kind::MemberCrc);
  EXPECT_FALSE(std::filesystem::exists(directory.file("strict")));
}

TEST_F(BundleTest, changed_programs_and_weights_are_noticed) {
  ASSERT_TRUE(write(out, small_bundle(w, n)));
  auto manifest = open(out);
  ASSERT_TRUE(manifest);
  test::write_text(out + "/model.mlir", test::read_text(out + "/model.mlir") + " ");
  auto program = read_program(out, manifest->programs[0]);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().kind, Kind::BundleDigest);
  test::write_text(out + "/weights.safetensors", archive::safetensors_header({}, {}));
  auto weights = open_weights(out, *manifest);
  ASSERT_FALSE(weights);
  EXPECT_EQ(weights.error().kind, Kind::WeightsSize);
  std::filesystem::remove(out + "/manifest.json");
  EXPECT_EQ(open(out).error().kind, Kind::NotABundle);
}

TEST_F(BundleTest, binding_reports_all_problems_at_once) {
  std::string bytes = counting_bytes(48);
  auto path = directory.file("other.safetensors");
  ASSERT_TRUE(archive::write_safetensors(path, {{{"tied.weight", DType::Float32, {4, 3}}, bytes_of(bytes)}}, {}));
  auto weights = StateDict::open(path);
  ASSERT_TRUE(weights);
  auto bound = bind(small_bundle(w, n).manifest, *weights);
  ASSERT_FALSE(bound);
  ASSERT_EQ(bound.errors().size(), 2u);
  EXPECT_EQ(bound.errors()[0].kind, Kind::WeightType);
  EXPECT_EQ(bound.errors()[1].kind, Kind::WeightMissing);
}

// ---- weights

struct WeightsTest : testing::Test {
  TemporaryDirectory directory;
  std::string path = directory.file("weights.safetensors");
  std::string written(const std::vector<WeightSource>& weights, const std::string& name) {
    auto result = write_weights(path, weights, archive::Strict::Yes);
    EXPECT_TRUE(result) << to_text(result.error());
    auto file = archive::SafetensorsFile::open(path);
    EXPECT_TRUE(file) << to_text(file.error());
    auto* tensor = file->find(name);
    return tensor ? std::string(torchlift::text_of(tensor->bytes)) : "missing";
  }
};

TEST_F(WeightsTest, strided_tensors_are_made_dense) {
  MemoryRecord record(counting_bytes(24));
  auto source = [&](std::vector<int64_t> sizes, std::vector<int64_t> strides, int64_t offset) {
    return std::vector<WeightSource>{
        {{"t"}, DType::UInt8, std::move(sizes), std::move(strides), offset, record.record}};
  };
  EXPECT_EQ(written(source({2, 3}, {1, 2}, 0), "t"), std::string("\0\2\4\1\3\5", 6)) << "transposed";
  EXPECT_EQ(written(source({3}, {4}, 1), "t"), "\1\5\x09") << "a column";
  EXPECT_EQ(written(source({4}, {0}, 2), "t"), "\2\2\2\2") << "expanded";
  EXPECT_EQ(written(source({2, 1, 3}, {3, 77, 1}, 6), "t"), "\6\7\x08\x09\x0a\x0b")
      << "a stride of a dimension of size 1 says nothing";
  EXPECT_EQ(written(source({2, 2, 2}, {2, 8, 1}, 0), "t"), std::string("\0\1\x8\x9\2\3\xa\xb", 8));
  EXPECT_EQ(written(source({0, 3}, {3, 1}, 24), "t"), "");
}

TEST_F(WeightsTest, strided_tensors_larger_than_a_chunk_are_made_dense) {
  constexpr int64_t kRows = 1500, kColumns = 1001;
  std::string bytes;
  for (int64_t i = 0; i < kRows * kColumns; ++i) bytes += static_cast<char>((i * 7 + i / 251) & 0xFF);
  MemoryRecord record(bytes);
  std::string expected;
  for (int64_t row = 0; row < kRows; ++row)
    for (int64_t column = 0; column < kColumns; ++column) expected += bytes[static_cast<size_t>(column * kRows + row)];
  EXPECT_EQ(written({{{"t"}, DType::UInt8, {kRows, kColumns}, {1, kRows}, 0, record.record}}, "t"), expected);
}

TEST_F(WeightsTest, tensors_of_whole_64s_come_first_and_are_aligned) {
  MemoryRecord record(counting_bytes(512));
  auto source = [&](std::string name, int64_t bytes) {
    return WeightSource{{std::move(name)}, DType::UInt8, {bytes}, {1}, 0, record.record};
  };
  std::vector<WeightSource> weights = {source("a", 3), source("b", 128), source("c", 64), source("d", 1)};
  ASSERT_TRUE(write_weights(path, weights, archive::Strict::Yes));
  auto file = archive::SafetensorsFile::open(path);
  ASSERT_TRUE(file);
  std::string order;
  for (auto& tensor : file->tensors()) order += tensor.name;
  EXPECT_EQ(order, "bcad");
  EXPECT_EQ(file->tensors()[0].offset % 64, 0u);
  EXPECT_EQ(file->tensors()[1].offset % 64, 0u);
  EXPECT_EQ(*file->find_metadata("argument_order"), R"(["a", "b", "c", "d"])");
}

TEST_F(WeightsTest, complex128_is_pairs_and_named_so) {
  MemoryRecord record(counting_bytes(32));
  EXPECT_EQ(written({{{"z"}, DType::Complex128, {2}, {1}, 0, record.record}}, "z"), counting_bytes(32));
  auto file = archive::SafetensorsFile::open(path);
  EXPECT_EQ(file->find("z")->shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(*file->find_metadata("complex"), R"({"z": "complex128"})");
}

TEST_F(WeightsTest, a_record_in_a_file_is_copied_and_checked) {
  std::string bytes = "head" + counting_bytes(3'000'000);
  test::write_text(directory.file("archive"), bytes);
  auto file = File::open(directory.file("archive"));
  ASSERT_TRUE(file);
  archive::Source source(std::move(*file));
  archive::Record record;
  record.source = &source;
  record.offset = 4;
  record.size = record.stored_size = 3'000'000;
  record.crc = archive::crc32(0, bytes_of(bytes).subspan(4));
  EXPECT_EQ(written({{{"whole"}, DType::UInt8, {3'000'000}, {1}, 0, record}}, "whole"), bytes.substr(4));
  EXPECT_EQ(written({{{"part"}, DType::UInt8, {2'000'000}, {1}, 5, record}}, "part"), bytes.substr(9, 2'000'000));
  record.crc ^= 1;
  WeightSource part{{"part"}, DType::UInt8, {2}, {1}, 5, record};
  EXPECT_FALSE(write_weights(path, std::vector{part}, archive::Strict::Yes))
      << "the whole record is checked for a part of it";
}

TEST_F(WeightsTest, a_tensor_outside_its_record_is_refused) {
  MemoryRecord record(counting_bytes(8));
  auto refused = [&](std::vector<int64_t> sizes, std::vector<int64_t> strides, int64_t offset) {
    std::vector<WeightSource> weights = {
        {{"t"}, DType::UInt8, std::move(sizes), std::move(strides), offset, record.record}};
    return !write_weights(path, weights, archive::Strict::No).ok();
  };
  EXPECT_TRUE(refused({9}, {1}, 0));
  EXPECT_TRUE(refused({8}, {1}, 1));
  EXPECT_TRUE(refused({2}, {INT64_MAX}, 0));
  EXPECT_TRUE(refused({INT64_MAX, INT64_MAX}, {0, 0}, 0));
  EXPECT_TRUE(refused({1}, {1}, -1));
  EXPECT_TRUE(refused({1}, {}, 0));
  EXPECT_TRUE(directory.entries().empty());
}

TEST_F(WeightsTest, expanded_tensors_do_not_fill_the_disk) {
  MemoryRecord record(counting_bytes(8));
  std::vector<WeightSource> weights = {{{"t"}, DType::UInt8, {int64_t{1} << 40}, {0}, 0, record.record}};
  auto result = write_weights(path, weights, archive::Strict::No);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, Kind::WeightsRepeated);
  EXPECT_TRUE(directory.entries().empty());
}

// ---- signatures

TEST_F(WeightsTest, a_deflated_record_is_inflated_only_where_its_tensors_reach) {
  const std::string content((size_t{66} << 20), '\1');
  MemoryRecord memory(archive::deflate_without_compression(content));
  memory.record.method = archive::Method::Deflated;
  memory.record.size = content.size();
  memory.record.crc = archive::crc32(0, bytes_of(content));
  auto last = static_cast<int64_t>(content.size()) - 4;
  std::vector<WeightSource> weights = {{{"first"}, DType::UInt8, {4}, {1}, 0, memory.record},
                                       {{"last"}, DType::UInt8, {4}, {1}, last, memory.record}};
  EXPECT_TRUE(write_weights(path, weights, archive::Strict::Yes));
  weights.pop_back();
  auto result = write_weights(path, weights, archive::Strict::Yes);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, Kind::WeightInflated);
}

TEST(Signature, types_are_read_past_attributes_and_locations) {
  auto signature = read_signature(
      "module @main attributes {a = \"x\"} {\n  func.func private @helper(%a: tensor<f32>) -> tensor<f32>\n"
      "  func.func public @main(%arg0: tensor<8x3xcomplex<f32>> {mhlo.sharding = \"{devices=[2,1]}\"} loc(\"p(\"), "
      "%arg1: tensor<ui8>)"
      " -> tensor<0x2xi1> {\n",
      "model.mlir");
  ASSERT_TRUE(signature) << to_text(signature.error());
  EXPECT_EQ(signature->arguments, (std::vector<TensorType>{{DType::Complex64, {8, 3}}, {DType::UInt8, {}}}));
  EXPECT_EQ(signature->results, (std::vector<TensorType>{{DType::Bool, {0, 2}}}));
}

TEST(Signature, text_without_a_readable_entry_is_refused) {
  EXPECT_FALSE(read_signature("", "x"));
  EXPECT_FALSE(read_signature("func.func @main(%arg0: tensor<8x3xf99>)", "x"));
  EXPECT_FALSE(read_signature("func.func @main(%arg0: tensor<8x3xf32> {", "x"));
  EXPECT_FALSE(read_signature("func.func @main(%arg0: tensor<8x3xf32", "x"));
  EXPECT_FALSE(read_signature("func.func @main(%arg0", "x"));
  EXPECT_FALSE(read_signature("func.func @main() -> f32", "x"));
}

}  // namespace
}  // namespace torchlift::bundle
