// scatter and its reductions: along one axis, element by element.
#include "aten/axes.hpp"
#include "aten/indexing.hpp"
#include "aten/shaping.hpp"

namespace torchlift::aten {

namespace {

std::optional<Reducer> reducer_of(Lower& l, const std::string& reduce) {
  if (reduce == "sum" || reduce == "mean" || reduce == "add") return Reducer::Add;
  if (reduce == "prod" || reduce == "multiply") return Reducer::Multiply;
  if (reduce == "amax") return Reducer::MaximumNan;
  if (reduce == "amin") return Reducer::MinimumNan;
  l.unsupported("reduce", "'" + reduce + "'");
  return std::nullopt;
}

// sum / count, with count 1 where nothing was counted. Integers are divided towards minus infinity.
Value mean_of(Lower& l, Value sum, Value count) {
  Value one = l.full_like(count, 1);
  count = l.hlo.maximum(count, one);
  Value quotient = l.hlo.divide(sum, count);
  if (!is_integer(l.type(sum).dtype)) return quotient;
  Value zero = l.full_like(sum, 0);
  Value rest = l.hlo.compare(l.hlo.remainder(sum, count), zero, ComparisonDirection::Ne);
  Value below = l.hlo.and_(rest, l.hlo.compare(sum, zero, ComparisonDirection::Lt));
  return l.hlo.select(below, l.hlo.subtract(quotient, one), quotient);
}

}  // namespace

// Reduced floats are combined in float32 and rounded once. Without include_self the places that are written start from
// the identity.
Value scatter_reduced(Lower& l, Value self, Value src, const std::string& reduce, bool include_self,
                      const ScatterWrite& write) {
  auto reducer = reducer_of(l, reduce);
  if (!reducer || !self.has_value() || !src.has_value()) return {};
  DType dtype = l.type(self).dtype;
  if (is_complex(dtype) && *reducer != Reducer::Add && *reducer != Reducer::Multiply)
    return l.wrong("complex numbers have no order");
  DType wide = lower::accumulate_type(dtype);
  Value base = l.convert(self, wide), updates = l.convert(src, wide);
  if (!include_self) {
    Value touched =
        write(l.full(l.type(self).dims, DType::Bool, false), l.full(l.type(src).dims, DType::Bool, true), {});
    Value identity = l.broadcast_to(l.hlo.identity(*reducer, wide), l.type(self).dims);
    base = l.hlo.select(touched, identity, base);
  }
  Value out = l.convert(write(base, updates, *reducer), dtype);
  if (reduce != "mean") return out;
  Value counts = write(l.full_like(base, include_self ? 1 : 0), l.full_like(updates, 1), Reducer::Add);
  return l.convert(mean_of(l, l.convert(out, wide), counts), dtype);
}

namespace {

// The places of an element-wise scatter within the part of self that the index covers.
struct Site {
  Dims shape;  // of the index
  Value places;
  stablehlo::Scatter attributes;
};

// A copy of self where fn(part, site) stands in place of the part that the index covers.
template <typename Fn>
Tensor on_covered_part(Lower& l, Tensor self, int64_t dim, Tensor index, Fn&& fn) {
  auto axis = l.axis(dim, self.rank());
  if (!axis) return {};
  Tensor out = l.make(l.read(self), lower::dense_strides_like(self.shape(), self.strides()));
  if (index.is_empty()) return out;
  if (!is_integer(index.dtype())) return l.wrong("expected an index of an integer dtype, got " + describe(index));
  Tensor part = self.rank() == 0 ? reshape(l, out, {Dim(1)}) : out;
  if (index.rank() == 0) index = reshape(l, index, {Dim(1)});
  if (part.rank() != index.rank()) return l.wrong("scatter into " + describe(self) + " by " + describe(index));
  Site site{.shape = index.shape(), .places = wrapped_places(l, index, part.dim(*axis)), .attributes = {}};
  for (int64_t i = 0; i < part.rank(); ++i) {
    if (i == *axis) continue;
    if (index.dim(i) > part.dim(i)) return l.wrong("scatter into " + describe(self) + " by " + describe(index));
    if (index.dim(i) != part.dim(i)) part = narrow(l, part, i, 0, index.dim(i));
    site.attributes.input_batching_dims.push_back(i);
  }
  site.attributes.scatter_indices_batching_dims = site.attributes.input_batching_dims;
  site.attributes.inserted_window_dims = {*axis};
  site.attributes.scatter_dims_to_operand_dims = {*axis};
  site.attributes.index_vector_dim = part.rank();
  l.write(part, fn(l.read(part), site));
  return out;
}

// The part of src that the index covers.
Value covered(Lower& l, Tensor src, const Dims& shape) {
  if (src.rank() == 0 && shape.size() == 1) src = reshape(l, src, {Dim(1)});
  if (src.shape().size() != shape.size())
    return l.wrong("a source " + describe(src) + " for an index of shape " + text_of(shape));
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] > src.shape()[i])
      return l.wrong("a source " + describe(src) + " for an index of shape " + text_of(shape));
    if (shape[i] != src.shape()[i]) src = narrow(l, src, static_cast<int64_t>(i), 0, shape[i]);
  }
  return l.read(src);
}

Tensor reduced(Lower& l, Tensor self, int64_t dim, Tensor index, Tensor src, const std::string& reduce,
               bool include_self) {
  if (self.is_poison() || index.is_poison() || src.is_poison()) return {};
  return on_covered_part(l, self, dim, index, [&](Value part, const Site& site) {
    Value updates = src.is_wrapped_number() ? l.read(src, self.dtype(), site.shape)
                                            : l.convert(covered(l, src, site.shape), self.dtype());
    return scatter_reduced(l, part, updates, reduce, include_self,
                           [&](Value base, Value values, Optional<Reducer> reducer) {
                             if (!reducer) return l.hlo.scatter_replace(base, site.places, values, site.attributes);
                             return l.hlo.scatter(base, site.places, values, site.attributes, *reducer);
                           });
  });
}

// self[index[i][j]][j] = src[i][j] for dim 0. Which of several writes to one place wins is not defined.
Tensor scatter(Lower& l, Tensor self, int64_t dim, Tensor index, Operand src) {
  if (self.is_poison() || index.is_poison() || src.is_poison()) return {};
  return on_covered_part(l, self, dim, index, [&](Value part, const Site& site) {
    Value updates = src.is_wrapped_number() ? l.read(src, self.dtype(), site.shape)
                                            : l.convert(covered(l, src, site.shape), self.dtype());
    return l.hlo.scatter_replace(part, site.places, updates, site.attributes);
  });
}

Tensor scatter_with_reduce(Lower& l, Tensor self, int64_t dim, Tensor index, Operand src, std::string reduce) {
  if (reduce != "add" && reduce != "multiply") return l.unsupported("reduce", "'" + reduce + "'");
  return reduced(l, self, dim, index, src, reduce, true);
}

Tensor scatter_add(Lower& l, Tensor self, int64_t dim, Tensor index, Tensor src) {
  return reduced(l, self, dim, index, src, "sum", true);
}

Tensor scatter_reduce(Lower& l, Tensor self, int64_t dim, Tensor index, Tensor src, std::string reduce,
                      bool include_self) {
  if (reduce == "add" || reduce == "multiply") return l.unsupported("reduce", "'" + reduce + "'");
  return reduced(l, self, dim, index, src, reduce, include_self);
}

}  // namespace

std::span<const Row> scatter_ops() {
  static constexpr Row rows[] = {
      op<scatter_with_reduce>("scatter.reduce"),
      op<scatter>("scatter.src"),
      op<scatter>("scatter.value"),
      op<scatter_with_reduce>("scatter.value_reduce"),
      op<scatter_add>("scatter_add"),
      op<scatter_reduce>("scatter_reduce.two"),
  };
  return rows;
}

}  // namespace torchlift::aten
