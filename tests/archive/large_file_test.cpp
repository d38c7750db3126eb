// An archive beyond 4 GiB, as a file with a hole.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "archive/archive.hpp"
#include "archive/zip_builder.hpp"

namespace torchlift::archive {
namespace {

constexpr uint64_t kWeightBytes = uint64_t{5} << 30;

void put_all(int file, uint64_t at, const std::string& bytes) {
  ASSERT_EQ(::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(at)), static_cast<ssize_t>(bytes.size()));
}

// Signature, versions, flags, method, time: what both headers have in common before the CRC.
std::string header_start(uint32_t signature, bool central) {
  std::string out;
  put_number(out, signature, 4);
  put_number(out, 45, 2);
  if (central) put_number(out, 45, 2);
  put_number(out, 8, 2);
  put_number(out, 0, 6);
  return out;
}

std::string local_header(const std::string& name) {
  std::string out = header_start(0x04034b50, false);
  put_number(out, 0, 12);
  put_number(out, name.size(), 2);
  put_number(out, 0, 2);
  return out + name;
}

std::string central_header(const std::string& name, uint32_t crc, uint64_t size, uint64_t offset) {
  std::string out = header_start(0x02014b50, true);
  put_number(out, crc, 4);
  put_number(out, 0xFFFFFFFF, 4);
  put_number(out, 0xFFFFFFFF, 4);
  put_number(out, name.size(), 2);
  put_number(out, 28, 2);
  put_number(out, 0, 10);
  put_number(out, 0xFFFFFFFF, 4);
  out += name;
  put_number(out, 1, 2);
  put_number(out, 24, 2);
  put_number(out, size, 8);
  put_number(out, size, 8);
  put_number(out, offset, 8);
  return out;
}

std::string end_records(uint64_t count, uint64_t size, uint64_t offset) {
  std::string out;
  put_number(out, 0x06064b50, 4);
  put_number(out, 44, 8);
  put_number(out, 45, 2);
  put_number(out, 45, 2);
  put_number(out, 0, 8);
  put_number(out, count, 8);
  put_number(out, count, 8);
  put_number(out, size, 8);
  put_number(out, offset, 8);
  put_number(out, 0x07064b50, 4);
  put_number(out, 0, 4);
  put_number(out, offset + size, 8);
  put_number(out, 1, 4);
  put_number(out, 0x06054b50, 4);
  put_number(out, 0, 4);
  put_number(out, count, 2);
  put_number(out, count, 2);
  put_number(out, size, 4);
  put_number(out, 0xFFFFFFFF, 4);
  put_number(out, 0, 2);
  return out;
}

TEST(LargeFile, members_beyond_four_gibibytes_are_found) {
  std::string path = (std::filesystem::path(testing::TempDir()) / "torchlift_large_file_test.pt2").string();
  int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  ASSERT_GE(file, 0);
  std::string weight = local_header("m/w"), format = local_header("m/archive_format") + "pt2";
  uint64_t format_at = weight.size() + kWeightBytes, directory_at = format_at + format.size();
  std::string directory = central_header("m/w", 0, kWeightBytes, 0) +
                          central_header("m/archive_format", crc32(0, bytes_of("pt2")), 3, format_at);
  put_all(file, 0, weight);
  put_all(file, format_at, format);
  put_all(file, directory_at, directory + end_records(2, directory.size(), directory_at));
  put_all(file, format_at - 4, "last");
  ::close(file);

  auto archive = Archive::open(path);
  ::unlink(path.c_str());
  ASSERT_TRUE(archive.ok()) << to_text(archive.error());
  EXPECT_EQ((*archive)->read("archive_format")->text(), "pt2");
  Record record = (*archive)->zip().record(*(*archive)->find("w"));
  EXPECT_EQ(record.size, kWeightBytes);
  EXPECT_EQ(file_range(record)->offset, weight.size());
  Result<RecordReader> reader = RecordReader::open(record);
  std::string last(4, ' ');
  ASSERT_TRUE(reader->read(kWeightBytes - 4, std::as_writable_bytes(std::span(last))).ok());
  EXPECT_EQ(last, "last");
}

}  // namespace
}  // namespace torchlift::archive
