// Padding in all modes, and what is laid on or cut by diagonals.
#include <algorithm>

#include "aten/axes.hpp"
#include "aten/shaping.hpp"

namespace torchlift::aten {
namespace {

size_t at(int64_t i) { return static_cast<size_t>(i); }

// The amounts of PyTorch's list, which begins with the last axis, by axis; nothing if the list does not fit.
struct Padding {
  Dims low, high;
};
std::optional<Padding> padding_of(Lower& l, const Tensor& self, const Dims& pad) {
  if (pad.size() % 2 != 0 || pad.size() / 2 > at(self.rank())) {
    l.wrong("padding " + text_of(pad) + " of " + describe(self));
    return std::nullopt;
  }
  Padding out{Dims(at(self.rank()), Dim(0)), Dims(at(self.rank()), Dim(0))};
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    size_t axis = at(self.rank()) - 1 - i;
    out.low[axis] = pad[2 * i];
    out.high[axis] = pad[2 * i + 1];
    if (self.shape()[axis] + pad[2 * i] + pad[2 * i + 1] < Dim(0)) {
      l.wrong("padding " + text_of(pad) + " cuts more than there is of " + describe(self));
      return std::nullopt;
    }
  }
  return out;
}

Tensor padded(Lower& l, const Tensor& self, Value value) {
  if (!value.has_value()) return {};
  auto format = lower::suggest_memory_format(self.shape(), self.strides());
  return l.make(value, lower::strides_for(l.type(value).dims, format));
}

enum class Border : uint8_t { Reflect, Replicate, Circular };

Value repeated_place(Lower& l, Value v, int64_t axis, const Dim& place, const Dim& count) {
  Value edge = slice_axis(l, v, axis, place, place + 1);
  if (!edge.has_value()) return {};
  Dims shape = l.type(edge).dims;
  shape[at(axis)] = count;
  return l.broadcast_to(edge, shape);
}

// One axis with its borders. A negative amount cuts; what stands beyond the other border does not see the cut, except
// that circular padding wraps around what is left.
Value pad_border(Lower& l, Value v, int64_t axis, Dim size, Dim low, Dim high, Border border) {
  Dim cut_low = low < Dim(0) ? -low : Dim(0), cut_high = high < Dim(0) ? -high : Dim(0);
  if (low < Dim(0)) low = Dim(0);
  if (high < Dim(0)) high = Dim(0);
  Value middle = slice_axis(l, v, axis, cut_low, size - cut_high);
  if (border == Border::Circular) {
    v = middle;
    size = size - cut_low - cut_high;
  }
  Dim reach = border == Border::Reflect ? size - 1 : size;
  if (border != Border::Replicate && (low > reach || high > reach))
    return l.wrong("padding of " + low.text() + " and " + high.text() + " around an axis of " + size.text());
  if (size == Dim(0) && (low > Dim(0) || high > Dim(0))) return l.wrong("padding around an axis without elements");
  Values parts;
  if (low > Dim(0)) {
    if (border == Border::Reflect) parts.push_back(l.hlo.reverse(slice_axis(l, v, axis, 1, low + 1), {axis}));
    if (border == Border::Replicate) parts.push_back(repeated_place(l, v, axis, 0, low));
    if (border == Border::Circular) parts.push_back(slice_axis(l, v, axis, size - low, size));
  }
  parts.push_back(middle);
  if (high > Dim(0)) {
    if (border == Border::Reflect)
      parts.push_back(l.hlo.reverse(slice_axis(l, v, axis, size - 1 - high, size - 1), {axis}));
    if (border == Border::Replicate) parts.push_back(repeated_place(l, v, axis, size - 1, high));
    if (border == Border::Circular) parts.push_back(slice_axis(l, v, axis, 0, high));
  }
  return l.hlo.concatenate(parts, axis);
}

Tensor pad_borders(Lower& l, Tensor self, const Dims& pad, Border border) {
  if (self.is_poison()) return {};
  auto padding = padding_of(l, self, pad);
  if (!padding) return {};
  // Autocast computes these in float32, also below `pad`.
  bool in_float32 = border == Border::Replicate || (border == Border::Reflect && pad.size() <= 4);
  if (l.autocast.enabled && in_float32 && is_float(self.dtype()) && self.dtype() != DType::Float64)
    self = l.to(self, DType::Float32);
  Value v = l.read(self);
  for (int64_t axis = 0; axis < self.rank(); ++axis) {
    Dim low = padding->low[at(axis)], high = padding->high[at(axis)];
    if (low == Dim(0) && high == Dim(0)) continue;
    v = pad_border(l, v, axis, self.dim(axis), low, high, border);
  }
  return padded(l, self, v);
}

template <Border kBorder, size_t kAxes>
Tensor border_pad(Lower& l, Tensor self, Dims padding) {
  if (padding.size() != 2 * kAxes) return l.wrong("padding " + text_of(padding) + " of " + describe(self));
  return pad_borders(l, self, padding, kBorder);
}

Tensor pad_circular(Lower& l, Tensor self, Dims pad) { return pad_borders(l, self, pad, Border::Circular); }

}  // namespace

// Negative amounts cut.
Tensor constant_pad_nd(Lower& l, Tensor self, Dims pad, Scalar value) {
  if (self.is_poison()) return {};
  auto padding = padding_of(l, self, pad);
  if (!padding) return {};
  return padded(l, self, l.hlo.pad(l.read(self), l.constant(self.dtype(), value), padding->low, padding->high));
}

// The other modes pad the last one to three axes of an input with one or two axes before them.
Tensor pad(Lower& l, Tensor self, Dims pad, std::string mode, Optional<double> value) {
  if (mode == "constant") return constant_pad_nd(l, self, std::move(pad), value.value_or(0.0));
  if (value && *value != 0) return l.unsupported("value", std::to_string(*value), "mode '" + mode + "' takes no value");
  if (mode == "reflect") return pad_borders(l, self, pad, Border::Reflect);
  if (mode == "replicate") return pad_borders(l, self, pad, Border::Replicate);
  if (mode == "circular") return pad_borders(l, self, pad, Border::Circular);
  return l.unsupported("mode", "'" + mode + "'");
}

namespace {

// The same by PyTorch's numbers of the modes.
Tensor pad_enum(Lower& l, Tensor self, Dims pad_, int64_t mode, Optional<double> value) {
  static constexpr std::string_view kModes[] = {"reflect", "replicate", "circular", "constant"};
  if (mode < 0 || mode > 3) return l.unsupported("mode", std::to_string(mode));
  return pad(l, self, std::move(pad_), std::string(kModes[mode]), value);
}

// ---- diagonals

// The last axis laid on a diagonal of two new ones, zeros elsewhere: padded apart in the flat matrix.
Tensor diag_embed(Lower& l, Tensor self, int64_t offset, int64_t dim1, int64_t dim2) {
  if (self.is_poison()) return {};
  int64_t rank = self.rank() + 1;
  auto d1 = l.axis(dim1, rank), d2 = l.axis(dim2, rank);
  if (!d1 || !d2) return {};
  if (*d1 == *d2 || self.rank() == 0) return l.wrong("diag_embed of " + describe(self) + " into equal dims");
  Dim length = self.dim(-1), shift = offset < 0 ? -Dim(offset) : Dim(offset), side = length + shift;
  Dims lead(self.shape().begin(), self.shape().end() - 1), square = lead;
  square.insert(square.end(), {side, side});
  Value v;
  if (length == Dim(0)) {
    v = l.full(square, self.dtype(), 0);
  } else {
    size_t axes = at(self.rank());
    Dims low(axes, Dim(0)), high(axes, Dim(0));
    Ints apart(axes, 0);
    low.back() = offset < 0 ? shift * side : shift;
    apart.back() = l.pin(side);
    high.back() = side * side - low.back() - ((length - 1) * (side + 1) + 1);
    v = l.hlo.reshape(l.hlo.pad(l.read(self), l.constant(self.dtype(), 0), low, high, apart), square);
  }
  Ints order;
  int64_t next = 0;
  for (int64_t i = 0; i < rank; ++i) order.push_back(i == *d1 ? rank - 2 : i == *d2 ? rank - 1 : next++);
  return l.make(l.hlo.transpose(v, order));
}

Tensor diag(Lower& l, Tensor self, int64_t diagonal_) {
  if (!self.is_poison() && !l.expect_rank(self, 1, 2, "self")) return {};
  return self.rank() == 1 ? diag_embed(l, self, diagonal_, 0, 1) : fresh(l, diagonal(l, self, diagonal_, 0, 1));
}

Tensor diagflat(Lower& l, Tensor self, int64_t offset) {
  return diag_embed(l, reshape(l, self, {self.numel()}), offset, 0, 1);
}

// Keeps the places of the last two axes where column - row compares so with the diagonal; zeros elsewhere.
Tensor triangle(Lower& l, Tensor self, const Dim& diagonal, ComparisonDirection keep) {
  if (self.is_poison()) return {};
  if (self.rank() < 2) return l.wrong("expected matrices, got " + describe(self));
  Dims matrix(self.shape().end() - 2, self.shape().end());
  Value row = l.hlo.iota({DType::Int64, matrix}, 0), column = l.hlo.iota({DType::Int64, matrix}, 1);
  Value kept = l.hlo.compare(column, l.hlo.add(row, l.full(matrix, DType::Int64, Scalar(diagonal))), keep);
  Value v = l.read(self);
  return l.make(l.hlo.select(l.broadcast_to(kept, self.shape()), v, l.full_like(v, 0)),
                lower::dense_strides_like(self.shape(), self.strides()));
}
Tensor tril(Lower& l, Tensor self, Dim diagonal) { return triangle(l, self, diagonal, ComparisonDirection::Le); }
Tensor triu(Lower& l, Tensor self, Dim diagonal) { return triangle(l, self, diagonal, ComparisonDirection::Ge); }

constexpr int64_t kMaxTrianglePlaces = 1 << 22;

// Rows and columns of the places that tril or triu keeps, in reading order.
template <bool kUpper>
Tensor triangle_indices(Lower& l, int64_t row, int64_t col, int64_t offset, TensorOptions options) {
  if (row < 0 || col < 0) return l.wrong("a matrix of " + std::to_string(row) + " x " + std::to_string(col));
  if (row > kMaxTrianglePlaces || col > kMaxTrianglePlaces || row * col > kMaxTrianglePlaces)
    return l.unsupported("row", std::to_string(row), "the table of indices would be too large");
  offset = std::clamp(offset, -row - 1, col + 1);
  Ints rows, columns;
  for (int64_t r = 0; r < row; ++r) {
    int64_t diagonal = r + offset;
    int64_t first = kUpper ? std::clamp<int64_t>(diagonal, 0, col) : 0;
    int64_t last = kUpper ? col : std::clamp<int64_t>(diagonal + 1, 0, col);
    for (int64_t c = first; c < last; ++c) {
      rows.push_back(r);
      columns.push_back(c);
    }
  }
  Dim count(static_cast<int64_t>(rows.size()));
  rows.insert(rows.end(), columns.begin(), columns.end());
  return l.make(l.hlo.constant_ints(options.dtype.value_or(DType::Int64), rows, {Dim(2), count}));
}

}  // namespace

std::span<const Row> padding_ops() {
  static constexpr Row rows[] = {
      op<pad_circular>("_pad_circular"),
      op<pad_enum>("_pad_enum"),
      op<constant_pad_nd>("constant_pad_nd"),
      op<diag>("diag"),
      op<diag_embed>("diag_embed"),
      op<diagflat>("diagflat"),
      op<pad>("pad"),
      op<border_pad<Border::Reflect, 1>>("reflection_pad1d"),
      op<border_pad<Border::Reflect, 2>>("reflection_pad2d"),
      op<border_pad<Border::Reflect, 3>>("reflection_pad3d"),
      op<border_pad<Border::Replicate, 1>>("replication_pad1d"),
      op<border_pad<Border::Replicate, 2>>("replication_pad2d"),
      op<border_pad<Border::Replicate, 3>>("replication_pad3d"),
      op<tril>("tril"),
      op<triangle_indices<false>>("tril_indices"),
      op<triu>("triu"),
      op<triangle_indices<true>>("triu_indices"),
  };
  return rows;
}

}  // namespace torchlift::aten
