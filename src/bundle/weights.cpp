#include "bundle/weights.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "archive/safetensors.hpp"
#include "base/json.hpp"
#include "base/kinds.hpp"
#include "base/output_file.hpp"
#include "base/text.hpp"
#include "bundle/digest.hpp"
#include "bundle/narrow.hpp"

namespace torchlift::bundle {
namespace {

constexpr size_t kChunk =
    size_t{128} << 10;  // stays in the processor's own cache between reading, checksum and writing
constexpr uint64_t kMaxUnusedBytes = uint64_t{64} << 20;
constexpr uint64_t kAlignment = 64;

int64_t width_of(const WeightSource& weight) { return info(weight.dtype).bytes; }
const std::string& name_of(const WeightSource& weight) { return weight.names.front(); }

// The bytes of a record, told apart by place: several tensors may lie in one.
using RecordKey = std::tuple<const archive::Source*, uint64_t>;
RecordKey key_of(const archive::Record& record) { return {record.source, record.offset}; }

// Dense size in bytes and the last byte reached in the record, or nothing where the numbers make no tensor.
struct Extent {
  uint64_t dense = 0;
  uint64_t begin = 0;  // in the record
  uint64_t end = 0;
};

std::optional<Extent> extent_of(const WeightSource& weight) {
  if (weight.sizes.size() != weight.strides.size() || weight.storage_offset < 0) return std::nullopt;
  // Without elements nothing is reached, whatever the other sizes are.
  if (std::find(weight.sizes.begin(), weight.sizes.end(), 0) != weight.sizes.end())
    return std::all_of(weight.sizes.begin(), weight.sizes.end(), [](int64_t n) { return n >= 0; })
               ? std::optional<Extent>(Extent{})
               : std::nullopt;
  __int128 count = 1;
  __int128 last = weight.storage_offset;
  constexpr __int128 kLimit = __int128{1} << 60;
  for (size_t i = 0; i < weight.sizes.size(); ++i) {
    if (weight.sizes[i] < 0 || weight.strides[i] < 0) return std::nullopt;
    count *= weight.sizes[i];
    last += static_cast<__int128>(weight.sizes[i] - 1) * weight.strides[i];
    if (count > kLimit || last > kLimit) return std::nullopt;
  }
  __int128 width = width_of(weight);
  Extent out{static_cast<uint64_t>(count * width), static_cast<uint64_t>(weight.storage_offset * width), 0};
  out.end = static_cast<uint64_t>((last + 1) * width);
  if (out.end > weight.record.size) return std::nullopt;
  return out;
}

bool is_dense(const WeightSource& weight) {
  int64_t expected = 1;
  for (size_t i = weight.sizes.size(); i-- > 0;) {
    if (weight.sizes[i] == 0) return true;
    if (weight.sizes[i] != 1 && weight.strides[i] != expected) return false;
    expected *= weight.sizes[i];
  }
  return true;
}

bool covers_record(const WeightSource& weight, const Extent& extent) {
  return is_dense(weight) && extent.begin == 0 && extent.dense == weight.record.size;
}

// Copies elements of a strided tensor in row-major order, a chunk at a time; between chunks the place is kept.
class Gatherer {
 public:
  explicit Gatherer(const WeightSource& weight) : width_(static_cast<size_t>(width_of(weight))) {
    // Adjacent dimensions that lie densely behind each other are one; those of size 1 are none.
    for (size_t i = 0; i < weight.sizes.size(); ++i) {
      if (weight.sizes[i] == 1) continue;
      auto size = static_cast<size_t>(weight.sizes[i]);
      auto stride = static_cast<size_t>(weight.strides[i]) * width_;
      if (!dims_.empty() && dims_.back().stride == stride * size) dims_.back() = {dims_.back().size * size, stride};
      else dims_.push_back({size, stride});
    }
    if (dims_.empty()) dims_.push_back({1, width_});
    index_.resize(dims_.size(), 0);
  }

  // Fills `out`, a whole number of elements; `source` begins at the tensor's first element.
  void next(const std::byte* source, std::span<std::byte> out) {
    size_t wanted = out.size() / width_;
    std::byte* to = out.data();
    const Dim& inner = dims_.back();
    while (wanted > 0) {
      size_t run = std::min(wanted, inner.size - index_.back());
      copy_run(source + offset(), inner.stride, to, run);
      to += run * width_;
      wanted -= run;
      advance(run);
    }
  }

 private:
  struct Dim {
    size_t size;
    size_t stride;  // in bytes
  };

  size_t offset() const {
    size_t out = 0;
    for (size_t i = 0; i < dims_.size(); ++i) out += index_[i] * dims_[i].stride;
    return out;
  }

  void copy_run(const std::byte* from, size_t stride, std::byte* to, size_t count) const {
    if (stride == width_) {
      std::memcpy(to, from, count * width_);
      return;
    }
    switch (width_) {
      case 1: return copy_elements<1>(from, stride, to, count);
      case 2: return copy_elements<2>(from, stride, to, count);
      case 4: return copy_elements<4>(from, stride, to, count);
      case 8: return copy_elements<8>(from, stride, to, count);
      case 16: return copy_elements<16>(from, stride, to, count);
      default: CHECK(false) << "an element of " << width_ << " bytes";
    }
  }

  template <size_t Width>
  static void copy_elements(const std::byte* from, size_t stride, std::byte* to, size_t count) {
    for (size_t i = 0; i < count; ++i) std::memcpy(to + i * Width, from + i * stride, Width);
  }

  void advance(size_t run) {
    index_.back() += run;
    for (size_t i = dims_.size(); i-- > 1 && index_[i] == dims_[i].size;) {
      index_[i] = 0;
      ++index_[i - 1];
    }
  }

  size_t width_;
  std::vector<Dim> dims_;
  std::vector<size_t> index_;
};

// The model file, for messages. A tensor without elements may have no record.
std::string file_of(const WeightSource& weight) { return weight.record.source ? weight.record.source->name() : ""; }

Diagnostic not_inside(const WeightSource& weight) {
  return diagnose(Kind::Internal,
                  {{"reason", "weight `" + printable(name_of(weight)) + "` does not lie inside its record"}},
                  file_of(weight), weight.record.member);
}

// All bytes of a record at once, for elements that lie anywhere in it: the map of its file, whose pages are not ours to
// hold, or memory if it is deflated.
class MappedRecord {
 public:
  static Result<MappedRecord> open(const archive::Record& record, const archive::RecordReader& reader) {
    MappedRecord out;
    if (auto view = archive::view(record)) {
      out.view_ = *view;
      return out;
    }
    TRY(out.inflated_, archive::Buffer::allocate(record.size, record.source->name()));
    TRY_OK(reader.read(0, out.inflated_.bytes()));
    out.view_ = std::as_const(out.inflated_).bytes();
    return out;
  }
  ByteView view() const { return view_; }

 private:
  archive::Buffer inflated_;  // where the record is deflated
  ByteView view_;
};

// The bytes of `part`, float32, as `narrow`.
void to_narrow(ByteView part, DType narrow, std::vector<std::byte>& out) {
  out.resize(part.size() / 2);
  for (size_t i = 0; i < part.size() / 4; ++i) {
    uint32_t bits = read_u32(part, 4 * i);
    uint16_t to = narrow == DType::BFloat16 ? bfloat16_of(bits) : float16_of(bits);
    out[2 * i] = std::byte(to & 0xFF);
    out[2 * i + 1] = std::byte(to >> 8);
  }
}

// Hands the tensors' bytes on in order, digests them, and sees to the checksums.
class Streamer {
 public:
  explicit Streamer(archive::Strict strict) : strict_(strict), buffer_(kChunk) {}

  // Answers the digest of the bytes. `out`: null where they are only to be seen.
  Result<std::string> add(const WeightSource& weight, const Extent& extent, OutputFile* out) {
    Digester digester;
    if (extent.dense == 0) return digester.text();
    TRY(auto reader, archive::RecordReader::open(weight.record));
    bool fresh = checked_.insert({key_of(weight.record), true}).second && weight.has_checksum;
    bool whole = covers_record(weight, extent);
    if (fresh && !whole) TRY_OK(check(weight.record));
    if (!is_dense(weight)) {
      TRY_OK(gather(weight, extent, reader, digester, out));
      return digester.text();
    }
    uint32_t crc = 0;
    for (uint64_t at = 0; at < extent.dense;) {
      auto part = chunk(extent.dense - at);
      TRY_OK(reader.read(extent.begin + at, part));
      if (fresh && whole) crc = archive::crc32(crc, part);
      TRY_OK(emit(weight, part, digester, out));
      at += part.size();
    }
    if (fresh && whole && crc != weight.record.crc) TRY_OK(check(weight.record));
    return digester.text();
  }

  std::vector<Diagnostic> take_warnings() { return std::move(warnings_); }

 private:
  Status check(const archive::Record& record) {
    auto mismatch = archive::check_crc(record, strict_);
    if (!mismatch) return Unit{};
    if (mismatch->severity() == Severity::Error) return std::move(*mismatch);
    warnings_.push_back(std::move(*mismatch));
    return Unit{};
  }

  Status emit(const WeightSource& weight, ByteView part, Digester& digester, OutputFile* out) {
    if (weight.narrow) {
      to_narrow(part, *weight.narrow, narrow_);
      part = narrow_;
    }
    digester.update(part);
    return out ? out->write(part) : Status(Unit{});
  }

  Status gather(const WeightSource& weight, const Extent& extent, const archive::RecordReader& reader,
                Digester& digester, OutputFile* out) {
    TRY(auto bytes, MappedRecord::open(weight.record, reader));
    Gatherer gatherer(weight);
    for (uint64_t done = 0; done < extent.dense;) {
      auto part = chunk(extent.dense - done);
      gatherer.next(bytes.view().data() + extent.begin, part);
      TRY_OK(emit(weight, part, digester, out));
      done += part.size();
    }
    return Unit{};
  }

  std::span<std::byte> chunk(uint64_t left) {
    return std::span(buffer_).first(static_cast<size_t>(std::min<uint64_t>(left, kChunk)));
  }

  archive::Strict strict_;
  std::vector<std::byte> buffer_, narrow_;
  std::map<RecordKey, bool> checked_;
  std::vector<Diagnostic> warnings_;
};

using Sources = std::vector<const WeightSource*>;

std::string json_list(const Sources& weights) {
  JsonWriter json;
  json.begin_array();
  for (auto* weight : weights) json.string(name_of(*weight));
  json.end_array();
  return std::move(json).take();
}

// What a reader of the weights alone needs: the order, tied names, and which tensors are complex numbers stored as
// pairs.
std::vector<std::pair<std::string, std::string>> metadata_of(const Sources& weights) {
  std::vector<std::pair<std::string, std::string>> out = {{"argument_order", json_list(weights)}};
  JsonWriter aliases, pairs;
  aliases.begin_object();
  pairs.begin_object();
  bool has_aliases = false, has_pairs = false;
  for (auto* weight : weights) {
    for (size_t i = 1; i < weight->names.size(); ++i) aliases.key(weight->names[i]).string(name_of(*weight));
    has_aliases |= weight->names.size() > 1;
    if (!is_complex(weight->dtype) || !info(weight->dtype).safetensors_name.empty()) continue;
    pairs.key(name_of(*weight)).string(info(weight->dtype).torch_name);
    has_pairs = true;
  }
  aliases.end_object();
  pairs.end_object();
  if (has_aliases) out.emplace_back("aliases", std::move(aliases).take());
  if (has_pairs) out.emplace_back("complex", std::move(pairs).take());
  out.emplace_back("format", "pt");
  return out;
}

// What a small file may grow to: dense tensors to kMaxRepeatedBytes more than their records, and a deflated record,
// which is inflated whole, to kMaxUnusedBytes more than its tensors reach.
Status check_growth(std::span<const WeightSource> weights, const std::vector<Extent>& extents,
                    const std::string& path) {
  auto number = [](unsigned __int128 n) { return static_cast<int64_t>(std::min<unsigned __int128>(n, INT64_MAX)); };
  std::map<RecordKey, uint64_t> reached;
  unsigned __int128 dense = 0, stored = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    dense += extents[i].dense;
    auto [record, fresh] = reached.emplace(key_of(weights[i].record), 0);
    if (fresh) stored += weights[i].record.size;
    record->second = std::max(record->second, extents[i].end);
  }
  if (dense > stored + kMaxRepeatedBytes)
    return diagnose(Kind::WeightsRepeated, {{"dense", number(dense)}, {"stored", number(stored)}}, path);
  for (auto& weight : weights) {
    uint64_t used = reached[key_of(weight.record)];
    if (weight.record.is_stored() || weight.record.size <= used + kMaxUnusedBytes) continue;
    return diagnose(Kind::WeightInflated,
                    {{"name", name_of(weight)}, {"used", number(used)}, {"size", number(weight.record.size)}}, path,
                    weight.record.member);
  }
  return Unit{};
}

}  // namespace

std::vector<int64_t> dense_strides(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> out(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;)
    if (__builtin_mul_overflow(out[i], std::max<int64_t>(sizes[i], 1), &out[i - 1])) out[i - 1] = INT64_MAX;
  return out;
}

std::optional<ByteView> dense_view(const WeightSource& weight) {
  auto extent = extent_of(weight);
  if (!extent || !is_dense(weight) || weight.narrow) return std::nullopt;
  if (extent->dense == 0) return ByteView();
  auto record = archive::view(weight.record);
  return record ? slice(*record, extent->begin, extent->dense) : std::nullopt;
}

Result<std::vector<std::byte>> dense_bytes(const WeightSource& weight) {
  auto extent = extent_of(weight);
  if (!extent) return not_inside(weight);
  TRY_OK(check_growth({&weight, 1}, {*extent}, file_of(weight)));
  std::vector<std::byte> out(extent->dense);
  if (out.empty()) return out;
  TRY(auto reader, archive::RecordReader::open(weight.record));
  if (is_dense(weight)) {
    TRY_OK(reader.read(extent->begin, out));
  } else {
    TRY(auto bytes, MappedRecord::open(weight.record, reader));
    Gatherer(weight).next(bytes.view().data() + extent->begin, out);
  }
  if (!weight.narrow) return out;
  std::vector<std::byte> narrow;
  to_narrow(out, *weight.narrow, narrow);
  return narrow;
}

std::string weights_digest(std::span<const std::string> headers, std::span<const StoredTensor> tensors) {
  Digester digester;
  for (auto& header : headers) digester.update(bytes_of(header));
  for (auto& tensor : tensors) digester.update(bytes_of("\n" + tensor.digest));
  return digester.text();
}

namespace {

Result<std::vector<Extent>> extents_of(std::span<const WeightSource> weights, const std::string& path) {
  std::vector<Extent> extents;
  for (auto& weight : weights) {
    CHECK(!weight.names.empty()) << "a weight has a name";
    CHECK(!weight.narrow || can_narrow(weight.dtype, *weight.narrow)) << "checked by whoever asked for it";
    auto extent = extent_of(weight);
    if (!extent) return not_inside(weight);
    extents.push_back(*extent);
  }
  TRY_OK(check_growth(weights, extents, weights.empty() ? path : file_of(weights.front())));
  return extents;
}

uint64_t stored_bytes(const WeightSource& weight, const Extent& extent) {
  return weight.narrow ? extent.dense / 2 : extent.dense;
}

// The numbers of the weights of each file, in the order of their bytes.
std::vector<std::vector<size_t>> split(std::span<const WeightSource> weights, const std::vector<Extent>& extents,
                                       uint64_t shard_size) {
  std::vector<size_t> order(weights.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_partition(order.begin(), order.end(),
                        [&](size_t i) { return stored_bytes(weights[i], extents[i]) % kAlignment == 0; });
  std::vector<std::vector<size_t>> out(1);
  uint64_t filled = 0;
  for (size_t i : order) {
    uint64_t bytes = stored_bytes(weights[i], extents[i]);
    if (shard_size > 0 && !out.back().empty() && (bytes > shard_size || filled > shard_size - bytes)) {
      out.emplace_back();
      filled = 0;
    }
    out.back().push_back(i);
    filled += bytes;
  }
  return out;
}

// "weights-00001-of-00002.safetensors"
std::string shard_name(size_t number, size_t count) {
  auto digits = [](size_t n) {
    std::string text = std::to_string(n);
    return std::string(text.size() < 5 ? 5 - text.size() : 0, '0') + text;
  };
  return "weights-" + digits(number + 1) + "-of-" + digits(count) + ".safetensors";
}

// Of the Hugging Face convention.
std::string index_json(std::span<const WeightSource> weights, const std::vector<std::string>& file_of_weight,
                       uint64_t total) {
  std::map<std::string_view, std::string_view> files;
  for (size_t i = 0; i < weights.size(); ++i) files.emplace(name_of(weights[i]), file_of_weight[i]);
  JsonWriter json(2);
  json.begin_object();
  json.key("metadata").begin_object().key("total_size").integer(static_cast<int64_t>(total)).end_object();
  json.key("weight_map").begin_object();
  for (auto& [name, file] : files) json.key(name).string(file);
  json.end_object().end_object();
  return std::move(json).take() + "\n";
}

}  // namespace

Result<WrittenWeights> write_weights(const std::string& path, std::span<const WeightSource> weights,
                                     archive::Strict strict, uint64_t shard_size) {
  TRY(auto extents, extents_of(weights, path));
  auto files = split(weights, extents, shard_size);
  std::string folder = path.substr(0, path.rfind('/') + 1);
  WrittenWeights out;
  out.info.file = kWeightsFile;
  out.info.tensors.resize(weights.size());
  std::vector<std::string> headers, file_of_weight(weights.size());
  uint64_t total = 0;
  Streamer streamer(strict);
  for (size_t k = 0; k < files.size(); ++k) {
    std::vector<archive::SafetensorsEntry> entries;
    for (size_t i : files[k])
      entries.push_back(archive::storage_of(name_of(weights[i]), stored_dtype(weights[i]), weights[i].sizes));
    std::vector<size_t> in_order = files[k];
    std::sort(in_order.begin(), in_order.end());
    Sources sources;
    for (size_t i : in_order) sources.push_back(&weights[i]);
    headers.push_back(archive::safetensors_header(entries, metadata_of(sources)));
    std::string name = shard_name(k, files.size());
    TRY(auto file, OutputFile::create(files.size() == 1 ? path : folder + name));
    TRY_OK(file.write(bytes_of(headers.back())));
    for (size_t i : files[k]) {
      TRY(out.info.tensors[i].digest, streamer.add(weights[i], extents[i], &file));
      out.info.tensors[i].name = name_of(weights[i]);
      file_of_weight[i] = name;
      total += stored_bytes(weights[i], extents[i]);
    }
    out.info.bytes += file.size();
    if (files.size() > 1) out.info.shards.push_back({name, file.size(), ""});
    TRY_OK(file.finish());
  }
  if (files.size() > 1) {
    out.info.file = kWeightsIndex;
    TRY_OK(write_file(folder + std::string(kWeightsIndex), bytes_of(index_json(weights, file_of_weight, total))));
  }
  out.info.digest = weights_digest(headers, out.info.tensors);
  out.warnings = streamer.take_warnings();
  return out;
}

Result<WrittenWeights> refer_to_weights(const std::string& path, const std::string& archive_digest,
                                        std::span<const WeightSource> weights, archive::Strict strict) {
  TRY(auto extents, extents_of(weights, path));
  WrittenWeights out;
  out.info.file = path;
  out.info.digest = archive_digest;
  out.info.reference = true;
  std::vector<Diagnostic> problems;
  Streamer streamer(strict);
  for (size_t i = 0; i < weights.size(); ++i) {
    auto& weight = weights[i];
    const File* file = weight.record.source ? weight.record.source->file() : nullptr;
    std::string problem;
    if (weight.narrow) problem = "is to be stored as another dtype";
    else if (!is_dense(weight)) problem = "does not lie there in row-major order";
    else if (extents[i].dense > 0 && !weight.record.is_stored()) problem = "is deflated there";
    else if (extents[i].dense > 0 && !file) problem = "lies in an archive within the archive that is deflated";
    if (!problem.empty()) {
      problems.push_back(
          diagnose(Kind::WeightReference, {{"name", name_of(weight)}, {"problem", problem}}, file_of(weight)));
      continue;
    }
    if (file) out.info.bytes = file->size();
    TRY(auto digest, streamer.add(weight, extents[i], nullptr));
    out.info.tensors.push_back(
        {name_of(weight), std::move(digest), extents[i].dense == 0 ? 0 : weight.record.offset + extents[i].begin});
  }
  if (!problems.empty()) return problems;
  out.warnings = streamer.take_warnings();
  return out;
}

}  // namespace torchlift::bundle
