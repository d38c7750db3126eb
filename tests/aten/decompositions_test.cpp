// Decompositions at the ends of their dtype's range, and where rounding keeps QR steps from an end.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "aten/evaluate_nodes.hpp"

namespace torchlift::aten {
namespace {

using RealPluginDecompositions = RealPluginTest;

std::string node(const std::string& name, const std::string& call) {
  return "  %" + name + ": tensor = aten::" + call + " \"" + name + "\" @0\n";
}

// The values of a full matrix, of it times 10^power, and times 10^-power, each in order.
std::vector<std::vector<double>> values_of_three(const std::string& decomposition, const std::string& dtype,
                                                 int power) {
  const std::string p = std::to_string(power);
  std::vector<double> all =
      evaluate_nodes(node("count", "arange(end=36, dtype=torch." + dtype + ")") + node("turned", "sin(self=%count)") +
                     node("usual", "reshape(self=%turned, shape=[6, 6])") +
                     node("huge", "mul.Scalar(self=%usual, other=1e" + p + ")") +
                     node("tiny", "mul.Scalar(self=%usual, other=1e-" + p + ")") +
                     node("a", "stack(tensors=[%usual, %huge, %tiny])") + decomposition)
          .numbers;
  std::vector<std::vector<double>> out;
  for (size_t i = 0; i + 6 <= all.size(); i += 6) {
    out.emplace_back(&all[i], &all[i] + 6);
    std::sort(out.back().begin(), out.back().end());
  }
  return out;
}

TEST_F(RealPluginDecompositions, values_grow_with_the_matrix_to_the_ends_of_the_range) {
  const std::string svd = node("r", "linalg_svdvals(A=%a)");
  const std::string eigh = node("r", "linalg_eigvalsh(self=%a)");
  const std::string eig = node("w", "linalg_eigvals(self=%a)") + node("r", "abs(self=%w)");
  for (const std::string& what : {svd, eigh, eig})
    for (auto [dtype, power, tolerance] : {std::tuple{"float32", 30, 1e-5}, std::tuple{"float64", 250, 1e-13}}) {
      auto found = values_of_three(what, dtype, power);
      ASSERT_EQ(found.size(), 3u);
      double greatest = std::max(std::fabs(found[0].front()), std::fabs(found[0].back()));
      for (size_t i = 0; i < 6; ++i) {
        EXPECT_NEAR(found[1][i] / std::pow(10, power), found[0][i], tolerance * greatest) << what << dtype;
        EXPECT_NEAR(found[2][i] * std::pow(10, power), found[0][i], tolerance * greatest) << what << dtype;
      }
    }
}

// Columns of length one, whatever the matrix.
void expect_unit_eigenvectors(const std::string& a, const std::string& what) {
  auto found =
      evaluate_nodes(a + "  %w: tensor, %v: tensor = aten::linalg_eig(self=%a) \"eig\" @0\n" +
                     node("size", "abs(self=%v)") + node("r", "linalg_vector_norm(self=%size, ord=2, dim=[0])"));
  for (double length : found.numbers) EXPECT_NEAR(length, 1, 1e-5) << what;
}

TEST_F(RealPluginDecompositions, eigenvectors_that_nearly_coincide_stay_in_range) {
  std::string jordan =
      node("one", "ones(size=[40], dtype=torch.float32)") + node("d", "mul.Scalar(self=%one, other=2)") +
      node("diagonal", "diag_embed(self=%d)") + node("few", "ones(size=[39], dtype=torch.float32)") +
      node("above", "diag_embed(self=%few, offset=1)") + node("a", "add.Tensor(self=%diagonal, other=%above)");
  expect_unit_eigenvectors(jordan, "a Jordan block");
}

// All but one eigenvalue are rounding.
TEST_F(RealPluginDecompositions, eigenvalues_of_rank_one_come_to_an_end) {
  expect_unit_eigenvectors(node("x", "arange(end=40, dtype=torch.float64)") + node("s", "sin(self=%x)") +
                               node("y", "mul.Scalar(self=%x, other=1.7)") + node("c", "cos(self=%y)") +
                               node("a", "outer(self=%s, vec2=%c)"),
                           "a matrix of rank one");
}

}  // namespace
}  // namespace torchlift::aten
