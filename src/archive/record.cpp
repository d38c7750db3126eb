#include "archive/record.hpp"

#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <new>
#include <vector>

#include "archive/inflate.hpp"
#include "base/check.hpp"
#include "base/kinds.hpp"
#include "base/text.hpp"

namespace torchlift::archive {
namespace {

constexpr size_t kCrcPieceBytes = size_t{128} << 10;  // stays in the processor's own cache until it is summed

std::string hex(uint32_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "0x";
  for (int shift = 28; shift >= 0; shift -= 4) out += kDigits[(value >> shift) & 15];
  return out;
}

bool lies_within(const Record& record) {
  return slice(record.source->bytes(), record.offset, record.stored_size).has_value();
}

}  // namespace

Result<Buffer> Buffer::allocate(uint64_t size, const std::string& file) {
  Buffer buffer;
  buffer.data_.reset(new (std::nothrow) std::byte[std::max<uint64_t>(size, 1)]);
  if (!buffer.data_) return diagnose(Kind::OutOfMemory, {{"bytes", static_cast<int64_t>(size)}}, file);
  buffer.size_ = size;
  return buffer;
}

ByteView Source::bytes() const {
  if (const File* mapped = file()) return mapped->bytes();
  return std::get<Buffer>(bytes_).bytes();
}

Status Source::read_at(uint64_t offset, std::span<std::byte> out) const {
  if (const File* on_disk = file()) return on_disk->read_at(offset, out);
  std::optional<ByteView> range = slice(bytes(), offset, out.size());
  CHECK(range.has_value()) << "records are checked against their source when the zip is opened";
  std::copy(range->begin(), range->end(), out.begin());
  return Unit{};
}

std::optional<FileRange> file_range(const Record& record) {
  const File* file = record.source->file();
  if (!record.is_stored() || file == nullptr) return std::nullopt;
  return FileRange{.descriptor = file->descriptor(), .offset = record.offset, .size = record.size};
}

std::optional<ByteView> view(const Record& record) {
  if (!record.is_stored()) return std::nullopt;
  return slice(record.source->bytes(), record.offset, record.size);
}

Result<RecordReader> RecordReader::open(const Record& record) {
  CHECK(lies_within(record)) << record.member;
  RecordReader reader(record);
  if (record.is_stored()) return reader;
  ByteView stream = record.source->bytes().subspan(record.offset, record.stored_size);
  TRY(reader.inflated_, inflate(stream, record.size, record.member, record.source->name()));
  return reader;
}

Status RecordReader::read(uint64_t offset, std::span<std::byte> out) const {
  CHECK(offset <= record_.size && out.size() <= record_.size - offset) << record_.member;
  if (record_.is_stored()) return record_.source->read_at(record_.offset + offset, out);
  ByteView range = inflated_.bytes().subspan(offset, out.size());
  std::copy(range.begin(), range.end(), out.begin());
  return Unit{};
}

uint32_t crc32(uint32_t crc, ByteView bytes) {
  // libdeflate takes a null pointer for "the initial value".
  if (bytes.empty()) return crc;
  return libdeflate_crc32(crc, bytes.data(), bytes.size());
}

Diagnostic crc_mismatch(Kind kind, const std::string& member, uint32_t seen, uint32_t expected,
                        const std::string& file) {
  return diagnose(kind, {{"name", member}, {"seen", hex(seen)}, {"expected", hex(expected)}}, file);
}

std::optional<Diagnostic> check_crc(const Record& record, Strict strict) {
  Result<RecordReader> reader = RecordReader::open(record);
  if (!reader) return reader.error();
  std::vector<std::byte> piece(std::min<uint64_t>(kCrcPieceBytes, record.size));
  uint32_t crc = 0;
  for (uint64_t offset = 0; offset < record.size; offset += piece.size()) {
    std::span<std::byte> part = std::span(piece).first(std::min<uint64_t>(piece.size(), record.size - offset));
    if (Status status = reader->read(offset, part); !status) return status.error();
    crc = crc32(crc, part);
  }
  if (crc == record.crc) return std::nullopt;
  Kind kind = strict == Strict::Yes ? Kind::MemberCrc : Kind::WeightCrc;
  return crc_mismatch(kind, record.member, crc, record.crc, record.source->name());
}

}  // namespace torchlift::archive
