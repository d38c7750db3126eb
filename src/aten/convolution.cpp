// Convolutions: torch.nn.functional's "Convolution functions". All are one StableHLO operation; it is a correlation, as
// in PyTorch, and takes PyTorch's NCHW and OIHW as they are.
#include <array>
#include <numeric>

#include "aten/axes.hpp"
#include "aten/families.hpp"
#include "aten/linear_algebra.hpp"

namespace torchlift::aten {
namespace {

// What PyTorch's argument lists say, one entry per spatial axis.
struct Spec {
  Ints stride;
  Dims padding_low;
  Dims padding_high;
  Ints dilation;
  Dims output_padding;  // transposed only
  bool transposed = false;
  int64_t groups = 1;
};

// A list of one entry stands for all axes.
template <typename T>
bool spread(Lower& l, std::vector<T>& list, size_t spatial, std::string_view what) {
  if (list.size() == 1 && spatial > 1) list.assign(spatial, list.front());
  if (list.size() == spatial) return true;
  l.wrong("expected " + std::to_string(spatial) + " entries of " + std::string(what) + ", got " +
          std::to_string(list.size()));
  return false;
}

bool well_formed(Lower& l, Spec& spec, size_t spatial) {
  if (!spread(l, spec.stride, spatial, "stride") || !spread(l, spec.padding_low, spatial, "padding") ||
      !spread(l, spec.padding_high, spatial, "padding") || !spread(l, spec.dilation, spatial, "dilation"))
    return false;
  if (spec.transposed && !spread(l, spec.output_padding, spatial, "output_padding")) return false;
  for (size_t i = 0; i < spatial; ++i) {
    if (spec.stride[i] < 1 || spec.dilation[i] < 1 || spec.padding_low[i] < Dim(0)) {
      l.wrong("expected positive stride and dilation and no negative padding");
      return false;
    }
  }
  if (spec.groups >= 1) return true;
  l.wrong("expected at least one group, got " + std::to_string(spec.groups));
  return false;
}

stablehlo::Convolution plain_window(const Spec& spec) {
  stablehlo::Convolution c{};
  c.window_strides = spec.stride;
  c.padding_low = spec.padding_low;
  c.padding_high = spec.padding_high;
  c.rhs_dilation = spec.dilation;
  c.feature_group_count = spec.groups;
  return c;
}

// The transposed convolution is a plain one over an input spread out by the stride, with the kernel mirrored
// (transposed_kernel): not by window_reversal, which takes XLA's CPU from its fast convolutions to a plain loop.
stablehlo::Convolution transposed_window(Lower& l, const Spec& spec, const Dims& kernel) {
  stablehlo::Convolution c{};
  for (size_t i = 0; i < spec.stride.size(); ++i) {
    Dim reach = Dim(spec.dilation[i]) * (kernel[i + 2] - Dim(1));
    c.padding_low.push_back(reach - spec.padding_low[i]);
    c.padding_high.push_back(reach - spec.padding_high[i] + spec.output_padding[i]);
    if (spec.output_padding[i] < Dim(0) ||
        (spec.output_padding[i] >= Dim(spec.stride[i]) && spec.output_padding[i] >= Dim(spec.dilation[i])))
      l.wrong("expected output padding below stride or dilation, got " + spec.output_padding[i].text());
  }
  c.lhs_dilation = spec.stride;
  c.rhs_dilation = spec.dilation;
  c.feature_group_count = spec.groups;
  return c;
}

// [in, out / g, ...] to [out, in / g, ...], mirrored.
Value transposed_kernel(Lower& l, Value weight, int64_t groups) {
  Dims shape = l.type(weight).dims;
  Dim in = floordiv(shape[0], Dim(groups)), out = shape[1];
  Dims grouped = shape;
  grouped[0] = in;
  grouped.insert(grouped.begin(), Dim(groups));
  Ints order{0, 2, 1};
  for (int64_t i = 3; i < static_cast<int64_t>(grouped.size()); ++i) order.push_back(i);
  Dims result = shape;
  result[0] = Dim(groups) * out;
  result[1] = in;
  Ints spatial(shape.size() - 2);
  std::iota(spatial.begin(), spatial.end(), 2);
  weight = l.hlo.reverse(weight, spatial);
  return l.hlo.reshape(l.hlo.transpose(l.hlo.reshape(weight, grouped), order), result);
}

Value real_convolution(Lower& l, Value input, Value weight, const stablehlo::Convolution& c) {
  if (!input.has_value() || !weight.has_value()) return {};
  return l.hlo.convolution(input, weight, c, lower::accumulate_type(l.type(input).dtype));
}

// (a + ib) * (c + id) by three real convolutions.
Value complex_convolution(Lower& l, Value input, Value weight, const stablehlo::Convolution& c) {
  Value a = l.hlo.real(input), b = l.hlo.imag(input), re = l.hlo.real(weight), im = l.hlo.imag(weight);
  Value first = real_convolution(l, a, re, c);
  Value second = real_convolution(l, b, im, c);
  Value mixed = real_convolution(l, l.hlo.add(a, b), l.hlo.add(re, im), c);
  return l.hlo.complex(l.hlo.subtract(first, second), l.hlo.subtract(l.hlo.subtract(mixed, first), second));
}

// ---- transposed, in half precision

// PyTorch's kernel multiplies into columns, one for each place of the kernel, and adds these up one after another;
// columns and sums are rounded to the narrow dtype. Kernels of more places than this are left to the plain form.
constexpr int64_t kMostRoundedPlaces = 64;

bool sums_are_rounded(Tensor input, Tensor weight, const Spec& spec) {
  Dim places(1);
  for (size_t i = 2; i < weight.shape().size(); ++i) places = places * weight.shape()[i];
  return spec.transposed && is_half(input.dtype()) && places <= Dim(kMostRoundedPlaces);
}

// Products of every input element with every place of the kernel: [groups, out / groups, N, in..., places].
Value transposed_columns(Lower& l, Tensor input, Tensor weight, const Spec& spec) {
  Dim groups(spec.groups), in = floordiv(weight.dim(0), groups);
  Dims x = input.shape();
  x[1] = in;
  x.insert(x.begin() + 1, groups);
  Dims w{groups, in, weight.dim(1), floordiv(weight.numel(), max(weight.dim(0) * weight.dim(1), Dim(1)))};
  stablehlo::DotGeneral d{};
  d.lhs_batching_dimensions = {0};
  d.rhs_batching_dimensions = {1};
  d.lhs_contracting_dimensions = {1};
  d.rhs_contracting_dimensions = {2};
  Value columns = contract(l, l.hlo.reshape(l.read(weight), w), l.hlo.reshape(l.read(input), x), std::move(d));
  return move_last(l, rounded(l, columns, input.dtype()), 2);
}

Value transposed_in_half(Lower& l, Tensor input, Tensor weight, const Spec& spec) {
  Value columns = transposed_columns(l, input, weight, spec);
  if (!columns.has_value()) return {};
  size_t spatial = spec.stride.size();
  auto last = static_cast<int64_t>(l.type(columns).rank()) - 1;
  std::vector<int64_t> place(spatial, 0);
  Ints interior(spatial + 3, 0);
  for (size_t i = 0; i < spatial; ++i) interior[i + 3] = spec.stride[i] - 1;
  Value sum;
  int64_t places = l.pin(l.type(columns).dims[static_cast<size_t>(last)]);
  for (int64_t n = 0; n < places; ++n) {
    Value term = drop_axis(l, slice_axis(l, columns, last, n, n + 1), last);
    Dims low(spatial + 3, Dim(0)), high(spatial + 3, Dim(0));
    for (size_t i = 0; i < spatial; ++i) {
      Dim spread = (input.shape()[i + 2] - Dim(1)) * Dim(spec.stride[i]) + Dim(1);
      Dim whole = spread + Dim(spec.dilation[i]) * (weight.shape()[i + 2] - Dim(1)) - spec.padding_low[i] -
                  spec.padding_high[i] + spec.output_padding[i];
      low[i + 3] = Dim(spec.dilation[i] * place[i]) - spec.padding_low[i];
      high[i + 3] = whole - spread - low[i + 3];
    }
    term = l.hlo.pad(term, l.constant(l.type(columns).dtype, 0), low, high, interior);
    sum = sum.has_value() ? rounded(l, l.hlo.add(sum, term), input.dtype()) : term;
    for (size_t i = spatial; i-- > 0;) {  // the next place, the last axis first
      if (++place[i] < weight.shape()[i + 2].concrete()) break;
      place[i] = 0;
    }
  }
  if (!sum.has_value()) return {};
  Dims shape = l.type(sum).dims;  // [groups, out / groups, N, spatial...]
  Ints order{2, 0, 1};
  for (int64_t i = 3; i < static_cast<int64_t>(shape.size()); ++i) order.push_back(i);
  Dims result{shape[2], shape[0] * shape[1]};
  result.insert(result.end(), shape.begin() + 3, shape.end());
  return l.hlo.reshape(l.hlo.transpose(sum, order), result);
}

// Channels last if the input or the weight is.
Dims result_strides(const Dims& shape, Tensor input, Tensor weight) {
  for (const Tensor& t : {input, weight}) {
    torch::MemoryFormat format = lower::suggest_memory_format(t.shape(), t.strides());
    if (format != torch::MemoryFormat::Contiguous && t.rank() == static_cast<int64_t>(shape.size()))
      return lower::strides_for(shape, format);
  }
  return contiguous_strides(shape);
}

bool channels_fit(Lower& l, Tensor input, Tensor weight, const Spec& spec) {
  Dim groups(spec.groups);
  bool fits = spec.transposed ? input.dim(1) == weight.dim(0) && mod(weight.dim(0), groups) == Dim(0)
                              : input.dim(1) == weight.dim(1) * groups && mod(weight.dim(0), groups) == Dim(0);
  if (fits) return true;
  l.wrong("channels of " + describe(input) + " do not fit the weight " + describe(weight) + " in " +
          std::to_string(spec.groups) + " groups");
  return false;
}

// Input with its batch axis.
Tensor convolve(Lower& l, Tensor input, Tensor weight, Optional<Tensor> bias, const Spec& spec) {
  if (!channels_fit(l, input, weight, spec)) return {};
  Value kernel = l.read(weight);
  if (spec.transposed) kernel = transposed_kernel(l, kernel, spec.groups);
  stablehlo::Convolution c = spec.transposed ? transposed_window(l, spec, weight.shape()) : plain_window(spec);
  c.precision = l.precision();
  Value x = l.read(input), result;
  if (sums_are_rounded(input, weight, spec)) result = transposed_in_half(l, input, weight, spec);
  else if (is_complex(input.dtype())) result = complex_convolution(l, x, kernel, c);
  else result = real_convolution(l, x, kernel, c);
  if (!result.has_value()) return {};
  const Dims shape = l.type(result).dims;
  if (bias && !bias->is_poison()) {
    if (bias->rank() != 1 || bias->dim(0) != shape[1])
      return l.wrong("expected a bias of " + shape[1].text() + " elements, got " + describe(*bias));
    result = l.hlo.add(result, along_axis(l, l.read(*bias, l.type(result).dtype), 1, shape));
  }
  return l.make(l.convert(result, input.dtype()), result_strides(shape, input, weight));
}

// An input without batch gets one for the while.
Tensor convolve_any(Lower& l, Tensor input, Tensor weight, Optional<Tensor> bias, Spec spec, size_t spatial) {
  if (input.is_poison() || weight.is_poison()) return {};
  auto rank = static_cast<int64_t>(spatial) + 2;
  if (spatial == 0 || !l.expect_rank(weight, rank, rank, "weight") || !l.expect_rank(input, rank - 1, rank, "input"))
    return {};
  if (input.dtype() != weight.dtype() || is_bool(input.dtype()))
    return l.wrong("expected an input and a weight of one numeric dtype, got " + describe(input) + " and " +
                   describe(weight));
  if (!well_formed(l, spec, spatial)) return {};
  if (input.rank() == rank) return convolve(l, input, weight, bias, spec);
  Tensor batched = convolve(l, l.make(insert_axis(l, l.read(input), 0)), weight, bias, spec);
  return l.make(drop_axis(l, l.read(batched), 0));
}

Spec plain(Lower& l, const Dims& stride, Dims padding, const Dims& dilation, const Dim& groups) {
  return {.stride = l.pin(stride),
          .padding_low = padding,
          .padding_high = padding,
          .dilation = l.pin(dilation),
          .output_padding = {},
          .transposed = false,
          .groups = l.pin(groups)};
}

template <size_t kSpatial>
Tensor conv(Lower& l, Tensor input, Tensor weight, Optional<Tensor> bias, Dims stride, Dims padding, Dims dilation,
            Dim groups) {
  return convolve_any(l, input, weight, bias, plain(l, stride, padding, dilation, groups), kSpatial);
}

// "valid": none. "same": the result has the size of the input; an odd amount goes to the high side.
template <size_t kSpatial>
Tensor conv_padding(Lower& l, Tensor input, Tensor weight, Optional<Tensor> bias, Dims stride, std::string padding,
                    Dims dilation, Dim groups) {
  if (padding != "same" && padding != "valid") return l.unsupported("padding", padding, "padding is `same` or `valid`");
  Spec spec = plain(l, stride, Dims(kSpatial, Dim(0)), dilation, groups);
  if (padding == "same") {
    if (!spread(l, spec.stride, kSpatial, "stride") || !spread(l, spec.dilation, kSpatial, "dilation") ||
        !l.expect_rank(weight, kSpatial + 2, kSpatial + 2, "weight"))
      return {};
    for (size_t i = 0; i < kSpatial; ++i) {
      if (spec.stride[i] != 1)
        return l.wrong("padding `same` goes with stride 1, got " + std::to_string(spec.stride[i]));
      Dim total = Dim(spec.dilation[i]) * (weight.shape()[i + 2] - Dim(1));
      spec.padding_low[i] = floordiv(total, Dim(2));
      spec.padding_high[i] = total - spec.padding_low[i];
    }
  }
  return convolve_any(l, input, weight, bias, std::move(spec), kSpatial);
}

// The same where the weight's rank says how many spatial axes there are.
Tensor convolution_mode(Lower& l, Tensor input, Tensor weight, Optional<Tensor> bias, Dims stride, std::string padding,
                        Dims dilation, Dim groups) {
  if (weight.is_poison() || !l.expect_rank(weight, 3, 5, "weight")) return {};
  auto conv = weight.rank() == 3 ? conv_padding<1> : weight.rank() == 4 ? conv_padding<2> : conv_padding<3>;
  return conv(l, input, weight, bias, std::move(stride), std::move(padding), std::move(dilation), groups);
}

template <size_t kSpatial>
Tensor conv_transpose(Lower& l, Tensor input, Tensor weight, Optional<Tensor> bias, Dims stride, Dims padding,
                      Dims output_padding, Dim groups, Dims dilation) {
  Spec spec = plain(l, stride, padding, dilation, groups);
  spec.transposed = true;
  spec.output_padding = output_padding;
  return convolve_any(l, input, weight, bias, std::move(spec), kSpatial);
}

// The general form; how many spatial axes there are is the weight's rank.
Tensor convolution(Lower& l, Tensor input, Tensor weight, Optional<Tensor> bias, Dims stride, Dims padding,
                   Dims dilation, bool transposed, Dims output_padding, Dim groups) {
  if (weight.is_poison() || !l.expect_rank(weight, 3, 5, "weight")) return {};
  Spec spec = plain(l, stride, padding, dilation, groups);
  spec.transposed = transposed;
  spec.output_padding = output_padding;
  return convolve_any(l, input, weight, bias, std::move(spec), static_cast<size_t>(weight.rank() - 2));
}

// The flags at the end choose among kernels of one meaning.
Tensor convolution_flags(Lower& l, Tensor input, Tensor weight, Optional<Tensor> bias, Dims stride, Dims padding,
                         Dims dilation, bool transposed, Dims output_padding, Dim groups, Ignored, Ignored, Ignored,
                         Ignored) {
  return convolution(l, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups);
}
Tensor convolution_deprecated(Lower& l, Tensor input, Tensor weight, Optional<Tensor> bias, Dims stride, Dims padding,
                              Dims dilation, bool transposed, std::vector<int64_t> output_padding, Dim groups, Ignored,
                              Ignored, Ignored) {
  return convolution(l, input, weight, bias, stride, padding, dilation, transposed, dims_of(output_padding), groups);
}

Tensor mkldnn_convolution(Lower& l, Tensor self, Tensor weight, Optional<Tensor> bias, Dims padding, Dims stride,
                          Dims dilation, Dim groups) {
  return convolution(l, self, weight, bias, stride, padding, dilation, false, {}, groups);
}

// Over time: self [time, batch, in], weight [width, in, out].
Tensor conv_tbc(Lower& l, Tensor self, Tensor weight, Tensor bias, int64_t pad) {
  if (self.is_poison() || weight.is_poison() || bias.is_poison()) return {};
  if (!l.expect_rank(self, 3, 3, "input") || !l.expect_rank(weight, 3, 3, "weight") ||
      !l.expect_rank(bias, 1, 1, "bias"))
    return {};
  stablehlo::Convolution c{};
  c.padding_low = c.padding_high = {Dim(pad)};
  c.input_spatial_dimensions = c.output_spatial_dimensions = {0};
  c.input_batch_dimension = c.output_batch_dimension = 1;
  c.input_feature_dimension = c.output_feature_dimension = 2;
  c.kernel_spatial_dimensions = {0};
  c.kernel_input_feature_dimension = 1;
  c.kernel_output_feature_dimension = 2;
  c.precision = l.precision();
  Value result = real_convolution(l, l.read(self), l.read(weight), c);
  if (!result.has_value()) return {};
  result = l.hlo.add(result, l.read(bias, l.type(result).dtype, l.type(result).dims));
  return l.make(l.convert(result, self.dtype()));
}

}  // namespace

std::span<const Row> convolution_ops() {
  static constexpr auto kLower = lower::AutocastRule::Lower;
  static constexpr Row rows[] = {
      op<convolution_flags>("_convolution", kLower),
      op<convolution_deprecated>("_convolution.deprecated", kLower),
      op<convolution_mode>("_convolution_mode", kLower),
      op<conv<1>>("conv1d", kLower),
      op<conv_padding<1>>("conv1d.padding", kLower),
      op<conv<2>>("conv2d", kLower),
      op<conv_padding<2>>("conv2d.padding", kLower),
      op<conv<3>>("conv3d", kLower),
      op<conv_padding<3>>("conv3d.padding", kLower),
      op<conv_tbc>("conv_tbc", kLower),
      op<conv_transpose<1>>("conv_transpose1d", kLower),
      op<conv_transpose<2>>("conv_transpose2d.input", kLower),
      op<conv_transpose<3>>("conv_transpose3d.input", kLower),
      op<convolution>("convolution"),
      op<convolution>("convolution_overrideable"),
      op<mkldnn_convolution>("mkldnn_convolution"),
  };
  return rows;
}

}  // namespace torchlift::aten
