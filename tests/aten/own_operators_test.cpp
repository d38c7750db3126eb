// Rows that a program adds to the table (examples/custom/own_operator.cpp does it too).
#include <gtest/gtest.h>

#include <array>

#include "aten/ops.hpp"
#include "base/kinds.hpp"
#include "lower/own_ops.hpp"

namespace torchlift::aten {
namespace {

Tensor shift(Lower& l, Tensor x, double by) { return l.add(x, by); }
Tensor gelu(Lower&, Tensor self, std::string) { return self; }

constexpr std::array kGood = {
    lower::own<shift>("mine::shift(Tensor x, float by=1.0) -> Tensor"),
    lower::own<shift>("mine::shift.other(Tensor x, float by) -> Tensor"),
    lower::own<gelu>("aten::gelu(Tensor self, *, str approximate='none') -> Tensor"),
};

TEST(OwnOperators, are_found_with_their_schemas) {
  auto own = lower::with_own(table(), kGood);
  ASSERT_TRUE(own) << to_text(own.error());
  ASSERT_EQ(own->schemas.size(), 2u) << "PyTorch has the third";
  EXPECT_EQ(own->table.find(own->schemas[0]), &kGood[0].row);
  EXPECT_EQ(own->table.find(own->schemas[1]), &kGood[1].row);
  EXPECT_EQ(own->table.find(*torch::find_schema("aten::gelu")), &kGood[2].row);
  EXPECT_NE(own->table.find(*torch::find_schema("aten::relu")), nullptr);
  EXPECT_NE(table().find(*torch::find_schema("aten::gelu")), &kGood[2].row) << "the table itself is as it was";
}

TEST(OwnOperators, that_do_not_fit_are_refused) {
  struct {
    lower::OwnRow row;
    Kind kind;
    const char* words;
  } const rows[] = {
      {lower::own<shift>("mine::shift(Tensor x, int by) -> Tensor"), Kind::OwnOperator, "are not those of its schema"},
      {lower::own<shift>("mine::shift(Tensor x) -> Tensor"), Kind::OwnOperator, "are not those of its schema"},
      {lower::own<shift>("aten::relu(Tensor x, float by) -> Tensor"), Kind::OwnOperator, "PyTorch has another schema"},
      {lower::own<shift>("mine::shift(Tensor x"), Kind::SchemaSyntax, "mine::shift(Tensor x"},
  };
  for (const auto& row : rows) {
    auto own = lower::with_own(table(), std::array{row.row});
    ASSERT_FALSE(own) << row.words;
    EXPECT_EQ(own.error().kind, row.kind);
    EXPECT_NE(own.error().message().find(row.words), std::string::npos) << own.error().message();
  }
}

}  // namespace
}  // namespace torchlift::aten
