// Many cases in a few worker processes: `torchlift run-cases`. A supervisor hands out lines of a list to workers, which
// are started by exec, and writes a status line as soon as a case is finished. A worker that dies, or that is killed
// because a case took too long, costs that case alone. What running a case means is the caller's (importing is no
// business of this room): the worker is given a function.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "pjrt/client.hpp"
#include "run/program_cache.hpp"

namespace torchlift::run {

// One line of a list: `program<TAB>inputs.safetensors`, and a further inputs file for each further call on the loaded
// program, whose state stays.
struct Case {
  std::string program;
  std::vector<std::string> inputs;  // at least one
};

// The name that a case goes by: its inputs file's, without folder and `.safetensors`.
std::string case_name(std::string_view inputs_file);

// All cases of the list at `path`; names are checked to differ.
Result<std::vector<Case>> read_cases(const std::string& path);
// One line; nothing if it has no tab. Lines that are empty or begin with # are for the caller to leave out.
std::optional<Case> parse_case(std::string_view line);

enum class CaseStatus : uint8_t { Ok, Refused, Error, Timeout };

struct Seconds {
  double import = 0;
  double compile = 0;
  double run = 0;
};

struct CaseOutcome {
  CaseStatus status = CaseStatus::Error;
  Seconds seconds;
  std::vector<std::string> diagnostics;
};

// `{"case": ..., "status": ..., "seconds": {...}, "diagnostics": [...]}`, without a line end.
std::string status_line(std::string_view name, const CaseOutcome& outcome);

// ---- the supervisor

struct CasesOptions {
  std::string list;
  std::string out;  // created where it is not there; status.jsonl in it is begun anew
  size_t jobs = 1;
  double case_timeout = 60;  // seconds, for each inputs file; starting a worker counts for its first case
  std::vector<std::string> worker_command;  // program and arguments, e.g. this executable and "worker"
};

struct CasesSummary {
  size_t ok = 0;
  size_t refused = 0;
  size_t error = 0;
  size_t timeout = 0;
  size_t workers_started = 0;
};

// Returns when every case has its line in OUT/status.jsonl. Cases are begun in the list's order.
Result<CasesSummary> run_cases(const CasesOptions& options);

// ---- a worker

struct WorkerOptions {
  std::string plugin;                  // a file; loaded when the first case asks for the client
  size_t recycle_after = 500;          // cases; then the worker ends and the supervisor starts a fresh one
  uint64_t memory_bound = 4ull << 30;  // bytes of resident memory after a case; beyond, likewise
  pjrt::CompileOptions compile_options;
};

// What a worker has for all its cases: one client, and the programs compiled on it. Made on first use.
class WorkerContext {
 public:
  explicit WorkerContext(WorkerOptions options) : options_(std::move(options)) {}
  Result<const pjrt::Client*> client();
  Result<ProgramCache*> programs();

 private:
  WorkerOptions options_;
  std::optional<pjrt::Client> client_;
  std::optional<ProgramCache> programs_;
};

// Tells the outcome of the call with inputs[step]; its output file is written before. A call that is never told of gets
// the status `error`.
using Report = std::function<void(size_t step, const CaseOutcome& outcome)>;
using RunCase = std::function<void(const Case& one, WorkerContext& context, const Report& report)>;

// The life of a worker: takes cases from kWorkerChannel and answers there, as run_cases expects. Standard output and
// error are free for plugins to write on; the supervisor quotes their end when the worker dies. Returns the exit code.
// Afterwards the process may be killed at any time: what a case writes is on disk before its outcome is told.
int work(const WorkerOptions& options, const RunCase& run_case);
inline constexpr int kWorkerChannel = 3;  // file descriptor of a socket

}  // namespace torchlift::run
