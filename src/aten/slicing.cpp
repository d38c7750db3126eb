// Views of parts: slices, pieces, diagonals, windows; and the same written into a copy (slice_scatter and its
// relatives).
#include <algorithm>

#include "aten/axes.hpp"
#include "aten/shaping.hpp"
#include "base/kinds.hpp"

namespace torchlift::aten {
namespace {

using torch::MemoryFormat;

size_t at(int64_t i) { return static_cast<size_t>(i); }

// The base where a run of one axis (start, start + step, ...) is replaced by `update`.
Value replace_run(Lower& l, Value base, Value update, int64_t axis, const Dim& start, int64_t step) {
  if (!base.has_value() || !update.has_value()) return {};
  Dims shape = l.type(base).dims, part = l.type(update).dims;
  if (shape == part) return update;
  if (product(part) == Dim(0)) return base;
  if (step == 1) {
    Values starts(shape.size(), l.constant(DType::Int64, 0));
    starts[at(axis)] = l.constant(DType::Int64, Scalar(start));
    return l.hlo.dynamic_update_slice(base, update, starts);
  }
  // Spread by padding between the elements, and chosen where a mask spread alike is true.
  Dims low(shape.size(), Dim(0)), high(shape.size(), Dim(0));
  Ints interior(shape.size(), 0);
  interior[at(axis)] = step - 1;
  low[at(axis)] = start;
  high[at(axis)] = shape[at(axis)] - start - ((part[at(axis)] - 1) * Dim(step) + 1);
  auto spread = [&](Value v) { return l.hlo.pad(v, l.constant(l.type(v).dtype, 0), low, high, interior); };
  Value mask = spread(l.full(part, DType::Bool, true));
  return l.hlo.select(mask, spread(update), base);
}

// Axes start, start + step, ... below end of one axis, already normalised.
Tensor run_view(Lower& l, Tensor self, int64_t axis, const Dim& start, const Dim& end, int64_t step) {
  Dims shape = self.shape(), strides = self.strides();
  Dim offset = self.node()->storage_offset + start * strides[at(axis)];
  shape[at(axis)] = step == 1 ? end - start : ceildiv(end - start, Dim(step));
  strides[at(axis)] = strides[at(axis)] * Dim(step);
  return l.view(self, std::move(shape), std::move(strides), std::move(offset),
                {.read = [&l, axis, start, end, step](Value v) { return slice_axis(l, v, axis, start, end, step); },
                 .write = [&l, axis, start, step](
                              Value base, Value update) { return replace_run(l, base, update, axis, start, step); }});
}

// A negative place counts from the end; what is then outside is cut to the axis.
Dim clamp_place(Dim place, const Dim& size) {
  if (place < Dim(0)) place = place + size;
  if (place < Dim(0)) return Dim(0);
  return place > size ? size : place;
}

}  // namespace

Tensor slice(Lower& l, Tensor self, int64_t dim, Optional<Dim> start, Optional<Dim> end, Dim step) {
  if (self.is_poison()) return {};
  auto axis = l.axis(dim, self.rank());
  if (!axis || self.rank() == 0) return l.wrong("slice of " + describe(self));
  int64_t stride = l.pin(step);
  if (stride < 1) return l.wrong("slice with step " + step.text());
  Dim size = self.dim(*axis);
  Dim first = clamp_place(start.value_or(Dim(0)), size);
  Dim last = clamp_place(end.value_or(size), size);
  if (last < first) last = first;
  return run_view(l, self, *axis, first, last, stride);
}

Tensor narrow(Lower& l, Tensor self, int64_t dim, Dim start, Dim length) {
  if (self.is_poison()) return {};
  auto axis = l.axis(dim, self.rank());
  if (!axis || self.rank() == 0) return l.wrong("narrow of " + describe(self));
  if (start < Dim(0)) start = start + self.dim(*axis);
  if (start < Dim(0) || length < Dim(0) || start + length > self.dim(*axis))
    return l.wrong("narrow from " + start.text() + " by " + length.text() + " of " + describe(self));
  return run_view(l, self, *axis, start, start + length, 1);
}

// One place of an axis, which goes.
Tensor select(Lower& l, Tensor self, int64_t dim, Dim index) {
  if (self.is_poison()) return {};
  auto axis = l.axis(dim, self.rank());
  if (!axis || self.rank() == 0) return l.wrong("select from " + describe(self));
  Dim place = index < Dim(0) ? index + self.dim(*axis) : index;
  if (place < Dim(0) || place >= self.dim(*axis))
    return l.wrong("index " + index.text() + " of dim " + std::to_string(*axis) + " of " + describe(self));
  return squeeze_dim(l, run_view(l, self, *axis, place, place + 1, 1), *axis);
}

TensorList split_with_sizes(Lower& l, Tensor self, Dims split_sizes, int64_t dim) {
  if (self.is_poison()) return TensorList(split_sizes.size());
  auto axis = l.axis(dim, self.rank());
  if (!axis || self.rank() == 0) return l.wrong("split of " + describe(self));
  TensorList pieces;
  Dim start(0);
  for (const Dim& size : split_sizes) {
    if (size < Dim(0) || start + size > self.dim(*axis))
      return l.wrong("split of " + describe(self) + " into " + text_of(split_sizes));
    pieces.push_back(run_view(l, self, *axis, start, start + size, 1));
    start = start + size;
  }
  if (start != self.dim(*axis)) return l.wrong("split of " + describe(self) + " into " + text_of(split_sizes));
  return pieces;
}

namespace {

constexpr int64_t kMaxPieces = 1 << 16;

// Pieces of one size, the last one smaller.
TensorList split(Lower& l, Tensor self, Dim split_size, int64_t dim) {
  if (self.is_poison()) return {};
  auto axis = l.axis(dim, self.rank());
  if (!axis || self.rank() == 0) return l.wrong("split of " + describe(self));
  Dim size = self.dim(*axis);
  if (split_size < Dim(0) || (split_size == Dim(0) && size != Dim(0))) return l.wrong("split by " + split_size.text());
  if (size == Dim(0)) return {run_view(l, self, *axis, 0, 0, 1)};
  int64_t count = l.pin(ceildiv(size, split_size));
  if (count > kMaxPieces) return l.wrong("split into " + std::to_string(count) + " pieces");
  Dims sizes(at(count), split_size);
  sizes.back() = size - split_size * Dim(count - 1);
  return split_with_sizes(l, self, std::move(sizes), *axis);
}

}  // namespace

TensorList chunk(Lower& l, Tensor self, int64_t chunks, int64_t dim) {
  if (self.is_poison()) return {};
  auto axis = l.axis(dim, self.rank());
  if (!axis || self.rank() == 0) return l.wrong("chunk of " + describe(self));
  if (chunks <= 0 || chunks > kMaxPieces) return l.wrong("chunk into " + std::to_string(chunks));
  Dim size = self.dim(*axis);
  if (size == Dim(0)) return split_with_sizes(l, self, Dims(at(chunks), Dim(0)), *axis);
  return split(l, self, ceildiv(size, Dim(chunks)), *axis);
}

TensorList unbind(Lower& l, Tensor self, int64_t dim) {
  if (self.is_poison()) return {};
  auto axis = l.axis(dim, self.rank());
  if (!axis || self.rank() == 0) return l.wrong("unbind of " + describe(self));
  int64_t count = l.pin(self.dim(*axis));
  if (count > kMaxPieces) return l.wrong("unbind into " + std::to_string(count) + " pieces");
  TensorList pieces;
  for (int64_t i = 0; i < count; ++i) pieces.push_back(select(l, self, *axis, i));
  return pieces;
}

// The diagonal of two axes, which go, as a new last axis. In the flat matrix it is a run with step columns + 1.
Tensor diagonal(Lower& l, Tensor self, int64_t offset, int64_t dim1, int64_t dim2) {
  if (self.is_poison()) return {};
  auto d1 = l.axis(dim1, self.rank()), d2 = l.axis(dim2, self.rank());
  if (!d1 || !d2) return {};
  if (*d1 == *d2 || self.rank() < 2) return l.wrong("diagonal of equal dims of " + describe(self));
  Dim rows = self.dim(*d1), columns = self.dim(*d2);
  Dim first_row = offset < 0 ? -Dim(offset) : Dim(0), first_column = offset > 0 ? Dim(offset) : Dim(0);
  Dim below = rows - first_row, right = columns - first_column;
  Dim length = below < right ? below : right;
  if (length < Dim(0)) length = Dim(0);
  std::vector<int64_t> order;
  Dims shape, strides;
  for (int64_t i = 0; i < self.rank(); ++i) {
    if (i == *d1 || i == *d2) continue;
    order.push_back(i);
    shape.push_back(self.dim(i));
    strides.push_back(self.strides()[at(i)]);
  }
  order.insert(order.end(), {*d1, *d2});
  Dims matrices = shape, flat = shape;
  matrices.insert(matrices.end(), {rows, columns});
  flat.push_back(rows * columns);
  auto last = static_cast<int64_t>(shape.size());
  shape.push_back(length);
  Dim row_stride = self.strides()[at(*d1)], column_stride = self.strides()[at(*d2)];
  strides.push_back(row_stride + column_stride);
  bool empty = length == Dim(0);
  Dim place = self.node()->storage_offset;
  if (!empty) place = place + first_row * row_stride + first_column * column_stride;
  int64_t step = empty ? 1 : l.pin(columns) + 1;
  Dim start = empty ? Dim(0) : first_row * columns + first_column;
  Dim end = empty ? Dim(0) : start + (length - 1) * Dim(step) + 1;
  std::vector<int64_t> inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) inverse[at(order[i])] = static_cast<int64_t>(i);
  auto flatten_last = [&l, order, flat](Value v) { return l.hlo.reshape(l.hlo.transpose(v, order), flat); };
  return l.view(self, std::move(shape), std::move(strides), std::move(place),
                {.read = [&l, flatten_last, last, start, end,
                          step](Value v) { return slice_axis(l, flatten_last(v), last, start, end, step); },
                 .write =
                     [&l, flatten_last, matrices, inverse, last, start, step](Value base, Value update) {
                       Value written = replace_run(l, flatten_last(base), update, last, start, step);
                       return l.hlo.transpose(l.hlo.reshape(written, matrices), inverse);
                     }});
}

namespace {

// ---- pieces under their other names

TensorList tensor_split_indices(Lower& l, Tensor self, Dims indices, int64_t dim) {
  if (self.is_poison()) return TensorList(indices.size() + 1);
  auto axis = l.axis(dim, self.rank());
  if (!axis || self.rank() == 0) return l.wrong("tensor_split of " + describe(self));
  TensorList pieces;
  Dim start(0);
  for (const Dim& end : indices) {
    pieces.push_back(slice(l, self, *axis, start, end, 1));
    start = end;
  }
  pieces.push_back(slice(l, self, *axis, start, self.dim(*axis), 1));
  return pieces;
}

// As even as possible: the first (size mod sections) pieces are one larger.
TensorList tensor_split_sections(Lower& l, Tensor self, Dim sections, int64_t dim) {
  if (self.is_poison()) return {};
  auto axis = l.axis(dim, self.rank());
  if (!axis || self.rank() == 0) return l.wrong("tensor_split of " + describe(self));
  int64_t count = l.pin(sections);
  if (count < 1 || count > kMaxPieces) return l.wrong("tensor_split into " + std::to_string(count));
  Dim size = self.dim(*axis), small = floordiv(size, sections);
  int64_t larger = l.pin(mod(size, sections));
  Dims sizes(at(count), small);
  for (int64_t i = 0; i < larger; ++i) sizes[at(i)] = small + 1;
  return split_with_sizes(l, self, std::move(sizes), *axis);
}

TensorList tensor_split_tensor(Lower& l, Tensor, Tensor, int64_t) {
  return l.refuse(Kind::DataDependent, {{"what", std::string("the sizes of tensor_split's pieces")},
                                        {"advice", std::string("pass the indices as Python integers")}});
}

// hsplit, vsplit, dsplit: along axis 1 (0 for 1-D), 0, 2; the sections must be equal.
std::optional<int64_t> split_axis(Lower& l, const Tensor& self, int64_t axis, int64_t least_rank) {
  if (self.rank() < least_rank) {
    l.wrong("expected at least " + std::to_string(least_rank) + "-D self, got " + describe(self));
    return std::nullopt;
  }
  return axis < self.rank() ? axis : 0;
}
template <int64_t kAxis, int64_t kLeastRank>
TensorList split_array(Lower& l, Tensor self, std::vector<int64_t> indices) {
  auto axis = split_axis(l, self, kAxis, kLeastRank);
  return axis ? tensor_split_indices(l, self, dims_of(indices), *axis) : TensorList();
}
template <int64_t kAxis, int64_t kLeastRank>
TensorList split_int(Lower& l, Tensor self, int64_t sections) {
  auto axis = split_axis(l, self, kAxis, kLeastRank);
  if (!axis) return {};
  if (sections < 1 || mod(self.dim(*axis), Dim(sections)) != Dim(0))
    return l.wrong("split of " + describe(self) + " into " + std::to_string(sections) + " equal sections");
  return tensor_split_sections(l, self, sections, *axis);
}

Tensor linalg_diagonal(Lower& l, Tensor A, int64_t offset, int64_t dim1, int64_t dim2) {
  return diagonal(l, A, offset, dim1, dim2);
}

Tensor narrow_tensor(Lower& l, Tensor, int64_t, Tensor, Dim) {
  return l.refuse(Kind::DataDependent, {{"what", std::string("the start of narrow")},
                                        {"advice", std::string("pass start as a Python integer")}});
}

// ---- windows

// Windows of one axis: the axis counts them, a new last axis holds their elements.
Tensor unfold(Lower& l, Tensor self, int64_t dimension, int64_t size, int64_t step) {
  if (self.is_poison()) return {};
  auto axis = l.axis(dimension, self.rank());
  if (!axis) return {};
  Dim extent = self.rank() == 0 ? Dim(1) : self.dim(*axis);
  if (size < 0 || step < 1 || Dim(size) > extent)
    return l.wrong("unfold of " + describe(self) + " with size " + std::to_string(size) + " and step " +
                   std::to_string(step));
  if (self.rank() == 0) return l.view_reshape(self, {Dim(size)}, {Dim(1)});
  Dims shape = self.shape(), strides = self.strides();
  Dim count = floordiv(extent - Dim(size), Dim(step)) + 1;
  shape[at(*axis)] = count;
  shape.push_back(size);
  strides.push_back(strides[at(*axis)]);
  strides[at(*axis)] = strides[at(*axis)] * Dim(step);
  Dims side_by_side = self.shape();
  side_by_side[at(*axis)] = count * Dim(size);
  WindowsAlong windows{.axis = *axis, .count = count, .size = size, .stride = step};
  return l.view(self, shape, std::move(strides), self.node()->storage_offset,
                {.read =
                     [&l, windows, shape](Value v) {
                       if (product(shape) == Dim(0)) return l.full(shape, l.type(v).dtype, 0);
                       return move_last(l, windows_along(l, v, windows), windows.axis + 1);
                     },
                 .write = [&l, windows, side_by_side](Value base, Value update) -> Value {
                   if (windows.size != Dim(windows.stride) && windows.count != Dim(1))
                     return l.wrong("a write through unfold whose windows do not lie side by side");
                   Value run = l.hlo.reshape(move_from_last(l, update, windows.axis + 1), side_by_side);
                   return replace_run(l, base, run, windows.axis, 0, 1);
                 }});
}

Tensor as_strided(Lower& l, Tensor self, Dims size, Dims stride, Optional<Dim> storage_offset) {
  if (self.is_poison()) return {};
  if (size.size() != stride.size())
    return l.wrong("as_strided with sizes " + text_of(size) + " and strides " + text_of(stride));
  if (self.node()->root()->dtype != self.dtype()) return l.wrong("as_strided of a view under another dtype");
  Dim offset = storage_offset.value_or(self.node()->storage_offset);
  bool same = size == self.shape() && stride == self.strides() && offset == self.node()->storage_offset;
  return same ? self : l.view_strided(self, std::move(size), std::move(stride), std::move(offset));
}

// A view of self's storage from its own offset on. A storage that would have to grow holds nothing there.
Tensor resize(Lower& l, Tensor self, Dims size, Optional<torch::MemoryFormat> memory_format) {
  using torch::MemoryFormat;
  if (self.is_poison()) return {};
  if (memory_format == MemoryFormat::Preserve) return l.wrong("resize_ with the memory format preserve_format");
  if (size == self.shape() && !memory_format) return self;
  Dim end = product(size) + self.node()->storage_offset, limit = product(self.node()->root()->shape);
  if (limit < end)
    return l.unsupported("size", text_of(size), "the storage of " + limit.text() + " elements would grow");
  Dims strides = lower::strides_for(size, memory_format.value_or(MemoryFormat::Contiguous));
  return as_strided(l, self, std::move(size), std::move(strides), {});
}
Tensor resize_as(Lower& l, Tensor self, Tensor the_template, Optional<torch::MemoryFormat> memory_format) {
  if (the_template.is_poison()) return {};
  if (memory_format == torch::MemoryFormat::Preserve)
    memory_format = lower::suggest_memory_format(the_template.shape(), the_template.strides());
  return resize(l, self, the_template.shape(), memory_format);
}

// ---- a copy of self, written through a view

template <typename View>
Tensor written_copy(Lower& l, Tensor self, Tensor src, View&& view_of) {
  if (self.is_poison() || src.is_poison()) return {};
  Tensor out = l.make(l.read(self), self.strides());
  Tensor part = view_of(out);
  if (part.is_poison()) return {};
  l.write_cast(part, src);
  return out;
}

Tensor slice_scatter(Lower& l, Tensor self, Tensor src, int64_t dim, Optional<Dim> start, Optional<Dim> end, Dim step) {
  return written_copy(l, self, src, [&](Tensor t) { return slice(l, t, dim, start, end, step); });
}
Tensor select_scatter(Lower& l, Tensor self, Tensor src, int64_t dim, Dim index) {
  return written_copy(l, self, src, [&](Tensor t) { return select(l, t, dim, index); });
}
Tensor diagonal_scatter(Lower& l, Tensor self, Tensor src, int64_t offset, int64_t dim1, int64_t dim2) {
  return written_copy(l, self, src, [&](Tensor t) { return diagonal(l, t, offset, dim1, dim2); });
}
Tensor as_strided_scatter(Lower& l, Tensor self, Tensor src, Dims size, Dims stride, Optional<Dim> storage_offset) {
  return written_copy(l, self, src, [&](Tensor t) { return as_strided(l, t, size, stride, storage_offset); });
}

}  // namespace

std::span<const Row> slicing_ops() {
  using lower::aliases;
  static constexpr Row rows[] = {
      op<as_strided>("as_strided"),
      op<Copied<as_strided>::call>("as_strided_copy"),
      op<as_strided_scatter>("as_strided_scatter"),
      op<chunk>("chunk"),
      op<diagonal>("diagonal"),
      op<Copied<diagonal>::call>("diagonal_copy"),
      op<diagonal_scatter>("diagonal_scatter"),
      op<split_array<2, 3>>("dsplit.array"),
      op<split_int<2, 3>>("dsplit.int"),
      op<split_array<1, 1>>("hsplit.array"),
      op<split_int<1, 1>>("hsplit.int"),
      op<linalg_diagonal>("linalg_diagonal"),
      op<resize>("resize_"),
      op<resize_as>("resize_as_"),
      op<narrow>("narrow"),
      op<narrow_tensor>("narrow.Tensor"),
      op<Copied<narrow>::call>("narrow_copy"),
      op<Copied<select>::call>("select_copy.int"),
      op<select>("select.int"),
      op<select_scatter>("select_scatter"),
      op<slice>("slice.Tensor"),
      op<Copied<slice>::call>("slice_copy.Tensor"),
      op<slice_scatter>("slice_scatter"),
      op<split>("split.Tensor"),
      op<split_with_sizes>("split.sizes"),
      op<Copied<split>::call>("split_copy.Tensor"),
      op<split_with_sizes>("split_with_sizes"),
      op<Copied<split_with_sizes>::call>("split_with_sizes_copy"),
      op<tensor_split_indices>("tensor_split.indices"),
      op<tensor_split_sections>("tensor_split.sections"),
      op<tensor_split_tensor>("tensor_split.tensor_indices_or_sections"),
      op<unbind>("unbind.int"),
      op<Copied<unbind>::call>("unbind_copy.int"),
      op<unfold>("unfold"),
      op<Copied<unfold>::call>("unfold_copy"),
      op<chunk>("unsafe_chunk", aliases("self")),
      op<split>("unsafe_split.Tensor", aliases("self")),
      op<split_with_sizes>("unsafe_split_with_sizes", aliases("self")),
      op<split_array<0, 2>>("vsplit.array"),
      op<split_int<0, 2>>("vsplit.int"),
  };
  return rows;
}

}  // namespace torchlift::aten
