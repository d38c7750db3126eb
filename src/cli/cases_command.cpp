// torchlift run-cases and its workers: many cases, each imported, compiled and run.
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/json.hpp"
#include "base/kinds.hpp"
#include "cli/execute.hpp"
#include "pjrt/find.hpp"
#include "run/cases.hpp"

namespace torchlift::cli {
namespace {

// What a diagnostic of these kinds says is no fault of the model: a defect, ours or the plugin's.
run::CaseStatus status_of(const std::vector<Diagnostic>& errors) {
  return exit_code(errors) == ExitCode::Refused ? run::CaseStatus::Refused : run::CaseStatus::Error;
}

run::CaseOutcome outcome_of(const std::vector<Diagnostic>& errors, const run::Seconds& seconds) {
  run::CaseOutcome out{status_of(errors), seconds, {}};
  for (auto& error : errors) out.diagnostics.push_back(to_text(error));
  return out;
}

// One call: reads the inputs, answers into the output folder.
Status run_step(const std::string& inputs_file, const std::string& out, std::optional<LoadedModel>& model,
                const std::string& program, const LiftOptions& lift, run::WorkerContext& context,
                run::Seconds& seconds) {
  TRY(auto inputs, read_case_file(inputs_file));
  if (!model) {
    TRY(model, LoadedModel::open(program, lift));
  }
  auto method = inputs.metadata.find("method");
  std::string name = method == inputs.metadata.end() ? "forward" : method->second;
  if (!model->is_script() && name != "forward")
    return diagnose(Kind::MethodMissing, {{"method", name}, {"methods", std::string("`forward` alone, as any `.pt2`")}},
                    program);
  model->set_method(name);
  TRY(auto arguments, model->prepare(inputs, {inputs_file}, seconds));
  TRY(auto* client, context.client());
  TRY(auto* programs, context.programs());
  TRY(auto answer, model->call(arguments, *client, *programs, seconds));
  return write_answer(out + "/" + run::case_name(inputs_file) + ".safetensors", answer);
}

void run_case(const run::Case& one, run::WorkerContext& context, const run::Report& report, const std::string& out,
              const LiftOptions& lift) {
  std::optional<LoadedModel> model;
  for (size_t step = 0; step < one.inputs.size(); ++step) {
    run::Seconds seconds;
    Status status = run_step(one.inputs[step], out, model, one.program, lift, context, seconds);
    report(step, status ? run::CaseOutcome{run::CaseStatus::Ok, seconds, {}} : outcome_of(status.errors(), seconds));
  }
}

std::string own_path() {
  std::array<char, 4096> buffer{};
  ssize_t size = ::readlink("/proc/self/exe", buffer.data(), buffer.size());
  return size > 0 ? std::string(buffer.data(), static_cast<size_t>(size)) : "torchlift";
}

}  // namespace

Result<Output> run_run_cases(const RunCasesOptions& options) {
  TRY(auto plugin, pjrt::find_plugin(options.plugin));
  run::CasesOptions how;
  how.list = options.list;
  how.out = options.out;
  how.jobs = static_cast<size_t>(std::max<int64_t>(options.jobs, 1));
  how.case_timeout = options.case_timeout;
  how.worker_command = {own_path(), "worker", "--plugin", plugin, "--out", options.out, "--program", options.program};
  TRY(auto summary, run::run_cases(how));
  Output out;
  JsonWriter json;
  json.begin_object();
  for (auto& [name, count] :
       {std::pair("ok", summary.ok), std::pair("refused", summary.refused), std::pair("error", summary.error),
        std::pair("timeout", summary.timeout), std::pair("workers_started", summary.workers_started)})
    json.key(name).integer(static_cast<int64_t>(count));
  json.end_object();
  out.json = std::move(json).take();
  out.text = std::to_string(summary.ok) + " ok, " + std::to_string(summary.refused) + " refused, " +
             std::to_string(summary.error) + " errors, " + std::to_string(summary.timeout) + " timeouts\n";
  return out;
}

int run_worker(const std::string& plugin, const std::string& out, const std::string& program) {
  run::WorkerOptions options;
  LiftOptions lift;
  lift.program = program;
  options.plugin = plugin;
  return run::work(options, [&](const run::Case& one, run::WorkerContext& context, const run::Report& report) {
    run_case(one, context, report, out, lift);
  });
}

}  // namespace torchlift::cli
