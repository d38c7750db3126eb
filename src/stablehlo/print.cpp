#include "stablehlo/print.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "stablehlo/function_text.hpp"
#include "stablehlo/print_attributes.hpp"

namespace torchlift::stablehlo {
namespace {

// Elementwise forms give the type once where all are equal.
bool prints_one_type(Opcode opcode) {
  switch (opcode) {
    case Opcode::Clamp:
    case Opcode::Convert:
    case Opcode::ReducePrecision:
    case Opcode::Reverse: return true;
    default: return !info(opcode).elements.empty();
  }
}

class Printer {
 public:
  Printer(const Module& module, const PrintOptions& options)
      : module_(module), options_(options), numbers_(module.values.size(), 0), aliases_(module.locations.size()) {}

  std::string run() {
    out_ += "module " + symbol(module_.name) + " {\n";
    for (size_t i = 0; i < module_.functions.size(); ++i) function(module_.functions[i], i == 0);
    out_ += "}\n";
    location_aliases();
    return std::move(out_);
  }

 private:
  // ---- names
  void name_arguments(const Region& region) {
    for (Value v : region.arguments) numbers_[v.at()] = next_argument_++;
  }

  void name(Value v) {
    CHECK(module_.contains(v)) << "only modules that verify are printed";
    const ValueInfo& value = module_.at(v);
    out_ += value.inst.has_value() ? "%" : "%arg";
    append_integer(out_, numbers_[v.at()]);
    if (!value.inst.has_value() || module_.at(value.inst).results.size() == 1) return;
    out_ += '#';
    append_integer(out_, static_cast<int64_t>(value.number));
  }

  void names(const Values& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0) out_ += ", ";
      name(values[i]);
    }
  }

  void types(const Values& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0) out_ += ", ";
      append_text(out_, module_.type(values[i]));
    }
  }

  void result_types(const Values& values) {
    const bool one = values.size() == 1;
    if (!one) out_ += '(';
    types(values);
    if (!one) out_ += ')';
  }

  void functional_type(const Inst& inst) {
    out_ += " : (";
    types(inst.operands);
    out_ += ") -> ";
    result_types(inst.results);
  }

  void indent() { out_.append(2 * depth_, ' '); }

  // ---- functions and regions
  void function(const Function& function, bool is_entry) {
    if (!is_entry && is_declaration(module_, function)) return declaration(function);
    next_argument_ = 0;
    next_result_ = 0;
    const Region& body = module_.at(function.body);
    name_arguments(body);
    out_ += std::string("  func.func ") + (is_entry ? "public " : "private ") + symbol(function.name) + "(";
    for (size_t i = 0; i < body.arguments.size(); ++i) {
      if (i > 0) out_ += ", ";
      argument(body.arguments[i], i < function.arguments.size() ? function.arguments[i] : Argument{});
    }
    out_ += ") -> (";
    for (size_t i = 0; i < body.results.size(); ++i) {
      if (i > 0) out_ += ", ";
      append_text(out_, module_.type(body.results[i]));
      if (i < function.result_names.size() && !function.result_names[i].empty())
        out_ += " {jax.result_info = " + quoted_string(function.result_names[i]) + "}";
    }
    out_ += ") {\n";
    depth_ = 2;
    insts(body);
    terminator("return", body.results);
    out_ += "  }\n";
  }

  void declaration(const Function& function) {
    if (auto text = options_.definitions.find(function.name); text != options_.definitions.end()) {
      out_ += text->second;
      return;
    }
    const Region& body = module_.at(function.body);
    out_ += "  func.func private " + symbol(function.name) + "(";
    types(body.arguments);
    out_ += ") -> (";
    types(body.results);
    out_ += ")\n";
  }

  void argument(Value v, const Argument& argument) {
    name(v);
    out_ += ": ";
    append_text(out_, module_.type(v));
    std::vector<std::string> attributes;
    if (argument.buffer_donor) attributes.emplace_back("jax.buffer_donor = true");
    if (argument.aliasing_output)
      attributes.push_back("tf.aliasing_output = " + std::to_string(*argument.aliasing_output) + " : i32");
    if (!attributes.empty()) out_ += " {" + join(attributes, ", ", [](const std::string& s) { return s; }) + "}";
    if (options_.locations && !argument.name.empty()) out_ += " loc(" + quoted_string(argument.name) + ")";
  }

  void insts(const Region& region) {
    for (InstId id : region.insts) inst(module_.at(id));
  }

  void terminator(std::string_view word, const Values& results) {
    indent();
    out_ += word;
    if (!results.empty()) {
      out_ += ' ';
      names(results);
      out_ += " : ";
      types(results);
    }
    out_ += '\n';
  }

  void region(const Region& region) {
    out_ += "{\n";
    if (!region.arguments.empty()) {
      name_arguments(region);
      indent();
      out_ += "^bb0(";
      for (size_t i = 0; i < region.arguments.size(); ++i) {
        if (i > 0) out_ += ", ";
        argument(region.arguments[i], {});
      }
      out_ += "):\n";
    }
    ++depth_;
    insts(region);
    terminator("stablehlo.return", region.results);
    --depth_;
    indent();
    out_ += '}';
  }

  // ---- instructions
  void inst(const Inst& inst) {
    indent();
    if (!inst.results.empty()) {
      for (Value v : inst.results) numbers_[v.at()] = next_result_;
      out_ += '%';
      append_integer(out_, next_result_++);
      if (inst.results.size() > 1) out_ += ":" + std::to_string(inst.results.size());
      out_ += " = ";
    }
    switch (info(inst.opcode).form) {
      case PrintForm::Pretty: pretty(inst); break;
      case PrintForm::Generic: generic(inst); break;
      case PrintForm::Special: special(inst); break;
    }
    location(inst);
    out_ += '\n';
  }

  void opcode(const Inst& inst) {
    out_ += "stablehlo.";
    out_ += info(inst.opcode).name;
  }

  void pretty(const Inst& inst) {
    opcode(inst);
    out_ += ' ';
    names(inst.operands);
    out_ += pretty_attributes(module_, inst);
    if (!prints_one_type(inst.opcode) || !all_equal(inst)) return functional_type(inst);
    out_ += " : ";
    append_text(out_, module_.type(inst.results[0]));
  }

  bool all_equal(const Inst& inst) const {
    const Type& result = module_.type(inst.results[0]);
    for (Value v : inst.operands)
      if (module_.type(v) != result) return false;
    return true;
  }

  void generic(const Inst& inst) {
    out_ += '"';
    opcode(inst);
    out_ += "\"(";
    names(inst.operands);
    out_ += ')';
    for (size_t i = 0; i < inst.regions.size(); ++i) {
      out_ += i == 0 ? " (" : ", ";
      region(module_.at(inst.regions[i]));
    }
    if (!inst.regions.empty()) out_ += ')';
    if (std::string attributes = generic_attributes(module_, inst); !attributes.empty())
      out_ += " {" + attributes + "}";
    functional_type(inst);
  }

  void special(const Inst& inst) {
    switch (inst.opcode) {
      case Opcode::Call: return call(inst);
      case Opcode::Compare: return compare(inst);
      case Opcode::Constant: return constant(inst);
      case Opcode::Convolution: return convolution(inst);
      case Opcode::Iota: return iota(inst);
      case Opcode::Reduce: return reduce(inst);
      case Opcode::Select: return select(inst);
      case Opcode::Slice: return slice(inst);
      default: return generic(inst);
    }
  }

  void call(const Inst& inst) {
    out_ += "call " + symbol(module_.at(module_.get<Call>(inst).callee).name) + "(";
    names(inst.operands);
    out_ += ')';
    functional_type(inst);
  }

  void compare(const Inst& inst) {
    const Compare& compare = module_.get<Compare>(inst);
    opcode(inst);
    out_ += " " + std::string(text_of(compare.direction)) + ", ";
    names(inst.operands);
    if (compare.type != ComparisonType::None) out_ += ", " + std::string(text_of(compare.type));
    functional_type(inst);
  }

  void constant(const Inst& inst) {
    const Type& type = module_.type(inst.results[0]);
    opcode(inst);
    out_ += ' ';
    append_dense(out_, module_.get<Constant>(inst), type, options_.hex_elements);
    out_ += " : ";
    append_text(out_, type);
  }

  void convolution(const Inst& inst) {
    opcode(inst);
    out_ += '(';
    names(inst.operands);
    out_ += ") " + convolution_attributes(module_.get<Convolution>(inst));
    functional_type(inst);
  }

  void iota(const Inst& inst) {
    opcode(inst);
    out_ += " dim = " + std::to_string(module_.get<Dimension>(inst).dimension) + " : ";
    append_text(out_, module_.type(inst.results[0]));
  }

  // The short form is for one operation on (accumulator, element).
  void reduce(const Inst& inst) {
    const Region& body = module_.at(inst.regions[0]);
    const bool short_form =
        body.insts.size() == 1 && body.arguments.size() == 2 && module_.at(body.insts[0]).operands == body.arguments &&
        module_.at(body.insts[0]).results == body.results && !info(module_.at(body.insts[0]).opcode).elements.empty();
    if (!short_form) return generic(inst);
    opcode(inst);
    out_ += '(';
    name(inst.operands[0]);
    out_ += " init: ";
    name(inst.operands[1]);
    out_ += ") applies ";
    opcode(module_.at(body.insts[0]));
    out_ += " across dimensions = " + list_text(module_.get<Dimensions>(inst).dimensions);
    functional_type(inst);
  }

  void select(const Inst& inst) {
    opcode(inst);
    out_ += ' ';
    names(inst.operands);
    out_ += " : ";
    append_text(out_, module_.type(inst.operands[0]));
    out_ += ", ";
    append_text(out_, module_.type(inst.results[0]));
  }

  void slice(const Inst& inst) {
    const Slice& slice = module_.get<Slice>(inst);
    opcode(inst);
    out_ += ' ';
    names(inst.operands);
    out_ += " [";
    for (size_t i = 0; i < slice.strides.size(); ++i) {
      if (i > 0) out_ += ", ";
      append_integer(out_, slice.start_indices[i].concrete());
      out_ += ':';
      append_integer(out_, slice.limit_indices[i].concrete());
      if (slice.strides[i] == 1) continue;
      out_ += ':';
      append_integer(out_, slice.strides[i]);
    }
    out_ += ']';
    functional_type(inst);
  }

  // ---- locations
  void location(const Inst& inst) {
    if (!options_.locations || !inst.location.has_value()) return;
    auto& alias = aliases_[inst.location.at()];
    if (!alias) {
      alias = used_.size();
      used_.push_back(inst.location);
    }
    out_ += " loc(#loc" + std::to_string(*alias) + ")";
  }

  void location_aliases() {
    for (size_t i = 0; i < used_.size(); ++i) {
      const Location& at = module_.locations[used_[i].at()];
      const std::string line = quoted_string(at.file) + ":" + std::to_string(std::max(at.line, 0)) + ":0";
      std::string text = at.file.empty() ? "unknown" : line;
      if (!at.name.empty()) text = quoted_string(at.name) + (at.file.empty() ? "" : "(" + line + ")");
      out_ += "#loc" + std::to_string(i) + " = loc(" + text + ")\n";
    }
  }

  const Module& module_;
  const PrintOptions& options_;
  std::string out_;
  std::vector<int64_t> numbers_;  // of a value in its function
  // Locations, in the order in which they are printed first; and by LocId their numbers among these.
  std::vector<LocId> used_;
  std::vector<std::optional<size_t>> aliases_;
  int64_t next_argument_ = 0;
  int64_t next_result_ = 0;
  size_t depth_ = 1;
};

}  // namespace

std::string to_text(const Module& module, const PrintOptions& options) { return Printer(module, options).run(); }

std::string signature_text(const Module& module) {
  auto text = [](const std::vector<Type>& types) {
    return "(" + join(types, ", ", [](const Type& t) { return to_text(t); }) + ")";
  };
  return text(module.argument_types()) + " -> " + text(module.result_types());
}

}  // namespace torchlift::stablehlo
