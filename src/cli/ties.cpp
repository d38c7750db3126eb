#include "cli/ties.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "cli/show.hpp"

namespace torchlift::cli {
namespace {

using Shape = std::vector<int64_t>;

int64_t product(std::span<const int64_t> sizes) {
  int64_t out = 1;
  for (int64_t size : sizes) out *= size;
  return out;
}

bool same(std::complex<double> a, std::complex<double> b) {
  auto equal = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  return equal(a.real(), b.real()) && equal(a.imag(), b.imag());
}

// The source as [outer, size, inner] around an axis, the indices as [outer, picked, inner].
struct Lines {
  int64_t outer = 1, size = 1, inner = 1, picked = 1;
};

bool lines_agree(const run::HostTensor& want, const run::HostTensor& got, const run::HostTensor& source,
                 const Lines& lines) {
  auto index = [&](const run::HostTensor& t, int64_t outer, int64_t k, int64_t inner) {
    auto at = static_cast<size_t>((outer * lines.picked + k) * lines.inner + inner);
    return static_cast<int64_t>(read_u64(t.bytes(), at * sizeof(int64_t)));
  };
  auto repeats = [](Shape picks) {
    std::sort(picks.begin(), picks.end());
    return std::adjacent_find(picks.begin(), picks.end()) != picks.end();
  };
  for (int64_t outer = 0; outer < lines.outer; ++outer)
    for (int64_t inner = 0; inner < lines.inner; ++inner) {
      Shape wanted, gotten;
      for (int64_t k = 0; k < lines.picked; ++k) {
        int64_t w = index(want, outer, k, inner), g = index(got, outer, k, inner);
        if (w < 0 || g < 0 || w >= lines.size || g >= lines.size) return false;
        auto at = [&](int64_t i) {
          return element(source, static_cast<size_t>((outer * lines.size + i) * lines.inner + inner));
        };
        if (!same(at(w), at(g))) return false;
        wanted.push_back(w);
        gotten.push_back(g);
      }
      if (repeats(gotten) && !repeats(wanted)) return false;
    }
  return true;
}

// The lines of `shape` along `axis`, if indices of this shape can pick from them.
bool fits(const Shape& shape, size_t axis, Shape indices, Lines& lines) {
  if (indices.size() + 1 == shape.size()) indices.insert(indices.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  if (indices.size() != shape.size()) return false;
  for (size_t i = 0; i < shape.size(); ++i)
    if (i != axis && indices[i] != shape[i]) return false;
  std::span<const int64_t> sizes(shape);
  lines = {product(sizes.first(axis)), shape[axis], product(sizes.subspan(axis + 1)), indices[axis]};
  return true;
}

}  // namespace

bool picks_equal(const run::HostTensor& want, const run::HostTensor& got, std::span<const run::HostTensor> sources) {
  for (const run::HostTensor& source : sources) {
    Lines lines;
    const Shape& shape = source.type().shape;
    if (fits({product(shape)}, 0, want.type().shape, lines) && lines_agree(want, got, source, lines)) return true;
    for (size_t axis = 0; axis < shape.size(); ++axis)
      if (fits(shape, axis, want.type().shape, lines) && lines_agree(want, got, source, lines)) return true;
  }
  return false;
}

}  // namespace torchlift::cli
