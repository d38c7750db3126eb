// The operator table against ATen's schemas: what cannot be bound cannot be merged.
#include <gtest/gtest.h>

#include <algorithm>

#include "aten/ops.hpp"

namespace torchlift::aten {
namespace {

std::string schema_name(std::string_view key) {
  return key.find("::") == std::string_view::npos ? "aten::" + std::string(key) : std::string(key);
}

TEST(Table, every_row_serves_a_schema) {
  for (const Row* row : table().rows()) {
    if (row->positional) continue;
    std::string name = schema_name(row->key);
    std::string base = name.substr(0, name.find('.'));
    bool exact = name.find('.') != std::string::npos;
    bool served = false;
    for (const torch::Schema& schema : torch::schemas_named(base)) {
      if (exact && schema.full_name() != name) continue;
      served = served || lower::serves(row->params, schema);
    }
    EXPECT_TRUE(served) << row->key << ": its parameters are those of no schema";
  }
}

TEST(Table, marks_name_arguments_of_the_schema) {
  for (const Row* row : table().rows()) {
    if (row->positional) continue;
    std::string name = schema_name(row->key);
    const auto& schemas = torch::schemas_named(name.substr(0, name.find('.')));
    auto has = [&](std::string_view argument) {
      return std::any_of(schemas.begin(), schemas.end(), [&](const torch::Schema& s) {
        return std::any_of(s.arguments.begin(), s.arguments.end(), [&](const auto& a) { return a.name == argument; });
      });
    };
    for (std::string_view argument : row->hidden_writes) {
      EXPECT_TRUE(argument.empty() || has(argument)) << row->key << " writes " << argument;
    }
    for (std::string_view argument : row->hidden_aliases) {
      EXPECT_TRUE(argument.empty() || has(argument)) << row->key << " aliases " << argument;
    }
  }
}

TEST(Table, no_two_rows_with_one_key_serve_one_schema) {
  for (const Row* row : table().rows()) {
    if (row->positional) continue;
    std::string name = schema_name(row->key);
    for (const torch::Schema& schema : torch::schemas_named(name.substr(0, name.find('.')))) {
      auto serving = std::count_if(table().rows().begin(), table().rows().end(), [&](const Row* other) {
        return other->key == row->key && !other->positional && lower::serves(other->params, schema);
      });
      EXPECT_LE(serving, 1) << row->key << " for " << schema.full_name();
    }
  }
}

}  // namespace
}  // namespace torchlift::aten
