// torch.gradient: differences of neighbours on both sides, one-sided at the borders.
#include "aten/scan.hpp"
#include "aten/shaping.hpp"

namespace torchlift::aten {
namespace {

// The distance between neighbours along one axis: one number, or the places of the elements.
struct Spacing {
  Scalar distance = 1;
  Optional<Tensor> places;
};

struct Line {
  Lower& l;
  Tensor self;
  int64_t axis;

  Tensor part(Dim start, Dim end) const { return slice(l, self, axis, std::move(start), std::move(end), 1); }
  Tensor element(int64_t i) const {  // negative ones from the end
    Dim place = i < 0 ? self.dim(axis) + Dim(i) : Dim(i);
    return narrow(l, self, axis, place, 1);
  }
  // A number for each place of the axis, so that it broadcasts with self.
  Tensor along(Tensor numbers) const {
    Dims shape(static_cast<size_t>(self.rank()), Dim(1));
    shape[static_cast<size_t>(axis)] = numbers.numel();
    return reshape(l, numbers, std::move(shape));
  }
};

Tensor weighted(Lower& l, Tensor a, Tensor x, Tensor b, Tensor y, Tensor c, Tensor z) {
  return l.add(l.add(l.mul(a, x), l.mul(b, y)), l.mul(c, z));
}

Tensor even_gradient(const Line& line, const Scalar& distance, int64_t edge_order) {
  Lower& l = line.l;
  Dim n = line.self.dim(line.axis);
  double d = distance.to_double();
  Tensor center = l.div(l.div(l.sub(line.part(2, n), line.part(0, n - 2)), distance), Scalar(2));
  auto border = [&](int64_t first, int64_t step) {  // from the border inwards: first, first + step, ...
    Tensor x = line.element(first), y = line.element(first + step);
    if (edge_order == 1) return l.div(step > 0 ? l.sub(y, x) : l.sub(x, y), distance);
    double sign = step > 0 ? 1 : -1;
    return weighted(l, l.wrap(-1.5 * sign / d), x, l.wrap(2 * sign / d), y, l.wrap(-0.5 * sign / d),
                    line.element(first + 2 * step));
  };
  return cat(l, {border(0, 1), center, border(-1, -1)}, line.axis);
}

// Three-point weights for uneven distances dx1 (before) and dx2 (after), as PyTorch has them.
Tensor uneven_gradient(const Line& line, Tensor places, int64_t edge_order) {
  Lower& l = line.l;
  Dim n = line.self.dim(line.axis);
  Tensor dx = l.sub(slice(l, places, 0, 1, n, 1), slice(l, places, 0, 0, n - 1, 1));
  Tensor dx1 = slice(l, dx, 0, 0, n - 2, 1), dx2 = slice(l, dx, 0, 1, n - 1, 1), both = l.add(dx1, dx2);
  Tensor a = l.div(l.neg(dx2), l.mul(dx1, both)), b = l.div(l.sub(dx2, dx1), l.mul(dx1, dx2)),
         c = l.div(dx1, l.mul(dx2, both));
  Tensor center = weighted(l, line.along(a), line.part(0, n - 2), line.along(b), line.part(1, n - 1), line.along(c),
                           line.part(2, n));
  auto distance = [&](int64_t i) { return select(l, dx, 0, i); };
  Tensor front, back;
  if (edge_order == 1) {
    front = l.div(l.sub(line.element(1), line.element(0)), distance(0));
    back = l.div(l.sub(line.element(-1), line.element(-2)), distance(-1));
  } else {
    Tensor d1 = distance(0), d2 = distance(1), sum = l.add(d1, d2);
    front = weighted(l, l.div(l.neg(l.add(l.mul(d1, Scalar(2.0)), d2)), l.mul(d1, sum)), line.element(0),
                     l.div(sum, l.mul(d1, d2)), line.element(1), l.div(l.neg(d1), l.mul(d2, sum)), line.element(2));
    d1 = distance(-2), d2 = distance(-1), sum = l.add(d1, d2);
    back = weighted(l, l.div(d2, l.mul(d1, sum)), line.element(-3), l.div(l.neg(sum), l.mul(d1, d2)), line.element(-2),
                    l.div(l.add(l.mul(d2, Scalar(2.0)), d1), l.mul(d2, sum)), line.element(-1));
  }
  return cat(l, {front, center, back}, line.axis);
}

TensorList gradient(Lower& l, Tensor self, std::vector<int64_t> dims, const std::vector<Spacing>& spacing,
                    int64_t edge_order) {
  if (self.is_poison()) return TensorList(dims.size());
  if (edge_order != 1 && edge_order != 2) return l.unsupported("edge_order", std::to_string(edge_order));
  if (spacing.size() != dims.size())
    return l.wrong("gradient along " + std::to_string(dims.size()) + " dims with " + std::to_string(spacing.size()) +
                   " spacings");
  TensorList out;
  for (size_t i = 0; i < dims.size(); ++i) {
    auto axis = l.axis(dims[i], self.rank());
    if (!axis || self.rank() == 0 || self.dim(*axis) < Dim(edge_order + 1))
      return l.wrong("gradient of " + describe(self) + " of edge order " + std::to_string(edge_order));
    Line line{l, self, *axis};
    if (!spacing[i].places) {
      out.push_back(even_gradient(line, spacing[i].distance, edge_order));
      continue;
    }
    if (spacing[i].places->shape() != Dims{self.dim(*axis)})
      return l.wrong("gradient of " + describe(self) + " at " + describe(*spacing[i].places));
    out.push_back(uneven_gradient(line, *spacing[i].places, edge_order));
  }
  return out;
}

std::vector<int64_t> dims_of_gradient(const Tensor& self, Optional<int64_t> dim) {
  if (dim) return {*dim};
  std::vector<int64_t> all;
  for (int64_t i = 0; i < self.rank(); ++i) all.push_back(i);
  return all;
}

std::vector<Spacing> equal_spacing(size_t count, const Scalar& distance) {
  return std::vector<Spacing>(count, Spacing{distance, {}});
}

std::vector<Spacing> spacing_of(const std::vector<Scalar>& distances) {
  std::vector<Spacing> out;
  for (const Scalar& d : distances) out.push_back({d, {}});
  return out;
}
std::vector<Spacing> spacing_of(const TensorList& places) {
  std::vector<Spacing> out;
  for (const Tensor& t : places) out.push_back({1, t});
  return out;
}

TensorList gradient_scalarint(Lower& l, Tensor self, Optional<Scalar> spacing, Optional<int64_t> dim,
                              int64_t edge_order) {
  auto dims = dims_of_gradient(self, dim);
  auto distances = equal_spacing(dims.size(), spacing.value_or(1));
  return gradient(l, self, std::move(dims), distances, edge_order);
}
TensorList gradient_scalararray(Lower& l, Tensor self, Scalar spacing, std::vector<int64_t> dim, int64_t edge_order) {
  auto distances = equal_spacing(dim.size(), spacing);
  return gradient(l, self, std::move(dim), distances, edge_order);
}
TensorList gradient_array(Lower& l, Tensor self, std::vector<int64_t> dim, int64_t edge_order) {
  return gradient_scalararray(l, self, 1, std::move(dim), edge_order);
}
template <typename List>
TensorList gradient_lists(Lower& l, Tensor self, List spacing, std::vector<int64_t> dim, int64_t edge_order) {
  return gradient(l, self, std::move(dim), spacing_of(spacing), edge_order);
}
template <typename List>
TensorList gradient_lists_int(Lower& l, Tensor self, List spacing, Optional<int64_t> dim, int64_t edge_order) {
  return gradient(l, self, dims_of_gradient(self, dim), spacing_of(spacing), edge_order);
}

}  // namespace

std::span<const Row> gradient_ops() {
  static constexpr Row rows[] = {
      op<gradient_array>("gradient.array"),
      op<gradient_scalararray>("gradient.scalararray"),
      op<gradient_scalarint>("gradient.scalarint"),
      op<gradient_lists<std::vector<Scalar>>>("gradient.scalarrayarray"),
      op<gradient_lists_int<std::vector<Scalar>>>("gradient.scalarrayint"),
      op<gradient_lists<TensorList>>("gradient.tensorarray"),
      op<gradient_lists_int<TensorList>>("gradient.tensorarrayint"),
  };
  return rows;
}

}  // namespace torchlift::aten
