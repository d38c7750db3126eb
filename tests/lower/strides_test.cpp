// PyTorch's stride rules, with results printed by torch 2.13.
#include "lower/strides.hpp"

#include <gtest/gtest.h>

#include <array>

#include "lower/lower.hpp"

namespace torchlift::lower {
namespace {

using Ints = std::vector<int64_t>;

Ints numbers(const std::optional<Dims>& dims) { return dims ? concrete(*dims) : Ints{-1}; }

TEST(ViewStrides, contiguous_chunks_merge_and_split) {
  EXPECT_EQ(numbers(view_strides(Dims{2, 3, 4}, Dims{12, 4, 1}, Dims{6, 4})), (Ints{4, 1}));
  EXPECT_EQ(numbers(view_strides(Dims{6, 4}, Dims{4, 1}, Dims{2, 3, 2, 2})), (Ints{12, 4, 2, 1}));
  EXPECT_EQ(numbers(view_strides(Dims{2, 3}, Dims{3, 1}, Dims{1, 6, 1})), (Ints{6, 1, 1}));
}

TEST(ViewStrides, transposed_axes_do_not_merge) {
  EXPECT_EQ(numbers(view_strides(Dims{4, 3}, Dims{1, 4}, Dims{12})), (Ints{-1}));
  EXPECT_EQ(numbers(view_strides(Dims{4, 3}, Dims{1, 4}, Dims{2, 2, 3})), (Ints{2, 1, 4}));
}

TEST(ViewStrides, an_empty_tensor_has_every_view) {
  EXPECT_EQ(numbers(view_strides(Dims{2, 0, 3}, Dims{3, 3, 1}, Dims{0, 7})), (Ints{7, 1}));
}

class Iterator : public testing::Test {
 protected:
  Tensor tensor(Dims shape, Dims strides) { return l.make(l.hlo.splat({DType::Float32, shape}, 0.0), strides); }
  Tensor tensor(Dims shape) { return tensor(shape, contiguous_strides(shape)); }
  Ints of(std::vector<Tensor> operands, Dims shape) { return concrete(iterator_strides(operands, shape)); }
  stablehlo::Module module;
  Lower l{module, Precision::Highest};
};

TEST_F(Iterator, channels_last_stays_channels_last) {
  Tensor cl = tensor({2, 3, 4, 5}, {60, 1, 15, 3});
  EXPECT_EQ(of({cl, tensor({5})}, {2, 3, 4, 5}), (Ints{60, 1, 15, 3}));
  EXPECT_EQ(of({cl, tensor({2, 3, 4, 5})}, {2, 3, 4, 5}), (Ints{60, 1, 15, 3}));
  EXPECT_EQ(of({tensor({2, 3, 4, 5}), cl}, {2, 3, 4, 5}), (Ints{60, 20, 5, 1}));
}

TEST_F(Iterator, a_permuted_operand_keeps_its_order) {
  Tensor p = tensor({2, 4, 3}, {1, 6, 2});
  EXPECT_EQ(of({p}, {2, 4, 3}), (Ints{1, 6, 2}));
  EXPECT_EQ(of({p, tensor({2, 4, 3})}, {2, 4, 3}), (Ints{1, 6, 2}));
  EXPECT_EQ(of({tensor({2, 4, 3}), p}, {2, 4, 3}), (Ints{12, 3, 1}));
}

TEST_F(Iterator, broadcast_axes_say_nothing) {
  EXPECT_EQ(of({tensor({4, 3}, {1, 0})}, {4, 3}), (Ints{3, 1}));
  EXPECT_EQ(of({tensor({3, 1}), tensor({1, 4})}, {3, 4}), (Ints{4, 1}));
}

TEST_F(Iterator, a_strided_slice_becomes_dense) { EXPECT_EQ(of({tensor({4, 3}, {6, 2})}, {4, 3}), (Ints{3, 1})); }

}  // namespace
}  // namespace torchlift::lower
