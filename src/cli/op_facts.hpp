// What is known of an operator beside its row: how it is tested, and what is refused. Linked in from data/op_facts.tsv,
// which is made with docs/ops.md (tools/docs/operators.hpp).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace torchlift::cli {

struct OpFacts {
  std::string_view name;  // "add", "torchvision::nms"
  int64_t cases = 0;      // recorded from PyTorch
  std::vector<std::string_view> dtypes;
  std::vector<std::string_view> ulp;       // "f32 2.5 (PyTorch 1.2) on [-10, 10]"
  std::vector<std::string_view> refusals;  // "data-dependent: item(f32[1])"
  int64_t wrong_calls = 0;                 // refused as PyTorch refuses them
  std::string_view why;                    // there is no lowering, or how it is tested without a case; may be empty
};

// By the operator's name without overload; an in-place form has the facts of the functional one.
std::optional<OpFacts> facts_of(std::string_view name);

// Names of operators that are spelt alike, the nearest first.
std::vector<std::string_view> names_like(std::string_view name);

}  // namespace torchlift::cli
