// Opens a bundle: manifest, programs, weights; each checked against the others before anything runs.
#pragma once

#include <string>
#include <vector>

#include "archive/safetensors.hpp"
#include "bundle/manifest.hpp"

namespace torchlift::bundle {

// The manifest of the bundle in `directory`.
Result<Manifest> open(const std::string& directory);

// The program's text; its digest and the signature of @main are those that the manifest says.
Result<std::string> read_program(const std::string& directory, const Program& program);

// The bundle's own weights. A bundle that was written without weights is refused: WeightsNotInBundle.
Result<archive::SafetensorsFile> open_weights(const std::string& directory, const Manifest& manifest);

// The bytes of each argument that is no input, in order, from any file of these names (a bundle's own, or a state dict
// that was trained on). Names alone decide, an alias will do; dtype and shape must be the program's, complex numbers
// may be pairs. All problems are reported at once. Views into `weights`.
Result<std::vector<ByteView>> bind(const Program& program, const archive::SafetensorsFile& weights);

}  // namespace torchlift::bundle
