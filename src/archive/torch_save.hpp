// A pickle whose tensors lie in records beside it: torch.save files (data.pkl, data/KEY) and the two pickles of
// TorchScript.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "archive/pickle.hpp"
#include "archive/record.hpp"
#include "archive/zip.hpp"
#include "base/dtype.hpp"
#include "base/result.hpp"

namespace torchlift::archive {

// A strided tensor over a record. Element (i, j, …) begins at byte (offset + i * strides[0] + j * strides[1] + …) *
// width.
struct TensorRecord {
  Record record = {};
  DType dtype{};
  int64_t offset = 0;  // in elements, as are the strides
  std::vector<int64_t> sizes = {};
  std::vector<int64_t> strides = {};
  bool requires_grad = false;
  bool is_parameter = false;
};

// Refuses negative numbers, strides of another rank, and a tensor that reaches beyond its record. `name` is the
// tensor's.
Status check_bounds(const TensorRecord& tensor, std::string_view name);

// Refuses a `byteorder` other than "little" under `root`; a container without one is little-endian.
Status check_byte_order(const Zip& zip, std::string_view root);

class TorchSave {
 public:
  // Keep: sample inputs, whose containers may be of the user's own classes (a namedtuple's fields are the arguments of
  // its PickleObject); tensors are read all the same. The torch.save file that is `zip` (its root folder is found),
  // e.g. Archive::zip() or Archive::nested(member).
  static Result<TorchSave> read(Zip zip, UnknownGlobals unknown = UnknownGlobals::Refuse);
  // Any pickle with records beside it: TorchScript's ("ROOT/constants.pkl", "ROOT/constants/").
  static Result<TorchSave> read(Zip zip, std::string_view pickle_member, std::string_view record_prefix,
                                UnknownGlobals unknown = UnknownGlobals::Refuse);

  const Pickle& pickle() const { return pickle_; }
  PickleId root() const { return pickle_.root; }

  // The tensor with its record, bounds checked; `name` is for messages. CHECKs that the value is a PickleTensor.
  Result<TensorRecord> tensor(PickleId id, std::string_view name) const;

  // Root dict of strings, in its order and the last of equal keys: a state dict. Values may be any.
  Result<std::vector<std::pair<std::string, PickleId>>> named_values() const;

 private:
  TorchSave(Zip zip, std::string prefix, Pickle pickle)
      : zip_(std::move(zip)), prefix_(std::move(prefix)), pickle_(std::move(pickle)) {}

  Zip zip_;
  std::string prefix_;  // "archive/data/"
  Pickle pickle_;
};

}  // namespace torchlift::archive
