// Rewrites of a finished module that keep its meaning to the last bit, in linear time. They expect a module that
// verifies (placeholders aside).
#pragma once

#include <optional>
#include <unordered_map>

#include "stablehlo/module.hpp"

namespace torchlift::stablehlo {

// Drops instructions whose results nothing uses. Arguments of functions stay. Helper functions that nothing calls go.
void remove_dead_code(Module& module);

// Equal instructions on equal operands become one, within what each may see. Bodies of reductions, sorts and scatters
// keep their own copies: they may not use outer values.
void merge_common(Module& module);

// Computes small integer and boolean arithmetic on constants; floating-point only where the result is exact.
constexpr int64_t kMaxFoldedElements = 64;
void fold_constants(Module& module);

// The value of `value`, if it follows from constants: of at most kMaxFoldedElements elements, through chains of at most
// kMaxKnownDepth operations, floats by IEEE 754's rules. The module stays as it is.
constexpr int kMaxKnownDepth = 256;
std::optional<Constant> known_constant(const Module& module, Value value);

// The same for many values of a module that only grows: what was found once is kept.
class KnownConstants {
 public:
  using Found = std::optional<Constant>;
  const Found& find(const Module& module, Value value) { return find(module, value, 0); }

 private:
  const Found& find(const Module& module, Value value, int depth);
  Found compute(const Module& module, Value value, int depth);
  std::unordered_map<size_t, Found> found_;  // by the value's number
};

// All of them, in a good order.
void simplify(Module& module);

}  // namespace torchlift::stablehlo
