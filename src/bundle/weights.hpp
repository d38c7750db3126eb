// Weights on their way from a model file to weights.safetensors: copied piece by piece, never held as a whole.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "archive/record.hpp"
#include "bundle/manifest.hpp"

namespace torchlift::bundle {

// One tensor over a record of the archive, which outlives the call. Strides and offset count elements; that the tensor
// lies inside its record is checked by whoever read the archive, and again here.
struct WeightSource {
  std::vector<std::string> names;  // the argument's own name first, then its aliases
  DType dtype{};
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  int64_t storage_offset = 0;
  archive::Record record;
  std::optional<DType> narrow{};  // stored as this: float32 as bfloat16 or float16, rounded to nearest even
  bool has_checksum = true;       // false: the record's `crc` says nothing (safetensors keep none)
};

// Row-major strides, in elements; a size of zero counts as one.
std::vector<int64_t> dense_strides(const std::vector<int64_t>& sizes);

inline DType stored_dtype(const WeightSource& weight) { return weight.narrow.value_or(weight.dtype); }

// Whether float32 values can be stored as `narrow`.
inline bool can_narrow(DType from, DType narrow) {
  return from == DType::Float32 && (narrow == DType::BFloat16 || narrow == DType::Float16);
}

// Its bytes where they lie, if the tensor is dense and its record stored: valid while the archive is open.
std::optional<ByteView> dense_view(const WeightSource& weight);
// A copy of its bytes, dense, row-major and as they are stored.
Result<std::vector<std::byte>> dense_bytes(const WeightSource& weight);

struct WrittenWeights {
  WeightsInfo info;
  std::vector<Diagnostic> warnings;  // records whose bytes do not have the checksum that the archive keeps
};

// A tensor that repeats its record's bytes (an expanded buffer, overlapping views) grows when it is made dense: all
// weights together may take this much more than their records.
inline constexpr uint64_t kMaxRepeatedBytes = uint64_t{1} << 30;

// Writes the file `path`. Tensors whose bytes fill whole 64s come first, so that each begins at a multiple of 64;
// within both groups the order is that of `weights`, which stands in the metadata as `argument_order`. Every record is
// checked against its checksum in the same pass: a mismatch is a warning, with Strict::Yes an error. More than
// `shard_size` bytes of tensors (0: any number) are split, between tensors, into files beside `path`, with an index:
// weights-00001-of-00002.safetensors, weights.safetensors.index.json.
Result<WrittenWeights> write_weights(const std::string& path, std::span<const WeightSource> weights,
                                     archive::Strict strict, uint64_t shard_size = 0);

// What stands in a manifest for weights that stay in their archive: each tensor must be dense, and stored as it is in
// the file. `path`: as the manifest is to name it.
Result<WrittenWeights> refer_to_weights(const std::string& path, const std::string& archive_digest,
                                        std::span<const WeightSource> weights, archive::Strict strict);

// What `WeightsInfo::digest` of weights of the bundle's own is: headers of the files, length fields included, in order.
std::string weights_digest(std::span<const std::string> headers, std::span<const StoredTensor> tensors);

}  // namespace torchlift::bundle
