#include "stablehlo/type.hpp"

#include "base/check.hpp"

namespace torchlift::stablehlo {

std::optional<int64_t> element_count(const Type& type) {
  if (type.rank() > kMaxRank) return std::nullopt;
  const int64_t limit = kMaxTypeBytes / info(type.dtype).bytes;
  int64_t count = 1;
  bool empty = false;
  for (const Dim& dim : type.dims) {
    const int64_t size = dim.concrete();
    if (size < 0 || size > limit) return std::nullopt;
    empty |= size == 0;
    if (size == 0) continue;
    if (count > limit / size) return std::nullopt;
    count *= size;
  }
  return empty ? 0 : count;
}

std::optional<int64_t> byte_count(const Type& type) {
  auto count = element_count(type);
  if (!count) return std::nullopt;
  return *count * info(type.dtype).bytes;
}

std::string problem_of(const Type& type) {
  if (type.rank() > kMaxRank)
    return "a tensor with " + std::to_string(type.rank()) + " dimensions, at most " + std::to_string(kMaxRank) +
           " are allowed";
  for (const Dim& dim : type.dims)
    if (dim.concrete() < 0) return "a negative size in " + to_text(type);
  if (!element_count(type)) return to_text(type) + " has more than 2^60 bytes";
  return "";
}

void append_text(std::string& out, const Type& type) {
  out += "tensor<";
  for (const Dim& dim : type.dims) {
    out += std::to_string(dim.concrete());
    out += 'x';
  }
  out += info(type.dtype).stablehlo_name;
  out += '>';
}

std::string to_text(const Type& type) {
  std::string out;
  append_text(out, type);
  return out;
}

Dims richer(const Dims& a, const Dims& b) {
  CHECK(a.size() == b.size()) << "richer of " << a.size() << " and " << b.size() << " dimensions";
  Dims out;
  out.reserve(a.size());
  for (size_t i = 0; i < a.size(); ++i) out.push_back(torchlift::richer(a[i], b[i]));
  return out;
}

}  // namespace torchlift::stablehlo
