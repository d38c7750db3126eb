// Makes zip files for tests, right ones and, by the knobs of an entry, wrong ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "archive/record.hpp"
#include "archive/zip.hpp"

namespace torchlift::archive {

struct ZipEntry {
  std::string name = {};
  std::string data = {};
  bool deflated = false;      // as deflate blocks that are not compressed
  bool sizes_follow = false;  // flag bit 3: zeros in the local header, a data descriptor after the data
  size_t alignment = 1;       // of the data, by an extra field in the local header only, as PyTorch pads
  bool zip64 = false;         // sizes and offset in a zip64 field of the directory
  // What is written in place of the truth.
  std::optional<std::string> local_name = {};
  std::optional<uint16_t> local_method = {};
  std::optional<uint16_t> central_method = {};
  std::optional<uint32_t> local_crc = {};
  std::optional<uint32_t> central_crc = {};
  std::optional<uint32_t> local_size = {};
  std::optional<uint32_t> central_size = {};
  std::optional<uint32_t> central_compressed_size = {};
  std::optional<uint32_t> header_offset = {};
  uint16_t flags = 0;
};

struct ZipShape {
  bool zip64_end = false;  // a zip64 end record and locator, as PyTorch always writes
  std::string comment = {};
};

inline void put_number(std::string& out, uint64_t value, size_t width) {
  for (size_t i = 0; i < width; ++i) out += static_cast<char>(i < sizeof value ? value >> (8 * i) & 0xFF : 0);
}

inline std::string deflate_without_compression(std::string_view data) {
  std::string out;
  do {
    std::string_view block = data.substr(0, 0xFFFF);
    data.remove_prefix(block.size());
    out += static_cast<char>(data.empty() ? 1 : 0);
    put_number(out, block.size(), 2);
    put_number(out, ~block.size() & 0xFFFF, 2);
    out += block;
  } while (!data.empty());
  return out;
}

inline std::string build_zip(const std::vector<ZipEntry>& entries, const ZipShape& shape = {}) {
  std::string out, directory;
  for (const ZipEntry& entry : entries) {
    std::string stored = entry.deflated ? deflate_without_compression(entry.data) : entry.data;
    uint32_t crc = crc32(0, bytes_of(entry.data));
    uint16_t method = entry.deflated ? 8 : 0;
    auto flags = static_cast<uint16_t>(entry.flags | (entry.sizes_follow ? 8 : 0));
    size_t header_offset = out.size();
    const std::string local_name = entry.local_name.value_or(entry.name);
    size_t data_at = header_offset + 30 + local_name.size();
    size_t padding = 0;
    if (entry.alignment > 1) padding = 4 + (entry.alignment - (data_at + 4) % entry.alignment) % entry.alignment;

    put_number(out, 0x04034b50, 4);
    put_number(out, 45, 2);
    put_number(out, flags, 2);
    put_number(out, entry.local_method.value_or(method), 2);
    put_number(out, 0, 4);
    put_number(out, entry.local_crc.value_or(entry.sizes_follow ? 0 : crc), 4);
    put_number(out, entry.sizes_follow ? 0 : stored.size(), 4);
    put_number(out, entry.local_size.value_or(static_cast<uint32_t>(entry.sizes_follow ? 0 : entry.data.size())), 4);
    put_number(out, local_name.size(), 2);
    put_number(out, padding, 2);
    out += local_name;
    if (padding > 0) {
      out += "FB";
      put_number(out, padding - 4, 2);
      out.append(padding - 4, 'Z');
    }
    out += stored;
    if (entry.sizes_follow) {
      put_number(out, 0x08074b50, 4);
      put_number(out, crc, 4);
      put_number(out, stored.size(), 4);
      put_number(out, entry.data.size(), 4);
    }

    put_number(directory, 0x02014b50, 4);
    put_number(directory, 45, 2);
    put_number(directory, 45, 2);
    put_number(directory, flags, 2);
    put_number(directory, entry.central_method.value_or(method), 2);
    put_number(directory, 0, 4);
    put_number(directory, entry.central_crc.value_or(crc), 4);
    uint64_t size = entry.central_size.value_or(static_cast<uint32_t>(entry.data.size()));
    uint64_t compressed = entry.central_compressed_size.value_or(static_cast<uint32_t>(stored.size()));
    uint64_t offset = entry.header_offset.value_or(static_cast<uint32_t>(header_offset));
    put_number(directory, entry.zip64 ? 0xFFFFFFFF : compressed, 4);
    put_number(directory, entry.zip64 ? 0xFFFFFFFF : size, 4);
    put_number(directory, entry.name.size(), 2);
    put_number(directory, entry.zip64 ? 28 : 0, 2);
    put_number(directory, 0, 2);
    put_number(directory, 0, 2);
    put_number(directory, 0, 2);
    put_number(directory, 0, 4);
    put_number(directory, entry.zip64 ? 0xFFFFFFFF : offset, 4);
    directory += entry.name;
    if (entry.zip64) {
      put_number(directory, 1, 2);
      put_number(directory, 24, 2);
      put_number(directory, size, 8);
      put_number(directory, compressed, 8);
      put_number(directory, offset, 8);
    }
  }
  size_t directory_at = out.size();
  out += directory;
  if (shape.zip64_end) {
    size_t end64_at = out.size();
    put_number(out, 0x06064b50, 4);
    put_number(out, 44, 8);
    put_number(out, 45, 2);
    put_number(out, 45, 2);
    put_number(out, 0, 8);
    put_number(out, entries.size(), 8);
    put_number(out, entries.size(), 8);
    put_number(out, directory.size(), 8);
    put_number(out, directory_at, 8);
    put_number(out, 0x07064b50, 4);
    put_number(out, 0, 4);
    put_number(out, end64_at, 8);
    put_number(out, 1, 4);
  }
  put_number(out, 0x06054b50, 4);
  put_number(out, 0, 4);
  put_number(out, entries.size(), 2);
  put_number(out, entries.size(), 2);
  put_number(out, directory.size(), 4);
  put_number(out, directory_at, 4);
  put_number(out, shape.comment.size(), 2);
  out += shape.comment;
  return out;
}

// The bytes as a Source in memory, called "test.zip".
inline std::unique_ptr<Source> memory_source(std::string_view bytes) {
  Result<Buffer> buffer = Buffer::allocate(bytes.size(), "test.zip");
  CHECK(buffer.ok());
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(buffer->bytes().data()));
  return std::make_unique<Source>(std::move(buffer).value(), "test.zip");
}

}  // namespace torchlift::archive
