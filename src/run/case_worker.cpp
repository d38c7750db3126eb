// A worker's side of run_cases.
#include <signal.h>
#include <sys/prctl.h>

#include <cstdio>
#include <fstream>

#include "base/kinds.hpp"
#include "base/text.hpp"
#include "pjrt/plugin.hpp"
#include "run/cases.hpp"
#include "run/channel.hpp"

namespace torchlift::run {
namespace {

// Resident memory of this process in bytes; 0 where the system does not say.
uint64_t resident_memory() {
  std::ifstream statm("/proc/self/statm");
  uint64_t all = 0;
  uint64_t resident = 0;
  if (!(statm >> all >> resident)) return 0;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

std::string line_of(const Case& one) {
  return join(one.inputs, "\t", [](const std::string& inputs) { return inputs; });
}

std::string answer(const Case& one, size_t step, const CaseOutcome& outcome) {
  return std::string(channel::kOutcome) + std::to_string(step) + " " +
         std::to_string(static_cast<int>(outcome.status)) + " " + status_line(case_name(one.inputs[step]), outcome) +
         "\n";
}

// Runs one case and sends its outcomes; false if the supervisor is gone.
bool run_one(const Case& one, WorkerContext& context, const RunCase& run_case) {
  std::vector<bool> told(one.inputs.size());
  bool connected = true;
  run_case(one, context, [&one, &told, &connected](size_t step, const CaseOutcome& outcome) {
    if (step >= told.size() || told[step]) return;
    told[step] = true;
    connected = connected && channel::send_all(kWorkerChannel, answer(one, step, outcome));
  });
  for (size_t step = 0; step < told.size(); ++step) {
    if (told[step]) continue;
    Diagnostic untold = diagnose(Kind::Internal, {{"reason", "no outcome was told for this case of " + line_of(one)}});
    CaseOutcome outcome{.status = CaseStatus::Error, .seconds = {}, .diagnostics = {to_text(untold)}};
    connected = connected && channel::send_all(kWorkerChannel, answer(one, step, outcome));
  }
  return connected;
}

}  // namespace

Result<const pjrt::Client*> WorkerContext::client() {
  if (!client_) {
    TRY(pjrt::Plugin plugin, pjrt::Plugin::load(options_.plugin));
    TRY(client_, pjrt::Client::create(plugin));
  }
  return &*client_;
}

Result<ProgramCache*> WorkerContext::programs() {
  if (!programs_) {
    TRY(const pjrt::Client* client, this->client());
    programs_.emplace(*client, options_.compile_options);
  }
  return &*programs_;
}

int work(const WorkerOptions& options, const RunCase& run_case) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  WorkerContext context(options);
  channel::Lines lines;
  for (size_t cases = 1;; ++cases) {
    std::optional<std::string> line = lines.next();
    while (!line) {
      if (!lines.receive(kWorkerChannel)) return 0;
      line = lines.next();
    }
    std::optional<Case> one = parse_case(*line);
    if (!one) return 2;
    if (!run_one(*one, context, run_case)) return 1;
    bool last = cases >= options.recycle_after || resident_memory() > options.memory_bound;
    if (!channel::send_all(kWorkerChannel, std::string(last ? channel::kLast : channel::kDone) + "\n")) return 1;
    if (last) return 0;
  }
}

}  // namespace torchlift::run
