// Copies and conversions, and views under another element type. An operator that has nothing to convert returns self.
#include "aten/shaping.hpp"

namespace torchlift::aten {

using torch::MemoryFormat;

Dims strides_of_copy(const Tensor& self, Optional<MemoryFormat> format) {
  if (!format || *format == MemoryFormat::Preserve) return lower::dense_strides_like(self.shape(), self.strides());
  return lower::strides_for(self.shape(), *format);
}

namespace {

// `to`: self itself unless the dtype, the memory format or `copy` asks for another tensor.
Tensor converted(Lower& l, Tensor self, DType dtype, bool copy, Optional<MemoryFormat> format) {
  if (self.is_poison()) return {};
  if (dtype == DType::Complex32) return l.unsupported("dtype", "complex32", "use complex64");
  bool same_format = !format || *format == MemoryFormat::Preserve ||
                     lower::suggest_memory_format(self.shape(), self.strides()) == *format;
  if (dtype == self.dtype() && !copy && same_format) return self;
  return l.make(l.read(self, dtype), strides_of_copy(self, format));
}

}  // namespace

Tensor fresh(Lower& l, Tensor view) { return view.is_poison() ? view : l.make(l.read(view)); }

TensorList fresh(Lower& l, const TensorList& views) {
  TensorList out;
  for (const Tensor& view : views) out.push_back(fresh(l, view));
  return out;
}

Tensor clone(Lower& l, Tensor self, Optional<MemoryFormat> memory_format) {
  if (self.is_poison()) return {};
  return l.make(l.read(self), strides_of_copy(self, memory_format));
}

Tensor contiguous(Lower& l, Tensor self, MemoryFormat memory_format) {
  if (self.is_poison()) return {};
  if (lower::is_contiguous(self.shape(), self.strides(), memory_format)) return self;
  return clone(l, self, memory_format);
}

namespace {

Tensor to_dtype(Lower& l, Tensor self, DType dtype, Ignored, bool copy, Optional<MemoryFormat> memory_format) {
  return converted(l, self, dtype, copy, memory_format);
}
Tensor to_device(Lower& l, Tensor self, Ignored, DType dtype, Ignored, bool copy,
                 Optional<MemoryFormat> memory_format) {
  return converted(l, self, dtype, copy, memory_format);
}
Tensor to_dtype_layout(Lower& l, Tensor self, TensorOptions options, Ignored, bool copy,
                       Optional<MemoryFormat> memory_format) {
  return converted(l, self, options.dtype.value_or(self.dtype()), copy, memory_format);
}
Tensor to_other(Lower& l, Tensor self, Tensor other, Ignored, bool copy, Optional<MemoryFormat> memory_format) {
  return converted(l, self, other.dtype(), copy, memory_format);
}
Tensor type_as(Lower& l, Tensor self, Tensor other) { return converted(l, self, other.dtype(), false, {}); }
Tensor to_copy(Lower& l, Tensor self, TensorOptions options, Ignored, Optional<MemoryFormat> memory_format) {
  return converted(l, self, options.dtype.value_or(self.dtype()), true, memory_format);
}
// Half of each part, float16 of a real tensor becomes complex32.
Tensor chalf(Lower& l, Tensor self, Optional<MemoryFormat> memory_format) {
  return converted(l, self, DType::Complex32, false, memory_format);
}
Tensor pinned(Lower&, Tensor self, Ignored) { return self; }
Tensor lazy_clone(Lower& l, Tensor self) { return clone(l, self, MemoryFormat::Preserve); }

// ---- views under another element type

Tensor retyped(Lower& l, Tensor self, DType dtype, Dims shape, Dims strides, Dim offset, lower::ViewStep step) {
  Tensor out = l.view(self, std::move(shape), std::move(strides), std::move(offset), std::move(step));
  if (!out.is_poison()) out.node()->dtype = dtype;
  return out;
}

Dims scaled(Dims strides, int64_t factor) {
  for (Dim& s : strides) s = s * Dim(factor);
  return strides;
}

bool expect_complex(Lower& l, const Tensor& self) {
  if (!self.is_poison() && !is_complex(self.dtype())) l.wrong("expected a complex tensor, got " + describe(self));
  return is_complex(self.dtype());
}

// The two parts along a new last axis.
Value parts_of(Lower& l, Value v, const Dims& shape) {
  Dims column = shape;
  column.push_back(1);
  return l.hlo.concatenate({l.hlo.reshape(l.hlo.real(v), column), l.hlo.reshape(l.hlo.imag(v), column)},
                           static_cast<int64_t>(shape.size()));
}

Value complex_of_parts(Lower& l, Value v, const Dims& shape) {
  auto part = [&](int64_t i) {
    Dims start(shape.size(), Dim(0)), limit = shape;
    start.push_back(i);
    limit.push_back(i + 1);
    return l.hlo.reshape(l.hlo.slice(v, start, limit), shape);
  };
  return l.hlo.complex(part(0), part(1));
}

Tensor view_as_real(Lower& l, Tensor self) {
  if (!expect_complex(l, self)) return {};
  Dims inner = self.shape(), shape = self.shape(), strides = scaled(self.strides(), 2);
  shape.push_back(2);
  strides.push_back(1);
  return retyped(l, self, real_of(self.dtype()), std::move(shape), std::move(strides),
                 self.node()->storage_offset * Dim(2),
                 {.read = [&l, inner](Value v) { return parts_of(l, v, inner); },
                  .write = [&l, inner](Value, Value update) { return complex_of_parts(l, update, inner); }});
}

Tensor view_as_complex(Lower& l, Tensor self) {
  if (self.is_poison()) return {};
  if (self.dtype() == DType::Float16)
    return l.unsupported("self", "float16", "StableHLO has no complex numbers of float16; use float32");
  bool fits =
      self.rank() > 0 && self.dim(-1) == Dim(2) && (self.dtype() == DType::Float32 || self.dtype() == DType::Float64);
  if (!fits) return l.wrong("expected float32 or float64 with a last dim of 2, got " + describe(self));
  Dims shape = self.shape(), strides = self.strides();
  shape.pop_back();
  strides.pop_back();
  for (Dim& s : strides) s = floordiv(s, Dim(2));
  return retyped(l, self, complex_of(self.dtype()), shape, std::move(strides),
                 floordiv(self.node()->storage_offset, Dim(2)),
                 {.read = [&l, shape](Value v) { return complex_of_parts(l, v, shape); },
                  .write = [&l, shape](Value, Value update) { return parts_of(l, update, shape); }});
}

// The real part as a view; a real tensor itself.
Tensor real(Lower& l, Tensor self) {
  if (self.is_poison() || !is_complex(self.dtype())) return self;
  return retyped(l, self, real_of(self.dtype()), self.shape(), scaled(self.strides(), 2),
                 self.node()->storage_offset * Dim(2),
                 {.read = [&l](Value v) { return l.hlo.real(v); },
                  .write = [&l](Value base, Value update) { return l.hlo.complex(update, l.hlo.imag(base)); }});
}

Tensor imag(Lower& l, Tensor self) {
  if (!expect_complex(l, self)) return {};
  return retyped(l, self, real_of(self.dtype()), self.shape(), scaled(self.strides(), 2),
                 self.node()->storage_offset * Dim(2) + 1,
                 {.read = [&l](Value v) { return l.hlo.imag(v); },
                  .write = [&l](Value base, Value update) { return l.hlo.complex(l.hlo.real(base), update); }});
}

// The same bits under another dtype. Between widths the last axis grows or shrinks.
Value reinterpret(Lower& l, Value v, DType from, DType to, const Dims& result) {
  if (is_bool(from)) return l.hlo.convert(v, to);
  int64_t in = info(from).bytes, out = info(to).bytes;
  if (in == out) return l.hlo.bitcast_convert(v, to);
  if (in > out) return l.hlo.reshape(l.hlo.bitcast_convert(v, to), result);
  Dims grouped = result;
  grouped.push_back(out / in);
  return l.hlo.bitcast_convert(l.hlo.reshape(v, grouped), to);
}

Tensor view_dtype(Lower& l, Tensor self, DType dtype) {
  if (self.is_poison() || dtype == self.dtype()) return self;
  DType from = self.dtype();
  if (is_complex(from) && dtype == real_of(from))
    return flatten(l, view_as_real(l, self), self.rank() - 1, self.rank());
  if (is_complex(dtype) && from == real_of(dtype) && self.rank() > 0 && mod(self.dim(-1), 2) == Dim(0)) {
    Dims pairs = self.shape();
    pairs.back() = floordiv(pairs.back(), 2);
    pairs.push_back(2);
    return view_as_complex(l, view(l, self, std::move(pairs)));
  }
  bool of_bool = is_bool(from) && is_integer(dtype) && info(dtype).bytes == 1;
  if (is_complex(from) || is_complex(dtype) || is_bool(dtype) || (is_bool(from) && !of_bool))
    return l.unsupported("dtype", std::string(info(dtype).torch_name),
                         "the bits of " + std::string(info(from).torch_name) + " cannot be seen as that: use `to`");
  int64_t in = info(from).bytes, out = info(dtype).bytes;
  Dims shape = self.shape(), strides = self.strides();
  Dim offset = self.node()->storage_offset;
  if (in != out && shape.empty()) return l.wrong("a 0-D tensor as a dtype of another width");
  if (in > out) {
    strides = scaled(std::move(strides), in / out);
    strides.back() = 1;
    shape.back() = shape.back() * Dim(in / out);
    offset = offset * Dim(in / out);
  } else if (in < out) {
    if (mod(shape.back(), Dim(out / in)) != Dim(0))
      return l.wrong("a last dim of " + shape.back().text() + " as a wider dtype");
    for (Dim& s : strides) s = floordiv(s, Dim(out / in));
    strides.back() = 1;
    shape.back() = floordiv(shape.back(), Dim(out / in));
    offset = floordiv(offset, Dim(out / in));
  }
  Dims before = self.shape();
  return retyped(l, self, dtype, shape, std::move(strides), std::move(offset),
                 {.read = [&l, from, dtype, shape](Value v) { return reinterpret(l, v, from, dtype, shape); },
                  .write = [&l, from, dtype, before](Value, Value update) -> Value {
                    if (is_bool(from)) return l.wrong("a write to a bool tensor through a view of integers");
                    return reinterpret(l, update, dtype, from, before);
                  }});
}

}  // namespace

std::span<const Row> copying_ops() {
  using lower::aliases;
  static constexpr Row rows[] = {
      op<lazy_clone>("_lazy_clone"),
      op<pinned>("_pin_memory"),
      op<to_copy>("_to_copy"),
      op<chalf>("chalf", aliases("self")),
      op<clone>("clone"),
      op<contiguous>("contiguous"),
      op<imag>("imag"),
      op<pinned>("pin_memory"),
      op<real>("real"),
      op<to_device>("to.device"),
      op<to_dtype>("to.dtype"),
      op<to_dtype_layout>("to.dtype_layout"),
      op<to_other>("to.other"),
      op<type_as>("type_as", aliases("self")),
      op<view_as_complex>("view_as_complex"),
      op<Copied<view_as_complex>::call>("view_as_complex_copy"),
      op<view_as_real>("view_as_real"),
      op<Copied<view_as_real>::call>("view_as_real_copy"),
      op<view_dtype>("view.dtype"),
      op<Copied<view_dtype>::call>("view_copy.dtype"),
  };
  return rows;
}

}  // namespace torchlift::aten
