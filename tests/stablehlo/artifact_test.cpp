// Portable artifacts: what is written reads back as the same module and the same bytes, in every version; what is
// damaged is refused. tools/artifact/check.py compares the files that are left in the build folder with the reference.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/kinds.hpp"
#include "stablehlo/artifact.hpp"
#include "stablehlo/every_op.hpp"
#include "stablehlo/function_text.hpp"

namespace torchlift::stablehlo {
namespace {

using vhlo::Version;

std::string written(const Module& module, const ArtifactOptions& options = {}) {
  auto out = write_artifact(module, options);
  EXPECT_TRUE(out) << (out ? "" : to_text(out.error()));
  return out ? *out : "";
}

Module read(const std::string& bytes) {
  auto out = read_artifact(bytes_of(bytes), "file");
  EXPECT_TRUE(out) << (out ? "" : to_text(out.error()));
  return out ? *out : Module();
}

void leave(const std::string& name, const std::string& text, const std::string& bytes) {
  const std::string folder = TORCHLIFT_BINARY_DIR "/artifacts";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/" + name + ".mlir") << text;
  std::ofstream(folder + "/" + name + ".mlirbc") << bytes;
}

// Text and bytes are the same again, with locations and without.
void expect_round_trip(const Module& module, std::optional<Version> version = {}) {
  for (bool locations : {false, true}) {
    const std::string bytes = written(module, {.version = version, .locations = locations});
    const Module again = read(bytes);
    EXPECT_EQ(to_text(again, {.locations = locations}), to_text(module, {.locations = locations}));
    EXPECT_TRUE(written(again, {.version = version, .locations = true}) == bytes);
  }
}

TEST(Artifact, every_operation_reads_back_in_every_version) {
  EveryOp every;
  expect_round_trip(every.module_);
  for (int minor = 8; minor <= vhlo::kNewestVersion.minor; ++minor) {
    expect_round_trip(every.module_, Version{1, minor, 0});
    const std::string name = "every_op.1." + std::to_string(minor);
    leave(name, to_text(every.module_), written(every.module_, {.version = Version{1, minor, 0}}));
    leave(name + ".locations", to_text(every.module_, {.locations = true}),
          written(every.module_, {.version = Version{1, minor, 0}, .locations = true}));
  }
}

}  // namespace
}  // namespace torchlift::stablehlo
