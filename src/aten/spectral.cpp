// Discrete Fourier transforms: torch.fft, and the short-time transforms stft and istft.
#include <algorithm>
#include <array>
#include <cmath>

#include "aten/axes.hpp"
#include "aten/families.hpp"

namespace torchlift::aten {
namespace {

using stablehlo::FftType;

constexpr size_t kMostTransformed = 3;  // axes that StableHLO transforms at once

enum class Norm : uint8_t { Backward, Ortho, Forward };

std::optional<Norm> norm_of(Lower& l, const Optional<std::string>& norm) {
  if (!norm || *norm == "backward") return Norm::Backward;
  if (*norm == "ortho") return Norm::Ortho;
  if (*norm == "forward") return Norm::Forward;
  l.unsupported("norm", *norm, "it is `backward`, `ortho` or `forward`");
  return std::nullopt;
}

// What a sum over n elements is multiplied by.
double factor(Norm norm, bool inverse, const Dim& n) {
  auto count = static_cast<double>(n.concrete());  // a factor, no size
  if (norm == Norm::Ortho) return 1 / std::sqrt(count);
  return (norm == Norm::Backward) == inverse ? 1 / count : 1;
}

Value scale(Lower& l, Value v, double by) {
  if (!v.has_value() || by == 1) return v;
  Value number = l.full_like(v, is_complex(l.type(v).dtype) ? Scalar(std::complex<double>(by, 0)) : Scalar(by));
  return l.hlo.multiply(v, number);
}

// ---- transforms without normalization

// Sums over the axes in either direction, three at a time.
Value complex_sums(Lower& l, Value v, std::span<const int64_t> axes, bool inverse) {
  for (size_t done = 0; done < axes.size() && v.has_value(); done += kMostTransformed) {
    std::span<const int64_t> now = axes.subspan(done, std::min(kMostTransformed, axes.size() - done));
    auto rank = static_cast<int64_t>(l.type(v).rank());
    Ints order, back(static_cast<size_t>(rank));
    for (int64_t i = 0; i < rank; ++i)
      if (std::find(now.begin(), now.end(), i) == now.end()) order.push_back(i);
    order.insert(order.end(), now.begin(), now.end());
    for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    Dims length;
    for (int64_t axis : now) length.push_back(l.type(v).dims[static_cast<size_t>(axis)]);
    Value transformed = l.hlo.fft(l.hlo.transpose(v, order), inverse ? FftType::Ifft : FftType::Fft, length);
    if (inverse) transformed = scale(l, transformed, static_cast<double>(product(length).concrete()));
    v = l.hlo.transpose(transformed, back);
  }
  return v;
}

// The non-negative frequencies of a real signal.
Value real_to_half(Lower& l, Value v, int64_t axis) {
  if (!v.has_value()) return {};
  Dim n = l.type(v).dims[static_cast<size_t>(axis)];
  return move_from_last(l, l.hlo.fft(move_last(l, v, axis), FftType::Rfft, {n}), axis);
}

// Real sums of n elements from their non-negative frequencies, n / 2 + 1 of them.
Value half_to_real(Lower& l, Value v, int64_t axis, const Dim& n) {
  if (!v.has_value()) return {};
  Value signal = l.hlo.fft(move_last(l, v, axis), FftType::Irfft, {n});
  return move_from_last(l, scale(l, signal, static_cast<double>(n.concrete())), axis);
}

Value resize_axis(Lower& l, Value v, int64_t axis, const Dim& n) {
  if (!v.has_value()) return {};
  Dim have = l.type(v).dims[static_cast<size_t>(axis)];
  return have == n ? v : pad_axis(l, v, axis, 0, n - have);
}

// ---- arguments

// Integers become float32; PyTorch's CPU transforms have no half precision.
Value read_signal(Lower& l, Tensor self, bool as_complex) {
  DType dtype = lower::float_type(self.dtype());
  DType real = real_of(dtype);
  if (real != DType::Float32 && real != DType::Float64)
    return l.wrong("expected single or double precision, got " + describe(self));
  return l.read(self, as_complex ? complex_of(real) : dtype);
}

struct Plan {
  std::vector<int64_t> axes;
  Dims sizes;  // of the signal along each axis
  Norm norm{};
  Dim count() const { return product(sizes); }
};

// The axes and sizes of a transform. `from_half`: the last axis holds the non-negative frequencies only.
std::optional<Plan> plan(Lower& l, Tensor self, const Optional<Dims>& s, const Optional<std::vector<int64_t>>& dim,
                         const Optional<std::string>& norm, bool from_half) {
  if (self.is_poison()) return std::nullopt;
  auto mode = norm_of(l, norm);
  if (!mode) return std::nullopt;
  Plan out{.axes = {}, .sizes = {}, .norm = *mode};
  std::vector<int64_t> wanted;
  if (dim) wanted = *dim;
  else
    for (int64_t i = s ? std::max<int64_t>(self.rank() - static_cast<int64_t>(s->size()), 0) : 0; i < self.rank(); ++i)
      wanted.push_back(i);
  if (s && s->size() != wanted.size()) {
    l.wrong("expected as many sizes as axes, got " + text_of(*s) + " for " + std::to_string(wanted.size()) +
            " axes of " + describe(self));
    return std::nullopt;
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    auto axis = l.axis(wanted[i], self.rank());
    if (!axis) return std::nullopt;
    bool twice = std::find(out.axes.begin(), out.axes.end(), *axis) != out.axes.end();
    bool given = s && (*s)[i] != Dim(-1);
    bool halved = from_half && i + 1 == wanted.size();
    Dim size = given ? (*s)[i] : halved ? Dim(2) * (self.dim(*axis) - Dim(1)) : self.dim(*axis);
    if (twice || self.rank() == 0 || size < Dim(1)) {
      l.wrong("expected different axes of at least one element, got " + std::to_string(wanted[i]) + " of " +
              describe(self));
      return std::nullopt;
    }
    out.axes.push_back(*axis);
    out.sizes.push_back(size);
  }
  if (!out.axes.empty() || !from_half) return out;
  l.wrong("expected at least one axis");
  return std::nullopt;
}

Value resized(Lower& l, Value v, const Plan& p) {
  for (size_t i = 0; i < p.axes.size(); ++i) v = resize_axis(l, v, p.axes[i], p.sizes[i]);
  return v;
}

std::span<const int64_t> all_but_last(const std::vector<int64_t>& axes) {
  return std::span(axes).first(axes.size() - 1);
}

// ---- the three kinds

Tensor complex_transform(Lower& l, Tensor self, const Optional<Plan>& p, bool inverse) {
  if (!p) return {};
  Value v = complex_sums(l, resized(l, read_signal(l, self, true), *p), p->axes, inverse);
  return l.make(scale(l, v, p->axes.empty() ? 1 : factor(p->norm, inverse, p->count())));
}

// A real signal to half its frequencies along the last axis; the inverse direction conjugates.
Tensor from_real(Lower& l, Tensor self, const Optional<Plan>& p, bool inverse) {
  if (!p || p->axes.empty()) return p ? Tensor(l.wrong("expected at least one axis")) : Tensor();
  if (is_complex(self.dtype())) return l.wrong("expected a real input, got " + describe(self));
  Value v = real_to_half(l, resized(l, read_signal(l, self, false), *p), p->axes.back());
  if (inverse) v = conj(l, v);
  v = complex_sums(l, v, all_but_last(p->axes), inverse);
  return l.make(scale(l, v, factor(p->norm, inverse, p->count())));
}

// Half the frequencies along the last axis to a real signal; the forward direction conjugates.
Tensor to_real(Lower& l, Tensor self, const Optional<Plan>& p, bool inverse) {
  if (!p) return {};
  Plan halves = *p;
  halves.sizes.back() = floordiv(p->sizes.back(), Dim(2)) + Dim(1);
  Value v = resized(l, read_signal(l, self, true), halves);
  v = complex_sums(l, v, all_but_last(p->axes), inverse);
  if (!inverse) v = conj(l, v);
  return l.make(scale(l, half_to_real(l, v, p->axes.back(), p->sizes.back()), factor(p->norm, inverse, p->count())));
}

enum class Transform : uint8_t { Complex, FromReal, ToReal };

Tensor transform(Lower& l, Tensor self, const Optional<Dims>& s, const Optional<std::vector<int64_t>>& dim,
                 const Optional<std::string>& norm, Transform kind, bool inverse) {
  auto p = plan(l, self, s, dim, norm, kind == Transform::ToReal);
  switch (kind) {
    case Transform::Complex: return complex_transform(l, self, p, inverse);
    case Transform::FromReal: return from_real(l, self, p, inverse);
    case Transform::ToReal: return to_real(l, self, p, inverse);
  }
  return {};
}

// ---- the operators' forms: over one axis, over a list with the last two by default, over any list

template <Transform kKind, bool kInverse>
Tensor fft1(Lower& l, Tensor self, Optional<Dim> n, int64_t dim, Optional<std::string> norm) {
  Optional<Dims> s;
  if (n) s = Dims{*n};
  return transform(l, self, s, std::vector<int64_t>{dim}, norm, kKind, kInverse);
}
template <Transform kKind, bool kInverse>
Tensor fft2(Lower& l, Tensor self, Optional<Dims> s, std::vector<int64_t> dim, Optional<std::string> norm) {
  return transform(l, self, s, dim, norm, kKind, kInverse);
}
template <Transform kKind, bool kInverse>
Tensor fftn(Lower& l, Tensor self, Optional<Dims> s, Optional<std::vector<int64_t>> dim, Optional<std::string> norm) {
  return transform(l, self, s, dim, norm, kKind, kInverse);
}

// ---- ATen's inner operators: normalization 0 none, 1 by the root of n, 2 by n

std::optional<double> numbered_factor(Lower& l, int64_t normalization, const Dim& n) {
  auto count = static_cast<double>(n.concrete());  // a factor, no size
  switch (normalization) {
    case 0: return 1;
    case 1: return 1 / std::sqrt(count);
    case 2: return 1 / count;
    default: l.unsupported("normalization", std::to_string(normalization), "it is 0, 1 or 2"); return std::nullopt;
  }
}

Tensor fft_c2c(Lower& l, Tensor self, Dims dim, int64_t normalization, bool forward) {
  auto p = plan(l, self, {}, l.pin(dim), {}, false);
  if (!p) return {};
  auto by = numbered_factor(l, normalization, p->count());
  if (!by) return {};
  return l.make(scale(l, complex_sums(l, read_signal(l, self, true), p->axes, !forward), *by));
}

Tensor fft_r2c(Lower& l, Tensor self, std::vector<int64_t> dim, int64_t normalization, bool onesided) {
  auto p = plan(l, self, {}, dim, {}, false);
  if (!p || p->axes.empty() || is_complex(self.dtype()))
    return p ? Tensor(l.wrong("expected a real input and at least one axis")) : Tensor();
  auto by = numbered_factor(l, normalization, p->count());
  if (!by) return {};
  Value v;
  if (onesided)
    v = complex_sums(l, real_to_half(l, read_signal(l, self, false), p->axes.back()), all_but_last(p->axes), false);
  else v = complex_sums(l, read_signal(l, self, true), p->axes, false);
  return l.make(scale(l, v, *by));
}

Tensor fft_c2r(Lower& l, Tensor self, std::vector<int64_t> dim, int64_t normalization, Dim last_dim_size) {
  auto p = plan(l, self, {}, dim, {}, true);
  if (!p || last_dim_size < Dim(1))
    return p ? Tensor(l.wrong("expected a positive size, got " + last_dim_size.text())) : Tensor();
  p->sizes.back() = last_dim_size;
  auto by = numbered_factor(l, normalization, p->count());
  if (!by) return {};
  Plan halves = *p;
  halves.sizes.back() = floordiv(last_dim_size, Dim(2)) + Dim(1);
  Value v = complex_sums(l, resized(l, read_signal(l, self, true), halves), all_but_last(p->axes), true);
  return l.make(scale(l, half_to_real(l, v, p->axes.back(), last_dim_size), *by));
}

// ---- helpers of torch.fft

// Turns the axes by half their size, rounded down or up.
Tensor turn(Lower& l, Tensor self, const Optional<std::vector<int64_t>>& dim, bool up) {
  if (self.is_poison()) return {};
  auto axes = l.axes(dim.value_or(std::vector<int64_t>{}), self.rank(), !dim);
  if (!axes) return {};
  Value v = l.read(self);
  for (int64_t axis : *axes) {
    Dim n = self.dim(axis), half = floordiv(n, Dim(2));
    Dim at = up ? half : n - half;  // what comes first
    if (n < Dim(2)) continue;
    v = l.hlo.concatenate({slice_axis(l, v, axis, at, n), slice_axis(l, v, axis, 0, at)}, axis);
  }
  return l.make_elementwise(v, std::array{self});
}
Tensor fft_fftshift(Lower& l, Tensor self, Optional<std::vector<int64_t>> dim) { return turn(l, self, dim, false); }
Tensor fft_ifftshift(Lower& l, Tensor self, Optional<std::vector<int64_t>> dim) { return turn(l, self, dim, true); }

Tensor frequencies(Lower& l, int64_t n, double d, TensorOptions options, bool half) {
  if (n < 1 || !table_fits(l, static_cast<double>(n)))
    return l.wrong("expected a positive n, got " + std::to_string(n));
  DType dtype = options.dtype.value_or(DType::Float32);
  double step = 1 / (static_cast<double>(n) * d);
  std::vector<double> out;
  for (int64_t i = 0; i < (half ? n / 2 + 1 : n); ++i) {
    int64_t number = half || i < (n + 1) / 2 ? i : i - n;
    out.push_back(static_cast<double>(number) * step);
  }
  Dim count(static_cast<int64_t>(out.size()));
  return l.make(constant_floats(l, dtype, out, {count}));
}
Tensor fft_fftfreq(Lower& l, int64_t n, double d, TensorOptions options) {
  return frequencies(l, n, d, options, false);
}
Tensor fft_rfftfreq(Lower& l, int64_t n, double d, TensorOptions options) {
  return frequencies(l, n, d, options, true);
}

// ---- short-time transforms

struct Frames {
  int64_t n_fft = 0, hop = 0, win_length = 0;
  Value window;  // of n_fft elements
};

// The window in the middle of n_fft zeros; ones where none is given.
std::optional<Frames> frames_of(Lower& l, int64_t n_fft, Optional<int64_t> hop_length, Optional<int64_t> win_length,
                                const Optional<Tensor>& window, DType dtype) {
  constexpr int64_t kLargest = int64_t{1} << 30;
  Frames f{n_fft, hop_length.value_or(n_fft / 4), win_length.value_or(n_fft), {}};
  if (n_fft < 1 || n_fft > kLargest || f.hop < 1 || f.hop > kLargest || f.win_length < 1 || f.win_length > n_fft) {
    l.wrong("expected positive n_fft and hop_length and a win_length of at most n_fft, got " + std::to_string(n_fft) +
            ", " + std::to_string(f.hop) + " and " + std::to_string(f.win_length));
    return std::nullopt;
  }
  if (window && (window->is_poison() || !l.expect_rank(*window, 1, 1, "window"))) return std::nullopt;
  if (window && window->dim(0) != Dim(f.win_length)) {
    l.wrong("expected a window of " + std::to_string(f.win_length) + " elements, got " + describe(*window));
    return std::nullopt;
  }
  Value w = window ? l.read(*window, dtype) : l.full({Dim(f.win_length)}, dtype, 1);
  int64_t left = (n_fft - f.win_length) / 2;
  f.window = pad_axis(l, w, 0, left, n_fft - f.win_length - left);
  return f;
}

// The signal [batch, time] with `amount` mirrored or zero elements at both ends.
Value pad_ends(Lower& l, Value v, int64_t amount, const std::string& mode) {
  if (!v.has_value()) return {};
  Dim n = l.type(v).dims[1];
  if (mode == "constant") return pad_axis(l, v, 1, amount, amount);
  if (mode != "reflect") return l.unsupported("pad_mode", mode, "use `reflect` or `constant`");
  if (Dim(amount) >= n)
    return l.wrong("expected padding below the input's length, got " + std::to_string(amount) + " of " + n.text());
  Value left = l.hlo.reverse(slice_axis(l, v, 1, 1, Dim(amount) + Dim(1)), {1});
  Value right = l.hlo.reverse(slice_axis(l, v, 1, n - Dim(amount + 1), n - Dim(1)), {1});
  return l.hlo.concatenate({left, v, right}, 1);
}

struct StftOptions {
  bool center = false;
  std::string pad_mode = "reflect";
  bool normalized = false;
  Optional<bool> onesided, return_complex, align_to_window;
};

// Real and imaginary part as a last axis.
Value as_real(Lower& l, Value v) {
  if (!v.has_value()) return {};
  auto rank = static_cast<int64_t>(l.type(v).rank());
  return l.hlo.concatenate({insert_axis(l, l.hlo.real(v), rank), insert_axis(l, l.hlo.imag(v), rank)}, rank);
}

// Transforms of windows of the signal: [batch, frequency, frame].
Tensor short_time(Lower& l, Tensor self, int64_t n_fft, Optional<int64_t> hop_length, Optional<int64_t> win_length,
                  const Optional<Tensor>& window, const StftOptions& o) {
  if (self.is_poison() || !l.expect_rank(self, 1, 2, "signal")) return {};
  if (o.align_to_window.value_or(false)) return l.unsupported("align_to_window", "True", "leave it out");
  bool complex = is_complex(self.dtype()) || (window && is_complex(window->dtype()));
  Value v = read_signal(l, self, complex);
  if (!v.has_value()) return {};
  DType dtype = l.type(v).dtype;
  auto f = frames_of(l, n_fft, hop_length, win_length, window, dtype);
  if (!f) return {};
  if (self.rank() == 1) v = insert_axis(l, v, 0);
  if (o.center) v = pad_ends(l, v, n_fft / 2, o.pad_mode);
  if (!v.has_value()) return {};
  const Dims signal = l.type(v).dims;
  if (signal[1] < Dim(n_fft)) return l.wrong("expected a signal of at least n_fft elements, got " + describe(self));
  Dim frames = floordiv(signal[1] - Dim(n_fft), Dim(f->hop)) + Dim(1);
  v = windows_along(l, v, {.axis = 1, .count = frames, .size = Dim(n_fft), .stride = f->hop});
  v = l.hlo.multiply(v, along_axis(l, f->window, 2, {signal[0], frames, Dim(n_fft)}));
  bool onesided = o.onesided.value_or(!complex);
  if (onesided && complex) return l.wrong("expected onesided=False for a complex signal or window");
  if (onesided) v = real_to_half(l, v, 2);
  else v = complex_sums(l, l.convert(v, complex_of(real_of(dtype))), std::array<int64_t, 1>{2}, false);
  if (o.normalized) v = scale(l, v, 1 / std::sqrt(static_cast<double>(n_fft)));
  if (!v.has_value()) return {};
  Dims s = l.type(v).dims;  // [batch, frame, frequency] in memory
  v = l.hlo.transpose(v, {0, 2, 1});
  Dims strides{s[1] * s[2], Dim(1), s[2]};
  if (self.rank() == 1) {
    v = drop_axis(l, v, 0);
    strides.erase(strides.begin());
  }
  if (o.return_complex.value_or(complex)) return l.make(v, strides);
  for (Dim& d : strides) d = d * Dim(2);
  strides.emplace_back(1);
  return l.make(as_real(l, v), strides);
}

Tensor stft(Lower& l, Tensor self, int64_t n_fft, Optional<int64_t> hop_length, Optional<int64_t> win_length,
            Optional<Tensor> window, bool normalized, Optional<bool> onesided, Optional<bool> return_complex,
            Optional<bool> align_to_window) {
  return short_time(l, self, n_fft, hop_length, win_length, window,
                    {.center = false,
                     .pad_mode = "reflect",
                     .normalized = normalized,
                     .onesided = onesided,
                     .return_complex = return_complex,
                     .align_to_window = align_to_window});
}
Tensor stft_center(Lower& l, Tensor self, int64_t n_fft, Optional<int64_t> hop_length, Optional<int64_t> win_length,
                   Optional<Tensor> window, bool center, std::string pad_mode, bool normalized, Optional<bool> onesided,
                   Optional<bool> return_complex, Optional<bool> align_to_window) {
  return short_time(l, self, n_fft, hop_length, win_length, window,
                    {center, pad_mode, normalized, onesided, return_complex, align_to_window});
}

struct IstftOptions {
  bool center = true, normalized = false;
  Optional<bool> onesided;
  Optional<int64_t> length;
  bool return_complex = false;
};

// Signals of the frames: [batch, frame, n_fft].
Value frame_signals(Lower& l, Value v, int64_t n_fft, const IstftOptions& o) {
  if (!v.has_value()) return {};
  Dim frequencies = l.type(v).dims[2], half(n_fft / 2 + 1);
  bool onesided = o.onesided.value_or(frequencies != Dim(n_fft));
  if (frequencies != (onesided ? half : Dim(n_fft)) || (onesided && o.return_complex))
    return l.wrong("expected " + (onesided ? half : Dim(n_fft)).text() + " frequencies, got " + frequencies.text());
  // For a real signal PyTorch reads the non-negative frequencies only, also where all are given.
  Value signals = o.return_complex ? complex_sums(l, v, std::array<int64_t, 1>{2}, true)
                                   : half_to_real(l, slice_axis(l, v, 2, 0, half), 2, Dim(n_fft));
  auto n = static_cast<double>(n_fft);
  return scale(l, signals, o.normalized ? 1 / std::sqrt(n) : 1 / n);
}

// The signal whose windows have these transforms: overlapping windows are added and divided by the windows' squares.
Tensor istft(Lower& l, Tensor self, int64_t n_fft, Optional<int64_t> hop_length, Optional<int64_t> win_length,
             Optional<Tensor> window, bool center, bool normalized, Optional<bool> onesided, Optional<int64_t> length,
             bool return_complex) {
  if (self.is_poison() || !l.expect_rank(self, 2, 3, "transform")) return {};
  if (!is_complex(self.dtype())) return l.wrong("expected a complex input, got " + describe(self));
  DType real = real_of(self.dtype());
  auto f = frames_of(l, n_fft, hop_length, win_length, window, return_complex ? self.dtype() : real);
  if (!f) return {};
  Value v = l.read(self);
  if (self.rank() == 2) v = insert_axis(l, v, 0);
  Value signals =
      frame_signals(l, l.hlo.transpose(v, {0, 2, 1}), n_fft, {center, normalized, onesided, length, return_complex});
  if (!signals.has_value()) return {};
  const Dims shape = l.type(signals).dims;
  Dim whole = Dim(n_fft) + Dim(f->hop) * (shape[1] - Dim(1));
  WindowsAlong w{.axis = 1, .count = shape[1], .size = Dim(n_fft), .stride = f->hop};
  Value sum = overlap_add_along(l, l.hlo.multiply(signals, along_axis(l, f->window, 2, shape)), w, whole);
  Value squares = l.hlo.multiply(f->window, f->window);
  Value weight = overlap_add_along(l, along_axis(l, squares, 2, {Dim(1), shape[1], Dim(n_fft)}), w, whole);
  Dim start(center ? n_fft / 2 : 0);
  Dim end = length ? start + Dim(*length) : center ? whole - Dim(n_fft / 2) : whole;
  if (start >= min(end, whole)) return l.wrong("no element of the signal is left, of " + describe(self));
  Value kept = slice_axis(l, sum, 1, start, min(end, whole));
  Value divisor = slice_axis(l, weight, 1, start, min(end, whole));
  if (!kept.has_value() || !divisor.has_value()) return {};
  Value result = l.hlo.divide(kept, l.broadcast_to(divisor, l.type(kept).dims));
  if (end > whole) result = pad_axis(l, result, 1, 0, end - whole);
  return l.make(self.rank() == 2 ? drop_axis(l, result, 0) : result);
}

}  // namespace

std::span<const Row> spectral_ops() {
  static constexpr auto kFloat32 = lower::AutocastRule::Float32;
  using enum Transform;
  static constexpr Row rows[] = {
      op<fft_c2c>("_fft_c2c"),
      op<fft_c2r>("_fft_c2r"),
      op<fft_r2c>("_fft_r2c"),
      op<fft1<Complex, false>>("fft_fft", kFloat32),
      op<fft2<Complex, false>>("fft_fft2", kFloat32),
      op<fft_fftfreq>("fft_fftfreq"),
      op<fftn<Complex, false>>("fft_fftn", kFloat32),
      op<fft_fftshift>("fft_fftshift"),
      op<fft1<ToReal, false>>("fft_hfft", kFloat32),
      op<fft2<ToReal, false>>("fft_hfft2", kFloat32),
      op<fftn<ToReal, false>>("fft_hfftn", kFloat32),
      op<fft1<Complex, true>>("fft_ifft", kFloat32),
      op<fft2<Complex, true>>("fft_ifft2", kFloat32),
      op<fftn<Complex, true>>("fft_ifftn", kFloat32),
      op<fft_ifftshift>("fft_ifftshift"),
      op<fft1<FromReal, true>>("fft_ihfft", kFloat32),
      op<fft2<FromReal, true>>("fft_ihfft2", kFloat32),
      op<fftn<FromReal, true>>("fft_ihfftn", kFloat32),
      op<fft1<ToReal, true>>("fft_irfft", kFloat32),
      op<fft2<ToReal, true>>("fft_irfft2", kFloat32),
      op<fftn<ToReal, true>>("fft_irfftn", kFloat32),
      op<fft1<FromReal, false>>("fft_rfft", kFloat32),
      op<fft2<FromReal, false>>("fft_rfft2", kFloat32),
      op<fft_rfftfreq>("fft_rfftfreq"),
      op<fftn<FromReal, false>>("fft_rfftn", kFloat32),
      op<istft>("istft"),
      op<stft>("stft", kFloat32),
      op<stft_center>("stft.center", kFloat32),
  };
  return rows;
}

}  // namespace torchlift::aten
