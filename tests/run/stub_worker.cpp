// A worker for cases_test.cpp. It does what the name of the case's program says:
//   ok, refuse, error    tells that outcome for every call
//   die, exit            dies within the first call, by a signal or by itself
//   die1                 dies within the second call
//   hang                 does not come back
//   silent               returns without an outcome
//   compile              compiles the program's own name on the plugin and tells how often the worker has compiled
// Arguments: RECYCLE_AFTER PLUGIN
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "run/cases.hpp"

namespace {

using namespace torchlift;

run::CaseOutcome outcome(run::CaseStatus status, std::string text) {
  return {.status = status, .seconds = {.import = 0.25, .compile = 0, .run = 0.5}, .diagnostics = {std::move(text)}};
}

run::CaseOutcome compile(run::WorkerContext& context) {
  Result<run::ProgramCache*> programs = context.programs();
  if (!programs.ok()) return outcome(run::CaseStatus::Error, to_text(programs.error()));
  auto program = (*programs)->get("result 11 4 copy 0\n");
  if (!program.ok()) return outcome(run::CaseStatus::Error, to_text(program.error()));
  return outcome(run::CaseStatus::Ok, "compiled " + std::to_string((*programs)->compiled()));
}

void run_case(const run::Case& one, run::WorkerContext& context, const run::Report& report) {
  for (size_t step = 0; step < one.inputs.size(); ++step) {
    if (one.program == "die" || (one.program == "die1" && step == 1)) {
      std::cerr << "the stub's last words" << std::endl;
      std::abort();
    }
    if (one.program == "exit") std::exit(7);
    while (one.program == "hang") pause();
    if (one.program == "silent") return;
    if (one.program == "compile") report(step, compile(context));
    if (one.program == "refuse") report(step, outcome(run::CaseStatus::Refused, "not supported"));
    if (one.program == "error") report(step, outcome(run::CaseStatus::Error, "a defect"));
    if (one.program == "ok" || one.program == "die1")
      report(step, outcome(run::CaseStatus::Ok, std::to_string(getpid())));
  }
}

}  // namespace

int main(int argc, char** argv) {
  run::WorkerOptions options;
  if (argc > 1) options.recycle_after = std::strtoull(argv[1], nullptr, 10);
  if (argc > 2) options.plugin = argv[2];
  return run::work(options, run_case);
}
