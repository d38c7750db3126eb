// What single operations give on constants: integers and booleans by value, floats by moving whole elements and, where
// the rule allows it, by IEEE 754's arithmetic.
#include "stablehlo/fold.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace torchlift::stablehlo {
namespace {

// a OP b on integers that wrap; the result is cut to the width of the dtype later.
std::optional<int64_t> combine(Opcode opcode, int64_t a, int64_t b, bool is_unsigned) {
  const auto x = static_cast<uint64_t>(a);
  const auto y = static_cast<uint64_t>(b);
  const bool less = is_unsigned ? x < y : a < b;
  switch (opcode) {
    case Opcode::Add: return static_cast<int64_t>(x + y);
    case Opcode::Subtract: return static_cast<int64_t>(x - y);
    case Opcode::Multiply: return static_cast<int64_t>(x * y);
    case Opcode::Maximum: return less ? b : a;
    case Opcode::Minimum: return less ? a : b;
    case Opcode::And: return static_cast<int64_t>(x & y);
    case Opcode::Or: return static_cast<int64_t>(x | y);
    case Opcode::Xor: return static_cast<int64_t>(x ^ y);
    default: return std::nullopt;
  }
}

// Quotients and remainders are cut towards zero and powers wrap. Nothing where StableHLO leaves the result open.
std::optional<int64_t> divide_or_raise(Opcode opcode, int64_t a, int64_t b, DType dtype) {
  const auto x = static_cast<uint64_t>(a);
  const auto y = static_cast<uint64_t>(b);
  if (opcode == Opcode::Power) {
    if (!is_unsigned(dtype) && b < 0) return std::nullopt;
    uint64_t power = 1, base = x;
    for (uint64_t rest = y; rest > 0; rest >>= 1, base *= base)
      if (rest & 1) power *= base;
    return static_cast<int64_t>(power);
  }
  if (opcode != Opcode::Divide && opcode != Opcode::Remainder) return std::nullopt;
  if (b == 0) return std::nullopt;
  if (is_unsigned(dtype)) return static_cast<int64_t>(opcode == Opcode::Divide ? x / y : x % y);
  if (b == -1) return opcode == Opcode::Divide ? std::optional(static_cast<int64_t>(0 - x)) : std::optional<int64_t>(0);
  return opcode == Opcode::Divide ? a / b : a % b;
}

// In double, rounded once more to the type: for float32 and narrower that is the rounded result of the operation.
std::optional<double> combine_floats(Opcode opcode, double a, double b) {
  switch (opcode) {
    case Opcode::Add: return a + b;
    case Opcode::Subtract: return a - b;
    case Opcode::Multiply: return a * b;
    case Opcode::Divide: return a / b;
    case Opcode::Remainder: return std::fmod(a, b);
    case Opcode::Maximum:
      return std::isnan(a) || std::isnan(b) ? a + b : a == b ? (std::signbit(a) ? b : a) : std::max(a, b);
    case Opcode::Minimum:
      return std::isnan(a) || std::isnan(b) ? a + b : a == b ? (std::signbit(a) ? a : b) : std::min(a, b);
    default: return std::nullopt;
  }
}

std::optional<Bytes> fold_floats(Opcode opcode, const Elements& a, const Elements& b, size_t count) {
  if (info(a.type.dtype).bytes < 2) return std::nullopt;
  Bytes out;
  for (size_t i = 0; i < count; ++i) {
    auto value = combine_floats(opcode, a.real(i), b.real(i));
    if (!value) return std::nullopt;
    append_element(out, a.type.dtype, *value);
  }
  return out;
}

// Booleans add as `or` and multiply as `and`, which cutting to non-zero gives.
std::optional<Bytes> fold_binary(Opcode opcode, const Elements& a, const Elements& b, size_t count, FoldRule rule) {
  if (is_float(a.type.dtype) && rule == FoldRule::All) return fold_floats(opcode, a, b, count);
  if (!is_integral(a.type.dtype)) return std::nullopt;
  Bytes out;
  for (size_t i = 0; i < count; ++i) {
    auto value = combine(opcode, a.integer(i), b.integer(i), is_unsigned(a.type.dtype));
    if (!value && rule == FoldRule::All && !is_bool(a.type.dtype))
      value = divide_or_raise(opcode, a.integer(i), b.integer(i), a.type.dtype);
    if (!value) return std::nullopt;
    append_element(out, a.type.dtype, *value);
  }
  return out;
}

bool holds(ComparisonDirection direction, bool equal, bool less) {
  switch (direction) {
    case ComparisonDirection::Eq: return equal;
    case ComparisonDirection::Ne: return !equal;
    case ComparisonDirection::Lt: return less;
    case ComparisonDirection::Le: return less || equal;
    case ComparisonDirection::Gt: return !less && !equal;
    case ComparisonDirection::Ge: return !less;
  }
  return false;
}

// IEEE 754: with a NaN only `ne` holds.
bool holds(ComparisonDirection direction, double x, double y) {
  switch (direction) {
    case ComparisonDirection::Eq: return x == y;
    case ComparisonDirection::Ne: return x != y;
    case ComparisonDirection::Lt: return x < y;
    case ComparisonDirection::Le: return x <= y;
    case ComparisonDirection::Gt: return x > y;
    case ComparisonDirection::Ge: return x >= y;
  }
  return false;
}

std::optional<Bytes> fold_compare(const Compare& compare, const Elements& a, const Elements& b, size_t count,
                                  FoldRule rule) {
  const bool floats = is_float(a.type.dtype) && rule == FoldRule::All && compare.type != ComparisonType::TotalOrder;
  if (!is_integral(a.type.dtype) && !floats) return std::nullopt;
  Bytes out;
  for (size_t i = 0; i < count; ++i) {
    if (floats) {
      append_element(out, DType::Bool, holds(compare.direction, a.real(i), b.real(i)));
      continue;
    }
    const int64_t x = a.integer(i);
    const int64_t y = b.integer(i);
    const bool less = is_unsigned(a.type.dtype) ? static_cast<uint64_t>(x) < static_cast<uint64_t>(y) : x < y;
    append_element(out, DType::Bool, holds(compare.direction, x == y, less));
  }
  return out;
}

Bytes fold_select(const Elements& pred, const Elements& on_true, const Elements& on_false, size_t count) {
  Bytes out;
  for (size_t i = 0; i < count; ++i) {
    const size_t p = pred.bytes.size() == 1 ? 0 : i;
    const auto chosen = pred.integer(p) != 0 ? on_true.at(i) : on_false.at(i);
    out.insert(out.end(), chosen.begin(), chosen.end());
  }
  return out;
}

std::optional<double> unary_float(Opcode opcode, double x) {
  switch (opcode) {
    case Opcode::Abs: return std::fabs(x);
    case Opcode::Ceil: return std::ceil(x);
    case Opcode::Floor: return std::floor(x);
    case Opcode::Negate: return -x;
    case Opcode::RoundNearestAfz: return std::round(x);
    case Opcode::RoundNearestEven: return std::nearbyint(x);
    case Opcode::Sign: return std::isnan(x) || x == 0 ? x : std::copysign(1.0, x);
    case Opcode::Sqrt: return std::sqrt(x);
    default: return std::nullopt;
  }
}

std::optional<Bytes> fold_unary_float(Opcode opcode, const Elements& a, size_t count) {
  Bytes out;
  for (size_t i = 0; i < count; ++i) {
    if (opcode == Opcode::IsFinite) {
      append_element(out, DType::Bool, std::isfinite(a.real(i)));
      continue;
    }
    auto value = unary_float(opcode, a.real(i));
    if (!value) return std::nullopt;
    append_element(out, a.type.dtype, *value);
  }
  return out;
}

std::optional<Bytes> fold_unary(Opcode opcode, const Elements& a, size_t count, FoldRule rule) {
  if (is_float(a.type.dtype) && rule == FoldRule::All) return fold_unary_float(opcode, a, count);
  if (!is_integral(a.type.dtype)) return std::nullopt;
  Bytes out;
  for (size_t i = 0; i < count; ++i) {
    const auto x = static_cast<uint64_t>(a.integer(i));
    const bool negative = !is_unsigned(a.type.dtype) && a.integer(i) < 0;
    if (opcode == Opcode::Negate) append_element(out, a.type.dtype, static_cast<int64_t>(0 - x));
    else if (opcode == Opcode::Abs) append_element(out, a.type.dtype, static_cast<int64_t>(negative ? 0 - x : x));
    else if (opcode == Opcode::Sign) append_element(out, a.type.dtype, int64_t{negative ? -1 : x != 0});
    else if (opcode != Opcode::Not) return std::nullopt;
    else
      append_element(out, a.type.dtype,
                     is_bool(a.type.dtype) ? static_cast<int64_t>(x == 0) : static_cast<int64_t>(~x));
  }
  return out;
}

// A float becomes another float, rounded once, or an integer that holds it once it is cut; to bool by comparison.
std::optional<Bytes> fold_convert_float(const Elements& a, DType to, size_t count) {
  if (is_complex(to) || (is_float(to) && info(to).bytes < 2)) return std::nullopt;
  Bytes out;
  for (size_t i = 0; i < count; ++i) {
    const double value = a.real(i);
    if (is_integer(to)) {
      // StableHLO leaves open what comes of a number that does not fit.
      const int bits = static_cast<int>(info(to).bytes) * 8 - (is_unsigned(to) ? 0 : 1);
      const double cut = std::trunc(value);
      const double low = is_unsigned(to) ? 0.0 : -std::ldexp(1.0, bits);
      if (!(cut >= low && cut < std::ldexp(1.0, bits))) return std::nullopt;
    }
    append_element(out, to, value);
  }
  return out;
}

// From integers they wrap in narrower integers and round to the nearest float, everywhere.
std::optional<Bytes> fold_convert(const Elements& a, DType to, size_t count, FoldRule rule) {
  if (is_float(a.type.dtype) && rule == FoldRule::All) return fold_convert_float(a, to, count);
  if (!is_integral(a.type.dtype) || a.type.dtype == DType::UInt64) return std::nullopt;
  if (!is_integral(to) && !is_complex(to) && info(to).bytes < 2) return std::nullopt;
  Bytes out;
  for (size_t i = 0; i < count; ++i) append_element(out, to, a.integer(i));
  return out;
}

// ---- moving elements: the result's coordinates, last dimension fastest

class Coordinates {
 public:
  explicit Coordinates(const Dims& dims) : sizes_(concrete(dims)), at_(dims.size(), 0) {}
  int64_t operator[](size_t d) const { return at_[d]; }
  void next() {
    for (size_t d = at_.size(); d-- > 0;) {
      if (++at_[d] < sizes_[d]) return;
      at_[d] = 0;
    }
  }

 private:
  Ints sizes_;
  Ints at_;
};

void append_at(Bytes& out, const Elements& from, const Ints& coordinates) {
  size_t index = 0;
  for (size_t d = 0; d < coordinates.size(); ++d)
    index = index * static_cast<size_t>(from.type.dims[d].concrete()) + static_cast<size_t>(coordinates[d]);
  const auto element = from.at(index);
  out.insert(out.end(), element.begin(), element.end());
}

Bytes fold_broadcast(const BroadcastInDim& attributes, const Elements& a, const Type& result, size_t count) {
  Bytes out;
  Coordinates at(result.dims);
  for (size_t i = 0; i < count; ++i, at.next()) {
    Ints from;
    for (size_t d = 0; d < a.type.rank(); ++d)
      from.push_back(a.type.dims[d] == Dim(1) ? 0 : at[static_cast<size_t>(attributes.broadcast_dimensions[d])]);
    append_at(out, a, from);
  }
  return out;
}

Bytes fold_slice(const Slice& slice, const Elements& a, const Type& result, size_t count) {
  Bytes out;
  Coordinates at(result.dims);
  for (size_t i = 0; i < count; ++i, at.next()) {
    Ints from;
    for (size_t d = 0; d < result.rank(); ++d)
      from.push_back(slice.start_indices[d].concrete() + at[d] * slice.strides[d]);
    append_at(out, a, from);
  }
  return out;
}

Bytes fold_concatenate(int64_t dimension, const std::vector<Elements>& inputs, const Type& result, size_t count) {
  Bytes out;
  const size_t along = static_cast<size_t>(dimension);
  Coordinates at(result.dims);
  for (size_t i = 0; i < count; ++i, at.next()) {
    Ints from;
    for (size_t d = 0; d < result.rank(); ++d) from.push_back(at[d]);
    size_t input = 0;
    while (from[along] >= inputs[input].type.dims[along].concrete())
      from[along] -= inputs[input++].type.dims[along].concrete();
    append_at(out, inputs[input], from);
  }
  return out;
}

Bytes fold_transpose(const Transpose& transpose, const Elements& a, const Type& result, size_t count) {
  Bytes out;
  Coordinates at(result.dims);
  for (size_t i = 0; i < count; ++i, at.next()) {
    Ints from(result.rank());
    for (size_t d = 0; d < result.rank(); ++d) from[static_cast<size_t>(transpose.permutation[d])] = at[d];
    append_at(out, a, from);
  }
  return out;
}

Bytes fold_iota(int64_t dimension, const Type& result, size_t count) {
  Bytes out;
  Coordinates at(result.dims);
  for (size_t i = 0; i < count; ++i, at.next()) append_element(out, result.dtype, at[static_cast<size_t>(dimension)]);
  return out;
}

// Whether the result of a reduction follows from its elements in any order: sums and products of floats are left open.
bool is_order_free(const Module& module, const Region& body) {
  return std::all_of(body.insts.begin(), body.insts.end(), [&](InstId id) {
    const Inst& inst = module.at(id);
    switch (inst.opcode) {
      case Opcode::Compare:
      case Opcode::Maximum:
      case Opcode::Minimum:
      case Opcode::Select: return true;
      default:
        return inst.regions.empty() && inst.results.size() == 1 && is_integral(module.type(inst.results[0]).dtype);
    }
  });
}

// The results of a region of scalars for these arguments.
std::optional<std::vector<Bytes>> fold_region(const Module& module, const Region& body,
                                              std::vector<Elements> arguments) {
  std::vector<std::pair<Value, Elements>> values;
  for (size_t i = 0; i < arguments.size(); ++i) values.emplace_back(body.arguments[i], std::move(arguments[i]));
  auto find = [&](Value v) -> std::optional<Elements> {
    for (const auto& [value, elements] : values)
      if (value == v) return elements;
    const Constant* constant = module.constant(v);
    return constant ? std::optional<Elements>({module.type(v), constant->bytes}) : std::nullopt;
  };
  for (InstId id : body.insts) {
    const Inst& inst = module.at(id);
    std::vector<Elements> operands;
    for (Value v : inst.operands) {
      auto elements = find(v);
      if (!elements) return std::nullopt;
      operands.push_back(std::move(*elements));
    }
    if (inst.opcode == Opcode::Constant) continue;
    const Type& type = module.type(inst.results[0]);
    auto bytes = fold(module, inst, operands, type, 1, FoldRule::All);
    if (!bytes) return std::nullopt;
    values.emplace_back(inst.results[0], Elements{type, std::move(*bytes)});
  }
  std::vector<Bytes> out;
  for (Value v : body.results) {
    auto elements = find(v);
    if (!elements) return std::nullopt;
    out.push_back(std::move(elements->bytes));
  }
  return out;
}

// One of its results: inputs, then their initial values.
std::optional<Bytes> fold_reduce(const Module& module, const Inst& inst, const std::vector<Elements>& operands,
                                 size_t number, size_t count) {
  const size_t n = inst.results.size();
  if (inst.regions.size() != 1 || operands.size() != 2 * n) return std::nullopt;
  const Region& body = module.at(inst.regions[0]);
  if (body.arguments.size() != 2 * n || body.results.size() != n || !is_order_free(module, body)) return std::nullopt;
  const Ints& reduced = module.get<Dimensions>(inst).dimensions;
  std::vector<std::vector<Elements>> sums(count);
  for (auto& sum : sums) sum.assign(operands.begin() + static_cast<std::ptrdiff_t>(n), operands.end());
  const Type& in = operands[0].type;
  Coordinates at(in.dims);
  const auto elements = static_cast<size_t>(element_count(in).value_or(0));
  for (size_t i = 0; i < elements; ++i, at.next()) {
    size_t into = 0;
    for (size_t d = 0; d < in.rank(); ++d)
      if (std::find(reduced.begin(), reduced.end(), static_cast<int64_t>(d)) == reduced.end())
        into = into * static_cast<size_t>(in.dims[d].concrete()) + static_cast<size_t>(at[d]);
    std::vector<Elements> arguments = sums[into];
    for (size_t k = 0; k < n; ++k) {
      auto element = operands[k].at(i);
      arguments.push_back({sums[into][k].type, Bytes(element.begin(), element.end())});
    }
    auto combined = fold_region(module, body, std::move(arguments));
    if (!combined) return std::nullopt;
    for (size_t k = 0; k < n; ++k) sums[into][k].bytes = std::move((*combined)[k]);
  }
  Bytes out;
  for (const auto& sum : sums) out.insert(out.end(), sum[number].bytes.begin(), sum[number].bytes.end());
  return out;
}

Bytes fold_clamp(const std::vector<Elements>& operands, size_t count) {
  auto less = [&](const Elements& a, size_t i, const Elements& b, size_t j) {
    if (is_float(a.type.dtype)) return a.real(i) < b.real(j);
    return is_unsigned(a.type.dtype) ? static_cast<uint64_t>(a.integer(i)) < static_cast<uint64_t>(b.integer(j))
                                     : a.integer(i) < b.integer(j);
  };
  const auto& [low, x, high] = std::tie(operands[0], operands[1], operands[2]);
  Bytes out;
  for (size_t i = 0; i < count; ++i) {
    const size_t l = low.bytes.size() == low.width() ? 0 : i;
    const size_t h = high.bytes.size() == high.width() ? 0 : i;
    auto chosen = less(x, i, low, l) ? low.at(l) : x.at(i);
    if (less(high, h, x, i)) chosen = high.at(h);
    out.insert(out.end(), chosen.begin(), chosen.end());
  }
  return out;
}

std::optional<Bytes> fold_more(const Module& module, const Inst& inst, const std::vector<Elements>& all,
                               const Type& result, size_t count, size_t number) {
  switch (inst.opcode) {
    case Opcode::Abs:
    case Opcode::Ceil:
    case Opcode::Floor:
    case Opcode::IsFinite:
    case Opcode::RoundNearestAfz:
    case Opcode::RoundNearestEven:
    case Opcode::Sign:
    case Opcode::Sqrt: return fold_unary(inst.opcode, all[0], count, FoldRule::All);
    case Opcode::Divide:
    case Opcode::Power:
    case Opcode::Remainder: return fold_binary(inst.opcode, all[0], all[1], count, FoldRule::All);
    case Opcode::Clamp:
      if (is_complex(all[1].type.dtype) || is_bool(all[1].type.dtype)) return std::nullopt;
      return fold_clamp(all, count);
    case Opcode::Transpose: return fold_transpose(module.get<Transpose>(inst), all[0], result, count);
    case Opcode::Reduce: return fold_reduce(module, inst, all, number, count);
    case Opcode::Iota:
      if (is_complex(result.dtype) || info(result.dtype).bytes < 2) return std::nullopt;
      return fold_iota(module.get<Dimension>(inst).dimension, result, count);
    default: return std::nullopt;
  }
}

}  // namespace

bool is_elementwise(Opcode opcode) {
  return !info(opcode).elements.empty() || opcode == Opcode::Compare || opcode == Opcode::Select ||
         opcode == Opcode::Convert;
}

std::optional<Bytes> fold(const Module& module, const Inst& inst, const std::vector<Elements>& all, const Type& result,
                          size_t count, FoldRule rule, size_t number) {
  switch (inst.opcode) {
    case Opcode::Negate:
    case Opcode::Not: return fold_unary(inst.opcode, all[0], count, rule);
    case Opcode::Add:
    case Opcode::And:
    case Opcode::Maximum:
    case Opcode::Minimum:
    case Opcode::Multiply:
    case Opcode::Or:
    case Opcode::Subtract:
    case Opcode::Xor: return fold_binary(inst.opcode, all[0], all[1], count, rule);
    case Opcode::Compare: return fold_compare(module.get<Compare>(inst), all[0], all[1], count, rule);
    case Opcode::Select: return fold_select(all[0], all[1], all[2], count);
    case Opcode::Convert: return fold_convert(all[0], result.dtype, count, rule);
    case Opcode::Reshape: return all[0].bytes;
    case Opcode::BroadcastInDim: return fold_broadcast(module.get<BroadcastInDim>(inst), all[0], result, count);
    case Opcode::Slice: return fold_slice(module.get<Slice>(inst), all[0], result, count);
    case Opcode::Concatenate: return fold_concatenate(module.get<Dimension>(inst).dimension, all, result, count);
    default: return rule == FoldRule::All ? fold_more(module, inst, all, result, count, number) : std::nullopt;
  }
}

}  // namespace torchlift::stablehlo
