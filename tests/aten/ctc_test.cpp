// Connectionist temporal classification against the sum over all paths. torch.export cannot write ctc_loss
// (torch 2.14), so no case of it can be recorded.
#include <cmath>
#include <limits>

#include "aten/evaluate_nodes.hpp"

namespace torchlift::aten {
namespace {

using RealPluginCtc = RealPluginTest;
using Labels = std::vector<int64_t>;

constexpr size_t kTime = 5, kBatch = 3, kClasses = 4;

std::string node(const std::string& name, const std::string& call) {
  return "  %" + name + ": tensor = aten::" + call + " \"" + name + "\" @0\n";
}

// %scores of the sines of 0 to 59, [time, batch, classes]; %padded targets 1 1 2, 2 3 3, 1 1 2; %listed 1 1 2 2 3 3.
std::string operands() {
  return node("n", "arange(end=60, dtype=torch.float64)") + node("s", "sin(self=%n)") +
         node("v", "reshape(self=%s, shape=[5, 3, 4])") + node("scores", "log_softmax.int(self=%v, dim=-1)") +
         node("i", "arange(end=9)") + node("half", "div.Scalar_mode(self=%i, other=2, rounding_mode=\"floor\")") +
         node("third", "remainder.Scalar(self=%half, other=3)") + node("labels", "add.Scalar(self=%third, other=1)") +
         node("padded", "reshape(self=%labels, shape=[3, 3])") +
         node("listed", "slice.Tensor(self=%labels, dim=0, start=0, end=6)");
}

double log_probability(size_t time, size_t batch, size_t label) {
  auto score = [&](size_t c) { return std::sin(static_cast<double>((time * kBatch + batch) * kClasses + c)); };
  double sum = 0;
  for (size_t c = 0; c < kClasses; ++c) sum += std::exp(score(c));
  return score(label) - std::log(sum);
}

// Minus the logarithm of the probability of all paths that are the target once repetitions and blanks (0) are left out.
double loss_of(size_t batch, size_t time, const Labels& target) {
  double all = 0;
  auto paths = static_cast<size_t>(std::pow(kClasses, time));
  for (size_t path = 0; path < paths; ++path) {
    Labels labels;
    double log_of_path = 0;
    size_t rest = path, before = 0;
    for (size_t t = 0; t < time; ++t, rest /= kClasses) {
      size_t label = rest % kClasses;
      log_of_path += log_probability(t, batch, label);
      if (label != 0 && (t == 0 || label != before)) labels.push_back(static_cast<int64_t>(label));
      before = label;
    }
    if (labels == target) all += std::exp(log_of_path);
  }
  return -std::log(all);
}

void expect_losses(const std::string& call, const std::vector<double>& losses) {
  std::vector<double> found = evaluate_nodes(operands() + call).numbers;
  ASSERT_EQ(found.size(), losses.size()) << call;
  for (size_t i = 0; i < losses.size(); ++i) {
    if (std::isinf(losses[i])) {
      EXPECT_EQ(found[i], losses[i]) << call << i;
    } else {
      EXPECT_NEAR(found[i], losses[i], 1e-12) << call << i;
    }
  }
}

TEST_F(RealPluginCtc, is_the_sum_over_all_paths) {
  const std::string lengths = "input_lengths=[5, 4, 2], target_lengths=[3, 2, 0], blank=0, ";
  std::vector<double> losses{loss_of(0, 5, {1, 1, 2}), loss_of(1, 4, {2, 3}), loss_of(2, 2, {})};
  expect_losses(node("r", "ctc_loss.IntList(log_probs=%scores, targets=%padded, " + lengths + "reduction=0)"), losses);
  double sum = losses[0] + losses[1] + losses[2], mean = (losses[0] / 3 + losses[1] / 2 + losses[2]) / 3;
  expect_losses(node("r", "ctc_loss.IntList(log_probs=%scores, targets=%padded, " + lengths + "reduction=2)"), {sum});
  expect_losses(node("r", "ctc_loss.IntList(log_probs=%scores, targets=%padded, " + lengths + "reduction=1)"), {mean});
}

TEST_F(RealPluginCtc, targets_may_stand_one_after_the_other_and_lengths_be_values) {
  const std::string lengths = node("b", "arange(end=3)") + node("x", "rsub.Scalar(self=%b, other=5)") +
                              node("y", "rsub.Scalar(self=%b, other=3)");
  expect_losses(lengths + node("r",
                               "ctc_loss.Tensor(log_probs=%scores, targets=%listed, input_lengths=%x, "
                               "target_lengths=%y, blank=0, reduction=0)"),
                {loss_of(0, 5, {1, 1, 2}), loss_of(1, 4, {2, 3}), loss_of(2, 3, {3})});
  expect_losses(lengths + node("r",
                               "ctc_loss.Tensor(log_probs=%scores, targets=%padded, input_lengths=%x, "
                               "target_lengths=%y, blank=0, reduction=0)"),
                {loss_of(0, 5, {1, 1, 2}), loss_of(1, 4, {2, 3}), loss_of(2, 3, {1})});
}

TEST_F(RealPluginCtc, what_cannot_be_aligned_is_infinite_or_left_out) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const std::string call =
      "ctc_loss.IntList(log_probs=%scores, targets=%padded, input_lengths=[3, 0, 0], "
      "target_lengths=[3, 1, 0], blank=0, reduction=0, zero_infinity=";
  expect_losses(node("r", call + "false)"), {kInfinite, kInfinite, 0});
  expect_losses(node("r", call + "true)"), {0, 0, 0});
}

// log_alpha: row t of a sequence holds what all beginnings of t + 1 scores come to.
TEST_F(RealPluginCtc, log_alpha_ends_in_the_loss) {
  std::vector<double> alpha =
      evaluate_nodes(operands() +
                     "  %l: tensor, %r: tensor = aten::_ctc_loss(log_probs=%scores, targets=%padded, input_lengths=[5, "
                     "4, 2], target_lengths=[3, 2, 0]) \"ctc\" @0\n")
          .numbers;
  ASSERT_EQ(alpha.size(), kBatch * kTime * 7);
  auto at = [&](size_t batch, size_t time, size_t state) { return alpha[(batch * kTime + time) * 7 + state]; };
  EXPECT_NEAR(-std::log(std::exp(at(0, 4, 6)) + std::exp(at(0, 4, 5))), loss_of(0, 5, {1, 1, 2}), 1e-12);
  EXPECT_NEAR(-std::log(std::exp(at(1, 3, 4)) + std::exp(at(1, 3, 3))), loss_of(1, 4, {2, 3}), 1e-12);
  EXPECT_NEAR(-at(2, 1, 0), loss_of(2, 2, {}), 1e-12);
}

}  // namespace
}  // namespace torchlift::aten
