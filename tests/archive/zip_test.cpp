// The zip directory: what is read, and each thing that is refused.
#include "archive/zip.hpp"

#include <gtest/gtest.h>

#include "archive/zip_builder.hpp"

namespace torchlift::archive {
namespace {

// The zip of `entries`, opened; the source lives as long as it.
struct Opened {
  std::unique_ptr<Source> source;
  Result<Zip> zip;

  explicit Opened(const std::string& bytes) : source(memory_source(bytes)), zip(Zip::open(*source)) {}
  std::string read(std::string_view name) const {
    Result<MemberBytes> bytes = zip->read(name);
    return bytes ? std::string(bytes->text()) : "refused: " + std::string(info(bytes.error().kind).id);
  }
};

std::string refusal(const std::string& bytes) {
  Opened opened(bytes);
  return opened.zip ? "" : std::string(info(opened.zip.error().kind).id);
}

std::string patched(std::string bytes, size_t at, uint64_t value, size_t width) {
  std::string field;
  put_number(field, value, width);
  return bytes.replace(at, width, field);
}

const ZipEntry kHello{.name = "m/hello", .data = "hello"};

TEST(Zip, members_are_listed_in_the_order_of_the_directory) {
  Opened opened(build_zip({kHello, {.name = "m/b", .data = ""}, {.name = "a", .data = "xyz", .deflated = true}}));
  ASSERT_TRUE(opened.zip.ok());
  ASSERT_EQ(opened.zip->members().size(), 3u);
  EXPECT_EQ(opened.zip->members()[1].name, "m/b");
  EXPECT_EQ(opened.read("m/hello"), "hello");
  EXPECT_EQ(opened.read("m/b"), "");
  EXPECT_EQ(opened.read("a"), "xyz");
  EXPECT_EQ(opened.read("b"), "refused: member-missing");
  EXPECT_EQ(opened.zip->find("m/hell"), nullptr);
}

TEST(Zip, containers_as_pytorch_writes_them_are_read) {
  Opened opened(build_zip({{.name = "m/data/0", .data = "0123", .sizes_follow = true, .alignment = 64},
                           {.name = "m/data/1", .data = "4567", .sizes_follow = true, .alignment = 64, .zip64 = true}},
                          {.zip64_end = true}));
  ASSERT_TRUE(opened.zip.ok()) << opened.zip.error().message();
  EXPECT_EQ(opened.read("m/data/0"), "0123");
  EXPECT_EQ(opened.read("m/data/1"), "4567");
  for (const Member& member : opened.zip->members()) EXPECT_EQ(member.data_offset % 64, 0u);
}

TEST(Zip, records_give_the_place_of_stored_bytes) {
  Opened opened(
      build_zip({kHello, {.name = "w", .data = "weights"}, {.name = "z", .data = "packed", .deflated = true}}));
  Record record = opened.zip->record(*opened.zip->find("w"));
  EXPECT_EQ(text_of(*view(record)), "weights");
  EXPECT_FALSE(file_range(record).has_value());  // it is in memory
  EXPECT_FALSE(check_crc(record, Strict::Yes).has_value());

  Record packed = opened.zip->record(*opened.zip->find("z"));
  EXPECT_FALSE(view(packed).has_value());
  Result<RecordReader> reader = RecordReader::open(packed);
  std::string out(3, ' ');
  ASSERT_TRUE(reader->read(2, std::as_writable_bytes(std::span(out))).ok());
  EXPECT_EQ(out, "cke");
}

TEST(Zip, a_comment_may_follow_the_end_record) {
  Opened opened(build_zip({kHello}, {.comment = "made by hand"}));
  ASSERT_TRUE(opened.zip.ok());
  EXPECT_EQ(opened.read("m/hello"), "hello");
}

TEST(Zip, an_empty_zip_has_no_members) {
  Opened opened(build_zip({}));
  ASSERT_TRUE(opened.zip.ok());
  EXPECT_TRUE(opened.zip->members().empty());
}

TEST(Zip, a_file_cut_at_any_byte_is_refused) {
  std::string bytes = build_zip({kHello,
                                 {.name = "m/b", .data = "1234", .sizes_follow = true, .alignment = 64},
                                 {.name = "m/c", .data = "56", .deflated = true, .zip64 = true}},
                                {.zip64_end = true});
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(refusal(bytes.substr(0, size)).empty()) << size;
  EXPECT_EQ(refusal(bytes.substr(0, bytes.size() - 1)), "zip-truncated");
}

TEST(Zip, no_single_changed_byte_crashes_the_reader) {
  std::string bytes =
      build_zip({kHello, {.name = "m/c", .data = "56", .deflated = true, .zip64 = true}}, {.zip64_end = true});
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (char value : {'\x00', '\x01', '\x7f', '\xff'}) {
      std::string changed = bytes;
      changed[at] = value;
      Opened opened(changed);
      if (!opened.zip) continue;
      for (const Member& member : opened.zip->members()) (void)opened.read(member.name);
    }
  }
}

TEST(Zip, local_headers_that_disagree_are_refused) {
  EXPECT_EQ(refusal(build_zip({{.name = "a", .data = "x", .local_name = "b"}})), "zip-headers");
  EXPECT_EQ(refusal(build_zip({{.name = "a", .data = "x", .local_method = uint16_t{8}}})), "zip-headers");
  EXPECT_EQ(refusal(build_zip({{.name = "a", .data = "x", .local_crc = 7u}})), "zip-headers");
  EXPECT_EQ(refusal(build_zip({{.name = "a", .data = "x", .local_size = 7u}})), "zip-headers");
  // Zeros are normal only where sizes and CRC follow the data.
  EXPECT_EQ(refusal(build_zip({{.name = "a", .data = "x", .local_crc = 0u}})), "zip-headers");
  EXPECT_EQ(refusal(build_zip({{.name = "a", .data = "x", .sizes_follow = true}})), "");
  EXPECT_EQ(refusal(build_zip({{.name = "a", .data = "x", .sizes_follow = true, .local_size = 9u}})), "zip-headers");
}

TEST(Zip, overlapping_members_are_refused) {
  EXPECT_EQ(refusal(build_zip({{.name = "a", .data = "x"}, {.name = "a", .data = "x", .header_offset = 0u}})),
            "zip-overlap");
  // A member inside another one's data.
  std::string inner = build_zip({{.name = "b", .data = "y"}}).substr(0, 32);
  EXPECT_EQ(refusal(build_zip({{.name = "a", .data = inner}, {.name = "b", .data = "y", .header_offset = 31u}})),
            "zip-overlap");
}

TEST(Zip, members_outside_the_file_or_in_the_directory_are_refused) {
  EXPECT_EQ(refusal(build_zip({{.name = "a", .data = "x", .header_offset = 1u << 20}})), "zip-member-outside");
  EXPECT_EQ(
      refusal(build_zip(
          {{.name = "a", .data = "x", .sizes_follow = true, .central_size = 999u, .central_compressed_size = 999u}})),
      "zip-member-outside");
  // The data would reach into the directory.
  EXPECT_EQ(
      refusal(build_zip(
          {{.name = "a", .data = "x", .sizes_follow = true, .central_size = 18u, .central_compressed_size = 18u}})),
      "zip-member-outside");
}

TEST(Zip, duplicate_names_are_refused) {
  EXPECT_EQ(refusal(build_zip({kHello, {.name = "m/b", .data = "1"}, kHello})), "zip-duplicate");
}

TEST(Zip, names_that_are_no_plain_path_are_refused) {
  for (std::string name : {std::string(""), std::string("/etc/passwd"), std::string("../up"), std::string("a/../b"),
                           std::string("a/.."), std::string("a\\b"), std::string("a\0b", 3), std::string(5000, 'n')})
    EXPECT_EQ(refusal(build_zip({{.name = name, .data = "x"}})), "zip-name") << name;
  EXPECT_EQ(refusal(build_zip({{.name = "a/..b/c..", .data = "x"}, {.name = "folder/", .data = ""}})), "");
}

TEST(Zip, encrypted_members_are_refused) {
  EXPECT_EQ(refusal(build_zip({{.name = "a", .data = "x", .flags = 1}})), "zip-encrypted");
  EXPECT_EQ(refusal(build_zip({{.name = "a", .data = "x", .flags = 1u << 13}})), "zip-encrypted");
}

TEST(Zip, unknown_methods_are_refused) {
  EXPECT_EQ(
      refusal(build_zip({{.name = "a", .data = "x", .local_method = uint16_t{12}, .central_method = uint16_t{12}}})),
      "zip-method");
}

TEST(Zip, split_archives_are_refused) {
  std::string bytes = build_zip({kHello});
  EXPECT_EQ(refusal(patched(bytes, bytes.size() - 18, 1, 2)), "zip-multi-disk");
  EXPECT_EQ(refusal(patched(bytes, bytes.size() - 14, 9, 2)), "zip-multi-disk");
}

TEST(Zip, a_directory_that_does_not_fit_is_refused) {
  std::string bytes = build_zip({kHello});
  EXPECT_EQ(refusal(patched(bytes, bytes.size() - 6, 1, 4)), "zip-directory");   // its offset
  EXPECT_EQ(refusal(patched(bytes, bytes.size() - 10, 1, 4)), "zip-directory");  // its size
  EXPECT_EQ(refusal(patched(patched(bytes, bytes.size() - 12, 2, 2), bytes.size() - 14, 2, 2)), "zip-directory");
  EXPECT_EQ(refusal(patched(patched(bytes, bytes.size() - 12, 0, 2), bytes.size() - 14, 0, 2)), "zip-directory");
  EXPECT_EQ(refusal("front" + bytes), "zip-directory");  // bytes before the zip
}

TEST(Zip, a_zip64_end_record_must_agree_with_the_short_one) {
  std::string bytes = build_zip({kHello}, {.zip64_end = true});
  size_t end64 = bytes.size() - 22 - 20 - 56;
  EXPECT_EQ(refusal(patched(bytes, end64 + 48, 3, 8)), "zip-directory");
  EXPECT_EQ(refusal(patched(bytes, end64 + 4, 43, 8)), "zip-directory");
  EXPECT_EQ(refusal(patched(bytes, bytes.size() - 22 - 12, ~uint64_t{0}, 8)), "zip-directory");
  // All bits set in the short record: the zip64 one holds the value.
  std::string deferred = patched(patched(bytes, bytes.size() - 6, 0xFFFFFFFF, 4), bytes.size() - 10, 0xFFFFFFFF, 4);
  EXPECT_EQ(refusal(patched(patched(deferred, bytes.size() - 12, 0xFFFF, 2), bytes.size() - 14, 0xFFFF, 2)), "");
}

TEST(Zip, a_second_end_record_in_the_comment_is_refused) {
  std::string inner = build_zip({kHello});
  EXPECT_EQ(refusal(build_zip({kHello}, {.comment = inner})), "zip-directory");
}

TEST(Zip, more_members_than_the_limit_are_refused) {
  std::string bytes = build_zip({kHello}, {.zip64_end = true});
  size_t end64 = bytes.size() - 22 - 20 - 56;
  for (size_t at : {end64 + 24, end64 + 32}) bytes = patched(bytes, at, kMaxMembers + 1, 8);
  bytes = patched(patched(bytes, bytes.size() - 12, 0xFFFF, 2), bytes.size() - 14, 0xFFFF, 2);
  EXPECT_EQ(refusal(bytes), "zip-too-many");
}

TEST(Zip, metadata_with_a_wrong_crc_is_an_error) {
  Opened opened(build_zip({{.name = "a", .data = "x", .local_crc = 7u, .central_crc = 7u}}));
  EXPECT_EQ(opened.read("a"), "refused: member-crc");
}

TEST(Zip, weights_with_a_wrong_crc_are_a_warning_unless_strict) {
  Opened opened(build_zip({{.name = "a", .data = "x", .local_crc = 7u, .central_crc = 7u}}));
  Record record = opened.zip->record(opened.zip->members()[0]);
  EXPECT_EQ(check_crc(record, Strict::No)->severity(), Severity::Warning);
  EXPECT_EQ(check_crc(record, Strict::Yes)->severity(), Severity::Error);
}

TEST(Zip, crcs_are_counted_over_pieces) {
  std::string data(3'000'001, 'q');
  Opened opened(build_zip({{.name = "a", .data = data}}));
  EXPECT_FALSE(check_crc(opened.zip->record(opened.zip->members()[0]), Strict::Yes).has_value());
  EXPECT_EQ(crc32(0, bytes_of("123456789")), 0xCBF43926u);
  EXPECT_EQ(crc32(crc32(0, bytes_of("1234")), bytes_of("56789")), 0xCBF43926u);
}

TEST(Zip, deflated_members_must_hold_the_declared_bytes) {
  auto with_size = [](uint32_t size) {
    return Opened(
        build_zip({{.name = "a", .data = "abc", .deflated = true, .local_size = size, .central_size = size}}));
  };
  EXPECT_EQ(with_size(3).read("a"), "abc");
  EXPECT_EQ(with_size(2).read("a"), "refused: zip-inflate");
  EXPECT_EQ(with_size(4).read("a"), "refused: zip-inflate");
  Opened damaged(build_zip({{.name = "a", .data = "abc", .local_method = uint16_t{8}, .central_method = uint16_t{8}}}));
  EXPECT_EQ(damaged.read("a"), "refused: zip-inflate");
}

TEST(Zip, members_that_would_inflate_too_far_are_refused) {
  auto with_size = [](uint32_t size) {
    return build_zip(
        {{.name = "a", .data = std::string(100'000, 'x'), .deflated = true, .local_size = size, .central_size = size}});
  };
  EXPECT_EQ(Opened(with_size(50'000'000)).read("a"), "refused: zip-member-size");  // ratio 500, as metadata
  EXPECT_EQ(refusal(with_size(150'000'000)), "zip-directory");                     // ratio 1500: no deflate stream can
}

TEST(Zip, stored_members_must_have_one_size) {
  EXPECT_EQ(refusal(build_zip({{.name = "a", .data = "abc", .sizes_follow = true, .central_size = 2u}})),
            "zip-directory");
}

TEST(Zip, a_zip_within_a_file_counts_offsets_from_its_start) {
  std::string inner = build_zip({kHello});
  auto source = memory_source("front" + inner + "behind");
  Result<Zip> zip = Zip::open(*source, 5, inner.size(), "nested");
  ASSERT_TRUE(zip.ok());
  Record record = zip->record(zip->members()[0]);
  EXPECT_EQ(text_of(source->bytes().subspan(record.offset, record.size)), "hello");
  EXPECT_EQ(record.member, "nested/m/hello");
}

}  // namespace
}  // namespace torchlift::archive
