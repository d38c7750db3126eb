// Reductions that other families use.
#pragma once

#include "aten/formula.hpp"
#include "aten/ops.hpp"

namespace torchlift::aten {

// The shape with these axes removed, or kept as one.
Dims reduced_shape(const Dims& shape, std::span<const int64_t> axes, bool keepdim);
// A reduced value put back over the axes it was reduced over.
Value spread(Lower& l, Value reduced, std::span<const int64_t> axes, const Dims& shape);
// The number of elements that fall together.
Dim reduced_count(const Dims& shape, std::span<const int64_t> axes);

Value sum_value(Lower& l, Value x, std::span<const int64_t> axes);
Value mean_value(Lower& l, Value x, std::span<const int64_t> axes);
// The greatest (Maximum) or least (Minimum) element; NaN wins.
Value extreme_value(Lower& l, Value x, std::span<const int64_t> axes, Reducer reducer);
struct Moments {
  Value mean, variance;  // without the axes
};
// Of float values; the variance is the sum of squares over max(0, count - correction).
Moments moments(Lower& l, Value x, std::span<const int64_t> axes, double correction);

Tensor sum(Lower& l, Tensor self, Optional<std::vector<int64_t>> dim, bool keepdim, Optional<DType> dtype);
Tensor mean(Lower& l, Tensor self, Optional<std::vector<int64_t>> dim, bool keepdim, Optional<DType> dtype);
Tensor amax(Lower& l, Tensor self, std::vector<int64_t> dim, bool keepdim);
Tensor amin(Lower& l, Tensor self, std::vector<int64_t> dim, bool keepdim);
// (values, indices) of the first greatest (or least) element along one dimension; NaN counts as beyond all.
std::tuple<Tensor, Tensor> max_along(Lower& l, Tensor self, int64_t dim, bool keepdim);
std::tuple<Tensor, Tensor> min_along(Lower& l, Tensor self, int64_t dim, bool keepdim);
Tensor linalg_vector_norm(Lower& l, Tensor self, Scalar ord, Optional<std::vector<int64_t>> dim, bool keepdim,
                          Optional<DType> dtype);
// The slices of `dim` whose p-norm is above maxnorm, scaled down to it.
Tensor renorm(Lower& l, Tensor self, Scalar p, int64_t dim, Scalar maxnorm);
Tensor pairwise_distance(Lower& l, Tensor x1, Tensor x2, double p, double eps, bool keepdim);

}  // namespace torchlift::aten
