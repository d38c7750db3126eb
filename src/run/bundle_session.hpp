// A bundle's program on a device.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "bundle/manifest.hpp"
#include "run/session.hpp"

namespace torchlift::run {

// The program of the manifest whose inputs have these types; the error lists what each program takes.
Result<size_t> select_program(const bundle::Manifest& manifest, std::span<const TensorType> inputs,
                              const std::string& path);

// Owns everything a session needs but the client, which outlives it.
class BundleSession {
 public:
  // `program`: its number in the manifest. `weights`: another file than the bundle's own, where not empty.
  static Result<BundleSession> open(const pjrt::Client& client, const std::string& directory,
                                    const bundle::Manifest& manifest, size_t program, const std::string& weights = "",
                                    const pjrt::CompileOptions& options = {});
  BundleSession(BundleSession&&) noexcept;
  BundleSession& operator=(BundleSession&&) noexcept;
  ~BundleSession();

  Session& session();

 private:
  struct Parts;
  explicit BundleSession(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace torchlift::run
