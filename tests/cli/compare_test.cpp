// The rules of case files: what counts as an equal answer.
#include "cli/compare.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace torchlift::cli {
namespace {

template <typename T>
run::HostTensor tensor(DType dtype, std::vector<int64_t> shape, std::vector<T> values) {
  ByteView bytes(reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(T));
  return run::HostTensor::own({dtype, std::move(shape)}, {bytes.begin(), bytes.end()});
}
run::HostTensor f32(std::vector<int64_t> shape, std::vector<float> values) {
  return tensor(DType::Float32, std::move(shape), std::move(values));
}
run::HostTensor i64(std::vector<int64_t> shape, std::vector<int64_t> values) {
  return tensor(DType::Int64, std::move(shape), std::move(values));
}

bool equal(const CaseFile& expected, run::HostTensor answer) {
  auto compared = compare(expected, {{"out.0", std::move(answer)}}, "case");
  EXPECT_TRUE(compared);
  return compared->size() == 1 && compared->front().equal;
}

TEST(Compare, values_are_within_the_tolerance_of_their_dtype) {
  CaseFile expected{.values = {{"out.0", f32({3}, {1, NAN, INFINITY})}}, .metadata = {}, .files = {}};
  EXPECT_TRUE(equal(expected, f32({3}, {1.00005f, NAN, INFINITY})));
  EXPECT_FALSE(equal(expected, f32({3}, {1.001f, NAN, INFINITY})));
  EXPECT_FALSE(equal(expected, f32({3}, {1, 0, INFINITY})));
  EXPECT_FALSE(equal(expected, f32({3}, {1, NAN, -INFINITY})));
  EXPECT_FALSE(equal(expected, f32({3, 1}, {1, NAN, INFINITY})));
  EXPECT_FALSE(equal(expected, i64({3}, {1, 0, 0})));
}

TEST(Compare, indices_may_be_others_only_of_equal_elements) {
  CaseFile expected{.values = {{"in.0", f32({2, 3}, {5, 7, 7, NAN, 1, NAN})}, {"out.0", i64({2, 2}, {1, 2, 0, 2})}},
                    .metadata = {{"compare", "ties"}},
                    .files = {}};
  EXPECT_TRUE(equal(expected, i64({2, 2}, {1, 2, 0, 2})));
  EXPECT_TRUE(equal(expected, i64({2, 2}, {2, 1, 2, 0})));
  EXPECT_FALSE(equal(expected, i64({2, 2}, {2, 0, 2, 0})));  // a smaller element
  EXPECT_FALSE(equal(expected, i64({2, 2}, {1, 1, 0, 2})));  // one twice
  EXPECT_FALSE(equal(expected, i64({2, 2}, {1, 5, 0, 2})));  // no element
  EXPECT_FALSE(equal(expected, i64({4}, {1, 2, 0, 2})));
}

TEST(Compare, an_index_may_lack_the_axis_or_count_flat) {
  CaseFile reduced{.values = {{"in.0", f32({2, 3}, {7, 5, 7, 1, 2, 2})}, {"out.0", i64({2}, {0, 1})}},
                   .metadata = {{"compare", "ties"}},
                   .files = {}};
  EXPECT_TRUE(equal(reduced, i64({2}, {2, 2})));
  EXPECT_FALSE(equal(reduced, i64({2}, {1, 2})));
  CaseFile flat = reduced;
  flat.values["out.0"] = i64({}, {0});
  EXPECT_TRUE(equal(flat, i64({}, {2})));
  EXPECT_FALSE(equal(flat, i64({}, {3})));
}

}  // namespace
}  // namespace torchlift::cli
