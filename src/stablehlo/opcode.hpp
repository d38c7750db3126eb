// The closed set of operations (ops.def).
#pragma once

#include <cstdint>
#include <string_view>

namespace torchlift::stablehlo {

enum class Opcode : uint8_t {
#define OP(enumerator, name, form, elements, attributes) enumerator,
#include "stablehlo/ops.def"
#undef OP
};

enum class PrintForm : uint8_t { Pretty, Generic, Special };

struct OpcodeInfo {
  std::string_view name;  // "broadcast_in_dim"
  PrintForm form;
  std::string_view elements;  // element types of elementwise operations, see ops.def
};

const OpcodeInfo& info(Opcode opcode);
size_t opcode_count();

}  // namespace torchlift::stablehlo
