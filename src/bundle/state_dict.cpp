#include "bundle/state_dict.hpp"

#include <simdjson.h>

#include <algorithm>
#include <map>

#include "archive/recognise.hpp"
#include "archive/safetensors.hpp"
#include "archive/torch_save.hpp"
#include "base/kinds.hpp"
#include "base/text.hpp"

namespace torchlift::bundle {
namespace {

using archive::FileKind;

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Diagnostic no_state_dict(std::string format, const std::string& path) {
  return diagnose(Kind::NotAStateDict, {{"format", std::move(format)}}, path);
}

std::string_view name_of(FileKind kind) {
  switch (kind) {
    case FileKind::Pt2Zip:
    case FileKind::Pt2: return "a program of torch.export";
    case FileKind::AotInductorOnly: return "a compiled model of AOTInductor";
    case FileKind::TorchScript: return "a TorchScript program";
    case FileKind::TorchPackage: return "a package of torch.package";
    case FileKind::LegacyTorchSave: return "a torch.save file of the format before PyTorch 1.6";
    case FileKind::PlainPickle: return "a Python pickle without tensors beside it";
    default: return "a zip file that torch.save did not write";
  }
}

// The dict of tensors within what torch.save wrote: `key` names it, dict by dict.
Result<archive::PickleId> dict_at(const archive::TorchSave& saved, const std::string& key, const std::string& path) {
  archive::PickleId at = saved.root();
  for (size_t begin = 0; !key.empty() && begin <= key.size();) {
    const auto* dict = saved.pickle().get_if<archive::PickleDict>(at);
    if (!dict) break;
    // The longest key that fits: names may hold points.
    archive::PickleId next;
    size_t taken = 0;
    for (auto& [name, value] : dict->items) {
      auto* text = saved.pickle().get_if<std::string>(name);
      if (!text || key.compare(begin, text->size(), *text) != 0 || text->size() < taken) continue;
      size_t end = begin + text->size();
      if (end != key.size() && key[end] != '.') continue;
      next = value;
      taken = text->size();
    }
    if (!next.has_value())
      return diagnose(Kind::StateDictKey, {{"problem", "has no key " + torchlift::quoted(key.substr(begin))}}, path);
    at = next;
    begin += taken + 1;
  }
  if (saved.pickle().get_if<archive::PickleDict>(at)) return at;
  std::string what = key.empty() ? "what the file holds" : torchlift::quoted(key);
  return diagnose(Kind::StateDictKey, {{"problem", "is asked for a state dict, but " + what + " is no dict"}}, path);
}

// Keys whose values are dicts with tensors in them, for advice.
std::string dicts_with_tensors(const archive::Pickle& pickle, const archive::PickleDict& dict) {
  std::string out;
  for (auto& [key, value] : dict.items) {
    auto* name = pickle.get_if<std::string>(key);
    auto* inner = pickle.get_if<archive::PickleDict>(value);
    if (!name || !inner) continue;
    bool tensors = std::any_of(inner->items.begin(), inner->items.end(), [&](auto& item) {
      return pickle.get_if<archive::PickleTensor>(item.second) != nullptr;
    });
    if (tensors) out += (out.empty() ? "" : ", ") + torchlift::quoted(*name);
  }
  return out;
}

}  // namespace

std::string digest_of(const archive::Zip& zip) {
  std::vector<std::string> lines;
  for (auto& member : zip.members())
    lines.push_back(torchlift::quoted(member.name) + " " + std::to_string(member.size) + " " +
                    std::to_string(member.crc) + "\n");
  std::sort(lines.begin(), lines.end());
  return digest_of(bytes_of(join(lines, "", [](const std::string& line) { return line; })));
}

Result<StateDict> StateDict::open(const std::string& path, const std::string& key) {
  StateDict out(path);
  if (path.ends_with(".index.json")) {
    TRY_OK(out.add_index(path));
  } else {
    TRY_OK(out.add_file(path, key));
  }
  out.source_.file = base_name(path);
  TRY_OK(out.index_names());
  return out;
}

Status StateDict::add_file(const std::string& path, const std::string& key) {
  TRY(auto file, File::open(path));
  switch (FileKind kind = archive::recognise(file.bytes()); kind) {
    case FileKind::Empty:
    case FileKind::GitLfsPointer:
    case FileKind::Html: return archive::refuse_file(kind, file.bytes(), path);
    case FileKind::LegacyTorchSave:
    case FileKind::PlainPickle: return no_state_dict(std::string(name_of(kind)), path);
    case FileKind::Foreign: return no_state_dict(std::string(archive::foreign_format(file.bytes())), path);
    case FileKind::OtherZip: return add_torch_save(path, key);
    default: break;
  }
  if (!key.empty())
    return diagnose(Kind::StateDictKey, {{"problem", "is given for a safetensors file, which holds one dict"}}, path);
  return add_safetensors(std::move(file));
}

Status StateDict::add_safetensors(File file) {
  auto source = std::make_unique<archive::Source>(std::move(file));
  TRY(auto header, archive::read_safetensors_header(source->bytes(), source->name()));
  uint64_t data = source->bytes().size();
  for (auto& tensor : header.tensors) {
    data = std::min(data, tensor.offset);
    WeightSource weight{{tensor.name}, tensor.dtype, tensor.shape, {}, 0, {}};
    weight.strides = dense_strides(tensor.shape);
    weight.record.source = source.get();
    weight.record.offset = tensor.offset;
    weight.record.size = weight.record.stored_size = tensor.bytes.size();
    weight.record.member = tensor.name;
    weight.has_checksum = false;
    tensors_.push_back(std::move(weight));
  }
  source_ = {"", "safetensors", digest_of(source->bytes().first(data))};
  files_.push_back(std::move(source));
  return Unit{};
}

Status StateDict::add_torch_save(const std::string& path, const std::string& key) {
  TRY(auto opened, archive::Archive::open(path));
  if (opened->kind() != FileKind::TorchSave) return no_state_dict(std::string(name_of(opened->kind())), path);
  // Objects of the user's own beside the tensors (options of a trainer) are named, never made.
  TRY(auto saved, archive::TorchSave::read(opened->zip(), archive::UnknownGlobals::Keep));
  TRY(auto root, dict_at(saved, key, path));
  auto& dict = *saved.pickle().get_if<archive::PickleDict>(root);
  std::map<std::string, archive::PickleId> values;  // the last of equal keys
  std::vector<std::string> order;
  for (auto& [name, value] : dict.items) {
    auto* text = saved.pickle().get_if<std::string>(name);
    if (!text)
      return diagnose(Kind::StateDictKey, {{"problem", std::string("names a dict with keys that are no texts")}}, path);
    if (values.insert_or_assign(*text, value).second) order.push_back(*text);
  }
  for (auto& name : order) {
    auto value = values[name];
    if (!saved.pickle().get_if<archive::PickleTensor>(value)) {
      others_.push_back(name);
      continue;
    }
    TRY(auto tensor, saved.tensor(value, name));
    WeightSource weight{{name}, tensor.dtype, tensor.sizes, tensor.strides, tensor.offset, tensor.record};
    tensors_.push_back(std::move(weight));
  }
  if (tensors_.empty() && !others_.empty()) {
    std::string inner = dicts_with_tensors(saved.pickle(), dict);
    if (!inner.empty())
      return diagnose(Kind::StateDictKey,
                      {{"problem", "has to name one of the dicts of tensors in the file: " + inner}}, path);
  }
  source_ = {"", "torch.save", digest_of(opened->zip())};
  archives_.push_back(std::move(opened));
  return Unit{};
}

Status StateDict::add_index(const std::string& path) {
  auto wrong = [&](std::string problem) { return diagnose(Kind::ShardIndex, {{"problem", std::move(problem)}}, path); };
  TRY(auto file, File::open(path));
  if (file.size() > kMaxIndexBytes) return wrong("has more than 2^26 bytes");
  simdjson::dom::parser parser;
  simdjson::padded_string text(torchlift::text_of(file.bytes()));
  simdjson::dom::object map;
  if (auto error = parser.parse(text)["weight_map"].get(map); error != simdjson::SUCCESS)
    return wrong(std::string("holds no `weight_map`: ") + simdjson::error_message(error));
  std::map<std::string, std::string> file_of;
  std::map<std::string, bool> files;
  for (auto [name, value] : map) {
    std::string_view shard;
    if (value.get(shard) != simdjson::SUCCESS)
      return wrong("gives " + torchlift::quoted(name) + " a file that is no text");
    if (shard.empty() || shard.front() == '.' || shard.find('/') != std::string_view::npos ||
        shard.find('\0') != std::string_view::npos)
      return wrong("names the file " + torchlift::quoted(shard) + ", which is none beside the index");
    if (!file_of.emplace(name, shard).second) return wrong("names " + torchlift::quoted(name) + " twice");
    files.emplace(shard, true);
  }
  std::string folder = path.substr(0, path.rfind('/') + 1);
  std::string digests = std::string(torchlift::text_of(file.bytes()));
  for (auto& [shard, used] : files) {
    size_t before = tensors_.size();
    TRY_OK(add_file(folder + shard, ""));
    digests += "\n" + source_.digest;
    for (size_t i = before; i < tensors_.size(); ++i) {
      auto found = file_of.find(tensors_[i].names.front());
      if (found == file_of.end() || found->second != shard)
        return wrong("does not say that " + torchlift::quoted(tensors_[i].names.front()) + " is in " +
                     torchlift::quoted(shard));
      file_of.erase(found);
    }
  }
  if (!file_of.empty())
    return wrong("says that " + torchlift::quoted(file_of.begin()->first) + " is in " +
                 torchlift::quoted(file_of.begin()->second) + ", where it is not");
  source_ = {"", "index", digest_of(bytes_of(digests))};
  return Unit{};
}

Result<StateDict> StateDict::open_reference(const std::string& path, const Manifest& manifest) {
  StateDict out(path);
  auto& info = *manifest.weights;
  TRY(auto opened, archive::Archive::open(path));
  out.source_ = {base_name(path), "reference", digest_of(opened->zip())};
  if (opened->source().bytes().size() != info.bytes)
    return diagnose(Kind::WeightsSize,
                    {{"got", static_cast<int64_t>(opened->source().bytes().size())},
                     {"expected", static_cast<int64_t>(info.bytes)}},
                    path);
  if (out.source_.digest != info.digest)
    return diagnose(Kind::BundleDigest, {{"member", info.file}, {"got", out.source_.digest}, {"expected", info.digest}},
                    path);
  size_t next = 0;
  for (auto& argument : manifest.programs.front().arguments) {
    if (argument.role == ArgumentRole::Input) continue;
    auto& tensor = info.tensors[next++];
    WeightSource weight{{argument.name}, argument.type.dtype, argument.type.shape, {}, 0, {}};
    weight.strides = dense_strides(argument.type.shape);
    uint64_t bytes = archive::byte_size({argument.name, argument.type.dtype, argument.type.shape});
    if (!slice(opened->source().bytes(), *tensor.offset, bytes))
      return diagnose(Kind::SafetensorsTensor,
                      {{"tensor", argument.name}, {"problem", std::string("its place is not in the file")}}, path);
    weight.record.source = &opened->source();
    weight.record.offset = *tensor.offset;
    weight.record.size = weight.record.stored_size = bytes;
    weight.record.member = argument.name;
    weight.has_checksum = false;
    out.tensors_.push_back(std::move(weight));
  }
  out.archives_.push_back(std::move(opened));
  TRY_OK(out.index_names());
  return out;
}

Status StateDict::index_names() {
  by_name_.resize(tensors_.size());
  for (size_t i = 0; i < by_name_.size(); ++i) by_name_[i] = i;
  auto name = [&](size_t i) -> const std::string& { return tensors_[i].names.front(); };
  std::sort(by_name_.begin(), by_name_.end(), [&](size_t a, size_t b) { return name(a) < name(b); });
  auto twice =
      std::adjacent_find(by_name_.begin(), by_name_.end(), [&](size_t a, size_t b) { return name(a) == name(b); });
  if (twice == by_name_.end()) return Unit{};
  return diagnose(Kind::SafetensorsTensor,
                  {{"tensor", name(*twice)}, {"problem", std::string("its name stands twice")}}, path_);
}

const WeightSource* StateDict::find(std::string_view name) const {
  auto found = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                [&](size_t i, std::string_view wanted) { return tensors_[i].names.front() < wanted; });
  return found != by_name_.end() && tensors_[*found].names.front() == name ? &tensors_[*found] : nullptr;
}

Status StateDict::rename(std::span<const PrefixRule> rules) {
  std::vector<bool> used(rules.size(), false);
  auto renamed = [&](const std::string& name) {
    for (size_t i = 0; i < rules.size(); ++i) {
      if (!name.starts_with(rules[i].from)) continue;
      used[i] = true;
      return rules[i].to + name.substr(rules[i].from.size());
    }
    return name;
  };
  for (auto& tensor : tensors_) tensor.names.front() = renamed(tensor.names.front());
  for (auto& other : others_) other = renamed(other);
  std::vector<Diagnostic> problems;
  for (size_t i = 0; i < rules.size(); ++i)
    if (!used[i])
      problems.push_back(diagnose(
          Kind::PrefixOption,
          {{"option", rules[i].from + "=" + rules[i].to}, {"problem", std::string("fits no name of the file")}},
          path_));
  if (!problems.empty()) return problems;
  return index_names();
}

}  // namespace torchlift::bundle
