// Numbers, sections and value numbers of MLIR's bytecode; the tables of VHLO.
#include "stablehlo/bytecode.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "stablehlo/opcode.hpp"
#include "stablehlo/vhlo.hpp"

namespace torchlift::stablehlo {
namespace {

using bytecode::Decoder;
using bytecode::Encoder;

std::string bytes(std::initializer_list<int> values) {
  std::string out;
  for (int v : values) out += static_cast<char>(v);
  return out;
}

TEST(Bytecode, numbers_take_as_many_bytes_as_they_have_sevens_of_bits) {
  struct Row {
    uint64_t value;
    std::string bytes;
  };
  const Row rows[] = {
      {0, bytes({1})},
      {1, bytes({3})},
      {127, bytes({255})},
      {128, bytes({0x02, 0x02})},
      {300, bytes({0xb2, 0x04})},
      {16383, bytes({0xfe, 0xff})},
      {16384, bytes({0x04, 0x00, 0x02})},
      {(uint64_t{1} << 56) - 1, bytes({0x80, 255, 255, 255, 255, 255, 255, 255})},
      {uint64_t{1} << 56, bytes({0, 0, 0, 0, 0, 0, 0, 0, 1})},
      {UINT64_MAX, bytes({0, 255, 255, 255, 255, 255, 255, 255, 255})},
  };
  for (const Row& row : rows) {
    Encoder out;
    out.varint(row.value);
    EXPECT_EQ(out.data(), row.bytes) << row.value;
    Decoder in(bytes_of(row.bytes));
    EXPECT_EQ(in.varint(), row.value);
    EXPECT_TRUE(in.ok() && in.at_end());
    for (size_t size = 0; size < row.bytes.size(); ++size) {
      Decoder cut(bytes_of(std::string_view(row.bytes).substr(0, size)));
      EXPECT_EQ(cut.varint(), 0u);
      EXPECT_FALSE(cut.ok());
    }
  }
}

TEST(Bytecode, numbers_read_back) {
  for (unsigned bit = 0; bit < 64; ++bit)
    for (int64_t delta : {-1, 0, 1}) {
      const auto value = static_cast<int64_t>((uint64_t{1} << bit) + static_cast<uint64_t>(delta));
      Encoder out;
      out.varint(static_cast<uint64_t>(value));
      out.signed_varint(value);
      out.signed_varint(-1 - value);
      Decoder in(bytes_of(out.data()));
      EXPECT_EQ(in.varint(), static_cast<uint64_t>(value));
      EXPECT_EQ(in.signed_varint(), value);
      EXPECT_EQ(in.signed_varint(), -1 - value);
      EXPECT_TRUE(in.ok() && in.at_end());
    }
}

TEST(Bytecode, lists_and_sections_are_held_against_what_is_left) {
  Encoder out;
  out.varint(3);
  Decoder list(bytes_of(out.data()));
  EXPECT_EQ(list.count(), 0u);
  EXPECT_EQ(list.problem(), "a list of 3 items in 0 bytes");
  const std::string section = bytes({4, 5, 'a', 'b'});
  Decoder in(bytes_of(section));
  const Decoder::Section found = in.section();
  EXPECT_EQ(found.id, 4);
  EXPECT_EQ(text_of(found.bytes), "ab");
  const std::string aligned = bytes({0x85, 3, 9, 0xcb, 'a'});  // of 1 byte, aligned to 4
  Decoder other(bytes_of(aligned));
  EXPECT_EQ(text_of(other.section().bytes), "a");
  for (const std::string& wrong : {bytes({4, 7, 'a', 'b'}), bytes({0x85, 3, 7, 'a'}), bytes({0x85, 3, 1, 'a'})}) {
    Decoder damaged(bytes_of(wrong));
    damaged.section();
    EXPECT_FALSE(damaged.ok());
  }
}

// ---- tables

TEST(Vhlo, every_operation_of_ours_is_in_the_table) {
  for (size_t i = 0; i < opcode_count(); ++i) {
    const auto opcode = static_cast<Opcode>(i);
    EXPECT_EQ(vhlo::versions_of(info(opcode).name).empty(), opcode == Opcode::Undefined) << info(opcode).name;
  }
  EXPECT_TRUE(vhlo::versions_of("nothing").empty());
}

TEST(Vhlo, versions_of_an_operation_follow_one_another) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < opcode_count(); ++i) names.insert(info(static_cast<Opcode>(i)).name);
  for (std::string_view name : {"all_reduce", "collective_broadcast", "dynamic_conv", "dynamic_gather", "recv", "send"})
    names.insert(name);
  for (std::string_view name : names) {
    const auto rows = vhlo::versions_of(name);
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i].version, static_cast<int>(i) + 1) << name;
      EXPECT_TRUE(std::is_sorted(rows[i].attributes.begin(), rows[i].attributes.end())) << name;
      EXPECT_EQ(rows[i].until > vhlo::kNewestVersion, i + 1 == rows.size()) << name;
      if (i == 0) continue;
      EXPECT_EQ(rows[i].since.major, rows[i].since.minor == 20 && rows[i].since.major == 0 ? 0 : 1) << name;
      EXPECT_GT(rows[i].since, rows[i - 1].until) << name;
    }
  }
}

}  // namespace
}  // namespace torchlift::stablehlo
