// torchlift ops: the operator table.
#include "aten/ops.hpp"
#include "base/json.hpp"
#include "base/kinds.hpp"
#include "cli/command.hpp"
#include "torch/schema.hpp"

namespace torchlift::cli {
namespace {

// "add" or "add.Tensor" or "aten::add.Tensor" are all known names.
std::string with_namespace(const std::string& name) {
  return name.find("::") == std::string::npos ? "aten::" + name : name;
}

bool is_served(const torch::Schema& schema) {
  if (aten::table().find(schema)) return true;
  const torch::Schema* functional = torch::functional_partner(schema);
  return functional && aten::table().find(*functional);
}

Result<Output> one(const std::string& name) {
  Output out;
  JsonWriter json;
  json.begin_object().key("overloads").begin_array();
  std::string full = with_namespace(name);
  std::string stem = full.substr(0, full.find('.', full.find("::")));
  bool found = false;
  for (auto& schema : torch::schemas_named(stem)) {
    if (full != stem && schema.full_name() != full) continue;
    found = true;
    bool served = is_served(schema);
    out.text += (served ? "supported      " : "not supported  ") + schema.full_name() + "\n";
    json.begin_object().key("name").string(schema.full_name()).key("supported").boolean(served).end_object();
  }
  if (const auto* row = aten::table().exact(name); row && !found) {
    found = true;
    out.text += "supported      " + std::string(row->key) + "\n";
    json.begin_object().key("name").string(row->key).key("supported").boolean(true).end_object();
  }
  if (!found) return diagnose(Kind::OperatorUnknown, {{"name", name}});
  json.end_array().end_object();
  out.json = std::move(json).take();
  return out;
}

}  // namespace

Result<Output> run_ops(const OpsOptions& options) {
  if (!options.name.empty()) return one(options.name);
  Output out;
  JsonWriter json;
  json.begin_object().key("rows").begin_array();
  for (const auto* row : aten::table().rows()) {
    out.text += std::string(row->key) + "\n";
    json.string(row->key);
  }
  json.end_array().end_object();
  out.json = std::move(json).take();
  return out;
}

}  // namespace torchlift::cli
