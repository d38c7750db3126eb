// Operations that move elements: shapes, slices, gather, scatter, sort.
#include <algorithm>
#include <utility>

#include "stablehlo/builder_draft.hpp"

namespace torchlift::stablehlo {
namespace {

constexpr size_t kMaxMovedBytes = 4096;  // a larger constant is not copied to change its shape

// 0, 1, 2, ...
bool counts_up(const Ints& values) {
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] != static_cast<int64_t>(i)) return false;
  return true;
}

bool all_are(const Ints& values, int64_t wanted) {
  return std::all_of(values.begin(), values.end(), [wanted](int64_t v) { return v == wanted; });
}

bool all_zero(const Dims& dims) {
  return std::all_of(dims.begin(), dims.end(), [](const Dim& d) { return d == Dim(0); });
}

}  // namespace

Value Builder::broadcast_in_dim(Value operand, Dims result, Ints broadcast_dimensions) {
  const Type& from = type(operand);
  if (!module_.contains(operand)) return {};
  Type to = from.with(std::move(result));
  if (from == to && broadcast_dimensions.size() == from.rank() && counts_up(broadcast_dimensions))
    return unchanged(operand, to.dims);
  Draft draft{.opcode = Opcode::BroadcastInDim,
              .operands = {operand},
              .attributes = BroadcastInDim{std::move(broadcast_dimensions)},
              .claimed = {to}};
  auto number = splat_value(operand);
  if (!number) return one(std::move(draft));
  return check(draft) ? splat(std::move(to), *number) : Value{};
}

Value Builder::reshape(Value operand, Dims result) {
  const Type& from = type(operand);
  if (!module_.contains(operand)) return {};
  Type to = from.with(std::move(result));
  if (from == to) return unchanged(operand, to.dims);
  Draft draft{.opcode = Opcode::Reshape, .operands = {operand}, .claimed = {to}};
  const Constant* data = module_.constant(operand);
  if (!data || data->bytes.size() > kMaxMovedBytes) return one(std::move(draft));
  return check(draft) ? constant(std::move(to), data->bytes) : Value{};
}

Value Builder::concatenate(const Values& inputs, int64_t dimension) {
  if (inputs.size() == 1 && dimension >= 0 && static_cast<size_t>(dimension) < type(inputs[0]).rank()) return inputs[0];
  return one({.opcode = Opcode::Concatenate, .operands = inputs, .attributes = Dimension{dimension}});
}

Value Builder::iota(Type result, int64_t dimension) {
  return one(
      {.opcode = Opcode::Iota, .operands = {}, .attributes = Dimension{dimension}, .claimed = {std::move(result)}});
}

Value Builder::pad(Value operand, Value padding_value, Dims low, Dims high, Ints interior) {
  const size_t rank = type(operand).rank();
  fill_default(low, rank, Dim(0));
  fill_default(high, rank, Dim(0));
  fill_default(interior, rank, int64_t{0});
  const bool nothing =
      low.size() == rank && high.size() == rank && all_zero(low) && all_zero(high) && all_are(interior, 0);
  if (nothing && type(padding_value) == scalar(type(operand).dtype) && module_.contains(padding_value)) return operand;
  return one({.opcode = Opcode::Pad,
              .operands = {operand, padding_value},
              .attributes = Pad{std::move(low), std::move(high), std::move(interior)}});
}

Value Builder::reverse(Value operand, Ints dimensions) {
  if (dimensions.empty()) return operand;
  return one({.opcode = Opcode::Reverse, .operands = {operand}, .attributes = Dimensions{std::move(dimensions)}});
}

Value Builder::slice(Value operand, Dims start_indices, Dims limit_indices, Ints strides) {
  const Type& from = type(operand);
  if (!module_.contains(operand)) return {};
  fill_default(strides, from.rank(), int64_t{1});
  if (start_indices.size() == from.rank() && all_zero(start_indices) && limit_indices == from.dims &&
      strides.size() == from.rank() && all_are(strides, 1))
    return unchanged(operand, limit_indices);
  return one({.opcode = Opcode::Slice,
              .operands = {operand},
              .attributes = Slice{std::move(start_indices), std::move(limit_indices), std::move(strides)}});
}

Value Builder::transpose(Value operand, Ints permutation) {
  if (permutation.size() == type(operand).rank() && counts_up(permutation)) return operand;
  return one({.opcode = Opcode::Transpose, .operands = {operand}, .attributes = Transpose{std::move(permutation)}});
}

Value Builder::dynamic_slice(Value operand, const Values& start_indices, Dims slice_sizes) {
  return one({.opcode = Opcode::DynamicSlice,
              .operands = concat({operand}, start_indices),
              .attributes = DynamicSlice{std::move(slice_sizes)}});
}

Value Builder::dynamic_update_slice(Value operand, Value update, const Values& start_indices) {
  return one({.opcode = Opcode::DynamicUpdateSlice, .operands = concat({operand, update}, start_indices)});
}

Value Builder::gather(Value operand, Value start_indices, Gather attributes) {
  return one({.opcode = Opcode::Gather, .operands = {operand, start_indices}, .attributes = std::move(attributes)});
}

Values Builder::scatter(const Values& inputs, Value scatter_indices, const Values& updates, Scatter attributes,
                        const Body& update_computation) {
  Values operands = concat(concat(inputs, {scatter_indices}), updates);
  if (poisoned(operands)) return Values(inputs.size());
  const RegionId body = region(elements_of(concat(inputs, inputs)), update_computation);
  return many({.opcode = Opcode::Scatter,
               .operands = std::move(operands),
               .attributes = std::move(attributes),
               .regions = {body}},
              inputs.size());
}

Value Builder::scatter(Value input, Value scatter_indices, Value updates, Scatter attributes, Reducer reducer) {
  return scatter({input}, scatter_indices, {updates}, std::move(attributes), combine(reducer))[0];
}

Value Builder::scatter_replace(Value input, Value scatter_indices, Value updates, Scatter attributes) {
  const Body second = [](std::span<const Value> arguments) { return Values{arguments[1]}; };
  return scatter({input}, scatter_indices, {updates}, std::move(attributes), second)[0];
}

Values Builder::sort(const Values& inputs, int64_t dimension, bool is_stable, const Predicate& comparator) {
  if (poisoned(inputs)) return Values(inputs.size());
  std::vector<Type> arguments;
  for (const Type& type : elements_of(inputs)) arguments.insert(arguments.end(), 2, type);
  const RegionId body = region(arguments, [&](std::span<const Value> a) { return Values{comparator(a)}; });
  return many({.opcode = Opcode::Sort, .operands = inputs, .attributes = Sort{dimension, is_stable}, .regions = {body}},
              inputs.size());
}

}  // namespace torchlift::stablehlo
