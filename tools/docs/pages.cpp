// Pages of docs/ that are made from the product's own tables:
//
//   pages errors            docs/errors.md, from base/diagnostics.def
//   pages ops TESTS_OPS     docs/ops.md, from the operator table and the lines in tests/ops; fails if a row has no line
//
// `make docs` writes them; a test compares.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "aten/ops.hpp"
#include "base/diagnostic.hpp"
#include "base/text.hpp"
#include "torch/schema.hpp"

namespace torchlift {
namespace {

std::string cell(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '|') out += "\\|";
    else if (c == '\n') out += "<br>";
    else out += c;
  }
  return out;
}

void errors_page() {
  std::cout << "# Diagnostics\n\n"
               "Every problem that torchlift reports is one of these. `{names}` are filled in with values; `--json` "
               "prints the same\n"
               "records with the values apart. Made from `src/base/diagnostics.def` by `make docs`; do not edit.\n\n"
               "Exit codes: 0 ok, 1 the file or the request was refused, 2 the command line, 3 the numbers differ "
               "(`verify`),\n"
               "4 plugin or device, 70 a defect of torchlift.\n\n"
               "| id | severity | message | advice |\n|---|---|---|---|\n";
  static constexpr std::string_view kSeverities[] = {"note", "warning", "error"};
  for (size_t i = 0; i < kind_count(); ++i) {
    const KindInfo& kind = info(static_cast<Kind>(i));
    std::cout << "| `" << kind.id << "` | " << kSeverities[static_cast<size_t>(kind.severity)] << " | "
              << cell(kind.message) << " | " << cell(kind.advice) << " |\n";
  }
}

// The lines of tests/ops by operator ("max.dim"): those recorded from PyTorch, and the refusals (`error KIND: CALL`).
struct Lines {
  int recorded = 0;
  int refused = 0;
};

std::map<std::string, Lines> lines_by_operator(const std::string& folder) {
  std::map<std::string, Lines> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".ops") continue;
    std::ifstream file(entry.path());
    std::string line;
    while (std::getline(file, line)) {
      if (line.empty() || line[0] == '#') continue;
      bool refused = line.starts_with("error ");
      if (refused) line = line.substr(line.find(": ") + 2);
      Lines& lines = out[line.substr(0, line.find('('))];
      ++(refused ? lines.refused : lines.recorded);
    }
  }
  return out;
}

// Why a row has no line: by its name or by what its name begins with.
constexpr std::pair<std::string_view, std::string_view> kNoLine[] = {
    {"_operator::", "numbers"},
    {"math::", "numbers"},
    {"torch::sym_", "numbers"},
    {"sym_", "numbers"},
    {"is_same_size", "numbers"},
    {"_assert_", "no result"},
    {"higher_order::", "regions: fixtures and cases"},
    {"torchvision::", "recorded models"},
    {"transformers::", "recorded models"},
    {"_scaled_dot_product_efficient_attention", "CUDA only"},
    {"_pin_memory", "CUDA only"},
    {"pin_memory", "CUDA only"},
    {"mkldnn_", "oneDNN's own layout"},
    {"convolution_overrideable", "no kernel for CPU"},
    {"_efficientzerotensor", "no storage"},
    {"lift_fresh", "exported as `lift_fresh_copy`"},
    {"combinations", "not exported alone"},
};

std::string_view why_no_line(std::string_view key) {
  for (auto [name, why] : kNoLine)
    if (key == name || ((name.ends_with("_") || name.ends_with(":")) && key.starts_with(name))) return why;
  return "";
}

// Each row by its key, with every schema of ATen that it serves, directly or by its functional partner.
std::map<std::string, std::vector<std::string>> served_by_row(size_t& overloads) {
  std::map<std::string, std::vector<std::string>> served;
  overloads = 0;
  for (const lower::Row* row : aten::table().rows()) served[std::string(row->key)];
  for (std::string_view name : torch::schema_names()) {
    const torch::Schema* schema = torch::find_schema(name);
    if (!schema) continue;
    const lower::Row* row = aten::table().find(*schema);
    if (!row)
      if (const torch::Schema* functional = torch::functional_partner(*schema)) row = aten::table().find(*functional);
    if (!row) continue;
    std::string text(name);
    served[std::string(row->key)].push_back(text.starts_with("aten::") ? text.substr(6) : text);
    ++overloads;
  }
  return served;
}

// -> whether each row has a line, or a reason to have none
bool ops_page(const std::string& folder) {
  std::map<std::string, Lines> lines = lines_by_operator(folder);
  size_t overloads = 0;
  bool complete = true;
  auto rows = served_by_row(overloads);
  std::cout
      << "# Operators\n\n"
         "What has a lowering: "
      << rows.size() << " rows serve " << overloads
      << " overloads, in-place and `out=` forms included. An operator that\n"
         "is not here is refused by name (`unsupported-operator`); a mode that has no lowering too "
         "(`unsupported-mode`). The last\n"
         "columns count the lines of `tests/ops`: the recorded ones, each run on the CPU plugin against PyTorch's "
         "values and storage\n"
         "identity, and the calls that are refused by name. A line that names no overload counts for all rows of its "
         "name.\n"
         "Made from the operator table by `make docs`; do not edit.\n\n"
         "| row | serves | recorded | refused |\n|---|---|---|---|\n";
  for (const auto& [key, names] : rows) {
    std::set<std::string> counted(names.begin(), names.end());  // by overload, or by name where a line gives none
    for (const std::string& name : names) counted.insert(name.substr(0, name.find('.')));
    Lines sum;
    for (const std::string& name : counted)
      if (auto it = lines.find(name); it != lines.end()) {
        sum.recorded += it->second.recorded;
        sum.refused += it->second.refused;
      }
    std::string_view why = why_no_line(key);
    if (sum.recorded + sum.refused == 0 && why.empty()) {
      std::cerr << "no line in " << folder << ": " << key << "\n";
      complete = false;
    }
    std::cout << "| `" << key << "` | " << join(names, ", ", [](const std::string& n) { return "`" + n + "`"; })
              << " | " << (sum.recorded > 0 ? std::to_string(sum.recorded) : std::string(sum.refused > 0 ? "" : why))
              << " | " << (sum.refused > 0 ? std::to_string(sum.refused) : "") << " |\n";
  }
  return complete;
}

}  // namespace
}  // namespace torchlift

int main(int argc, char** argv) {
  std::string page = argc > 1 ? argv[1] : "";
  if (page == "errors") torchlift::errors_page();
  else if (page == "ops" && argc > 2) return torchlift::ops_page(argv[2]) ? 0 : 1;
  else {
    std::cerr << "pages errors | pages ops TESTS_OPS\n";
    return 2;
  }
  return 0;
}
