// The walk itself; private to this room. See evaluate.hpp for what it gives.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "lower/bind_arguments.hpp"
#include "lower/evaluate.hpp"

namespace torchlift::lower {

class Evaluator {
 public:
  // Records whose weights are written through different views: each is one argument, its weights are views of it.
  using Merged = std::set<torch::RecordId>;

  Evaluator(const torch::Program& program, const OpTable& table, const Options& options, const Merged& merged,
            const std::set<torch::WeightId>& not_inlined);

  // The whole program. Empty if there were errors.
  std::optional<Lowered> run();

  // After run(): what the next try must know. Both grow only.
  const Merged& to_merge() const { return to_merge_; }
  const std::set<torch::WeightId>& written_constants() const { return written_constants_; }
  DiagnosticSink& sink() { return sink_; }

 private:
  // ---- entry.cpp: arguments and results
  struct EntryStorage {
    Tensor root;
    Value initial;
    std::optional<size_t> argument;  // none: a constant
    torch::WeightId weight;          // the first one over it
    torch::RecordId record;
  };
  void make_inputs();
  void make_weights();
  Tensor weight_tensor(torch::WeightId id);
  Tensor whole_record(torch::RecordId record);
  Tensor add_argument(EntryArgument argument, Dims strides, torch::WeightId weight, torch::RecordId record);
  void apply_mutation(const torch::OutputSpec& spec, const IValue& value);
  void make_outputs(const std::vector<IValue>& values);
  void make_written_results();
  size_t add_result(EntryResult result, Value value);
  size_t add_output(const std::string& path, const Tensor& tensor, Value value);
  bool is_written(const EntryStorage& storage) const { return storage.root.node()->value != storage.initial; }

  // ---- evaluator.cpp: the walk
  std::vector<IValue> walk(torch::BlockId block, std::vector<IValue> inputs);
  void visit(torch::InstId id);
  std::vector<IValue> call(const torch::Inst& inst, std::vector<NamedValue> operands);
  std::vector<IValue> call_schema(const torch::Schema& schema, std::vector<NamedValue> operands);
  // custom.cpp
  std::vector<IValue> call_custom(const torch::Inst& inst, const CustomOp& op, const std::vector<NamedValue>& operands);
  // Whether an in-place view (t_, unsqueeze_) gives a tensor that the caller holds another shape: eager shows it, we
  // cannot.
  bool changes_entry_shape(const std::vector<IValue>& arguments, const std::vector<IValue>& results) const;
  // An operator of TorchScript: its own row if that takes these values, else an overload of ATen's.
  std::vector<IValue> call_overloaded(const torch::Inst& inst, std::vector<NamedValue> operands);
  void define(const torch::Inst& inst, std::vector<IValue> results, bool failed, bool tainted, size_t nodes_before);
  IValue checked(const torch::Inst& inst, torch::ValueId id, IValue value, bool failed, bool tainted,
                 size_t nodes_before);
  std::optional<stablehlo::Type> declared_type(torch::ValueId id) const;
  IValue stand_in(torch::ValueId id);  // for the result of a node that could not be lowered
  IValue value_of(const torch::Operand& operand);

  // ---- objects.cpp: what a TorchScript program has beside its graph
  Tensor weight(torch::WeightId id);
  IValue object(torch::ObjectId id);
  void make_root();
  IValue call_function(torch::FunctionId id, std::vector<IValue> arguments);
  std::vector<torch::ValueId> values_of(torch::BlockId block) const;  // defined in it and in its branches
  std::vector<IValue> script_results(const torch::Inst& inst, std::vector<IValue> results);
  void replace(const Tensor& old, const Tensor& by);  // an in-place view changes what the name means
  void make_script_outputs(const IValue& value);
  void make_attribute_results();
  void drop_unused_weights();

  Diagnostic placed(Diagnostic diagnostic) const;  // at the node that is walked
  void report(Diagnostic diagnostic);
  bool collect_refusals(const std::vector<NamedValue>& operands);

  const torch::Program& program_;
  const OpTable& table_;
  const Options& options_;
  const Merged& merged_;
  const std::set<torch::WeightId>& not_inlined_;
  Lowered out_;
  Lower l_;
  CustomCalls custom_calls_;
  DiagnosticSink sink_;
  std::vector<IValue> environment_;  // by ValueId
  // New tensors of another type than the file declares, reported when they are used: some kernels of PyTorch give other
  // sizes than its own tracing does (the bag sizes of embedding_bag), which matters to none who ignores them.
  std::map<torch::ValueId, Diagnostic> doubted_;
  std::vector<EntryStorage> storages_;
  std::vector<Tensor> weights_;  // by WeightId; poison until used
  std::vector<Value> result_values_;
  std::vector<std::string> result_names_;
  Merged to_merge_;
  std::set<torch::WeightId> written_constants_;
  std::optional<Script> script_;  // of a TorchScript program
  std::vector<IValue> objects_;   // by ObjectId; None until used
  struct Attribute {              // of an object of the file, before the walk
    ObjectRef object;
    std::string name;
    IValue initial;
    torch::TreeSpec tree;  // what it held in all: containers change in place
    std::vector<IValue> leaves;
    bool whole = true;  // false: more than was looked at
  };
  std::vector<Attribute> attributes_;
  std::vector<size_t> active_;                      // by FunctionId: calls that are not finished
  std::vector<const torch::Location*> call_stack_;  // of the calls that are walked, outermost first
  const torch::Inst* current_ = nullptr;
  int64_t depth_ = 0;
  size_t failures_seen_ = 0;
  size_t hidden_ = 0;
  size_t visited_ = 0;
};

}  // namespace torchlift::lower
