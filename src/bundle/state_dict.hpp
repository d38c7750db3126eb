// Named tensors as they are saved: the weights of a bundle, or a checkpoint of the model that a bundle was made of.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "archive/archive.hpp"
#include "bundle/manifest.hpp"
#include "bundle/weights.hpp"

namespace torchlift::bundle {

inline constexpr uint64_t kMaxIndexBytes = uint64_t{64} << 20;  // of an index of shards

// A name that begins with `from` begins with `to` instead.
struct PrefixRule {
  std::string from;
  std::string to;
};

class StateDict {
 public:
  // A safetensors file, a file of torch.save, or an index of such files by the convention of Hugging Face (its name
  // ends in `.index.json`); nothing in a pickle is run. `key`: of the dict of tensors, where the file of torch.save is
  // a dict of several things ("state_dict"; "model.ema" for a dict in a dict).
  static Result<StateDict> open(const std::string& path, const std::string& key = "");
  // Tensors of a model file at the places that a manifest names; its directory must have the digest of the manifest.
  static Result<StateDict> open_reference(const std::string& path, const Manifest& manifest);

  StateDict(StateDict&&) noexcept = default;
  StateDict& operator=(StateDict&&) noexcept = default;

  const std::string& path() const { return path_; }
  // Each has one name. They may be strided views of one record; valid as long as this lives.
  std::span<const WeightSource> tensors() const { return tensors_; }
  const WeightSource* find(std::string_view name) const;  // null: there is none
  // Names of values that are no tensors.
  const std::vector<std::string>& others() const { return others_; }
  // Base name, kind and a digest of the file: of the directory of a zip, of the header of a safetensors file.
  const Source& source() const { return source_; }

  // The first rule that fits a name changes it. A rule that fits no name, and two names that become one, are refused.
  Status rename(std::span<const PrefixRule> rules);

 private:
  explicit StateDict(std::string path) : path_(std::move(path)) {}
  Status add_file(const std::string& path, const std::string& key);
  Status add_safetensors(File file);
  Status add_torch_save(const std::string& path, const std::string& key);
  Status add_index(const std::string& path);
  Status index_names();

  std::string path_;
  Source source_;
  std::vector<std::unique_ptr<archive::Source>> files_;
  std::vector<std::unique_ptr<archive::Archive>> archives_;
  std::vector<WeightSource> tensors_;
  std::vector<std::string> others_;
  std::vector<size_t> by_name_;  // numbers of tensors_, sorted by name
};

// A digest of a zip's directory: name, size and checksum of every member.
std::string digest_of(const archive::Zip& zip);

}  // namespace torchlift::bundle
