// A safe unpickler: a fixed list of opcodes, a fixed list of constructors, nothing is imported or called. The result is
// a flat vector of values that name each other by id: a value that the pickle holds twice is one value with one id, and
// a list may contain itself (whoever walks the values bounds the depth).
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.hpp"
#include "base/dtype.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"

namespace torchlift::archive {

inline constexpr uint64_t kMaxPickleBytes = uint64_t{256} << 20;
inline constexpr uint64_t kMaxPickleTreeBytes = uint64_t{512} << 20;  // memory of all values together
inline constexpr size_t kMaxTensorRank = 64;                          // PyTorch's own limit
inline constexpr size_t kMaxGlobalName = 1024;
inline constexpr size_t kMaxStorageKey = 64;

using PickleId = Id<struct PickleValueTag>;

struct PickleNone {};

struct PickleBytes {
  std::string bytes;
};

struct PickleList {
  std::vector<PickleId> items;
  PickleId type;  // of restore_type_tag or build_intlist and the like: a string, "List[int]"; none else
};

struct PickleTuple {  // torch.Size too
  std::vector<PickleId> items;
};

struct PickleDict {  // dict and OrderedDict, in the order of insertion; a key may come twice, the last one counts
  std::vector<std::pair<PickleId, PickleId>> items;
  PickleId type;   // "Dict[str, Tensor]", as above
  PickleId state;  // attributes that BUILD gave it (`_metadata` of a state dict); none else
};

struct PickleGlobal {  // a class, function or constant that is named
  std::string module;
  std::string name;

  std::string qualified() const { return module + "." + name; }
};

// An instance of a class that is kept as it is named: `__torch__…` always, others only with UnknownGlobals::Keep. An
// enum member of TorchScript is called with its raw value.
struct PickleObject {
  PickleId type;                                     // a PickleGlobal
  PickleId arguments;                                // of the call: a tuple, or the raw value; none if there was none
  PickleId state;                                    // of BUILD; none if there was none
  std::vector<std::pair<PickleId, PickleId>> items;  // of SETITEMS on it; APPENDS gives keys that are none
};

struct PickleStorage {
  std::string key;             // the record is PREFIX + key
  std::string storage_class;   // "FloatStorage", "UntypedStorage"
  std::optional<DType> dtype;  // none: untyped (elements are bytes), or quantised
  int64_t elements = 0;        // not negative
};

struct PickleTensor {
  PickleId storage;
  DType dtype{};
  int64_t offset = 0;  // in elements; not negative, as are sizes and strides
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;  // as many as sizes
  bool requires_grad = false;
  bool is_parameter = false;
};

// A quantised tensor; its type is the storage class ("QUInt8Storage").
struct PickleQuantized {
  PickleId raw;        // a PickleTensor of the raw integers
  PickleId quantizer;  // tuple (qscheme, scale, zero point) or (qscheme, scales, zero points, axis)
};

struct PickleDevice {
  std::string text;  // "cuda:0"
};

using PickleValue = std::variant<PickleNone, bool, int64_t, double, std::complex<double>, std::string, PickleBytes,
                                 PickleList, PickleTuple, PickleDict, PickleGlobal, PickleObject, PickleStorage,
                                 PickleTensor, PickleQuantized, PickleDevice, DType>;

struct Pickle {
  std::vector<PickleValue> values;
  PickleId root;

  const PickleValue& operator[](PickleId id) const { return values[id.at()]; }
  template <typename T>
  const T* get_if(PickleId id) const {
    return id.has_value() ? std::get_if<T>(&values[id.at()]) : nullptr;
  }
  // The value of a string key in a dict, or in the attributes of an object whose state is a dict; none if there is
  // none.
  PickleId attribute(PickleId dict_or_object, std::string_view key) const;
  // "__torch__.M" of an object, or a global; empty for others.
  std::string class_name(PickleId id) const;
  // Python-like text of a value, for tests and messages; nesting deeper than `depth` is "...".
  std::string text(PickleId id, int depth = 8) const;
};

enum class UnknownGlobals : uint8_t {
  Refuse,  // a diagnostic that names it; `__torch__…` classes are kept
  Keep,    // values named by it become a PickleObject, to say what is in a file that is no model
};

// `file` and `member` go into diagnostics.
struct PickleOptions {
  std::string file = {};
  std::string member = {};
  UnknownGlobals unknown = UnknownGlobals::Refuse;
  uint64_t max_tree_bytes = kMaxPickleTreeBytes;
};

Result<Pickle> read_pickle(ByteView bytes, const PickleOptions& options);

}  // namespace torchlift::archive
