// Any bytes as a model file: what it is, its directory, every member, nested torch.save files, tensors with their
// bounds.
#include <cstddef>
#include <cstdint>
#include <span>

#include "archive/archive.hpp"
#include "archive/torch_save.hpp"
#include "base/check.hpp"

namespace torchlift::archive {
namespace {

constexpr int kMaxDepth = 3;
constexpr size_t kMaxMembersTried = 64;

void read_tensors(const Zip& zip) {
  Result<TorchSave> saved = TorchSave::read(zip, UnknownGlobals::Keep);
  if (!saved) return;
  const Pickle& pickle = saved->pickle();
  (void)pickle.text(pickle.root);
  (void)saved->named_values();
  for (size_t i = 0; i < pickle.values.size(); ++i) {
    if (pickle.get_if<PickleTensor>(PickleId(i)) == nullptr) continue;
    Result<TensorRecord> tensor = saved->tensor(PickleId(i), "t");
    if (tensor && view(tensor->record))
      CHECK(view(tensor->record)->size() == tensor->record.size) << "a record is whole";
  }
}

void read_all(Archive& archive, const Zip& zip, int depth) {
  read_tensors(zip);
  size_t tried = 0;
  for (const Member& member : zip.members()) {
    if (++tried > kMaxMembersTried) return;
    Record record = zip.record(member);
    CHECK(member.data_offset + member.compressed_size <= zip.source().bytes().size()) << member.name;
    Result<MemberBytes> bytes = zip.read(member);
    CHECK(!bytes || bytes->bytes().size() == member.size) << member.name;
    if (record.is_stored()) (void)check_crc(record, Strict::No);
    if (depth >= kMaxDepth || &zip != &archive.zip()) continue;
    if (Result<Zip> nested = archive.nested(member)) read_all(archive, *nested, depth + 1);
  }
}

}  // namespace
}  // namespace torchlift::archive

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace torchlift;
  auto archive = archive::Archive::from_memory(std::as_bytes(std::span(data, size)), "fuzz.pt2");
  if (!archive) {
    (void)to_text(archive.error());
    (void)to_json(archive.error());
    return 0;
  }
  if (Status status = archive::expect_pt2(**archive); !status) (void)to_text(status.error());
  archive::read_all(**archive, (*archive)->zip(), 0);
  return 0;
}
