// The values of the two pickles of a TorchScript archive (data.pkl, constants.pkl) as operands, objects and weights of
// a torch::Program. The program's classes say what is read of an object, so that reading has two steps: value(), which
// names a value, and finish(), which reads what the named objects hold.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "archive/record.hpp"
#include "archive/torch_save.hpp"
#include "base/result.hpp"
#include "torch/program.hpp"
#include "torch/script_type.hpp"

namespace torchlift::frontend::script {

inline constexpr size_t kMaxObjects = size_t{1} << 20;
inline constexpr size_t kMaxObjectItems = size_t{1} << 22;  // of all objects together
inline constexpr size_t kMaxObjectDepth = 128;              // of objects in objects
inline constexpr size_t kMaxPathBytes = 4096;               // "encoder.layers.0.weight"

// What the pickles of one archive add to.
struct Harvest {
  torch::Program& program;
  std::string file;                           // the model file, for messages
  std::vector<archive::Record> records = {};  // by RecordId
  std::map<std::string, torch::RecordId, std::less<>> records_by_member = {};
  std::set<std::string, std::less<>> weight_names = {};
  size_t items = 0;
  std::vector<Diagnostic> problems = {};
};

class ObjectReader {
 public:
  // `constants`: the tensors are no part of the state dict. Both arguments outlive the reader.
  ObjectReader(const archive::TorchSave& saved, bool constants, Harvest& harvest)
      : saved_(saved), pickle_(saved.pickle()), constants_(constants), harvest_(harvest) {}

  // A literal, a weight, or an object that finish() will fill. `path` is the value's name, and the beginning of the
  // names of the tensors in it; it has to stay alive.
  torch::Operand value(archive::PickleId id, std::string_view path);

  // Reads all objects that value() has named and what they hold, depth first, in the order of the classes'
  // declarations. Problems go to the harvest.
  void finish();

 private:
  using PickleId = archive::PickleId;
  // A step of a path: an attribute, a key, or a position in a list.
  struct Step {
    int32_t parent = -1;
    std::string_view name;
    int64_t position = -1;
  };
  struct Pending {
    PickleId id;
    torch::ObjectId object;
    const torch::ScriptType* declared = nullptr;  // nullptr: not known
    int32_t step = -1;
    size_t depth = 0;
  };

  int32_t add_step(int32_t parent, std::string_view name, int64_t position = -1);
  std::string path_of(int32_t step) const;
  std::string shown_path(int32_t step) const;  // for messages
  torch::Operand named(PickleId id, const torch::ScriptType* declared, int32_t step, size_t depth);
  torch::Operand object(PickleId id, const torch::ScriptType* declared, int32_t step, size_t depth);
  torch::Operand weight(PickleId id, int32_t step);
  torch::RecordId intern(const archive::Record& record);
  void add_problem(Diagnostic problem);
  void wrong(int32_t step, std::string got, std::string expected);

  void fill(const Pending& pending);
  void fill_instance(const archive::PickleObject& object, const Pending& pending);
  void fill_enum(const archive::PickleObject& object, const torch::Class& type, const Pending& pending);
  void fill_list(const archive::PickleList& list, const Pending& pending);
  void fill_dict(const archive::PickleDict& dict, const Pending& pending);
  void fill_tuple(const archive::PickleTuple& tuple, const Pending& pending);
  const torch::Class* expect_class(const archive::PickleObject& object, const Pending& pending);
  const torch::ScriptType* type_of(const std::string& text, int32_t step);
  const torch::ScriptType* tagged(PickleId type, std::string_view container, const Pending& pending);
  bool charge(size_t items);
  void look_up_names();

  const archive::TorchSave& saved_;
  const archive::Pickle& pickle_;
  bool constants_;
  Harvest& harvest_;
  bool stopped_ = false;  // by a limit
  std::vector<Step> steps_;
  std::vector<Pending> pending_;                                         // the last one is read next
  std::map<PickleId, torch::WeightId> weights_;                          // of tensors
  std::map<std::pair<PickleId, std::string>, torch::ObjectId> objects_;  // a tuple has one for each declared type
  std::unordered_set<torch::ObjectId> filled_;
  std::unordered_map<std::string, torch::ScriptType> types_;  // by their text
  std::unordered_map<std::string_view, const torch::Class*> classes_;
  std::unordered_set<std::string_view> functions_;
};

// Refuses objects that hold themselves, or others in more than kMaxObjectDepth levels.
Status check_object_tree(const torch::Program& program, const std::string& file);

}  // namespace torchlift::frontend::script
