// Any text as a Program: what is read is printed and read back with the same text.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "torch/parse.hpp"
#include "torch/print.hpp"

using namespace torchlift;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Result<torch::Program> program = torch::parse_program(text_of(std::as_bytes(std::span(data, size))), "fuzz.torch");
  if (!program) {
    for (const Diagnostic& problem : program.errors()) (void)to_text(problem);
    return 0;
  }
  std::string text = torch::print(*program);
  Result<torch::Program> again = torch::parse_program(text);
  CHECK(again.ok()) << text;
  CHECK(torch::print(*again) == text) << text;
  (void)torch::input_paths(*program);
  (void)torch::output_paths(*program);
  return 0;
}
