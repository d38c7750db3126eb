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
  __int128 count = 1;
  __int128 last = weight.storage_offset;
  constexpr __int128 kLimit = __int128{1} << 60;
  for (size_t i = 0; i < weight.sizes.size(); ++i) {
    if (weight.sizes[i] < 0 || weight.strides[i] < 0) return std::nullopt;
    count *= weight.sizes[i];
    if (weight.sizes[i] > 0) last += static_cast<__int128>(weight.sizes[i] - 1) * weight.strides[i];
    if (count > kLimit || last > kLimit) return std::nullopt;
  }
  __int128 width = width_of(weight);
  Extent out{static_cast<uint64_t>(count * width), static_cast<uint64_t>(weight.storage_offset * width), 0};
  out.end = count == 0 ? out.begin : static_cast<uint64_t>((last + 1) * width);
  if (count > 0 && out.end > weight.record.size) return std::nullopt;
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

// Writes the tensors' bytes in order, and sees to the checksums.
class Streamer {
 public:
  Streamer(OutputFile& out, archive::Strict strict) : out_(out), strict_(strict), buffer_(kChunk) {}

  Status add(const WeightSource& weight, const Extent& extent) {
    if (extent.dense == 0) return Unit{};
    TRY(auto reader, archive::RecordReader::open(weight.record));
    bool seen = !checked_.insert({key_of(weight.record), true}).second;
    if (!seen && covers_record(weight, extent)) return copy_checked(weight, reader);
    if (!seen) TRY_OK(check(weight.record));
    if (is_dense(weight)) return copy(weight, extent, reader);
    return gather(weight, extent, reader);
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

  // One pass for copy and checksum.
  Status copy_checked(const WeightSource& weight, const archive::RecordReader& reader) {
    uint32_t crc = 0;
    for (uint64_t at = 0; at < weight.record.size;) {
      auto part = chunk(weight.record.size - at);
      TRY_OK(reader.read(at, part));
      crc = archive::crc32(crc, part);
      TRY_OK(out_.write(part));
      at += part.size();
    }
    return crc == weight.record.crc ? Status(Unit{}) : check(weight.record);
  }

  Status copy(const WeightSource& weight, const Extent& extent, const archive::RecordReader& reader) {
    if (const File* file = weight.record.source->file(); file != nullptr && weight.record.is_stored())
      return out_.copy(*file, weight.record.offset + extent.begin, extent.dense);
    for (uint64_t at = 0; at < extent.dense;) {
      auto part = chunk(extent.dense - at);
      TRY_OK(reader.read(extent.begin + at, part));
      TRY_OK(out_.write(part));
      at += part.size();
    }
    return Unit{};
  }

  Status gather(const WeightSource& weight, const Extent& extent, const archive::RecordReader& reader) {
    TRY(auto bytes, MappedRecord::open(weight.record, reader));
    Gatherer gatherer(weight);
    for (uint64_t done = 0; done < extent.dense;) {
      auto part = chunk(extent.dense - done);
      gatherer.next(bytes.view().data() + extent.begin, part);
      TRY_OK(out_.write(part));
      done += part.size();
    }
    return Unit{};
  }

  std::span<std::byte> chunk(uint64_t left) {
    return std::span(buffer_).first(static_cast<size_t>(std::min<uint64_t>(left, kChunk)));
  }

  OutputFile& out_;
  archive::Strict strict_;
  std::vector<std::byte> buffer_;
  std::map<RecordKey, bool> checked_;
  std::vector<Diagnostic> warnings_;
};

std::string json_list(std::span<const WeightSource> weights) {
  JsonWriter json;
  json.begin_array();
  for (auto& weight : weights) json.string(name_of(weight));
  json.end_array();
  return std::move(json).take();
}

// What a reader of the weights alone needs: the order, tied names, and which tensors are complex numbers stored as
// pairs.
std::vector<std::pair<std::string, std::string>> metadata_of(std::span<const WeightSource> weights) {
  std::vector<std::pair<std::string, std::string>> out = {{"argument_order", json_list(weights)}};
  JsonWriter aliases, pairs;
  aliases.begin_object();
  pairs.begin_object();
  bool has_aliases = false, has_pairs = false;
  for (auto& weight : weights) {
    for (size_t i = 1; i < weight.names.size(); ++i) aliases.key(weight.names[i]).string(name_of(weight));
    has_aliases |= weight.names.size() > 1;
    if (!is_complex(weight.dtype) || !info(weight.dtype).safetensors_name.empty()) continue;
    pairs.key(name_of(weight)).string(info(weight.dtype).torch_name);
    has_pairs = true;
  }
  aliases.end_object();
  pairs.end_object();
  if (has_aliases) out.emplace_back("aliases", std::move(aliases).take());
  if (has_pairs) out.emplace_back("complex", std::move(pairs).take());
  out.emplace_back("format", "pt");
  return out;
}

// Stands for the weights' bytes without reading them: header, and place, size and checksum of what each tensor is made
// from.
std::string digest_of_sources(const std::string& header, const std::vector<const WeightSource*>& weights) {
  std::string text = header;
  for (auto* weight : weights) {
    text += "\n" + std::to_string(weight->record.crc) + " " + std::to_string(weight->record.size) + " " +
            std::to_string(weight->storage_offset);
    for (int64_t stride : weight->strides) text += " " + std::to_string(stride);
  }
  return digest_of(bytes_of(text));
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

std::optional<ByteView> dense_view(const WeightSource& weight) {
  auto extent = extent_of(weight);
  if (!extent || !is_dense(weight)) return std::nullopt;
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
    return out;
  }
  TRY(auto bytes, MappedRecord::open(weight.record, reader));
  Gatherer(weight).next(bytes.view().data() + extent->begin, out);
  return out;
}

Result<WrittenWeights> write_weights(const std::string& path, std::span<const WeightSource> weights,
                                     archive::Strict strict) {
  std::vector<Extent> extents;
  for (auto& weight : weights) {
    CHECK(!weight.names.empty()) << "a weight has a name";
    auto extent = extent_of(weight);
    if (!extent) return not_inside(weight);
    extents.push_back(*extent);
  }
  TRY_OK(check_growth(weights, extents, weights.empty() ? path : file_of(weights.front())));

  std::vector<size_t> order(weights.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_partition(order.begin(), order.end(), [&](size_t i) { return extents[i].dense % kAlignment == 0; });
  std::vector<archive::SafetensorsEntry> entries;
  std::vector<const WeightSource*> ordered;
  for (size_t i : order) {
    entries.push_back(archive::storage_of(name_of(weights[i]), weights[i].dtype, weights[i].sizes));
    ordered.push_back(&weights[i]);
  }

  std::string header = archive::safetensors_header(entries, metadata_of(weights));
  TRY(auto file, OutputFile::create(path));
  TRY_OK(file.write(bytes_of(header)));
  Streamer streamer(file, strict);
  for (size_t i : order) TRY_OK(streamer.add(weights[i], extents[i]));
  WrittenWeights out;
  out.info = {std::string(kWeightsFile), digest_of_sources(header, ordered), file.size()};
  out.warnings = streamer.take_warnings();
  TRY_OK(file.finish());
  return out;
}

}  // namespace torchlift::bundle
