// Builds a Module, one method per operation of the StableHLO specification. Every method infers the type of its result
// from its operands, carrying the expressions of sizes along, and checks the specification's constraints.
//
// Poison: a value without an id. An operation with a poisoned operand, or whose region hands back poison, is poison
// itself, in silence. An operation that breaks a constraint records a Failure and is poison. No method fails in another
// way, on any input: sizes come from files.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stablehlo/element.hpp"
#include "stablehlo/module.hpp"

namespace torchlift::stablehlo {

struct Failure {
  Opcode opcode{};
  std::string message;  // the rule with its label in the specification: "(C1) operand has 3 dimensions, permutation 2"
  std::string got;      // "tensor<8x3xf32>, tensor<2xi64>"
  Location location;
};

// A combiner of two scalars with an identity. MaximumNan and MinimumNan are Maximum and Minimum, written out so that
// NaN wins also on plugins whose maximum and minimum drop a NaN on one side (XLA's CPU back end does by default); they
// cost a compare and are for results in which NaN must show.
enum class Reducer : uint8_t { Add, Multiply, Maximum, Minimum, MaximumNan, MinimumNan, And, Or, Xor };

// Regions. A body gets the region's arguments and hands back its results; it builds with the same Builder.
using Body = std::function<Values(std::span<const Value> arguments)>;
using Predicate = std::function<Value(std::span<const Value> arguments)>;
using Branch = std::function<Values()>;

class Builder {
 public:
  // Builds into `main` of the module, which is created if it is missing. The module must outlive the builder.
  explicit Builder(Module& module);

  // ---- state
  const Module& module() const { return module_; }
  // The type of a value; of poison, f32 with kMaxRank axes of size 1, so that no axis a caller may ask for is missing.
  const Type& type(Value v) const;
  // Known to be one element everywhere: the number.
  std::optional<Number> splat_value(Value v) const;
  // Later instructions carry this location.
  void set_location(const Location& location);
  const std::vector<Failure>& failures() const { return failures_; }
  // For tests: operation n, counted from 0 as they are asked for, fails.
  void fail_operation(size_t n) { fail_at_ = n; }
  size_t operations() const { return operations_; }  // asked for so far
  // Records a failure from outside (a lowering's own refusal); returns poison.
  Value fail(Opcode opcode, std::string message, const Values& operands = {});

  // ---- functions
  // A new last argument of main.
  Value argument(Type type, Argument argument = {});
  // The results of main, with optional names. The last call counts.
  void set_results(Values results, std::vector<std::string> names = {});
  // A helper, built at once; no values of other functions may be used in it. Without id if its body is poison.
  FunctionId function(std::string name, const std::vector<Type>& arguments, const Body& body);
  // A callee without id gives no results.
  Values call(FunctionId callee, const Values& operands);
  // `decomposition` maps the operands' types to the results' types.
  Values composite(const Values& operands, Composite attributes);

  // ---- constants (builder_constants.cpp)
  // Elements as in `Constant`; a splat is recognised.
  Value constant(Type type, std::vector<std::byte> bytes);
  // One element everywhere, converted as append_element says.
  Value splat(Type type, const Number& value);
  Value splat_int(Type type, int64_t value) { return splat(std::move(type), Number(value)); }
  Value splat_float(Type type, double value) { return splat(std::move(type), Number(value)); }
  Value splat_complex(Type type, std::complex<double> value) { return splat(std::move(type), Number(value)); }
  Value splat_bool(Type type, bool value) { return splat(std::move(type), Number(value)); }
  // Row-major integers, converted to the dtype.
  Value constant_ints(DType dtype, const Ints& values, Dims dims);
  Value constant_ints(DType dtype, const Ints& values);  // rank 1
  // The reducer's identity, rank 0: 0, 1, -inf or the minimum, +inf or the maximum, all ones, 0, 0.
  Value identity(Reducer reducer, DType dtype);
  // A placeholder of that type; the verifier refuses modules that contain one.
  Value undefined(Type type);

  // ---- elementwise, one operand
  Value abs(Value x) { return elementwise(Opcode::Abs, {x}); }
  Value cbrt(Value x) { return elementwise(Opcode::Cbrt, {x}); }
  Value ceil(Value x) { return elementwise(Opcode::Ceil, {x}); }
  Value cosine(Value x) { return elementwise(Opcode::Cosine, {x}); }
  Value count_leading_zeros(Value x) { return elementwise(Opcode::CountLeadingZeros, {x}); }
  Value exponential(Value x) { return elementwise(Opcode::Exponential, {x}); }
  Value exponential_minus_one(Value x) { return elementwise(Opcode::ExponentialMinusOne, {x}); }
  Value floor(Value x) { return elementwise(Opcode::Floor, {x}); }
  Value imag(Value x) { return elementwise(Opcode::Imag, {x}); }
  Value is_finite(Value x) { return elementwise(Opcode::IsFinite, {x}); }
  Value log(Value x) { return elementwise(Opcode::Log, {x}); }
  Value log_plus_one(Value x) { return elementwise(Opcode::LogPlusOne, {x}); }
  Value logistic(Value x) { return elementwise(Opcode::Logistic, {x}); }
  Value negate(Value x) { return elementwise(Opcode::Negate, {x}); }
  Value not_(Value x) { return elementwise(Opcode::Not, {x}); }
  Value popcnt(Value x) { return elementwise(Opcode::Popcnt, {x}); }
  Value real(Value x) { return elementwise(Opcode::Real, {x}); }
  Value round_nearest_afz(Value x) { return elementwise(Opcode::RoundNearestAfz, {x}); }
  Value round_nearest_even(Value x) { return elementwise(Opcode::RoundNearestEven, {x}); }
  Value rsqrt(Value x) { return elementwise(Opcode::Rsqrt, {x}); }
  Value sign(Value x) { return elementwise(Opcode::Sign, {x}); }
  Value sine(Value x) { return elementwise(Opcode::Sine, {x}); }
  Value sqrt(Value x) { return elementwise(Opcode::Sqrt, {x}); }
  Value tan(Value x) { return elementwise(Opcode::Tan, {x}); }
  Value tanh(Value x) { return elementwise(Opcode::Tanh, {x}); }
  // ---- elementwise, two operands of one type
  Value add(Value x, Value y) { return elementwise(Opcode::Add, {x, y}); }
  Value and_(Value x, Value y) { return elementwise(Opcode::And, {x, y}); }
  Value atan2(Value y, Value x) { return elementwise(Opcode::Atan2, {y, x}); }
  Value complex(Value re, Value im) { return elementwise(Opcode::Complex, {re, im}); }
  Value divide(Value x, Value y) { return elementwise(Opcode::Divide, {x, y}); }
  Value maximum(Value x, Value y) { return elementwise(Opcode::Maximum, {x, y}); }
  Value minimum(Value x, Value y) { return elementwise(Opcode::Minimum, {x, y}); }
  Value multiply(Value x, Value y) { return elementwise(Opcode::Multiply, {x, y}); }
  Value or_(Value x, Value y) { return elementwise(Opcode::Or, {x, y}); }
  Value power(Value base, Value exponent) { return elementwise(Opcode::Power, {base, exponent}); }
  Value remainder(Value x, Value y) { return elementwise(Opcode::Remainder, {x, y}); }
  Value shift_left(Value x, Value bits) { return elementwise(Opcode::ShiftLeft, {x, bits}); }
  Value shift_right_arithmetic(Value x, Value bits) { return elementwise(Opcode::ShiftRightArithmetic, {x, bits}); }
  Value shift_right_logical(Value x, Value bits) { return elementwise(Opcode::ShiftRightLogical, {x, bits}); }
  Value subtract(Value x, Value y) { return elementwise(Opcode::Subtract, {x, y}); }
  Value xor_(Value x, Value y) { return elementwise(Opcode::Xor, {x, y}); }
  // As the reducers MaximumNan and MinimumNan: NaN wins everywhere.
  Value maximum_nan(Value x, Value y) { return extreme_nan(Opcode::Maximum, x, y); }
  Value minimum_nan(Value x, Value y) { return extreme_nan(Opcode::Minimum, x, y); }
  // The same by opcode, for tables.
  Value elementwise(Opcode opcode, Values operands);
  // ---- elementwise, other (builder_elementwise.cpp)
  Value clamp(Value min, Value operand, Value max);  // min and max may have rank 0
  Value compare(Value lhs, Value rhs, ComparisonDirection direction, ComparisonType type = ComparisonType::None);
  Value select(Value pred, Value on_true, Value on_false);  // pred may have rank 0
  Value convert(Value operand, DType dtype);
  // Between widths, a last dimension holds the parts.
  Value bitcast_convert(Value operand, DType dtype);
  Value reduce_precision(Value operand, int64_t exponent_bits, int64_t mantissa_bits);

  // ---- shape (builder_shape.cpp). What changes nothing emits nothing.
  Value broadcast_in_dim(Value operand, Dims result, Ints broadcast_dimensions);
  Value concatenate(const Values& inputs, int64_t dimension);
  Value iota(Type result, int64_t dimension);
  Value pad(Value operand, Value padding_value, Dims low, Dims high, Ints interior = {});
  Value reshape(Value operand, Dims result);
  Value reverse(Value operand, Ints dimensions);
  Value slice(Value operand, Dims start_indices, Dims limit_indices, Ints strides = {});
  Value transpose(Value operand, Ints permutation);
  Value dynamic_slice(Value operand, const Values& start_indices, Dims slice_sizes);
  Value dynamic_update_slice(Value operand, Value update, const Values& start_indices);
  Value gather(Value operand, Value start_indices, Gather attributes);
  // The body's arguments: what is there, then the update, for each input in turn: (old..., update...).
  Values scatter(const Values& inputs, Value scatter_indices, const Values& updates, Scatter attributes,
                 const Body& update_computation);
  Value scatter(Value input, Value scatter_indices, Value updates, Scatter attributes, Reducer reducer);
  Value scatter_replace(Value input, Value scatter_indices, Value updates, Scatter attributes);
  // The comparator's arguments: lhs and rhs of each input in turn; rank 0, result i1.
  Values sort(const Values& inputs, int64_t dimension, bool is_stable, const Predicate& comparator);

  // ---- reductions and windows (builder_reduce.cpp)
  // The body's arguments: all accumulators, then all elements; rank 0.
  Values reduce(const Values& inputs, const Values& init_values, Ints dimensions, const Body& body);
  Value reduce(Value input, Value init_value, Ints dimensions, Reducer reducer);
  Value reduce(Value input, Ints dimensions, Reducer reducer);  // from the identity
  Values reduce_window(const Values& inputs, const Values& init_values, Window window, const Body& body);
  Value reduce_window(Value input, Value init_value, Window window, Reducer reducer);
  Value reduce_window(Value input, Window window, Reducer reducer);  // from the identity
  // `select` gets two elements of the operand, `scatter` the accumulator and a source element.
  Value select_and_scatter(Value operand, Value source, Value init_value, SelectAndScatter attributes,
                           const Predicate& select, const Body& scatter);
  Value batch_norm_inference(Value operand, Value scale, Value offset, Value mean, Value variance, float epsilon,
                             int64_t feature_index);

  // ---- contractions (builder_linear.cpp)
  // Result dimensions: batch, lhs free, rhs free. The result's element type is that of lhs unless given.
  Value dot_general(Value lhs, Value rhs, DotGeneral attributes, std::optional<DType> result = std::nullopt);
  Value convolution(Value lhs, Value rhs, Convolution attributes, std::optional<DType> result = std::nullopt);
  Value cholesky(Value a, bool lower);
  Value triangular_solve(Value a, Value b, TriangularSolve attributes);
  Value fft(Value operand, FftType type, Dims length);

  // ---- control (builder_control.cpp). These regions may use outer values.
  Values while_(const Values& inits, const Predicate& cond, const Body& body);
  // An index out of range takes the last branch.
  Values case_(Value index, const std::vector<Branch>& branches);
  Values if_(Value pred, const Branch& true_branch, const Branch& false_branch);
  Values optimization_barrier(const Values& operands);
  Values custom_call(const Values& operands, const std::vector<Type>& results, CustomCall attributes);
  // (new state, bits): state is u64[2], or u64[3] for some algorithms; `result` is the type of the bits.
  Values rng_bit_generator(Value initial_state, RngAlgorithm algorithm, Type result);

 private:
  struct Draft;  // an operation about to be added

  // Types of the results; nothing where an operand or a region is poison, or a constraint is broken, which is recorded.
  std::optional<std::vector<Type>> check(const Draft& draft);
  // Adds an operation that passes; poison where it does not.
  Value one(Draft draft);
  Values many(Draft draft, size_t results);
  void record(const Draft& draft, std::string problem);
  bool poisoned(const Values& operands) const;
  InstId append(Draft draft, std::vector<Type> types);
  // The value itself, which now also knows where these sizes come from.
  Value unchanged(Value v, const Dims& dims);
  // A region around `body`; without id if its results are poison.
  RegionId region(const std::vector<Type>& arguments, const Body& body);
  Body combine(Reducer reducer);
  Value extreme_nan(Opcode opcode, Value x, Value y);
  Values branches(Opcode opcode, Value operand, std::span<const Branch> all);
  std::vector<Type> elements_of(const Values& values) const;

  Module& module_;
  RegionId current_;
  LocId location_;
  size_t depth_ = 0;
  size_t operations_ = 0;
  std::optional<size_t> fail_at_;
  std::map<Location, LocId> locations_;
  std::vector<Failure> failures_;
};

}  // namespace torchlift::stablehlo
