// Any text as a code member, and any bytes as its debug ranges: what compiles is a program that passes the verifier and
// whose text is read back.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "frontend/script/compile.hpp"
#include "torch/parse.hpp"
#include "torch/print.hpp"
#include "torch/verify.hpp"

using namespace torchlift;
using namespace torchlift::frontend;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ByteView bytes = std::as_bytes(std::span(data, size));
  Result<script::DebugRanges> ranges = script::DebugRanges::read(bytes, "fuzz.pt", "a.py.debug_pkl");
  if (ranges) (void)ranges->at(size);
  torch::Program program;
  script::Constants constants{{torch::Operand{int64_t{1}}}};
  Status status = script::compile({"__torch__.a", std::string(text_of(bytes))}, constants, size % 11, program);
  if (status) status = script::link(program);
  if (!status) {
    for (const Diagnostic& problem : status.errors()) (void)to_text(problem);
    return 0;
  }
  Status sound = torch::verify(program);
  CHECK(sound.ok()) << to_text(sound.error());
  std::string text = torch::print(program);
  Result<torch::Program> again = torch::parse_program(text);
  CHECK(again.ok()) << text;
  CHECK(torch::print(*again) == text) << text;
  return 0;
}
