// The directory of a zip file, read by ourselves: offsets of stored members matter, and an archive that two readers
// would read differently (overlaps, duplicate names, local headers that disagree) is refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "archive/record.hpp"
#include "base/bytes.hpp"
#include "base/result.hpp"

namespace torchlift::archive {

inline constexpr uint64_t kMaxMembers = 1'000'000;
inline constexpr uint64_t kMaxNameLength = 4096;
inline constexpr uint64_t kMaxMetadataBytes = uint64_t{1} << 30;  // one member read into memory
inline constexpr uint64_t kMaxMetadataRatio = 200;                // inflated to stored; texts reach about 50
inline constexpr uint64_t kRatioFreeBytes = uint64_t{1} << 20;    // smaller members may have any ratio
inline constexpr uint64_t kMaxDeflateRatio = 1032;                // no deflate stream expands more

struct Member {
  std::string name;  // as it stands in the directory; relative, without `..` and backslash
  Method method = Method::Stored;
  uint32_t crc = 0;
  uint64_t compressed_size = 0;
  uint64_t size = 0;
  uint64_t header_offset = 0;  // of the local header, in the source
  uint64_t data_offset = 0;    // of the first byte of data, in the source
};

// The bytes of a member: a view into the source where stored, else owned.
class MemberBytes {
 public:
  explicit MemberBytes(ByteView view) : view_(view) {}
  explicit MemberBytes(Buffer owned) : owned_(std::move(owned)), view_(std::as_const(owned_).bytes()) {}

  ByteView bytes() const { return view_; }
  std::string_view text() const { return text_of(view_); }

 private:
  Buffer owned_;  // moves without moving its bytes
  ByteView view_;
};

class Zip {
 public:
  // The whole source, or the `size` bytes at `offset` (a zip stored in a zip; `where` is that member's name).
  static Result<Zip> open(const Source& source);
  static Result<Zip> open(const Source& source, uint64_t offset, uint64_t size, std::string where);

  const Source& source() const { return *source_; }
  const std::vector<Member>& members() const { return members_; }  // in the order of the directory
  const Member* find(std::string_view name) const;                 // null if there is none

  // A member that is metadata: bounded, inflated if need be, CRC checked (a mismatch is an error).
  Result<MemberBytes> read(const Member& member) const;
  // The same by name; a missing member is a diagnostic.
  Result<MemberBytes> read(std::string_view name) const;
  Result<const Member*> expect(std::string_view name) const;

  // A member that is weights: only its place.
  Record record(const Member& member) const;

  // Name of the member that holds this zip; empty where the zip is the whole source.
  const std::string& where() const { return where_; }

 private:
  Zip(const Source& source, std::string where) : source_(&source), where_(std::move(where)) {}
  const Source* source_;
  std::string where_;
  std::vector<Member> members_;
  std::vector<uint32_t> by_name_;  // indices of members_, sorted by name
};

}  // namespace torchlift::archive
