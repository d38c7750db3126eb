// Element types, shared by all rooms: PyTorch's dtypes and StableHLO's element types are one closed set (dtype.def).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace torchlift {

enum class DType : uint8_t {
#define DTYPE(name, torch, brief, stablehlo, safetensors, bytes, category) name,
#include "base/dtype.def"
#undef DTYPE
};

enum class DTypeCategory : uint8_t { Bool, Unsigned, Signed, Float, Complex };

struct DTypeInfo {
  std::string_view torch_name;        // "float32"
  std::string_view short_name;        // "f32": messages, .ops lines, --input
  std::string_view stablehlo_name;    // "f32", "i1", "ui8", "complex<f32>"
  std::string_view safetensors_name;  // "F32"; empty where the format has none
  int64_t bytes;                      // per element; bool is one byte
  DTypeCategory category;
};

const DTypeInfo& info(DType dtype);

std::optional<DType> dtype_from_torch_name(std::string_view name);  // with or without the prefix "torch."
std::optional<DType> dtype_from_short_name(std::string_view name);
std::optional<DType> dtype_from_safetensors_name(std::string_view name);
std::optional<DType> dtype_from_stablehlo_name(std::string_view name);

inline bool is_bool(DType d) { return d == DType::Bool; }
inline bool is_complex(DType d) { return info(d).category == DTypeCategory::Complex; }
inline bool is_float(DType d) { return info(d).category == DTypeCategory::Float; }
inline bool is_unsigned(DType d) { return info(d).category == DTypeCategory::Unsigned; }
inline bool is_signed_integer(DType d) { return info(d).category == DTypeCategory::Signed; }
inline bool is_integer(DType d) { return is_unsigned(d) || is_signed_integer(d); }  // bool is none
inline bool is_integral(DType d) { return is_integer(d) || is_bool(d); }  // PyTorch's isIntegralType(.., true)

DType real_of(DType complex);  // complex64 -> float32; a real dtype is returned as it is
DType complex_of(DType real);  // float32 -> complex64; float16 -> complex32; integers and bfloat16 -> complex64

}  // namespace torchlift
