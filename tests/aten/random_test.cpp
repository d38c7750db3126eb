// The generator against its published words, and each distribution against its own function: Kolmogorov and Smirnov's
// greatest distance, on the real plugin. The seeds are fixed, so that a test passes always or never.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "aten/evaluate_nodes.hpp"
#include "aten/generator.hpp"
#include "base/kinds.hpp"

namespace torchlift::aten {
namespace {

constexpr int64_t kCount = 65536;

// The known answers of Random123 (kat_vectors, threefry2x32 with 20 rounds).
TEST(Generator, threefry_gives_the_published_words) {
  EXPECT_EQ(threefry({0, 0}, {0, 0}), (WordPair{0x6b200159, 0x99ba4efe}));
  EXPECT_EQ(threefry({0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}), (WordPair{0x1cb996fc, 0xbb002be7}));
  EXPECT_EQ(threefry({0x13198a2e, 0x03707344}, {0x243f6a88, 0x85a308d3}), (WordPair{0xc4923a9c, 0x483df7a0}));
}

class RealPluginRandom : public RealPluginTest {
 protected:
  // The result %r of the nodes, converted to float64.
  std::vector<double> numbers(const std::string& nodes, uint64_t seed = 0) {
    lower::Options options;
    options.seed = seed;
    Evaluated evaluated = evaluate_nodes(nodes, options);
    auto said = [](const Diagnostic& d) { return d.kind == Kind::RandomNumbers; };
    EXPECT_EQ(std::count_if(evaluated.notes.begin(), evaluated.notes.end(), said), 1);  // however many draws there are
    return evaluated.numbers;
  }
  std::vector<double> drawn(const std::string& call, uint64_t seed = 0) {
    return numbers("  %r: tensor = aten::" + call + " \"r\" @0\n", seed);
  }
};

// The greatest distance between the share of numbers below x and the distribution there, in units of 1 / sqrt(n): above
// 1.95 with a probability of 0.001.
double distance(std::vector<double> x, const std::function<double(double)>& below) {
  std::sort(x.begin(), x.end());
  auto n = static_cast<double>(x.size());
  double out = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double p = below(x[i]);
    out = std::max({out, p - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - p});
  }
  return out * std::sqrt(n);
}

double correlation(const std::vector<double>& x, const std::vector<double>& y, size_t lag) {
  size_t n = x.size() - lag;
  double mx = 0, my = 0, xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < n; ++i) {
    mx += x[i] / static_cast<double>(n);
    my += y[i + lag] / static_cast<double>(n);
  }
  for (size_t i = 0; i < n; ++i) {
    xy += (x[i] - mx) * (y[i + lag] - my);
    xx += (x[i] - mx) * (x[i] - mx);
    yy += (y[i + lag] - my) * (y[i + lag] - my);
  }
  return xy / std::sqrt(xx * yy) * std::sqrt(static_cast<double>(n));
}

double normal_below(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double uniform_below(double x) { return std::clamp(x, 0.0, 1.0); }

TEST_F(RealPluginRandom, continuous_distributions_are_theirs) {
  struct Row {
    const char* nodes;
    std::function<double(double)> below;
  };
  const std::string zeros =
      "  %z: tensor = aten::zeros(size=[65536], dtype=torch.float32) \"z\" @0\n  %r: tensor = aten::";
  const Row rows[] = {
      {"rand(size=[65536])", uniform_below},
      {"rand(size=[256, 256], dtype=torch.float64)", uniform_below},
      {"randn(size=[65536])", normal_below},
      {"randn(size=[65536], dtype=torch.float64)", normal_below},
      {"uniform(self=%z, from=-2.0, to=6.0)", [](double x) { return (x + 2) / 8; }},
      {"normal_functional(self=%z, mean=1.0, std=3.0)", [](double x) { return normal_below((x - 1) / 3); }},
      {"exponential(self=%z, lambd=0.5)", [](double x) { return 1 - std::exp(-x / 2); }},
      {"cauchy(self=%z, median=1.0, sigma=2.0)", [](double x) { return 0.5 + std::atan((x - 1) / 2) / M_PI; }},
      {"log_normal(self=%z, mean=0.5, std=0.25)", [](double x) { return normal_below((std::log(x) - 0.5) / 0.25); }},
  };
  for (const Row& row : rows) {
    std::string call = row.nodes;
    bool in_place = call.find("%z") != std::string::npos;
    auto x = in_place ? numbers(zeros + call + " \"r\" @0\n") : drawn(call);
    ASSERT_EQ(x.size(), static_cast<size_t>(kCount)) << call;
    EXPECT_LT(distance(x, row.below), 1.95) << call;
    if (call.find("cauchy") != std::string::npos) continue;  // has no variance
    for (size_t lag : {size_t{1}, size_t{2}, size_t{3}, size_t{64}, size_t{256}})
      EXPECT_LT(std::fabs(correlation(x, x, lag)), 4) << call << " " << lag;
  }
}

TEST_F(RealPluginRandom, half_precision_has_its_own_digits) {
  for (auto [dtype, digits] : {std::pair{"torch.float16", 11}, std::pair{"torch.bfloat16", 8}}) {
    auto x = drawn("rand(size=[65536], dtype=" + std::string(dtype) + ")");
    for (double v : x) {
      ASSERT_TRUE(v >= 0 && v < 1) << v;
      ASSERT_EQ(std::ldexp(v, digits), std::floor(std::ldexp(v, digits)));
    }
    EXPECT_NEAR(std::accumulate(x.begin(), x.end(), 0.0) / kCount, 0.5 - std::ldexp(0.5, -digits), 0.005);
  }
}

TEST_F(RealPluginRandom, draws_of_one_program_and_of_two_seeds_differ) {
  auto first = drawn("randn(size=[65536])"), again = drawn("randn(size=[65536])"),
       other = drawn("randn(size=[65536])", 1);
  EXPECT_EQ(first, again);
  EXPECT_LT(std::fabs(correlation(first, other, 0)), 4);
  auto second =
      numbers("  %a: tensor = aten::randn(size=[65536]) \"a\" @0\n  %r: tensor = aten::randn(size=[65536]) \"r\" @0\n");
  EXPECT_LT(std::fabs(correlation(first, second, 0)), 4);
}

// Shares of whole numbers within four deviations of what they should be.
void expect_shares(const std::vector<double>& x, double from, const std::vector<double>& shares,
                   const std::string& what) {
  std::vector<double> counts(shares.size(), 0);
  for (double v : x) {
    auto k = static_cast<size_t>(v - from);
    if (v == std::floor(v) && v >= from && k < counts.size()) counts[k] += 1;
  }
  auto n = static_cast<double>(x.size());
  for (size_t k = 0; k < shares.size(); ++k)
    EXPECT_NEAR(counts[k] / n, shares[k], 4 * std::sqrt(shares[k] * (1 - shares[k]) / n))
        << what << " " << from + static_cast<double>(k);
}

TEST_F(RealPluginRandom, whole_numbers_have_their_shares) {
  expect_shares(drawn("randint.low(low=-2, high=2, size=[65536])"), -2, {0.25, 0.25, 0.25, 0.25}, "randint");
  const std::string zeros =
      "  %z: tensor = aten::zeros(size=[65536], dtype=torch.int64) \"z\" @0\n  %r: tensor = aten::";
  expect_shares(numbers(zeros + "geometric(self=%z, p=0.25) \"r\" @0\n"), 1, {0.25, 0.1875, 0.140625, 0.10546875},
                "geometric");
  expect_shares(numbers(zeros + "bernoulli.p(self=%z, p=0.3) \"r\" @0\n"), 0, {0.7, 0.3}, "bernoulli");
  const std::string weights =
      "  %w: tensor = aten::arange(end=5, dtype=torch.float32) \"w\" @0\n  %e: tensor = aten::expand(self=%w, "
      "size=[16384, 5]) \"e\" "
      "@0\n  %m: tensor = aten::multinomial(self=%e, num_samples=";
  auto with =
      numbers(weights + "4, replacement=true) \"m\" @0\n  %r: tensor = aten::reshape(self=%m, shape=[-1]) \"r\" @0\n");
  expect_shares(with, 0, {0, 0.1, 0.2, 0.3, 0.4}, "multinomial with replacement");
  // The first without replacement has the same shares; all four leave out the one of weight zero.
  auto without = numbers(weights + "4) \"m\" @0\n  %r: tensor = aten::reshape(self=%m, shape=[-1]) \"r\" @0\n");
  std::vector<double> first;
  for (size_t i = 0; i < without.size(); i += 4) {
    first.push_back(without[i]);
    ASSERT_EQ(without[i] + without[i + 1] + without[i + 2] + without[i + 3], 10) << i;
  }
  expect_shares(first, 0, {0, 0.1, 0.2, 0.3, 0.4}, "multinomial without replacement");
}

// Both ways of drawing: counting up where few are expected, and rejection.
TEST_F(RealPluginRandom, poisson_and_binomial_numbers_have_their_shares) {
  auto filled = [](const char* name, double value, const char* dtype) {
    return "  %" + std::string(name) + ": tensor = aten::full(size=[65536], fill_value=" + std::to_string(value) +
           ", dtype=torch." + dtype + ") \"" + name + "\" @0\n";
  };
  for (auto [mean, dtype] : {std::pair{3.5, "float32"}, {40.25, "float64"}}) {
    double low = std::max(0.0, std::floor(mean - 2.5 * std::sqrt(mean)));
    std::vector<double> shares;
    for (double k = low; k <= mean + 2.5 * std::sqrt(mean); ++k)
      shares.push_back(std::exp(k * std::log(mean) - mean - std::lgamma(k + 1)));
    expect_shares(numbers(filled("m", mean, dtype) + "  %r: tensor = aten::poisson(self=%m) \"r\" @0\n"), low, shares,
                  "poisson " + std::to_string(mean));
  }
  auto many = numbers(filled("m", 1e6, "float64") + "  %r: tensor = aten::poisson(self=%m) \"r\" @0\n");
  EXPECT_LT(distance(many, [](double x) { return normal_below((x + 0.5 - 1e6) / 1e3); }), 1.95);
  EXPECT_LT(std::fabs(correlation(many, many, 1)), 4);
  for (auto [trials, p] : {std::pair{12.0, 0.3}, {12.0, 0.8}, {100.0, 0.75}}) {
    double mean = trials * p, deviation = std::sqrt(mean * (1 - p)),
           low = std::max(0.0, std::floor(mean - 2.5 * deviation));
    std::vector<double> shares;
    for (double k = low; k <= std::min(trials, mean + 2.5 * deviation); ++k)
      shares.push_back(std::exp(std::lgamma(trials + 1) - std::lgamma(k + 1) - std::lgamma(trials - k + 1) +
                                k * std::log(p) + (trials - k) * std::log1p(-p)));
    expect_shares(numbers(filled("n", trials, "float64") + filled("p", p, "float64") +
                          "  %r: tensor = aten::binomial(count=%n, prob=%p) \"r\" @0\n"),
                  low, shares, "binomial " + std::to_string(trials) + " " + std::to_string(p));
  }
  for (double p : {0.0, 1.0})
    for (double v : numbers(filled("n", 50, "float32") + filled("p", p, "float32") +
                            "  %r: tensor = aten::binomial(count=%n, prob=%p) \"r\" @0\n"))
      ASSERT_EQ(v, 50 * p);
}

// Each pass of a loop, and each branch, would draw the numbers that the program drew once.
TEST(Generator, draws_inside_branches_are_refused) {
  const std::string text =
      "program \"branch\" producer \"\" schema \"8.20\"\ninput user \"\" = %p\noutput user \"\" = %r\n\n"
      "block 0 \"\"\n  input %p: bool[]\n"
      "  %r: f32[2] = higher_order::cond(%p, ^1, ^2) \"r\" @0\n  return %r\n\n"
      "block 1 \"true\"\n  %a: f32[2] = aten::rand(size=[2]) \"a\" @0\n  return %a\n\n"
      "block 2 \"false\"\n  %b: f32[2] = aten::zeros(size=[2]) \"b\" @0\n  return %b\n\n"
      "location 0 \"\" \"\"\n";
  auto program = torch::parse_program(text, "branch");
  ASSERT_TRUE(program) << to_text(program.error());
  auto lowered = lower::lower(*program, table(), {});
  ASSERT_FALSE(lowered);
  EXPECT_EQ(lowered.errors().front().kind, Kind::CannotLower);
  EXPECT_NE(to_text(lowered.errors().front()).find("random numbers"), std::string::npos);
}

TEST_F(RealPluginRandom, a_permutation_has_each_number_once) {
  auto x = drawn("randperm(n=5000)");
  EXPECT_FALSE(std::is_sorted(x.begin(), x.end()));
  EXPECT_LT(std::fabs(correlation(x, x, 1)), 4);
  std::sort(x.begin(), x.end());
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i], static_cast<double>(i));
}

}  // namespace
}  // namespace torchlift::aten
