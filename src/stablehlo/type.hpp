// Types of StableHLO values: an element type and sizes. Sizes are concrete; each also carries the expression that says
// where it comes from, which equality ignores.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dim.hpp"
#include "base/dtype.hpp"

namespace torchlift::stablehlo {

using Ints = std::vector<int64_t>;

struct Type {
  DType dtype = DType::Float32;
  Dims dims;

  size_t rank() const { return dims.size(); }
  Type with(DType other) const { return {other, dims}; }
  Type with(Dims other) const { return {dtype, std::move(other)}; }
  bool operator==(const Type&) const = default;  // element type and concrete sizes
};

inline Type scalar(DType dtype) { return {dtype, {}}; }

constexpr size_t kMaxRank = 64;
constexpr int64_t kMaxTypeBytes = int64_t{1} << 60;

// The sizes' product, and that times the bytes of an element (bool is one byte); nothing for a type that is not
// allowed: a negative size, more than kMaxRank dimensions, or more than kMaxTypeBytes.
std::optional<int64_t> element_count(const Type& type);
std::optional<int64_t> byte_count(const Type& type);

// Why the type is not allowed; empty if it is.
std::string problem_of(const Type& type);

std::string to_text(const Type& type);  // "tensor<8x3xf32>"
void append_text(std::string& out, const Type& type);

// `richer` for every dimension of two types with equal sizes.
Dims richer(const Dims& a, const Dims& b);

}  // namespace torchlift::stablehlo
