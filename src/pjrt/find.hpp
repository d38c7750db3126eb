// Which file a plugin is. A plugin is named by path, or by a short name for packages whose file we know. Only names of
// files are looked at here; nothing is opened or initialised.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace torchlift::pjrt {

// One known package. Several rows may have one short name; the first that is found is taken.
struct KnownPlugin {
  std::string_view name;     // "cpu"
  std::string_view package;  // as the package index spells it
  std::string_view file;     // below site-packages
};
std::span<const KnownPlugin> known_plugins();

// The file for `request`: a path (anything with a slash or a library's ending) or a short name. An empty request asks
// TORCHLIFT_PJRT_PLUGIN, else "cpu". Short names are searched in plugin_folders(), in order.
Result<std::string> find_plugin(std::string_view request);

// Where packages are looked for: each folder of TORCHLIFT_PJRT_PATH (colons between); `.deps/pjrt` in the folder of the
// running program and in the current folder, and in each folder above them; lib/python3.*/site-packages of VIRTUAL_ENV;
// those of the user and the system. Folders that are not there are left out.
std::vector<std::string> plugin_folders();

struct InstalledPlugin {
  std::string name;
  std::string package;
  std::string path;
};
// Every known plugin whose file is there: for `torchlift devices`.
std::vector<InstalledPlugin> installed_plugins();

}  // namespace torchlift::pjrt
