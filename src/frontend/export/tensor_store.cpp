// The two forms of stored tensors: PayloadConfig (PyTorch 2.9 and newer) and torch.save files.
#include "base/kinds.hpp"
#include "base/text.hpp"
#include "frontend/export/json.hpp"
#include "frontend/export/values.hpp"
#include "frontend/export/weights.hpp"

namespace torchlift::frontend {
namespace {

using archive::Archive;
using archive::Member;
using archive::TensorRecord;
using archive::TorchSave;

class EmptyStore : public TensorStore {
 public:
  bool contains(std::string_view) const override { return false; }
  Result<TensorRecord> tensor(std::string_view name) override {
    return diagnose(Kind::Internal, {{"reason", "no tensor " + printable(name)}});
  }
};

// The class of what a torch.save file holds, for messages; empty if that cannot be said.
std::string pickled_class(Archive& archive, const Member& member) {
  auto zip = archive.nested(member);
  if (!zip) return {};
  auto saved = TorchSave::read(std::move(zip).value(), archive::UnknownGlobals::Keep);
  if (!saved) return {};
  return printable(saved->pickle().class_name(saved->root()));
}

Diagnostic pickled(const Archive& archive, std::string_view name, std::string class_name) {
  if (class_name.empty()) class_name = "unknown";
  return diagnose(Kind::WeightPickled, {{"name", printable(name)}, {"class", std::move(class_name)}}, archive.name());
}

// ---- torch.save

class SavedStore : public TensorStore {
 public:
  static Result<std::unique_ptr<TensorStore>> open(Archive& archive, const Member& member) {
    TRY(archive::Zip zip, archive.nested(member));
    TRY(TorchSave saved, TorchSave::read(std::move(zip), archive::UnknownGlobals::Keep));
    TRY(auto values, saved.named_values());
    auto store = std::make_unique<SavedStore>(archive, std::move(saved));
    for (auto& [name, id] : values) store->by_name_.emplace(std::move(name), id);
    return std::unique_ptr<TensorStore>(std::move(store));
  }
  SavedStore(const Archive& archive, TorchSave saved) : archive_(archive), saved_(std::move(saved)) {}

  bool contains(std::string_view name) const override { return by_name_.find(name) != by_name_.end(); }
  Result<TensorRecord> tensor(std::string_view name) override {
    archive::PickleId id = by_name_.find(name)->second;
    if (saved_.pickle().get_if<archive::PickleTensor>(id) == nullptr)
      return pickled(archive_, name, printable(saved_.pickle().class_name(id)));
    return saved_.tensor(id, name);
  }

 private:
  const Archive& archive_;
  TorchSave saved_;
  std::map<std::string, archive::PickleId, std::less<>> by_name_;
};

// ---- PayloadConfig

class ConfigStore : public TensorStore {
 public:
  // `folder`: where the records are, "data/weights/".
  static Result<std::unique_ptr<TensorStore>> open(Archive& archive, const Member& config, std::string folder) {
    TRY(archive::MemberBytes bytes, archive.zip().read(config));
    TRY(JsonDocument document, JsonDocument::parse(bytes.text(), archive.name(), config.name));
    auto store = std::make_unique<ConfigStore>(archive, std::move(document), config.name, std::move(folder));
    TRY(Object root, store->json_.object(store->document_.root()));
    TRY_OK(store->json_.field(root, "config", [&](Element element) {
      return store->json_.each_member(element, [&](std::string_view name, Element entry) -> Status {
        store->by_name_.insert_or_assign(std::string(name), entry);
        return Unit{};
      });
    }));
    return std::unique_ptr<TensorStore>(std::move(store));
  }
  ConfigStore(Archive& archive, JsonDocument document, const std::string& member, std::string folder)
      : archive_(archive),
        document_(std::move(document)),
        json_(archive.name(), member),
        values_(json_, 8),
        folder_(std::move(folder)) {}

  bool contains(std::string_view name) const override { return by_name_.find(name) != by_name_.end(); }
  Result<TensorRecord> tensor(std::string_view name) override;

 private:
  Status place(const torch::TensorMeta& meta, std::string_view name, TensorRecord& out) const;

  Archive& archive_;
  JsonDocument document_;
  JsonReader json_;
  ValueReader values_;
  std::string folder_;
  std::map<std::string, Element, std::less<>> by_name_;
};

// Sizes, strides and offset of a stored tensor are plain numbers.
Status ConfigStore::place(const torch::TensorMeta& meta, std::string_view name, TensorRecord& out) const {
  auto refuse = [&](std::string what) {
    return diagnose(Kind::TensorLayout, {{"name", printable(name)}, {"what", std::move(what)}}, archive_.name());
  };
  auto copy = [&](const std::vector<torch::SymExpr>& from, std::vector<int64_t>& to) {
    for (const torch::SymExpr& expr : from) {
      if (!expr.is_integer()) return false;
      to.push_back(expr.integer);
    }
    return true;
  };
  if (meta.layout != torch::Layout::Strided) return refuse("layout " + std::string(layout_name(meta.layout)));
  if (!copy(meta.sizes, out.sizes) || !copy(meta.strides, out.strides) || !meta.storage_offset.is_integer())
    return refuse("a size, stride or offset that is no number");
  out.dtype = meta.dtype;
  out.offset = meta.storage_offset.integer;
  out.requires_grad = meta.requires_grad;
  return Unit{};
}

Result<TensorRecord> ConfigStore::tensor(std::string_view name) {
  auto config = json_.in("config");
  auto entry = json_.in(name);
  TRY(Object object, json_.object(by_name_.find(name)->second));
  TRY(std::string_view file, json_.text_field(object, "path_name"));
  const Member* member = archive_.find(folder_ + std::string(file));
  if (member == nullptr)
    return diagnose(Kind::MemberMissing, {{"name", printable(archive_.member_name(folder_ + std::string(file)))}},
                    archive_.name());
  TRY(bool pickle, json_.boolean_field(object, "use_pickle", false));
  Element meta_element;
  bool has_meta = object.at_key("tensor_meta").get(meta_element) == simdjson::SUCCESS && !meta_element.is_null();
  if (pickle || !has_meta) return pickled(archive_, name, pickled_class(archive_, *member));
  TRY(torch::TensorMeta meta, json_.field(object, "tensor_meta", [&](Element e) { return values_.tensor_meta(e); }));
  TensorRecord out;
  out.record = archive_.zip().record(*member);
  TRY(out.is_parameter, json_.boolean_field(object, "is_param", false));
  TRY_OK(place(meta, name, out));
  TRY_OK(archive::check_bounds(out, name));
  return out;
}

Result<std::unique_ptr<TensorStore>> open_store(Archive& archive, const std::string& folder, const std::string& model,
                                                std::string_view config_suffix) {
  if (const Member* saved = archive.find(folder + model + ".pt"); saved != nullptr && saved->size > 0)
    return SavedStore::open(archive, *saved);
  if (const Member* config = archive.find(folder + model + std::string(config_suffix)))
    return ConfigStore::open(archive, *config, folder);
  return std::unique_ptr<TensorStore>(std::make_unique<EmptyStore>());
}

Result<std::unique_ptr<TensorStore>> open_top_level(Archive& archive, std::string_view member) {
  const Member* saved = archive.find(member);
  if (saved != nullptr && saved->size > 0) return SavedStore::open(archive, *saved);
  return std::unique_ptr<TensorStore>(std::make_unique<EmptyStore>());
}

}  // namespace

Result<std::unique_ptr<TensorStore>> open_weights(Archive& archive, const std::string& model) {
  if (archive.kind() == archive::FileKind::Pt2Zip) return open_top_level(archive, "serialized_state_dict.pt");
  return open_store(archive, "data/weights/", model, "_weights_config.json");
}

Result<std::unique_ptr<TensorStore>> open_constants(Archive& archive, const std::string& model) {
  if (archive.kind() == archive::FileKind::Pt2Zip) return open_top_level(archive, "serialized_constants.pt");
  return open_store(archive, "data/constants/", model, "_constants_config.json");
}

}  // namespace torchlift::frontend
