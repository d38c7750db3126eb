// Computes on constants: integers and booleans by value, everything else only by moving whole elements.
#include <algorithm>
#include <optional>

#include "stablehlo/constant.hpp"
#include "stablehlo/element.hpp"
#include "stablehlo/passes.hpp"

namespace torchlift::stablehlo {
namespace {

using Bytes = std::vector<std::byte>;

// The elements of an operand or result, written out, or one element that stands for all.
struct Elements {
  Type type;
  Bytes bytes;

  size_t width() const { return static_cast<size_t>(info(type.dtype).bytes); }
  std::span<const std::byte> at(size_t i) const { return std::span(bytes).subspan(i * width(), width()); }
  int64_t integer(size_t i) const {
    const Number n = read_element(type.dtype, at(i));
    return is_bool(type.dtype) ? static_cast<int64_t>(std::get<bool>(n)) : std::get<int64_t>(n);
  }
};

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

// Booleans add as `or` and multiply as `and`, which cutting to non-zero gives.
std::optional<Bytes> fold_binary(Opcode opcode, const Elements& a, const Elements& b, size_t count) {
  if (!is_integral(a.type.dtype)) return std::nullopt;
  Bytes out;
  for (size_t i = 0; i < count; ++i) {
    auto value = combine(opcode, a.integer(i), b.integer(i), is_unsigned(a.type.dtype));
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

std::optional<Bytes> fold_compare(const Compare& compare, const Elements& a, const Elements& b, size_t count) {
  if (!is_integral(a.type.dtype)) return std::nullopt;
  Bytes out;
  for (size_t i = 0; i < count; ++i) {
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

std::optional<Bytes> fold_unary(Opcode opcode, const Elements& a, size_t count) {
  if (!is_integral(a.type.dtype)) return std::nullopt;
  Bytes out;
  for (size_t i = 0; i < count; ++i) {
    const auto x = static_cast<uint64_t>(a.integer(i));
    if (opcode == Opcode::Negate) append_element(out, a.type.dtype, static_cast<int64_t>(0 - x));
    else
      append_element(out, a.type.dtype,
                     is_bool(a.type.dtype) ? static_cast<int64_t>(x == 0) : static_cast<int64_t>(~x));
  }
  return out;
}

// From integers only: they wrap in narrower integers and round to the nearest float, everywhere.
std::optional<Bytes> fold_convert(const Elements& a, DType to, size_t count) {
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

// ---- the walk

bool is_elementwise(Opcode opcode) {
  return !info(opcode).elements.empty() || opcode == Opcode::Compare || opcode == Opcode::Select ||
         opcode == Opcode::Convert;
}

class Folder {
 public:
  explicit Folder(Module& module) : module_(module) {}

  void run() {
    for (const Function& f : module_.functions) region(f.body);
  }

 private:
  void region(RegionId id) {
    for (InstId inst_id : module_.at(id).insts) {
      for (RegionId r : module_.at(inst_id).regions) region(r);
      if (auto constant = fold(module_.at(inst_id))) become(module_.at(inst_id), std::move(*constant));
    }
  }

  void become(Inst& inst, Constant constant) {
    inst.opcode = Opcode::Constant;
    inst.operands.clear();
    inst.attributes = AttributesId(module_.attributes.size());
    module_.attributes.emplace_back(std::move(constant));
  }

  // The operands' elements; nothing if one is no constant or too large.
  std::optional<std::vector<Elements>> operands(const Inst& inst, bool& all_splat) const {
    std::vector<Elements> out;
    all_splat = true;
    for (Value v : inst.operands) {
      const Constant* constant = module_.constant(v);
      if (!constant || element_count(module_.type(v)).value_or(0) == 0) return std::nullopt;
      out.push_back({module_.type(v), constant->bytes});
      all_splat &= is_splat(module_.type(v), *constant);
    }
    if (all_splat && is_elementwise(inst.opcode)) return out;
    for (Elements& e : out) {
      if (element_count(e.type).value_or(0) > kMaxFoldedElements) return std::nullopt;
      e.bytes = unpacked(e.type, {std::move(e.bytes)});
    }
    all_splat = false;
    return out;
  }

  std::optional<Constant> fold(const Inst& inst) const {
    if (inst.operands.empty() || inst.results.size() != 1 || !inst.regions.empty()) return std::nullopt;
    const Type& result = module_.type(inst.results[0]);
    bool all_splat = false;
    auto all = operands(inst, all_splat);
    if (!all) return std::nullopt;
    const int64_t count = all_splat ? 1 : element_count(result).value_or(0);
    if (count < 1 || count > kMaxFoldedElements || element_count(result) == std::optional<int64_t>(0))
      return std::nullopt;
    auto bytes = compute(inst, *all, result, static_cast<size_t>(count));
    if (!bytes) return std::nullopt;
    return all_splat ? Constant{std::move(*bytes)} : packed(result, std::move(*bytes));
  }

  std::optional<Bytes> compute(const Inst& inst, const std::vector<Elements>& all, const Type& result,
                               size_t count) const {
    switch (inst.opcode) {
      case Opcode::Negate:
      case Opcode::Not: return fold_unary(inst.opcode, all[0], count);
      case Opcode::Add:
      case Opcode::And:
      case Opcode::Maximum:
      case Opcode::Minimum:
      case Opcode::Multiply:
      case Opcode::Or:
      case Opcode::Subtract:
      case Opcode::Xor: return fold_binary(inst.opcode, all[0], all[1], count);
      case Opcode::Compare: return fold_compare(module_.get<Compare>(inst), all[0], all[1], count);
      case Opcode::Select: return fold_select(all[0], all[1], all[2], count);
      case Opcode::Convert: return fold_convert(all[0], result.dtype, count);
      case Opcode::Reshape: return all[0].bytes;
      case Opcode::BroadcastInDim: return fold_broadcast(module_.get<BroadcastInDim>(inst), all[0], result, count);
      case Opcode::Slice: return fold_slice(module_.get<Slice>(inst), all[0], result, count);
      case Opcode::Concatenate: return fold_concatenate(module_.get<Dimension>(inst).dimension, all, result, count);
      default: return std::nullopt;
    }
  }

  Module& module_;
};

}  // namespace

void fold_constants(Module& module) { Folder(module).run(); }

}  // namespace torchlift::stablehlo
