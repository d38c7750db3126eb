// Variances, norms and distances.
#include <algorithm>
#include <cmath>

#include "aten/axes.hpp"
#include "aten/families.hpp"
#include "aten/pointwise.hpp"
#include "aten/reduction.hpp"
#include "aten/special_functions.hpp"

namespace torchlift::aten {

using Axes = std::vector<int64_t>;

// ---- variances

namespace {

struct Spread {
  Tensor variance, mean;
};

// The sum of squared distances from the mean over max(0, count - correction), in two passes; of complex numbers the sum
// of the variances of both parts.
Spread variance_and_mean(Lower& l, Tensor self, const Optional<Axes>& dim, double correction, bool keepdim) {
  if (self.is_poison()) return {};
  if (is_integral(self.dtype())) {
    l.wrong("std and var need floating-point or complex numbers, got " + describe(self));
    return {};
  }
  auto axes = l.axes(dim.value_or(Axes()), self.rank());
  if (!axes) return {};
  Value x = l.read(self, lower::accumulate_type(self.dtype()));
  Dims shape = reduced_shape(self.shape(), *axes, keepdim);
  Value variance, mean;
  if (is_complex(self.dtype())) {
    Moments re = moments(l, l.hlo.real(x), *axes, correction), im = moments(l, l.hlo.imag(x), *axes, correction);
    variance = l.hlo.add(re.variance, im.variance);
    mean = l.hlo.complex(re.mean, im.mean);
  } else {
    Moments m = moments(l, x, *axes, correction);
    variance = m.variance;
    mean = m.mean;
  }
  auto finish = [&](Value v, DType dtype) { return l.make(l.hlo.reshape(l.convert(v, dtype), shape)); };
  return {finish(variance, real_of(self.dtype())), finish(mean, self.dtype())};
}

double correction_of(const Optional<Scalar>& correction) { return correction ? correction->to_double() : 1; }
double correction_of(bool unbiased) { return unbiased ? 1 : 0; }

Tensor root(Lower& l, Tensor variance) { return map_wide(l, variance, formula::sqrt); }

}  // namespace

Tensor var_correction(Lower& l, Tensor self, Optional<Axes> dim, Optional<Scalar> correction, bool keepdim) {
  return variance_and_mean(l, self, dim, correction_of(correction), keepdim).variance;
}
Tensor var_dim(Lower& l, Tensor self, Optional<Axes> dim, bool unbiased, bool keepdim) {
  return variance_and_mean(l, self, dim, correction_of(unbiased), keepdim).variance;
}
Tensor var(Lower& l, Tensor self, bool unbiased) { return var_dim(l, self, {}, unbiased, false); }

std::tuple<Tensor, Tensor> var_mean_correction(Lower& l, Tensor self, Optional<Axes> dim, Optional<Scalar> correction,
                                               bool keepdim) {
  Spread s = variance_and_mean(l, self, dim, correction_of(correction), keepdim);
  return {s.variance, s.mean};
}
std::tuple<Tensor, Tensor> var_mean_dim(Lower& l, Tensor self, Optional<Axes> dim, bool unbiased, bool keepdim) {
  Spread s = variance_and_mean(l, self, dim, correction_of(unbiased), keepdim);
  return {s.variance, s.mean};
}
std::tuple<Tensor, Tensor> var_mean(Lower& l, Tensor self, bool unbiased) {
  return var_mean_dim(l, self, {}, unbiased, false);
}

Tensor std_correction(Lower& l, Tensor self, Optional<Axes> dim, Optional<Scalar> correction, bool keepdim) {
  return root(l, var_correction(l, self, dim, correction, keepdim));
}
Tensor std_dim(Lower& l, Tensor self, Optional<Axes> dim, bool unbiased, bool keepdim) {
  return root(l, var_dim(l, self, dim, unbiased, keepdim));
}
Tensor std_all(Lower& l, Tensor self, bool unbiased) { return std_dim(l, self, {}, unbiased, false); }

std::tuple<Tensor, Tensor> std_mean_correction(Lower& l, Tensor self, Optional<Axes> dim, Optional<Scalar> correction,
                                               bool keepdim) {
  Spread s = variance_and_mean(l, self, dim, correction_of(correction), keepdim);
  return {root(l, s.variance), s.mean};
}
std::tuple<Tensor, Tensor> std_mean_dim(Lower& l, Tensor self, Optional<Axes> dim, bool unbiased, bool keepdim) {
  Spread s = variance_and_mean(l, self, dim, correction_of(unbiased), keepdim);
  return {root(l, s.variance), s.mean};
}
std::tuple<Tensor, Tensor> std_mean(Lower& l, Tensor self, bool unbiased) {
  return std_mean_dim(l, self, {}, unbiased, false);
}

// ---- norms

namespace {

// (sum |x|^p)^(1/p) of magnitudes x; the greatest for inf, the least for -inf, the count of non-zeros for 0.
Value norm_of(Lower& l, Formula x, std::span<const int64_t> axes, double p) {
  auto sum = [&](Formula terms) { return Formula(l, sum_value(l, terms, axes)); };
  if (p == kInfinity) return extreme_value(l, x, axes, Reducer::Maximum);
  if (p == -kInfinity) return extreme_value(l, x, axes, Reducer::Minimum);
  if (p == 0) return sum(convert(ne(x, 0.0), x.dtype()));
  if (p == 1) return sum(x);
  if (p == 2) return sqrt(sum(square(x)));
  return formula::pow(sum(formula::pow(x, p)), 1 / p);
}

Formula magnitude(Lower& l, Value v) { return Formula(l, l.hlo.abs(v)); }

}  // namespace

// Over the listed dimensions as one vector, of magnitudes: the result is real. In dtype, if it is given.
Tensor linalg_vector_norm(Lower& l, Tensor self, Scalar ord, Optional<Axes> dim, bool keepdim, Optional<DType> dtype) {
  if (self.is_poison()) return {};
  DType operand = dtype.value_or(self.dtype());
  if (is_integral(operand)) return l.wrong("a norm needs floating-point or complex numbers, got " + describe(self));
  auto axes = l.axes(dim.value_or(Axes()), self.rank());
  if (!axes) return {};
  double p = ord.to_double();
  if (reduced_count(self.shape(), *axes) == Dim(0) && (p < 0 || p == kInfinity))
    return l.wrong("a norm of order " + ord.text() + " over no elements has no identity, got " + describe(self));
  Value x = l.read(self, lower::accumulate_type(operand));
  Value norm = l.convert(norm_of(l, magnitude(l, x), *axes, p), real_of(operand));
  return l.make(l.hlo.reshape(norm, reduced_shape(self.shape(), *axes, keepdim)));
}

namespace {

Scalar order(const Optional<Scalar>& p) { return p.value_or(Scalar(2)); }

}  // namespace

Tensor norm(Lower& l, Tensor self, Scalar p) { return linalg_vector_norm(l, self, p, {}, false, {}); }
Tensor norm_dim(Lower& l, Tensor self, Optional<Scalar> p, Axes dim, bool keepdim) {
  return linalg_vector_norm(l, self, order(p), dim, keepdim, {});
}
Tensor norm_dim_dtype(Lower& l, Tensor self, Optional<Scalar> p, Axes dim, bool keepdim, DType dtype) {
  return linalg_vector_norm(l, self, order(p), dim, keepdim, dtype);
}
Tensor norm_dtype(Lower& l, Tensor self, Optional<Scalar> p, DType dtype) {
  return linalg_vector_norm(l, self, order(p), {}, false, dtype);
}
Tensor frobenius_norm(Lower& l, Tensor self, Axes dim, bool keepdim) {
  return linalg_vector_norm(l, self, Scalar(2), dim, keepdim, {});
}

Tensor renorm(Lower& l, Tensor self, Scalar p, int64_t dim, Scalar maxnorm) {
  auto axis = l.axis(dim, self.rank());
  if (!axis || !l.expect_rank(self, 2, 64, "self")) return {};
  Axes others;
  for (int64_t i = 0; i < self.rank(); ++i)
    if (i != *axis) others.push_back(i);
  Tensor sizes = linalg_vector_norm(l, self, p, others, true, {});
  Tensor scale = map_wide(l, sizes, [&](Formula size) {
    return select(size > maxnorm.to_double(), maxnorm.to_double() / (size + 1e-7), size.like(1));
  });
  return l.mul(self, scale);
}

// ---- distances

// The norm of self - other as one vector.
Tensor dist(Lower& l, Tensor self, Tensor other, Scalar p) { return norm(l, l.sub(self, other), p); }

// The norm of x1 - x2 + eps over the last dimension.
Tensor pairwise_distance(Lower& l, Tensor x1, Tensor x2, double p, double eps, bool keepdim) {
  Tensor difference = l.add(l.sub(x1, x2), Scalar(eps));
  return linalg_vector_norm(l, difference, Scalar(p), Axes{-1}, keepdim, {});
}

// x1 . x2 / (max(|x1|, eps) max(|x2|, eps)) along dim.
Tensor cosine_similarity(Lower& l, Tensor x1, Tensor x2, int64_t dim, double eps) {
  DType dtype = lower::result_type(std::array{x1, x2});
  if (is_integral(dtype)) return l.wrong("expected floating-point numbers, got " + describe(x1));
  std::array operands{x1, x2};
  auto shape = l.broadcast_shapes(operands);
  if (!shape) return {};
  auto axis = l.axis(dim, static_cast<int64_t>(shape->size()));
  if (!axis) return {};
  Axes axes = shape->empty() ? Axes() : Axes{*axis};
  // Half precision is rounded after each step, as PyTorch does.
  auto step = [&](Formula v) { return v.with(rounded(l, v, dtype)); };
  auto unit = [&](Tensor t) {
    Formula x(l, l.read(t, lower::accumulate_type(dtype), *shape));
    Formula size = max(step(sqrt(Formula(l, sum_value(l, square(x), axes)))), eps);
    return step(x / Formula(l, spread(l, size, axes, *shape)));
  };
  return l.make(l.convert(sum_value(l, step(unit(x1) * unit(x2)), axes), dtype));
}

namespace {

// x, with a dimension of one put in at `axis`.
Tensor unsqueezed(Lower& l, Tensor x, int64_t axis) {
  Dims shape = x.shape();
  shape.insert(shape.begin() + axis, Dim(1));
  return l.make(l.hlo.reshape(l.read(x), shape));
}

}  // namespace

// The distance of every row of x1 from every row of x2, by its definition in every compute_mode.
Tensor cdist(Lower& l, Tensor x1, Tensor x2, double p, Optional<int64_t>) {
  if (!l.expect_rank(x1, 2, 63, "x1") || !l.expect_rank(x2, 2, 63, "x2")) return {};
  if (x1.dim(-1) != x2.dim(-1))
    return l.wrong("expected rows of one size, got " + describe(x1) + " and " + describe(x2));
  Tensor difference = l.sub(unsqueezed(l, x1, x1.rank() - 1), unsqueezed(l, x2, x2.rank() - 2));
  if (difference.is_poison()) return {};
  Axes last{difference.rank() - 1};
  Value d = l.read(difference, lower::accumulate_type(difference.dtype()));
  // Rows without columns are at distance zero, also for p = inf.
  if (x1.dim(-1) == Dim(0)) p = 1;
  return l.make(l.convert(norm_of(l, magnitude(l, d), last, p), difference.dtype()));
}

// The distances of the rows of self from the rows below them.
Tensor pdist(Lower& l, Tensor self, double p) {
  if (!l.expect_rank(self, 2, 2, "self")) return {};
  constexpr int64_t kMostRows = 4096;
  int64_t n = l.pin(self.dim(0));
  if (n > kMostRows) return l.unsupported("self", describe(self), "use cdist for more than 4096 rows");
  Ints first, second;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i + 1; j < n; ++j) {
      first.push_back(i);
      second.push_back(j);
    }
  Value x = l.read(self, lower::accumulate_type(self.dtype()));
  auto rows = [&](const Ints& index) {
    Dim count(static_cast<int64_t>(index.size()));
    stablehlo::Gather g{};
    g.offset_dims = {1};
    g.collapsed_slice_dims = {0};
    g.start_index_map = {0};
    g.index_vector_dim = 1;
    g.slice_sizes = {Dim(1), self.dim(1)};
    return Formula(l, l.hlo.gather(x, l.hlo.constant_ints(DType::Int64, index, {count, Dim(1)}), g));
  };
  Axes last{1};
  if (first.empty() || self.dim(1) == Dim(0))
    return l.make(l.full({Dim(static_cast<int64_t>(first.size()))}, self.dtype(), 0.0));
  return l.make(l.convert(norm_of(l, formula::abs(rows(first) - rows(second)), last, p), self.dtype()));
}

std::span<const Row> statistics_ops() {
  static constexpr Row rows[] = {
      op<pdist>("_pdist_forward"),
      op<cdist>("_cdist_forward"),
      op<cdist>("cdist", AutocastRule::Float32),
      op<cosine_similarity>("cosine_similarity"),
      op<dist>("dist"),
      op<frobenius_norm>("frobenius_norm.dim"),
      op<linalg_vector_norm>("linalg_vector_norm"),
      op<norm>("norm.Scalar"),
      op<norm_dim>("norm.ScalarOpt_dim"),
      op<norm_dim_dtype>("norm.ScalarOpt_dim_dtype"),
      op<norm_dtype>("norm.ScalarOpt_dtype"),
      op<pairwise_distance>("pairwise_distance"),
      op<pdist>("pdist"),
      op<renorm>("renorm"),
      op<std_all>("std"),
      op<std_correction>("std.correction"),
      op<std_dim>("std.dim"),
      op<std_mean>("std_mean"),
      op<std_mean_correction>("std_mean.correction"),
      op<std_mean_dim>("std_mean.dim"),
      op<var>("var"),
      op<var_correction>("var.correction"),
      op<var_dim>("var.dim"),
      op<var_mean>("var_mean"),
      op<var_mean_correction>("var_mean.correction"),
      op<var_mean_dim>("var_mean.dim"),
  };
  return rows;
}

}  // namespace torchlift::aten
