#include "archive/zip.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "archive/inflate.hpp"
#include "archive/zip_directory.hpp"
#include "base/kinds.hpp"

namespace torchlift::archive {
namespace {

// Most bytes that a metadata member may have once inflated.
uint64_t metadata_limit(const Member& member) {
  if (member.method == Method::Stored) return kMaxMetadataBytes;
  uint64_t by_ratio = std::min(member.compressed_size, kMaxMetadataBytes) * kMaxMetadataRatio;
  return std::min(kMaxMetadataBytes, std::max(kRatioFreeBytes, by_ratio));
}

}  // namespace

Result<Zip> Zip::open(const Source& source) { return open(source, 0, source.bytes().size(), ""); }

Result<Zip> Zip::open(const Source& source, uint64_t offset, uint64_t size, std::string where) {
  std::optional<ByteView> range = slice(source.bytes(), offset, size);
  CHECK(range.has_value()) << where;
  Zip zip(source, std::move(where));
  TRY(zip.members_, read_directory(*range, {.file = source.name(), .member = zip.where_}));
  for (Member& member : zip.members_) {
    member.header_offset += offset;
    member.data_offset += offset;
  }
  zip.by_name_.resize(zip.members_.size());
  std::iota(zip.by_name_.begin(), zip.by_name_.end(), 0u);
  auto name_of = [&zip](uint32_t i) -> const std::string& { return zip.members_[i].name; };
  std::sort(zip.by_name_.begin(), zip.by_name_.end(), [&](uint32_t a, uint32_t b) { return name_of(a) < name_of(b); });
  auto twice = std::adjacent_find(zip.by_name_.begin(), zip.by_name_.end(),
                                  [&](uint32_t a, uint32_t b) { return name_of(a) == name_of(b); });
  if (twice != zip.by_name_.end())
    return diagnose(Kind::ZipDuplicate, {{"name", name_of(*twice)}}, source.name(), zip.where_);
  return zip;
}

const Member* Zip::find(std::string_view name) const {
  auto found = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                [this](uint32_t i, std::string_view wanted) { return members_[i].name < wanted; });
  if (found == by_name_.end() || members_[*found].name != name) return nullptr;
  return &members_[*found];
}

Result<const Member*> Zip::expect(std::string_view name) const {
  if (const Member* member = find(name)) return member;
  return diagnose(Kind::MemberMissing, {{"name", std::string(name)}}, source_->name(), where_);
}

Result<MemberBytes> Zip::read(std::string_view name) const {
  TRY(const Member* member, expect(name));
  return read(*member);
}

Result<MemberBytes> Zip::read(const Member& member) const {
  if (uint64_t limit = metadata_limit(member); member.size > limit) {
    return diagnose(Kind::ZipMemberSize,
                    {{"name", member.name},
                     {"size", static_cast<int64_t>(member.size)},
                     {"stored", static_cast<int64_t>(member.compressed_size)},
                     {"limit", static_cast<int64_t>(limit)}},
                    source_->name(), where_);
  }
  ByteView stored = source_->bytes().subspan(member.data_offset, member.compressed_size);
  MemberBytes result(stored);
  if (member.method == Method::Deflated) {
    TRY(Buffer buffer, inflate(stored, member.size, member.name, source_->name()));
    result = MemberBytes(std::move(buffer));
  }
  if (uint32_t crc = crc32(0, result.bytes()); crc != member.crc) {
    Diagnostic mismatch = crc_mismatch(Kind::MemberCrc, member.name, crc, member.crc, source_->name());
    mismatch.place.member = where_;
    return mismatch;
  }
  return result;
}

Record Zip::record(const Member& member) const {
  return Record{.source = source_,
                .offset = member.data_offset,
                .stored_size = member.compressed_size,
                .size = member.size,
                .method = member.method,
                .crc = member.crc,
                .member = where_.empty() ? member.name : where_ + "/" + member.name};
}

}  // namespace torchlift::archive
