// Any bytes as a safetensors header, an npy file, a manifest, the constants of a case file, and a program's signature.
#include <cstddef>
#include <cstdint>
#include <span>

#include "archive/npy.hpp"
#include "archive/safetensors.hpp"
#include "base/check.hpp"
#include "bundle/manifest.hpp"
#include "bundle/signature.hpp"

namespace torchlift {
namespace {

void read_all(ByteView bytes) {
  if (auto header = archive::read_safetensors_header(bytes, "input")) {
    uint64_t size = 0;
    for (auto& tensor : header->tensors) size += tensor.bytes.size();
    CHECK(size <= bytes.size()) << "tensors do not overlap";
  }
  if (auto array = archive::read_npy_header(bytes, "input"))
    CHECK(array->bytes.size() <= bytes.size()) << "an array lies in its file";
  if (auto manifest = bundle::read_manifest(bytes, "input")) {
    auto again = bundle::read_manifest(bytes_of(bundle::to_json(*manifest)), "again");
    CHECK(again.ok()) << to_text(again.error());
    CHECK(bundle::to_json(*again) == bundle::to_json(*manifest)) << "what is written is read back";
  }
  (void)bundle::read_constants(text_of(bytes), "input");
  (void)bundle::read_signature(text_of(bytes), "input");
}

}  // namespace
}  // namespace torchlift

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  torchlift::read_all(std::as_bytes(std::span(data, size)));
  return 0;
}
