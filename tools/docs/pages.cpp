// Pages of docs/ that are made from the product's own tables:
//
//   pages errors            docs/errors.md, from base/diagnostics.def
//   pages ops TESTS_OPS     docs/ops.md, from the operator table and the lines in tests/ops; fails if a row has no line
//   pages facts TESTS_OPS   data/op_facts.tsv, of the same: `torchlift ops NAME` has it linked in
//
// `make docs` writes them; a test compares.
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "base/text.hpp"
#include "operators.hpp"

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

// ".Tensor" and "" as overloads of a name: "`Tensor`, default".
std::string overloads(const std::vector<std::string>& list) {
  return join(list, ", ", [](const std::string& overload) {
    if (overload.empty()) return std::string("default");
    return "`" + (overload.starts_with('.') ? overload.substr(1) : overload) + "`";
  });
}

std::string supported_cell(const Operator& op) {
  bool only_default = op.served.size() == 1 && op.served.front().empty();
  std::string out = only_default ? "" : overloads(op.served);
  auto add = [&](const std::string& text) { out += (out.empty() ? "" : "; ") + text; };
  if (!op.not_served.empty()) add("not " + overloads(op.not_served));
  return out;
}

std::string limits_cell(const Operator& op) {
  std::vector<std::string> out;
  for (const std::string& refusal : op.refusals) {
    std::string kind = refusal.substr(0, refusal.find(':'));
    std::string text = kind == "data-dependent" ? kind : "`" + refusal.substr(refusal.find(": ") + 2) + "`";
    if (std::find(out.begin(), out.end(), text) == out.end()) out.push_back(text);
  }
  return join(out, ", ", [](const std::string& text) { return text; });
}

// -> whether each row has a line, or a reason to have none
bool ops_page(const std::string& folder) {
  Operators all = read_operators(folder);
  auto supported = std::count_if(all.by_name.begin(), all.by_name.end(),
                                 [](const auto& named) { return named.second.is_supported(); });
  auto refusing = std::count_if(all.by_name.begin(), all.by_name.end(),
                                [](const auto& named) { return named.second.refuses_all(); });
  std::cout
      << "# Operators\n\n"
      << "Of " << all.by_name.size()
      << " operators of PyTorch (and a few of torchvision and transformers) that take or give a tensor,\n"
      << supported << " have a lowering (" << all.served << " of " << all.overloads
      << " overloads, in-place and `out=` forms included);\n"
      << refusing << " of them refuse every tested call with a reason of their own, such as a size that depends on "
      << "values. TorchScript's own\n"
      << all.without_tensor
      << " overloads on numbers, texts and lists are left out. `torchlift ops NAME` says the same of one operator.\n\n"
      << "An operator that has none is refused by name (`unsupported-operator`), a mode or type too; one of your "
         "own can be\ngiven a meaning: [custom.md](custom.md). Made from the operator table and `tests/ops` by "
         "`make docs`; do not edit.\n\n"
         "## Supported\n\n"
         "- overloads: none named is the default one alone. In-place forms and `out=` forms are supported with "
         "their operator.\n"
         "- dtypes: of the tensors in the recorded cases. Others may work: they follow PyTorch's rules of "
         "promotion.\n"
         "- cases: lines of `tests/ops`, each run on the CPU plugin against PyTorch's values and storage "
         "identity.\n"
         "- ulp: largest error seen where a function is approximated ([ulp.md](ulp.md)).\n"
         "- refused: tested calls that are refused by name; calls with wrong arguments are not listed.\n\n"
         "| operator | overloads | dtypes | cases | ulp | refused |\n|---|---|---|---|---|---|\n";
  for (const auto& [name, op] : all.by_name) {
    if (!op.is_supported()) continue;
    std::cout << "| `" << name << "` | " << supported_cell(op) << " | " << dtype_names(op.dtypes) << " | "
              << (op.cases > 0 ? std::to_string(op.cases) : op.why) << " | "
              << join(op.ulp, ", ", [](const std::string& text) { return text.substr(0, text.find(" (")); }) << " | "
              << cell(limits_cell(op)) << " |\n";
  }
  std::cout << "\nBesides: " << join(all.without_schema, ", ", [](const std::string& key) { return "`" + key + "`"; })
            << ".\n\n"
            << "## Not supported\n\nNo reason is given where there is none but that no model has needed it.\n\n| "
               "operator | overloads | why |\n|---|---|---|\n";
  for (const auto& [name, op] : all.by_name)
    if (!op.is_supported())
      std::cout << "| `" << name << "` | "
                << (op.not_served.size() == 1 && op.not_served.front().empty() ? "" : overloads(op.not_served)) << " | "
                << op.why << " |\n";
  for (const std::string& key : all.without_line) std::cerr << "no line in " << folder << ": " << key << "\n";
  return all.without_line.empty();
}

// name, cases, dtypes, errors in ulp, refused calls, wrong calls, why: one line an operator, lists separated by " ; ".
void facts_table(const std::string& folder) {
  auto list = [](const std::vector<std::string>& all) {
    return join(all, " ; ", [](const std::string& text) { return text; });
  };
  std::cout << "# Made by `make docs` from the operator table, tests/ops and docs/ulp.tsv; do not edit.\n";
  for (const auto& [name, op] : read_operators(folder).by_name)
    std::cout << name << "\t" << op.cases << "\t" << dtype_names(op.dtypes) << "\t" << list(op.ulp) << "\t"
              << list(op.refusals) << "\t" << op.wrong_calls << "\t" << op.why << "\n";
}

}  // namespace
}  // namespace torchlift

int main(int argc, char** argv) {
  std::string page = argc > 1 ? argv[1] : "";
  if (page == "errors") torchlift::errors_page();
  else if (page == "ops" && argc > 2) return torchlift::ops_page(argv[2]) ? 0 : 1;
  else if (page == "facts" && argc > 2) torchlift::facts_table(argv[2]);
  else {
    std::cerr << "pages errors | pages ops TESTS_OPS | pages facts TESTS_OPS\n";
    return 2;
  }
  return 0;
}
