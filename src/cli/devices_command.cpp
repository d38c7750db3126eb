// torchlift devices: installed plugins, and the devices of one that is asked for.
#include "base/json.hpp"
#include "cli/command.hpp"
#include "pjrt/client.hpp"
#include "pjrt/find.hpp"

namespace torchlift::cli {
namespace {

Output installed() {
  Output out;
  JsonWriter json;
  json.begin_object().key("plugins").begin_array();
  for (auto& plugin : pjrt::installed_plugins()) {
    out.text += plugin.name + "  " + plugin.package + "  " + plugin.path + "\n";
    json.begin_object()
        .key("name")
        .string(plugin.name)
        .key("package")
        .string(plugin.package)
        .key("path")
        .string(plugin.path)
        .end_object();
  }
  json.end_array().end_object();
  if (out.text.empty()) out.text = "no plugin is installed; tools/setup fetches one for the CPU\n";
  out.json = std::move(json).take();
  return out;
}

}  // namespace

Result<Output> run_devices(const DevicesOptions& options) {
  if (options.plugin.empty()) return installed();
  TRY(auto file, pjrt::find_plugin(options.plugin));
  TRY(auto plugin, pjrt::Plugin::load(file));
  TRY(auto attributes, plugin.attributes());
  TRY(auto client, pjrt::Client::create(plugin));
  Output out;
  JsonWriter json;
  std::string version = std::to_string(plugin.major_version()) + "." + std::to_string(plugin.minor_version());
  out.text =
      file + "\n  PJRT C API " + version + "\n  platform " + client.platform() + " " + client.platform_version() + "\n";
  json.begin_object().key("file").string(file).key("api").string(version).key("platform").string(client.platform());
  json.key("attributes").begin_object();
  for (auto& attribute : attributes) {
    out.text += "  " + attribute.name + " " + attribute.text() + "\n";
    json.key(attribute.name).string(attribute.text());
  }
  json.end_object().key("devices").begin_array();
  for (auto& device : client.devices()) {
    out.text += "  device " + std::to_string(device.id) + "  " + device.kind + "  " + device.text + "\n";
    json.begin_object()
        .key("id")
        .integer(device.id)
        .key("kind")
        .string(device.kind)
        .key("text")
        .string(device.text)
        .end_object();
  }
  json.end_array().end_object();
  out.json = std::move(json).take();
  return out;
}

}  // namespace torchlift::cli
