#include "lower/promotion.hpp"

#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <fstream>
#include <map>
#include <sstream>

#include "lower/lower.hpp"

namespace torchlift::lower {
namespace {

class ResultType : public testing::Test {
 protected:
  Tensor tensor(DType dtype, Dims shape) { return l.make(l.hlo.splat({dtype, shape}, int64_t{1})); }
  stablehlo::Module module;
  Lower l{module, Precision::Highest};
};

// data/promotion.txt is what torch.promote_types and torch.result_type give over all pairs; "-" where PyTorch raises.
TEST_F(ResultType, all_pairs_equal_pytorch) {
  std::ifstream file(TORCHLIFT_SOURCE_DIR "/data/promotion.txt");
  ASSERT_TRUE(file.good());
  const std::map<std::string, Scalar> numbers{
      {"bool_number", true}, {"int_number", 1}, {"float_number", 1.0}, {"complex_number", std::complex<double>(0, 1)}};
  std::string line;
  int pairs = 0, with_numbers = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream fields(line);
    std::string a, b, first, second;
    fields >> a >> b >> first >> second;
    auto da = dtype_from_torch_name(a);
    if (!da) continue;
    Tensor with_dim = tensor(*da, {1}), without = tensor(*da, {});
    auto named = [](const std::string& name) { return dtype_from_torch_name(name); };
    if (auto number = numbers.find(b); number != numbers.end()) {
      ++with_numbers;
      Tensor n = l.wrap(number->second);
      if (first != "-") {
        EXPECT_EQ(result_type(std::array{without, n}), named(first)) << line;
      }
      if (second != "-") {
        EXPECT_EQ(result_type(std::array{n, with_dim}), named(second)) << line;
      }
      continue;
    }
    auto db = dtype_from_torch_name(b);
    if (!db) continue;
    ++pairs;
    EXPECT_EQ(can_promote(*da, *db), first != "-") << line;
    if (first != "-") {
      EXPECT_EQ(promote_types(*da, *db), named(first)) << line;
      EXPECT_EQ(result_type(std::array{with_dim, tensor(*db, {1})}), named(first)) << line;
    }
    if (second != "-") {
      EXPECT_EQ(result_type(std::array{tensor(*db, {}), with_dim}), named(second)) << line;
    }
  }
  EXPECT_GT(pairs, 400);
  EXPECT_GT(with_numbers, 75);
}

TEST_F(ResultType, zero_dim_tensors_raise_only_the_category) {
  Tensor i64 = tensor(DType::Int64, {2}), f64 = tensor(DType::Float64, {}), f16 = tensor(DType::Float16, {2});
  EXPECT_EQ(result_type(std::array{i64, f64}), DType::Float64);
  EXPECT_EQ(result_type(std::array{f16, f64}), DType::Float16);
  EXPECT_EQ(result_type(std::array{tensor(DType::Int32, {}), tensor(DType::Int8, {2})}), DType::Int8);
}

TEST_F(ResultType, python_numbers_raise_only_the_category) {
  EXPECT_EQ(result_type(std::array{tensor(DType::Int64, {2}), l.wrap(2.5)}), DType::Float32);
  EXPECT_EQ(result_type(std::array{tensor(DType::BFloat16, {2}), l.wrap(0.5)}), DType::BFloat16);
  EXPECT_EQ(result_type(std::array{tensor(DType::Bool, {2}), l.wrap(3)}), DType::Int64);
  EXPECT_EQ(result_type(std::array{tensor(DType::Float64, {}), l.wrap(std::complex<double>(0, 1))}), DType::Complex128);
  EXPECT_EQ(result_type(std::array{tensor(DType::UInt8, {}), l.wrap(300)}), DType::UInt8);
}

}  // namespace
}  // namespace torchlift::lower
