// From a program of VHLO to a module, where the module can say the same. What it cannot is refused by name.
#include <algorithm>
#include <bit>
#include <set>

#include "base/check.hpp"
#include "base/kinds.hpp"
#include "base/text.hpp"
#include "stablehlo/artifact.hpp"
#include "stablehlo/artifact_fields.hpp"
#include "stablehlo/artifact_types.hpp"
#include "stablehlo/constant.hpp"
#include "stablehlo/verify.hpp"

namespace torchlift::stablehlo {
namespace {

using artifact::Default;
using vhlo::AttributeCode;
using vhlo::AttributeNumber;
using vhlo::Program;
using vhlo::TypeCode;
using vhlo::TypeNumber;

std::optional<DType> dtype_of(const Program& program, TypeNumber number) {
  const vhlo::Type& type = program.type(number);
  if (type.code != TypeCode::VhloComplex) return dtype_from_stablehlo_name(info(type.code).text);
  const auto part = dtype_of(program, static_cast<TypeNumber>(type.fields[0]));
  if (!part || !is_float(*part)) return std::nullopt;
  return dtype_from_stablehlo_name("complex<" + std::string(info(*part).stablehlo_name) + ">");
}

std::optional<Type> type_of(const Program& program, TypeNumber number) {
  const vhlo::Type& type = program.type(number);
  if (type.code != TypeCode::VhloRankedTensor) return std::nullopt;
  const auto dtype = dtype_of(program, static_cast<TypeNumber>(type.fields.back()));
  if (!dtype) return std::nullopt;
  Type out{*dtype, {}};
  for (size_t i = 1; i + 1 < type.fields.size(); ++i) out.dims.emplace_back(type.fields[i]);
  if (!problem_of(out).empty()) return std::nullopt;
  return out;
}

// The elements of a tensor; a splat as one. Nothing if they are not as many as the type has.
std::optional<Constant> elements(const Type& type, const std::string& bytes) {
  const ByteView raw = bytes_of(bytes);
  const auto count = static_cast<size_t>(element_count(type).value_or(0));
  const auto size = static_cast<size_t>(info(type.dtype).bytes);
  std::vector<std::byte> out;
  const bool is_packed = is_bool(type.dtype) && raw.size() == (count + 7) / 8 && raw.size() != count;
  const bool is_all_true = is_bool(type.dtype) && raw.size() == 1 && raw[0] == std::byte{0xff};
  if (is_packed && !is_all_true) {
    for (size_t i = 0; i < count; ++i) out.push_back((raw[i / 8] >> (i % 8)) & std::byte{1});
  } else {
    if (raw.size() != size && (raw.size() % size != 0 || raw.size() / size != count)) return std::nullopt;
    out.assign(raw.begin(), raw.end());
  }
  // No element is one only where there are none.
  if (count == 0) out.clear();
  return packed(type, std::move(out));
}

std::string text_of_names(const std::vector<std::string>& names) {
  return join(names, ", ", [](const std::string& name) { return quoted(name); });
}

// Takes the attributes of one operation; after the first problem nothing that is read counts.
class FieldReader {
 public:
  template <typename T>
  using Ref = T;

  FieldReader(const Program& program, const bytecode::Operation& op, const std::map<std::string, FunctionId>& functions)
      : program_(program), op_(op), functions_(functions) {}

  void set_opcode(Opcode opcode) { opcode_ = opcode; }
  Opcode opcode() const { return opcode_; }
  const std::string& problem() const { return problem_; }
  void fail(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }

  void ints(std::string_view name, Ints& out) {
    if (const vhlo::Attribute* a = find(name)) out = list(name, *a, 1);
  }
  void ints(std::string_view name, Dims& out) {
    Ints values;
    ints(name, values);
    out = dims_of(values);
  }
  template <typename List>
  void pairs(std::string_view name, List& low, List& high) {
    const vhlo::Attribute* a = find(name);
    if (a == nullptr) return;
    const Ints values = list(name, *a, 2);
    for (size_t i = 0; i + 1 < values.size(); i += 2) {
      low.push_back(values[i]);
      high.push_back(values[i + 1]);
    }
  }
  void bools(std::string_view name, std::vector<bool>& out) {
    const vhlo::Attribute* a = find(name, AttributeCode::VhloTensor);
    if (a == nullptr) return;
    const auto type = type_of(program_, static_cast<TypeNumber>(a->fields[0]));
    if (!type || type->dtype != DType::Bool || type->rank() != 1 || !small(*type)) return wrong(name);
    const auto values = elements(*type, a->bytes);
    if (!values) return wrong(name);
    for (std::byte b : unpacked(*type, *values)) out.push_back(b != std::byte{0});
  }
  void int64(std::string_view name, int64_t& out) { integer(name, TypeCode::VhloI64, out); }
  template <typename Int>
  void int32(std::string_view name, Int& out) {
    int64_t value = 0;
    integer(name, TypeCode::VhloI32, value);
    out = static_cast<Int>(value);
  }
  void boolean(std::string_view name, bool& out) {
    if (const vhlo::Attribute* a = find(name, AttributeCode::VhloBoolean)) out = a->fields[0] != 0;
  }
  void float32(std::string_view name, float& out) {
    const vhlo::Attribute* a = find(name, AttributeCode::VhloFloat);
    if (a == nullptr) return;
    if (program_.type(static_cast<TypeNumber>(a->fields[0])).code != TypeCode::VhloF32) return wrong(name);
    out = std::bit_cast<float>(static_cast<uint32_t>(a->fields[1]));
  }
  void string(std::string_view name, std::string& out) {
    if (const vhlo::Attribute* a = find(name, AttributeCode::VhloString)) out = a->bytes;
  }
  void function(std::string_view name, FunctionId& out) {
    const vhlo::Attribute* a = find(name, AttributeCode::VhloString);
    if (a == nullptr) return;
    const auto found = functions_.find(a->bytes);
    if (found == functions_.end()) return fail("calls " + quoted(a->bytes) + ", which is no function of it");
    out = found->second;
  }
  template <typename E>
  void enumerator(std::string_view name, AttributeCode code, E& out, E last, int64_t first = 0) {
    const vhlo::Attribute* a = find(name, code);
    if (a == nullptr) return;
    const int64_t value = a->fields[0] - first;
    if (value < 0 || value > static_cast<int64_t>(last)) return wrong(name);
    out = static_cast<E>(value);
  }
  void precision(std::string_view name, Precision& out) {
    const vhlo::Attribute* a = find(name, AttributeCode::VhloArray);
    if (a == nullptr) return;
    const auto items = program_.items(*a);
    if (items.size() != 2 || items[0] != items[1]) return wrong(name);
    const vhlo::Attribute& one = program_.at(static_cast<AttributeNumber>(items[0]));
    if (one.code != AttributeCode::VhloPrecision || one.fields[0] < 0 || one.fields[0] > 2) return wrong(name);
    out = static_cast<Precision>(one.fields[0]);
  }
  void always(std::string_view name, const vhlo::Attribute& value) {
    if (const vhlo::Attribute* a = find(name); a != nullptr && *a != value) wrong(name);
  }
  void dictionary(std::string_view name, std::vector<NamedAttribute>& out) {
    const vhlo::Attribute* a = find(name, AttributeCode::VhloDictionary);
    if (a == nullptr) return;
    const auto entries = program_.items(*a);
    for (size_t i = 0; i + 1 < entries.size() && problem_.empty(); i += 2) {
      const vhlo::Attribute& key = program_.at(static_cast<AttributeNumber>(entries[i]));
      if (key.code != AttributeCode::VhloString) return wrong(name);
      out.emplace_back(key.bytes, value(name, program_.at(static_cast<AttributeNumber>(entries[i + 1]))));
    }
  }
  void constant(std::string_view name, Constant& out) {
    const vhlo::Attribute* a = find(name, AttributeCode::VhloTensor);
    if (a == nullptr) return;
    const auto type = type_of(program_, static_cast<TypeNumber>(a->fields[0]));
    auto values = type ? elements(*type, a->bytes) : std::nullopt;
    if (!values) return wrong(name);
    out = std::move(*values);
  }

  // What has not been asked for says nothing, or our modules cannot say it.
  void finish() {
    const vhlo::OperationInfo& row = *program_.info(op_);
    std::vector<std::string> more;
    for (std::string_view name : row.attributes)
      if (!taken_.contains(name) && !says_nothing(name)) more.emplace_back(name);
    if (!more.empty()) fail("has " + text_of_names(more) + ", which a module cannot hold");
    if (!op_.attributes) return;
    const auto entries = program_.items(program_.at(*op_.attributes));
    for (size_t i = 0; i < entries.size(); i += 2)
      more.push_back(program_.at(static_cast<AttributeNumber>(entries[i])).bytes);
    if (!more.empty()) fail("has " + text_of_names(more) + ", which a module cannot hold");
  }

 private:
  static constexpr int64_t kMaxList = 1 << 16;
  static bool small(const Type& type) { return element_count(type).value_or(kMaxList + 1) <= kMaxList; }

  void wrong(std::string_view name) { fail("has another " + quoted(name) + " than a module can hold"); }

  const vhlo::Attribute* find(std::string_view name) {
    taken_.insert(name);
    const auto number = program_.attribute(op_, name);
    return number ? &program_.at(*number) : nullptr;
  }

  const vhlo::Attribute* find(std::string_view name, AttributeCode code) {
    const vhlo::Attribute* a = find(name);
    if (a == nullptr || a->code == code) return a;
    wrong(name);
    return nullptr;
  }

  void integer(std::string_view name, TypeCode type, int64_t& out) {
    const vhlo::Attribute* a = find(name, AttributeCode::VhloInteger);
    if (a == nullptr) return;
    if (program_.type(static_cast<TypeNumber>(a->fields[0])).code != type) return wrong(name);
    out = a->fields[1];
  }

  // A tensor of i64; a matrix has two columns.
  Ints list(std::string_view name, const vhlo::Attribute& a, size_t rank) {
    Ints out;
    const auto type =
        a.code == AttributeCode::VhloTensor ? type_of(program_, static_cast<TypeNumber>(a.fields[0])) : std::nullopt;
    const bool fits = type && type->dtype == DType::Int64 && type->rank() == rank && small(*type) &&
                      (rank == 1 || type->dims[1] == 2);
    const auto values = fits ? elements(*type, a.bytes) : std::nullopt;
    if (!values) {
      wrong(name);
      return out;
    }
    const std::vector<std::byte> bytes = unpacked(*type, *values);
    for (size_t at = 0; at < bytes.size(); at += 8) out.push_back(static_cast<int64_t>(read_u64(bytes, at)));
    return out;
  }

  NamedAttribute::second_type value(std::string_view name, const vhlo::Attribute& a) {
    auto is = [&](TypeCode code) { return program_.type(static_cast<TypeNumber>(a.fields[0])).code == code; };
    switch (a.code) {
      case AttributeCode::VhloBoolean: return a.fields[0] != 0;
      case AttributeCode::VhloString: return a.bytes;
      case AttributeCode::VhloTensor: return list(name, a, 1);
      case AttributeCode::VhloInteger:
        if (is(TypeCode::VhloI64)) return a.fields[1];
        break;
      case AttributeCode::VhloFloat:
        if (is(TypeCode::VhloF64)) return std::bit_cast<double>(a.fields[1]);
        break;
      default: break;
    }
    wrong(name);
    return false;
  }

  bool says_nothing(std::string_view name) const {
    const auto value = artifact::default_of(name);
    if (!value) return false;
    const vhlo::Attribute& a = program_.at(*program_.attribute(op_, name));
    switch (*value) {
      case Default::NoneType:
        return a.code == AttributeCode::VhloType &&
               program_.type(static_cast<TypeNumber>(a.fields[0])).code == TypeCode::VhloNone;
      case Default::EmptyTensor: return a.code == AttributeCode::VhloTensor && a.bytes.empty();
      case Default::EmptyArray: return a.code == AttributeCode::VhloArray && a.fields[0] == 0;
      case Default::Accuracy: break;
    }
    if (a.code != AttributeCode::VhloResultAccuracy || a.fields[0] != 0 || a.fields[1] != 0 || a.fields[2] != 0)
      return false;
    const vhlo::Attribute& mode = program_.at(static_cast<AttributeNumber>(a.fields[3]));
    return mode.code == AttributeCode::VhloResultAccuracyMode && mode.fields[0] == 0;
  }

  const Program& program_;
  const bytecode::Operation& op_;
  const std::map<std::string, FunctionId>& functions_;
  Opcode opcode_{};
  std::set<std::string_view> taken_;
  std::string problem_;
};

// Attributes as the opcode has them, not yet filled.
Attributes no_attributes(Opcode opcode) {
  switch (opcode) {
#define OP(enumerator, name, form, elements, attributes) \
  case Opcode::enumerator:                               \
    return attributes();
#include "stablehlo/ops.def"
#undef OP
  }
  return NoAttributes();
}

std::optional<Opcode> opcode_of(std::string_view name) {
  static const std::map<std::string_view, Opcode> kOpcodes = [] {
    std::map<std::string_view, Opcode> out;
    for (size_t i = 0; i < opcode_count(); ++i) out.emplace(info(static_cast<Opcode>(i)).name, static_cast<Opcode>(i));
    return out;
  }();
  const auto found = kOpcodes.find(name);
  if (found == kOpcodes.end() || found->second == Opcode::Undefined) return std::nullopt;
  return found->second;
}

class Reader {
 public:
  Reader(const Program& program, const std::string& path) : program_(program), path_(path) {}

  Result<Module> run() {
    values_.resize(program_.values);
    TRY_OK(module_head());
    TRY(functions_, vhlo::functions(program_, path_));
    TRY_OK(order());
    for (size_t number : order_) {
      if (!by_name_.emplace(functions_[number].name, FunctionId(by_name_.size())).second)
        return wrong("func", "is called " + quoted(functions_[number].name) + " as another one is");
      module_.functions.push_back({functions_[number].name, {}, {}, add_region()});
    }
    for (size_t i = 0; i < order_.size(); ++i) TRY_OK(function(functions_[order_[i]], module_.functions[i]));
    const std::vector<VerifyError> errors = verify(module_);
    if (!errors.empty()) return wrong("module", "is not sound: " + errors.front().message);
    return std::move(module_);
  }

 private:
  Diagnostic wrong(std::string_view operation, std::string problem) const {
    return diagnose(Kind::ArtifactOperation, {{"operation", std::string(operation)}, {"problem", std::move(problem)}},
                    path_);
  }

  Status module_head() {
    const bytecode::Operation& root = program_.root;
    if (root.attributes) return wrong("module", "has attributes, which a module cannot hold");
    const auto* list = root.properties ? &program_.properties[*root.properties] : nullptr;
    if (list == nullptr || list->empty() || ((*list)[0] & 1) == 0) return wrong("module", "has no name");
    if (((*list)[1] & 1) != 0) return wrong("module", "has a visibility");
    const vhlo::Attribute& name = program_.at((*list)[0] >> 1);
    if (name.code != AttributeCode::BuiltinString) return wrong("module", "has another name than a text");
    module_.name = name.bytes;
    return Unit{};
  }

  // `main` first, then each function after those that it calls; beyond that as they stand in the file.
  Status order() {
    std::map<std::string_view, size_t> numbers;
    for (size_t i = 0; i < functions_.size(); ++i) numbers.emplace(functions_[i].name, i);
    std::vector<std::set<size_t>> callers(functions_.size());
    std::vector<size_t> open(functions_.size());
    for (size_t i = 0; i < functions_.size(); ++i)
      callees(*functions_[i].operation, [&](const std::string& name) {
        const auto callee = numbers.find(name);
        if (callee != numbers.end() && callers[callee->second].insert(i).second) ++open[i];
      });
    const auto main = numbers.find("main");
    if (main == numbers.end()) return wrong("module", "has no function `main`");
    order_ = {main->second};
    std::set<size_t> ready;
    for (size_t i = 0; i < functions_.size(); ++i)
      if (open[i] == 0 && i != main->second) ready.insert(i);
    while (!ready.empty()) {
      const size_t next = *ready.begin();
      ready.erase(ready.begin());
      order_.push_back(next);
      for (size_t caller : callers[next])
        if (--open[caller] == 0 && caller != main->second) ready.insert(caller);
    }
    if (order_.size() != functions_.size()) return wrong("call", "is part of a recursion");
    return Unit{};
  }

  template <typename Fn>
  void callees(const bytecode::Operation& op, Fn&& fn) const {
    for (const char* attribute : {"callee", "decomposition"})
      if (const auto name = program_.attribute(op, attribute)) fn(program_.at(*name).bytes);
    for (const bytecode::Region& region : op.regions)
      for (const bytecode::Operation& inner : region.operations) callees(inner, fn);
  }

  RegionId add_region() {
    module_.regions.emplace_back();
    return RegionId(module_.regions.size() - 1);
  }

  Result<Value> define(std::string_view operation, uint32_t number, TypeNumber type, ValueInfo info) {
    auto found = type_of(program_, type);
    if (!found)
      return wrong(operation,
                   "has a value of type " + vhlo::type_text(program_, type) + ", which a module cannot hold");
    info.type = std::move(*found);
    module_.values.push_back(std::move(info));
    values_[number] = Value(module_.values.size() - 1);
    return values_[number];
  }

  Result<Value> use(std::string_view operation, uint32_t number) const {
    if (!values_[number].has_value()) return wrong(operation, "uses a value before it is there");
    return values_[number];
  }

  // ---- locations: the name and the line that stand outermost.
  Location location(AttributeNumber number) const {
    const vhlo::Attribute& a = program_.at(number);
    switch (a.code) {
      case AttributeCode::BuiltinFileLineColLoc:
        return {bytes_at(a.fields[0]), static_cast<int>(std::clamp<int64_t>(a.fields[1], 0, INT32_MAX)), ""};
      case AttributeCode::BuiltinFileLineColRange:
        return {bytes_at(a.fields[0]),
                a.fields[1] > 0 ? static_cast<int>(std::clamp<int64_t>(a.fields[2], 0, INT32_MAX)) : 0, ""};
      case AttributeCode::BuiltinNameLoc: {
        Location out = is_location(a.fields[1]) ? location(static_cast<AttributeNumber>(a.fields[1])) : Location{};
        out.name = bytes_at(a.fields[0]);
        return out;
      }
      case AttributeCode::BuiltinCallSiteLoc:
        return is_location(a.fields[0]) ? location(static_cast<AttributeNumber>(a.fields[0])) : Location{};
      case AttributeCode::BuiltinFusedLoc:
        if (a.fields[0] > 0 && is_location(a.fields[1])) return location(static_cast<AttributeNumber>(a.fields[1]));
        return {};
      default: return {};
    }
  }

  const std::string& bytes_at(int64_t number) const { return program_.at(static_cast<AttributeNumber>(number)).bytes; }
  // Locations refer to attributes that may be any.
  bool is_location(int64_t number) const {
    const std::string_view layout = info(program_.at(static_cast<AttributeNumber>(number)).code).layout;
    return !layout.empty() &&
           info(program_.at(static_cast<AttributeNumber>(number)).code).dialect == vhlo::Dialect::Builtin;
  }

  LocId location_id(AttributeNumber number) {
    auto [at, is_new] = locations_.emplace(number, LocId());
    if (!is_new) return at->second;
    Location found = location(number);
    if (found == Location{}) return {};
    auto [known, is_first] = location_ids_.emplace(std::move(found), LocId(module_.locations.size()));
    if (is_first) module_.locations.push_back(known->first);
    return at->second = known->second;
  }

  // ---- functions
  Status function(const vhlo::FunctionInfo& from, Function& to) {
    const bytecode::Operation& op = *from.operation;
    if (op.attributes) return wrong("func", "has attributes, which a module cannot hold");
    const bool is_entry = &to == &module_.functions[0];
    if (from.is_public != is_entry)
      return wrong("func", quoted(from.name) + " is " + (is_entry ? "private" : "public"));
    const std::string& visibility = program_.at(*program_.attribute(op, "sym_visibility")).bytes;
    if (is_entry ? visibility != "public" && !visibility.empty() : visibility != "private")
      return wrong("func", "has the visibility " + quoted(visibility));
    const bytecode::Region& region = op.regions[0];
    if (region.empty) return wrong("func", "is only declared: " + quoted(from.name));
    TRY_OK(arguments("func", region, to.body));
    TRY_OK(body("func", region, to.body));
    if (types(region) != from.signature.arguments)
      return wrong("func", "has other arguments than its type: " + quoted(from.name));
    const Region& made = module_.at(to.body);
    if (made.results.size() != from.signature.results.size())
      return wrong("func", "has other results than its type: " + quoted(from.name));
    for (size_t i = 0; i < made.results.size(); ++i)
      if (type_of(program_, from.signature.results[i]) != module_.type(made.results[i]))
        return wrong("func", "has other results than its type: " + quoted(from.name));
    to.arguments.resize(made.arguments.size());
    to.result_names.resize(made.results.size());
    for (size_t i = 0; i < to.arguments.size(); ++i)
      if (region.arguments[i].location) to.arguments[i].name = location(*region.arguments[i].location).name;
    TRY_OK(decorations(op, "arg_attrs", to.arguments.size(),
                       [&](size_t i, const std::string& key, const vhlo::Attribute& value) {
                         return decorate(to.arguments[i], key, value);
                       }));
    return decorations(op, "res_attrs", to.result_names.size(),
                       [&](size_t i, const std::string& key, const vhlo::Attribute& value) {
                         if (key != "jax.result_info" || value.code != AttributeCode::VhloString) return false;
                         to.result_names[i] = value.bytes;
                         return true;
                       });
  }

  static std::vector<TypeNumber> types(const bytecode::Region& region) {
    std::vector<TypeNumber> out;
    for (const bytecode::BlockArgument& argument : region.arguments) out.push_back(argument.type);
    return out;
  }

  static bool decorate(Argument& argument, const std::string& key, const vhlo::Attribute& value) {
    if (key == "jax.buffer_donor" && value.code == AttributeCode::VhloBoolean) {
      argument.buffer_donor = value.fields[0] != 0;
      return true;
    }
    if (key != "tf.aliasing_output" || value.code != AttributeCode::VhloInteger ||
        value.fields[1] != static_cast<int32_t>(value.fields[1]))
      return false;
    argument.aliasing_output = static_cast<int32_t>(value.fields[1]);
    return true;
  }

  // `take` for each entry of each dictionary.
  template <typename Fn>
  Status decorations(const bytecode::Operation& op, std::string_view name, size_t count, Fn&& take) const {
    const vhlo::Attribute& list = program_.at(*program_.attribute(op, name));
    const Diagnostic other = wrong("func", "has another " + quoted(name) + " than a module can hold");
    if (list.code != AttributeCode::VhloArray) return other;
    const auto items = program_.items(list);
    if (!items.empty() && items.size() != count) return other;
    for (size_t i = 0; i < items.size(); ++i) {
      const vhlo::Attribute& dictionary = program_.at(static_cast<AttributeNumber>(items[i]));
      if (dictionary.code != AttributeCode::VhloDictionary) return other;
      const auto entries = program_.items(dictionary);
      for (size_t k = 0; k + 1 < entries.size(); k += 2) {
        const std::string& key = bytes_at(entries[k]);
        if (!take(i, key, program_.at(static_cast<AttributeNumber>(entries[k + 1]))))
          return wrong("func", "has the attribute " + quoted(key) + ", which a module cannot hold");
      }
    }
    return Unit{};
  }

  // ---- operations
  Status arguments(std::string_view operation, const bytecode::Region& from, RegionId to) {
    for (size_t i = 0; i < from.arguments.size(); ++i) {
      TRY(Value v, define(operation, from.first_argument + static_cast<uint32_t>(i), from.arguments[i].type,
                          {.type = {}, .inst = {}, .region = to, .number = i}));
      module_.at(to).arguments.push_back(v);
    }
    return Unit{};
  }

  Status body(std::string_view operation, const bytecode::Region& from, RegionId to) {
    for (size_t i = 0; i < from.operations.size(); ++i) {
      const bytecode::Operation& op = from.operations[i];
      const bool is_last = i + 1 == from.operations.size();
      if ((program_.info(op)->name == "return") != is_last)
        return wrong(operation, is_last ? "has a region that hands nothing back" : "has operations after its return");
      if (!is_last) {
        TRY(InstId id, inst(op));
        module_.at(to).insts.push_back(id);
        continue;
      }
      for (uint32_t number : op.operands) {
        TRY(Value v, use("return", number));
        module_.at(to).results.push_back(v);
      }
    }
    if (from.operations.empty()) return wrong(operation, "has a region without operations");
    return Unit{};
  }

  Result<InstId> inst(const bytecode::Operation& op) {
    const std::string_view name = program_.info(op)->name;
    const auto opcode = opcode_of(name);
    if (!opcode) return wrong(name, "is none that a module can hold");
    const InstId id(module_.insts.size());
    module_.insts.emplace_back();
    Inst out;
    out.opcode = *opcode;
    FieldReader reader(program_, op, by_name_);
    reader.set_opcode(*opcode);
    Attributes attributes = no_attributes(*opcode);
    std::visit([&](auto& a) { artifact::fields(reader, a); }, attributes);
    reader.finish();
    if (!reader.problem().empty()) return wrong(name, reader.problem());
    if (!std::holds_alternative<NoAttributes>(attributes)) {
      module_.attributes.push_back(std::move(attributes));
      out.attributes = AttributesId(module_.attributes.size() - 1);
    }
    out.location = location_id(op.location);
    for (uint32_t number : op.operands) {
      TRY(Value v, use(name, number));
      out.operands.push_back(v);
    }
    for (const bytecode::Region& region : op.regions) {
      if (region.empty) return wrong(name, "has an empty region");
      const RegionId to = add_region();
      out.regions.push_back(to);
      TRY_OK(arguments(name, region, to));
      TRY_OK(body(name, region, to));
    }
    for (size_t i = 0; i < op.result_types.size(); ++i) {
      TRY(Value v, define(name, op.first_result + static_cast<uint32_t>(i), op.result_types[i],
                          {.type = {}, .inst = id, .region = {}, .number = i}));
      out.results.push_back(v);
    }
    module_.at(id) = std::move(out);
    return id;
  }

  const Program& program_;
  const std::string& path_;
  Module module_;
  std::vector<vhlo::FunctionInfo> functions_;
  std::vector<size_t> order_;
  std::map<std::string, FunctionId> by_name_;
  std::vector<Value> values_;
  std::map<AttributeNumber, LocId> locations_;
  std::map<Location, LocId> location_ids_;
};

}  // namespace

Result<Module> module_of(const Program& program, const std::string& path) { return Reader(program, path).run(); }

Result<ArtifactSignature> artifact_signature(ByteView bytes, const std::string& path) {
  TRY(auto program, vhlo::read(bytes, path));
  TRY(auto functions, vhlo::functions(program, path));
  auto wrong = [&](std::string problem) {
    return diagnose(Kind::ArtifactOperation, {{"operation", std::string("main")}, {"problem", std::move(problem)}},
                    path);
  };
  auto main = std::find_if(functions.begin(), functions.end(), [](auto& f) { return f.name == "main"; });
  if (main == functions.end()) return wrong("is missing");
  ArtifactSignature out;
  for (auto [from, to] :
       {std::pair(&main->signature.arguments, &out.arguments), std::pair(&main->signature.results, &out.results)})
    for (TypeNumber number : *from) {
      auto type = type_of(program, number);
      if (!type)
        return wrong("takes or gives " + vhlo::type_text(program, number) + ", expected tensors of fixed sizes");
      to->push_back(std::move(*type));
    }
  return out;
}

Result<Module> read_artifact(ByteView bytes, const std::string& path) {
  TRY(auto program, vhlo::read(bytes, path));
  return module_of(program, path);
}

}  // namespace torchlift::stablehlo
