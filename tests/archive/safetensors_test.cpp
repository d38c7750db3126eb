#include "archive/safetensors.hpp"

#include <gtest/gtest.h>

#include "support/temporary_directory.hpp"

namespace torchlift::archive {
namespace {

using test::TemporaryDirectory;

std::string bytes_with_header(const std::string& header, const std::string& data = "") {
  std::string out;
  for (size_t i = 0; i < 8; ++i) out += static_cast<char>((header.size() >> (8 * i)) & 0xFF);
  return out + header + data;
}

// The problem that the reader names; empty if it accepts the bytes.
std::string problem_of(const std::string& file) {
  auto header = read_safetensors_header(bytes_of(file), "x.safetensors");
  return header ? "" : header.error().message();
}

TEST(Safetensors, what_is_written_is_read_back) {
  TemporaryDirectory directory;
  std::string path = directory.file("x.safetensors");
  std::string floats(24, 'f');
  std::string flags = "\x01\x00\x01";
  std::vector<SafetensorsData> tensors = {{{"a \"quoted\" näme", DType::Float32, {2, 3}}, bytes_of(floats)},
                                          {{"flags", DType::Bool, {3}}, bytes_of(std::string_view(flags.data(), 3))},
                                          {{"empty", DType::Int64, {0, 4}}, {}}};
  ASSERT_TRUE(write_safetensors(path, tensors, {{"format", "pt"}}));
  auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(file) << file.error().message();
  ASSERT_EQ(file->tensors().size(), 3u);
  auto* a = file->find("a \"quoted\" näme");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(text_of(a->bytes), floats);
  EXPECT_EQ(file->find("nothing"), nullptr);
  EXPECT_EQ(*file->find_metadata("format"), "pt");
  EXPECT_EQ(directory.entries(), std::vector<std::string>{"x.safetensors"});
}

TEST(Safetensors, data_begins_at_a_multiple_of_64) {
  for (size_t length = 0; length < 130; ++length) {
    std::string header = safetensors_header({{std::string(length, 'n'), DType::Float64, {2}}}, {});
    EXPECT_EQ(header.size() % 64, 0u);
    EXPECT_EQ(problem_of(header + std::string(16, '\0')), "");
  }
}

TEST(Safetensors, complex128_is_stored_as_pairs_and_complex64_as_it_is) {
  auto pairs = storage_of("z", DType::Complex128, {3});
  EXPECT_EQ(pairs.dtype, DType::Float64);
  EXPECT_EQ(pairs.shape, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(storage_of("z", DType::Complex64, {3}).dtype, DType::Complex64);
}

TEST(Safetensors, every_dtype_has_a_form) {
  std::string header = R"({"x":{"dtype":"F8_E4M3FNUZ","shape":[2],"data_offsets":[0,2]}})";
  EXPECT_EQ(problem_of(bytes_with_header(header, "ab")), "");
}

TEST(Safetensors, tensors_are_listed_in_the_order_of_their_bytes) {
  std::string header =
      R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  std::string file = bytes_with_header(header, "xy");
  auto read = read_safetensors_header(bytes_of(file), "x");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->tensors[0].name, "a");
  EXPECT_EQ(text_of(read->tensors[1].bytes), "y");
}

TEST(Safetensors, unknown_keys_are_ignored) {
  EXPECT_EQ(problem_of(bytes_with_header(
                R"({"__metadata__":null,"a":{"dtype":"U8","shape":[],"data_offsets":[0,1],"more":[{}]}})", "x")),
            "");
}

TEST(Safetensors, headers_that_do_not_hold_together_are_refused_with_the_reason) {
  struct Row {
    std::string file;
    std::string expected;  // part of the message
  };
  auto tensor = [](const std::string& fields, const std::string& data = "") {
    return bytes_with_header("{\"a\":{" + fields + "}}", data);
  };
  const std::vector<Row> rows = {
      {"", "empty"},
      {"1234567", "it has 7 bytes"},
      {bytes_with_header("{}").substr(0, 9), "1 bytes follow"},
      {std::string(7, '\0') + "\x7f{}", "at most 100000000"},
      {bytes_with_header(""), "does not begin with {"},
      {bytes_with_header(" {}"), "does not begin with {"},
      {bytes_with_header("{"), "no JSON"},
      {bytes_with_header(std::string(100000, '[').insert(0, "{\"a\":")), "no JSON"},
      {bytes_with_header("{}", "x"), "the file has 11 bytes"},
      {bytes_with_header(R"({"__metadata__":[]})"), "no JSON object"},
      {bytes_with_header(R"({"__metadata__":{"a":1}})"), "is no string"},
      {bytes_with_header(R"({"__metadata__":{"a":"1","a":"2"}})"), "stands twice"},
      {bytes_with_header(R"({"__metadata__":{},"__metadata__":{}})"), "stands twice"},
      {bytes_with_header(R"({"a":1})"), "no JSON object"},
      {tensor(R"("shape":[],"data_offsets":[0,1])"), "`dtype` is missing"},
      {tensor(R"("dtype":"F4","shape":[],"data_offsets":[0,1])"), "dtype \"F4\" is unknown"},
      {tensor(R"("dtype":"U8","shape":[-1],"data_offsets":[0,1])"), "`shape`"},
      {tensor(R"("dtype":"U8","shape":[1.5],"data_offsets":[0,1])"), "`shape`"},
      {tensor(R"("dtype":"U8","shape":[1],"data_offsets":[0])"), "`data_offsets`"},
      {tensor(R"("dtype":"U8","shape":[1],"data_offsets":[1,0])"), "before its begin"},
      {tensor(R"("dtype":"U8","shape":[2],"data_offsets":[0,1])", "x"), "has 1 bytes, its shape and dtype take 2"},
      {tensor(R"("dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,1])", "x"), "leaves 64 bits"},
      {tensor(R"("dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,18446744073709551615])"),
       "leaves 64 bits"},
      {tensor(R"("dtype":"U8","shape":[2],"data_offsets":[0,2])", "x"), "the file has 1 bytes of data"},
      {tensor(R"("dtype":"U8","shape":[1],"data_offsets":[1,2])", "xy"), "no gap"},
      {bytes_with_header(
           R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
           "xy"),
       "no overlap"},
  };
  for (auto& row : rows)
    EXPECT_NE(problem_of(row.file).find(row.expected), std::string::npos) << row.expected << "\n"
                                                                          << problem_of(row.file);
}

TEST(Safetensors, a_name_that_stands_twice_is_refused) {
  TemporaryDirectory directory;
  std::string entry = R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  test::write_text(directory.file("x"), bytes_with_header("{" + entry + "," + entry + "}"));
  auto file = SafetensorsFile::open(directory.file("x"));
  ASSERT_FALSE(file);
  EXPECT_EQ(info(file.error().kind).id, "safetensors-tensor");
}

// A header of 0x280 bytes: the file begins like a pickle of protocol 2.
TEST(Safetensors, the_length_of_the_header_is_taken_for_no_other_format) {
  TemporaryDirectory directory;
  std::string header = R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})";
  header.resize(0x280, ' ');
  test::write_text(directory.file("x"), bytes_with_header(header));
  auto file = SafetensorsFile::open(directory.file("x"));
  EXPECT_TRUE(file) << to_text(file.error());
}

TEST(Safetensors, every_cut_of_a_file_is_refused) {
  std::string whole = safetensors_header({{"a", DType::Float32, {4}}}, {{"k", "v"}}) + std::string(16, 'x');
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_NE(problem_of(whole.substr(0, size)), "") << size;
}

}  // namespace
}  // namespace torchlift::archive
