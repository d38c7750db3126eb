// Shared by the builder_*.cpp.
#pragma once

#include "stablehlo/builder.hpp"

namespace torchlift::stablehlo {

// An operation about to be added: what infer() wants to know.
struct Builder::Draft {
  Opcode opcode{};
  Values operands;
  Attributes attributes{};
  std::vector<RegionId> regions{};
  std::vector<Type> claimed{};  // result types, where the caller chooses them
};

// An empty list stands for `count` times `value`.
template <typename T>
void fill_default(std::vector<T>& list, size_t count, T value) {
  if (list.empty()) list.assign(count, value);
}

inline Values concat(const Values& a, const Values& b) {
  Values out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

}  // namespace torchlift::stablehlo
