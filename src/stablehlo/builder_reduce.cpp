// Reductions and windows.
#include <utility>

#include "stablehlo/builder_draft.hpp"

namespace torchlift::stablehlo {
namespace {

Opcode opcode_of(Reducer reducer) {
  switch (reducer) {
    case Reducer::Add: return Opcode::Add;
    case Reducer::Multiply: return Opcode::Multiply;
    case Reducer::Maximum:
    case Reducer::MaximumNan: return Opcode::Maximum;
    case Reducer::Minimum:
    case Reducer::MinimumNan: return Opcode::Minimum;
    case Reducer::And: return Opcode::And;
    case Reducer::Or: return Opcode::Or;
    case Reducer::Xor: return Opcode::Xor;
  }
  return Opcode::Add;
}

bool has_identity(Reducer reducer, DType dtype) {
  switch (reducer) {
    case Reducer::Add:
    case Reducer::Multiply: return true;
    case Reducer::Maximum:
    case Reducer::Minimum:
    case Reducer::MaximumNan:
    case Reducer::MinimumNan: return !is_complex(dtype);
    case Reducer::And:
    case Reducer::Or:
    case Reducer::Xor: return is_integral(dtype);
  }
  return false;
}

Number identity_of(Reducer reducer, DType dtype) {
  switch (reducer) {
    case Reducer::Multiply: return int64_t{1};
    case Reducer::Maximum:
    case Reducer::MaximumNan: return lowest(dtype);
    case Reducer::Minimum:
    case Reducer::MinimumNan: return highest(dtype);
    case Reducer::And: return int64_t{-1};
    case Reducer::Add:
    case Reducer::Or:
    case Reducer::Xor: break;
  }
  return int64_t{0};
}

void fill_defaults(Window& window, size_t rank) {
  fill_default(window.window_strides, rank, int64_t{1});
  fill_default(window.base_dilations, rank, int64_t{1});
  fill_default(window.window_dilations, rank, int64_t{1});
  fill_default(window.padding_low, rank, Dim(0));
  fill_default(window.padding_high, rank, Dim(0));
}

}  // namespace

Body Builder::combine(Reducer reducer) {
  return [this, reducer](std::span<const Value> arguments) {
    if (reducer == Reducer::MaximumNan || reducer == Reducer::MinimumNan)
      return Values{extreme_nan(opcode_of(reducer), arguments[0], arguments[1])};
    return Values{elementwise(opcode_of(reducer), {arguments[0], arguments[1]})};
  };
}

Value Builder::extreme_nan(Opcode opcode, Value x, Value y) {
  Value plain = elementwise(opcode, {x, y});
  if (!plain.has_value() || !is_float(type(x).dtype)) return plain;
  // A number on the right, where the drop happens, is known not to be NaN: relu stays one instruction.
  auto number = splat_value(y);
  auto* known = number ? std::get_if<double>(&*number) : nullptr;
  if (known && *known == *known) return plain;
  plain = select(compare(y, y, ComparisonDirection::Ne), y, plain);
  return select(compare(x, x, ComparisonDirection::Ne), x, plain);
}

Value Builder::identity(Reducer reducer, DType dtype) {
  if (!has_identity(reducer, dtype))
    return fail(opcode_of(reducer),
                "no identity of element type " + std::string(info(dtype).stablehlo_name) + " exists");
  return splat(scalar(dtype), identity_of(reducer, dtype));
}

Values Builder::reduce(const Values& inputs, const Values& init_values, Ints dimensions, const Body& body) {
  Values operands = concat(inputs, init_values);
  if (poisoned(operands)) return Values(inputs.size());
  const RegionId reducer = region(elements_of(concat(inputs, inputs)), body);
  return many({.opcode = Opcode::Reduce,
               .operands = std::move(operands),
               .attributes = Dimensions{std::move(dimensions)},
               .regions = {reducer}},
              inputs.size());
}

Value Builder::reduce(Value input, Value init_value, Ints dimensions, Reducer reducer) {
  return reduce(Values{input}, Values{init_value}, std::move(dimensions), combine(reducer))[0];
}

Value Builder::reduce(Value input, Ints dimensions, Reducer reducer) {
  if (dimensions.empty() || !module_.contains(input)) return input;
  return reduce(input, identity(reducer, type(input).dtype), std::move(dimensions), reducer);
}

Values Builder::reduce_window(const Values& inputs, const Values& init_values, Window window, const Body& body) {
  Values operands = concat(inputs, init_values);
  if (poisoned(operands)) return Values(inputs.size());
  if (!inputs.empty()) fill_defaults(window, type(inputs[0]).rank());
  const RegionId reducer = region(elements_of(concat(inputs, inputs)), body);
  return many({.opcode = Opcode::ReduceWindow,
               .operands = std::move(operands),
               .attributes = std::move(window),
               .regions = {reducer}},
              inputs.size());
}

Value Builder::reduce_window(Value input, Value init_value, Window window, Reducer reducer) {
  return reduce_window(Values{input}, Values{init_value}, std::move(window), combine(reducer))[0];
}

Value Builder::reduce_window(Value input, Window window, Reducer reducer) {
  if (!module_.contains(input)) return {};
  return reduce_window(input, identity(reducer, type(input).dtype), std::move(window), reducer);
}

Value Builder::select_and_scatter(Value operand, Value source, Value init_value, SelectAndScatter attributes,
                                  const Predicate& select, const Body& scatter) {
  Values operands = {operand, source, init_value};
  if (poisoned(operands)) return {};
  const size_t rank = type(operand).rank();
  fill_default(attributes.window_strides, rank, int64_t{1});
  fill_default(attributes.padding_low, rank, int64_t{0});
  fill_default(attributes.padding_high, rank, int64_t{0});
  const std::vector<Type> arguments(2, scalar(type(operand).dtype));
  const RegionId first = region(arguments, [&](std::span<const Value> a) { return Values{select(a)}; });
  const RegionId second = region(arguments, scatter);
  return one({.opcode = Opcode::SelectAndScatter,
              .operands = std::move(operands),
              .attributes = std::move(attributes),
              .regions = {first, second}});
}

Value Builder::batch_norm_inference(Value operand, Value scale, Value offset, Value mean, Value variance, float epsilon,
                                    int64_t feature_index) {
  return one({.opcode = Opcode::BatchNormInference,
              .operands = {operand, scale, offset, mean, variance},
              .attributes = BatchNorm{epsilon, feature_index}});
}

}  // namespace torchlift::stablehlo
