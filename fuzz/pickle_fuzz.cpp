// Any bytes as a pickle, with unknown globals refused and kept.
#include <cstddef>
#include <cstdint>
#include <span>

#include "archive/pickle.hpp"
#include "base/check.hpp"

namespace {

using namespace torchlift;
using namespace torchlift::archive;

constexpr uint64_t kTreeBytes = uint64_t{64} << 20;

void read(ByteView bytes, UnknownGlobals unknown) {
  Result<Pickle> pickle =
      read_pickle(bytes, {.file = "fuzz.pt", .member = "data.pkl", .unknown = unknown, .max_tree_bytes = kTreeBytes});
  if (!pickle) {
    (void)to_text(pickle.error());
    return;
  }
  (void)pickle->text(pickle->root);
  for (size_t i = 0; i < pickle->values.size(); ++i) {
    const auto* tensor = pickle->get_if<PickleTensor>(PickleId(i));
    if (tensor == nullptr) continue;
    CHECK(tensor->sizes.size() == tensor->strides.size() && tensor->offset >= 0) << "promised by pickle.hpp";
    CHECK(pickle->get_if<PickleStorage>(tensor->storage) != nullptr) << "a tensor has a storage";
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ByteView bytes = std::as_bytes(std::span(data, size));
  read(bytes, UnknownGlobals::Refuse);
  read(bytes, UnknownGlobals::Keep);
  return 0;
}
