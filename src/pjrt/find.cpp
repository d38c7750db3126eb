#include "pjrt/find.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "base/kinds.hpp"
#include "base/text.hpp"

namespace torchlift::pjrt {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDefaultPlugin = "cpu";
constexpr size_t kMaxFoldersUp = 64;

constexpr std::array kKnownPlugins = {
    KnownPlugin{"cpu", "fastatomstruct-xla-cpu", "fastatomstruct_xla_cpu/libpjrt_cpu.so"},
    KnownPlugin{"cpu", "lammps-jax-pjrt-cpu", "lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so"},
    KnownPlugin{"cpu", "xla-cpu-pjrt", "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so"},
    KnownPlugin{"cuda", "jax-cuda13-pjrt", "jax_plugins/xla_cuda13/xla_cuda_plugin.so"},
    KnownPlugin{"cuda", "jax-cuda12-pjrt", "jax_plugins/xla_cuda12/xla_cuda_plugin.so"},
    KnownPlugin{"rocm", "jax-rocm10-pjrt", "jax_plugins/xla_rocm10/xla_rocm_plugin.so"},
    KnownPlugin{"rocm", "jax-rocm7-pjrt", "jax_plugins/xla_rocm7/xla_rocm_plugin.so"},
    KnownPlugin{"tpu", "libtpu", "libtpu/libtpu.so"},
    KnownPlugin{"oneapi", "jax-oneapi-pjrt", "jax_plugins/xla_oneapi/xla_oneapi_plugin.so"},
    KnownPlugin{"tt", "jax-tt-plugin", "jax_plugins/libtt/libtt.so"},
    KnownPlugin{"metal", "jax-mps", "jax_plugins/mps/lib/libpjrt_plugin_mps.dylib"},
};

std::string environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody here changes the environment
  return value != nullptr ? value : "";
}

bool is_path(std::string_view request) {
  return request.find('/') != std::string_view::npos || request.ends_with(".so") || request.ends_with(".dylib");
}

class Folders {
 public:
  void add(const fs::path& folder) {
    std::error_code ignored;
    if (!fs::is_directory(folder, ignored)) return;
    std::string text = folder.lexically_normal().string();
    if (std::find(all_.begin(), all_.end(), text) == all_.end()) all_.push_back(std::move(text));
  }
  // PREFIX/NAME of `start` and of every folder above it.
  void add_upward(fs::path start, const fs::path& name) {
    for (size_t i = 0; i < kMaxFoldersUp && !start.empty(); ++i) {
      add(start / name);
      if (start == start.parent_path()) return;
      start = start.parent_path();
    }
  }
  // PREFIX/lib/python3.*/NAME, highest version first as the names sort.
  void add_python(const fs::path& prefix, const char* name) {
    std::error_code error;
    std::vector<fs::path> versions;
    for (fs::directory_iterator i(prefix / "lib", error), end; !error && i != end; i.increment(error))
      if (i->path().filename().string().starts_with("python3")) versions.push_back(i->path());
    std::sort(versions.rbegin(), versions.rend());
    for (const fs::path& version : versions) add(version / name);
  }
  std::vector<std::string> take() && { return std::move(all_); }

 private:
  std::vector<std::string> all_;
};

void add_listed(Folders& folders, std::string_view list) {
  while (!list.empty()) {
    size_t colon = std::min(list.find(':'), list.size());
    if (colon > 0) folders.add(fs::path(list.substr(0, colon)));
    list.remove_prefix(std::min(colon + 1, list.size()));
  }
}

std::string known_names() {
  std::vector<std::string> names;
  for (const KnownPlugin& row : kKnownPlugins)
    if (names.empty() || names.back() != row.name) names.emplace_back(row.name);
  return join(names, ", ", [](const std::string& name) { return "`" + name + "`"; });
}

std::string packages_of(std::string_view name) {
  std::vector<std::string> packages;
  for (const KnownPlugin& row : kKnownPlugins)
    if (row.name == name) packages.emplace_back(row.package);
  return join(packages, ", ", [](const std::string& package) { return package; });
}

Result<std::string> find_by_name(std::string_view name) {
  if (packages_of(name).empty())
    return diagnose(Kind::PluginUnknown, {{"name", std::string(name)}, {"known", known_names()}});
  for (const InstalledPlugin& plugin : installed_plugins())
    if (plugin.name == name) return plugin.path;
  std::vector<std::string> folders = plugin_folders();
  std::string searched = folders.empty() ? "`.deps/pjrt`" : join(folders, ", ", [](auto& f) { return "`" + f + "`"; });
  return diagnose(Kind::PluginNotFound,
                  {{"name", std::string(name)}, {"folders", searched}, {"packages", packages_of(name)}});
}

}  // namespace

std::span<const KnownPlugin> known_plugins() { return kKnownPlugins; }

Result<std::string> find_plugin(std::string_view request) {
  std::string chosen(request);
  if (chosen.empty()) chosen = environment("TORCHLIFT_PJRT_PLUGIN");
  if (chosen.empty()) chosen = kDefaultPlugin;
  if (!is_path(chosen)) return find_by_name(chosen);
  std::error_code error;
  fs::path absolute = fs::absolute(chosen, error);  // dlopen searches its own folders for a name without a slash
  if (error || !fs::is_regular_file(absolute, error))
    return diagnose(Kind::PluginLoad, {{"reason", "there is no such file"}}, chosen);
  return absolute.string();
}

std::vector<std::string> plugin_folders() {
  Folders folders;
  std::error_code ignored;
  add_listed(folders, environment("TORCHLIFT_PJRT_PATH"));
  const fs::path deps = fs::path(".deps") / "pjrt";
  folders.add_upward(fs::read_symlink("/proc/self/exe", ignored).parent_path(), deps);
  folders.add_upward(fs::current_path(ignored), deps);
  if (std::string venv = environment("VIRTUAL_ENV"); !venv.empty()) folders.add_python(venv, "site-packages");
  if (std::string home = environment("HOME"); !home.empty())
    folders.add_python(fs::path(home) / ".local", "site-packages");
  for (const char* prefix : {"/usr/local", "/usr"}) {
    folders.add_python(prefix, "site-packages");
    folders.add_python(prefix, "dist-packages");
  }
  return std::move(folders).take();
}

std::vector<InstalledPlugin> installed_plugins() {
  std::vector<InstalledPlugin> out;
  std::vector<std::string> folders = plugin_folders();
  std::error_code ignored;
  for (const KnownPlugin& row : kKnownPlugins)
    for (const std::string& folder : folders)
      if (fs::path path = fs::path(folder) / row.file; fs::is_regular_file(path, ignored))
        out.push_back({.name = std::string(row.name), .package = std::string(row.package), .path = path.string()});
  return out;
}

}  // namespace torchlift::pjrt
