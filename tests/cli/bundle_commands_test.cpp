// What `import` stores, `bind` exchanges and `verify-bundle` looks at.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "archive/safetensors.hpp"
#include "base/kinds.hpp"
#include "bundle/read.hpp"
#include "cli/command.hpp"
#include "support/temporary_directory.hpp"

namespace torchlift::cli {
namespace {

using test::TemporaryDirectory;

std::string fixture(const std::string& name) {
  return std::string(TORCHLIFT_SOURCE_DIR) + "/tests/data/fixtures/" + name;
}

struct BundleCommands : testing::Test {
  TemporaryDirectory directory;
  std::string out = directory.file("out");

  ImportOptions import_of(const std::string& name) {
    ImportOptions options;
    options.file = fixture(name);
    options.directory = out;
    return options;
  }
  ImportOptions sampled() {
    ImportOptions options = import_of("mlp_dynamic.pt2");
    options.lift.dims = {"x.0=5,8"};
    options.samples = {fixture("mlp_dynamic.safetensors")};
    return options;
  }
};

TEST_F(BundleCommands, every_import_passes_the_verification) {
  size_t passed = 0;
  for (auto& entry : std::filesystem::directory_iterator(fixture(""))) {
    if (entry.path().extension() != ".pt2") continue;
    if (!run_import(import_of(entry.path().filename().string()))) continue;  // refused, as other tests say
    auto verified = run_verify_bundle({.directory = out});
    ASSERT_TRUE(verified);
    EXPECT_EQ(verified->code, ExitCode::Ok) << entry.path() << "\n" << to_text(verified->notes.front());
    ++passed;
  }
  EXPECT_GE(passed, 20u);
}

TEST_F(BundleCommands, findings_are_a_refusal) {
  ASSERT_TRUE(run_import(import_of("mlp_dynamic.pt2")));
  test::write_text(out + "/model.b4.mlir", "");
  auto verified = run_verify_bundle({.directory = out});
  ASSERT_TRUE(verified);
  EXPECT_EQ(verified->code, ExitCode::Refused);
  ASSERT_EQ(verified->notes.size(), 1u);
  EXPECT_EQ(verified->notes[0].kind, Kind::BundleMember);
  EXPECT_EQ(verified->json.find("{\"errors\": 1"), 0u) << verified->json;
}

TEST_F(BundleCommands, programs_that_are_artifacts_are_verified) {
  auto options = import_of("mlp_dynamic.pt2");
  options.lift.program = "artifact";
  ASSERT_TRUE(run_import(options));
  auto verified = run_verify_bundle({.directory = out});
  ASSERT_TRUE(verified);
  EXPECT_EQ(verified->code, ExitCode::Ok) << to_text(verified->notes.front());
  const std::string path = out + "/model.mlirbc", whole = test::read_text(path);
  auto reseal = [&](const std::string& bytes) {
    auto manifest = bundle::open(out);
    ASSERT_TRUE(manifest);
    test::write_text(path, bytes);
    manifest->programs[0].digest = bundle::digest_of(bytes_of(bytes));
    test::write_text(out + "/manifest.json", bundle::to_json(*manifest));
  };
  for (const std::string& bytes :
       {whole.substr(0, whole.size() - 1), whole.substr(0, 40), std::string("module {\n}\n")}) {
    reseal(bytes);
    verified = run_verify_bundle({.directory = out});
    ASSERT_TRUE(verified);
    EXPECT_EQ(verified->code, ExitCode::Refused) << bytes.size();
  }
  reseal(whole);
  EXPECT_EQ(run_verify_bundle({.directory = out})->code, ExitCode::Ok);
}

TEST_F(BundleCommands, a_sample_must_fit_and_expect_something) {
  auto options = sampled();
  options.lift.dims = {"x.0=2,8"};
  auto result = run_import(options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, Kind::NoSuchProgram);
  std::string x(160, '\0');
  ASSERT_TRUE(archive::write_safetensors(directory.file("x.safetensors"),
                                         {{{"in.0", DType::Float32, {5, 8}}, bytes_of(x)}}, {}));
  options = sampled();
  options.samples = {directory.file("x.safetensors")};
  result = run_import(options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, Kind::SampleFile);
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(BundleCommands, weights_options_that_contradict_are_refused) {
  auto options = import_of("mlp_dynamic.pt2");
  options.reference = true;
  options.shard_size = 100;
  EXPECT_EQ(run_import(options).error().kind, Kind::WeightsOption);
  options.shard_size = 0;
  options.weights_dtype = "bf16";
  EXPECT_EQ(run_import(options).error().kind, Kind::WeightsOption);
  options = import_of("weights_layout.pt2");
  options.reference = true;
  EXPECT_EQ(run_import(options).error().kind, Kind::WeightReference) << "it has a strided weight";
}

TEST_F(BundleCommands, narrow_weights_are_widened_in_the_program) {
  auto options = import_of("mlp_dynamic.pt2");
  options.weights_dtype = "bf16";
  ASSERT_TRUE(run_import(options));
  auto manifest = bundle::open(out);
  ASSERT_TRUE(manifest) << to_text(manifest.error());
  size_t narrow = 0;
  for (auto& argument : manifest->programs[0].arguments) {
    if (argument.role == bundle::ArgumentRole::Input) continue;
    bool is_narrow = argument.type.dtype == DType::BFloat16;
    EXPECT_EQ(is_narrow, argument.model_dtype == DType::Float32) << argument.name;
    narrow += is_narrow ? 1 : 0;
  }
  EXPECT_GT(narrow, 4u);
  auto text = bundle::read_program(out, manifest->programs[0]);
  ASSERT_TRUE(text) << to_text(text.error());
  size_t converts = 0;
  for (size_t at = text->find("stablehlo.convert"); at != std::string::npos;
       at = text->find("stablehlo.convert", at + 1))
    ++converts;
  EXPECT_EQ(converts, narrow);
  EXPECT_EQ(run_verify_bundle({.directory = out})->code, ExitCode::Ok);
}

TEST_F(BundleCommands, equal_small_weights_are_one_constant) {
  auto options = import_of("mlp_dynamic.pt2");
  options.lift.inline_below = 1 << 20;
  ASSERT_TRUE(run_import(options));
  auto manifest = bundle::open(out);
  ASSERT_TRUE(manifest);
  for (auto& argument : manifest->programs[0].arguments) EXPECT_EQ(argument.role, bundle::ArgumentRole::Input);
  EXPECT_GT(manifest->inlined.size(), 4u);
  auto text = bundle::read_program(out, manifest->programs[0]);
  std::vector<std::string> constants;
  for (size_t at = text->find("stablehlo.constant"); at != std::string::npos;
       at = text->find("stablehlo.constant", at + 1))
    constants.push_back(text->substr(at, text->find('\n', at) - at));
  std::sort(constants.begin(), constants.end());
  EXPECT_EQ(std::adjacent_find(constants.begin(), constants.end()), constants.end());
}

struct RealPluginBundleCommands : BundleCommands {};

TEST_F(RealPluginBundleCommands, samples_are_run_and_compared) {
  ASSERT_TRUE(run_import(sampled()));
  auto verified = run_verify_bundle({.directory = out, .run = true});
  ASSERT_TRUE(verified) << to_text(verified.error());
  EXPECT_EQ(verified->code, ExitCode::Ok);
  EXPECT_EQ(verified->text.find("different"), std::string::npos) << verified->text;

  // Other weights give other results; a sample is not kept then.
  auto weights = archive::SafetensorsFile::open(out + "/weights.safetensors");
  ASSERT_TRUE(weights);
  std::vector<archive::SafetensorsData> tensors;
  for (auto& tensor : weights->tensors()) tensors.push_back({{tensor.name, tensor.dtype, tensor.shape}, tensor.bytes});
  std::string zeros(1 << 16, '\0');
  for (auto& tensor : tensors)
    if (tensor.entry.name == "fc2.weight") tensor.bytes = bytes_of(zeros).first(tensor.bytes.size());
  ASSERT_TRUE(archive::write_safetensors(directory.file("state.safetensors"), tensors, {}));
  auto bound =
      run_bind({.directory = out, .state = directory.file("state.safetensors"), .output = directory.file("b")});
  ASSERT_TRUE(bound) << to_text(bound.error());
  ASSERT_EQ(bound->notes.size(), 1u);
  EXPECT_EQ(bound->notes[0].kind, Kind::BindNote) << to_text(bound->notes[0]);
  EXPECT_EQ(run_verify_bundle({.directory = directory.file("b")})->code, ExitCode::Ok);
  auto none = run_verify_bundle({.directory = directory.file("b"), .run = true});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, Kind::SampleFile);
  VerifyOptions compare;
  compare.run.model = directory.file("b");
  compare.run.inputs = {fixture("mlp_dynamic.safetensors")};
  EXPECT_EQ(run_verify(compare)->code, ExitCode::Different);
}

TEST_F(RealPluginBundleCommands, every_form_of_weights_gives_the_same) {
  for (const char* form : {"copy", "reference", "shards", "inline"}) {
    auto options = sampled();
    options.reference = form == std::string("reference");
    options.shard_size = form == std::string("shards") ? 300 : 0;
    options.lift.inline_below = form == std::string("inline") ? 200 : 0;
    ASSERT_TRUE(run_import(options)) << form;
    auto verified = run_verify_bundle({.directory = out, .run = true});
    ASSERT_TRUE(verified) << form << to_text(verified.error());
    EXPECT_EQ(verified->code, ExitCode::Ok) << form << verified->text;
  }
  // Half the bits: near, and not equal by the tolerance of float32.
  auto options = sampled();
  options.weights_dtype = "f16";
  ASSERT_TRUE(run_import(options));
  auto verified = run_verify_bundle({.directory = out, .run = true});
  ASSERT_TRUE(verified) << to_text(verified.error());
  EXPECT_EQ(verified->code, ExitCode::Different) << verified->text;
}

}  // namespace
}  // namespace torchlift::cli
