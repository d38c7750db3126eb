// Weights of a program by name, whoever saved them: a bundle's own, a checkpoint that was trained on.
#pragma once

#include <string>
#include <vector>

#include "bundle/manifest.hpp"
#include "bundle/state_dict.hpp"
#include "bundle/write.hpp"

namespace torchlift::bundle {

struct BindOptions {
  bool strict = false;         // a name of the state dict that no program takes is an error
  bool allow_missing = false;  // a weight that the state dict lacks keeps the value that it has
};

// Where each argument that is no input finds its bytes.
struct Match {
  std::vector<WeightSource> sources;  // in order, named and typed as the program wants them; no names: it is missing
  std::vector<std::string> kept;      // names of those that are missing, and may be
  std::vector<std::string> unused;    // names of the state dict that no program takes
};

// Names alone decide, an alias will do; of tied names that are all there, the values must be equal. dtype and shape
// must be the model's (complex numbers may be pairs, and what is stored narrower may come so). A weight whose value is
// part of the programs must have that value. All problems are reported at once. Sources point into `state`.
Result<Match> match(const Manifest& manifest, const Program& program, const StateDict& state,
                    const BindOptions& options = {});

// The bytes of each argument that is no input, in order, dense and as the program takes them.
struct BoundWeights {
  std::vector<ByteView> arguments;           // into the state dict, or into `made`
  std::vector<std::vector<std::byte>> made;  // what had to be made dense, or narrower
};
Result<BoundWeights> views_of(const Match& match);  // of what is missing: none

// What `state` may lack (constants of the model) is taken from `own`, where there is one; all else must be in `state`.
Result<BoundWeights> bind(const Manifest& manifest, const Program& program, const StateDict& state,
                          const StateDict* own = nullptr);
// For all programs of the bundle, which take the same weights.
Result<BoundWeights> bind(const Manifest& manifest, const StateDict& state);

struct Rebound {
  Manifest manifest;  // as it is on disk
  std::vector<std::string> kept;
  std::vector<std::string> unused;
  size_t samples_dropped = 0;  // their results are those of the weights before
  std::vector<Diagnostic> warnings;
};

// Writes the bundle in `directory` with the weights of `state` as the bundle `output` (which may be `directory`), whole
// or not at all. Samples are left out.
Result<Rebound> rebind(const std::string& directory, const std::string& output, const StateDict& state,
                       const BindOptions& options, archive::Strict strict = archive::Strict::No);

}  // namespace torchlift::bundle
