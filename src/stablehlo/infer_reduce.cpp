// Sorts, reductions and windows.
#include "stablehlo/infer.hpp"

namespace torchlift::stablehlo {
namespace {

// Operands of reduce and reduce_window: inputs of equal sizes, then a scalar for each.
std::string reducer_problem(const Site& site) {
  if (site.operands.size() % 2 != 0) return "the numbers of inputs and init_values differ";
  const size_t inputs = site.operands.size() / 2;
  for (size_t i = 0; i < inputs; ++i) {
    if (!same_dims(site.type(i), site.type(0))) return "(C1) the inputs' sizes differ";
    if (site.type(inputs + i) != scalar(site.type(i).dtype))
      return "(C2) init_value " + say(site.type(inputs + i)) + " is no scalar of the input's element type";
  }
  std::vector<Type> elements = scalars_of(site, 0, inputs);
  std::vector<Type> arguments = elements;
  arguments.insert(arguments.end(), elements.begin(), elements.end());
  return signature_problem(site, 0, arguments, elements);
}

std::vector<Type> with_dims(const Site& site, size_t inputs, const Dims& dims) {
  std::vector<Type> out;
  for (size_t i = 0; i < inputs; ++i) out.push_back({site.type(i).dtype, dims});
  return out;
}

bool all_positive(const Dims& dims) {
  for (const Dim& d : dims)
    if (d < Dim(1)) return false;
  return true;
}

}  // namespace

Inference infer_sort(const Site& site) {
  const Sort& sort = site.get<Sort>();
  std::vector<Type> arguments;
  std::vector<Type> results;
  for (size_t i = 0; i < site.operands.size(); ++i) {
    if (!same_dims(site.type(i), site.type(0))) return refuse("(C3) the inputs' sizes differ");
    arguments.insert(arguments.end(), 2, scalar(site.type(i).dtype));
    results.push_back(site.type(i));
  }
  if (sort.dimension < 0 || static_cast<size_t>(sort.dimension) >= site.rank(0))
    return refuse("(C4) dimension ", sort.dimension, " is not one of ", site.rank(0));
  if (std::string problem = signature_problem(site, 0, arguments, {scalar(DType::Bool)}); !problem.empty())
    return refuse("(C5) ", problem);
  return results;
}

Inference infer_reduce(const Site& site) {
  const Ints& dimensions = site.get<Dimensions>().dimensions;
  if (std::string problem = reducer_problem(site); !problem.empty()) return refuse(problem);
  if (!all_below(dimensions, site.rank(0))) return refuse("(C4) dimensions ", dimensions, " leaves ", site.type(0));
  if (!is_unique(dimensions)) return refuse("(C5) dimensions ", dimensions, " repeats an entry");
  Dims dims;
  for (size_t d = 0; d < site.rank(0); ++d)
    if (!contains(dimensions, static_cast<int64_t>(d))) dims.push_back(site.type(0).dims[d]);
  return with_dims(site, site.operands.size() / 2, dims);
}

Inference infer_reduce_window(const Site& site) {
  const Window& w = site.get<Window>();
  if (std::string problem = reducer_problem(site); !problem.empty()) return refuse(problem);
  const size_t rank = site.rank(0);
  if (w.window_dimensions.size() != rank || w.window_strides.size() != rank || w.base_dilations.size() != rank ||
      w.window_dilations.size() != rank || w.padding_low.size() != rank || w.padding_high.size() != rank)
    return refuse("(C4)-(C12) the window has not one entry for each of ", rank, " dimensions");
  if (!all_positive(w.window_dimensions))
    return refuse("(C5) window_dimensions ", w.window_dimensions, " are not all positive");
  if (!all_at_least(w.window_strides, 1))
    return refuse("(C7) window_strides ", w.window_strides, " are not all positive");
  if (!all_at_least(w.base_dilations, 1))
    return refuse("(C9) base_dilations ", w.base_dilations, " are not all positive");
  if (!all_at_least(w.window_dilations, 1))
    return refuse("(C11) window_dilations ", w.window_dilations, " are not all positive");
  Dims dims;
  for (size_t d = 0; d < rank; ++d)
    dims.push_back(window_count({.size = site.type(0).dims[d],
                                 .window = w.window_dimensions[d],
                                 .stride = w.window_strides[d],
                                 .low = w.padding_low[d],
                                 .high = w.padding_high[d],
                                 .base_dilation = w.base_dilations[d],
                                 .window_dilation = w.window_dilations[d]}));
  return with_dims(site, site.operands.size() / 2, dims);
}

Inference infer_select_and_scatter(const Site& site) {
  const SelectAndScatter& w = site.get<SelectAndScatter>();
  const Type& operand = site.type(0);
  const Type& source = site.type(1);
  const size_t rank = operand.rank();
  if (source.dtype != operand.dtype) return refuse("(C1) element types of operand and source differ");
  if (w.window_dimensions.size() != rank || w.window_strides.size() != rank || w.padding_low.size() != rank ||
      w.padding_high.size() != rank)
    return refuse("(C4)-(C8) the window has not one entry for each of ", rank, " dimensions");
  if (!all_at_least(w.window_dimensions, 1) || !all_at_least(w.window_strides, 1))
    return refuse("(C5) (C7) window_dimensions or window_strides are not all positive");
  Dims counts;
  for (size_t d = 0; d < rank; ++d)
    counts.push_back(window_count({.size = operand.dims[d],
                                   .window = w.window_dimensions[d],
                                   .stride = w.window_strides[d],
                                   .low = w.padding_low[d],
                                   .high = w.padding_high[d]}));
  if (source.dims != counts) return refuse("(C2) the source has sizes ", source.dims, ", the windows ", counts);
  const Type element = scalar(operand.dtype);
  if (site.type(2) != element) return refuse("(C3) init_value is no scalar of the operand's element type");
  if (std::string problem = signature_problem(site, 0, {element, element}, {scalar(DType::Bool)}); !problem.empty())
    return refuse("(C9) ", problem);
  if (std::string problem = signature_problem(site, 1, {element, element}, {element}); !problem.empty())
    return refuse("(C10) ", problem);
  return operand;
}

Inference infer_batch_norm_inference(const Site& site) {
  const int64_t feature = site.get<BatchNorm>().feature_index;
  const Type& operand = site.type(0);
  if (!is_float(operand.dtype)) return refuse("(I1) the operand has no floating-point elements");
  if (feature < 0 || static_cast<size_t>(feature) >= operand.rank())
    return refuse("(C1) feature_index ", feature, " is not one of ", operand.rank());
  const Type wanted{operand.dtype, {operand.dims[static_cast<size_t>(feature)]}};
  for (size_t i = 1; i < 5; ++i)
    if (site.type(i) != wanted)
      return refuse("(C2)-(C6) operand ", i, " is ", site.type(i), ", ", wanted, " is wanted");
  return operand;
}

}  // namespace torchlift::stablehlo
