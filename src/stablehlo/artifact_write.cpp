// From a module to a program of VHLO, in the versions that the target has.
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.hpp"
#include "base/kinds.hpp"
#include "stablehlo/artifact.hpp"
#include "stablehlo/artifact_fields.hpp"
#include "stablehlo/artifact_types.hpp"
#include "stablehlo/constant.hpp"
#include "stablehlo/function_text.hpp"

namespace torchlift::stablehlo {
namespace {

using artifact::Default;
using vhlo::AttributeCode;
using vhlo::AttributeNumber;
using vhlo::TypeCode;
using vhlo::TypeNumber;
using vhlo::Version;

// An operation's attributes by name, in the order of their names.
using NamedNumbers = std::vector<std::pair<std::string_view, AttributeNumber>>;

// Makes attributes and types of a program, equal ones once.
class Nodes {
 public:
  explicit Nodes(vhlo::Program& program) : attributes_(program.attributes), types_(program.types) {}

  AttributeNumber attribute(AttributeCode code, std::vector<int64_t> fields = {}, std::string bytes = "") {
    return attributes_.intern({code, std::move(fields), std::move(bytes)});
  }
  TypeNumber type(TypeCode code, std::vector<int64_t> fields = {}) {
    return types_.intern({code, std::move(fields), {}});
  }

  AttributeNumber string(const std::string& text) { return attribute(AttributeCode::VhloString, {}, text); }
  AttributeNumber builtin_string(const std::string& text) { return attribute(AttributeCode::BuiltinString, {}, text); }
  AttributeNumber boolean(bool value) { return attribute(AttributeCode::VhloBoolean, {value ? 1 : 0}); }
  AttributeNumber integer(TypeCode type, int64_t value) {
    return attribute(AttributeCode::VhloInteger, {this->type(type), value});
  }
  AttributeNumber number(TypeCode type, uint64_t bits) {
    return attribute(AttributeCode::VhloFloat, {this->type(type), static_cast<int64_t>(bits)});
  }
  AttributeNumber list(AttributeCode code, const std::vector<AttributeNumber>& items, size_t length) {
    std::vector<int64_t> fields = {static_cast<int64_t>(length)};
    fields.insert(fields.end(), items.begin(), items.end());
    return attribute(code, std::move(fields));
  }
  AttributeNumber array(const std::vector<AttributeNumber>& items) {
    return list(AttributeCode::VhloArray, items, items.size());
  }
  // Keys and values in turn.
  AttributeNumber dictionary(const std::vector<AttributeNumber>& entries) {
    return list(AttributeCode::VhloDictionary, entries, entries.size() / 2);
  }

  TypeNumber tensor(TypeNumber element, const std::vector<int64_t>& sizes) {
    std::vector<int64_t> fields = {static_cast<int64_t>(sizes.size())};
    fields.insert(fields.end(), sizes.begin(), sizes.end());
    fields.push_back(element);
    return type(TypeCode::VhloRankedTensor, std::move(fields));
  }
  TypeNumber tensor(const Type& t) {
    return tensor(artifact::element_type(t.dtype, [this](auto... a) { return type(a...); }), concrete(t.dims));
  }
  // Equal elements are kept once.
  AttributeNumber ints(const std::vector<int64_t>& values, const std::vector<int64_t>& sizes) {
    const bool splat =
        values.size() > 1 && std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == values[0]; });
    std::string bytes;
    for (size_t i = 0; i < (splat ? 1 : values.size()); ++i)
      for (unsigned shift = 0; shift < 64; shift += 8)
        bytes += static_cast<char>(static_cast<uint64_t>(values[i]) >> shift);
    return attribute(AttributeCode::VhloTensor, {tensor(type(TypeCode::VhloI64), sizes)}, std::move(bytes));
  }
  AttributeNumber ints(const std::vector<int64_t>& values) {
    return ints(values, {static_cast<int64_t>(values.size())});
  }

  AttributeNumber defaulted(Default value) {
    switch (value) {
      case Default::NoneType: return attribute(AttributeCode::VhloType, {type(TypeCode::VhloNone)});
      case Default::EmptyTensor: return ints({});
      case Default::EmptyArray: return array({});
      case Default::Accuracy: break;
    }
    return attribute(AttributeCode::VhloResultAccuracy,
                     {0, 0, 0, attribute(AttributeCode::VhloResultAccuracyMode, {0})});
  }

 private:
  vhlo::Pool<AttributeCode> attributes_;
  vhlo::Pool<TypeCode> types_;
};

// Enters the attributes of one instruction.
class FieldWriter {
 public:
  template <typename T>
  using Ref = const T;

  FieldWriter(const Module& module, const Inst& inst, Nodes& nodes, NamedNumbers& out)
      : module_(module), inst_(inst), nodes_(nodes), out_(out) {}

  Opcode opcode() const { return inst_.opcode; }
  void ints(std::string_view name, const Ints& values) { add(name, nodes_.ints(values)); }
  void ints(std::string_view name, const Dims& values) { add(name, nodes_.ints(concrete(values))); }
  template <typename List>
  void pairs(std::string_view name, const List& low, const List& high) {
    std::vector<int64_t> values;
    for (size_t i = 0; i < low.size(); ++i) {
      values.push_back(Dim(low[i]).concrete());
      values.push_back(Dim(high[i]).concrete());
    }
    add(name, nodes_.ints(values, {static_cast<int64_t>(low.size()), 2}));
  }
  void bools(std::string_view name, const std::vector<bool>& values) {
    Constant constant;
    for (bool b : values) constant.bytes.push_back(std::byte{b});
    add(name, tensor({DType::Bool, {static_cast<int64_t>(values.size())}}, constant));
  }
  void int64(std::string_view name, int64_t value) { add(name, nodes_.integer(TypeCode::VhloI64, value)); }
  void int32(std::string_view name, int64_t value) { add(name, nodes_.integer(TypeCode::VhloI32, value)); }
  void boolean(std::string_view name, bool value) { add(name, nodes_.boolean(value)); }
  void float32(std::string_view name, float value) {
    add(name, nodes_.number(TypeCode::VhloF32, std::bit_cast<uint32_t>(value)));
  }
  void string(std::string_view name, const std::string& value) { add(name, nodes_.string(value)); }
  void function(std::string_view name, FunctionId id) { add(name, nodes_.string(module_.at(id).name)); }
  template <typename E>
  void enumerator(std::string_view name, AttributeCode code, E value, E /*last*/, int64_t first = 0) {
    add(name, nodes_.attribute(code, {first + static_cast<int64_t>(value)}));
  }
  void precision(std::string_view name, Precision value) {
    const AttributeNumber one = nodes_.attribute(AttributeCode::VhloPrecision, {static_cast<int64_t>(value)});
    add(name, nodes_.array({one, one}));
  }
  void always(std::string_view name, const vhlo::Attribute& value) {
    add(name, nodes_.attribute(value.code, value.fields, value.bytes));
  }
  void dictionary(std::string_view name, const std::vector<NamedAttribute>& entries) {
    std::vector<AttributeNumber> out;
    for (const auto& [key, value] : entries) {
      out.push_back(nodes_.string(key));
      out.push_back(std::visit(*this, value));
    }
    add(name, nodes_.dictionary(out));
  }
  void constant(std::string_view name, const Constant& value) {
    add(name, tensor(module_.type(inst_.results[0]), value));
  }

  // Values of dictionaries.
  AttributeNumber operator()(bool value) const { return nodes_.boolean(value); }
  AttributeNumber operator()(int64_t value) const { return nodes_.integer(TypeCode::VhloI64, value); }
  AttributeNumber operator()(double value) const {
    return nodes_.number(TypeCode::VhloF64, std::bit_cast<uint64_t>(value));
  }
  AttributeNumber operator()(const std::string& value) const { return nodes_.string(value); }
  AttributeNumber operator()(const Ints& value) const { return nodes_.ints(value); }

 private:
  void add(std::string_view name, AttributeNumber number) { out_.emplace_back(name, number); }

  // Bools are packed, the first in the lowest bit; one that stands for all is a byte of ones or zeros.
  AttributeNumber tensor(const Type& type, const Constant& value) {
    const TypeNumber number = nodes_.tensor(type);
    std::string bytes;
    if (!is_bool(type.dtype)) {
      bytes = text_of(ByteView(value.bytes));
    } else if (value.bytes.size() == 1 && element_count(type) != 1) {
      bytes = value.bytes[0] == std::byte{0} ? '\0' : '\xff';
    } else {
      bytes.assign((value.bytes.size() + 7) / 8, '\0');
      for (size_t i = 0; i < value.bytes.size(); ++i)
        if (value.bytes[i] != std::byte{0}) bytes[i / 8] = static_cast<char>(bytes[i / 8] | (1 << (i % 8)));
    }
    return nodes_.attribute(AttributeCode::VhloTensor, {number}, std::move(bytes));
  }

  const Module& module_;
  const Inst& inst_;
  Nodes& nodes_;
  NamedNumbers& out_;
};

class Writer {
 public:
  Writer(const Module& module, const ArtifactOptions& options)
      : module_(module), options_(options), nodes_(program_), numbers_(module.values.size(), 0) {}

  Result<std::string> run() {
    TRY_OK(check_options());
    unknown_ = nodes_.attribute(AttributeCode::BuiltinUnknownLoc);
    bytecode::Region& functions = root();
    for (size_t i = 0; i < module_.functions.size(); ++i)
      functions.operations.push_back(function(module_.functions[i], i == 0));
    program_.values = next_value_;
    TRY(Version version, target());
    program_.producer = "StableHLO_v" + vhlo::to_text(version);
    choose(program_.root, version);
    return vhlo::write(program_);
  }

 private:
  // What an operation is called, with its attributes, before there is a version.
  struct Draft {
    std::string_view name;
    NamedNumbers attributes;
    LocId location;  // of the first one
  };

  Status check_options() const {
    const auto& asked = options_.version;
    if (asked && (*asked < vhlo::kOldestVersion || Version{asked->major, asked->minor, 0} > vhlo::kNewestVersion))
      return diagnose(Kind::ArtifactTarget, {{"version", vhlo::to_text(*asked)},
                                             {"oldest", vhlo::to_text(vhlo::kOldestVersion)},
                                             {"newest", vhlo::to_text(vhlo::kNewestVersion)}});
    for (size_t i = 1; i < module_.functions.size(); ++i)
      if (is_declaration(module_, module_.functions[i]))
        return diagnose(Kind::ArtifactFunction, {{"function", module_.functions[i].name}});
    return Unit{};
  }

  bytecode::Region& root() {
    program_.names.push_back({});
    bytecode::Operation& root = program_.root;
    root.location = unknown_;
    root.properties = 0;
    program_.properties.push_back({nodes_.builtin_string(module_.name) << 1 | 1, 0});  // its name; no visibility
    root.isolated = true;
    return root.regions.emplace_back();
  }

  // ---- versions
  bool is_default(std::string_view name, AttributeNumber number) {
    const auto value = artifact::default_of(name);
    return value && nodes_.defaulted(*value) == number;
  }

  // Whether this version of the operation says all that the draft says.
  bool suffices(const vhlo::OperationInfo& row, const Draft& draft) {
    for (const auto& [name, number] : draft.attributes)
      if (std::find(row.attributes.begin(), row.attributes.end(), name) == row.attributes.end() &&
          !is_default(name, number))
        return false;
    return true;
  }

  Version needed(const Draft& draft) {
    for (const vhlo::OperationInfo& row : vhlo::versions_of(draft.name))
      if (row.until >= vhlo::kOldestVersion && suffices(row, draft)) return std::max(row.since, vhlo::kOldestVersion);
    CHECK(false) << draft.name << " has no version with all its attributes";
    return {};
  }

  Result<Version> target() {
    Version oldest = vhlo::kOldestVersion;
    auto take = [&](Version version, std::string what, LocId location) -> Status {
      if (options_.version && *options_.version < version) {
        Diagnostic out = diagnose(Kind::ArtifactVersion, {{"operation", std::move(what)},
                                                          {"needed", vhlo::to_text(version)},
                                                          {"asked", vhlo::to_text(*options_.version)}});
        if (location.has_value()) {
          const Location& at = module_.locations[location.at()];
          if (!at.file.empty()) out.place.source.push_back({at.file, at.line, "", ""});
          out.place.module = at.name;
        }
        return out;
      }
      oldest = std::max(oldest, version);
      return Unit{};
    };
    for (const Draft& draft : drafts_) TRY_OK(take(needed(draft), "`" + std::string(draft.name) + "`", draft.location));
    for (size_t i = 0; i < program_.types.size(); ++i) {  // drafts hold no other attributes than those of version 1.0.0
      const vhlo::CodeInfo& row = info(program_.types[i].code);
      if (row.code != vhlo::info(TypeCode::VhloNone).code)
        TRY_OK(take(row.since, "a tensor of " + std::string(row.text), {}));
    }
    return options_.version.value_or(oldest);
  }

  // Drafts become operations of the version.
  void choose(bytecode::Operation& op, Version version) {
    if (&op != &program_.root) {
      const auto [name, properties] = chosen(op.name, {version.major, version.minor, 0});
      op.name = name;
      op.properties = properties;
    }
    for (bytecode::Region& region : op.regions)
      for (bytecode::Operation& inner : region.operations) choose(inner, version);
  }

  using Choice = std::pair<uint32_t, std::optional<uint32_t>>;  // name, properties

  Choice chosen(uint32_t draft_number, Version version) {
    if (choices_.empty()) choices_.resize(drafts_.size());
    if (choices_[draft_number]) return *choices_[draft_number];
    const Draft& draft = drafts_[draft_number];
    const vhlo::OperationInfo* row = nullptr;
    for (const vhlo::OperationInfo& r : vhlo::versions_of(draft.name))
      if (r.since <= version && version <= r.until) row = &r;
    CHECK(row != nullptr) << draft.name << " has no row for version " << vhlo::to_text(version);
    auto [name, is_new] = names_.emplace(row, static_cast<uint32_t>(program_.names.size()));
    if (is_new) program_.names.push_back({row});
    Choice out{name->second, std::nullopt};
    if (!row->attributes.empty()) {
      std::vector<AttributeNumber> list;
      for (std::string_view attribute : row->attributes) list.push_back(value(draft, attribute));
      out.second = static_cast<uint32_t>(program_.properties.size());
      auto [at, new_list] = properties_.emplace(std::move(list), *out.second);
      if (new_list) program_.properties.push_back(at->first);
      out.second = at->second;
    }
    choices_[draft_number] = out;
    return out;
  }

  AttributeNumber value(const Draft& draft, std::string_view attribute) {
    for (const auto& [name, number] : draft.attributes)
      if (name == attribute) return number;
    const auto value = artifact::default_of(attribute);
    CHECK(value.has_value()) << draft.name << " without " << attribute;
    return nodes_.defaulted(*value);
  }

  uint32_t draft(std::string_view name, NamedNumbers attributes, LocId location = {}) {
    std::sort(attributes.begin(), attributes.end());
    auto [at, is_new] =
        draft_numbers_.emplace(std::pair(name, std::move(attributes)), static_cast<uint32_t>(drafts_.size()));
    if (is_new) drafts_.push_back({name, at->first.second, location});
    return at->second;
  }

  // ---- operations
  AttributeNumber location(LocId id) {
    if (!options_.locations || !id.has_value()) return unknown_;
    const Location& at = module_.locations[id.at()];
    AttributeNumber out = unknown_;
    if (!at.file.empty())
      out = nodes_.attribute(AttributeCode::BuiltinFileLineColLoc,
                             {nodes_.builtin_string(at.file), std::max(at.line, 0), 0});
    return at.name.empty() ? out
                           : nodes_.attribute(AttributeCode::BuiltinNameLoc, {nodes_.builtin_string(at.name), out});
  }

  void define_arguments(const Region& region, bytecode::Region& out) {
    out.first_argument = next_value_;
    for (Value v : region.arguments) {
      numbers_[v.at()] = next_value_++;
      out.arguments.push_back({nodes_.tensor(module_.type(v)), std::nullopt});
    }
  }

  void body(const Region& region, bytecode::Region& out) {
    out.operations.reserve(region.insts.size() + 1);
    for (InstId id : region.insts) out.operations.push_back(operation(module_.at(id)));
    bytecode::Operation& end = out.operations.emplace_back();
    end.name = draft("return", {});
    end.location = unknown_;
    for (Value v : region.results) end.operands.push_back(numbers_[v.at()]);
  }

  bytecode::Operation operation(const Inst& inst) {
    CHECK(inst.opcode != Opcode::Undefined) << "only modules that verify are written";
    bytecode::Operation out;
    NamedNumbers attributes;
    if (inst.attributes.has_value()) {
      FieldWriter writer(module_, inst, nodes_, attributes);
      std::visit([&](const auto& a) { artifact::fields(writer, a); }, module_.attributes[inst.attributes.at()]);
    }
    out.name = draft(info(inst.opcode).name, std::move(attributes), inst.location);
    out.location = location(inst.location);
    for (Value v : inst.operands) out.operands.push_back(numbers_[v.at()]);
    out.first_result = next_value_;
    for (Value v : inst.results) {
      numbers_[v.at()] = next_value_++;
      out.result_types.push_back(nodes_.tensor(module_.type(v)));
    }
    out.regions.reserve(inst.regions.size());
    for (RegionId id : inst.regions) {
      bytecode::Region& region = out.regions.emplace_back();
      define_arguments(module_.at(id), region);
      body(module_.at(id), region);
    }
    return out;
  }

  bytecode::Operation function(const Function& function, bool is_entry) {
    const Region& body = module_.at(function.body);
    bytecode::Operation out;
    out.location = unknown_;
    out.isolated = true;
    bytecode::Region& region = out.regions.emplace_back();
    define_arguments(body, region);
    if (options_.locations)
      for (size_t i = 0; i < region.arguments.size() && i < function.arguments.size(); ++i)
        if (const std::string& name = function.arguments[i].name; !name.empty())
          region.arguments[i].location =
              nodes_.attribute(AttributeCode::BuiltinNameLoc, {nodes_.builtin_string(name), unknown_});
    this->body(body, region);
    std::vector<int64_t> type = {static_cast<int64_t>(region.arguments.size())};
    for (const bytecode::BlockArgument& argument : region.arguments) type.push_back(argument.type);
    type.push_back(static_cast<int64_t>(body.results.size()));
    for (Value v : body.results) type.push_back(nodes_.tensor(module_.type(v)));
    out.name = draft(
        "func", {{"sym_name", nodes_.string(function.name)},
                 {"sym_visibility", nodes_.string(is_entry ? "public" : "private")},
                 {"function_type",
                  nodes_.attribute(AttributeCode::VhloType, {nodes_.type(TypeCode::VhloFunction, std::move(type))})},
                 {"arg_attrs", decorations(body.arguments.size(), [&](size_t i) { return argument(function, i); })},
                 {"res_attrs", decorations(body.results.size(), [&](size_t i) { return result(function, i); })}});
    return out;
  }

  // One dictionary each, or an empty array where all are empty.
  template <typename Fn>
  AttributeNumber decorations(size_t count, Fn&& of) {
    std::vector<AttributeNumber> out;
    const AttributeNumber none = nodes_.dictionary({});
    for (size_t i = 0; i < count; ++i) out.push_back(of(i));
    if (std::all_of(out.begin(), out.end(), [&](AttributeNumber n) { return n == none; })) out.clear();
    return nodes_.array(out);
  }

  AttributeNumber argument(const Function& function, size_t i) {
    std::vector<AttributeNumber> out;
    if (i < function.arguments.size()) {
      const Argument& a = function.arguments[i];
      if (a.buffer_donor) out.insert(out.end(), {nodes_.string("jax.buffer_donor"), nodes_.boolean(true)});
      if (a.aliasing_output)
        out.insert(out.end(),
                   {nodes_.string("tf.aliasing_output"), nodes_.integer(TypeCode::VhloI32, *a.aliasing_output)});
    }
    return nodes_.dictionary(out);
  }

  AttributeNumber result(const Function& function, size_t i) {
    if (i >= function.result_names.size() || function.result_names[i].empty()) return nodes_.dictionary({});
    return nodes_.dictionary({nodes_.string("jax.result_info"), nodes_.string(function.result_names[i])});
  }

  const Module& module_;
  const ArtifactOptions& options_;
  vhlo::Program program_;
  Nodes nodes_;
  AttributeNumber unknown_ = 0;
  std::vector<uint32_t> numbers_;  // of values, by Value
  uint32_t next_value_ = 0;
  std::vector<Draft> drafts_;
  std::map<std::pair<std::string_view, NamedNumbers>, uint32_t> draft_numbers_;
  std::vector<std::optional<Choice>> choices_;  // by draft
  std::map<const vhlo::OperationInfo*, uint32_t> names_;
  std::map<std::vector<AttributeNumber>, uint32_t> properties_;
};

}  // namespace

Result<std::string> write_artifact(const Module& module, const ArtifactOptions& options) {
  return Writer(module, options).run();
}

}  // namespace torchlift::stablehlo
