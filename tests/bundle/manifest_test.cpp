#include "bundle/manifest.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "bundle/fixture.hpp"

namespace torchlift::bundle {
namespace {

Manifest small_manifest() {
  MemoryRecord w(counting_bytes(48)), n(counting_bytes(8));
  Manifest manifest = small_bundle(w, n).manifest;
  manifest.programs[0].digest = digest_of(bytes_of("program"));
  manifest.weights = WeightsInfo{"weights.safetensors", digest_of(bytes_of("weights")), 1234};
  TreeNode leaf;
  TreeNode args{"builtins.tuple", "null", {}, {leaf}};
  TreeNode kwargs{"builtins.dict", "[\"scale\"]", {"scale"}, {leaf}};
  manifest.inputs = TreeNode{"builtins.tuple", "null", {}, {args, kwargs}};
  manifest.outputs = leaf;
  return manifest;
}

std::string problem_of(const std::string& json) {
  auto manifest = read_manifest(bytes_of(json), "manifest.json");
  return manifest ? "" : manifest.error().message();
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Manifest, what_is_written_is_read_back) {
  Manifest manifest = small_manifest();
  auto read = read_manifest(bytes_of(to_json(manifest)), "manifest.json");
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_TRUE(*read == manifest);
  EXPECT_EQ(to_json(*read), to_json(manifest));
}

TEST(Manifest, constants_keep_type_and_value) {
  NamedConstants constants = {{"a", {}},
                              {"b", true},
                              {"c", int64_t{-5}},
                              {"d", 5.0},
                              {"e", std::numeric_limits<double>::infinity()},
                              {"f", std::string("inf")},
                              {"g", std::string("text")},
                              {"h", std::complex<double>(1, -0.5)},
                              {"i", Repr{"torch.float32"}},
                              {"j", std::numeric_limits<int64_t>::min()}};
  std::string json = to_json(constants);
  EXPECT_NE(json.find(R"("d": 5.0, "e": "inf", "f": {"str": "inf"})"), std::string::npos) << json;
  auto read = read_constants(json, "x");
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_TRUE(*read == constants);
  EXPECT_FALSE(read_constants("{\"a\": 18446744073709551615}", "x"));
  EXPECT_FALSE(read_constants("{\"a\": [1]}", "x"));
  EXPECT_FALSE(read_constants("{\"a\": ", "x"));
}

TEST(Manifest, every_wrong_field_is_named) {
  std::string good = to_json(small_manifest());
  ASSERT_EQ(problem_of(good), "");
  struct Row {
    std::string from, to, expected;
  };
  const std::vector<Row> rows = {
      {"torchlift-bundle", "other", "`format` is \"other\""},
      {"\"format_version\": 1", "\"format_version\": 2", "format version 2, this torchlift reads 1"},
      {"\"producer\"", "\"maker\"", "no key \"producer\""},
      {"\"producer\": ", "\"producer\": 1, \"producer\": ", "twice"},
      {"\"file\": \"model.mlir\"", "\"file\": \"../model.mlir\"", "`programs[0].file` is \"../model.mlir\""},
      {"\"role\": \"weight\"", "\"role\": \"wait\"", "`programs[0].arguments[1].role` is \"wait\""},
      {"\"role\": \"weight\"", "\"role\": \"state\"", "`programs[0].arguments[1].result` is missing"},
      {"\"role\": \"weight\"", "\"role\": \"input\"", "`programs[0].arguments[1].leaf` is missing"},
      {"\"leaf\": 0", "\"leaf\": 1", "which is not this argument's leaf"},
      {"\"leaf\": 0", "\"leaf\": -1", "expected a number from 0"},
      {"\"result\": 1", "\"result\": 0", "is a result of role output"},
      {"\"result\": 1", "\"result\": 7", "the program has 2 results"},
      {"\"float32\"", "\"float33\"", "no dtype"},
      {"[2, 3]", "[2, -3]", "negative size"},
      {"[2, 3]", "[1152921504606846976, 3]", "more than 2^60"},
      {"[2, 3]", "\"two\"", "is no list"},
      {"\"tied.weight\"", "\"count\"", "two weights named \"count\""},
      {"\"constant\": 0.5", "\"tensor\": 3", "is 3, there are 3"},
      {"\"constant\": 0.5", "\"other\": 3", "one of `tensor` and `constant`"},
      {"\"builtins.dict\"", "\"\"", "empty type"},
      {"\"scale\"\n", "\"scale\", \"more\"\n", "2 keys for 1 children"},
      {"\"bytes\": 1234", "\"bytes\": -1", "is negative"},
      {"\"weights.safetensors\"", "\"/etc/passwd\"", "`weights.file`"},
  };
  for (auto& row : rows) {
    std::string problem = problem_of(replaced(good, row.from, row.to));
    EXPECT_NE(problem.find(row.expected), std::string::npos) << row.to << "\n" << problem;
  }
}

TEST(Manifest, every_cut_is_refused) {
  std::string good = to_json(small_manifest());
  for (size_t size = 0; size + 1 < good.size(); size += 7) EXPECT_NE(problem_of(good.substr(0, size)), "");
}

TEST(Manifest, a_tree_nested_too_deep_is_refused) {
  std::string open, close;
  for (int i = 0; i < 300; ++i) {
    open += R"({"type": "builtins.list", "children": [)";
    close += "]}";
  }
  std::string good = to_json(small_manifest());
  EXPECT_NE(problem_of(replaced(good, "\"output_tree\": null", "\"output_tree\": " + open + "null" + close))
                .find("nested more than"),
            std::string::npos);
}

}  // namespace
}  // namespace torchlift::bundle
