// Operations that move elements without looking at them.
#include "stablehlo/infer.hpp"

namespace torchlift::stablehlo {
namespace {

bool is_dimension(int64_t value, size_t rank) { return value >= 0 && static_cast<size_t>(value) < rank; }

}  // namespace

Inference infer_broadcast_in_dim(const Site& site) {
  const Ints& dimensions = site.get<BroadcastInDim>().broadcast_dimensions;
  const Type& operand = site.type(0);
  Type result = site.claimed[0];
  if (result.dtype != operand.dtype) return refuse("(C1) element types differ");
  if (dimensions.size() != operand.rank())
    return refuse("(C2) broadcast_dimensions ", dimensions, " has not one entry for each of ", operand.rank(),
                  " dimensions");
  if (!all_below(dimensions, result.rank()))
    return refuse("(C3) broadcast_dimensions ", dimensions, " leaves the result ", result);
  if (!is_unique(dimensions)) return refuse("(C4) broadcast_dimensions ", dimensions, " repeats an entry");
  for (size_t i = 0; i < dimensions.size(); ++i) {
    Dim& to = result.dims[static_cast<size_t>(dimensions[i])];
    const Dim& from = operand.dims[i];
    if (from == to) to = torchlift::richer(to, from);
    else if (from != Dim(1))
      return refuse("(C5) size ", from, " of dimension ", i, " is neither 1 nor that of ", result);
  }
  return result;
}

Inference infer_concatenate(const Site& site) {
  const int64_t dimension = site.get<Dimension>().dimension;
  Type result = site.type(0);
  if (!is_dimension(dimension, result.rank()))
    return refuse("(C4) dimension ", dimension, " is not one of ", result.rank());
  const size_t at = static_cast<size_t>(dimension);
  for (size_t i = 1; i < site.operands.size(); ++i) {
    const Type& input = site.type(i);
    if (input.dtype != result.dtype) return refuse("(C1) element types differ");
    if (input.rank() != result.rank()) return refuse("(C2) ranks differ");
    for (size_t d = 0; d < result.rank(); ++d) {
      if (d == at) continue;
      if (input.dims[d] != result.dims[d]) return refuse("(C2) sizes of dimension ", d, " differ");
      result.dims[d] = torchlift::richer(result.dims[d], input.dims[d]);
    }
    result.dims[at] = result.dims[at] + input.dims[at];
  }
  return result;
}

Inference infer_iota(const Site& site) {
  const int64_t dimension = site.get<Dimension>().dimension;
  const Type& result = site.claimed[0];
  if (is_bool(result.dtype)) return refuse("no iota of i1 exists");
  if (!is_dimension(dimension, result.rank()))
    return refuse("(C1) dimension ", dimension, " is not one of ", result.rank());
  return result;
}

// (C4) size + low + high, and `interior` between any two elements.
Inference infer_pad(const Site& site) {
  const Pad& pad = site.get<Pad>();
  Type result = site.type(0);
  if (site.type(1) != scalar(result.dtype))
    return refuse("(C1) padding_value is no scalar of the operand's element type");
  const size_t rank = result.rank();
  if (pad.edge_padding_low.size() != rank || pad.edge_padding_high.size() != rank ||
      pad.interior_padding.size() != rank)
    return refuse("(C2) padding has not one entry for each of ", rank, " dimensions");
  if (!all_at_least(pad.interior_padding, 0))
    return refuse("(C3) interior_padding ", pad.interior_padding, " is negative");
  for (size_t d = 0; d < rank; ++d) {
    Dim& size = result.dims[d];
    if (pad.interior_padding[d] != 0 && size > Dim(0)) size = size + (size - Dim(1)) * Dim(pad.interior_padding[d]);
    size = size + pad.edge_padding_low[d] + pad.edge_padding_high[d];
    if (size < Dim(0)) return refuse("(C4) dimension ", d, " loses more than it has: ", size);
  }
  return result;
}

Inference infer_reshape(const Site& site) {
  const Type& operand = site.type(0);
  const Type& result = site.claimed[0];
  if (result.dtype != operand.dtype) return refuse("(C1) element types differ");
  if (element_count(operand) != element_count(result))
    return refuse("(C2) ", operand, " has not as many elements as ", result);
  return result;
}

Inference infer_reverse(const Site& site) {
  const Ints& dimensions = site.get<Dimensions>().dimensions;
  if (!is_unique(dimensions)) return refuse("(C2) dimensions ", dimensions, " repeats an entry");
  if (!all_below(dimensions, site.rank(0))) return refuse("(C3) dimensions ", dimensions, " leaves ", site.type(0));
  return site.type(0);
}

// (C5) ceil((limit - start) / stride)
Inference infer_slice(const Site& site) {
  const Slice& slice = site.get<Slice>();
  Type result = site.type(0);
  const size_t rank = result.rank();
  if (slice.start_indices.size() != rank || slice.limit_indices.size() != rank || slice.strides.size() != rank)
    return refuse("(C2) indices and strides have not one entry for each of ", rank, " dimensions");
  if (!all_at_least(slice.strides, 1)) return refuse("(C4) strides ", slice.strides, " are not all positive");
  for (size_t d = 0; d < rank; ++d) {
    const Dim& start = slice.start_indices[d];
    const Dim& limit = slice.limit_indices[d];
    if (start < Dim(0) || start > limit || limit > result.dims[d])
      return refuse("(C3) 0 <= start <= limit <= size does not hold in dimension ", d, ": start ", start, ", limit ",
                    limit, ", size ", result.dims[d]);
    const Dim length = limit - start;
    result.dims[d] = slice.strides[d] == 1 ? length : ceildiv(length, Dim(slice.strides[d]));
  }
  return result;
}

Inference infer_transpose(const Site& site) {
  const Ints& permutation = site.get<Transpose>().permutation;
  const Type& operand = site.type(0);
  if (permutation.size() != operand.rank() || !all_below(permutation, operand.rank()) || !is_unique(permutation))
    return refuse("(C2) ", permutation, " is no permutation of ", operand.rank(), " dimensions");
  Type result{operand.dtype, {}};
  for (int64_t d : permutation) result.dims.push_back(operand.dims[static_cast<size_t>(d)]);
  return result;
}

}  // namespace torchlift::stablehlo
