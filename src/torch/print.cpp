#include "torch/print.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "torch/cursor.hpp"
#include "torch/words.hpp"

namespace torchlift::torch {
namespace {

bool is_plain(std::string_view name, std::string_view also) {
  auto plain = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           also.find(c) != std::string_view::npos;
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), plain);
}

// The name as it is, or as a literal where it holds other characters.
std::string name_text(std::string_view name, std::string_view also = "") {
  return is_plain(name, also) ? std::string(name) : string_literal_of(name);
}

// In quotes, too, what a reader could take for another word of a line.
std::string target_text(const std::string& target) {
  bool clear = target.find(':') != std::string::npos && !target.starts_with("none");
  return clear ? name_text(target, ".:#") : string_literal_of(target);
}

std::string value_name(const Value& value) { return "%" + name_text(value.name, "."); }

std::string exprs_text(const std::vector<SymExpr>& exprs) {
  return join(exprs, ", ", [](const SymExpr& e) { return to_text(e); });
}

std::string numbers_text(const std::vector<int64_t>& numbers) {
  return "[" + join(numbers, ", ", [](int64_t n) { return std::to_string(n); }) + "]";
}

std::string tree_text(const TreeSpec& tree) {
  if (tree.is_leaf()) return "*";
  std::string keys = join(tree.keys, ", ", [](const std::string& key) { return string_literal_of(key); });
  std::string out = "(" + string_literal_of(tree.type) + " " + string_literal_of(tree.context) + " [" + keys + "]";
  for (const TreeSpec& child : tree.children) out += " " + tree_text(child);
  return out + ")";
}

struct OperandPrinter {
  const Program& program;

  std::string operator()(const None&) const { return "none"; }
  std::string operator()(ValueId id) const { return value_name(program.value(id)); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return shortest(value); }
  std::string operator()(const std::complex<double>& value) const {
    return "complex(" + shortest(value.real()) + ", " + shortest(value.imag()) + ")";
  }
  std::string operator()(const std::string& text) const { return string_literal_of(text); }
  std::string operator()(DType dtype) const { return "torch." + std::string(info(dtype).torch_name); }
  std::string operator()(Layout layout) const { return std::string(word_of(kLayoutWords, layout)); }
  std::string operator()(MemoryFormat format) const { return std::string(word_of(kMemoryFormatWords, format)); }
  std::string operator()(const Device& device) const {
    return "device(" + string_literal_of(device.type) + ", " + std::to_string(device.index) + ")";
  }
  std::string operator()(BlockId id) const { return "^" + std::to_string(id.index); }
  std::string operator()(WeightId id) const { return "weight " + std::to_string(id.index); }
  std::string operator()(ObjectId id) const { return "object " + std::to_string(id.index); }
  std::string operator()(const OperatorName& op) const { return "operator " + string_literal_of(op.name); }
  std::string operator()(const CustomObject& object) const {
    return "object(" + string_literal_of(object.name) + ", " + string_literal_of(object.class_name) + ")";
  }
  std::string operator()(const Operand::List& list) const {
    return "[" + join(list, ", ", [this](const Operand& operand) { return std::visit(*this, operand.data); }) + "]";
  }
};

class Printer {
 public:
  explicit Printer(const Program& program) : program_(program) {}
  std::string run() &&;

 private:
  void line(std::string_view text) {
    out_ += text;
    out_ += '\n';
  }
  void header();
  void weight(size_t index);
  void input(const InputSpec& input);
  void output(const OutputSpec& output);
  void class_of_code(size_t index);
  void function(size_t index);
  void object(size_t index);
  void block(size_t index);
  void inst(const Inst& inst);
  void location(size_t index);
  std::string operand(const Operand& operand) const { return print(program_, operand); }
  std::string result(const Operand& result) const;

  const Program& program_;
  std::string out_;
};

void Printer::header() {
  line("program " + string_literal_of(program_.name) + " producer " + string_literal_of(program_.producer) +
       " schema " + string_literal_of(program_.schema_version));
  if (!program_.argument_names.empty())
    line("arguments [" +
         join(program_.argument_names, ", ", [](const std::string& n) { return string_literal_of(n); }) + "]");
  if (program_.input_tree) line("input_tree " + tree_text(*program_.input_tree));
  if (program_.output_tree) line("output_tree " + tree_text(*program_.output_tree));
  for (const Range& range : program_.ranges) {
    std::string text = "range (" + to_text(range.expr) + ")";
    if (range.min) text += " min " + std::to_string(*range.min);
    if (range.max) text += " max " + std::to_string(*range.max);
    line(text);
  }
  for (const auto& [symbol, size] : program_.hints) line("hint " + symbol + " " + std::to_string(size));
}

void Printer::weight(size_t index) {
  const Weight& weight = program_.weights[index];
  line("weight " + std::to_string(index) + " " + string_literal_of(weight.name) + " " +
       std::string(info(weight.dtype).short_name) + numbers_text(weight.sizes) + " strides " +
       numbers_text(weight.strides) + " offset " + std::to_string(weight.storage_offset) + " record " +
       std::to_string(weight.record.index) + " elements " + std::to_string(weight.record_elements) +
       (weight.is_parameter ? " parameter" : "") + (weight.is_constant ? " constant" : ""));
}

void Printer::input(const InputSpec& input) {
  std::string text =
      "input " + std::string(word_of(kInputKindWords, input.kind)) + " " + string_literal_of(input.target);
  if (input.weight.has_value()) text += " weight " + std::to_string(input.weight.index);
  if (!input.persistent) text += " transient";
  line(text + " = " + operand(input.argument));
}

void Printer::output(const OutputSpec& output) {
  line("output " + std::string(word_of(kOutputKindWords, output.kind)) + " " + string_literal_of(output.target) +
       " = " + operand(output.argument));
}

void Printer::class_of_code(size_t index) {
  const Class& each = program_.classes[index];
  line("class " + std::to_string(index) + " " + std::string(word_of(kClassKindWords, each.kind)) + " " +
       string_literal_of(each.name));
  for (const auto& [name, type] : each.attributes)
    line("  attribute " + string_literal_of(name) + " " + string_literal_of(type));
  for (const auto& [name, value] : each.constants)
    line("  constant " + string_literal_of(name) + " = " + operand(value));
  for (const std::string& name : each.parameters) line("  parameter " + string_literal_of(name));
  for (const std::string& name : each.buffers) line("  buffer " + string_literal_of(name));
  for (const std::string& name : each.forward_pre_hooks) line("  forward_pre_hook " + string_literal_of(name));
  for (const std::string& name : each.forward_hooks) line("  forward_hook " + string_literal_of(name));
}

void Printer::function(size_t index) {
  const Function& each = program_.functions[index];
  line((each.is_method ? "method " : "function ") + std::to_string(index) + " " + string_literal_of(each.name) + " ^" +
       std::to_string(each.block.index) + " -> " + string_literal_of(each.result_type));
  for (const Parameter& parameter : each.parameters)
    line("  takes " + string_literal_of(parameter.name) + " " + string_literal_of(parameter.type) +
         (parameter.default_value ? " = " + operand(*parameter.default_value) : ""));
}

void Printer::object(size_t index) {
  const Object& each = program_.objects[index];
  line("object " + std::to_string(index) + " " + std::string(word_of(kObjectKindWords, each.kind)) + " " +
       string_literal_of(each.type));
  for (const auto& [key, value] : each.items) line("  item " + operand(key) + " = " + operand(value));
}

std::string Printer::result(const Operand& result) const {
  if (const auto* id = result.get<ValueId>())
    return value_name(program_.value(*id)) + ": " + print(program_.value(*id));
  const auto* list = result.get<Operand::List>();
  if (list == nullptr) return "none";
  return "[" + join(*list, ", ", [this](const Operand& part) { return this->result(part); }) + "]";
}

void Printer::inst(const Inst& inst) {
  std::string text = "  ";
  if (!inst.results.empty())
    text += join(inst.results, ", ", [this](const Operand& each) { return result(each); }) + " = ";
  if (inst.kind == InstKind::Overloaded) text += "overloaded ";
  text += target_text(inst.target) + "(";
  text += join(inst.operands, ", ", [this](const NamedOperand& named) {
    return (named.name.empty() ? "" : name_text(named.name) + "=") + operand(named.value);
  });
  text += ")";
  if (!inst.name.empty()) text += " " + string_literal_of(inst.name);
  line(text + " @" + std::to_string(inst.location.index));
}

void Printer::block(size_t index) {
  const Block& block = program_.blocks[index];
  line("");
  line("block " + std::to_string(index) + " " + string_literal_of(block.name) + (block.is_branch ? " branch" : ""));
  for (ValueId id : block.inputs) line("  input " + value_name(program_.value(id)) + ": " + print(program_.value(id)));
  for (InstId id : block.insts) inst(program_.inst(id));
  line("  return " + join(block.outputs, ", ", [this](const Operand& output) { return operand(output); }));
}

void Printer::location(size_t index) {
  const Location& location = program_.locations[index];
  line("location " + std::to_string(index) + " " + string_literal_of(location.module_path) + " " +
       string_literal_of(location.module_type));
  for (const SourceLine& frame : location.frames)
    line("  frame " + string_literal_of(frame.file) + " " + std::to_string(frame.line) + " " +
         string_literal_of(frame.function) + " " + string_literal_of(frame.text));
}

std::string Printer::run() && {
  header();
  for (size_t i = 0; i < program_.weights.size(); ++i) weight(i);
  for (const InputSpec& each : program_.inputs) input(each);
  for (const OutputSpec& each : program_.outputs) output(each);
  for (size_t i = 0; i < program_.classes.size(); ++i) class_of_code(i);
  for (size_t i = 0; i < program_.functions.size(); ++i) function(i);
  for (size_t i = 0; i < program_.objects.size(); ++i) object(i);
  if (program_.root.has_value()) line("root " + std::to_string(program_.root.index));
  for (size_t i = 0; i < program_.blocks.size(); ++i) block(i);
  if (!program_.locations.empty()) line("");
  for (size_t i = 0; i < program_.locations.size(); ++i) location(i);
  return std::move(out_);
}

}  // namespace

std::string print(const TensorMeta& meta) {
  std::string out = std::string(info(meta.dtype).short_name) + "[" + exprs_text(meta.sizes) + "]";
  if (!meta.strides.empty()) out += "{" + exprs_text(meta.strides) + "}";
  if (meta.storage_offset != SymExpr::of(0)) out += " offset (" + to_text(meta.storage_offset) + ")";
  if (meta.layout != Layout::Strided) out += " " + std::string(word_of(kLayoutWords, meta.layout));
  if (meta.requires_grad) out += " grad";
  return out;
}

std::string print(const Value& value) {
  bool plain_tensor = value.kind == ValueKind::Tensor && value.meta;
  std::string out = plain_tensor ? "" : std::string(word_of(kValueKindWords, value.kind));
  if (value.meta) out += (plain_tensor ? "" : " ") + print(*value.meta);
  if (value.expr) out += " (" + to_text(*value.expr) + ")";
  return out;
}

std::string print(const Program& program, const Operand& operand) {
  return std::visit(OperandPrinter{program}, operand.data);
}

std::string print(const Program& program) { return Printer(program).run(); }

}  // namespace torchlift::torch
