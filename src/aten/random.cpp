// Random tensors of PyTorch's distributions, by the counter-based generator of generator.hpp.
#include <cmath>
#include <limits>
#include <numbers>

#include "aten/axes.hpp"
#include "aten/families.hpp"
#include "aten/generator.hpp"
#include "aten/pointwise.hpp"
#include "aten/scan.hpp"
#include "aten/shaping.hpp"

namespace torchlift::aten {

bool expect_float(Lower& l, Tensor t) {
  if (t.is_poison()) return false;
  if (is_float(t.dtype())) return true;
  l.wrong("expected a floating-point tensor, got " + describe(t));
  return false;
}

namespace {

using torch::MemoryFormat;

// A new tensor of numbers that `sample` makes of a draw, in any dtype.
template <typename Sample>
Tensor drawn(Lower& l, const Dims& shape, DType dtype, Dims strides, Sample&& sample) {
  auto draw = Draw::begin(l, shape);
  if (!draw) return {};
  return l.make(l.convert(sample(*draw), dtype), std::move(strides));
}

template <typename Sample>
Tensor fresh(Lower& l, const Dims& shape, DType dtype, Sample&& sample) {
  return drawn(l, shape, dtype, contiguous_strides(shape), std::forward<Sample>(sample));
}

template <typename Sample>
Tensor like(Lower& l, Tensor self, Optional<DType> dtype, Optional<MemoryFormat> format, Sample&& sample) {
  if (self.is_poison()) return {};
  return drawn(l, self.shape(), dtype.value_or(self.dtype()), strides_of_copy(self, format),
               std::forward<Sample>(sample));
}

bool expect_inexact(Lower& l, DType dtype) {
  if (is_float(dtype) || is_complex(dtype)) return true;
  l.wrong("expected a floating-point or complex dtype, got " + std::string(info(dtype).torch_name));
  return false;
}

// What is compared with uniform numbers: double precision where the tensor has it, not every device does.
DType single_or_double(Tensor t) { return t.dtype() == DType::Float64 ? DType::Float64 : DType::Float32; }

// ---- uniform numbers

Formula uniform_of(Draw& draw, DType dtype) {
  if (!is_complex(dtype)) return draw.uniform(dtype);
  Formula re = draw.uniform(real_of(dtype));
  return complex(re, draw.uniform(real_of(dtype)));
}

Tensor rand_generator(Lower& l, Dims size, Ignored, TensorOptions options) {
  DType dtype = options.dtype.value_or(DType::Float32);
  if (!expect_inexact(l, dtype)) return {};
  return fresh(l, size, dtype, [&](Draw& d) { return uniform_of(d, dtype); });
}
Tensor rand(Lower& l, Dims size, TensorOptions options) { return rand_generator(l, std::move(size), {}, options); }

Tensor rand_like(Lower& l, Tensor self, TensorOptions options, Optional<MemoryFormat> memory_format) {
  DType dtype = options.dtype.value_or(self.dtype());
  if (self.is_poison() || !expect_inexact(l, dtype)) return {};
  return like(l, self, dtype, memory_format, [&](Draw& d) { return uniform_of(d, dtype); });
}

// [from, to)
Tensor uniform(Lower& l, Tensor self, double from, double to, Ignored) {
  if (self.is_poison() || !expect_inexact(l, self.dtype())) return {};
  if (!(from <= to)) return l.wrong("expected from <= to, got " + Scalar(from).text() + " and " + Scalar(to).text());
  return like(l, self, {}, {}, [&](Draw& d) {
    auto scaled = [&](Formula u) { return u * (to - from) + from; };
    if (!is_complex(self.dtype())) return scaled(d.uniform(self.dtype()));
    Formula re = scaled(d.uniform(real_of(self.dtype())));
    return complex(re, scaled(d.uniform(real_of(self.dtype()))));
  });
}

// 1 with the probability p.
Tensor bernoulli_tensor(Lower& l, Tensor self, Tensor p, Ignored) {
  if (self.is_poison() || p.is_poison()) return {};
  DType compute = single_or_double(p);
  return like(l, self, {}, {}, [&](Draw& d) {
    Formula u = d.uniform(compute);
    return u < u.with(l.read(p, compute, self.shape()));
  });
}
Tensor bernoulli(Lower& l, Tensor self, Ignored) { return bernoulli_tensor(l, self, self, {}); }
Tensor bernoulli_number(Lower& l, Tensor self, double p, Ignored) {
  if (self.is_poison()) return {};
  if (!(p >= 0 && p <= 1)) return l.wrong("expected a probability between 0 and 1, got " + Scalar(p).text());
  return like(l, self, {}, {}, [&](Draw& d) { return d.uniform(single_or_double(self)) < p; });
}

// ---- normal numbers

Tensor randn_generator(Lower& l, Dims size, Ignored, TensorOptions options) {
  DType dtype = options.dtype.value_or(DType::Float32);
  if (!expect_inexact(l, dtype)) return {};
  return fresh(l, size, dtype, [&](Draw& d) { return d.normal(dtype); });
}
Tensor randn(Lower& l, Dims size, TensorOptions options) { return randn_generator(l, std::move(size), {}, options); }

Tensor randn_like(Lower& l, Tensor self, TensorOptions options, Optional<MemoryFormat> memory_format) {
  DType dtype = options.dtype.value_or(self.dtype());
  if (self.is_poison() || !expect_inexact(l, dtype)) return {};
  return like(l, self, dtype, memory_format, [&](Draw& d) { return d.normal(dtype); });
}

bool expect_deviation(Lower& l, double std) {
  if (std >= 0) return true;
  l.wrong("expected std >= 0, got " + Scalar(std).text());
  return false;
}

Tensor normal(Lower& l, Tensor self, double mean, double std, Ignored) {
  if (self.is_poison() || !expect_inexact(l, self.dtype()) || !expect_deviation(l, std)) return {};
  return like(l, self, {}, {}, [&](Draw& d) { return d.normal(self.dtype()) * std + mean; });
}
Tensor normal_sized(Lower& l, double mean, double std, Dims size, Ignored, TensorOptions options) {
  DType dtype = options.dtype.value_or(DType::Float32);
  if (!expect_inexact(l, dtype) || !expect_deviation(l, std)) return {};
  return fresh(l, size, dtype, [&](Draw& d) { return d.normal(dtype) * std + mean; });
}

// A mean and a deviation for each element.
Tensor normal_tensors(Lower& l, Tensor mean, Tensor std, Ignored) {
  if (!expect_float(l, mean) || !expect_float(l, std)) return {};
  std::array operands{mean, std};
  auto shape = l.broadcast_shapes(operands);
  if (!shape) return {};
  DType dtype = lower::result_type(operands), wide = lower::accumulate_type(dtype);
  return fresh(l, *shape, dtype, [&](Draw& d) {
    Formula n = d.normal(dtype);
    return n * n.with(l.read(std, wide, *shape)) + n.with(l.read(mean, wide, *shape));
  });
}
Tensor normal_mean_tensor(Lower& l, Tensor mean, double std, Ignored) {
  if (!expect_float(l, mean) || !expect_deviation(l, std)) return {};
  return like(l, mean, {}, {}, [&](Draw& d) {
    Formula n = d.normal(mean.dtype());
    return n * std + n.with(l.read(mean, n.dtype()));
  });
}
Tensor normal_std_tensor(Lower& l, double mean, Tensor std, Ignored) {
  if (!expect_float(l, std)) return {};
  return like(l, std, {}, {}, [&](Draw& d) {
    Formula n = d.normal(std.dtype());
    return n * n.with(l.read(std, n.dtype())) + mean;
  });
}

Tensor log_normal(Lower& l, Tensor self, double mean, double std, Ignored) {
  if (!expect_float(l, self)) return {};
  return like(l, self, {}, {}, [&](Draw& d) { return exp(d.normal(self.dtype()) * std + mean); });
}

// ---- other distributions

Tensor exponential(Lower& l, Tensor self, double lambd, Ignored) {
  if (!expect_float(l, self)) return {};
  if (!(lambd > 0)) return l.wrong("expected lambd > 0, got " + Scalar(lambd).text());
  return like(l, self, {}, {}, [&](Draw& d) { return d.exponential(self.dtype()) / lambd; });
}

Tensor cauchy(Lower& l, Tensor self, double median, double sigma, Ignored) {
  if (!expect_float(l, self)) return {};
  return like(l, self, {}, {}, [&](Draw& d) {
    Formula angle = (d.uniform(lower::accumulate_type(self.dtype())) - 0.5) * std::numbers::pi;
    return sin(angle) / cos(angle) * sigma + median;
  });
}

// The number of trials up to the first success: 1, 2, ...
Tensor geometric(Lower& l, Tensor self, double p, Ignored) {
  if (self.is_poison()) return {};
  if (!(p > 0 && p < 1)) return l.wrong("expected a probability between 0 and 1, got " + Scalar(p).text());
  return like(l, self, {}, {},
              [&](Draw& d) { return max(ceil(d.exponential(single_or_double(self)) / -std::log1p(-p)), 1.0); });
}

// ---- whole numbers

// from <= x < to; a range of all 2^64 numbers is not reached.
template <typename Make>
Tensor whole_numbers(Lower& l, const Dim& from, const Dim& to, Make&& make) {
  if (!(from < to)) return l.wrong("expected from < to, got " + from.text() + " and " + to.text());
  Dim count = to - from;
  return make([&l, from, count](Draw& d, DType dtype) {
    Formula first(l, l.constant(DType::Int64, Scalar(from)));
    Formula size = convert(first.with(l.constant(DType::Int64, Scalar(count))), DType::UInt64);
    return d.integers(dtype, first, size);
  });
}

Tensor randint_low(Lower& l, Dim low, Dim high, Dims size, TensorOptions options) {
  DType dtype = options.dtype.value_or(DType::Int64);
  return whole_numbers(
      l, low, high, [&](auto&& numbers) { return fresh(l, size, dtype, [&](Draw& d) { return numbers(d, dtype); }); });
}
Tensor randint(Lower& l, Dim high, Dims size, TensorOptions options) {
  return randint_low(l, 0, high, std::move(size), options);
}
Tensor randint_like_low(Lower& l, Tensor self, Dim low, Dim high, TensorOptions options,
                        Optional<MemoryFormat> memory_format) {
  if (self.is_poison()) return {};
  DType dtype = options.dtype.value_or(self.dtype());
  return whole_numbers(l, low, high, [&](auto&& numbers) {
    return like(l, self, dtype, memory_format, [&](Draw& d) { return numbers(d, dtype); });
  });
}
Tensor randint_like(Lower& l, Tensor self, Dim high, TensorOptions options, Optional<MemoryFormat> memory_format) {
  return randint_like_low(l, self, 0, high, options, memory_format);
}
// The bound as a tensor of one element.
Tensor randint_like_tensor(Lower& l, Tensor self, Tensor high, TensorOptions options,
                           Optional<MemoryFormat> memory_format) {
  if (self.is_poison() || high.is_poison()) return {};
  DType dtype = options.dtype.value_or(self.dtype());
  return like(l, self, dtype, memory_format, [&](Draw& d) {
    Formula bound(l, l.hlo.reshape(l.read(high, DType::Int64), {}));
    return d.integers(dtype, bound.like(0), convert(max(bound, 1.0), DType::UInt64));
  });
}

// The greatest number that every number below has a form of its own with.
Dim greatest_of(DType dtype) {
  if (is_float(dtype)) return int64_t{1} << random_digits(dtype);
  switch (dtype) {
    case DType::Bool: return 1;
    case DType::UInt8: return 255;
    case DType::Int8: return 127;
    case DType::Int16: return 32767;
    case DType::Int32: return std::numeric_limits<int32_t>::max();
    default: return std::numeric_limits<int64_t>::max() - 1;
  }
}

Tensor random_from(Lower& l, Tensor self, int64_t from, Optional<int64_t> to, Ignored) {
  if (self.is_poison()) return {};
  Dim limit = to ? Dim(*to) : greatest_of(self.dtype()) + Dim(1);
  return randint_like_low(l, self, from, limit, {}, {});
}
Tensor random_to(Lower& l, Tensor self, int64_t to, Ignored) { return random_from(l, self, 0, to, {}); }
Tensor random(Lower& l, Tensor self, Ignored) { return random_from(l, self, 0, {}, {}); }

// The numbers below n in a random order: sorted by random keys.
Tensor randperm(Lower& l, Dim n, TensorOptions options) {
  DType dtype = options.dtype.value_or(DType::Int64);
  return fresh(l, {n}, dtype, [&](Draw& d) {
    Formula keys = d.bits64();
    Values sorted = l.hlo.sort({keys, l.hlo.iota({DType::Int64, {n}}, 0)}, 0, true, [&](std::span<const Value> v) {
      return l.hlo.compare(v[0], v[1], ComparisonDirection::Lt);
    });
    return keys.with(sorted[1]);
  });
}

// ---- drawing from categories

// Category numbers by the weights of each row. With replacement where the running sum reaches a uniform number; without
// it the categories with the greatest weight / exponential number, which are those drawn one after the other.
Tensor multinomial(Lower& l, Tensor self, Dim num_samples, bool replacement, Ignored) {
  if (!expect_float(l, self)) return {};
  int64_t rank = self.rank();
  if (rank < 1 || rank > 2) return l.wrong("expected weights of one or two axes, got " + describe(self));
  Dim n = self.dim(-1);
  if (num_samples < Dim(1) || (!replacement && n < num_samples))
    return l.wrong("cannot draw " + num_samples.text() + " of " + n.text() + " categories");
  DType compute = single_or_double(self);
  Dims shape = self.shape();
  shape.back() = num_samples;
  auto draw = Draw::begin(l, replacement ? shape : self.shape());
  if (!draw) return {};
  Formula weights(l, l.read(self, compute));
  if (!replacement) {
    Formula keys = weights / draw->exponential(compute);
    Value place = l.hlo.iota({DType::Int64, self.shape()}, rank - 1);
    Values sorted = l.hlo.sort({keys, place}, rank - 1, true, [&](std::span<const Value> v) {
      return l.hlo.compare(v[0], v[1], ComparisonDirection::Gt);
    });
    return l.make(slice_axis(l, sorted[1], rank - 1, 0, num_samples));
  }
  Dims grid = shape;
  grid.push_back(n);  // [rows, samples, categories]
  Ints of_rows, of_samples;
  for (int64_t i = 0; i + 1 < rank; ++i) of_rows.push_back(i);
  of_samples = of_rows;
  of_samples.push_back(rank - 1);
  of_rows.push_back(rank);
  auto over = [&](Formula x, const Ints& axes) { return x.with(l.hlo.broadcast_in_dim(x, grid, axes)); };
  Formula sums(l, cumulate(l, weights, rank - 1, Reducer::Add));
  Formula total = sums.with(slice_axis(l, sums, rank - 1, n - Dim(1), n));
  Formula reached = draw->uniform(compute) * total.with(l.broadcast_to(total, shape));
  Formula below = over(sums, of_rows) <= over(reached, of_samples);
  Formula number = sums.with(l.hlo.reduce(l.convert(below, DType::Int64), {rank}, Reducer::Add));
  // Where rounding let the number reach the total: the last category that has a weight.
  Formula place(l, l.hlo.iota({DType::Int64, self.shape()}, rank - 1));
  Formula last = place.with(l.hlo.reduce(select(weights > 0, place, 0), {rank - 1}, Reducer::Maximum));
  Ints kept;
  for (int64_t i = 0; i + 1 < rank; ++i) kept.push_back(i);
  return l.make(l.hlo.minimum(number, l.hlo.broadcast_in_dim(last, shape, kept)));
}

// ---- leaky slopes in training mode

// A slope between lower and upper where self is negative or zero, else 1: both are written into noise.
Tensor rrelu_with_noise(Lower& l, Tensor self, Tensor noise, Scalar lower, Scalar upper, bool training, Ignored) {
  if (!expect_float(l, self)) return {};
  double from = lower.to_double(), to = upper.to_double();
  DType wide = lower::accumulate_type(self.dtype());
  if (!training) return map_wide(l, self, [&](Formula x) { return select(x < 0, x * ((from + to) / 2), x); });
  auto draw = Draw::begin(l, self.shape());
  if (!draw) return {};
  Formula x(l, l.read(self, wide));
  Formula slope = select(x <= 0, draw->uniform(self.dtype()) * (to - from) + from, 1);
  if (!noise.is_poison()) l.write_cast(noise, l.make(l.convert(slope, self.dtype())));
  return l.make_elementwise(l.convert(x * slope, self.dtype()), std::array{self});
}
Tensor rrelu(Lower& l, Tensor self, Scalar lower, Scalar upper, bool training, Ignored) {
  return rrelu_with_noise(l, self, {}, lower, upper, training, {});
}

std::span<const Row> drawing_ops() {
  static constexpr Row rows[] = {
      op<bernoulli>("bernoulli"),
      op<bernoulli_tensor>("bernoulli.Tensor"),
      op<bernoulli_number>("bernoulli.p"),
      op<bernoulli_tensor>("bernoulli_.Tensor"),
      op<bernoulli_number>("bernoulli_.float"),
      op<cauchy>("cauchy"),
      op<exponential>("exponential"),
      op<geometric>("geometric"),
      op<log_normal>("log_normal"),
      op<multinomial>("multinomial"),
      op<normal_tensors>("normal.Tensor_Tensor"),
      op<normal_mean_tensor>("normal.Tensor_float"),
      op<normal_sized>("normal.float_float"),
      op<normal_std_tensor>("normal.float_Tensor"),
      op<normal>("normal_"),
      op<normal>("normal_functional"),
      op<rand>("rand"),
      op<rand_generator>("rand.generator"),
      op<rand_like>("rand_like"),
      op<randint>("randint"),
      op<randint_low>("randint.low"),
      op<randint_like>("randint_like"),
      op<randint_like_tensor>("randint_like.Tensor"),
      op<randint_like_low>("randint_like.low_dtype"),
      op<randn>("randn"),
      op<randn_generator>("randn.generator"),
      op<randn_like>("randn_like"),
      op<random>("random"),
      op<random_from>("random.from"),
      op<random_to>("random.to"),
      op<randperm>("randperm"),
      op<rrelu>("rrelu"),
      op<rrelu_with_noise>("rrelu_with_noise"),
      op<uniform>("uniform"),
  };
  return rows;
}

}  // namespace

std::span<const Row> random_ops() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> all;
    for (std::span<const Row> part : {drawing_ops(), rejection_ops()}) all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rows;
}

}  // namespace torchlift::aten
