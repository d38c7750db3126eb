#include "base/dtype.hpp"

#include <array>

namespace torchlift {
namespace {

constexpr std::array kInfos = {
#define DTYPE(name, torch, brief, stablehlo, safetensors, bytes, category) \
  DTypeInfo{torch, brief, stablehlo, safetensors, bytes, DTypeCategory::category},
#include "base/dtype.def"
#undef DTYPE
};

std::optional<DType> find(std::string_view name, std::string_view DTypeInfo::*column) {
  if (name.empty()) return std::nullopt;
  for (size_t i = 0; i < kInfos.size(); ++i)
    if (kInfos[i].*column == name) return static_cast<DType>(i);
  return std::nullopt;
}

}  // namespace

const DTypeInfo& info(DType dtype) { return kInfos[static_cast<size_t>(dtype)]; }

std::optional<DType> dtype_from_torch_name(std::string_view name) {
  if (name.starts_with("torch.")) name.remove_prefix(6);
  return find(name, &DTypeInfo::torch_name);
}

std::optional<DType> dtype_from_short_name(std::string_view name) { return find(name, &DTypeInfo::short_name); }

std::optional<DType> dtype_from_safetensors_name(std::string_view name) {
  return find(name, &DTypeInfo::safetensors_name);
}

std::optional<DType> dtype_from_stablehlo_name(std::string_view name) { return find(name, &DTypeInfo::stablehlo_name); }

DType real_of(DType complex) {
  switch (complex) {
    case DType::Complex32: return DType::Float16;
    case DType::Complex64: return DType::Float32;
    case DType::Complex128: return DType::Float64;
    default: return complex;
  }
}

DType complex_of(DType real) {
  if (is_complex(real)) return real;
  if (real == DType::Float64) return DType::Complex128;
  if (real == DType::Float16) return DType::Complex32;
  return DType::Complex64;
}

}  // namespace torchlift
