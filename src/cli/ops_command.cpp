// torchlift ops: the operator table.
#include "aten/ops.hpp"
#include "base/json.hpp"
#include "base/kinds.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/op_facts.hpp"
#include "torch/schema.hpp"

namespace torchlift::cli {
namespace {

// "add", "add.Tensor", "aten::add.Tensor", and as PyTorch prints them "aten.add.Tensor" and "aten.relu.default".
std::string with_namespace(std::string name) {
  constexpr std::string_view kDefault = ".default", kPrinted = "aten.";
  if (name.ends_with(kDefault)) name.resize(name.size() - kDefault.size());
  if (name.starts_with(kPrinted)) name.erase(0, kPrinted.size());
  return name.find("::") == std::string::npos ? "aten::" + name : name;
}

bool is_served(const torch::Schema& schema) {
  if (aten::table().find(schema)) return true;
  const torch::Schema* functional = torch::functional_partner(schema);
  return functional && aten::table().find(*functional);
}

// How it is tested and what is refused, below its overloads.
void add_facts(const OpFacts& facts, bool is_supported, Output& out, JsonWriter& json) {
  auto line = [&](std::string_view label, std::string_view text) {
    if (!text.empty()) out.text += std::string(label) + std::string(text) + "\n";
  };
  auto strings = [&](std::string_view key, const std::vector<std::string_view>& texts) {
    json.key(key).begin_array();
    for (std::string_view text : texts) json.string(text);
    json.end_array();
  };
  auto same = [](std::string_view text) { return text; };
  if (facts.cases > 0)
    line("tested         ",
         std::to_string(facts.cases) + (facts.cases == 1 ? " case: " : " cases: ") + join(facts.dtypes, " ", same));
  for (std::string_view text : facts.ulp) line("error in ulp   ", text);
  for (std::string_view text : facts.refusals) line("refused        ", text);
  if (facts.wrong_calls > 0)
    line("refused        ", "as PyTorch does, in " + std::to_string(facts.wrong_calls) +
                                (facts.wrong_calls == 1 ? " tested call" : " tested calls"));
  line(is_supported ? "tested         " : "why            ", facts.why);
  json.key("cases").integer(facts.cases);
  strings("dtypes", facts.dtypes);
  strings("ulp", facts.ulp);
  strings("refused", facts.refusals);
  json.key("wrong_calls").integer(facts.wrong_calls);
  json.key("why").string(facts.why);
}

std::string near(std::string_view name) {
  std::string out = join(names_like(name), ", ", [](std::string_view other) { return "`" + std::string(other) + "`"; });
  return out.empty() ? "none" : out;
}

Result<Output> one(const std::string& name) {
  Output out;
  JsonWriter json;
  json.begin_object().key("overloads").begin_array();
  std::string full = with_namespace(name);
  std::string stem = full.substr(0, full.find('.', full.find("::")));
  bool found = false, any_served = false;
  for (auto& schema : torch::schemas_named(stem)) {
    if (full != stem && schema.full_name() != full) continue;
    found = true;
    bool served = is_served(schema);
    any_served |= served;
    out.text += (served ? "supported      " : "not supported  ") + schema.full_name() + "\n";
    json.begin_object().key("name").string(schema.full_name()).key("supported").boolean(served).end_object();
  }
  if (const auto* row = aten::table().exact(name); row && !found) {
    found = true;
    out.text += "supported      " + std::string(row->key) + "\n";
    json.begin_object().key("name").string(row->key).key("supported").boolean(true).end_object();
  }
  std::string_view short_name = stem;
  if (short_name.starts_with("aten::")) short_name.remove_prefix(6);
  if (!found) return diagnose(Kind::OperatorUnknown, {{"name", name}, {"nearest", near(short_name)}});
  json.end_array();
  if (auto facts = facts_of(short_name)) add_facts(*facts, any_served, out, json);
  json.end_object();
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
