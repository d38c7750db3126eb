// Where bytes of an archive lie. Weight records are never loaded: a Record is a place in a Source, read in pieces by
// whoever needs its bytes, or copied file to file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace torchlift::archive {

// Memory of a fixed size whose allocation may fail.
class Buffer {
 public:
  // `size` bytes of undefined content; `file` is named by the diagnostic if there is no memory.
  static Result<Buffer> allocate(uint64_t size, const std::string& file);

  std::span<std::byte> bytes() { return {data_.get(), size_}; }
  ByteView bytes() const { return {data_.get(), size_}; }

 private:
  std::unique_ptr<std::byte[]> data_;
  size_t size_ = 0;
};

// A file, or bytes in memory (an inflated member). Records and zips point to it: it neither moves nor is copied.
class Source {
 public:
  explicit Source(File file) : name_(file.path()), bytes_(std::move(file)) {}
  Source(Buffer memory, std::string name) : name_(std::move(name)), bytes_(std::move(memory)) {}
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  const std::string& name() const { return name_; }                 // the path of the model file, for messages
  const File* file() const { return std::get_if<File>(&bytes_); }   // null where the bytes are in memory
  ByteView bytes() const;                                           // mapped or in memory
  Status read_at(uint64_t offset, std::span<std::byte> out) const;  // a file is read by pread, not by its map

 private:
  std::string name_;
  std::variant<File, Buffer> bytes_;
};

enum class Method : uint16_t { Stored = 0, Deflated = 8 };

// One member's bytes.
struct Record {
  const Source* source = nullptr;
  uint64_t offset = 0;       // in the source, of the first byte as it is stored
  uint64_t stored_size = 0;  // bytes in the source
  uint64_t size = 0;         // bytes once inflated; equals stored_size where stored
  Method method = Method::Stored;
  uint32_t crc = 0;         // CRC-32 of the inflated bytes, as the archive says
  std::string member = {};  // its name, for messages

  bool is_stored() const { return method == Method::Stored; }
};

// A range of an open file, for copy_file_range.
struct FileRange {
  int descriptor = -1;
  uint64_t offset = 0;
  uint64_t size = 0;
};

std::optional<FileRange> file_range(const Record& record);  // nothing if deflated or in memory
std::optional<ByteView> view(const Record& record);         // mapped or in memory; nothing if deflated

// Reads ranges of one record. A deflated record is inflated whole when the reader is made, and freed with it.
class RecordReader {
 public:
  static Result<RecordReader> open(const Record& record);

  uint64_t size() const { return record_.size; }
  // Fills `out` from `offset`; CHECKs that the range lies in the record.
  Status read(uint64_t offset, std::span<std::byte> out) const;

 private:
  explicit RecordReader(Record record) : record_(std::move(record)) {}
  Record record_;
  Buffer inflated_;  // where the record is deflated
};

// CRC-32 (of zip) of bytes that follow others whose CRC is `crc`; 0 to begin.
uint32_t crc32(uint32_t crc, ByteView bytes);

// MemberCrc or WeightCrc.
Diagnostic crc_mismatch(Kind kind, const std::string& member, uint32_t seen, uint32_t expected,
                        const std::string& file);

enum class Strict : bool { No, Yes };

// Reads the whole record in pieces. Nothing if its CRC-32 is what the archive says; else a warning, or with Strict::Yes
// an error (torch can be told to write no CRCs). Bytes that cannot be read are an error.
std::optional<Diagnostic> check_crc(const Record& record, Strict strict);

}  // namespace torchlift::archive
