// Storage and view chain: what a write through a view does to its base, as the shape of the program. Values are
// compared on a device by the recorded cases.
#include <gtest/gtest.h>

#include "lower/lower.hpp"
#include "stablehlo/print.hpp"

namespace torchlift::lower {
namespace {

class Views : public testing::Test {
 protected:
  Tensor argument(Dims shape) { return l.make(l.hlo.argument({DType::Float32, shape})); }
  stablehlo::Module module;
  Lower l{module, Precision::Highest};
};

TEST_F(Views, a_write_through_a_view_changes_the_base) {
  Tensor base = argument({6});
  Value before = l.read(base);
  Tensor view = l.view_reshape(base, {2, 3}, {3, 1});
  l.write(view, l.hlo.splat({DType::Float32, {2, 3}}, 1.0));
  EXPECT_NE(l.read(base), before);
  EXPECT_EQ(l.type(l.read(base)).dims, (Dims{6}));
}

TEST_F(Views, every_view_of_a_written_storage_sees_the_write) {
  Tensor base = argument({6});
  Tensor a = l.view_reshape(base, {2, 3}, {3, 1});
  Tensor b = l.view_strided(base, {3}, {2}, 0);
  Value before = l.read(b);
  l.write(a, l.hlo.splat({DType::Float32, {2, 3}}, 1.0));
  EXPECT_NE(l.read(b), before);
}

TEST_F(Views, a_read_is_repeated_only_after_a_write) {
  Tensor base = argument({6});
  Tensor view = l.view_reshape(base, {2, 3}, {3, 1});
  EXPECT_EQ(l.read(view), l.read(view));
}

TEST_F(Views, an_overlapping_view_is_read_but_not_written) {
  Tensor base = argument({6});
  Tensor windows = l.view_strided(base, {4, 3}, {1, 1}, 0);
  EXPECT_TRUE(l.read(windows).has_value());
  EXPECT_TRUE(l.take_refusals().empty());
  l.write(windows, l.read(windows));
  EXPECT_EQ(l.take_refusals().size(), 1u);
}

TEST_F(Views, a_strided_view_out_of_its_storage_is_refused) {
  Tensor base = argument({6});
  EXPECT_TRUE(l.view_strided(base, {4, 3}, {3, 1}, 0).is_poison());
  EXPECT_TRUE(l.view_strided(base, {2}, {1}, -1).is_poison());
  EXPECT_EQ(l.take_refusals().size(), 2u);
}

TEST_F(Views, in_place_results_keep_the_dtype_of_what_they_are_written_into) {
  Tensor integers = l.make(l.hlo.argument({DType::Int32, {2}}));
  l.write_cast(integers, l.make(l.hlo.splat({DType::Int64, {2}}, int64_t{5})));
  EXPECT_EQ(l.type(l.read(integers)).dtype, DType::Int32);
  EXPECT_TRUE(l.take_refusals().empty());
  l.write_cast(integers, argument({2}));  // PyTorch refuses to cast a float result to an integer tensor
  EXPECT_EQ(l.take_refusals().size(), 1u);
}

TEST_F(Views, a_region_takes_its_writes_back) {
  Tensor base = argument({6});
  Value before = l.read(base);
  Value inside;
  {
    Lower::Region region(l);
    l.write(base, l.hlo.splat({DType::Float32, {6}}, 2.0));
    inside = l.read(base);
    auto written = region.written();
    ASSERT_EQ(written.size(), 1u);
    EXPECT_EQ(written[0].second, inside);
  }
  EXPECT_EQ(l.read(base), before);
}

TEST_F(Views, poison_passes_in_silence) {
  Tensor poison;
  EXPECT_TRUE(l.add(poison, argument({2})).is_poison());
  EXPECT_TRUE(l.view_reshape(poison, {2}, {1}).is_poison());
  EXPECT_TRUE(l.take_refusals().empty());
  EXPECT_TRUE(l.hlo.failures().empty());
}

}  // namespace
}  // namespace torchlift::lower
