// Opens a bundle: manifest, programs, weights; each checked against the others before anything runs.
#pragma once

#include <string>

#include "bundle/bind.hpp"
#include "bundle/manifest.hpp"
#include "bundle/state_dict.hpp"

namespace torchlift::bundle {

// The manifest of the bundle in `directory`.
Result<Manifest> open(const std::string& directory);

// The program's text; its digest and the signature of @main are those that the manifest says.
Result<std::string> read_program(const std::string& directory, const Program& program);

// The weights that the bundle holds or refers to; the sizes of their files are those of the manifest. A bundle that was
// written without weights is refused: WeightsNotInBundle.
Result<StateDict> open_weights(const std::string& directory, const Manifest& manifest);

// "DIR/NAME"
std::string path_in(const std::string& directory, std::string_view name);

}  // namespace torchlift::bundle
