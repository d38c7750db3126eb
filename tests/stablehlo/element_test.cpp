#include "stablehlo/element.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace torchlift::stablehlo {
namespace {

uint64_t code(DType dtype, const Number& value) {
  std::vector<std::byte> bytes;
  append_element(bytes, dtype, value);
  EXPECT_EQ(static_cast<int64_t>(bytes.size()), info(dtype).bytes);
  uint64_t out = 0;
  for (size_t i = bytes.size(); i-- > 0;) out = out << 8 | std::to_integer<uint64_t>(bytes[i]);
  return out;
}

double back(DType dtype, const Number& value) {
  std::vector<std::byte> bytes;
  append_element(bytes, dtype, value);
  return std::get<double>(read_element(dtype, bytes));
}

TEST(Element, floats_round_to_nearest_even) {
  EXPECT_EQ(code(DType::Float16, 0.1), 0x2e66u);
  EXPECT_EQ(code(DType::Float16, 2049.0), 0x6800u) << "a tie goes to the even neighbour";
  EXPECT_EQ(code(DType::Float16, 2051.0), 0x6802u);
  EXPECT_EQ(code(DType::BFloat16, 0.1), 0x3dcdu);
  EXPECT_EQ(code(DType::Float8E4M3FN, 0.1), 0x1du);
  EXPECT_EQ(code(DType::Float8E5M2, 0.1), 0x2eu);
  EXPECT_EQ(code(DType::Float8E4M3FNUZ, 0.1), 0x25u);
  EXPECT_EQ(code(DType::Float8E5M2FNUZ, 0.1), 0x32u);
  EXPECT_EQ(code(DType::Float8E8M0FNU, 4.0), 0x81u);
}

TEST(Element, a_double_is_rounded_once) {
  // Just above the tie between two neighbours; rounding to float first would land on the tie.
  EXPECT_EQ(code(DType::Float16, 2049.0 + 1e-9), 0x6801u);
  EXPECT_EQ(code(DType::BFloat16, 1.00390625 + 1e-12), 0x3f81u);
  EXPECT_EQ(code(DType::Float32, int64_t{(1 << 24) + 1} * (int64_t{1} << 32) + 1), 0x5b800001u);
}

TEST(Element, float_agrees_with_the_hardware) {
  for (double v : {0.1, -1e-40, 1e-46, 3.4028235677973366e38, 1e39, 16777217.0, -0.0, 1.0 / 3})
    EXPECT_EQ(code(DType::Float32, v), std::bit_cast<uint32_t>(static_cast<float>(v))) << v;
}

TEST(Element, double_keeps_every_bit) {
  const double payload = std::bit_cast<double>(uint64_t{0x7ff8000000000123});
  EXPECT_EQ(code(DType::Float64, payload), 0x7ff8000000000123u);
  EXPECT_EQ(code(DType::Float64, 0.1), std::bit_cast<uint64_t>(0.1));
}

TEST(Element, subnormals_and_overflow) {
  EXPECT_EQ(code(DType::Float16, std::ldexp(1.0, -24)), 1u);
  EXPECT_EQ(code(DType::Float16, std::ldexp(1.0, -25)), 0u);
  EXPECT_EQ(code(DType::Float16, 65519.0), 0x7bffu);
  EXPECT_EQ(code(DType::Float16, 65520.0), 0x7c00u);
  EXPECT_EQ(code(DType::BFloat16, -1e39), 0xff80u);
  EXPECT_EQ(code(DType::Float8E4M3FN, 464.0), 0x7eu);
  EXPECT_EQ(code(DType::Float8E4M3FN, 465.0), 0x7fu) << "no infinity: NaN";
  EXPECT_EQ(code(DType::Float8E4M3FNUZ, -INFINITY), 0x80u);
}

TEST(Element, special_values_are_kept) {
  for (DType d : {DType::Float16, DType::BFloat16, DType::Float32, DType::Float64, DType::Float8E5M2}) {
    EXPECT_EQ(back(d, INFINITY), INFINITY);
    EXPECT_EQ(back(d, -INFINITY), -INFINITY);
    EXPECT_TRUE(std::isnan(back(d, std::nan(""))));
    EXPECT_TRUE(std::signbit(back(d, -0.0)));
  }
  EXPECT_EQ(code(DType::Float8E4M3FNUZ, -0.0), 0u) << "the type has no -0";
}

TEST(Element, every_small_float_reads_back_as_itself) {
  for (DType d : {DType::Float8E4M3FN, DType::Float8E5M2, DType::Float8E4M3FNUZ, DType::Float8E5M2FNUZ,
                  DType::Float8E8M0FNU, DType::Float16, DType::BFloat16}) {
    const unsigned codes = info(d).bytes == 1 ? 1u << 8 : 1u << 16;
    for (unsigned c = 0; c < codes; ++c) {
      const std::byte bytes[] = {static_cast<std::byte>(c & 0xff), static_cast<std::byte>(c >> 8)};
      const double value = std::get<double>(read_element(d, bytes));
      if (std::isnan(value)) continue;
      EXPECT_EQ(code(d, value), c) << info(d).torch_name;
    }
  }
}

TEST(Element, integers_wrap_to_the_width) {
  EXPECT_EQ(code(DType::Int8, int64_t{300}), 44u);
  EXPECT_EQ(code(DType::UInt16, int64_t{-1}), 0xffffu);
  EXPECT_EQ(code(DType::UInt64, int64_t{-1}), ~uint64_t{0});
  EXPECT_EQ(std::get<int64_t>(read_element(DType::Int8, std::vector{std::byte{0xff}})), -1);
}

TEST(Element, reals_become_integers_by_truncation_and_saturate) {
  EXPECT_EQ(code(DType::Int32, -1.9), 0xffffffffu);
  EXPECT_EQ(code(DType::Int32, 3e9), 0x7fffffffu);
  EXPECT_EQ(code(DType::UInt8, -5.0), 0u);
  EXPECT_EQ(code(DType::UInt8, 1e9), 0xffu);
  EXPECT_EQ(code(DType::Int64, std::nan("")), 0u);
  EXPECT_EQ(code(DType::Bool, std::nan("")), 1u);
}

TEST(Element, complex_holds_two_reals) {
  std::vector<std::byte> bytes;
  append_element(bytes, DType::Complex128, std::complex<double>(0.1, -2));
  EXPECT_EQ(std::get<std::complex<double>>(read_element(DType::Complex128, bytes)), std::complex<double>(0.1, -2));
}

TEST(Element, extremes) {
  EXPECT_EQ(std::get<double>(lowest(DType::Float32)), -INFINITY);
  EXPECT_EQ(std::get<double>(lowest(DType::Float8E4M3FN)), -448);
  EXPECT_EQ(std::get<double>(largest_finite(DType::Float16)), 65504);
  EXPECT_EQ(std::get<int64_t>(lowest(DType::Int64)), INT64_MIN);
  EXPECT_EQ(std::get<int64_t>(highest(DType::UInt8)), 255);
  EXPECT_EQ(code(DType::UInt64, highest(DType::UInt64)), ~uint64_t{0});
}

}  // namespace
}  // namespace torchlift::stablehlo
