#include "lower/promotion.hpp"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <sstream>

#include "lower/lower.hpp"

namespace torchlift::lower {
namespace {

// data/promotion.txt is torch.promote_types over all pairs; "-" where PyTorch raises.
TEST(Promotion, pairs_equal_pytorch) {
  std::ifstream file(TORCHLIFT_SOURCE_DIR "/data/promotion.txt");
  ASSERT_TRUE(file.good());
  std::string line;
  int pairs = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream fields(line);
    std::string a, b, result;
    fields >> a >> b >> result;
    auto da = dtype_from_torch_name(a), db = dtype_from_torch_name(b);
    if (!da || !db) continue;
    ++pairs;
    if (result == "-") {
      EXPECT_FALSE(can_promote(*da, *db)) << line;
      continue;
    }
    EXPECT_TRUE(can_promote(*da, *db)) << line;
    EXPECT_EQ(info(promote_types(*da, *db)).torch_name, result) << line;
  }
  EXPECT_GT(pairs, 400);
}

class ResultType : public testing::Test {
 protected:
  Tensor tensor(DType dtype, Dims shape) { return l.make(l.hlo.splat({dtype, shape}, int64_t{1})); }
  stablehlo::Module module;
  Lower l{module, Precision::Highest};
};

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
