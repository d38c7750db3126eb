// The supervisor of run_cases: one thread, which waits for its workers' answers and for their time to run out.
#include "run/cases.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "base/kinds.hpp"
#include "base/text.hpp"
#include "run/channel.hpp"

namespace torchlift::run {
namespace {

using Clock = std::chrono::steady_clock;

// A dying process lets go of its socket before it can be waited for.
constexpr std::chrono::milliseconds kDying{2000};
constexpr off_t kQuotedOutput = 600;  // bytes of what a worker wrote before it died

std::string error_text(int error) { return std::generic_category().message(error); }

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// status.jsonl: one write a line, so that a reader never sees half of one.
class StatusFile {
 public:
  static Result<StatusFile> create(const std::string& path) {
    StatusFile out(path);
    out.file_ = Descriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666));
    if (out.file_.get() < 0) return out.failed();
    return out;
  }
  Status write_line(std::string line) const {
    line += '\n';
    ssize_t written = write(file_.get(), line.data(), line.size());
    if (written != static_cast<ssize_t>(line.size())) return failed();
    return Unit{};
  }

 private:
  explicit StatusFile(std::string path) : path_(std::move(path)) {}
  Diagnostic failed() const { return diagnose(Kind::CannotWrite, {{"path", path_}, {"reason", error_text(errno)}}); }
  std::string path_;
  Descriptor file_;
};

// A running worker process. Destroying it kills the process.
class Worker {
 public:
  static Result<Worker> start(const std::vector<std::string>& command);
  Worker(Worker&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)),
        socket_(std::move(other.socket_)),
        output_(std::move(other.output_)),
        lines_(std::move(other.lines_)) {}
  Worker& operator=(Worker&&) = delete;
  ~Worker() { end(); }

  int socket() const { return socket_.get(); }
  channel::Lines& lines() { return lines_; }
  // Whether it could be told; what earlier cases wrote is forgotten.
  bool give(std::string_view line) {
    if (ftruncate(output_.get(), 0) != 0) return false;
    return channel::send_all(socket_.get(), std::string(line) + "\n");
  }
  // Kills the process if it has not ended by itself after `patience`. How it ended, in words.
  std::string end(std::chrono::milliseconds patience = {});
  std::string last_output() const;

 private:
  Worker(pid_t pid, Descriptor socket, Descriptor output)
      : pid_(pid), socket_(std::move(socket)), output_(std::move(output)) {}
  pid_t pid_;
  Descriptor socket_;
  Descriptor output_;  // its standard output and error, in memory
  channel::Lines lines_;
};

Result<Worker> Worker::start(const std::vector<std::string>& command) {
  auto failed = [&command](int error) {
    return diagnose(Kind::WorkerStart, {{"command", command.empty() ? "" : command[0]}, {"reason", error_text(error)}});
  };
  if (command.empty()) return failed(ENOENT);
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return failed(errno);
  Descriptor ours(pair[0]);
  Descriptor theirs(pair[1]);
  Descriptor output(memfd_create("worker output", MFD_CLOEXEC));
  if (output.get() < 0 || fcntl(output.get(), F_SETFL, O_APPEND) != 0) return failed(errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output.get(), STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), kWorkerChannel);
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  pid_t pid = -1;
  int error = posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return failed(error);
  return Worker(pid, std::move(ours), std::move(output));
}

std::string Worker::end(std::chrono::milliseconds patience) {
  if (pid_ < 0) return "";
  int status = 0;
  pid_t pid = std::exchange(pid_, -1);
  Clock::time_point until = Clock::now() + patience;
  pid_t ended = waitpid(pid, &status, WNOHANG);
  while (ended == 0 && Clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ended = waitpid(pid, &status, WNOHANG);
  }
  if (ended == 0) {
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
  }
  if (WIFSIGNALED(status)) {
    int number = WTERMSIG(status);
    const char* name = strsignal(number);  // NOLINT(concurrency-mt-unsafe): one thread
    return "was ended by signal " + std::to_string(number) + " (" + name + ")";
  }
  return "ended with exit code " + std::to_string(WEXITSTATUS(status));
}

std::string Worker::last_output() const {
  off_t size = lseek(output_.get(), 0, SEEK_END);
  off_t begin = std::max<off_t>(0, size - kQuotedOutput);
  std::string text(static_cast<size_t>(std::max<off_t>(0, size - begin)), ' ');
  ssize_t got = pread(output_.get(), text.data(), text.size(), begin);
  text.resize(static_cast<size_t>(std::max<ssize_t>(0, got)));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.empty() ? "nothing" : text;
}

// A place for a worker: the process that fills it just now, and the case it is at.
struct Seat {
  std::optional<Worker> worker;
  const Case* at = nullptr;  // null: idle
  size_t step = 0;           // the call whose outcome is awaited
  Clock::time_point deadline;
};

class Supervisor {
 public:
  Supervisor(const CasesOptions& options, StatusFile status, const std::vector<Case>& cases)
      : options_(options), status_(std::move(status)), cases_(cases), seats_(std::max<size_t>(1, options.jobs)) {}

  Result<CasesSummary> run() {
    for (;;) {
      for (Seat& seat : seats_) TRY_OK(give_next(seat));
      if (std::none_of(seats_.begin(), seats_.end(), [](const Seat& seat) { return seat.at != nullptr; }))
        return summary_;
      TRY_OK(wait());
    }
  }

 private:
  Status give_next(Seat& seat);
  Status wait();
  Status hear(Seat& seat);
  Status handle(Seat& seat, std::string_view line);
  Status lose(Seat& seat, CaseStatus status, const Diagnostic& why);
  Status record(Seat& seat, CaseStatus status, std::string line);
  void set_deadline(Seat& seat) const {
    seat.deadline = Clock::now() +
                    std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.case_timeout));
  }

  const CasesOptions& options_;
  StatusFile status_;
  const std::vector<Case>& cases_;
  size_t next_ = 0;
  std::vector<Seat> seats_;
  CasesSummary summary_;
};

Status Supervisor::give_next(Seat& seat) {
  if (seat.at != nullptr || next_ == cases_.size()) return Unit{};
  if (!seat.worker) {
    TRY(Worker worker, Worker::start(options_.worker_command));
    seat.worker.emplace(std::move(worker));
    ++summary_.workers_started;
  }
  const Case& one = cases_[next_++];
  seat.at = &one;
  seat.step = 0;
  set_deadline(seat);
  // A worker that is gone already is noticed when its answer is awaited.
  (void)seat.worker->give(one.program + "\t" +
                          join(one.inputs, "\t", [](const std::string& inputs) { return inputs; }));
  return Unit{};
}

Status Supervisor::wait() {
  std::vector<pollfd> polled;
  std::vector<Seat*> busy;
  Clock::time_point first = Clock::time_point::max();
  for (Seat& seat : seats_) {
    if (seat.at == nullptr) continue;
    polled.push_back({.fd = seat.worker->socket(), .events = POLLIN, .revents = 0});
    busy.push_back(&seat);
    first = std::min(first, seat.deadline);
  }
  auto left = std::chrono::ceil<std::chrono::milliseconds>(first - Clock::now()).count();
  poll(polled.data(), polled.size(), static_cast<int>(std::clamp<int64_t>(left, 0, 1'000'000)));
  for (size_t i = 0; i < busy.size(); ++i)
    if (polled[i].revents != 0) TRY_OK(hear(*busy[i]));
  for (Seat* seat : busy)
    if (seat->at != nullptr && Clock::now() >= seat->deadline)
      TRY_OK(lose(*seat, CaseStatus::Timeout, diagnose(Kind::CaseTimeout, {{"seconds", options_.case_timeout}})));
  return Unit{};
}

Status Supervisor::hear(Seat& seat) {
  bool open = seat.worker->lines().receive(seat.worker->socket());
  while (seat.worker) {
    std::optional<std::string> line = seat.worker->lines().next();
    if (!line) break;
    TRY_OK(handle(seat, *line));
  }
  if (open || !seat.worker) return Unit{};
  std::string how = seat.worker->end(kDying);
  return lose(seat, CaseStatus::Error,
              diagnose(Kind::WorkerDied, {{"how", how}, {"output", seat.worker->last_output()}}));
}

Status Supervisor::handle(Seat& seat, std::string_view line) {
  if (line == channel::kDone || line == channel::kLast) {
    seat.at = nullptr;
    if (line == channel::kLast) seat.worker.reset();
    return Unit{};
  }
  size_t step = 0;
  int status = 0;
  int length = 0;
  std::string text(line);
  if (std::sscanf(text.c_str(), "outcome %zu %d %n", &step, &status, &length) < 2 || length == 0 ||
      seat.at == nullptr || step != seat.step || step >= seat.at->inputs.size())
    return lose(seat, CaseStatus::Error, diagnose(Kind::Internal, {{"reason", "a worker answered `" + text + "`"}}));
  return record(seat, static_cast<CaseStatus>(status), text.substr(static_cast<size_t>(length)));
}

// The worker is ended; the call that it was at and those that follow have this outcome.
Status Supervisor::lose(Seat& seat, CaseStatus status, const Diagnostic& why) {
  seat.worker.reset();
  if (seat.at == nullptr) return Unit{};
  CaseOutcome outcome{.status = status, .seconds = {}, .diagnostics = {to_text(why)}};
  while (seat.step < seat.at->inputs.size())
    TRY_OK(record(seat, status, status_line(case_name(seat.at->inputs[seat.step]), outcome)));
  seat.at = nullptr;
  return Unit{};
}

Status Supervisor::record(Seat& seat, CaseStatus status, std::string line) {
  ++seat.step;
  set_deadline(seat);
  switch (status) {
    case CaseStatus::Ok: ++summary_.ok; break;
    case CaseStatus::Refused: ++summary_.refused; break;
    case CaseStatus::Error: ++summary_.error; break;
    case CaseStatus::Timeout: ++summary_.timeout; break;
  }
  return status_.write_line(std::move(line));
}

}  // namespace

Result<CasesSummary> run_cases(const CasesOptions& options) {
  TRY(std::vector<Case> cases, read_cases(options.list));
  std::error_code error;
  std::filesystem::create_directories(options.out, error);
  if (error) return diagnose(Kind::CannotWrite, {{"path", options.out}, {"reason", error.message()}});
  TRY(StatusFile status, StatusFile::create(options.out + "/status.jsonl"));
  return Supervisor(options, std::move(status), cases).run();
}

}  // namespace torchlift::run
