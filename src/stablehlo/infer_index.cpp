// Slices at computed places, gather and scatter.
#include "stablehlo/infer.hpp"

namespace torchlift::stablehlo {
namespace {

// Start indices are operands `first` and on: one integer scalar for each dimension, all of one type.
std::string start_problem(const Site& site, size_t first) {
  if (site.operands.size() - first != site.rank(0))
    return say(site.operands.size() - first) + " start indices for " + say(site.rank(0)) + " dimensions";
  for (size_t i = first; i < site.operands.size(); ++i) {
    if (!is_integer(site.type(i).dtype) || site.type(i).rank() != 0) return "a start index is no integer of rank 0";
    if (site.type(i) != site.type(first)) return "the start indices' types differ";
  }
  return "";
}

// What gather and scatter have in common, in the words of gather: how an index vector addresses the operand.
struct IndexMap {
  size_t operand_rank;
  const Type& indices;
  const Ints& collapsed;      // of the operand: addressed, and not part of the window
  const Ints& operand_batch;  // of the operand
  const Ints& indices_batch;  // of the indices
  const Ints& index_to_operand;
  int64_t index_vector_dim;
};

std::string index_map_problem(const IndexMap& map, const Type& operand) {
  const size_t indices_rank = map.indices.rank();
  if (!is_integer(map.indices.dtype)) return "the indices are no integers";
  if (map.index_vector_dim < 0 || static_cast<size_t>(map.index_vector_dim) > indices_rank)
    return "index_vector_dim " + say(map.index_vector_dim) + " is not in 0.." + say(indices_rank);
  const size_t vector_dim = static_cast<size_t>(map.index_vector_dim);
  const Dim vector_size = vector_dim < indices_rank ? map.indices.dims[vector_dim] : Dim(1);
  if (Dim(static_cast<int64_t>(map.index_to_operand.size())) != vector_size)
    return "the index map has " + say(map.index_to_operand.size()) + " entries, an index vector " + say(vector_size);
  if (!all_below(map.collapsed, map.operand_rank) || !all_below(map.operand_batch, map.operand_rank) ||
      !all_below(map.index_to_operand, map.operand_rank))
    return "a dimension number leaves the operand's rank " + say(map.operand_rank);
  if (!is_unique(concat(map.collapsed, map.operand_batch))) return "collapsed and batching dimensions repeat an entry";
  if (!is_unique(concat(map.index_to_operand, map.operand_batch))) return "the index map repeats an entry";
  if (!is_sorted(map.collapsed) || !is_sorted(map.operand_batch))
    return "collapsed or batching dimensions are not sorted";
  if (!all_below(map.indices_batch, indices_rank) || !is_unique(map.indices_batch))
    return "batching dimensions " + say(map.indices_batch) + " leave the indices or repeat an entry";
  if (contains(map.indices_batch, map.index_vector_dim)) return "index_vector_dim is a batching dimension";
  if (map.operand_batch.size() != map.indices_batch.size()) return "the numbers of batching dimensions differ";
  for (size_t i = 0; i < map.operand_batch.size(); ++i)
    if (operand.dims[static_cast<size_t>(map.operand_batch[i])] !=
        map.indices.dims[static_cast<size_t>(map.indices_batch[i])])
      return "sizes of batching dimensions differ";
  return "";
}

// Sizes of the indices without the dimension that holds the index vectors.
Dims batch_sizes(const Type& indices, int64_t index_vector_dim) {
  Dims out;
  for (size_t i = 0; i < indices.rank(); ++i)
    if (static_cast<int64_t>(i) != index_vector_dim) out.push_back(indices.dims[i]);
  return out;
}

// Window sizes at `window_dims` of the result, batch sizes at the other places.
Dims combine(const Dims& batch, const Dims& window, const Ints& window_dims) {
  Dims out;
  auto next_batch = batch.begin();
  auto next_window = window.begin();
  for (size_t i = 0; i < batch.size() + window.size(); ++i)
    out.push_back(contains(window_dims, static_cast<int64_t>(i)) ? *next_window++ : *next_batch++);
  return out;
}

bool is_window_dim(const IndexMap& map, size_t d) {
  return !contains(map.collapsed, static_cast<int64_t>(d)) && !contains(map.operand_batch, static_cast<int64_t>(d));
}

}  // namespace

Inference infer_dynamic_slice(const Site& site) {
  const Dims& sizes = site.get<DynamicSlice>().slice_sizes;
  const Type& operand = site.type(0);
  if (std::string problem = start_problem(site, 1); !problem.empty()) return refuse("(C2) (C3) ", problem);
  if (sizes.size() != operand.rank())
    return refuse("(C2) slice_sizes ", sizes, " has not ", operand.rank(), " entries");
  for (size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] < Dim(0) || sizes[d] > operand.dims[d]) return refuse("(C4) slice_sizes ", sizes, " leaves ", operand);
  return Type{operand.dtype, sizes};
}

Inference infer_dynamic_update_slice(const Site& site) {
  const Type& operand = site.type(0);
  const Type& update = site.type(1);
  if (operand.dtype != update.dtype) return refuse("(C2) element types differ");
  if (operand.rank() != update.rank()) return refuse("(C3) ranks differ");
  if (std::string problem = start_problem(site, 2); !problem.empty()) return refuse("(C4) (C5) ", problem);
  for (size_t d = 0; d < operand.rank(); ++d)
    if (update.dims[d] > operand.dims[d]) return refuse("(C6) the update leaves the operand in dimension ", d);
  return operand;
}

Inference infer_gather(const Site& site) {
  const Gather& gather = site.get<Gather>();
  const Type& operand = site.type(0);
  const IndexMap map{operand.rank(),
                     site.type(1),
                     gather.collapsed_slice_dims,
                     gather.operand_batching_dims,
                     gather.start_indices_batching_dims,
                     gather.start_index_map,
                     gather.index_vector_dim};
  if (operand.rank() !=
      gather.offset_dims.size() + gather.collapsed_slice_dims.size() + gather.operand_batching_dims.size())
    return refuse("(C1) offset, collapsed and batching dimensions are not ", operand.rank());
  if (std::string problem = index_map_problem(map, operand); !problem.empty()) return refuse("(C2)-(C19) ", problem);
  if (gather.slice_sizes.size() != operand.rank())
    return refuse("(C20) slice_sizes ", gather.slice_sizes, " has not ", operand.rank(), " entries");
  Dims window;
  for (size_t d = 0; d < operand.rank(); ++d) {
    const Dim& size = gather.slice_sizes[d];
    if (size < Dim(0) || size > operand.dims[d])
      return refuse("(C21) slice_sizes ", gather.slice_sizes, " leaves ", operand);
    if (is_window_dim(map, d)) window.push_back(size);
    else if (size > Dim(1))
      return refuse("(C9) (C12) slice_sizes ", gather.slice_sizes, " is above 1 in dimension ", d);
  }
  const Dims batch = batch_sizes(site.type(1), gather.index_vector_dim);
  if (!is_unique(gather.offset_dims) || !is_sorted(gather.offset_dims) ||
      !all_below(gather.offset_dims, batch.size() + window.size()))
    return refuse("(C4) (C5) offset_dims ", gather.offset_dims, " is not sorted, or leaves the result");
  return Type{operand.dtype, combine(batch, window, gather.offset_dims)};
}

namespace {

// (C4) The updates hold one window for each index vector; a window may be smaller than the input.
std::string updates_problem(const Site& site, const Scatter& scatter, const IndexMap& map, size_t inputs) {
  const Type& input = site.type(0);
  const Type& updates = site.type(inputs + 1);
  const Dims batch = batch_sizes(map.indices, scatter.index_vector_dim);
  if (!is_unique(scatter.update_window_dims) || !is_sorted(scatter.update_window_dims) ||
      !all_below(scatter.update_window_dims, updates.rank()))
    return "(C7) (C8) update_window_dims " + say(scatter.update_window_dims) + " is not sorted, or leaves the updates";
  if (updates.rank() != batch.size() + scatter.update_window_dims.size())
    return "(C4) updates have " + say(updates.rank()) + " dimensions, not " +
           say(batch.size() + scatter.update_window_dims.size());
  auto next_batch = batch.begin();
  size_t d = 0;  // of the input
  for (size_t i = 0; i < updates.rank(); ++i) {
    if (!contains(scatter.update_window_dims, static_cast<int64_t>(i))) {
      if (updates.dims[i] != *next_batch++)
        return "(C4) updates and indices differ in dimension " + say(i) + " of updates";
      continue;
    }
    while (!is_window_dim(map, d)) ++d;
    if (updates.dims[i] > input.dims[d]) return "(C4) the window leaves the input in dimension " + say(d);
    ++d;
  }
  return "";
}

}  // namespace

Inference infer_scatter(const Site& site) {
  const Scatter& scatter = site.get<Scatter>();
  if (site.operands.size() % 2 != 1) return refuse("(C5) the numbers of inputs and updates differ");
  const size_t inputs = site.operands.size() / 2;
  const Type& input = site.type(0);
  for (size_t i = 0; i < inputs; ++i) {
    if (!same_dims(site.type(i), input)) return refuse("(C1) the inputs' sizes differ");
    if (!same_dims(site.type(inputs + 1 + i), site.type(inputs + 1))) return refuse("(C3) the updates' sizes differ");
    if (site.type(i).dtype != site.type(inputs + 1 + i).dtype)
      return refuse("(C6) element types of input and update differ");
  }
  const IndexMap map{input.rank(),
                     site.type(inputs),
                     scatter.inserted_window_dims,
                     scatter.input_batching_dims,
                     scatter.scatter_indices_batching_dims,
                     scatter.scatter_dims_to_operand_dims,
                     scatter.index_vector_dim};
  if (input.rank() !=
      scatter.update_window_dims.size() + scatter.inserted_window_dims.size() + scatter.input_batching_dims.size())
    return refuse("(C2) window, inserted and batching dimensions are not ", input.rank());
  if (std::string problem = index_map_problem(map, input); !problem.empty()) return refuse("(C9)-(C22) ", problem);
  if (std::string problem = updates_problem(site, scatter, map, inputs); !problem.empty()) return refuse(problem);

  std::vector<Type> elements = scalars_of(site, 0, inputs);
  std::vector<Type> arguments = elements;
  arguments.insert(arguments.end(), elements.begin(), elements.end());
  if (std::string problem = signature_problem(site, 0, arguments, elements); !problem.empty())
    return refuse("(C23) ", problem);
  std::vector<Type> results;
  for (size_t i = 0; i < inputs; ++i) results.push_back(site.type(i));
  return results;
}

}  // namespace torchlift::stablehlo
