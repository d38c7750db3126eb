#include "archive/npy.hpp"

#include <gtest/gtest.h>

#include "support/temporary_directory.hpp"

namespace torchlift::archive {
namespace {

using test::TemporaryDirectory;

std::string npy(const std::string& dict, const std::string& data, char version = 1) {
  std::string out = std::string("\x93NUMPY") + version + '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) out += static_cast<char>((dict.size() >> (8 * i)) & 0xFF);
  return out + dict + data;
}

std::string problem_of(const std::string& file) {
  auto header = read_npy_header(bytes_of(file), "x.npy");
  return header ? "" : header.error().message();
}

TEST(Npy, what_is_written_is_read_back) {
  TemporaryDirectory directory;
  for (auto& shape : std::vector<std::vector<int64_t>>{{}, {3}, {2, 3}, {0, 5}}) {
    size_t count = 1;
    for (int64_t size : shape) count *= static_cast<size_t>(size);
    std::string data(count * 4, 'd');
    ASSERT_TRUE(write_npy(directory.file("x.npy"), DType::Float32, shape, bytes_of(data)));
    auto file = NpyFile::open(directory.file("x.npy"));
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_EQ(file->dtype(), DType::Float32);
    EXPECT_EQ(file->shape(), shape);
    EXPECT_EQ(text_of(file->bytes()), data);
    EXPECT_EQ((test::read_text(directory.file("x.npy")).size() - data.size()) % 64, 0u);
  }
}

TEST(Npy, column_major_arrays_are_put_in_row_major_order) {
  TemporaryDirectory directory;
  // [[0, 1, 2], [3, 4, 5]] as numpy keeps it in Fortran order.
  test::write_text(directory.file("x.npy"), npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n",
                                                std::string("\0\3\1\4\2\5", 6), 3));
  auto file = NpyFile::open(directory.file("x.npy"));
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(text_of(file->bytes()), std::string("\0\1\2\3\4\5", 6));
}

TEST(Npy, a_dtype_that_numpy_lacks_is_not_written) {
  TemporaryDirectory directory;
  EXPECT_FALSE(write_npy(directory.file("x.npy"), DType::BFloat16, {1}, bytes_of("ab")));
  EXPECT_TRUE(directory.entries().empty());
}

TEST(Npy, files_that_do_not_hold_together_are_refused_with_the_reason) {
  struct Row {
    std::string file;
    std::string expected;
  };
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
  const std::vector<Row> rows = {
      {"", "empty"},
      {"PK", "mark"},
      {"\x93NUMPY\x01", "within its header"},
      {npy(good, "abcd", 9), "version is 9"},
      {npy(good, "abcd").substr(0, 20), "within its header"},
      {npy(good, "abc"), "take 4 bytes, 3 are there"},
      {npy("[]", ""), "does not begin with {"},
      {npy("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "abcd"), "little-endian"},
      {npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "abcd"), "structured"},
      {npy("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }", "abcd"), "True nor False"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "abcd"), "tuple of sizes"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9223372036854775807), }", "abcd"),
       "more than 2^64"},
      {npy("{'descr': '<f4', 'fortran_order': False, 'color': 1 }", "abcd"), "unknown key"},
      {npy("{'descr': '<f4', }", "abcd"), "lacks one of"},
  };
  for (auto& row : rows)
    EXPECT_NE(problem_of(row.file).find(row.expected), std::string::npos) << row.expected << "\n"
                                                                          << problem_of(row.file);
}

}  // namespace
}  // namespace torchlift::archive
