// torchlift verify: a call whose results are known.
#include "base/json.hpp"
#include "base/kinds.hpp"
#include "cli/compare.hpp"
#include "cli/execute.hpp"

namespace torchlift::cli {

Result<Output> run_verify(const VerifyOptions& options) {
  TRY(auto inputs, read_inputs(options.run.inputs));
  if (options.expected.empty() && options.run.inputs.empty())
    return diagnose(Kind::NothingExpected, {}, options.run.model);
  const std::string& path = options.expected.empty() ? options.run.inputs.front() : options.expected;
  if (options.expected.empty() && path.ends_with(".npy")) return diagnose(Kind::NothingExpected, {}, path);
  TRY(auto expected, read_case_file(path));
  if (!expects_something(expected)) return diagnose(Kind::NothingExpected, {}, path);
  TRY(auto execution, execute(options.run, inputs));
  TRY(auto comparisons, compare(expected, execution.answer, path));
  Output out;
  JsonWriter json;
  json.begin_object().key("results").begin_array();
  size_t equal = 0;
  for (auto& one : comparisons) {
    json.begin_object().key("key").string(one.key).key("equal").boolean(one.equal).key("text").string(one.text);
    json.key("largest_difference").number(one.difference).end_object();
    out.text += (one.equal ? "equal      " : "different  ") + one.key + "  " + one.text + "\n";
    equal += one.equal ? 1 : 0;
  }
  json.end_array().end_object();
  out.json = std::move(json).take();
  out.text += std::to_string(equal) + " of " + std::to_string(comparisons.size()) + " results are equal\n";
  out.code = equal == comparisons.size() ? ExitCode::Ok : ExitCode::Different;
  out.notes = std::move(execution.notes);
  return out;
}

}  // namespace torchlift::cli
