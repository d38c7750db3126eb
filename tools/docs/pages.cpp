// Pages of docs/ that are made from the product's own tables:
//
//   pages errors            docs/errors.md, from base/diagnostics.def
//   pages ops TESTS_OPS     docs/ops.md, from the operator table and the recorded lines in tests/ops
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

// Recorded lines by operator: "max.dim" -> 4.
std::map<std::string, int> recorded_lines(const std::string& folder) {
  std::map<std::string, int> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".ops") continue;
    std::ifstream file(entry.path());
    std::string line;
    while (std::getline(file, line)) {
      if (line.empty() || line[0] == '#') continue;
      ++out[line.substr(0, line.find('('))];
    }
  }
  return out;
}

void ops_page(const std::string& folder) {
  std::map<std::string, int> lines = recorded_lines(folder);
  // Every schema of ATen that the table serves, directly or by its functional partner.
  std::map<std::string, std::vector<std::string>> served;  // row key -> overloads
  size_t overloads = 0;
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
  std::cout << "# Operators\n\n"
               "What has a lowering: "
            << aten::table().rows().size() << " rows serve " << overloads
            << " overloads, in-place and `out=` forms included. An operator that\n"
               "is not here is refused by name (`unsupported-operator`); a mode that has no lowering too "
               "(`unsupported-mode`). The last\n"
               "column counts the recorded lines of `tests/ops`, each run on the CPU plugin against PyTorch's values; "
               "a line that\n"
               "names no overload counts for all rows of its name.\n"
               "Made from the operator table by `make docs`; do not edit.\n\n"
               "| row | serves | recorded lines |\n|---|---|---|\n";
  for (const lower::Row* row : aten::table().rows()) {
    std::string key(row->key);
    const std::vector<std::string>& names = served[key];
    std::set<std::string> counted(names.begin(),
                                  names.end());  // by overload, or by name where a line gives no overload
    for (const std::string& name : names) counted.insert(name.substr(0, name.find('.')));
    int count = 0;
    for (const std::string& name : counted)
      if (auto it = lines.find(name); it != lines.end()) count += it->second;
    std::cout << "| `" << key << "` | " << join(names, ", ", [](const std::string& n) { return "`" + n + "`"; })
              << " | " << (count > 0 ? std::to_string(count) : "") << " |\n";
  }
}

}  // namespace
}  // namespace torchlift

int main(int argc, char** argv) {
  std::string page = argc > 1 ? argv[1] : "";
  if (page == "errors") torchlift::errors_page();
  else if (page == "ops" && argc > 2) torchlift::ops_page(argv[2]);
  else {
    std::cerr << "pages errors | pages ops TESTS_OPS\n";
    return 2;
  }
  return 0;
}
