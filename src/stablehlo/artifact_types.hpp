// Private to the artifact's writer and reader: element types as codes of VHLO. All but complex ones are called in both
// as MLIR writes them.
#pragma once

#include "base/check.hpp"
#include "base/dtype.hpp"
#include "stablehlo/vhlo.hpp"

namespace torchlift::stablehlo::artifact {

inline vhlo::TypeCode real_type(DType dtype) {
  for (uint64_t code = 0; code < 64; ++code)
    if (auto found = vhlo::type_code(vhlo::Dialect::Vhlo, code);
        found && info(*found).text == info(dtype).stablehlo_name)
      return *found;
  CHECK(false) << "no type of VHLO is called " << info(dtype).stablehlo_name;
  return {};
}

// `make(code)` and `make(code, fields)` enter a type.
template <typename Make>
vhlo::TypeNumber element_type(DType dtype, Make&& make) {
  if (!is_complex(dtype)) return make(real_type(dtype));
  return make(vhlo::TypeCode::VhloComplex, std::vector<int64_t>{make(real_type(real_of(dtype)))});
}

}  // namespace torchlift::stablehlo::artifact
