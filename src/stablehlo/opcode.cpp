#include "stablehlo/opcode.hpp"

#include <array>

namespace torchlift::stablehlo {
namespace {

constexpr std::array kInfos = {
#define OP(enumerator, name, form, elements, attributes) OpcodeInfo{name, PrintForm::form, elements},
#include "stablehlo/ops.def"
#undef OP
};

}  // namespace

const OpcodeInfo& info(Opcode opcode) { return kInfos[static_cast<size_t>(opcode)]; }

size_t opcode_count() { return kInfos.size(); }

}  // namespace torchlift::stablehlo
