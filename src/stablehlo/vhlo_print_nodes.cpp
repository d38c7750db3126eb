#include "stablehlo/vhlo_print_nodes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/text.hpp"
#include "stablehlo/print_attributes.hpp"
#include "stablehlo/type.hpp"

namespace torchlift::stablehlo::vhlo {
namespace {

constexpr size_t kHexElements = 32;  // tensors of more are printed as raw bytes
constexpr int64_t kDynamic = INT64_MIN;

std::string hex(std::string_view little_endian) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out = "0x";
  for (size_t i = little_endian.size(); i-- > 0;) {
    const auto byte = static_cast<unsigned char>(little_endian[i]);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 0xf];
  }
  return out;
}

std::string dims_text(std::span<const int64_t> dims, std::string_view separator) {
  return join(dims, separator, [](int64_t d) { return d == kDynamic ? std::string("?") : std::to_string(d); });
}

std::string int_text(std::span<const int64_t> values) {
  return "[" + join(values, ", ", [](int64_t v) { return std::to_string(v); }) + "]";
}

bool is_plain_key(std::string_view key) {
  return symbol(key).size() == key.size() + 1 && !key.empty();  // no quotes
}

// A double as MLIR reads it back.
std::string double_text(int64_t bits) {
  const auto value = std::bit_cast<double>(bits);
  if (!std::isfinite(value)) return hex({reinterpret_cast<const char*>(&bits), sizeof bits});
  std::string out = shortest(value);
  const size_t exponent = out.find('e');
  if (exponent != std::string::npos && out.find('.') == std::string::npos) out.insert(exponent, ".0");
  return out;
}

}  // namespace

std::string NodePrinter::types(const std::vector<TypeNumber>& list) {
  return join(list, ", ", [this](TypeNumber t) { return type(t); });
}

// The list of sizes at field `at`, and the element type after it.
std::string NodePrinter::shape(const Type& t, size_t at) {
  const auto rank = static_cast<size_t>(t.fields[at]);
  const auto dims = std::span(t.fields).subspan(at + 1, rank);
  return dims_text(dims, "x") + (rank > 0 ? "x" : "") + type(t.fields[at + 1 + rank]);
}

std::string NodePrinter::type(TypeNumber number) {
  const Type& t = program_.type(number);
  if (!info(t.code).text.empty()) return std::string(info(t.code).text);
  auto list = [&](size_t at) {
    const auto count = static_cast<size_t>(t.fields[at]);
    return join(std::span(t.fields).subspan(at + 1, count), ", ", [this](int64_t n) { return type(n); });
  };
  switch (t.code) {
    case TypeCode::VhloComplex:
    case TypeCode::BuiltinComplex: return "complex<" + type(t.fields[0]) + ">";
    case TypeCode::VhloFunction: return "(" + list(0) + ") -> (" + list(static_cast<size_t>(t.fields[0]) + 1) + ")";
    case TypeCode::VhloRankedTensor:
    case TypeCode::BuiltinRankedTensor: return "tensor<" + shape(t, 0) + ">";
    case TypeCode::VhloRankedTensorWithEncoding:
    case TypeCode::BuiltinRankedTensorWithEncoding:
      return "tensor<" + shape(t, 1) + ", " + attribute(t.fields[0]) + ">";
    case TypeCode::VhloRankedBuffer: return "memref<" + shape(t, 0) + ">";
    case TypeCode::VhloUnrankedTensor:
    case TypeCode::BuiltinUnrankedTensor: return "tensor<*x" + type(t.fields[0]) + ">";
    case TypeCode::VhloTuple:
    case TypeCode::BuiltinTuple: return "tuple<" + list(0) + ">";
    case TypeCode::VhloFuture: return "!stablehlo.future<" + list(0) + ">";
    case TypeCode::VhloUniformQuantized:
    case TypeCode::VhloUniformQuantizedPerAxis: return quantized(t);
    case TypeCode::BuiltinInteger: {
      constexpr std::string_view kSigns[] = {"i", "si", "ui", "i"};
      return std::string(kSigns[t.fields[0] & 3]) + std::to_string(t.fields[0] >> 2);
    }
    default: break;
  }
  fail("a type that StableHLO's text does not have");
  return "none";
}

// flags, storage, expressed, and then scale and zero point, or an axis with lists of both.
std::string NodePrinter::quantized(const Type& t) {
  const bool per_axis = t.code == TypeCode::VhloUniformQuantizedPerAxis;
  const auto& f = t.fields;
  std::string storage = type(f[1]);
  if ((f[0] & 1) == 0 && storage.starts_with('i')) storage[0] = 'u';  // the flag says whether it is signed
  const size_t bounds = per_axis ? 4 : 5;
  std::string out = "!quant.uniform<" + storage + "<" + std::to_string(f[bounds]) + ":" +
                    std::to_string(f[bounds + 1]) + ">:" + type(f[2]);
  if (!per_axis) return out + ", " + double_text(f[3]) + ":" + std::to_string(f[4]) + ">";
  const auto count = static_cast<size_t>(f[6]);
  if (f[7 + count] != f[6]) fail("a quantized type with other zero points than scales");
  out += ":" + std::to_string(f[3]) + ", {";
  for (size_t i = 0; i < count && problem_.empty(); ++i)
    out += (i > 0 ? "," : "") + double_text(f[7 + i]) + ":" + std::to_string(f[8 + count + i]);
  return out + "}>";
}

// A number of the type, from its bits.
std::string NodePrinter::scalar(TypeNumber number, int64_t value) {
  const Type& t = program_.type(number);
  switch (t.code) {
    case TypeCode::VhloBoolean: return value != 0 ? "true" : "false";
    case TypeCode::BuiltinInteger:
      if (t.fields[0] >> 2 == 1) return value != 0 ? "true" : "false";
      return (t.fields[0] & 3) == 2 ? std::to_string(static_cast<uint64_t>(value)) : std::to_string(value);
    case TypeCode::VhloUI2:
    case TypeCode::VhloUI4:
    case TypeCode::VhloUI8:
    case TypeCode::VhloUI16:
    case TypeCode::VhloUI32:
    case TypeCode::VhloUI64: return std::to_string(static_cast<uint64_t>(value));
    case TypeCode::VhloI2:
    case TypeCode::VhloI4:
    case TypeCode::VhloI8:
    case TypeCode::VhloI16:
    case TypeCode::VhloI32:
    case TypeCode::VhloI64:
    case TypeCode::VhloIndex:
    case TypeCode::BuiltinIndex: return std::to_string(value);
    default: break;
  }
  if (t.code == TypeCode::VhloF64 || t.code == TypeCode::BuiltinF64) return double_text(value);
  const size_t bytes = (width_of(t).value_or(64) + 7) / 8;
  std::string raw;
  for (size_t i = 0; i < bytes; ++i) raw += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
  return hex(raw);
}

std::string NodePrinter::element(TypeNumber number, std::string_view bytes) {
  const Type& t = program_.type(number);
  if (t.code == TypeCode::VhloComplex || t.code == TypeCode::BuiltinComplex) {
    const auto part = static_cast<TypeNumber>(t.fields[0]);
    return "(" + element(part, bytes.substr(0, bytes.size() / 2)) + ", " +
           element(part, bytes.substr(bytes.size() / 2)) + ")";
  }
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size() && i < 8; ++i)
    value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  const std::string text = type(number);
  const bool is_signed = text.starts_with('i') && text != "i1";
  if (is_signed && bytes.size() < 8 && (value >> (8 * bytes.size() - 1)) != 0)
    value |= ~uint64_t{0} << (8 * bytes.size());
  return scalar(number, static_cast<int64_t>(value));
}

// "dense<...> : type". Of a tensor whose elements are all equal one may be there.
std::string NodePrinter::dense(TypeNumber number, std::string_view bytes) {
  const Type& t = program_.type(number);
  const std::string suffix = " : " + type(number);
  const bool is_tensor = t.code == TypeCode::VhloRankedTensor || t.code == TypeCode::BuiltinRankedTensor;
  const auto element_number = static_cast<TypeNumber>(t.fields.empty() ? 0 : t.fields.back());
  const Type* element_type = is_tensor ? &program_.type(element_number) : nullptr;
  const bool is_complex =
      element_type && (element_type->code == TypeCode::VhloComplex || element_type->code == TypeCode::BuiltinComplex);
  const auto width =
      !element_type
          ? std::nullopt
          : width_of(is_complex ? program_.type(static_cast<TypeNumber>(element_type->fields[0])) : *element_type);
  const bool is_bool = width == 1u;
  const size_t size = !width ? 0 : (*width + 7) / 8 * (is_complex ? 2 : 1);
  uint64_t count = 1;
  std::vector<int64_t> dims;
  if (is_tensor) dims.assign(t.fields.begin() + 1, t.fields.end() - 1);
  bool fits = size > 0 && dims.size() <= kMaxRank;
  for (int64_t d : dims) {
    if (d < 0 || (d > 0 && count > (uint64_t{1} << 40) / static_cast<uint64_t>(d))) fits = false;
    else count *= static_cast<uint64_t>(d);
  }
  std::string unpacked;
  if (fits && is_bool && !(bytes.size() == 1 && bytes[0] == '\xff') && bytes.size() == (count + 7) / 8 &&
      bytes.size() != count) {
    for (size_t i = 0; i < count; ++i) unpacked += static_cast<char>((bytes[i / 8] >> (i % 8)) & 1);
    bytes = unpacked;
  }
  if (fits && count == 0 && bytes.size() <= size) return "dense<>" + suffix;
  if (fits && bytes.size() == size) return "dense<" + element(element_number, bytes) + ">" + suffix;
  if (!fits || bytes.size() / size != count || bytes.size() % size != 0) {
    fail("a tensor of " + std::to_string(bytes.size()) + " bytes that is " + type(number));
    return "dense<>" + suffix;
  }
  if (count > kHexElements && !is_bool) {
    // The raw bytes in their order.
    std::string reversed(bytes.rbegin(), bytes.rend());
    return "dense<\"" + hex(reversed) + "\">" + suffix;
  }
  size_t next = 0;
  std::string out = "dense<";
  auto nested = [&](auto& self, size_t level) -> void {
    if (level == dims.size()) {
      out += element(element_number, bytes.substr(size * next++, size));
      return;
    }
    out += '[';
    for (int64_t i = 0; i < dims[level]; ++i) {
      if (i > 0) out += ", ";
      self(self, level + 1);
    }
    out += ']';
  };
  nested(nested, 0);
  return out + ">" + suffix;
}

std::string NodePrinter::enumerator(const Attribute& a) {
  struct Row {
    AttributeCode code;
    std::string_view kind;
    std::vector<std::string_view> names;
  };
  static const std::vector<Row> kRows = {
      {AttributeCode::VhloComparisonDirection, "<comparison_direction ", {"EQ", "NE", "GE", "GT", "LE", "LT"}},
      {AttributeCode::VhloComparisonType, "<comparison_type ", {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"}},
      {AttributeCode::VhloFftType, "<fft_type ", {"FFT", "IFFT", "RFFT", "IRFFT"}},
      {AttributeCode::VhloPrecision, "<precision ", {"DEFAULT", "HIGH", "HIGHEST"}},
      {AttributeCode::VhloRngAlgorithm, "<rng_algorithm ", {"DEFAULT", "THREE_FRY", "PHILOX"}},
      {AttributeCode::VhloRngDistribution, "<rng_distribution ", {"", "UNIFORM", "NORMAL"}},
      {AttributeCode::VhloTranspose, "<transpose ", {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}},
      {AttributeCode::VhloResultAccuracyMode, ".result_accuracy_mode<", {"DEFAULT", "HIGHEST", "TOLERANCE"}},
  };
  for (const Row& row : kRows) {
    if (row.code != a.code) continue;
    if (a.fields[0] < 0 || static_cast<size_t>(a.fields[0]) >= row.names.size()) break;
    return "#stablehlo" + std::string(row.kind) + std::string(row.names[static_cast<size_t>(a.fields[0])]) + ">";
  }
  fail("an attribute that StableHLO's text does not have");
  return "unit";
}

std::string NodePrinter::attributes(const Attribute& list) {
  return join(program_.items(list), ", ", [this](int64_t n) { return attribute(n); });
}

// Within an attribute that can hold no other kind the name is left out: "<name = ...>" of "#stablehlo.mesh_axis<name =
// ...>".
std::string NodePrinter::within(int64_t number) {
  const std::string out = attribute(number);
  return out.substr(std::min(out.find_first_of("<("), out.size()));
}

std::string NodePrinter::entries(const Attribute& dictionary) {
  const auto items = program_.items(dictionary);
  std::string out;
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    const Attribute& key = program_.at(static_cast<AttributeNumber>(items[i]));
    const Attribute& value = program_.at(static_cast<AttributeNumber>(items[i + 1]));
    if (key.code != AttributeCode::BuiltinString && key.code != AttributeCode::VhloString)
      fail("a key that is no text");
    if (i > 0) out += ", ";
    out += is_plain_key(key.bytes) ? key.bytes : quoted_string(key.bytes);
    if (value.code != AttributeCode::BuiltinUnit) out += " = " + attribute(items[i + 1]);
  }
  return out;
}

std::string NodePrinter::attribute(AttributeNumber number) {
  const Attribute& a = program_.at(number);
  const auto& f = a.fields;
  auto list = [&](size_t at) { return std::span(f).subspan(at + 1, static_cast<size_t>(f[at])); };
  switch (a.code) {
    case AttributeCode::VhloArray:
    case AttributeCode::BuiltinArray: return "[" + attributes(a) + "]";
    case AttributeCode::VhloDictionary:
    case AttributeCode::BuiltinDictionary: return "{" + entries(a) + "}";
    case AttributeCode::VhloBoolean: return f[0] != 0 ? "true" : "false";
    case AttributeCode::VhloCustomCallApiVersion: return std::to_string(f[0]) + " : i32";
    case AttributeCode::VhloFloat:
    case AttributeCode::VhloInteger:
    case AttributeCode::BuiltinFloat:
    case AttributeCode::BuiltinInteger: {
      const std::string value = scalar(static_cast<TypeNumber>(f[0]), f[1]);
      return value == "true" || value == "false" ? value : value + " : " + type(f[0]);
    }
    case AttributeCode::VhloString:
    case AttributeCode::BuiltinString: return quoted_string(a.bytes);
    case AttributeCode::BuiltinStringWithType: return quoted_string(a.bytes) + " : " + type(f[0]);
    case AttributeCode::VhloTensor:
    case AttributeCode::BuiltinDenseIntOrFPElements: return dense(static_cast<TypeNumber>(f[0]), a.bytes);
    case AttributeCode::VhloType:
    case AttributeCode::BuiltinType: return type(f[0]);
    case AttributeCode::VhloTypeExtensions: return "#stablehlo.bounds<" + dims_text(list(0), ", ") + ">";
    case AttributeCode::VhloOutputOperandAlias: {
      const auto first = static_cast<size_t>(f[0]);
      return "#stablehlo.output_operand_alias<output_tuple_indices = " + int_text(list(0)) +
             ", operand_index = " + std::to_string(f[first + 1]) +
             ", operand_tuple_indices = " + int_text(list(first + 2)) + ">";
    }
    case AttributeCode::VhloResultAccuracy:
      return "#stablehlo.result_accuracy<atol = " + double_text(f[0]) + ", rtol = " + double_text(f[1]) +
             ", ulps = " + std::to_string(f[2]) + ", mode = " + attribute(f[3]) + ">";
    case AttributeCode::VhloSubAxisInfo:
      return "#stablehlo.sub_axis_info(" + std::to_string(f[0]) + ")" + std::to_string(f[1]);
    case AttributeCode::VhloAxisRef:
      return "#stablehlo.axis_ref<name = " + attribute(f[0]) + (f[1] >= 0 ? ", sub_axis_info = " + within(f[1]) : "") +
             ">";
    case AttributeCode::VhloMeshAxis:
      return "#stablehlo.mesh_axis<name = " + attribute(f[0]) + ", size = " + std::to_string(f[1]) + ">";
    case AttributeCode::VhloMesh: {
      const Attribute& axes = program_.at(static_cast<AttributeNumber>(f[0]));
      if (axes.code != AttributeCode::VhloArray) break;
      return "#stablehlo.mesh<axes=[" + join(program_.items(axes), ", ", [this](int64_t n) { return within(n); }) +
             "]" + (f[1] >= 0 ? ", device_ids=" + attribute(f[1]) : "") + ">";
    }
    case AttributeCode::VhloReplicaGroupMeshAxes: {
      const Attribute& mesh = program_.at(static_cast<AttributeNumber>(f[0]));
      return "#stablehlo.replica_group_mesh_axes<mesh = " +
             (mesh.code == AttributeCode::VhloString ? symbol(mesh.bytes) : attribute(f[0])) +
             ", axes = " + attribute(f[1]) + ">";
    }
    case AttributeCode::BuiltinFlatSymbolRef: return symbol(program_.at(static_cast<AttributeNumber>(f[0])).bytes);
    case AttributeCode::BuiltinSymbolRef: {
      std::string out = symbol(program_.at(static_cast<AttributeNumber>(f[0])).bytes);
      for (int64_t n : list(1)) out += "::" + attribute(n);
      return out;
    }
    case AttributeCode::BuiltinUnit: return "unit";
    case AttributeCode::BuiltinDenseArray: {
      const size_t size = (width_of(program_.type(static_cast<TypeNumber>(f[0]))).value_or(0) + 7) / 8;
      if (size == 0 || a.bytes.size() % size != 0) break;
      std::string out = "array<" + type(f[0]);
      for (size_t at = 0; at < a.bytes.size(); at += size)
        out += (at == 0 ? ": " : ", ") +
               element(static_cast<TypeNumber>(f[0]), std::string_view(a.bytes).substr(at, size));
      return out + ">";
    }
    case AttributeCode::BuiltinCallSiteLoc:
    case AttributeCode::BuiltinFileLineColLoc:
    case AttributeCode::BuiltinFileLineColRange:
    case AttributeCode::BuiltinFusedLoc:
    case AttributeCode::BuiltinFusedLocWithMetadata:
    case AttributeCode::BuiltinNameLoc:
    case AttributeCode::BuiltinUnknownLoc: return location(number);
    default: return enumerator(a);
  }
  fail("an attribute that StableHLO's text does not have");
  return "unit";
}

std::string NodePrinter::locations(const Attribute& fused, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) {
    const std::string one = location(static_cast<AttributeNumber>(fused.fields[1 + i]));
    out += (i > 0 ? ", " : "") + one.substr(4, one.size() - 5);
  }
  return "[" + out + "]";
}

std::string NodePrinter::location(AttributeNumber number) {
  const Attribute& a = program_.at(number);
  const auto& f = a.fields;
  auto text_at = [&](int64_t n) { return quoted_string(program_.at(static_cast<AttributeNumber>(n)).bytes); };
  auto inner = [&](int64_t n) {
    const std::string out = location(static_cast<AttributeNumber>(n));
    return out.substr(4, out.size() - 5);  // without "loc(" and ")"
  };
  auto colon = [](int64_t n) { return ":" + std::to_string(static_cast<uint32_t>(n)); };
  switch (a.code) {
    case AttributeCode::BuiltinFileLineColLoc: return "loc(" + text_at(f[0]) + colon(f[1]) + colon(f[2]) + ")";
    case AttributeCode::BuiltinFileLineColRange: {
      // line, column, and then the end: column, or line and column.
      const auto count = static_cast<size_t>(f[1]);
      std::string out = "loc(" + text_at(f[0]) + (count > 0 ? colon(f[2]) : ":0") + (count > 1 ? colon(f[3]) : ":0");
      if (count == 3) out += " to " + colon(f[4]);
      if (count >= 4) out += " to " + std::to_string(static_cast<uint32_t>(f[4])) + colon(f[5]);
      return out + ")";
    }
    case AttributeCode::BuiltinNameLoc: {
      const std::string child = inner(f[1]);
      return "loc(" + text_at(f[0]) + (child == "unknown" ? "" : "(" + child + ")") + ")";
    }
    case AttributeCode::BuiltinCallSiteLoc: return "loc(callsite(" + inner(f[0]) + " at " + inner(f[1]) + "))";
    case AttributeCode::BuiltinFusedLoc: return "loc(fused" + locations(a, static_cast<size_t>(f[0])) + ")";
    case AttributeCode::BuiltinFusedLocWithMetadata:
      return "loc(fused<" + attribute(f.back()) + ">" + locations(a, static_cast<size_t>(f[0])) + ")";
    default: return "loc(unknown)";
  }
}

std::optional<std::vector<int64_t>> NodePrinter::ints(AttributeNumber number) {
  const Attribute& a = program_.at(number);
  if (a.code != AttributeCode::VhloTensor) return std::nullopt;
  const Type& t = program_.type(static_cast<TypeNumber>(a.fields[0]));
  if (t.code != TypeCode::VhloRankedTensor || t.fields[0] != 1 || a.bytes.size() % 8 != 0 ||
      program_.type(static_cast<TypeNumber>(t.fields.back())).code != TypeCode::VhloI64)
    return std::nullopt;
  std::vector<int64_t> out;
  for (size_t at = 0; at < a.bytes.size(); at += 8)
    out.push_back(static_cast<int64_t>(read_u64(bytes_of(a.bytes), at)));
  constexpr int64_t kMaxList = 1 << 16;
  const int64_t count = t.fields[1];
  if (out.size() == 1 && count >= 0 && count <= kMaxList) out.resize(static_cast<size_t>(count), out[0]);
  if (static_cast<int64_t>(out.size()) != count) return std::nullopt;
  return out;
}

std::string NodePrinter::int_list(AttributeNumber number) {
  const auto values = ints(number);
  if (!values) fail("a list that is no tensor of integers");
  return values ? int_text(*values) : "[]";
}

std::string NodePrinter::dense_array(AttributeNumber number) {
  if (const auto values = ints(number)) {
    if (values->empty()) return "array<i64>";
    const std::string list = int_text(*values);
    return "array<i64: " + list.substr(1, list.size() - 2) + ">";
  }
  // Bools: the list of the tensor, elements of a splat written out.
  const Attribute& a = program_.at(number);
  const std::string text =
      a.code == AttributeCode::VhloTensor ? dense(static_cast<TypeNumber>(a.fields[0]), a.bytes) : "";
  const size_t end = text.find("> : tensor<");
  if (end == std::string::npos || !text.ends_with("xi1>")) {
    fail("a list that is no tensor of integers or bools");
    return "array<i64>";
  }
  std::string list = text.substr(6, end - 6);
  if (list.starts_with('[')) return "array<i1: " + list.substr(1, list.size() - 2) + ">";
  if (list.empty()) return "array<i1>";
  const auto count = program_.type(static_cast<TypeNumber>(a.fields[0])).fields[1];
  std::string out = "array<i1: " + list;
  for (int64_t i = 1; i < count && i < 64; ++i) out += ", " + list;
  return out + ">";
}

std::string type_text(const Program& program, TypeNumber type) { return NodePrinter(program).type(type); }

}  // namespace torchlift::stablehlo::vhlo
