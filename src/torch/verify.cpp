#include "torch/verify.hpp"

#include <optional>
#include <string_view>
#include <unordered_set>

#include "base/kinds.hpp"
#include "base/text.hpp"

namespace torchlift::torch {
namespace {

constexpr size_t kMaxProblems = 20;

// What is looked at, put into words only where something is wrong with it.
struct Where {
  std::string_view kind;
  std::string_view name;  // of the program
  std::optional<size_t> number;
};

class Verifier {
 public:
  explicit Verifier(const Program& program)
      : program_(program),
        defined_in_(program.values.size()),
        defined_at_(program.values.size(), 0),
        depth_(program.blocks.size(), 0),
        inst_used_(program.insts.size(), false),
        holders_(program.blocks.size()),
        names_(program.blocks.size()) {}
  std::vector<Diagnostic> run();

 private:
  void add(const Where& where, std::string problem);
  void add(std::string where, std::string problem);
  void block(size_t index);
  void inst(InstId id);
  void operand(const Operand& operand, size_t depth);
  void reference(const Operand& operand);
  void literal(const Operand& operand, size_t depth);
  bool sees(ValueId id) const;
  bool is_named_outside(const std::string& name) const;
  void function(const Function& function);
  void classes_and_objects();
  void nested(BlockId id);
  void result(const Operand& operand, size_t depth);
  void define(ValueId id);
  void value(const Value& value);
  void inputs();
  void outputs();
  void weight(const Weight& weight);

  const Program& program_;
  std::vector<Diagnostic> problems_;
  std::vector<BlockId> defined_in_;
  std::vector<size_t> defined_at_;  // in that block: 0 of an input, n of the n-th instruction's result
  std::vector<size_t> depth_;       // of nested blocks that have been met, from 1
  std::vector<bool> inst_used_;
  struct Holder {
    BlockId block;
    size_t at = 0;  // its n-th instruction
  };
  std::vector<Holder> holders_;  // of nested blocks that have been met
  BlockId current_;
  size_t at_ = 0;                                            // in the current block
  std::vector<std::unordered_set<std::string_view>> names_;  // of each block
  Where where_;
};

void Verifier::add(const Where& where, std::string problem) {
  std::string text(where.kind);
  if (where.number) text += std::to_string(*where.number);
  else if (where.kind.empty() || where.kind.ends_with(' ')) text += "`" + printable(where.name) + "`";
  add(std::move(text), std::move(problem));
}

void Verifier::add(std::string where, std::string problem) {
  if (problems_.size() < kMaxProblems)
    problems_.push_back(
        diagnose(Kind::ProgramStructure, {{"where", std::move(where)}, {"problem", std::move(problem)}}));
}

void Verifier::define(ValueId id) {
  if (!id.has_value() || id.at() >= program_.values.size())
    return add(where_, "defines a value that the program does not have");
  if (defined_in_[id.at()].has_value())
    return add(where_, "defines `" + printable(program_.value(id).name) + "` a second time");
  defined_in_[id.at()] = current_;
  defined_at_[id.at()] = at_;
  const std::string& name = program_.value(id).name;
  if (name.empty()) return add(where_, "defines a value without a name");
  if (is_named_outside(name) || !names_[current_.at()].insert(name).second)
    add(where_, "defines a second value called `" + printable(name) + "`");
}

void Verifier::result(const Operand& operand, size_t depth) {
  if (const auto* id = operand.get<ValueId>()) return define(*id);
  if (operand.is_none()) return;
  const auto* list = operand.get<Operand::List>();
  if (list == nullptr || depth > 0) return add(where_, "has a result that is neither a value nor a list of values");
  for (const Operand& part : *list) result(part, depth + 1);
}

void Verifier::nested(BlockId id) {
  if (!id.has_value() || id.at() >= program_.blocks.size())
    return add(where_, "holds a block that the program does not have");
  if (id <= current_) return add(where_, "holds a block that does not come after its own");
  if (depth_[id.at()] > 0) return add(where_, "holds a block that another place holds too");
  depth_[id.at()] = depth_[current_.at()] + 1;
  holders_[id.at()] = {current_, at_};
  if (depth_[id.at()] >= kMaxBlockDepth) add(where_, "is nested too deep");
}

// A branch's values are told from those it sees by their names.
bool Verifier::is_named_outside(const std::string& name) const {
  for (BlockId at = current_; program_.block(at).is_branch && holders_[at.at()].block.has_value();) {
    at = holders_[at.at()].block;
    if (names_[at.at()].contains(name)) return true;
  }
  return false;
}

// Whether a value of the program is defined before this place, in this block or in one whose branch it is.
bool Verifier::sees(ValueId id) const {
  BlockId defined = defined_in_[id.at()];
  if (!defined.has_value()) return false;
  for (BlockId at = current_; at != defined; at = holders_[at.at()].block) {
    const Holder& holder = holders_[at.at()];
    if (!program_.block(at).is_branch || !holder.block.has_value()) return false;
    if (holder.block == defined) return defined_at_[id.at()] < holder.at;
  }
  return true;
}

// A weight or an object by its id.
void Verifier::reference(const Operand& operand) {
  const auto* weight = operand.get<WeightId>();
  const auto* object = operand.get<ObjectId>();
  if (weight && (!weight->has_value() || weight->at() >= program_.weights.size()))
    add(where_, "uses a weight that the program does not have");
  if (object && (!object->has_value() || object->at() >= program_.objects.size()))
    add(where_, "uses an object that the program does not have");
}

// Of an object, a default or a class: no value and no block.
void Verifier::literal(const Operand& operand, size_t depth) {
  if (depth >= kMaxOperandDepth) return add(where_, "has lists nested too deep");
  if (operand.get<ValueId>() || operand.get<BlockId>()) return add(where_, "holds a value of a block");
  reference(operand);
  if (const auto* list = operand.get<Operand::List>())
    for (const Operand& part : *list) literal(part, depth + 1);
}

void Verifier::operand(const Operand& operand, size_t depth) {
  if (depth >= kMaxOperandDepth) return add(where_, "has lists nested too deep");
  if (const auto* id = operand.get<ValueId>()) {
    bool known = id->has_value() && id->at() < program_.values.size();
    if (!known) return add(where_, "uses a value that the program does not have");
    if (!sees(*id))
      add(where_, "uses `" + printable(program_.value(*id).name) + "`, which is not defined before it in its block");
  } else if (const auto* block = operand.get<BlockId>()) {
    nested(*block);
  } else if (const auto* list = operand.get<Operand::List>()) {
    for (const Operand& part : *list) this->operand(part, depth + 1);
  } else {
    reference(operand);
  }
}

void Verifier::inst(InstId id) {
  if (!id.has_value() || id.at() >= program_.insts.size())
    return add(where_, "holds an instruction that the program does not have");
  Where block = where_;
  const Inst& inst = program_.inst(id);
  where_ = {"", inst.name.empty() ? inst.target : inst.name, {}};
  if (inst_used_[id.at()]) add(where_, "stands in two places");
  inst_used_[id.at()] = true;
  if (inst.target.empty()) add(where_, "has no target");
  if (!inst.location.has_value() || inst.location.at() >= program_.locations.size()) add(where_, "has no location");
  for (const NamedOperand& named : inst.operands) operand(named.value, 0);
  for (const Operand& each : inst.results) result(each, 0);
  where_ = block;
}

void Verifier::block(size_t index) {
  current_ = BlockId(index);
  at_ = 0;
  where_ = index == 0 ? Where{"the entry", "", {}} : Where{"block ", program_.blocks[index].name, {}};
  if (index > 0 && depth_[index] == 0) add(where_, "is held by no instruction before it");
  const Block& block = program_.blocks[index];
  for (ValueId input : block.inputs) define(input);
  for (InstId id : block.insts) {
    ++at_;
    inst(id);
  }
  ++at_;
  for (const Operand& output : block.outputs) operand(output, 0);
}

void Verifier::function(const Function& function) {
  where_ = {"function ", function.name, {}};
  for (const Parameter& parameter : function.parameters)
    if (parameter.default_value) literal(*parameter.default_value, 0);
  BlockId id = function.block;
  if (!id.has_value() || id.at() == 0 || id.at() >= program_.blocks.size())
    return add(where_, "has no block of its own");
  if (depth_[id.at()] > 0) return add(where_, "has a block that another place holds too");
  depth_[id.at()] = 1;
  const Block& block = program_.block(id);
  if (block.is_branch) add(where_, "has a block that is a branch");
  if (block.inputs.size() != function.parameters.size()) add(where_, "has not as many inputs as parameters");
  if (block.outputs.size() != 1) add(where_, "has " + std::to_string(block.outputs.size()) + " outputs, not one");
}

void Verifier::classes_and_objects() {
  for (const Class& each : program_.classes) {
    where_ = {"class ", each.name, {}};
    for (const auto& [name, value] : each.constants) literal(value, 0);
  }
  for (size_t i = 0; i < program_.objects.size(); ++i) {
    where_ = {"object ", "", i};
    for (const auto& [key, value] : program_.objects[i].items) {
      literal(key, 0);
      literal(value, 0);
    }
  }
  where_ = {"the root", "", {}};
  if (program_.root.has_value()) reference(Operand{program_.root});
}

void Verifier::value(const Value& value) {
  if (value.meta && !value.meta->strides.empty() && value.meta->strides.size() != value.meta->sizes.size())
    add("`" + printable(value.name) + "`", "has " + std::to_string(value.meta->strides.size()) + " strides for " +
                                               std::to_string(value.meta->sizes.size()) + " sizes");
}

void Verifier::inputs() {
  std::vector<ValueId> ids;
  for (const InputSpec& input : program_.inputs) {
    const auto* id = input.argument.get<ValueId>();
    if (id) ids.push_back(*id);
    bool weighed = input.kind == InputKind::Parameter || input.kind == InputKind::Buffer ||
                   input.kind == InputKind::TensorConstant;
    if (!id && input.kind != InputKind::Constant && input.kind != InputKind::User)
      add("input `" + printable(input.target) + "`", "is no value");
    if (weighed && (!input.weight.has_value() || input.weight.at() >= program_.weights.size()))
      add("input `" + printable(input.target) + "`", "has no weight");
  }
  if (ids != program_.entry().inputs) add("the signature", "names other inputs than the entry has");
}

void Verifier::outputs() {
  const std::vector<Operand>& results = program_.entry().outputs;
  if (program_.outputs.size() != results.size())
    return add("the signature", "has another number of outputs than the entry");
  for (size_t i = 0; i < results.size(); ++i) {
    const auto* id = program_.outputs[i].argument.get<ValueId>();
    const auto* result = results[i].get<ValueId>();
    if ((id == nullptr) != (result == nullptr) || (id != nullptr && *id != *result))
      add("output " + std::to_string(i) + " of the signature", "is not what the entry returns there");
  }
}

void Verifier::weight(const Weight& weight) {
  const Where where{"weight ", weight.name, {}};
  if (!weight.record.has_value()) return add(where, "has no record");
  if (weight.sizes.size() != weight.strides.size()) return add(where, "has not as many strides as sizes");
  bool sane = weight.storage_offset >= 0 && weight.record_elements >= 0;
  bool empty = false;
  int64_t last = weight.storage_offset;
  for (size_t i = 0; i < weight.sizes.size() && sane; ++i) {
    int64_t step = 0;
    empty = empty || weight.sizes[i] == 0;
    sane = weight.sizes[i] >= 0 && weight.strides[i] >= 0;
    if (weight.sizes[i] > 0)
      sane = sane && !__builtin_mul_overflow(weight.sizes[i] - 1, weight.strides[i], &step) &&
             !__builtin_add_overflow(last, step, &last);
  }
  if (!sane || (!empty && last >= weight.record_elements)) add(where, "reaches beyond its record");
}

std::vector<Diagnostic> Verifier::run() {
  if (program_.blocks.empty()) {
    add("the program", "has no entry");
    return std::move(problems_);
  }
  for (const Function& each : program_.functions) function(each);
  classes_and_objects();
  for (size_t i = 0; i < program_.blocks.size(); ++i) block(i);
  for (size_t i = 0; i < program_.values.size(); ++i)
    if (!defined_in_[i].has_value())
      add("`" + printable(program_.values[i].name) + "`", "is a value that nothing defines");
  for (size_t i = 0; i < program_.insts.size(); ++i)
    if (!inst_used_[i]) add("`" + printable(program_.insts[i].name) + "`", "is an instruction of no block");
  for (const Value& each : program_.values) value(each);
  for (const Weight& each : program_.weights) weight(each);
  inputs();
  outputs();
  return std::move(problems_);
}

}  // namespace

Status verify(const Program& program) {
  std::vector<Diagnostic> problems = Verifier(program).run();
  if (!problems.empty()) return problems;
  return Unit{};
}

}  // namespace torchlift::torch
