#include "lower/own_ops.hpp"

#include "base/kinds.hpp"

namespace torchlift::lower {

Result<Operators> with_own(const OpTable& table, std::span<const OwnRow> rows) {
  std::vector<torch::Schema> schemas;
  std::vector<std::span<const Row>> families;  // of two rows with one key the first is found
  for (const OwnRow& own : rows) {
    TRY(auto schema, torch::parse_schema(own.schema));
    if (!serves(own.row.params, schema))
      return diagnose(Kind::OwnOperator,
                      {{"row", schema.full_name()},
                       {"problem", std::string("the parameters of its function are not those of its schema")}});
    families.emplace_back(&own.row, 1);
    const torch::Schema* known = torch::find_schema(schema.full_name());
    if (!known) schemas.push_back(std::move(schema));
    else if (!serves(own.row.params, *known))
      return diagnose(Kind::OwnOperator, {{"row", schema.full_name()},
                                          {"problem", std::string("PyTorch has another schema under this name")}});
  }
  for (const Row* row : table.rows()) families.emplace_back(row, 1);
  std::vector<std::span<const ScriptRow>> script;
  for (const ScriptRow* row : table.script_rows()) script.emplace_back(row, 1);
  return Operators{OpTable(families, script), std::move(schemas)};
}

}  // namespace torchlift::lower
