// Any bytes as a StableHLO artifact.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "stablehlo/artifact.hpp"
#include "stablehlo/print.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace torchlift;
  using namespace torchlift::stablehlo;
  auto program = vhlo::read(std::as_bytes(std::span(data, size)), "input");
  if (!program) return 0;
  auto text = vhlo::to_text(*program, "input", true);
  // What was read is written, and reads back as the same.
  auto again = vhlo::read(bytes_of(vhlo::write(*program)), "again");
  CHECK(again.ok()) << to_text(again.error());
  auto again_text = vhlo::to_text(*again, "again", true);
  if (text && again_text) CHECK(*text == *again_text) << *text << *again_text;
  (void)vhlo::functions(*program, "input").ok();
  auto module = module_of(*program, "input");
  if (!module) return 0;
  const ArtifactOptions options{.version = vhlo::kNewestVersion, .locations = true};
  auto bytes = write_artifact(*module, options);
  CHECK(bytes.ok()) << to_text(bytes.error());
  auto second = read_artifact(bytes_of(*bytes), "written");
  CHECK(second.ok()) << to_text(second.error());
  CHECK(to_text(*module, {.locations = true}) == to_text(*second, {.locations = true})) << "another module";
  CHECK(*write_artifact(*second, options) == *bytes) << "other bytes";
  return 0;
}
