// New tensors of one value, and writing one value into a tensor. What PyTorch leaves uninitialised holds zeros.
#include "aten/creation.hpp"

#include <algorithm>
#include <array>

#include "aten/families.hpp"
#include "aten/pointwise.hpp"
#include "aten/shaping.hpp"

namespace torchlift::aten {
namespace {

using torch::MemoryFormat;

// A new tensor; sizes come from files.
Tensor filled(Lower& l, const Dims& size, DType dtype, const Scalar& value, Optional<MemoryFormat> format = {}) {
  for (const Dim& d : size)
    if (d < Dim(0)) return l.wrong("a tensor of shape " + text_of(size));
  return l.make(l.full(size, dtype, value), lower::strides_for(size, format.value_or(MemoryFormat::Contiguous)));
}

// The same of a number that may be known on the device only.
Tensor filled_with(Lower& l, const Dims& size, DType dtype, Operand value) {
  if (value.number()) return filled(l, size, dtype, *value.number());
  Tensor out = filled(l, size, dtype, 0);  // checks the sizes
  if (out.is_poison() || value.is_poison()) return {};
  if (value.rank() != 0) return l.wrong("expected a number to fill with, got " + describe(value));
  return l.make(l.read(value, dtype, size));
}

Tensor filled_like(Lower& l, Tensor self, const Scalar& value, TensorOptions options, Optional<MemoryFormat> format) {
  if (self.is_poison()) return {};
  return l.make(l.full(self.shape(), options.dtype.value_or(self.dtype()), value), strides_of_copy(self, format));
}

}  // namespace

Tensor zeros(Lower& l, Dims size, TensorOptions options) {
  return filled(l, size, options.dtype.value_or(DType::Float32), 0);
}

// PyTorch's default dtype for floats, int64 for integers.
Tensor full(Lower& l, Dims size, Operand fill_value, TensorOptions options) {
  return filled_with(l, size, options.dtype.value_or(lower::result_type(std::array<Tensor, 1>{fill_value})),
                     fill_value);
}

namespace {

Tensor ones(Lower& l, Dims size, TensorOptions options) {
  return filled(l, size, options.dtype.value_or(DType::Float32), 1);
}

Tensor empty(Lower& l, Dims size, TensorOptions options, Optional<MemoryFormat> memory_format) {
  return filled(l, size, options.dtype.value_or(DType::Float32), 0, memory_format);
}

Tensor empty_strided(Lower& l, Dims size, Dims stride, TensorOptions options) {
  if (size.size() != stride.size()) return l.wrong("sizes " + text_of(size) + " with strides " + text_of(stride));
  Tensor out = zeros(l, std::move(size), options);
  return out.is_poison() ? out : l.make(l.read(out), std::move(stride));
}

Tensor empty_permuted(Lower& l, Dims size, std::vector<int64_t> physical_layout, TensorOptions options) {
  Tensor out = zeros(l, size, options);
  if (out.is_poison()) return {};
  Dims strides(size.size(), Dim(1));
  Dim running(1);
  for (size_t i = physical_layout.size(); i-- > 0;) {
    auto axis = l.axis(physical_layout[i], out.rank());
    if (!axis || size.empty()) return {};
    strides[static_cast<size_t>(*axis)] = running;
    running = running * size[static_cast<size_t>(*axis)];
  }
  return l.make(l.read(out), std::move(strides));
}

// The sizes, int64[rank].
Tensor shape_as_tensor(Lower& l, Tensor self) {
  if (self.is_poison()) return {};
  Values sizes;
  for (const Dim& size : self.shape()) sizes.push_back(l.hlo.reshape(l.constant(DType::Int64, Scalar(size)), {Dim(1)}));
  return l.make(sizes.empty() ? l.full({Dim(0)}, DType::Int64, 0) : l.hlo.concatenate(sizes, 0));
}

Tensor scalar_tensor(Lower& l, Operand s, TensorOptions options) {
  return filled_with(l, {}, options.dtype.value_or(DType::Float32), s);
}

Tensor zeros_like(Lower& l, Tensor self, TensorOptions options, Optional<MemoryFormat> memory_format) {
  return filled_like(l, self, 0, options, memory_format);
}
Tensor ones_like(Lower& l, Tensor self, TensorOptions options, Optional<MemoryFormat> memory_format) {
  return filled_like(l, self, 1, options, memory_format);
}
Tensor full_like(Lower& l, Tensor self, Operand fill_value, TensorOptions options,
                 Optional<MemoryFormat> memory_format) {
  if (fill_value.number()) return filled_like(l, self, *fill_value.number(), options, memory_format);
  if (self.is_poison()) return {};
  Tensor out = filled_with(l, self.shape(), options.dtype.value_or(self.dtype()), fill_value);
  return out.is_poison() ? out : l.make(l.read(out), strides_of_copy(self, memory_format));
}

Tensor new_full(Lower& l, Tensor self, Dims size, Operand fill_value, TensorOptions options) {
  return filled_with(l, size, options.dtype.value_or(self.dtype()), fill_value);
}
Tensor new_zeros(Lower& l, Tensor self, Dims size, TensorOptions options) {
  return filled(l, size, options.dtype.value_or(self.dtype()), 0);
}
Tensor new_ones(Lower& l, Tensor self, Dims size, TensorOptions options) {
  return filled(l, size, options.dtype.value_or(self.dtype()), 1);
}
Tensor new_empty_strided(Lower& l, Tensor self, Dims size, Dims stride, TensorOptions options) {
  if (!options.dtype) options.dtype = self.dtype();
  return empty_strided(l, std::move(size), std::move(stride), options);
}

// Ones on the main diagonal.
Tensor eye_m(Lower& l, Dim n, Dim m, TensorOptions options) {
  Dims shape{n, m};
  DType dtype = options.dtype.value_or(DType::Float32);
  if (n < Dim(0) || m < Dim(0)) return l.wrong("a tensor of shape " + text_of(shape));
  Value on = l.hlo.compare(l.hlo.iota({DType::Int64, shape}, 0), l.hlo.iota({DType::Int64, shape}, 1),
                           ComparisonDirection::Eq);
  return l.make(l.convert(on, dtype));
}
Tensor eye(Lower& l, Dim n, TensorOptions options) { return eye_m(l, n, n, options); }

// ---- writing one value, or another tensor's

Tensor fill(Lower& l, Tensor self, Operand value) {
  if (self.is_poison() || value.is_poison()) return {};
  if (value.numel() != Dim(1)) return l.wrong("expected a 0-D value, got " + describe(value));
  Value v = value.is_wrapped_number() ? l.read(value, self.dtype(), self.shape())
                                      : l.broadcast_to(l.hlo.reshape(l.read(value, self.dtype()), {}), self.shape());
  return l.make(v, lower::dense_strides_like(self.shape(), self.strides()));
}
Tensor zero(Lower& l, Tensor self) { return fill(l, self, l.wrap(0)); }

// fill_value where all indices are equal; with `wrap` the diagonal of a tall matrix begins anew one row below its end.
Tensor fill_diagonal(Lower& l, Tensor self, Scalar fill_value, bool wrap) {
  if (self.is_poison()) return {};
  const Dims& shape = self.shape();
  bool cube = std::all_of(shape.begin(), shape.end(), [&](const Dim& d) { return d == shape[0]; });
  if (shape.size() < 2 || (shape.size() > 2 && !cube))
    return l.wrong("expected a matrix, or dimensions of equal length, got " + describe(self));
  auto index = [&](int64_t axis) { return Formula(l, l.hlo.iota({DType::Int64, shape}, axis)); };
  Formula row = index(0);
  if (wrap && shape.size() == 2) row = formula::fmod(row, row.like(Scalar(shape[1] + Dim(1))));
  Formula on_diagonal = eq(row, index(1));
  for (int64_t axis = 2; axis < self.rank(); ++axis) on_diagonal = on_diagonal & eq(row, index(axis));
  Formula values(l, l.read(self));
  return l.make(select(on_diagonal, values.like(fill_value), values),
                lower::dense_strides_like(self.shape(), self.strides()));
}

// The values of src, as self's dtype and shape.
Tensor copy(Lower& l, Tensor self, Tensor src, Ignored) {
  if (self.is_poison() || src.is_poison()) return {};
  return l.make(l.read(src, self.dtype(), self.shape()), lower::dense_strides_like(self.shape(), self.strides()));
}

// ---- complex numbers from parts

Tensor complex(Lower& l, Tensor real, Tensor imag) {
  if (real.dtype() == DType::Float16)
    return l.unsupported("real", describe(real), "complex32 is not supported: use float32 parts");
  return zip(l, real, imag, {}, [&](Value re, Value im) { return l.hlo.complex(re, im); });
}

// abs * (cos(angle) + i sin(angle))
Tensor polar(Lower& l, Tensor abs, Tensor angle) {
  return zip(l, abs, angle, {}, [&](Value r, Value a) {
    return l.hlo.complex(l.hlo.multiply(r, l.hlo.cosine(a)), l.hlo.multiply(r, l.hlo.sine(a)));
  });
}

}  // namespace

std::span<const Row> constant_ops() {
  static constexpr Row rows[] = {
      op<zeros>("_efficientzerotensor"),
      op<complex>("complex"),
      op<copy>("copy"),
      op<empty>("empty.memory_format"),
      op<zeros_like>("empty_like"),
      op<empty_permuted>("empty_permuted"),
      op<empty_strided>("empty_strided"),
      op<eye>("eye"),
      op<eye_m>("eye.m"),
      op<fill>("fill"),
      op<fill_diagonal>("fill_diagonal_"),
      op<full>("full"),
      op<full_like>("full_like"),
      op<new_zeros>("new_empty"),
      op<new_empty_strided>("new_empty_strided"),
      op<new_full>("new_full"),
      op<new_ones>("new_ones"),
      op<new_zeros>("new_zeros"),
      op<ones>("ones"),
      op<ones_like>("ones_like"),
      op<polar>("polar", lower::AutocastRule::Float32),
      op<scalar_tensor>("scalar_tensor"),
      op<shape_as_tensor>("_shape_as_tensor"),
      op<zero>("zero"),
      op<zeros>("zeros"),
      op<zeros_like>("zeros_like"),
  };
  return rows;
}

std::span<const Row> creation_ops() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> all;
    for (std::span<const Row> part : {constant_ops(), range_ops()}) all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rows;
}

}  // namespace torchlift::aten
