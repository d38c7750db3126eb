#include "base/dim.hpp"

#include <gtest/gtest.h>

namespace torchlift {
namespace {

TEST(Dim, polynomials_have_one_text) {
  Dim s = Dim::symbol("s60", 4);
  Dim twice = s * 2;
  EXPECT_EQ(floordiv(twice, 2).expr().text(), "s60");
  EXPECT_EQ((twice + 1 - s).expr().text(), "s60 + 1");
  EXPECT_EQ((s - s).is_symbolic(), false);
  EXPECT_EQ((s * s - 3).expr().text(), "s60*s60 - 3");
}

TEST(Dim, floor_division_follows_python) {
  EXPECT_EQ(floordiv(Dim(-7), Dim(2)).concrete(), -4);
  EXPECT_EQ(mod(Dim(-7), Dim(2)).concrete(), 1);
  EXPECT_EQ(mod(Dim(7), Dim(-2)).concrete(), -1);
  EXPECT_EQ(ceildiv(Dim(7), Dim(2)).concrete(), 4);
  EXPECT_EQ(ceildiv(Dim(-32), Dim(-1)).concrete(), 32);
  EXPECT_EQ(ceildiv(Dim(-31), Dim(-2)).concrete(), 16);
}

TEST(Dim, division_that_is_not_exact_is_an_atom) {
  Dim s = Dim::symbol("s1", 5);
  EXPECT_EQ(floordiv(s + 1, Dim(2)).expr().text(), "floordiv(s1 + 1, 2)");
  EXPECT_EQ(mod(s * 4 + 3, Dim(4)).is_symbolic(), false);
  EXPECT_TRUE(floordiv(s + 1, Dim(2)).expr().mentions("s1"));
  EXPECT_FALSE(floordiv(Dim::symbol("s11", 5) + 1, Dim(2)).expr().mentions("s1"));
}

TEST(Dim, sizes_saturate) {
  Dim huge(INT64_MAX);
  EXPECT_EQ((huge + 1).concrete(), INT64_MAX);
  EXPECT_EQ((huge * -2).concrete(), INT64_MIN);
  EXPECT_EQ(product(Dims{huge, Dim::symbol("s", 3)}).concrete(), INT64_MAX);
}

TEST(Dim, strides_count_zero_as_one) {
  EXPECT_EQ(concrete(contiguous_strides(Dims{2, 0, 3})), (std::vector<int64_t>{3, 3, 1}));
}

}  // namespace
}  // namespace torchlift
