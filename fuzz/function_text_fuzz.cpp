// Any bytes as the StableHLO text of a user's own operator.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "stablehlo/function_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace torchlift;
  auto read = stablehlo::read_function_text(text_of(std::as_bytes(std::span(data, size))), "input");
  if (!read) return 0;
  CHECK(read->pieces.size() == read->names.size() + 1) << "a name between two pieces";
  // What is carried is of the same form, but all of it is private.
  std::string text = stablehlo::with_prefix(*read, "p.");
  size_t at = text.find("func.func private @");
  CHECK(at != std::string::npos) << text;
  auto again = stablehlo::read_function_text(text, "again");
  CHECK(!again.ok() && again.error().message().find("no public function") != std::string::npos)
      << (again.ok() ? text : to_text(again.error()));
  return 0;
}
