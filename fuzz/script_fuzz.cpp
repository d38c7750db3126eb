// Any bytes as the code, the objects or the constants of a TorchScript archive that is sound otherwise, and as one of
// its types.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "archive/pickle_writer.hpp"
#include "archive/zip_builder.hpp"
#include "base/check.hpp"
#include "frontend/script/entry.hpp"
#include "frontend/script/load.hpp"
#include "torch/print.hpp"
#include "torch/script_type.hpp"

namespace {

using namespace torchlift;
using namespace torchlift::archive::pickled;
using frontend::script::ScriptLeaf;

constexpr std::string_view kCode =
    "class P(NamedTuple):\n  a : int\n  b : Tensor\n"
    "class E(Enum):\n  A = 1\n  B = 2\n"
    "class M(Module):\n  __parameters__ = [\"w\", ]\n  w : Tensor\n  p : Optional[__torch__.P]\n  d : Dict[str, Any]\n"
    "  e : Any\n  m : __torch__.M\n  training : bool\n"
    "  def forward(self: __torch__.M,\n    x: Tensor,\n    n: int=2) -> Tensor:\n    return torch.mul(x, n)\n";

std::string sound_objects() {
  std::string w = tensor(storage("FloatStorage", "0", 2), 0, integer(2), integer(1));
  return whole(global("__torch__", "M") + ")\x81" + dict(text("w") + w + text("training") + "\x88") + "b");
}

void load(std::string_view code, std::string_view objects, std::string_view constants) {
  std::string bytes = archive::build_zip({{.name = "fuzz/data.pkl", .data = std::string(objects)},
                                          {.name = "fuzz/code/__torch__.py", .data = std::string(code)},
                                          {.name = "fuzz/constants.pkl", .data = std::string(constants)},
                                          {.name = "fuzz/data/0", .data = std::string(64, '\1')},
                                          {.name = "fuzz/constants/0", .data = std::string(64, '\1')},
                                          {.name = "fuzz/version", .data = "3\n"}});
  auto archive = archive::Archive::from_memory(bytes_of(bytes), "fuzz.pt");
  CHECK(archive.ok()) << archive.error().message();
  Result<frontend::script::ScriptFile> file = frontend::script::load(**archive);
  if (!file) {
    for (const Diagnostic& problem : file.errors()) (void)to_text(problem);
    return;
  }
  std::vector<ScriptLeaf> leaves(2, {.value = frontend::script::TensorLeaf{DType::Float32, {2}}, .path = ""});
  for (const auto& method : frontend::script::methods(file->program)) {
    Result<torch::Program> program = frontend::script::entry(file->program, method.name, leaves);
    if (program) (void)torch::print(*program);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text = text_of(std::as_bytes(std::span(data, size)));
  load(text, sound_objects(), whole(")"));
  load(kCode, text, whole(")"));
  load(kCode, sound_objects(), text);
  Result<torch::ScriptType> type = torch::parse_script_type(text);
  if (type) {
    Result<torch::ScriptType> again = torch::parse_script_type(print(*type));
    CHECK(again.ok() && *again == *type) << print(*type);
  }
  return 0;
}
