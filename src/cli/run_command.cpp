// torchlift run: one call of a model or bundle.
#include "base/json.hpp"
#include "base/kinds.hpp"
#include "cli/execute.hpp"
#include "cli/show.hpp"

namespace torchlift::cli {

Result<Output> run_run(const RunOptions& options) {
  if (auto& path = options.output; !path.empty() && !path.ends_with(".safetensors") && !path.ends_with(".npy"))
    return diagnose(Kind::OutputEnding, {}, path);
  TRY(auto inputs, read_inputs(options.inputs));
  TRY(auto execution, execute(options, inputs));
  Output out;
  JsonWriter json;
  json.begin_object();
  json.key("results").begin_object();
  for (auto& [key, value] : execution.answer) {
    json.key(key).string(text_of(value));
    out.text += key + "  " + show(value) + "\n";
  }
  json.end_object();
  json.key("seconds").begin_object();
  json.key("import").number(execution.seconds.import);
  json.key("compile").number(execution.seconds.compile);
  json.key("run").number(execution.seconds.run);
  json.end_object();
  if (!options.output.empty()) {
    TRY_OK(write_answer(options.output, execution.answer));
    json.key("output").string(options.output);
    out.text += "written to " + options.output + "\n";
  }
  json.end_object();
  out.json = std::move(json).take();
  out.notes = std::move(execution.notes);
  return out;
}

}  // namespace torchlift::cli
