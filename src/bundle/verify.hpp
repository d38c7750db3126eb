// Whether a bundle is whole, and its parts are of one make: everything that can be seen without a device.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bundle/manifest.hpp"

namespace torchlift::bundle {

struct Verification {
  std::vector<Diagnostic> findings;  // errors and warnings, each with what to do
  size_t programs = 0;               // that were looked at
  size_t tensors = 0;
  size_t samples = 0;
};

// Everything that is wrong with the bundle in `directory`, as far as it can be told: layout, manifest, digests, each
// program's signature and text, the programs among each other, weights, samples. An error of its own only where the
// directory cannot be read.
Result<Verification> verify(const std::string& directory);

// What is wrong with a program's text beside its types: it must be whole, its first function `@main`, the only public
// one; sizes fixed; operations of StableHLO and functions alone.
std::vector<Diagnostic> check_program_text(std::string_view text, const std::string& path, const std::string& name);

}  // namespace torchlift::bundle
