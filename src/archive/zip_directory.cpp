#include "archive/zip_directory.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/kinds.hpp"
#include "base/text.hpp"

namespace torchlift::archive {
namespace {

constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr uint32_t kCentralSignature = 0x02014b50;
constexpr uint32_t kEndSignature = 0x06054b50;
constexpr uint32_t kEnd64Signature = 0x06064b50;
constexpr uint32_t kLocator64Signature = 0x07064b50;

constexpr size_t kLocalSize = 30;
constexpr size_t kCentralSize = 46;
constexpr size_t kEndSize = 22;
constexpr size_t kEnd64Size = 56;
constexpr size_t kEnd64Lead = 12;  // signature and size field, which the size field does not count
constexpr size_t kLocator64Size = 20;
constexpr size_t kMaxComment = 0xFFFF;

constexpr uint16_t kFlagEncrypted = 1u << 0;
constexpr uint16_t kFlagSizesFollow = 1u << 3;  // sizes and CRC stand after the data, the local header has zeros
constexpr uint16_t kFlagPatch = 1u << 5;
constexpr uint16_t kFlagStrongEncryption = 1u << 6;
constexpr uint16_t kFlagMaskedHeader = 1u << 13;

constexpr uint16_t kExtraZip64 = 1;
constexpr uint32_t kIn64 = 0xFFFFFFFF;  // the value is in the zip64 record or field
constexpr uint16_t kIn64Short = 0xFFFF;

// Where the directory lies.
struct End {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t count = 0;
};

// An entry of the directory before its local header has been looked at.
struct Entry {
  Member member;
  uint16_t flags = 0;
};

int64_t clamp(uint64_t value) { return static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX)); }

// The zip64 extra field of `extra`, nothing if there is none; an error if there are two.
struct Extra64 {
  std::optional<ByteView> data;
  bool twice = false;
};

Extra64 find_zip64(ByteView extra) {
  Extra64 found;
  while (extra.size() >= 4) {
    uint16_t id = read_u16(extra, 0);
    std::optional<ByteView> data = slice(extra, 4, read_u16(extra, 2));
    if (!data) break;  // padding that is no extra field, as some tools write
    if (id == kExtraZip64) {
      found.twice = found.data.has_value();
      found.data = data;
    }
    extra = extra.subspan(4 + data->size());
  }
  return found;
}

// Why a name is refused; empty if it is a plain relative path.
std::string_view problem_of_name(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > kMaxNameLength) return "is longer than 4096 bytes";
  if (name.find('\0') != std::string_view::npos) return "has a NUL character";
  if (name.find('\\') != std::string_view::npos) return "has a backslash";
  if (name.front() == '/') return "is an absolute path";
  for (size_t begin = 0; begin <= name.size();) {
    size_t end = std::min(name.find('/', begin), name.size());
    if (name.substr(begin, end - begin) == "..") return "leads out of the archive";
    begin = end + 1;
  }
  return {};
}

class DirectoryReader {
 public:
  DirectoryReader(ByteView zip, const ZipPlace& place) : zip_(zip), place_(place) {}

  Result<std::vector<Member>> read() {
    TRY(End end, read_end());
    TRY(std::vector<Entry> entries, read_entries(end));
    std::vector<Member> members;
    members.reserve(entries.size());
    for (Entry& entry : entries) {
      TRY_OK(check_local(entry, end));
      members.push_back(std::move(entry.member));
    }
    TRY_OK(check_overlaps(members));
    return members;
  }

 private:
  Diagnostic error(Kind kind, Arguments arguments) const {
    return diagnose(kind, std::move(arguments), place_.file, place_.member);
  }
  Diagnostic damaged(std::string what, uint64_t seen, uint64_t expected) const {
    return error(Kind::ZipDirectory,
                 {{"what", std::move(what)}, {"seen", clamp(seen)}, {"expected", std::to_string(expected)}});
  }

  Result<size_t> find_end() const;
  Result<End> read_end() const;
  Result<End> read_end64(const End& end, size_t end_at, size_t locator_at) const;
  Result<std::vector<Entry>> read_entries(const End& end) const;
  Result<Entry> read_entry(ByteView bytes, std::string name, ByteView extra) const;
  Status fill_from_zip64(Member& member, ByteView extra, uint16_t disk) const;
  Status check_local(Entry& entry, const End& end) const;
  Status check_local_fields(const Entry& entry, ByteView header, ByteView extra) const;
  Status check_overlaps(const std::vector<Member>& members) const;

  ByteView zip_;
  const ZipPlace& place_;
};

// The end record is the one whose comment fills the rest of the file; two such records are refused, for other readers
// would take the other one.
Result<size_t> DirectoryReader::find_end() const {
  std::optional<size_t> found;
  size_t last = zip_.size() < kEndSize ? 0 : zip_.size() - kEndSize;
  size_t first = last > kMaxComment ? last - kMaxComment : 0;
  for (size_t at = first; zip_.size() >= kEndSize && at <= last; ++at) {
    if (zip_[at] != std::byte{'P'} || read_u32(zip_, at) != kEndSignature) continue;
    if (at + kEndSize + read_u16(zip_, at + 20) != zip_.size()) continue;
    if (found) return damaged("a second end record at byte", *found, at);
    found = at;
  }
  if (!found) return error(Kind::ZipTruncated, {{"bytes", static_cast<int64_t>(zip_.size())}});
  return *found;
}

Result<End> DirectoryReader::read_end() const {
  TRY(size_t at, find_end());
  End end{.offset = read_u32(zip_, at + 16), .size = read_u32(zip_, at + 12), .count = read_u16(zip_, at + 10)};
  if (read_u16(zip_, at + 4) != read_u16(zip_, at + 6)) return error(Kind::ZipMultiDisk, {});
  if (read_u16(zip_, at + 4) != 0 && read_u16(zip_, at + 4) != kIn64Short) return error(Kind::ZipMultiDisk, {});
  if (read_u16(zip_, at + 8) != read_u16(zip_, at + 10)) return error(Kind::ZipMultiDisk, {});
  uint64_t directory_end = at;
  if (at >= kLocator64Size && read_u32(zip_, at - kLocator64Size) == kLocator64Signature) {
    size_t locator_at = at - kLocator64Size;
    directory_end = read_u64(zip_, locator_at + 8);
    TRY(end, read_end64(end, at, locator_at));
  }
  if (end.offset > directory_end || end.size != directory_end - end.offset)
    return damaged("its start at byte", end.offset, directory_end - std::min(end.size, directory_end));
  if (end.count > kMaxMembers) {
    return error(Kind::ZipTooMany, {{"count", clamp(end.count)}, {"limit", static_cast<int64_t>(kMaxMembers)}});
  }
  if (end.count > end.size / kCentralSize) return damaged("a size in bytes of", end.size, end.count * kCentralSize);
  return end;
}

// `end` holds the 32-bit values, which must be the true ones or all bits set.
Result<End> DirectoryReader::read_end64(const End& end, size_t end_at, size_t locator_at) const {
  if (read_u32(zip_, locator_at + 4) != 0 || read_u32(zip_, locator_at + 16) > 1) return error(Kind::ZipMultiDisk, {});
  uint64_t at = read_u64(zip_, locator_at + 8);
  if (locator_at < kEnd64Size || at > locator_at - kEnd64Size)
    return damaged("a zip64 end record at byte", at, locator_at - std::min(locator_at, kEnd64Size));
  if (read_u32(zip_, at) != kEnd64Signature) return damaged("a zip64 signature", read_u32(zip_, at), kEnd64Signature);
  if (uint64_t size = read_u64(zip_, at + 4); size != locator_at - at - kEnd64Lead)
    return damaged("a zip64 end record of size", size, locator_at - at - kEnd64Lead);
  if (read_u32(zip_, at + 16) != 0 || read_u32(zip_, at + 20) != 0) return error(Kind::ZipMultiDisk, {});
  if (read_u64(zip_, at + 24) != read_u64(zip_, at + 32)) return error(Kind::ZipMultiDisk, {});
  End end64{.offset = read_u64(zip_, at + 48), .size = read_u64(zip_, at + 40), .count = read_u64(zip_, at + 32)};
  if (end.count != kIn64Short && end.count != end64.count) return damaged("a member count of", end.count, end64.count);
  if (end.size != kIn64 && end.size != end64.size) return damaged("a size in bytes of", end.size, end64.size);
  if (end.offset != kIn64 && end.offset != end64.offset) return damaged("its start at byte", end.offset, end64.offset);
  if (read_u16(zip_, end_at + 4) != 0 && read_u16(zip_, end_at + 4) != kIn64Short) return error(Kind::ZipMultiDisk, {});
  return end64;
}

Result<std::vector<Entry>> DirectoryReader::read_entries(const End& end) const {
  std::vector<Entry> entries;
  entries.reserve(end.count);
  ByteView rest = zip_.subspan(end.offset, end.size);
  for (uint64_t i = 0; i < end.count; ++i) {
    if (rest.size() < kCentralSize) return damaged("a member count of", end.count, i);
    if (read_u32(rest, 0) != kCentralSignature)
      return damaged("a signature at entry " + std::to_string(i) + " of", read_u32(rest, 0), kCentralSignature);
    size_t name_size = read_u16(rest, 28), extra_size = read_u16(rest, 30), comment_size = read_u16(rest, 32);
    size_t size = kCentralSize + name_size + extra_size + comment_size;
    if (size > rest.size()) return damaged("an entry of size", size, rest.size());
    std::string name(text_of(rest.subspan(kCentralSize, name_size)));
    TRY(Entry entry,
        read_entry(rest.first(kCentralSize), std::move(name), rest.subspan(kCentralSize + name_size, extra_size)));
    entries.push_back(std::move(entry));
    rest = rest.subspan(size);
  }
  if (!rest.empty()) return damaged("bytes after its last entry:", rest.size(), 0);
  return entries;
}

Result<Entry> DirectoryReader::read_entry(ByteView bytes, std::string name, ByteView extra) const {
  if (auto problem = problem_of_name(name); !problem.empty())
    return error(Kind::ZipName,
                 {{"name", quoted(std::string_view(name).substr(0, 200))}, {"problem", std::string(problem)}});
  uint16_t flags = read_u16(bytes, 8);
  if ((flags & (kFlagEncrypted | kFlagStrongEncryption | kFlagMaskedHeader)) != 0)
    return error(Kind::ZipEncrypted, {{"name", name}});
  uint16_t method = read_u16(bytes, 10);
  bool known = method == static_cast<uint16_t>(Method::Stored) || method == static_cast<uint16_t>(Method::Deflated);
  if (!known || (flags & kFlagPatch) != 0) return error(Kind::ZipMethod, {{"name", name}, {"method", int64_t{method}}});
  Entry entry{.member = {.name = std::move(name),
                         .method = static_cast<Method>(method),
                         .crc = read_u32(bytes, 16),
                         .compressed_size = read_u32(bytes, 20),
                         .size = read_u32(bytes, 24),
                         .header_offset = read_u32(bytes, 42),
                         .data_offset = 0},
              .flags = flags};
  TRY_OK(fill_from_zip64(entry.member, extra, read_u16(bytes, 34)));
  const Member& member = entry.member;
  if (member.method == Method::Stored && member.size != member.compressed_size)
    return damaged("for the stored member `" + member.name + "` two sizes,", member.size, member.compressed_size);
  if (member.size / kMaxDeflateRatio > member.compressed_size)
    return damaged("for the deflated member `" + member.name + "` a size of", member.size,
                   member.compressed_size * kMaxDeflateRatio);
  return entry;
}

// (4.5.3) The field holds, in this order, those of size, compressed size, offset and disk whose own bits are all set.
Status DirectoryReader::fill_from_zip64(Member& member, ByteView extra, uint16_t disk) const {
  auto [data, twice] = find_zip64(extra);
  if (twice) return damaged("for `" + member.name + "` zip64 fields:", 2, 1);
  size_t at = 0;
  for (uint64_t* field : {&member.size, &member.compressed_size, &member.header_offset}) {
    if (*field != kIn64) continue;
    if (!data || data->size() < at + 8)
      return damaged("for `" + member.name + "` a zip64 field of size", data ? data->size() : 0, at + 8);
    *field = read_u64(*data, at);
    at += 8;
  }
  if (disk == kIn64Short && data && data->size() >= at + 4 && read_u32(*data, at) == 0) return Unit{};
  if (disk != 0) return error(Kind::ZipMultiDisk, {});
  return Unit{};
}

Status DirectoryReader::check_local(Entry& entry, const End& end) const {
  Member& member = entry.member;
  auto outside = [&](uint64_t bytes) {
    uint64_t reach = member.header_offset > UINT64_MAX - bytes ? UINT64_MAX : member.header_offset + bytes;
    return error(Kind::ZipMemberOutside, {{"name", member.name},
                                          {"begin", clamp(member.header_offset)},
                                          {"end", clamp(reach)},
                                          {"limit", clamp(end.offset)}});
  };
  ByteView before = zip_.first(end.offset);
  std::optional<ByteView> header = slice(before, member.header_offset, kLocalSize);
  if (!header) return outside(kLocalSize);
  if (read_u32(*header, 0) != kLocalSignature)
    return damaged("for `" + member.name + "` a local signature of", read_u32(*header, 0), kLocalSignature);
  size_t name_size = read_u16(*header, 26), extra_size = read_u16(*header, 28);
  std::optional<ByteView> all = slice(before, member.header_offset, kLocalSize + name_size + extra_size);
  if (!all) return outside(kLocalSize + name_size + extra_size);
  if (std::string_view name = text_of(all->subspan(kLocalSize, name_size)); name != member.name) {
    return error(Kind::ZipHeaders, {{"name", member.name},
                                    {"field", std::string("name")},
                                    {"local", quoted(name.substr(0, 200))},
                                    {"central", quoted(member.name)}});
  }
  TRY_OK(check_local_fields(entry, *header, all->subspan(kLocalSize + name_size)));
  member.data_offset = member.header_offset + all->size();
  if (!slice(before, member.data_offset, member.compressed_size))
    return outside(member.compressed_size > UINT64_MAX - all->size() ? UINT64_MAX
                                                                     : all->size() + member.compressed_size);
  return Unit{};
}

// Fields that only the local header has (padding) are normal; so are zeros where sizes and CRC follow the data.
Status DirectoryReader::check_local_fields(const Entry& entry, ByteView header, ByteView extra) const {
  const Member& member = entry.member;
  uint16_t flags = read_u16(header, 6);
  if ((flags & (kFlagEncrypted | kFlagStrongEncryption | kFlagMaskedHeader)) != 0)
    return error(Kind::ZipEncrypted, {{"name", member.name}});
  auto differs = [&](const char* field, uint64_t local, uint64_t central) {
    return error(Kind::ZipHeaders, {{"name", member.name},
                                    {"field", std::string(field)},
                                    {"local", std::to_string(local)},
                                    {"central", std::to_string(central)}});
  };
  uint16_t method = read_u16(header, 8);
  if (method != static_cast<uint16_t>(member.method))
    return differs("method", method, static_cast<uint16_t>(member.method));
  bool zeros_allowed = (flags & kFlagSizesFollow) != 0;
  auto agrees = [&](uint64_t local, uint64_t central) { return local == central || (local == 0 && zeros_allowed); };

  uint64_t crc = read_u32(header, 14), compressed_size = read_u32(header, 18), size = read_u32(header, 22);
  auto [data, twice] = find_zip64(extra);
  if (twice) return damaged("for `" + member.name + "` local zip64 fields:", 2, 1);
  size_t at = 0;
  for (uint64_t* field : {&size, &compressed_size}) {
    if (*field != kIn64 || !data || data->size() < at + 8) continue;
    *field = read_u64(*data, at);
    at += 8;
  }
  if (!agrees(crc, member.crc)) return differs("CRC-32", crc, member.crc);
  if (!agrees(compressed_size, member.compressed_size))
    return differs("compressed size", compressed_size, member.compressed_size);
  if (!agrees(size, member.size)) return differs("size", size, member.size);
  return Unit{};
}

Status DirectoryReader::check_overlaps(const std::vector<Member>& members) const {
  std::vector<const Member*> by_offset;
  by_offset.reserve(members.size());
  for (const Member& member : members) by_offset.push_back(&member);
  std::sort(by_offset.begin(), by_offset.end(),
            [](const Member* a, const Member* b) { return a->header_offset < b->header_offset; });
  for (size_t i = 1; i < by_offset.size(); ++i) {
    const Member &first = *by_offset[i - 1], &second = *by_offset[i];
    if (first.data_offset + first.compressed_size > second.header_offset)
      return error(Kind::ZipOverlap, {{"first", first.name}, {"second", second.name}});
  }
  return Unit{};
}

}  // namespace

Result<std::vector<Member>> read_directory(ByteView zip, const ZipPlace& place) {
  return DirectoryReader(zip, place).read();
}

}  // namespace torchlift::archive
