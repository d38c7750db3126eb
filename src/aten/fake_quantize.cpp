// Fake quantisation: values are moved to the grid that a quantised tensor would keep them on, and stay floats.
#include "aten/fake_quantize.hpp"

#include <cmath>

#include "aten/axes.hpp"
#include "aten/pointwise.hpp"
#include "base/kinds.hpp"

namespace torchlift::aten {
namespace {

constexpr int64_t kExactInFloat = int64_t{1} << 24;   // whole numbers up to here are floats
constexpr int64_t kExactInDouble = int64_t{1} << 53;  // and up to here doubles

struct Bounds {
  int64_t low = 0, high = 0;
  bool are_floats() const { return low >= -kExactInFloat && high <= kExactInFloat; }
};

struct Result {
  Tensor output, mask;  // mask: where the value was within the bounds
};

bool bounds_fit(Lower& l, Tensor self, const Bounds& bounds) {
  if (self.is_poison() || !computes_in(l, self.dtype(), takes::kRealFloats)) return false;
  if (bounds.low > bounds.high) {
    l.wrong("expected quant_min at most quant_max, got " + std::to_string(bounds.low) + " and " +
            std::to_string(bounds.high));
    return false;
  }
  if (bounds.low >= -kExactInDouble && bounds.high <= kExactInDouble) return true;
  l.unsupported("quant_max", std::to_string(bounds.high), "a grid has at most 2^53 points to a side");
  return false;
}

// The steps of the grid as int64; NaN becomes the lowest. Whole numbers, so that no zero is negative.
Formula within(Formula steps, const Bounds& bounds) {
  if (!bounds.are_floats()) steps = convert(steps, DType::Float64);
  Formula whole = steps.with(steps.hlo().convert(steps, DType::Int64));
  Formula low = whole.like(bounds.low), high = whole.like(bounds.high);
  return select(steps >= steps.like(bounds.high), high, select(steps > steps.like(bounds.low), whole, low));
}

Result finished(Lower& l, Tensor self, Formula output, Formula steps, const Bounds& bounds) {
  Formula mask = (steps >= steps.like(bounds.low)) & (steps <= steps.like(bounds.high));
  Dims strides = lower::dense_strides_like(self.shape(), self.strides());
  return {l.make(convert(output, self.dtype()), strides), l.make(mask, strides)};
}

// PyTorch multiplies by the reciprocal, as float32; compilers must not make a division of it.
Value reciprocal(Lower& l, Value scale) {
  return l.hlo.optimization_barrier({l.hlo.divide(l.full_like(scale, 1), scale)})[0];
}

DType compute_type(Tensor self) { return lower::accumulate_type(self.dtype()); }

// ---- one scale and zero point: of float32 and int64, rank 0

Result per_tensor(Lower& l, Tensor self, Value scale, Value inverse, Value zero_point, const Bounds& bounds) {
  const Dims shape = self.shape();
  auto spread = [&](Value v, DType dtype) { return Formula(l, l.broadcast_to(l.convert(v, dtype), shape)); };
  DType compute = compute_type(self);
  Formula x(l, l.read(self, compute));
  Formula steps = round(x * spread(inverse, compute)) + spread(zero_point, compute);
  Formula whole = within(steps, bounds) - spread(zero_point, DType::Int64);
  return finished(l, self, convert(whole, DType::Float32) * spread(scale, DType::Float32), steps, bounds);
}

Result with_numbers(Lower& l, Tensor self, double scale, int64_t zero_point, const Bounds& bounds) {
  if (!bounds_fit(l, self, bounds)) return {};
  if (zero_point < bounds.low || zero_point > bounds.high) {
    l.wrong("expected a zero_point between quant_min and quant_max, got " + std::to_string(zero_point));
    return {};
  }
  auto narrow = static_cast<float>(scale);
  return per_tensor(l, self, l.constant(DType::Float32, static_cast<double>(narrow)),
                    l.constant(DType::Float32, static_cast<double>(1.0F / narrow)),
                    l.constant(DType::Int64, zero_point), bounds);
}

// The only element, of rank 0.
Value only_element(Lower& l, Tensor t, DType dtype, std::string_view what) {
  if (t.is_poison()) return {};
  if (t.numel() != Dim(1)) return l.wrong("expected one " + std::string(what) + ", got " + describe(t));
  return l.hlo.reshape(l.read(t, dtype), {});
}

Result with_tensors(Lower& l, Tensor self, Tensor scale, Tensor zero_point, const Bounds& bounds) {
  if (!bounds_fit(l, self, bounds)) return {};
  Value step = only_element(l, scale, DType::Float32, "scale");
  Value zero = only_element(l, zero_point, DType::Int64, "zero_point");
  if (!step.has_value() || !zero.has_value()) return {};
  return per_tensor(l, self, step, reciprocal(l, step), zero, bounds);
}

std::tuple<Tensor, Tensor> per_tensor_mask(Lower& l, Tensor self, double scale, int64_t zero_point, int64_t quant_min,
                                           int64_t quant_max) {
  Result r = with_numbers(l, self, scale, zero_point, {quant_min, quant_max});
  return {r.output, r.mask};
}
Tensor per_tensor_affine(Lower& l, Tensor self, double scale, int64_t zero_point, int64_t quant_min,
                         int64_t quant_max) {
  return with_numbers(l, self, scale, zero_point, {quant_min, quant_max}).output;
}
Tensor per_tensor_tensors(Lower& l, Tensor self, Tensor scale, Tensor zero_point, int64_t quant_min,
                          int64_t quant_max) {
  return with_tensors(l, self, scale, zero_point, {quant_min, quant_max}).output;
}

// Where fake_quant_enabled is zero: self as it is.
std::tuple<Tensor, Tensor> per_tensor_switched(Lower& l, Tensor self, Tensor scale, Tensor zero_point,
                                               Tensor fake_quant_enabled, int64_t quant_min, int64_t quant_max) {
  Result r = with_tensors(l, self, scale, zero_point, {quant_min, quant_max});
  Value enabled = only_element(l, fake_quant_enabled, DType::Bool, "fake_quant_enabled");
  if (r.output.is_poison() || !enabled.has_value()) return {};
  Formula on(l, l.broadcast_to(enabled, self.shape()));
  Formula output(l, l.read(r.output)), mask(l, l.read(r.mask));
  return {l.make(select(on, output, Formula(l, l.read(self))), r.output.strides()),
          l.make(mask | !on, r.mask.strides())};
}

// ---- a scale and zero point for each place of one axis

bool channels_fit(Lower& l, Tensor self, Tensor scale, Tensor zero_point, int64_t axis, const Bounds& bounds) {
  if (!bounds_fit(l, self, bounds) || scale.is_poison() || zero_point.is_poison()) return false;
  if (scale.dtype() != DType::Float32 || scale.rank() != 1 || zero_point.rank() != 1) {
    l.wrong("expected a scale and a zero_point of rank 1, of float32 and int32 or float32, got " + describe(scale) +
            " and " + describe(zero_point));
    return false;
  }
  DType zero = zero_point.dtype();
  if (zero != DType::Int32 && zero != DType::Float32 && zero != DType::Float16) {
    l.wrong("expected a zero_point of int32, float32 or float16, got " + describe(zero_point));
    return false;
  }
  if (axis < 0 || axis >= self.rank() || self.dim(axis) != scale.dim(0) || self.dim(axis) != zero_point.dim(0)) {
    l.wrong("scale " + describe(scale) + " and zero_point " + describe(zero_point) + " do not fit axis " +
            std::to_string(axis) + " of " + describe(self));
    return false;
  }
  auto known = zero == DType::Int32 ? l.known_elements(zero_point) : std::nullopt;
  for (const Scalar& z : known.value_or(std::vector<Scalar>())) {
    if (z.to_int() >= bounds.low && z.to_int() <= bounds.high) continue;
    l.wrong("expected zero points between quant_min and quant_max, got " + z.text());
    return false;
  }
  return true;
}

Result per_channel(Lower& l, Tensor self, Tensor scale, Tensor zero_point, int64_t axis, const Bounds& bounds) {
  if (!channels_fit(l, self, scale, zero_point, axis, bounds)) return {};
  auto spread = [&](Value v, DType dtype) {
    return Formula(l, along_axis(l, l.convert(v, dtype), axis, self.shape()));
  };
  DType compute = compute_type(self);
  bool whole_zero = is_integral(zero_point.dtype());
  // PyTorch multiplies in float64, which shows where the difference is no float.
  bool wide = compute == DType::Float64 || !whole_zero || !bounds.are_floats();
  DType result = wide ? DType::Float64 : DType::Float32;
  Value step = l.read(scale), zero = l.read(zero_point);
  Formula x(l, l.read(self, compute));
  Formula places = x * spread(reciprocal(l, step), compute);
  Formula steps = whole_zero ? round(places) + spread(zero, compute) : round(places + spread(zero, compute));
  // What is beyond int64 becomes its lowest, on the CPUs that PyTorch runs on.
  steps = select(steps < std::ldexp(1.0, 63), steps, steps.like(-INFINITY));
  Formula output = (convert(within(steps, bounds), result) - spread(zero, result)) * spread(step, result);
  return finished(l, self, output, steps, bounds);
}

Tensor per_channel_affine(Lower& l, Tensor self, Tensor scale, Tensor zero_point, int64_t axis, int64_t quant_min,
                          int64_t quant_max) {
  return per_channel(l, self, scale, zero_point, axis, {quant_min, quant_max}).output;
}
std::tuple<Tensor, Tensor> per_channel_mask(Lower& l, Tensor self, Tensor scale, Tensor zero_point, int64_t axis,
                                            int64_t quant_min, int64_t quant_max) {
  Result r = per_channel(l, self, scale, zero_point, axis, {quant_min, quant_max});
  return {r.output, r.mask};
}

// ---- learned zero points are floats: rounded, and held within the bounds. grad_factor is for training.

Tensor whole_zero_point(Lower& l, Tensor zero_point, int64_t quant_min, int64_t quant_max) {
  if (zero_point.is_poison() || !computes_in(l, zero_point.dtype(), takes::kRealFloats)) return {};
  Formula zero(l, l.read(zero_point));
  return l.make(l.convert(min(max(round(zero), zero.like(quant_min)), zero.like(quant_max)), DType::Int32));
}
Tensor learnable_per_tensor(Lower& l, Tensor self, Tensor scale, Tensor zero_point, int64_t quant_min,
                            int64_t quant_max, Ignored) {
  return per_tensor_tensors(l, self, scale, whole_zero_point(l, zero_point, quant_min, quant_max), quant_min,
                            quant_max);
}
Tensor learnable_per_channel(Lower& l, Tensor self, Tensor scale, Tensor zero_point, int64_t axis, int64_t quant_min,
                             int64_t quant_max, Ignored) {
  return per_channel_affine(l, self, scale, whole_zero_point(l, zero_point, quant_min, quant_max), axis, quant_min,
                            quant_max);
}

}  // namespace

std::span<const Row> fake_quantize_ops() {
  static constexpr Row rows[] = {
      op<learnable_per_channel>("_fake_quantize_learnable_per_channel_affine"),
      op<learnable_per_tensor>("_fake_quantize_learnable_per_tensor_affine"),
      op<per_tensor_switched>("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams"),
      op<per_channel_affine>("fake_quantize_per_channel_affine"),
      op<per_channel_mask>("fake_quantize_per_channel_affine_cachemask"),
      op<per_tensor_affine>("fake_quantize_per_tensor_affine"),
      op<per_tensor_tensors>("fake_quantize_per_tensor_affine.tensor_qparams"),
      op<per_tensor_mask>("fake_quantize_per_tensor_affine_cachemask"),
  };
  return rows;
}

}  // namespace torchlift::aten
