// data/pointwise_dtypes.txt (tools/gen_pointwise_dtypes.py): the dtypes of pointwise operators over all pairs of
// operands, and what PyTorch refuses, against the lowerings themselves.
#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "aten/ops.hpp"
#include "lower/bind_arguments.hpp"
#include "torch/schema.hpp"

namespace torchlift::aten {
namespace {

using lower::IValue;
using lower::NamedValue;

constexpr char kRefused = '-';
constexpr char kNotAsked = '.';

struct Table {
  std::map<DType, char> codes;
  std::vector<std::string> kinds, third;
  std::vector<std::vector<std::string>> blocks;
  std::vector<std::pair<std::string, std::vector<size_t>>> ops;  // full name, blocks
};

Table read_table() {
  Table out;
  std::ifstream file(TORCHLIFT_SOURCE_DIR "/data/pointwise_dtypes.txt");
  EXPECT_TRUE(file.good());
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string what, word;
    fields >> what;
    if (what == "codes") {
      while (fields >> word) out.codes[*dtype_from_torch_name(word.substr(0, word.find('=')))] = word.back();
    } else if (what == "kinds" || what == "third") {
      while (fields >> word) (what == "kinds" ? out.kinds : out.third).push_back(word);
    } else if (what == "block") {
      out.blocks.emplace_back(out.kinds.size());
      for (std::string& row : out.blocks.back()) std::getline(file, row);
    } else if (what == "op") {
      fields >> word;
      if (word.ends_with(".default")) word.resize(word.size() - std::strlen(".default"));
      auto& [name, blocks] = out.ops.emplace_back("aten::" + word, std::vector<size_t>());
      for (size_t n = 0; fields >> n;) blocks.push_back(n);
    }
  }
  return out;
}

// The operands of a schema, as the maker finds them; the index of each argument.
std::vector<size_t> operands_of(const torch::Schema& schema) {
  std::vector<size_t> out;
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    const torch::SchemaArgument& a = schema.arguments[i];
    bool tensor = a.type.base == torch::SchemaBase::Tensor;
    bool number = a.type.base == torch::SchemaBase::Scalar;
    if (tensor || (number && (!a.default_value || a.type.optional))) out.push_back(i);
  }
  return out;
}

class PointwiseDtypes : public testing::Test {
 protected:
  // The operands of one walk, by kind.
  struct Walk {
    explicit Walk(const Table& table) : l(module, lower::Precision::Highest) {
      const std::map<std::string, Scalar> numbers{{"bool_number", true},
                                                  {"int_number", 1},
                                                  {"float_number", 1.0},
                                                  {"complex_number", std::complex<double>(1, 0)}};
      for (const std::string& kind : table.kinds) {
        if (auto number = numbers.find(kind); number != numbers.end()) {
          operands.emplace(kind, IValue(number->second));
          continue;
        }
        DType dtype = *dtype_from_torch_name(kind.substr(0, kind.find('[')));
        Dims shape = kind.ends_with("[]") ? Dims{} : Dims{1};
        operands.emplace(kind, IValue(l.make(l.hlo.argument({dtype, shape}))));
      }
    }
    stablehlo::Module module;
    Lower l;
    std::map<std::string, IValue> operands;
  };

  static char answer(Walk& walk, const Table& table, const torch::Schema& schema, std::span<const size_t> places,
                     std::span<const std::string> kinds) {
    std::vector<NamedValue> given;
    for (size_t i = 0; i < places.size(); ++i)
      given.push_back({schema.arguments[places[i]].name, walk.operands.at(kinds[i])});
    for (const auto& a : schema.arguments)
      if (a.name == "rounding_mode") given.push_back({a.name, IValue(std::string("trunc"))});
    auto bound = lower::bind_arguments(schema, std::move(given));
    if (!bound) return kRefused;
    size_t failures = walk.l.hlo.failures().size();
    auto results = aten::table().find(schema)->call(walk.l, *bound);
    bool refused = !walk.l.take_refusals().empty() || walk.l.hlo.failures().size() > failures;
    const Tensor* result = results.empty() ? nullptr : results[0].get<Tensor>();
    EXPECT_EQ(refused, !result || result->is_poison()) << schema.full_name() << " " << kinds[0] << " " << kinds[1];
    if (refused || !result || result->is_poison()) return kRefused;
    return table.codes.at(result->dtype());
  }
};

TEST_F(PointwiseDtypes, equal_pytorch_over_all_pairs_of_operands) {
  const Table table = read_table();
  size_t pairs = 0;
  for (const auto& [name, blocks] : table.ops) {
    const torch::Schema* schema = torch::find_schema(name);
    ASSERT_NE(schema, nullptr) << name;
    if (!aten::table().find(*schema)) continue;
    std::vector<size_t> places = operands_of(*schema);
    ASSERT_EQ(places.size(), blocks.size() == 1 ? 2u : 3u) << name;
    std::map<std::string, std::pair<size_t, std::string>> differences;  // "ours for theirs": how many, the first
    for (size_t c = 0; c < blocks.size(); ++c) {
      Walk walk(table);
      for (size_t a = 0; a < table.kinds.size(); ++a) {
        for (size_t b = 0; b < table.kinds.size(); ++b) {
          char theirs = table.blocks.at(blocks[c])[a][b];
          if (theirs == kNotAsked) continue;
          std::vector<std::string> kinds{table.kinds[a], table.kinds[b]};
          if (blocks.size() > 1) kinds.push_back(table.third[c]);
          char ours = answer(walk, table, *schema, places, kinds);
          ++pairs;
          if (ours == theirs) continue;
          auto& [count, first] = differences[std::string(1, ours) + " for " + theirs];
          if (count++ > 0) continue;
          for (const std::string& kind : kinds) first += " " + kind;
        }
      }
    }
    for (const auto& [what, which] : differences)
      ADD_FAILURE() << name << ": " << what << " " << which.first << " times, first" << which.second;
  }
  EXPECT_GT(pairs, 50000u);
}

}  // namespace
}  // namespace torchlift::aten
