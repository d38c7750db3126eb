// TorchScript's language, lowered: what is decided at import, what becomes branches and loops of the device, and what
// is refused.
#include <gtest/gtest.h>

#include <optional>

#include "aten/ops.hpp"
#include "base/kinds.hpp"
#include "frontend/script/entry.hpp"
#include "frontend/small_script.hpp"
#include "lower/evaluate.hpp"
#include "stablehlo/print.hpp"

namespace torchlift {
namespace {

using frontend::script::ScriptLeaf;
using frontend::script::SmallScript;
using frontend::script::TensorLeaf;

// A module whose forward has this body, of lines that are indented by four spaces.
SmallScript module_of(const std::string& body, const std::string& parameters = "x: Tensor",
                      const std::string& result = "Tensor") {
  SmallScript out;
  size_t at = out.code.find("  def forward");
  out.code =
      out.code.substr(0, at) + "  def forward(self: __torch__.M,\n    " + parameters + ") -> " + result + ":\n" + body;
  return out;
}

Result<lower::Lowered> lowered(const SmallScript& module, const std::vector<ScriptLeaf>& leaves,
                               lower::Options options = {}) {
  auto opened = frontend::script::open_script(module);
  if (!opened.file) return std::move(opened.file.errors());
  TRY(auto program, frontend::script::entry(opened.file->program, "forward", leaves));
  return lower::lower(program, aten::table(), options);
}

const std::vector<ScriptLeaf> kOneTensor = {{TensorLeaf{DType::Float32, {2}}, ""}};

std::string text_of(const Result<lower::Lowered>& result) {
  EXPECT_TRUE(result) << frontend::script::problems(result);
  return result ? stablehlo::to_text(result->module) : "";
}

// The kinds of the errors, as ids.
std::string refused(const SmallScript& module, const std::vector<ScriptLeaf>& leaves = kOneTensor) {
  auto result = lowered(module, leaves);
  std::string out;
  if (result) return "not refused";
  for (const Diagnostic& d : result.errors())
    if (d.severity() == Severity::Error) out += (out.empty() ? "" : " ") + std::string(info(d.kind).id);
  return out;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(ScriptLanguage, a_known_condition_is_decided_at_import) {
  std::string text = text_of(lowered(module_of("    if torch.gt(torch.size(x, 0), 1):\n"
                                               "      y = torch.sin(x)\n"
                                               "    else:\n"
                                               "      y = torch.cos(x)\n"
                                               "    return y\n"),
                                     kOneTensor));
  EXPECT_TRUE(has(text, "stablehlo.sine"));
  EXPECT_FALSE(has(text, "stablehlo.cosine"));
  EXPECT_FALSE(has(text, "stablehlo.if"));
}

TEST(ScriptLanguage, a_condition_of_the_device_becomes_a_branch) {
  std::string text = text_of(lowered(module_of("    if bool(torch.gt(torch.sum(x), 0)):\n"
                                               "      y, n = torch.sin(x), 1\n"
                                               "    else:\n"
                                               "      y, n = torch.cos(x), 2\n"
                                               "    return torch.mul(y, n)\n"),
                                     kOneTensor));
  EXPECT_TRUE(has(text, "stablehlo.if"));
  EXPECT_TRUE(has(text, "stablehlo.sine"));
  EXPECT_TRUE(has(text, "stablehlo.cosine"));
}

// y is x or another tensor: PyTorch's write shows in x in one of the two.
TEST(ScriptLanguage, a_write_to_what_a_branch_may_share_is_refused) {
  const std::string branch =
      "    z = torch.sin(x)\n"
      "    if bool(torch.gt(torch.sum(x), 0)):\n"
      "      y = z\n"
      "    else:\n"
      "      y = torch.cos(x)\n";
  EXPECT_EQ(refused(module_of(branch + "    _0 = torch.add_(y, 1)\n    return z\n")), "wrong-argument");
  EXPECT_EQ(refused(module_of(branch + "    _0 = torch.add_(z, 1)\n    return y\n")), "wrong-argument");
  EXPECT_TRUE(lowered(module_of(branch + "    return torch.add(y, z)\n"), kOneTensor));
}

TEST(ScriptLanguage, branches_of_the_device_give_one_type) {
  EXPECT_EQ(refused(module_of("    if bool(torch.gt(torch.sum(x), 0)):\n"
                              "      y = torch.sin(x)\n"
                              "    else:\n"
                              "      y = torch.sum(x)\n"
                              "    return y\n")),
            "script-branches");
}

TEST(ScriptLanguage, a_known_loop_is_unrolled_and_one_of_the_device_is_not) {
  std::string known = text_of(lowered(module_of("    y = x\n"
                                                "    for i in range(3):\n"
                                                "      y = torch.add(y, i)\n"
                                                "    return y\n"),
                                      kOneTensor));
  EXPECT_FALSE(has(known, "stablehlo.while"));
  std::string device = text_of(lowered(module_of("    y = x\n"
                                                 "    _0 = bool(torch.gt(torch.sum(y), 1))\n"
                                                 "    while _0:\n"
                                                 "      y0 = torch.mul(y, 0.5)\n"
                                                 "      _0, y = bool(torch.gt(torch.sum(y0), 1)), y0\n"
                                                 "    return y\n"),
                                       kOneTensor));
  EXPECT_TRUE(has(device, "stablehlo.while"));
}

TEST(ScriptLanguage, a_loop_of_the_device_carries_one_type) {
  EXPECT_EQ(refused(module_of("    y = x\n"
                              "    _0 = bool(torch.gt(torch.sum(y), 1))\n"
                              "    while _0:\n"
                              "      y0 = torch.cat([y, y])\n"
                              "      _0, y = bool(torch.gt(torch.sum(y0), 1)), y0\n"
                              "    return y\n")),
            "script-loop");
}

TEST(ScriptLanguage, a_loop_without_end_is_stopped) {
  EXPECT_EQ(refused(module_of("    _0 = True\n"
                              "    while _0:\n"
                              "      _0 = True\n"
                              "    return x\n")),
            "script-too-long");
}

TEST(ScriptLanguage, an_exception_of_the_model_is_its_own_message) {
  SmallScript raises = module_of(
      "    ops.prim.RaiseException(\"no such size\", \"builtins.ValueError\")\n"
      "    return x\n");
  EXPECT_EQ(refused(raises), "script-raise");
  auto result = lowered(raises, kOneTensor);
  ASSERT_FALSE(result);
  EXPECT_TRUE(has(result.error().message(), "ValueError: no such size")) << result.error().message();
}

TEST(ScriptLanguage, an_exception_in_a_branch_of_the_device_is_left_out_with_a_warning) {
  auto result = lowered(module_of("    if bool(torch.gt(torch.sum(x), 0)):\n"
                                  "      ops.prim.RaiseException(\"positive\", \"builtins.ValueError\")\n"
                                  "    else:\n"
                                  "      pass\n"
                                  "    return torch.sin(x)\n"),
                        kOneTensor);
  ASSERT_TRUE(result) << frontend::script::problems(result);
  ASSERT_FALSE(result->notes.empty());
  EXPECT_EQ(info(result->notes.front().kind).id, "script-raise-dropped");
}

TEST(ScriptLanguage, what_a_call_stores_is_given_back) {
  SmallScript counts = SmallScript::with("  n : int\n", archive::pickled::text("n") + archive::pickled::integer(4));
  size_t at = counts.code.find("    w = self.w\n");
  counts.code.insert(at, "    n = self.n\n    self.n = torch.add(n, 1)\n    self.w = torch.add(self.w, x)\n");
  auto result = lowered(counts, kOneTensor);
  ASSERT_TRUE(result) << frontend::script::problems(result);
  ASSERT_EQ(result->state.size(), 2u);
  EXPECT_EQ(result->state[0].path, "w");
  EXPECT_TRUE(result->state[0].result);
  EXPECT_EQ(result->state[1].path, "n");
  EXPECT_EQ(lower::describe(result->state[1].value), "5");
}

TEST(ScriptLanguage, a_list_that_a_call_changes_is_refused) {
  SmallScript grows = SmallScript::with("  l : List[int]\n", archive::pickled::text("l") + "]");
  size_t at = grows.code.find("    w = self.w\n");
  grows.code.insert(at, "    l = self.l\n    _0 = torch.append(l, 1)\n");
  EXPECT_EQ(refused(grows), "script-state");
}

TEST(ScriptLanguage, a_list_within_a_list_that_a_call_changes_is_refused) {
  SmallScript grows = SmallScript::with("  l : List[List[int]]\n", archive::pickled::text("l") + "](]e");
  size_t at = grows.code.find("    w = self.w\n");
  grows.code.insert(at, "    l = self.l\n    _0 = torch.append(l[0], 1)\n");
  EXPECT_EQ(refused(grows), "script-state");
}

TEST(ScriptLanguage, unused_weights_are_no_arguments) {
  auto result = lowered(module_of("    return torch.sin(x)\n"), kOneTensor);
  ASSERT_TRUE(result) << frontend::script::problems(result);
  EXPECT_EQ(result->arguments.size(), 1u);
}

}  // namespace
}  // namespace torchlift
