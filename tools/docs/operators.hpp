// What is known of each operator, for docs/ops.md and for data/op_facts.tsv, which `torchlift ops NAME` prints from.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace torchlift {

// Overloads of one name, `out=` forms aside; the in-place form (`add_`) stands with the functional one (`add`).
struct Operator {
  std::vector<std::string> served, not_served;  // overloads: "Tensor", "" for the default one, in-place ones aside
  int cases = 0;                                // lines of tests/ops that are recorded
  int wrong_calls = 0;                          // and that are refused, as PyTorch refuses them
  std::set<int> dtypes;                         // of the tensors in recorded lines, in the order of kDtypes
  std::vector<std::string> refusals;  // calls that PyTorch takes and torchlift refuses: "data-dependent: item(f32[1])"
  std::vector<std::string> ulp;       // "f32 2.5 (PyTorch 1.2) on [-10, 10]"
  std::string why;                    // there is no lowering, or no line
  bool is_supported() const { return !served.empty(); }
  bool refuses_all() const { return is_supported() && cases == 0 && !refusals.empty(); }  // that was tested
};

struct Operators {
  std::map<std::string, Operator> by_name;
  std::vector<std::string> without_schema;  // rows for Python's arithmetic and for higher-order operators
  std::vector<std::string> without_line;    // rows that should have a line in tests/ops and have none
  int overloads = 0, served = 0;            // that take or give a tensor
  int without_tensor = 0;                   // overloads that do not: TorchScript's own
};

std::string dtype_names(const std::set<int>& dtypes);

// `folder` is tests/ops; errors in ulp are read from docs/ulp.tsv beside it, where that is.
Operators read_operators(const std::string& folder);

}  // namespace torchlift
