// Private to this room: a directory that appears whole, or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace torchlift::bundle {

// An absolute path without a link at its end, so that its parent is where the rename happens.
Result<std::filesystem::path> target_of(const std::string& directory);

// Whether a bundle is there that a new one replaces. A directory that holds anything else is refused.
Result<bool> has_bundle(const std::filesystem::path& target);

// Whether a file of that name may be part of a bundle, of any format.
bool belongs_to_bundle(std::string_view name);

// A directory beside the target, and folders above both that had to be made: all gone again unless it takes its place.
class Staging {
 public:
  static Result<Staging> create(const std::filesystem::path& target);
  Staging(Staging&& other) noexcept { *this = std::move(other); }
  Staging& operator=(Staging&& other) noexcept;
  ~Staging();

  std::string file(std::string_view name) const { return (path_ / name).string(); }
  Status take_place(bool replace);

 private:
  Staging() = default;
  Status make_parents();
  Status swap_with_old();
  std::filesystem::path target_;
  std::filesystem::path path_;
  std::vector<std::filesystem::path> made_;
};

}  // namespace torchlift::bundle
