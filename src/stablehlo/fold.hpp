// What single operations give on constants; private to fold.cpp and fold_constants.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stablehlo/constant.hpp"
#include "stablehlo/element.hpp"
#include "stablehlo/module.hpp"

namespace torchlift::stablehlo {

using Bytes = std::vector<std::byte>;

// The elements of an operand or result, written out, or one element that stands for all.
struct Elements {
  Type type;
  Bytes bytes;

  size_t width() const { return static_cast<size_t>(info(type.dtype).bytes); }
  std::span<const std::byte> at(size_t i) const { return std::span(bytes).subspan(i * width(), width()); }
  int64_t integer(size_t i) const {
    const Number n = read_element(type.dtype, at(i));
    return is_bool(type.dtype) ? static_cast<int64_t>(std::get<bool>(n)) : std::get<int64_t>(n);
  }
  double real(size_t i) const { return std::get<double>(read_element(type.dtype, at(i))); }
};

// How far to go. Exact: what is the same on every device and leaves the module simpler. All: also what a device
// computes by IEEE 754's rules (sums, quotients and roots of floats, rounded once), divisions, powers, rounding,
// reductions.
enum class FoldRule : uint8_t { Exact, All };

bool is_elementwise(Opcode opcode);

// `count` elements of result `number`; nothing if the operation is none of those that are computed here. The operands
// hold all their elements, or, of an elementwise operation with a count of 1, one each.
std::optional<Bytes> fold(const Module& module, const Inst& inst, const std::vector<Elements>& operands,
                          const Type& result, size_t count, FoldRule rule, size_t number = 0);

}  // namespace torchlift::stablehlo
