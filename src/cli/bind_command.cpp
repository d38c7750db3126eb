// torchlift bind: a checkpoint goes into a bundle.
#include "base/interrupt.hpp"
#include "base/json.hpp"
#include "base/kinds.hpp"
#include "base/text.hpp"
#include "bundle/bind.hpp"
#include "cli/command.hpp"

namespace torchlift::cli {
namespace {

constexpr size_t kNamesShown = 5;

Result<std::vector<bundle::PrefixRule>> parse_prefixes(const std::vector<std::string>& prefixes) {
  std::vector<bundle::PrefixRule> out;
  for (auto& text : prefixes) {
    size_t equals = text.find('=');
    if (equals == std::string::npos)
      return diagnose(Kind::PrefixOption, {{"option", text}, {"problem", std::string("has no `=`")}});
    out.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  return out;
}

// "3 weights keep their values: `a`, `b`, `c`"
Diagnostic note(const std::vector<std::string>& names, const std::string& what, const std::string& path) {
  std::vector<std::string> shown(names.begin(), names.begin() + static_cast<long>(std::min(names.size(), kNamesShown)));
  std::string text = std::to_string(names.size()) + " " + what + ": " +
                     join(shown, ", ", [](const std::string& name) { return "`" + printable(name) + "`"; });
  if (names.size() > kNamesShown) text += ", ...";
  return diagnose(Kind::BindNote, {{"text", std::move(text)}}, path);
}

void write_names(JsonWriter& json, std::string_view key, const std::vector<std::string>& names) {
  json.key(key).begin_array();
  for (auto& name : names) json.string(name);
  json.end_array();
}

}  // namespace

Result<Output> run_bind(const BindCommandOptions& options) {
  TRY(auto rules, parse_prefixes(options.prefixes));
  TRY(auto state, bundle::StateDict::open(options.state, options.key));
  TRY_OK(state.rename(rules));
  const std::string& target = options.output.empty() ? options.directory : options.output;
  InterruptScope scope;
  TRY(auto rebound, bundle::rebind(options.directory, target, state,
                                   {.strict = options.strict, .allow_missing = options.allow_missing},
                                   options.strict ? archive::Strict::Yes : archive::Strict::No));
  Output out;
  size_t count = rebound.manifest.weights->tensors.size() - rebound.kept.size();
  out.text = target + "\n  " + std::to_string(count) + " weights from " + options.state + "\n";
  JsonWriter json;
  json.begin_object().key("directory").string(target);
  json.key("bound").integer(static_cast<int64_t>(count));
  write_names(json, "kept", rebound.kept);
  write_names(json, "unused", rebound.unused);
  json.key("digest").string(rebound.manifest.weights->digest).end_object();
  out.json = std::move(json).take();
  if (!rebound.kept.empty())
    out.notes.push_back(note(rebound.kept, "weights are not in the file and keep their values", options.state));
  if (!rebound.unused.empty())
    out.notes.push_back(note(rebound.unused, "names of the file belong to no weight of the program", options.state));
  if (rebound.samples_dropped > 0)
    out.notes.push_back(diagnose(Kind::BindNote,
                                 {{"text", std::string("the samples are left out: their results are "
                                                       "those of the weights before")}},
                                 target));
  out.notes.insert(out.notes.end(), rebound.warnings.begin(), rebound.warnings.end());
  return out;
}

}  // namespace torchlift::cli
