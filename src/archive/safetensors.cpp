#include "archive/safetensors.hpp"

#include <simdjson.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "archive/recognise.hpp"
#include "base/json.hpp"
#include "base/kinds.hpp"
#include "base/text.hpp"

namespace torchlift::archive {
namespace {

constexpr size_t kLengthBytes = 8;
constexpr uint64_t kMaxHeader = 100'000'000;  // the official reader's limit
constexpr size_t kAlignment = 64;             // of the data's begin: what a device takes without a copy
constexpr std::string_view kMetadata = "__metadata__";

using Metadata = std::vector<std::pair<std::string, std::string>>;

std::string counted(uint64_t n, std::string_view noun) { return std::to_string(n) + " " + std::string(noun); }

struct HeaderReader {
  ByteView bytes;
  std::string path;
  uint64_t data = 0;  // offset of the tensors' bytes

  Diagnostic header_problem(std::string problem) const {
    return diagnose(Kind::SafetensorsHeader, {{"problem", std::move(problem)}}, path);
  }
  Diagnostic tensor_problem(std::string_view tensor, std::string problem) const {
    return diagnose(Kind::SafetensorsTensor, {{"tensor", std::string(tensor)}, {"problem", std::move(problem)}}, path);
  }

  Result<std::string_view> header_text();
  Result<Metadata> metadata(simdjson::dom::element value) const;
  Result<SafetensorsTensor> tensor(std::string_view name, simdjson::dom::element value) const;
  Result<SafetensorsHeader> read();
};

Result<std::string_view> HeaderReader::header_text() {
  if (bytes.empty()) return diagnose(Kind::EmptyFile, {}, path);
  if (bytes.size() < kLengthBytes)
    return header_problem("it has " + counted(bytes.size(), "bytes, its length field alone takes 8"));
  uint64_t length = read_u64(bytes, 0);
  if (length > kMaxHeader)
    return header_problem("its first 8 bytes say a header of " +
                          counted(length, "bytes, at most 100000000 are allowed"));
  auto header = slice(bytes, kLengthBytes, length);
  if (!header)
    return header_problem("its first 8 bytes say a header of " + counted(length, "bytes, ") +
                          counted(bytes.size() - kLengthBytes, "bytes follow"));
  if (length == 0 || (*header)[0] != std::byte{'{'}) return header_problem("the header does not begin with {");
  data = kLengthBytes + length;
  return text_of(*header);
}

Result<Metadata> HeaderReader::metadata(simdjson::dom::element value) const {
  Metadata out;
  if (value.is_null()) return out;
  simdjson::dom::object object;
  if (value.get(object) != simdjson::SUCCESS) return header_problem("`__metadata__` is no JSON object");
  for (auto [key, item] : object) {
    std::string_view text;
    if (item.get(text) != simdjson::SUCCESS)
      return header_problem("`__metadata__` key " + torchlift::quoted(key) +
                            " is no string; the format allows only strings there");
    out.emplace_back(key, text);
  }
  std::vector<std::string> keys;
  for (auto& entry : out) keys.push_back(entry.first);
  std::sort(keys.begin(), keys.end());
  if (auto twice = std::adjacent_find(keys.begin(), keys.end()); twice != keys.end())
    return header_problem("`__metadata__` key " + torchlift::quoted(*twice) + " stands twice");
  return out;
}

std::optional<std::vector<uint64_t>> unsigned_list(simdjson::dom::element value, std::string_view key) {
  simdjson::dom::array array;
  if (value[key].get(array) != simdjson::SUCCESS) return std::nullopt;
  std::vector<uint64_t> out;
  for (auto item : array) {
    uint64_t n = 0;
    if (item.get(n) != simdjson::SUCCESS) return std::nullopt;
    out.push_back(n);
  }
  return out;
}

// The bytes of a dense tensor, or nothing where that leaves 64 bits.
std::optional<uint64_t> dense_bytes(DType dtype, const std::vector<uint64_t>& shape) {
  auto total = static_cast<uint64_t>(info(dtype).bytes);
  for (uint64_t size : shape) {
    if (size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
    if (size != 0 && total > std::numeric_limits<uint64_t>::max() / size) return std::nullopt;
    total *= size;
  }
  return total;
}

Result<SafetensorsTensor> HeaderReader::tensor(std::string_view name, simdjson::dom::element value) const {
  if (!value.is_object()) return tensor_problem(name, "its entry is no JSON object");
  std::string_view code;
  if (value["dtype"].get(code) != simdjson::SUCCESS) return tensor_problem(name, "`dtype` is missing or no string");
  auto dtype = dtype_from_safetensors_name(code);
  if (!dtype) return tensor_problem(name, "dtype " + torchlift::quoted(code) + " is unknown");
  auto shape = unsigned_list(value, "shape");
  if (!shape) return tensor_problem(name, "`shape` is missing or no list of sizes");
  auto range = unsigned_list(value, "data_offsets");
  if (!range || range->size() != 2) return tensor_problem(name, "`data_offsets` is missing or no pair of offsets");
  uint64_t begin = (*range)[0];
  uint64_t end = (*range)[1];
  if (end < begin)
    return tensor_problem(name,
                          "its data ends at " + std::to_string(end) + ", before its begin at " + std::to_string(begin));
  auto expected = dense_bytes(*dtype, *shape);
  if (!expected) return tensor_problem(name, "its size leaves 64 bits");
  if (*expected != end - begin)
    return tensor_problem(
        name, "its data has " + counted(end - begin, "bytes, its shape and dtype take ") + std::to_string(*expected));
  uint64_t available = bytes.size() - data;
  if (end > available)
    return tensor_problem(
        name, "its data ends at " + std::to_string(end) + ", the file has " + counted(available, "bytes of data"));
  return SafetensorsTensor{std::string(name), *dtype, std::vector<int64_t>(shape->begin(), shape->end()), data + begin,
                           bytes.subspan(data + begin, end - begin)};
}

Result<SafetensorsHeader> HeaderReader::read() {
  TRY(std::string_view text, header_text());
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  simdjson::padded_string padded(text);
  if (auto error = parser.parse(padded).get(object); error != simdjson::SUCCESS)
    return header_problem(std::string("the header is no JSON: ") + simdjson::error_message(error));

  SafetensorsHeader out;
  bool has_metadata = false;
  for (auto [key, value] : object) {
    if (key == kMetadata) {
      if (std::exchange(has_metadata, true)) return header_problem("`__metadata__` stands twice");
      TRY(out.metadata, metadata(value));
      continue;
    }
    TRY(auto next, tensor(key, value));
    out.tensors.push_back(std::move(next));
  }

  auto place = [](const SafetensorsTensor& t) { return std::pair(t.offset, t.offset + t.bytes.size()); };
  std::stable_sort(out.tensors.begin(), out.tensors.end(), [&](auto& a, auto& b) { return place(a) < place(b); });
  uint64_t reached = data;
  for (auto& next : out.tensors) {
    if (next.offset != reached)
      return tensor_problem(next.name, "its data begins at " + std::to_string(next.offset - data) +
                                           ", the data before it ends at " + std::to_string(reached - data) +
                                           "; the format allows no gap and no overlap");
    reached += next.bytes.size();
  }
  if (reached != bytes.size())
    return header_problem("the tensors end at byte " + std::to_string(reached) + ", the file has " +
                          counted(bytes.size(), "bytes"));
  return out;
}

void write_metadata(JsonWriter& json, const Metadata& metadata) {
  if (metadata.empty()) return;
  json.key(kMetadata).begin_object();
  for (auto& [key, value] : metadata) json.key(key).string(value);
  json.end_object();
}

}  // namespace

Result<SafetensorsHeader> read_safetensors_header(ByteView bytes, const std::string& path) {
  return HeaderReader{bytes, path}.read();
}

Result<SafetensorsFile> SafetensorsFile::open(const std::string& path) {
  TRY(auto file, File::open(path));
  if (auto refusal = refuse_tensor_file(file.bytes(), path)) return std::move(*refusal);
  SafetensorsFile out(std::move(file));
  TRY(auto header, read_safetensors_header(out.file_.bytes(), path));
  out.tensors_ = std::move(header.tensors);
  out.metadata_ = std::move(header.metadata);
  for (size_t i = 0; i < out.tensors_.size(); ++i) out.by_name_.push_back(i);
  auto name = [&](size_t i) -> const std::string& { return out.tensors_[i].name; };
  std::sort(out.by_name_.begin(), out.by_name_.end(), [&](size_t a, size_t b) { return name(a) < name(b); });
  auto twice = std::adjacent_find(out.by_name_.begin(), out.by_name_.end(),
                                  [&](size_t a, size_t b) { return name(a) == name(b); });
  if (twice != out.by_name_.end())
    return diagnose(Kind::SafetensorsTensor,
                    {{"tensor", name(*twice)}, {"problem", std::string("its name stands twice")}}, path);
  return out;
}

const SafetensorsTensor* SafetensorsFile::find(std::string_view name) const {
  auto found = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                [&](size_t i, std::string_view wanted) { return tensors_[i].name < wanted; });
  return found != by_name_.end() && tensors_[*found].name == name ? &tensors_[*found] : nullptr;
}

const std::string* SafetensorsFile::find_metadata(std::string_view key) const {
  for (auto& entry : metadata_)
    if (entry.first == key) return &entry.second;
  return nullptr;
}

SafetensorsEntry storage_of(std::string name, DType dtype, std::vector<int64_t> shape) {
  if (is_complex(dtype) && info(dtype).safetensors_name.empty()) {
    dtype = real_of(dtype);
    shape.push_back(2);
  }
  return {std::move(name), dtype, std::move(shape)};
}

uint64_t byte_size(const SafetensorsEntry& entry) {
  auto bytes = static_cast<uint64_t>(info(entry.dtype).bytes);
  for (int64_t size : entry.shape) bytes *= static_cast<uint64_t>(size);
  return bytes;
}

std::string safetensors_header(const std::vector<SafetensorsEntry>& entries, const Metadata& metadata) {
  JsonWriter json;
  json.begin_object();
  write_metadata(json, metadata);
  uint64_t begin = 0;
  for (auto& entry : entries) {
    CHECK(!info(entry.dtype).safetensors_name.empty()) << entry.name << " needs storage_of";
    uint64_t end = begin + byte_size(entry);
    json.key(entry.name).begin_object();
    json.key("dtype").string(info(entry.dtype).safetensors_name);
    json.key("shape").integers(entry.shape);
    json.key("data_offsets").integers({static_cast<int64_t>(begin), static_cast<int64_t>(end)});
    json.end_object();
    begin = end;
  }
  json.end_object();
  std::string text = std::move(json).take();
  while ((kLengthBytes + text.size()) % kAlignment != 0) text += ' ';
  std::string out;
  for (size_t i = 0; i < kLengthBytes; ++i) out += static_cast<char>((text.size() >> (8 * i)) & 0xFF);
  return out + text;
}

Status write_safetensors(const std::string& path, const std::vector<SafetensorsData>& tensors,
                         const Metadata& metadata) {
  std::vector<SafetensorsEntry> entries;
  for (auto& tensor : tensors) {
    CHECK(tensor.bytes.size() == byte_size(tensor.entry)) << tensor.entry.name;
    entries.push_back(tensor.entry);
  }
  TRY(auto file, OutputFile::create(path));
  TRY_OK(file.write(bytes_of(safetensors_header(entries, metadata))));
  for (auto& tensor : tensors) TRY_OK(file.write(tensor.bytes));
  return file.finish();
}

}  // namespace torchlift::archive
