#include "frontend/export/weights.hpp"

#include <set>
#include <tuple>

#include "base/kinds.hpp"
#include "base/text.hpp"

namespace torchlift::frontend {
namespace {

using archive::TensorRecord;
using torch::InputKind;
using torch::InputSpec;

std::string type_text(DType dtype, const std::vector<int64_t>& sizes) {
  return std::string(info(dtype).short_name) + "[" +
         join(sizes, ",", [](int64_t size) { return std::to_string(size); }) + "]";
}

// The sizes that the program declares, where they are all plain numbers.
std::optional<std::vector<int64_t>> declared_sizes(const torch::TensorMeta& meta) {
  std::vector<int64_t> out;
  for (const torch::SymExpr& size : meta.sizes) {
    if (!size.is_integer()) return std::nullopt;
    out.push_back(size.integer);
  }
  return out;
}

std::string_view kind_name(InputKind kind) {
  return kind == InputKind::Parameter ? "parameter" : kind == InputKind::Buffer ? "buffer" : "constant";
}

class WeightReader {
 public:
  WeightReader(const archive::Archive& archive, torch::Program& program, TensorStore& weights, TensorStore& constants)
      : archive_(archive), program_(program), weights_(weights), constants_(constants) {}

  Result<torch::WeightId> weight(const InputSpec& input);
  std::vector<archive::Record> take_records() && { return std::move(records_); }

 private:
  Status matches_program(const InputSpec& input, const TensorRecord& tensor) const;
  torch::RecordId intern(const archive::Record& record);

  const archive::Archive& archive_;
  torch::Program& program_;
  TensorStore& weights_;
  TensorStore& constants_;
  std::map<std::string, torch::WeightId, std::less<>> by_name_;
  std::map<std::tuple<std::string, uint64_t, uint64_t>, torch::RecordId> by_place_;
  std::vector<archive::Record> records_;
};

torch::RecordId WeightReader::intern(const archive::Record& record) {
  auto [place, is_new] =
      by_place_.try_emplace({record.member, record.offset, record.size}, torch::RecordId(records_.size()));
  if (is_new) records_.push_back(record);
  return place->second;
}

Status WeightReader::matches_program(const InputSpec& input, const TensorRecord& tensor) const {
  const auto* id = input.argument.get<torch::ValueId>();
  if (id == nullptr || !program_.value(*id).meta) return Unit{};
  const torch::TensorMeta& meta = *program_.value(*id).meta;
  std::optional<std::vector<int64_t>> sizes = declared_sizes(meta);
  if (!sizes || (*sizes == tensor.sizes && meta.dtype == tensor.dtype)) return Unit{};
  return diagnose(Kind::WeightShape,
                  {{"name", printable(input.target)},
                   {"got", type_text(tensor.dtype, tensor.sizes)},
                   {"expected", type_text(meta.dtype, *sizes)}},
                  archive_.name());
}

// Parameters and persistent buffers are weights, the others constants; each is looked for in both places.
Result<torch::WeightId> WeightReader::weight(const InputSpec& input) {
  if (auto known = by_name_.find(input.target); known != by_name_.end()) return known->second;
  bool constant_first =
      input.kind == InputKind::TensorConstant || (input.kind == InputKind::Buffer && !input.persistent);
  TensorStore* store = constant_first ? &constants_ : &weights_;
  if (!store->contains(input.target)) store = constant_first ? &weights_ : &constants_;
  if (!store->contains(input.target))
    return diagnose(Kind::WeightNotSaved,
                    {{"kind", std::string(kind_name(input.kind))}, {"name", printable(input.target)}}, archive_.name());
  TRY(TensorRecord tensor, store->tensor(input.target));
  TRY_OK(matches_program(input, tensor));
  torch::WeightId id(program_.weights.size());
  program_.weights.push_back({.name = input.target,
                              .dtype = tensor.dtype,
                              .sizes = std::move(tensor.sizes),
                              .strides = std::move(tensor.strides),
                              .storage_offset = tensor.offset,
                              .record = intern(tensor.record),
                              .record_elements = static_cast<int64_t>(tensor.record.size) / info(tensor.dtype).bytes,
                              .is_parameter = input.kind == InputKind::Parameter});
  by_name_.emplace(input.target, id);
  return id;
}

// Names of the custom objects that instructions use. One may also be an input that nothing uses.
std::set<std::string> used_objects(const torch::Program& program) {
  std::set<std::string> out;
  auto look = [&](const torch::Operand& operand) {
    if (const auto* object = operand.get<torch::CustomObject>()) out.insert(object->name);
    const auto* id = operand.get<torch::ValueId>();
    if (id != nullptr && program.value(*id).kind == torch::ValueKind::CustomObject) out.insert(program.value(*id).name);
  };
  for (const torch::Inst& inst : program.insts) {
    for (const torch::NamedOperand& operand : inst.operands) {
      look(operand.value);
      if (const auto* list = operand.value.get<torch::Operand::List>())
        for (const torch::Operand& part : *list) look(part);
    }
  }
  return out;
}

}  // namespace

Result<std::vector<archive::Record>> read_weights(archive::Archive& archive, torch::Program& program) {
  TRY(std::unique_ptr<TensorStore> weights, open_weights(archive, program.name));
  TRY(std::unique_ptr<TensorStore> constants, open_constants(archive, program.name));
  WeightReader reader(archive, program, *weights, *constants);
  std::vector<Diagnostic> problems;
  for (const std::string& name : used_objects(program))
    problems.push_back(diagnose(Kind::CustomObject, {{"name", printable(name)}}, archive.name()));
  for (InputSpec& input : program.inputs) {
    if (input.kind != InputKind::Parameter && input.kind != InputKind::Buffer &&
        input.kind != InputKind::TensorConstant)
      continue;
    Result<torch::WeightId> weight = reader.weight(input);
    if (weight) {
      input.weight = *weight;
    } else {
      for (Diagnostic& problem : weight.errors()) problems.push_back(std::move(problem));
    }
  }
  if (!problems.empty()) return problems;
  return std::move(reader).take_records();
}

}  // namespace torchlift::frontend
