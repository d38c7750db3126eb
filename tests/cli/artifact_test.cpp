// --program artifact: bundles of portable artifacts, and what inspect says of artifacts.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/kinds.hpp"
#include "cli/command.hpp"
#include "stablehlo/artifact.hpp"
#include "support/temporary_directory.hpp"

namespace torchlift::cli {
namespace {

std::string data(const std::string& name) { return std::string(TORCHLIFT_SOURCE_DIR) + "/tests/data/" + name; }

std::string all_of(const std::vector<Diagnostic>& diagnostics) {
  std::string out;
  for (const Diagnostic& d : diagnostics) out += to_text(d);
  return out;
}

struct ArtifactCommand : testing::Test {
  test::TemporaryDirectory directory;

  ImportOptions options(const std::string& name, const std::string& program) {
    ImportOptions out;
    out.file = data("fixtures/mlp_dynamic.pt2");
    out.directory = directory.file(name);
    out.lift.program = program;
    return out;
  }
  void expect_refused(const ImportOptions& how, Kind kind) {
    auto result = run_import(how);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, kind) << all_of(result.errors());
    EXPECT_FALSE(std::filesystem::exists(how.directory));
  }
};

TEST_F(ArtifactCommand, it_holds_the_program_that_the_text_holds) {
  for (bool locations : {false, true}) {
    auto text = options("text", "text");
    auto artifact = options("artifact", "artifact");
    text.locations = artifact.locations = locations;
    text.lift.dims = artifact.lift.dims = {"s77=2,4"};
    ASSERT_TRUE(run_import(text));
    ASSERT_TRUE(run_import(artifact));
    EXPECT_EQ(directory.entries(),
              (std::vector<std::string>{"artifact", "artifact/manifest.json", "artifact/model.b2.mlirbc",
                                        "artifact/model.b4.mlirbc", "artifact/weights.safetensors", "text",
                                        "text/manifest.json", "text/model.b2.mlir", "text/model.b4.mlir",
                                        "text/weights.safetensors"}));
    InspectOptions inspect;
    inspect.model = artifact.directory + "/model.b4.mlirbc";
    inspect.text = true;
    inspect.locations = locations;
    auto printed = run_inspect(inspect);
    ASSERT_TRUE(printed) << all_of(printed.errors());
    EXPECT_EQ(printed->text, test::read_text(text.directory + "/model.b4.mlir"));
    inspect.model = artifact.directory;
    inspect.text = false;
    ASSERT_TRUE(run_inspect(inspect)) << "a bundle is read with its programs";
  }
}

TEST_F(ArtifactCommand, the_version_is_that_which_is_asked_for) {
  auto how = options("out", "artifact");
  how.lift.stablehlo_version = "1.10.2";
  ASSERT_TRUE(run_import(how));
  EXPECT_EQ(test::read_text(how.directory + "/model.mlirbc").substr(5, 18), std::string("StableHLO_v1.10.2\0", 18));
  InspectOptions inspect;
  inspect.model = how.directory + "/model.mlirbc";
  auto page = run_inspect(inspect);
  ASSERT_TRUE(page) << all_of(page.errors());
  EXPECT_NE(page->text.find("StableHLO artifact by StableHLO_v1.10.2"), std::string::npos) << page->text;
  EXPECT_NE(page->text.find("public  main  (tensor<3x8xf32>, "), std::string::npos) << page->text;
  EXPECT_NE(page->text.find("2\tdot_general_v2\n"), std::string::npos) << page->text;
  inspect.lift.program = "artifact";
  EXPECT_FALSE(run_inspect(inspect)) << "an option of import";
}

TEST_F(ArtifactCommand, other_versions_are_refused) {
  for (const char* version : {"0.9.0", "1.21.0", "1.0", "latest"}) {
    auto how = options("out", "artifact");
    how.lift.stablehlo_version = version;
    expect_refused(how, Kind::ArtifactTarget);
    how.lift.program = "text";
    expect_refused(how, Kind::CommandLine);
  }
}

TEST_F(ArtifactCommand, a_function_in_text_is_refused) {
  auto how = options("out", "artifact");
  how.file = data("custom/soft_cap.pt2");
  how.lift.custom = {"mine::soft_cap=" + data("custom/soft_cap_2.mlir")};
  expect_refused(how, Kind::ArtifactFunction);
}

TEST_F(ArtifactCommand, a_program_that_was_changed_is_refused) {
  auto how = options("out", "artifact");
  ASSERT_TRUE(run_import(how));
  const std::string file = how.directory + "/model.mlirbc";
  std::string bytes = test::read_text(file);
  bytes.resize(bytes.size() - 1);
  test::write_text(file, bytes);
  InspectOptions inspect;
  inspect.model = file;
  auto page = run_inspect(inspect);
  ASSERT_FALSE(page);
  EXPECT_EQ(page.error().kind, Kind::ArtifactFile);
  inspect.model = how.directory;
  page = run_inspect(inspect);
  ASSERT_FALSE(page);
  EXPECT_EQ(page.error().kind, Kind::BundleDigest);
}

TEST_F(ArtifactCommand, artifacts_of_others_are_printed) {
  InspectOptions inspect;
  inspect.model = data("artifacts/devices.1.5.0.mlirbc");
  auto page = run_inspect(inspect);
  ASSERT_TRUE(page) << all_of(page.errors());
  EXPECT_NE(page->text.find("1\tall_reduce_v2\n"), std::string::npos) << page->text;
  inspect.text = true;
  page = run_inspect(inspect);
  ASSERT_TRUE(page) << all_of(page.errors());
  EXPECT_EQ(page->text, test::read_text(data("artifacts/devices.1.5.0.mlir")));
}

}  // namespace
}  // namespace torchlift::cli
