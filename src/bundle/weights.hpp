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
};

// Its bytes where they lie, if the tensor is dense and its record stored: valid while the archive is open.
std::optional<ByteView> dense_view(const WeightSource& weight);
// A copy of its bytes, dense and row-major.
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
// checked against its checksum in the same pass: a mismatch is a warning, with Strict::Yes an error.
Result<WrittenWeights> write_weights(const std::string& path, std::span<const WeightSource> weights,
                                     archive::Strict strict);

}  // namespace torchlift::bundle
