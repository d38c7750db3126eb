// Contractions: products, convolutions, factorizations, Fourier transforms.
#include "stablehlo/infer.hpp"

namespace torchlift::stablehlo {
namespace {

// Products may be accumulated in a wider type of the same kind.
bool accumulates(DType operand, DType result) {
  if (operand == result) return true;
  if (is_integral(operand)) return is_integer(result) && info(result).bytes >= info(operand).bytes;
  return info(operand).category == info(result).category && info(result).bytes > info(operand).bytes;
}

bool is_inexact(DType dtype) { return is_float(dtype) || is_complex(dtype); }

const Dim& dim_at(const Type& type, int64_t d) { return type.dims[static_cast<size_t>(d)]; }

}  // namespace

Inference infer_dot_general(const Site& site) {
  const DotGeneral& dot = site.get<DotGeneral>();
  const Type& lhs = site.type(0);
  const Type& rhs = site.type(1);
  if (lhs.dtype != rhs.dtype) return refuse("(C13) element types differ");
  if (!accumulates(lhs.dtype, site.claimed[0].dtype))
    return refuse("(C13) products of ", lhs.dtype, " do not add up to ", site.claimed[0].dtype);
  if (dot.lhs_batching_dimensions.size() != dot.rhs_batching_dimensions.size())
    return refuse("(C1) the numbers of batching dimensions differ");
  if (dot.lhs_contracting_dimensions.size() != dot.rhs_contracting_dimensions.size())
    return refuse("(C2) the numbers of contracting dimensions differ");
  const Ints left = concat(dot.lhs_batching_dimensions, dot.lhs_contracting_dimensions);
  const Ints right = concat(dot.rhs_batching_dimensions, dot.rhs_contracting_dimensions);
  if (!is_unique(left) || !is_unique(right)) return refuse("(C3) (C4) a dimension is named twice");
  if (!all_below(left, lhs.rank()) || !all_below(right, rhs.rank()))
    return refuse("(C5)-(C8) a dimension number leaves its operand");
  Type result{site.claimed[0].dtype, {}};
  for (size_t i = 0; i < left.size(); ++i) {
    const Dim& a = dim_at(lhs, left[i]);
    const Dim& b = dim_at(rhs, right[i]);
    const bool batching = i < dot.lhs_batching_dimensions.size();
    if (a != b)
      return refuse(batching ? "(C9) batching" : "(C10) contracting", " dimensions ", left[i], " and ", right[i],
                    " have sizes ", a, " and ", b);
    if (batching) result.dims.push_back(torchlift::richer(a, b));
  }
  for (size_t d = 0; d < lhs.rank(); ++d)
    if (!contains(left, static_cast<int64_t>(d))) result.dims.push_back(lhs.dims[d]);
  for (size_t d = 0; d < rhs.rank(); ++d)
    if (!contains(right, static_cast<int64_t>(d))) result.dims.push_back(rhs.dims[d]);
  return result;
}

namespace {

// The dimension numbers of one side: two named ones and the spatial ones are a permutation of the rank.
bool covers(size_t rank, int64_t first, int64_t second, const Ints& spatial) {
  const Ints all = concat({first, second}, spatial);
  return all.size() == rank && is_unique(all) && all_below(all, rank);
}

std::string convolution_problem(const Convolution& c, const Type& lhs, const Type& rhs) {
  if (lhs.dtype != rhs.dtype) return "(C27) element types differ";
  if (lhs.rank() != rhs.rank()) return "(C1) ranks differ";
  if (lhs.rank() < 2) return "(C1) operands have less than 2 dimensions";
  const size_t n = lhs.rank() - 2;
  if (c.window_strides.size() != n || c.padding_low.size() != n || c.padding_high.size() != n ||
      c.lhs_dilation.size() != n || c.rhs_dilation.size() != n || c.window_reversal.size() != n)
    return "(C2)-(C9) the window has not one entry for each of " + say(n) + " spatial dimensions";
  if (!all_at_least(c.window_strides, 1))
    return "(C3) window_strides " + say(c.window_strides) + " are not all positive";
  if (!all_at_least(c.lhs_dilation, 1)) return "(C6) lhs_dilation " + say(c.lhs_dilation) + " is not all positive";
  if (!all_at_least(c.rhs_dilation, 1)) return "(C8) rhs_dilation " + say(c.rhs_dilation) + " is not all positive";
  if (!covers(lhs.rank(), c.input_batch_dimension, c.input_feature_dimension, c.input_spatial_dimensions))
    return "(C12) (C13) dimension numbers of the input are no permutation of its rank";
  if (!covers(lhs.rank(), c.kernel_input_feature_dimension, c.kernel_output_feature_dimension,
              c.kernel_spatial_dimensions))
    return "(C17) (C18) dimension numbers of the kernel are no permutation of its rank";
  if (!covers(lhs.rank(), c.output_batch_dimension, c.output_feature_dimension, c.output_spatial_dimensions))
    return "(C19) (C20) dimension numbers of the output are no permutation of its rank";
  return "";
}

std::string groups_problem(const Convolution& c, const Type& lhs, const Type& rhs) {
  if (c.feature_group_count < 1) return "(C21) feature_group_count is " + say(c.feature_group_count);
  if (c.batch_group_count < 1) return "(C22) batch_group_count is " + say(c.batch_group_count);
  if (c.feature_group_count > 1 && c.batch_group_count > 1) return "(C23) both group counts are above 1";
  const int64_t batch = dim_at(lhs, c.input_batch_dimension).concrete();
  const int64_t features = dim_at(lhs, c.input_feature_dimension).concrete();
  const int64_t kernel_in = dim_at(rhs, c.kernel_input_feature_dimension).concrete();
  const int64_t kernel_out = dim_at(rhs, c.kernel_output_feature_dimension).concrete();
  if (batch % c.batch_group_count != 0) return "(C10) " + say(batch) + " batch entries do not divide into groups";
  if (features % c.feature_group_count != 0)
    return "(C11) " + say(features) + " input features do not divide into groups";
  if (kernel_in != features / c.feature_group_count)
    return "(C14) the kernel takes " + say(kernel_in) + " features, the input has " +
           say(features / c.feature_group_count) + " in a group";
  if (kernel_out % c.batch_group_count != 0 || kernel_out % c.feature_group_count != 0)
    return "(C15) (C16) " + say(kernel_out) + " output features do not divide into groups";
  return "";
}

}  // namespace

Inference infer_convolution(const Site& site) {
  const Convolution& c = site.get<Convolution>();
  const Type& lhs = site.type(0);
  const Type& rhs = site.type(1);
  if (std::string problem = convolution_problem(c, lhs, rhs); !problem.empty()) return refuse(problem);
  if (std::string problem = groups_problem(c, lhs, rhs); !problem.empty()) return refuse(problem);
  const DType dtype = site.claimed[0].dtype;
  if (!accumulates(lhs.dtype, dtype)) return refuse("(C27) products of ", lhs.dtype, " do not add up to ", dtype);

  Type result{dtype, Dims(lhs.rank())};
  auto out = [&result](int64_t d) -> Dim& { return result.dims[static_cast<size_t>(d)]; };
  const Dim& batch = dim_at(lhs, c.input_batch_dimension);
  out(c.output_batch_dimension) = c.batch_group_count == 1 ? batch : floordiv(batch, Dim(c.batch_group_count));
  out(c.output_feature_dimension) = dim_at(rhs, c.kernel_output_feature_dimension);
  for (size_t i = 0; i < c.window_strides.size(); ++i)
    out(c.output_spatial_dimensions[i]) = window_count({.size = dim_at(lhs, c.input_spatial_dimensions[i]),
                                                        .window = dim_at(rhs, c.kernel_spatial_dimensions[i]),
                                                        .stride = c.window_strides[i],
                                                        .low = c.padding_low[i],
                                                        .high = c.padding_high[i],
                                                        .base_dilation = c.lhs_dilation[i],
                                                        .window_dilation = c.rhs_dilation[i]});
  return result;
}

Inference infer_cholesky(const Site& site) {
  const Type& a = site.type(0);
  if (!is_inexact(a.dtype)) return refuse("(I1) the operand has no floating-point or complex elements");
  if (a.rank() < 2) return refuse("(C2) the operand has less than 2 dimensions");
  if (a.dims[a.rank() - 2] != a.dims[a.rank() - 1]) return refuse("(C3) the matrices are not square");
  return a;
}

Inference infer_triangular_solve(const Site& site) {
  const Type& a = site.type(0);
  const Type& b = site.type(1);
  if (!is_inexact(a.dtype)) return refuse("(I1) the operands have no floating-point or complex elements");
  if (a.dtype != b.dtype) return refuse("(C1) element types differ");
  const size_t rank = a.rank();
  if (rank != b.rank() || rank < 2) return refuse("(C2) ranks differ, or are below 2");
  for (size_t d = 0; d + 2 < rank; ++d)
    if (a.dims[d] != b.dims[d]) return refuse("(C3) batch sizes of dimension ", d, " differ");
  const size_t side = site.get<TriangularSolve>().left_side ? rank - 2 : rank - 1;
  if (a.dims[rank - 2] != a.dims[rank - 1] || a.dims[rank - 1] != b.dims[side])
    return refuse("(C3) a is not square, or does not fit b");
  return b;
}

Inference infer_fft(const Site& site) {
  const Fft& fft = site.get<Fft>();
  const Type& operand = site.type(0);
  const size_t n = fft.length.size();
  if (n < 1 || n > 3) return refuse("(C3) length ", fft.length, " has not 1 to 3 entries");
  if (operand.rank() < n) return refuse("(C1) length ", fft.length, " has more entries than the operand dimensions");
  const bool takes_real = fft.type == FftType::Rfft;
  const bool right_kind = takes_real ? operand.dtype == DType::Float32 || operand.dtype == DType::Float64
                                     : operand.dtype == DType::Complex64 || operand.dtype == DType::Complex128;
  if (!right_kind) return refuse("(C2) no transform of this kind takes ", operand.dtype);
  Type result = operand;
  const size_t first = operand.rank() - n;
  for (size_t i = 0; i < n; ++i) {
    const bool last = i + 1 == n;
    const Dim& length = fft.length[i];
    if (length < Dim(0)) return refuse("(C3) length ", fft.length, " is negative");
    const Dim half = floordiv(length, Dim(2)) + Dim(1);
    const Dim wanted = last && fft.type == FftType::Irfft ? half : length;
    if (operand.dims[first + i] != wanted)
      return refuse("(C4) (C5) dimension ", first + i, " has ", operand.dims[first + i], " entries, ", wanted,
                    " are wanted");
    if (last && fft.type == FftType::Rfft) result.dims[first + i] = half;
    if (last && fft.type == FftType::Irfft) result.dims[first + i] = length;
  }
  if (fft.type == FftType::Rfft) result.dtype = complex_of(operand.dtype);
  if (fft.type == FftType::Irfft) result.dtype = real_of(operand.dtype);
  return result;
}

}  // namespace torchlift::stablehlo
