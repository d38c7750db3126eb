// Checkpoints that go into a bundle.
#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "archive/pickle_writer.hpp"
#include "archive/safetensors.hpp"
#include "archive/zip_builder.hpp"
#include "base/kinds.hpp"
#include "bundle/fixture.hpp"
#include "bundle/narrow.hpp"
#include "bundle/read.hpp"
#include "support/temporary_directory.hpp"

namespace torchlift::bundle {
namespace {

using test::TemporaryDirectory;
namespace pickled = archive::pickled;

struct BindTest : testing::Test {
  TemporaryDirectory directory;
  MemoryRecord w{counting_bytes(48)};
  MemoryRecord n{counting_bytes(8)};
  std::string out = directory.file("out");
  std::string other = std::string(48, '\5'), eight = std::string(8, '\7');

  void SetUp() override { ASSERT_TRUE(write(out, small_bundle(w, n))); }

  std::string safetensors(const std::vector<archive::SafetensorsData>& tensors,
                          const std::string& name = "state.safetensors") {
    EXPECT_TRUE(archive::write_safetensors(directory.file(name), tensors, {}));
    return directory.file(name);
  }
  archive::SafetensorsData weight(std::string name, std::vector<int64_t> shape = {3, 4}) {
    return {{std::move(name), DType::Float32, std::move(shape)}, bytes_of(other)};
  }
  archive::SafetensorsData count() { return {{"count", DType::Int64, {}}, bytes_of(eight)}; }

  Result<Rebound> rebind_with(const std::string& path, BindOptions options = {},
                              const std::vector<PrefixRule>& rules = {}, const std::string& key = "") {
    TRY(auto state, StateDict::open(path, key));
    TRY_OK(state.rename(rules));
    return rebind(out, out, state, options);
  }
  std::vector<Kind> kinds(const Result<Rebound>& result) {
    std::vector<Kind> found;
    if (!result)
      for (auto& error : result.errors()) found.push_back(error.kind);
    return found;
  }
  std::string bound(const std::string& name) {
    auto file = archive::SafetensorsFile::open(out + "/weights.safetensors");
    auto* tensor = file ? file->find(name) : nullptr;
    return tensor ? std::string(torchlift::text_of(tensor->bytes)) : "missing";
  }
  // A file of torch.save: what `root` is, with the records that it names.
  std::string torch_save(const std::string& root, const std::vector<std::pair<std::string, std::string>>& records) {
    std::vector<archive::ZipEntry> entries(1);
    entries[0].name = "state/data.pkl";
    entries[0].data = pickled::whole(root);
    for (auto& [key, bytes] : records) {
      archive::ZipEntry entry;
      entry.name = "state/data/" + key;
      entry.data = bytes;
      entries.push_back(std::move(entry));
    }
    archive::ZipEntry version;
    version.name = "state/version";
    version.data = "3\n";
    entries.push_back(std::move(version));
    test::write_text(directory.file("state.pt"), archive::build_zip(entries));
    return directory.file("state.pt");
  }
  // layer.weight is the transpose of a [4,3] tensor.
  std::string state_pickle() {
    using namespace pickled;
    return dict(text("module.layer.weight") +
                tensor(storage("FloatStorage", "0", 12), 0, integer(3) + integer(4), integer(1) + integer(3)) +
                text("module.count") + tensor(storage("LongStorage", "1", 1), 0, "", ""));
  }
};

TEST_F(BindTest, a_checkpoint_takes_the_place_of_the_weights) {
  auto before = open(out);
  auto rebound = rebind_with(safetensors({weight("tied.weight"), count(), weight("unused")}));
  ASSERT_TRUE(rebound) << to_text(rebound.error());
  EXPECT_EQ(bound("layer.weight"), other) << "an alias will do";
  EXPECT_EQ(bound("count"), eight);
  EXPECT_EQ(rebound->unused, std::vector<std::string>{"unused"});
  auto manifest = open(out);
  ASSERT_TRUE(manifest) << to_text(manifest.error());
  EXPECT_NE(manifest->weights->digest, before->weights->digest);
  EXPECT_EQ(manifest->weights->tensors[0].digest, digest_of(bytes_of(other)));
  EXPECT_EQ(manifest->weights->bound->file, "state.safetensors");
  EXPECT_TRUE(manifest->programs == before->programs);
  EXPECT_TRUE(read_program(out, manifest->programs[0]));
}

TEST_F(BindTest, a_new_bundle_leaves_the_old_one_as_it_was) {
  auto state = StateDict::open(safetensors({weight("layer.weight"), count()}));
  ASSERT_TRUE(state);
  std::string old = test::read_text(out + "/weights.safetensors");
  ASSERT_TRUE(rebind(out, directory.file("new"), *state, {}));
  EXPECT_EQ(test::read_text(out + "/weights.safetensors"), old);
  EXPECT_NE(test::read_text(directory.file("new/weights.safetensors")), old);
}

TEST_F(BindTest, all_mismatches_are_said_at_once_and_nothing_is_written) {
  auto entries = directory.entries();
  std::string old = test::read_text(out + "/manifest.json");
  auto rebound = rebind_with(safetensors({weight("layer.weight", {4, 3})}));
  EXPECT_EQ(kinds(rebound), (std::vector{Kind::WeightType, Kind::WeightMissing}));
  rebound = rebind_with(safetensors({weight("layer.weight"), count(), weight("unused")}), {.strict = true});
  EXPECT_EQ(kinds(rebound), std::vector{Kind::WeightUnknown});
  EXPECT_EQ(test::read_text(out + "/manifest.json"), old);
  EXPECT_EQ(directory.entries().size(), entries.size() + 1) << "the state dict";
}

TEST_F(BindTest, what_is_missing_keeps_its_value_where_that_is_allowed) {
  auto rebound = rebind_with(safetensors({weight("layer.weight")}), {.strict = false, .allow_missing = true});
  ASSERT_TRUE(rebound) << to_text(rebound.error());
  EXPECT_EQ(rebound->kept, std::vector<std::string>{"count"});
  EXPECT_EQ(bound("layer.weight"), other);
  EXPECT_EQ(bound("count"), counting_bytes(8));
}

TEST_F(BindTest, constants_of_the_model_are_in_no_state_dict) {
  auto bundle = small_bundle(w, n);
  bundle.manifest.programs[0].arguments[1].in_state_dict = false;
  ASSERT_TRUE(write(out, std::move(bundle)));
  ASSERT_TRUE(rebind_with(safetensors({count()})));
  EXPECT_EQ(bound("layer.weight"), counting_bytes(48));
  EXPECT_EQ(bound("count"), eight);
}

TEST_F(BindTest, tied_names_are_equal_or_refused) {
  EXPECT_TRUE(rebind_with(safetensors({weight("layer.weight"), weight("tied.weight"), count()})));
  std::string changed = other;
  changed[5] = '\6';
  auto rebound = rebind_with(
      safetensors({weight("layer.weight"), {{"tied.weight", DType::Float32, {3, 4}}, bytes_of(changed)}, count()}));
  EXPECT_EQ(kinds(rebound), std::vector{Kind::TiedWeightsDiffer});
}

TEST_F(BindTest, a_state_dict_of_torch_save_is_read_without_running_it) {
  auto path = torch_save(state_pickle(), {{"0", counting_bytes(48)}, {"1", eight}});
  EXPECT_EQ(kinds(rebind_with(path)), (std::vector{Kind::WeightMissing, Kind::WeightMissing}));
  auto rebound = rebind_with(path, {}, {{"module.", ""}});
  ASSERT_TRUE(rebound) << to_text(rebound.error());
  std::string transposed;
  for (size_t row = 0; row < 3; ++row)
    for (size_t column = 0; column < 4; ++column) transposed += counting_bytes(48).substr(4 * (row + 3 * column), 4);
  EXPECT_EQ(bound("layer.weight"), transposed);
  EXPECT_EQ(bound("count"), eight);
}

TEST_F(BindTest, a_dict_within_a_file_is_named_by_its_key) {
  using namespace pickled;
  auto path = torch_save(dict(text("epoch") + integer(3) + text("state_dict") + state_pickle()),
                         {{"0", counting_bytes(48)}, {"1", eight}});
  std::vector<PrefixRule> rules = {{"module.", ""}};
  EXPECT_TRUE(rebind_with(path, {}, rules, "state_dict"));
  auto whole = StateDict::open(path);
  ASSERT_FALSE(whole);
  EXPECT_EQ(whole.error().kind, Kind::StateDictKey);
  EXPECT_NE(whole.error().message().find("\"state_dict\""), std::string::npos) << whole.error().message();
  EXPECT_FALSE(StateDict::open(path, "model"));
  EXPECT_FALSE(StateDict::open(path, "epoch"));
  EXPECT_FALSE(StateDict::open(path, "state_dict.module"));
  EXPECT_FALSE(StateDict::open(safetensors({count()}), "state_dict"));
}

TEST_F(BindTest, prefixes_fit_and_keep_names_apart) {
  auto path = safetensors({weight("a.x"), weight("x")});
  auto state = StateDict::open(path);
  ASSERT_TRUE(state);
  std::vector<PrefixRule> none = {{"b.", ""}}, clash = {{"a.", ""}};
  EXPECT_EQ(state->rename(none).error().kind, Kind::PrefixOption);
  EXPECT_FALSE(state->rename(clash));
}

TEST_F(BindTest, files_that_hold_no_state_dict_are_told_apart) {
  auto kind_of = [&](const std::string& bytes) {
    test::write_text(directory.file("x.pt"), bytes);
    auto state = StateDict::open(directory.file("x.pt"));
    return state ? Kind::Internal : state.error().kind;
  };
  archive::ZipEntry entry;
  entry.name = "a/b";
  EXPECT_EQ(kind_of(archive::build_zip({entry})), Kind::NotAStateDict);
  EXPECT_EQ(kind_of("\x80\x02}."), Kind::NotAStateDict);
  EXPECT_EQ(kind_of(""), Kind::EmptyFile);
  EXPECT_EQ(kind_of("text"), Kind::SafetensorsHeader);
}

TEST_F(BindTest, shards_are_found_by_their_index) {
  safetensors({weight("layer.weight")}, "a.safetensors");
  safetensors({count()}, "b.safetensors");
  auto index = [&](const std::string& map) {
    test::write_text(directory.file("x.safetensors.index.json"), "{\"weight_map\": {" + map + "}}");
    auto state = StateDict::open(directory.file("x.safetensors.index.json"));
    return state ? Result<Unit>(Unit{}) : Result<Unit>(state.errors());
  };
  EXPECT_TRUE(index(R"("layer.weight": "a.safetensors", "count": "b.safetensors")"));
  for (const char* wrong :
       {R"("layer.weight": "a.safetensors", "count": "a.safetensors")",
        R"("layer.weight": "a.safetensors", "more": "a.safetensors")", R"("layer.weight": "../a.safetensors")",
        R"("layer.weight": 5)", R"("more": "b.safetensors")"}) {
    auto result = index(wrong);
    ASSERT_FALSE(result) << wrong;
    EXPECT_EQ(result.error().kind, Kind::ShardIndex) << wrong;
  }
  EXPECT_TRUE(index(R"("layer.weight": "a.safetensors", "count": "b.safetensors")"));
  EXPECT_TRUE(rebind_with(directory.file("x.safetensors.index.json")));
  EXPECT_EQ(bound("count"), eight);
}

TEST_F(BindTest, constants_of_the_program_cannot_get_another_value) {
  auto bundle = small_bundle(w, n);
  std::string four(4, '\1');
  InlinedWeight bias;
  bias.name = "bias";
  bias.type = {DType::Float32, {1}};
  bias.digest = digest_of(bytes_of(four));
  bundle.manifest.inlined.push_back(bias);
  ASSERT_TRUE(write(out, std::move(bundle)));
  auto with = [&](const std::string& bytes) {
    return safetensors({weight("layer.weight"), count(), {{"bias", DType::Float32, {1}}, bytes_of(bytes)}});
  };
  EXPECT_TRUE(rebind_with(with(four)));
  EXPECT_EQ(kinds(rebind_with(with(std::string(4, '\2')))), std::vector{Kind::WeightInlined});
}

TEST_F(BindTest, weights_that_are_stored_narrower_are_converted) {
  auto bundle = small_bundle(w, n);
  auto& argument = bundle.manifest.programs[0].arguments[1];
  argument.type.dtype = DType::BFloat16;
  argument.model_dtype = DType::Float32;
  bundle.weights[0].narrow = DType::BFloat16;
  bundle.programs[0].replace(bundle.programs[0].find("3x4xf32"), 7, "3x4xbf16");
  auto written = write(out, std::move(bundle));
  ASSERT_TRUE(written) << to_text(written.error());
  auto narrow = [](const std::string& bytes) {
    std::string to;
    for (size_t i = 0; i < bytes.size(); i += 4) {
      uint16_t half = bfloat16_of(read_u32(bytes_of(bytes), i));
      to += static_cast<char>(half & 0xFF);
      to += static_cast<char>(half >> 8);
    }
    return to;
  };
  EXPECT_EQ(bound("layer.weight"), narrow(counting_bytes(48)));
  ASSERT_TRUE(rebind_with(safetensors({weight("layer.weight"), count()})));
  EXPECT_EQ(bound("layer.weight"), narrow(other));
  auto own = open_weights(out, *open(out));
  ASSERT_TRUE(own);
  auto arguments = bind(*open(out), *own);
  ASSERT_TRUE(arguments);
  EXPECT_EQ(torchlift::text_of(arguments->arguments[0]), narrow(other)) << "what is narrow already is taken as it is";
}

TEST(Narrow, float16_is_rounded_to_nearest_even) {
  auto of = [](float value) { return float16_of(std::bit_cast<uint32_t>(value)); };
  EXPECT_EQ(of(1.0f), 0x3C00);
  EXPECT_EQ(of(-0.0f), 0x8000);
  EXPECT_EQ(of(65504.0f), 0x7BFF);
  EXPECT_EQ(of(65519.0f), 0x7BFF);
  EXPECT_EQ(of(65520.0f), 0x7C00);
  EXPECT_EQ(of(5.9604645e-8f), 1) << "the least subnormal";
  EXPECT_EQ(of(2.9802322e-8f), 0) << "half of it, to even";
  EXPECT_EQ(of(2.9802326e-8f), 1);
  EXPECT_EQ(of(8.9406967e-8f), 2) << "one and a half of it, to even";
  EXPECT_EQ(of(6.1035156e-5f), 0x0400) << "the least normal";
  EXPECT_EQ(of(6.103e-5f), 0x0400);
  EXPECT_EQ(of(2049.0f), 0x6800);
  EXPECT_EQ(of(2051.0f), 0x6802);
  EXPECT_EQ(of(std::numeric_limits<float>::infinity()), 0x7C00);
  EXPECT_EQ(of(std::numeric_limits<float>::quiet_NaN()), 0x7E00);
  EXPECT_EQ(bfloat16_of(0x3F808000), 0x3F80);
  EXPECT_EQ(bfloat16_of(0x3F818000), 0x3F82);
  EXPECT_EQ(bfloat16_of(0x7F7FFFFF), 0x7F80);
  EXPECT_EQ(bfloat16_of(0x7F800001), 0x7FC0);
}

TEST_F(BindTest, many_bytes_are_split_into_shards_with_an_index) {
  auto bundle = small_bundle(w, n);
  bundle.shard_size = 48;
  ASSERT_TRUE(write(out, std::move(bundle)));
  EXPECT_TRUE(std::filesystem::exists(out + "/weights-00002-of-00002.safetensors"));
  EXPECT_TRUE(std::filesystem::exists(out + "/weights.safetensors.index.json"));
  auto manifest = open(out);
  ASSERT_TRUE(manifest) << to_text(manifest.error());
  EXPECT_EQ(manifest->weights->shards.size(), 2u);
  auto weights = open_weights(out, *manifest);
  ASSERT_TRUE(weights) << to_text(weights.error());
  auto arguments = bind(*manifest, *weights);
  ASSERT_TRUE(arguments);
  EXPECT_EQ(torchlift::text_of(arguments->arguments[0]), counting_bytes(48));
  EXPECT_EQ(torchlift::text_of(arguments->arguments[1]), counting_bytes(8));
  test::write_text(out + "/weights-00001-of-00002.safetensors", "x");
  auto cut = open_weights(out, *manifest);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().kind, Kind::WeightsSize);
}

TEST_F(BindTest, a_reference_is_to_the_model_file_as_it_was) {
  archive::ZipEntry a, b;
  a.name = "model/data/0";
  a.data = counting_bytes(48);
  b.name = "model/data/1";
  b.data = counting_bytes(8);
  std::string path = directory.file("model.pt2");
  test::write_text(path, archive::build_zip({a, b}));
  auto file = archive::Archive::open(path);
  ASSERT_TRUE(file) << to_text(file.error());
  auto with = [&]() {
    auto bundle = small_bundle(w, n);
    bundle.weights[0].record = (*file)->zip().record((*file)->zip().members()[0]);
    bundle.weights[1].record = (*file)->zip().record((*file)->zip().members()[1]);
    bundle.weights_as = WeightsAs::Reference;
    bundle.manifest.source.digest = digest_of((*file)->zip());
    return bundle;
  };
  auto written = write(out, with());
  ASSERT_TRUE(written) << to_text(written.error());
  EXPECT_EQ(written->manifest.weights->file, "../model.pt2");
  EXPECT_FALSE(std::filesystem::exists(out + "/weights.safetensors"));
  auto manifest = open(out);
  ASSERT_TRUE(manifest) << to_text(manifest.error());
  auto weights = open_weights(out, *manifest);
  ASSERT_TRUE(weights) << to_text(weights.error());
  auto arguments = bind(*manifest, *weights);
  ASSERT_TRUE(arguments);
  EXPECT_EQ(torchlift::text_of(arguments->arguments[0]), counting_bytes(48));
  EXPECT_EQ(torchlift::text_of(arguments->arguments[1]), counting_bytes(8));

  auto strided = with();
  strided.weights[0].strides = {1, 3};
  auto refused = write(directory.file("strided"), std::move(strided));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Kind::WeightReference);

  a.data[3] = 'x';
  test::write_text(path, archive::build_zip({a, b}));
  auto changed = open_weights(out, *manifest);
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().kind, Kind::BundleDigest);
}

}  // namespace
}  // namespace torchlift::bundle
