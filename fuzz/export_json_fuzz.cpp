// Any bytes as the JSON of a program, in an archive that is sound otherwise; and as the config of its weights.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "archive/zip_builder.hpp"
#include "base/check.hpp"
#include "frontend/export/load.hpp"
#include "torch/parse.hpp"
#include "torch/print.hpp"

namespace {

using namespace torchlift;

constexpr std::string_view kProgram = R"({"schema_version": {"major": 8, "minor": 20}, "graph_module": {
  "graph": {"inputs": [{"as_tensor": {"name": "w"}}], "outputs": [], "nodes": [], "tensor_values": {}},
  "signature": {"input_specs": [{"parameter": {"arg": {"name": "w"}, "parameter_name": "w"}}], "output_specs": []}}})";
constexpr std::string_view kConfig = R"({"config": {}})";

void load(std::string_view program, std::string_view config) {
  std::string bytes =
      archive::build_zip({{.name = "fuzz/data/weights/weight_0", .data = std::string(64, '\1')},
                          {.name = "fuzz/data/weights/model_weights_config.json", .data = std::string(config)},
                          {.name = "fuzz/models/model.json", .data = std::string(program)},
                          {.name = "fuzz/archive_format", .data = "pt2"}});
  auto archive = archive::Archive::from_memory(bytes_of(bytes), "fuzz.pt2");
  CHECK(archive.ok()) << archive.error().message();
  Result<frontend::Loaded> loaded = frontend::load(**archive);
  if (!loaded) {
    for (const Diagnostic& problem : loaded.errors()) (void)to_text(problem);
    return;
  }
  std::string text = torch::print(loaded->program);
  Result<torch::Program> again = torch::parse_program(text);
  CHECK(again.ok()) << to_text(again.error()) << text;
  CHECK(torch::print(*again) == text) << text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text = text_of(std::as_bytes(std::span(data, size)));
  load(text, kConfig);
  load(kProgram, text);
  return 0;
}
