#include "archive/torch_save.hpp"

#include <algorithm>
#include <unordered_map>

#include "archive/recognise.hpp"
#include "base/check.hpp"
#include "base/kinds.hpp"
#include "base/text.hpp"

namespace torchlift::archive {
namespace {

// Σ (size - 1) * stride + offset: the last element reached, nothing if it does not fit 64 bits.
std::optional<int64_t> last_element(const TensorRecord& tensor) {
  int64_t last = tensor.offset;
  for (size_t i = 0; i < tensor.sizes.size(); ++i) {
    int64_t reach = 0;
    if (__builtin_mul_overflow(tensor.sizes[i] - 1, tensor.strides[i], &reach)) return std::nullopt;
    if (__builtin_add_overflow(last, reach, &last)) return std::nullopt;
  }
  return last;
}

// The size in bytes of the dense tensor, nothing if it does not fit 64 bits.
std::optional<int64_t> dense_bytes(const TensorRecord& tensor) {
  int64_t bytes = info(tensor.dtype).bytes;
  for (int64_t size : tensor.sizes)
    if (__builtin_mul_overflow(bytes, size, &bytes)) return std::nullopt;
  return bytes;
}

bool has_no_elements(const TensorRecord& tensor) {
  return std::find(tensor.sizes.begin(), tensor.sizes.end(), 0) != tensor.sizes.end();
}

Diagnostic bad_layout(const TensorRecord& tensor, std::string_view name, std::string what) {
  return diagnose(Kind::TensorLayout, {{"name", std::string(name)}, {"what", std::move(what)}},
                  tensor.record.source->name());
}

}  // namespace

Status check_bounds(const TensorRecord& tensor, std::string_view name) {
  auto number = [](int64_t n) { return std::to_string(n); };
  if (tensor.sizes.size() != tensor.strides.size())
    return bad_layout(
        tensor, name,
        std::to_string(tensor.sizes.size()) + " sizes and " + std::to_string(tensor.strides.size()) + " strides");
  for (size_t i = 0; i < tensor.sizes.size(); ++i)
    if (tensor.sizes[i] < 0 || tensor.strides[i] < 0)
      return bad_layout(tensor, name,
                        "sizes [" + join(tensor.sizes, ", ", number) + "] and strides [" +
                            join(tensor.strides, ", ", number) + "], none may be negative");
  if (tensor.offset < 0) return bad_layout(tensor, name, "a storage offset of " + number(tensor.offset));
  if (has_no_elements(tensor)) return Unit{};
  if (!dense_bytes(tensor)) return bad_layout(tensor, name, "more elements than 64 bits can count");

  const Record& record = tensor.record;
  const std::string& file = record.source->name();
  if (record.size == 0)
    return diagnose(Kind::WeightsNotSaved, {{"member", record.member}, {"name", std::string(name)}}, file);
  std::optional<int64_t> last = last_element(tensor);
  int64_t end = 0;
  bool fits = last && *last < INT64_MAX && !__builtin_mul_overflow(*last + 1, info(tensor.dtype).bytes, &end);
  if (fits && static_cast<uint64_t>(end) <= record.size) return Unit{};
  return diagnose(Kind::TensorBounds,
                  {{"name", std::string(name)},
                   {"end", fits ? end : INT64_MAX},
                   {"member", record.member},
                   {"size", static_cast<int64_t>(record.size)}},
                  file);
}

Status check_byte_order(const Zip& zip, std::string_view root) {
  std::string name = root.empty() ? "byteorder" : std::string(root) + "/byteorder";
  const Member* member = zip.find(name);
  if (member == nullptr) return Unit{};
  TRY(MemberBytes order, zip.read(*member));
  if (order.text() == "little") return Unit{};
  return diagnose(Kind::BigEndian, {{"order", quoted(order.text().substr(0, 40))}}, zip.source().name(), name);
}

Result<TorchSave> TorchSave::read(Zip zip, UnknownGlobals unknown) {
  std::string root = recognise_zip(zip).root;
  std::string prefix = root.empty() ? "" : root + "/";
  return read(std::move(zip), prefix + "data.pkl", prefix + "data/", unknown);
}

Result<TorchSave> TorchSave::read(Zip zip, std::string_view pickle_member, std::string_view record_prefix,
                                  UnknownGlobals unknown) {
  TRY(MemberBytes bytes, zip.read(pickle_member));
  TRY_OK(check_byte_order(zip, recognise_zip(zip).root));
  std::string place = zip.where().empty() ? std::string(pickle_member) : zip.where() + "/" + std::string(pickle_member);
  TRY(Pickle pickle, read_pickle(bytes.bytes(), {.file = zip.source().name(), .member = place, .unknown = unknown}));
  return TorchSave(std::move(zip), std::string(record_prefix), std::move(pickle));
}

Result<TensorRecord> TorchSave::tensor(PickleId id, std::string_view name) const {
  const auto* tensor = pickle_.get_if<PickleTensor>(id);
  CHECK(tensor != nullptr) << "the caller has looked at the value: " << name;
  const auto& storage = *pickle_.get_if<PickleStorage>(tensor->storage);
  TensorRecord result;
  result.record.source = &zip_.source();
  result.record.member = prefix_ + storage.key;
  result.dtype = tensor->dtype;
  result.offset = tensor->offset;
  result.sizes = tensor->sizes;
  result.strides = tensor->strides;
  result.requires_grad = tensor->requires_grad;
  result.is_parameter = tensor->is_parameter;
  // A storage without elements may have no record.
  if (const Member* member = zip_.find(prefix_ + storage.key)) {
    result.record = zip_.record(*member);
  } else if (storage.elements > 0) {
    return diagnose(Kind::MemberMissing, {{"name", prefix_ + storage.key}}, zip_.source().name(), zip_.where());
  }
  TRY_OK(check_bounds(result, name));
  return result;
}

Result<std::vector<std::pair<std::string, PickleId>>> TorchSave::named_values() const {
  auto wrong = [this](const char* what) {
    return diagnose(Kind::PickleMalformed,
                    {{"what", std::string(what)}, {"offset", int64_t{0}}, {"expected", std::string("a dict of names")}},
                    zip_.source().name(), prefix_);
  };
  const auto* dict = pickle_.get_if<PickleDict>(pickle_.root);
  if (dict == nullptr) return wrong("a value that is no dict");
  std::vector<std::pair<std::string, PickleId>> values;
  std::unordered_map<std::string_view, size_t> index;
  for (auto [key, value] : dict->items) {
    const auto* name = pickle_.get_if<std::string>(key);
    if (name == nullptr) return wrong("a dict key that is no text");
    auto [found, is_new] = index.try_emplace(*name, values.size());
    if (is_new) {
      values.emplace_back(*name, value);
    } else {
      values[found->second].second = value;
    }
  }
  return values;
}

}  // namespace torchlift::archive
