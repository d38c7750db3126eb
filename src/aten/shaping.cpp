// Views that change sizes and the order of axes. Whether reshape and flatten are views is decided by PyTorch's strides.
#include "aten/shaping.hpp"

#include <algorithm>
#include <numeric>

#include "aten/axes.hpp"
#include "aten/families.hpp"

namespace torchlift::aten {
namespace {

size_t at(int64_t i) { return static_cast<size_t>(i); }

// The sizes asked for, with -1 worked out; nothing where the elements do not fit.
std::optional<Dims> infer_size(Lower& l, const Dim& count, Dims size) {
  std::optional<size_t> unknown;
  Dim known(1);
  bool fits = true;
  for (size_t i = 0; i < size.size(); ++i) {
    if (size[i] >= Dim(0)) {
      known = known * size[i];
    } else {
      fits = fits && size[i] == Dim(-1) && !unknown;
      unknown = i;
    }
  }
  if (fits && unknown) {
    fits = known != Dim(0) && mod(count, known) == Dim(0);
    if (fits) size[*unknown] = floordiv(count, known);
  } else {
    fits = fits && known == count;
  }
  if (fits) return size;
  l.wrong("the shape " + text_of(size) + " does not fit a tensor of " + count.text() + " elements");
  return std::nullopt;
}

Tensor as_shape(Lower& l, Tensor self, Dims shape) {
  auto strides = lower::view_strides(self.shape(), self.strides(), shape);
  Dims chosen = strides ? *strides : contiguous_strides(shape);
  return l.view_reshape(self, std::move(shape), std::move(chosen));
}

Tensor without_axes(Lower& l, Tensor self, const std::vector<int64_t>& axes) {
  Dims shape, strides;
  for (int64_t i = 0; i < self.rank(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) != axes.end() && self.dim(i) == Dim(1)) continue;
    shape.push_back(self.dim(i));
    strides.push_back(self.strides()[at(i)]);
  }
  return l.view_reshape(self, std::move(shape), std::move(strides));
}

}  // namespace

// The same elements under other sizes; PyTorch has checked that the strides allow it.
Tensor view(Lower& l, Tensor self, Dims size) {
  if (self.is_poison()) return {};
  auto shape = infer_size(l, self.numel(), std::move(size));
  return shape ? as_shape(l, self, *shape) : Tensor();
}

Tensor reshape(Lower& l, Tensor self, Dims shape) {
  if (self.is_poison()) return {};
  auto sizes = infer_size(l, self.numel(), std::move(shape));
  if (!sizes) return {};
  if (lower::view_strides(self.shape(), self.strides(), *sizes)) return as_shape(l, self, *sizes);
  return l.make(l.hlo.reshape(l.read(self), *sizes));
}

// One axis in place of start_dim to end_dim. PyTorch returns self where that is one axis already.
Tensor flatten(Lower& l, Tensor self, int64_t start_dim, int64_t end_dim) {
  if (self.is_poison()) return {};
  auto first = l.axis(start_dim, self.rank()), last = l.axis(end_dim, self.rank());
  if (!first || !last) return {};
  if (*first > *last) return l.wrong("flatten from dim " + std::to_string(*first) + " to dim " + std::to_string(*last));
  if (self.rank() == 0) return reshape(l, self, {Dim(1)});
  if (*first == *last) return self;
  Dims shape(self.shape().begin(), self.shape().begin() + *first);
  shape.push_back(product(std::span(self.shape()).subspan(at(*first), at(*last - *first + 1))));
  shape.insert(shape.end(), self.shape().begin() + *last + 1, self.shape().end());
  return reshape(l, self, std::move(shape));
}

Tensor squeeze_dim(Lower& l, Tensor self, int64_t dim) {
  if (self.is_poison()) return {};
  auto axis = l.axis(dim, self.rank());
  return axis ? without_axes(l, self, {*axis}) : Tensor();
}

Tensor unsqueeze(Lower& l, Tensor self, int64_t dim) {
  if (self.is_poison()) return {};
  auto axis = l.axis(dim, self.rank() + 1);
  if (!axis) return {};
  Dims shape = self.shape(), strides = self.strides();
  Dim stride = *axis < self.rank() ? shape[at(*axis)] * strides[at(*axis)] : Dim(1);
  shape.insert(shape.begin() + *axis, Dim(1));
  strides.insert(strides.begin() + *axis, stride);
  return l.view_reshape(self, std::move(shape), std::move(strides));
}

Tensor permute(Lower& l, Tensor self, std::vector<int64_t> dims) {
  if (self.is_poison()) return {};
  if (static_cast<int64_t>(dims.size()) != self.rank())
    return l.wrong("permute of " + describe(self) + " with " + std::to_string(dims.size()) + " dims");
  std::vector<int64_t> inverse(dims.size(), -1);
  Dims shape, strides;
  for (size_t i = 0; i < dims.size(); ++i) {
    auto axis = l.axis(dims[i], self.rank());
    if (!axis) return {};
    if (inverse[at(*axis)] >= 0) return l.wrong("permute names dim " + std::to_string(*axis) + " twice");
    inverse[at(*axis)] = static_cast<int64_t>(i);
    dims[i] = *axis;
    shape.push_back(self.dim(*axis));
    strides.push_back(self.strides()[at(*axis)]);
  }
  return l.view(self, std::move(shape), std::move(strides), self.node()->storage_offset,
                {.read = [&l, dims](Value v) { return l.hlo.transpose(v, dims); },
                 .write = [&l, inverse](Value, Value update) { return l.hlo.transpose(update, inverse); }});
}

Tensor transpose(Lower& l, Tensor self, int64_t dim0, int64_t dim1) {
  if (self.is_poison()) return {};
  auto a = l.axis(dim0, self.rank()), b = l.axis(dim1, self.rank());
  if (!a || !b) return {};
  std::vector<int64_t> order(at(self.rank()));
  std::iota(order.begin(), order.end(), 0);
  if (!order.empty()) std::swap(order[at(*a)], order[at(*b)]);
  return permute(l, self, std::move(order));
}

namespace {

Tensor movedim_intlist(Lower& l, Tensor self, std::vector<int64_t> source, std::vector<int64_t> destination) {
  if (self.is_poison()) return {};
  if (source.size() != destination.size() || source.size() > at(self.rank()))
    return l.wrong("movedim from " + std::to_string(source.size()) + " dims to " + std::to_string(destination.size()));
  std::vector<int64_t> order(at(self.rank()), -1);
  std::vector<bool> moved(at(self.rank()), false);
  for (size_t i = 0; i < source.size(); ++i) {
    auto from = l.axis(source[i], self.rank()), to = l.axis(destination[i], self.rank());
    if (!from || !to) return {};
    if (moved[at(*from)] || order[at(*to)] >= 0) return l.wrong("movedim names a dim twice");
    order[at(*to)] = *from;
    moved[at(*from)] = true;
  }
  int64_t next = 0;
  for (int64_t& place : order) {
    if (place >= 0) continue;
    while (moved[at(next)]) ++next;
    place = next++;
  }
  return permute(l, self, std::move(order));
}

}  // namespace

Tensor movedim(Lower& l, Tensor self, int64_t source, int64_t destination) {
  if (self.rank() == 0) return self;
  return movedim_intlist(l, self, {source}, {destination});
}

// Axes of size one spread to the sizes asked for, -1 keeps. The strides of spread axes are zero.
Tensor expand(Lower& l, Tensor self, Dims size, bool) {
  if (self.is_poison()) return {};
  if (static_cast<int64_t>(size.size()) < self.rank())
    return l.wrong("expand of " + describe(self) + " to " + text_of(size));
  size_t added = size.size() - at(self.rank());
  Dims strides(size.size(), Dim(0));
  bool spread = false;
  for (size_t i = size.size(); i-- > 0;) {
    bool is_new = i < added;
    Dim own = is_new ? Dim(1) : self.shape()[i - added];
    strides[i] = is_new ? (i + 1 < size.size() ? size[i + 1] * strides[i + 1] : Dim(1)) : self.strides()[i - added];
    if (size[i] == Dim(-1) && !is_new) size[i] = own;
    if (size[i] < Dim(0) || (size[i] != own && own != Dim(1)))
      return l.wrong("expand of " + describe(self) + " to " + text_of(size));
    if (size[i] == own) continue;
    spread = true;
    strides[i] = Dim(0);
  }
  Dims from = self.shape();
  return l.view(self, size, std::move(strides), self.node()->storage_offset,
                {.read = [&l, size](Value v) { return l.broadcast_to(v, size); },
                 .write = [&l, from, spread](Value, Value update) -> Value {
                   if (spread) return l.wrong("a write through an expanded tensor, whose elements share memory");
                   return l.hlo.reshape(update, from);
                 }});
}

namespace {

Tensor view_as(Lower& l, Tensor self, Tensor other) { return view(l, self, other.shape()); }
Tensor reshape_as(Lower& l, Tensor self, Tensor other) { return reshape(l, self, other.shape()); }
Tensor expand_as(Lower& l, Tensor self, Tensor other) { return expand(l, self, other.shape(), false); }
Tensor broadcast_to(Lower& l, Tensor self, Dims size) { return expand(l, self, std::move(size), false); }
Tensor ravel(Lower& l, Tensor self) { return view(l, contiguous(l, self, torch::MemoryFormat::Contiguous), {Dim(-1)}); }
Tensor reshape_copy(Lower& l, Tensor self, Dims size) { return fresh(l, view(l, self, std::move(size))); }

Tensor reshape_alias(Lower& l, Tensor self, Dims size, Dims stride) {
  if (self.is_poison()) return {};
  if (product(size) != self.numel() || size.size() != stride.size())
    return l.wrong("the shape " + text_of(size) + " does not fit " + describe(self));
  return l.view_reshape(self, std::move(size), std::move(stride));
}

// One axis becomes several.
Tensor unflatten(Lower& l, Tensor self, int64_t dim, Dims sizes) {
  if (self.is_poison()) return {};
  auto axis = l.axis(dim, self.rank());
  if (!axis || self.rank() == 0) return l.wrong("unflatten of " + describe(self));
  auto parts = infer_size(l, self.dim(*axis), std::move(sizes));
  if (!parts) return {};
  Dims shape(self.shape().begin(), self.shape().begin() + *axis);
  shape.insert(shape.end(), parts->begin(), parts->end());
  shape.insert(shape.end(), self.shape().begin() + *axis + 1, self.shape().end());
  return as_shape(l, self, std::move(shape));
}

Tensor squeeze(Lower& l, Tensor self) {
  if (self.is_poison()) return {};
  std::vector<int64_t> all(at(self.rank()));
  std::iota(all.begin(), all.end(), 0);
  return without_axes(l, self, all);
}

Tensor squeeze_dims(Lower& l, Tensor self, std::vector<int64_t> dim) {
  if (self.is_poison()) return {};
  auto axes = l.axes(dim, self.rank(), false);
  return axes ? without_axes(l, self, *axes) : Tensor();
}

Tensor t(Lower& l, Tensor self) {
  if (self.rank() > 2) return l.wrong("expected 1-D or 2-D self, got " + describe(self));
  return self.rank() < 2 ? self : transpose(l, self, 0, 1);
}

Tensor numpy_T(Lower& l, Tensor self) {
  std::vector<int64_t> order(at(self.rank()));
  std::iota(order.rbegin(), order.rend(), 0);
  return permute(l, self, std::move(order));
}

// The conjugate of a complex tensor, as a view; a real tensor itself.
Tensor conj_view(Lower& l, Tensor self) {
  if (self.is_poison() || !is_complex(self.dtype())) return self;
  return l.view(
      self, self.shape(), self.strides(), self.node()->storage_offset,
      {.read = [&l](Value v) { return conj(l, v); }, .write = [&l](Value, Value update) { return conj(l, update); }});
}

Tensor mT(Lower& l, Tensor self) {
  if (self.rank() == 1) return l.wrong("expected matrices, got " + describe(self));
  return self.rank() == 0 ? self : transpose(l, self, -2, -1);
}

Tensor mH(Lower& l, Tensor self) { return conj_view(l, mT(l, self)); }

Tensor matrix_H(Lower& l, Tensor self) {
  if (self.rank() > 2) return l.wrong("expected a matrix, got " + describe(self));
  return mH(l, self);
}

Tensor same(Lower&, Tensor self) { return self; }

TensorList broadcast_tensors(Lower& l, TensorList tensors) {
  auto shape = l.broadcast_shapes(tensors);
  if (!shape) return TensorList(tensors.size());
  for (Tensor& tensor : tensors) tensor = expand(l, tensor, *shape, false);
  return tensors;
}

Tensor atleast_1d(Lower& l, Tensor self) { return self.rank() == 0 ? reshape(l, self, {Dim(1)}) : self; }
Tensor atleast_2d(Lower& l, Tensor self) {
  if (self.rank() >= 2) return self;
  return self.rank() == 0 ? reshape(l, self, {Dim(1), Dim(1)}) : unsqueeze(l, self, 0);
}
Tensor atleast_3d(Lower& l, Tensor self) {
  if (self.rank() >= 3) return self;
  if (self.rank() == 0) return reshape(l, self, {Dim(1), Dim(1), Dim(1)});
  return self.rank() == 1 ? unsqueeze(l, unsqueeze(l, self, 0), -1) : unsqueeze(l, self, -1);
}
template <Tensor (*kOne)(Lower&, Tensor)>
TensorList each(Lower& l, TensorList tensors) {
  for (Tensor& tensor : tensors) tensor = kOne(l, tensor);
  return tensors;
}

// Every 0-D or 1-D tensor spread over the grid of all; "xy" exchanges the first two axes.
TensorList meshgrid_indexing(Lower& l, TensorList tensors, std::string indexing) {
  if (indexing != "ij" && indexing != "xy") return l.unsupported("indexing", "'" + indexing + "'");
  bool swap = indexing == "xy" && tensors.size() >= 2;
  if (swap) std::swap(tensors[0], tensors[1]);
  Dims shape;
  for (const Tensor& tensor : tensors) {
    if (!l.expect_rank(tensor, 0, 1, "tensors")) return TensorList(tensors.size());
    shape.push_back(tensor.rank() == 0 ? Dim(1) : tensor.dim(0));
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    Dims own(shape.size(), Dim(1));
    own[i] = shape[i];
    tensors[i] = expand(l, view(l, tensors[i], own), shape, false);
  }
  if (swap) std::swap(tensors[0], tensors[1]);
  return tensors;
}
TensorList meshgrid(Lower& l, TensorList tensors) { return meshgrid_indexing(l, std::move(tensors), "ij"); }

// The sum over the axes that broadcasting from `size` has spread.
Tensor sum_to_size(Lower& l, Tensor self, Dims size) {
  if (self.is_poison()) return {};
  size_t added = at(self.rank()) - std::min(size.size(), at(self.rank()));
  Ints summed;
  for (size_t i = 0; i < at(self.rank()); ++i) {
    bool spread = i < added || (size[i - added] == Dim(1) && self.shape()[i] != Dim(1));
    if (spread) summed.push_back(static_cast<int64_t>(i));
    bool fits = size.size() <= at(self.rank()) && (spread || size[i - added] == self.shape()[i]);
    if (!fits) return l.wrong("sum_to_size of " + describe(self) + " to " + text_of(size));
  }
  if (summed.empty()) return self;
  DType dtype = is_integral(self.dtype()) ? DType::Int64 : self.dtype();
  Value sum = l.hlo.reduce(l.read(self, lower::accumulate_type(dtype)), summed, Reducer::Add);
  return l.make(l.hlo.reshape(l.convert(sum, dtype), size));
}

bool is_same_size(Lower&, Tensor self, Tensor other) { return self.shape() == other.shape(); }

// A promise of the exporter about a tensor, which holds here or is refused. It has no result.
void assert_tensor_metadata(Lower& l, Tensor a, Optional<Dims> size, Ignored, Optional<DType> dtype, Ignored, Ignored) {
  if (a.is_poison()) return;
  if (dtype && *dtype != a.dtype())
    l.wrong("expected a tensor of " + std::string(info(*dtype).torch_name) + ", got " + describe(a));
  if (size && *size != a.shape()) l.wrong("expected a tensor of shape " + text_of(*size) + ", got " + describe(a));
}

}  // namespace

std::span<const Row> shape_view_ops() {
  using lower::aliases;
  static constexpr Row rows[] = {
      op<assert_tensor_metadata>("_assert_tensor_metadata"),
      op<Copied<conj_view>::call>("_conj_copy"),
      op<reshape_alias>("_reshape_alias"),
      op<Copied<reshape_alias>::call>("_reshape_alias_copy"),
      op<reshape_copy>("_reshape_copy"),
      op<view>("_unsafe_view", aliases("self")),
      op<mH>("adjoint"),
      op<same>("alias"),
      op<Copied<same>::call>("alias_copy"),
      op<atleast_1d>("atleast_1d", aliases("self")),
      op<each<atleast_1d>>("atleast_1d.Sequence", aliases("tensors")),
      op<atleast_2d>("atleast_2d", aliases("self")),
      op<each<atleast_2d>>("atleast_2d.Sequence", aliases("tensors")),
      op<atleast_3d>("atleast_3d", aliases("self")),
      op<each<atleast_3d>>("atleast_3d.Sequence", aliases("tensors")),
      op<broadcast_tensors>("broadcast_tensors", aliases("tensors")),
      op<broadcast_to>("broadcast_to"),
      op<same>("detach"),
      op<Copied<same>::call>("detach_copy"),
      op<expand>("expand"),
      op<expand_as>("expand_as"),
      op<Copied<expand>::call>("expand_copy"),
      op<flatten>("flatten.using_ints"),
      op<is_same_size>("is_same_size"),
      op<same>("lift", aliases("self")),
      op<same>("lift_fresh"),
      op<Copied<same>::call>("lift_fresh_copy"),
      op<mH>("mH"),
      op<mT>("mT"),
      op<matrix_H>("matrix_H"),
      op<meshgrid>("meshgrid", aliases("tensors")),
      op<meshgrid_indexing>("meshgrid.indexing", aliases("tensors")),
      op<movedim>("moveaxis.int"),
      op<movedim_intlist>("moveaxis.intlist"),
      op<movedim>("movedim.int"),
      op<movedim_intlist>("movedim.intlist"),
      op<numpy_T>("numpy_T"),
      op<permute>("permute"),
      op<Copied<permute>::call>("permute_copy"),
      op<ravel>("ravel"),
      op<reshape>("reshape"),
      op<reshape_as>("reshape_as"),
      op<squeeze>("squeeze"),
      op<squeeze_dim>("squeeze.dim"),
      op<squeeze_dims>("squeeze.dims"),
      op<Copied<squeeze>::call>("squeeze_copy"),
      op<Copied<squeeze_dim>::call>("squeeze_copy.dim"),
      op<Copied<squeeze_dims>::call>("squeeze_copy.dims"),
      op<sum_to_size>("sum_to_size"),
      op<transpose>("swapaxes"),
      op<transpose>("swapdims"),
      op<t>("t"),
      op<Copied<t>::call>("t_copy"),
      op<transpose>("transpose.int"),
      op<Copied<transpose>::call>("transpose_copy.int"),
      op<unflatten>("unflatten.int"),
      op<unsqueeze>("unsqueeze"),
      op<Copied<unsqueeze>::call>("unsqueeze_copy"),
      op<view>("view"),
      op<view_as>("view_as"),
      op<Copied<view>::call>("view_copy"),
  };
  return rows;
}

std::span<const Row> shaping_ops() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> all;
    for (std::span<const Row> part : {shape_view_ops(), slicing_ops(), copying_ops(), joining_ops(), padding_ops()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rows;
}

}  // namespace torchlift::aten
