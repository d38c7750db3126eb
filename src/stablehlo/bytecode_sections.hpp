// Private to the bytecode's reader and writer: the numbers of sections, and of the parts of an operation.
#pragma once

#include <cstdint>

namespace torchlift::stablehlo::bytecode {

enum class SectionId : uint8_t {
  String = 0,
  Dialect = 1,
  AttributeType = 2,
  AttributeTypeOffset = 3,
  Ir = 4,
  Resource = 5,
  ResourceOffset = 6,
  DialectVersions = 7,
  Properties = 8,
};

inline constexpr uint8_t kHasAttributes = 1;
inline constexpr uint8_t kHasResults = 2;
inline constexpr uint8_t kHasOperands = 4;
inline constexpr uint8_t kHasSuccessors = 8;
inline constexpr uint8_t kHasRegions = 16;
inline constexpr uint8_t kHasUseOrder = 32;
inline constexpr uint8_t kHasProperties = 64;
inline constexpr uint8_t kAllParts = 127;

}  // namespace torchlift::stablehlo::bytecode
