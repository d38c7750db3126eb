// The values of one pickle while it is read, and the constructors that it may call. (The opcodes: unpickler.cpp.)
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "archive/pickle.hpp"
#include "base/result.hpp"

namespace torchlift::archive {

class PickleBuilder {
 public:
  explicit PickleBuilder(const PickleOptions& options) : options_(options) {}

  // The byte of the opcode at work, for messages.
  void at(size_t offset) { offset_ = offset; }

  // `heap` is the memory that the value holds beside itself.
  Result<PickleId> add(PickleValue value, size_t heap = 0);
  Result<PickleId> add_text(std::string_view text) { return add(std::string(text), text.size()); }
  Result<PickleId> global(std::string_view module, std::string_view name);
  Result<PickleId> persistent(PickleId id);  // a storage
  Result<PickleId> call(PickleId function, PickleId arguments);
  Result<PickleId> make_object(PickleId type, PickleId arguments);  // NEWOBJ
  Status build(PickleId value, PickleId state);
  Status append(PickleId list, const PickleId* items, size_t count);
  Status set_items(PickleId dict, const PickleId* keys_and_values, size_t count);

  template <typename T>
  const T* get_if(PickleId id) const {
    return pickle_.get_if<T>(id);
  }
  Diagnostic error(Kind kind, Arguments arguments) const;
  Diagnostic malformed(std::string what, std::string expected) const;
  Status charge(uint64_t bytes);

  Pickle take(PickleId root) && {
    pickle_.root = root;
    return std::move(pickle_);
  }

 private:
  using Items = std::vector<PickleId>;

  Result<PickleId> call_named(const PickleGlobal& function, PickleId function_id, PickleId arguments);
  Result<PickleId> rebuild_tensor(const Items& arguments, size_t dtype_at);
  Result<PickleId> rebuild_quantized(const Items& arguments);
  Result<PickleId> rebuild_parameter(const Items& arguments);
  Result<PickleId> rebuild_from_type(const Items& arguments);
  Result<PickleId> typed_list(const Items& arguments, std::string_view type);
  Result<PickleId> restore_type_tag(const Items& arguments);
  Result<PickleId> make_complex(const Items& arguments);
  Result<PickleId> make_device(const Items& arguments);
  Result<PickleId> make_bytes(const Items& arguments);
  Result<PickleId> make_layout(const Items& arguments);
  Result<PickleId> make_size(const Items& arguments);
  Result<PickleId> make_list(const Items& arguments);
  Result<PickleId> make_dict(const Items& arguments);
  Result<PickleTensor> strided(const Items& arguments) const;
  Result<std::vector<int64_t>> extents(PickleId tuple, std::string_view what) const;
  Result<int64_t> count(PickleId id, std::string_view what) const;

  const PickleOptions& options_;
  Pickle pickle_;
  uint64_t used_ = 0;
  size_t offset_ = 0;
  std::unordered_map<std::string, PickleId> globals_;  // by "module name"
  std::unordered_map<std::string, PickleId> types_;    // type texts of typed_list
};

}  // namespace torchlift::archive
