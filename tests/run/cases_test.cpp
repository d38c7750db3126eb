// The supervisor and real worker processes (stub_worker.cpp): every case gets one status line, whatever workers do.
#include "run/cases.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/kinds.hpp"
#include "fake_plugin/fake.hpp"

namespace torchlift::run {
namespace {

namespace fs = std::filesystem;

class Cases : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("torchlift_cases_" + std::to_string(getpid()));
    fs::create_directories(folder_);
    options_.list = (folder_ / "list").string();
    options_.out = (folder_ / "out").string();
    options_.worker_command = {TORCHLIFT_STUB_WORKER, "100", fake::plugin_file()};
  }
  void TearDown() override { fs::remove_all(folder_); }

  Result<CasesSummary> run(const std::string& list) {
    std::ofstream(options_.list) << list;
    return run_cases(options_);
  }
  std::vector<std::string> status_lines() const {
    std::ifstream file(options_.out + "/status.jsonl");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  // The line of this case, "" if it has none.
  std::string status_of(const std::string& name) const {
    for (const std::string& line : status_lines())
      if (line.find("\"case\": \"" + name + "\"") != std::string::npos ||
          line.find("\"case\":\"" + name + "\"") != std::string::npos)
        return line;
    return "";
  }

  fs::path folder_;
  CasesOptions options_;
};

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST_F(Cases, every_outcome_has_its_line_in_the_order_of_the_list) {
  CasesSummary summary =
      run("ok\ta.safetensors\nrefuse\tx/b.safetensors\n\n# a comment\nerror\tc.safetensors\n").value();
  EXPECT_EQ(summary.ok, 1u);
  EXPECT_EQ(summary.refused, 1u);
  EXPECT_EQ(summary.error, 1u);
  EXPECT_EQ(summary.workers_started, 1u);
  std::vector<std::string> lines = status_lines();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], status_of("a"));
  EXPECT_TRUE(has(lines[1], "refused") && has(lines[1], "not supported")) << lines[1];
  EXPECT_EQ(lines[2], status_of("c"));
}

TEST_F(Cases, a_worker_that_dies_costs_one_case_and_is_quoted) {
  CasesSummary summary = run("ok\ta\ndie\tb\nok\tc\nexit\td\nok\te\n").value();
  EXPECT_EQ(summary.ok, 3u);
  EXPECT_EQ(summary.error, 2u);
  EXPECT_EQ(summary.workers_started, 3u);
  EXPECT_TRUE(has(status_of("b"), "signal 6") && has(status_of("b"), "the stub's last words")) << status_of("b");
  EXPECT_TRUE(has(status_of("d"), "exit code 7")) << status_of("d");
}

TEST_F(Cases, a_case_that_takes_too_long_costs_one_case) {
  options_.case_timeout = 5;  // seconds that the other case needs on a busy machine, and more
  CasesSummary summary = run("hang\ta\nok\tb\n").value();
  EXPECT_EQ(summary.timeout, 1u);
  EXPECT_EQ(summary.ok, 1u);
  EXPECT_TRUE(has(status_of("a"), "timeout")) << status_of("a");
}

TEST_F(Cases, each_call_of_a_case_has_its_own_line) {
  CasesSummary summary =
      run("ok\ta.step0.safetensors\ta.step1.safetensors\ndie1\tb.step0\tb.step1\tb.step2\nok\tc\n").value();
  EXPECT_EQ(summary.ok, 4u);
  EXPECT_EQ(summary.error, 2u);
  EXPECT_FALSE(status_of("a.step1").empty());
  EXPECT_TRUE(has(status_of("b.step0"), "\"ok\"")) << status_of("b.step0");
  EXPECT_TRUE(has(status_of("b.step1"), "signal 6"));
  EXPECT_TRUE(has(status_of("b.step2"), "signal 6"));
}

TEST_F(Cases, a_case_without_an_outcome_is_an_error) {
  CasesSummary summary = run("silent\ta\nok\tb\n").value();
  EXPECT_EQ(summary.error, 1u);
  EXPECT_EQ(summary.workers_started, 1u);
  EXPECT_TRUE(has(status_of("a"), "no outcome"));
}

TEST_F(Cases, workers_are_recycled) {
  options_.worker_command[1] = "2";
  CasesSummary summary = run("ok\ta\nok\tb\nok\tc\nok\td\nok\te\n").value();
  EXPECT_EQ(summary.ok, 5u);
  EXPECT_EQ(summary.workers_started, 3u);
}

TEST_F(Cases, several_workers_share_the_list) {
  options_.jobs = 3;
  std::string list;
  for (int i = 0; i < 60; ++i) list += (i % 10 == 3 ? "die\t" : "ok\t") + std::to_string(i) + "\n";
  CasesSummary summary = run(list).value();
  EXPECT_EQ(summary.ok, 54u);
  EXPECT_EQ(summary.error, 6u);
  std::vector<std::string> lines = status_lines();
  EXPECT_EQ(std::set<std::string>(lines.begin(), lines.end()).size(), 60u);
}

TEST_F(Cases, equal_programs_are_compiled_once_in_a_worker) {
  CasesSummary summary = run("compile\ta\ncompile\tb\ncompile\tc\n").value();
  EXPECT_EQ(summary.ok, 3u) << status_of("a");
  for (const char* name : {"a", "b", "c"}) EXPECT_TRUE(has(status_of(name), "compiled 1")) << status_of(name);
}

TEST_F(Cases, a_worker_that_cannot_be_started_is_an_error) {
  options_.worker_command = {"/nowhere/worker"};
  auto failed = run("ok\ta\n");
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().kind, Kind::WorkerStart);
}

TEST_F(Cases, a_wrong_list_is_refused_before_anything_starts) {
  EXPECT_EQ(run("ok\ta\nonly-a-program\n").error().kind, Kind::CaseList);
  auto twice = run("ok\tx/a.safetensors\nok\ty/a.safetensors\n");
  ASSERT_FALSE(twice.ok());
  EXPECT_TRUE(has(twice.error().message(), "line 2")) << twice.error().message();
  EXPECT_FALSE(fs::exists(options_.out));
}

TEST(StatusLine, is_one_object_on_one_line) {
  CaseOutcome outcome{
      .status = CaseStatus::Refused, .seconds = {.import = 0.5, .compile = 0, .run = 0}, .diagnostics = {"a\nb"}};
  std::string line = status_line("x.y", outcome);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_TRUE(has(line, "x.y") && has(line, "refused") && has(line, "0.5")) << line;
}

}  // namespace
}  // namespace torchlift::run
