// Runs recorded cases (tools/corpus/README.md) through `torchlift run-cases` and compares the answers with what PyTorch
// gave.
//
//   judge TORCHLIFT FOLDER SCRATCH [--known FILE] [--jobs N] [--expect refused] [--program artifact]
//
// --known: cases that are refused today, one a line: `NAME  KIND  why`. NAME may hold `*`; the first line that fits
// counts. Each must be refused with that kind of diagnostic; one that passes, or fails in another way, is a failure, as
// is a name that is not there. The kind `differs` is for values at the edge of the tolerance, where PyTorch's own error
// is as large: it must be answered, equal or not. Ends with counts; 0 if all is as said.
// --expect refused: every case must be refused, by whatever diagnostic; but those with the kind `answered` must be
// answered.
// --program artifact: the programs go to the plugin as portable artifacts, not as text.
#include <fnmatch.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <simdjson.h>

#include "cli/case_file.hpp"
#include "cli/compare.hpp"

extern char** environ;

namespace torchlift {
namespace {

namespace fs = std::filesystem;

struct Case {
  std::string program;
  std::vector<std::string> names;  // one per call
  std::vector<std::string> files;  // inputs and expected results
};

// The programs of one name, and what is added to the case's name for each.
constexpr std::pair<const char*, const char*> kPrograms[] = {
    {".pt2", ""}, {".dyn.pt2", ".dyn"}, {".pt", ""}, {".ts.pt", ".ts"}};

std::vector<Case> cases_of(const fs::path& folder) {
  std::map<std::string, std::vector<std::string>> groups;  // by NAME, or NAME.altK
  static const std::regex pattern(R"((.+?)(\.alt\d+)?(\.step(\d+))?\.safetensors)");
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::string file = entry.path().filename().string();
    std::smatch m;
    if (std::regex_match(file, m, pattern)) groups[m[1].str() + "\t" + m[2].str()].push_back(file);
  }
  std::vector<Case> out;
  for (auto& [key, files] : groups) {
    std::sort(files.begin(), files.end());
    size_t tab = key.find('\t');
    std::string base = key.substr(0, tab), alt = key.substr(tab + 1);
    for (auto [suffix, tag] : kPrograms) {
      if (!fs::exists(folder / (base + suffix))) continue;
      Case one{(folder / (base + suffix)).string(), {}, {}};
      for (const std::string& file : files) {
        size_t step = file.find(".step");
        std::string call = step == std::string::npos ? "" : file.substr(step, file.rfind('.') - step);
        one.names.push_back(base + tag + alt + call);
        one.files.push_back((folder / file).string());
      }
      out.push_back(std::move(one));
    }
  }
  return out;
}

struct Known {
  std::string name;
  std::string kind;
  std::string why;
  bool used = false;
};

bool read_known(const std::string& path, std::vector<Known>& known) {
  std::ifstream file(path);
  if (!file) return false;
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream fields(line);
    Known one;
    fields >> one.name >> one.kind;
    std::getline(fields >> std::ws, one.why);
    if (one.why.empty()) {
      std::cerr << path << ": `" << line << "` gives no reason\n";
      return false;
    }
    known.push_back(std::move(one));
  }
  return true;
}

Known* find_known(std::vector<Known>& known, const std::string& name) {
  auto fits = [&](const Known& one) { return fnmatch(one.name.c_str(), name.c_str(), 0) == 0; };
  auto it = std::find_if(known.begin(), known.end(), fits);
  if (it == known.end()) return nullptr;
  it->used = true;
  return &*it;
}

int run(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  if (::posix_spawn(&pid, argv[0], nullptr, nullptr, argv.data(), environ) != 0) return -1;
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct Status {
  std::string status;
  std::string diagnostics;
};

std::map<std::string, Status> read_status(const fs::path& path) {
  std::map<std::string, Status> out;
  std::ifstream file(path);
  std::string line;
  simdjson::dom::parser parser;
  while (std::getline(file, line)) {
    simdjson::dom::element row;
    if (parser.parse(line).get(row) != simdjson::SUCCESS) continue;
    std::string_view name, status;
    if (row["case"].get(name) != simdjson::SUCCESS || row["status"].get(status) != simdjson::SUCCESS) continue;
    Status& one = out[std::string(name)];
    one.status = status;
    simdjson::dom::array diagnostics;
    if (row["diagnostics"].get(diagnostics) != simdjson::SUCCESS) continue;
    for (auto d : diagnostics)
      if (std::string_view text; d.get(text) == simdjson::SUCCESS) one.diagnostics += text;
  }
  return out;
}

// What is wrong with an answer; empty if nothing is.
std::string problem_of(const std::string& expected_file, const std::string& answer_file) {
  auto expected = cli::read_case_file(expected_file);
  if (!expected) return to_text(expected.error());
  auto answer = cli::read_case_file(answer_file);
  if (!answer) return to_text(answer.error());
  auto compared = cli::compare(*expected, answer->values, expected_file);
  if (!compared) return to_text(compared.error());
  std::string out;
  for (const cli::Comparison& c : *compared)
    if (!c.equal) out += "    " + c.key + "  " + c.text + "\n";
  if (compared->empty()) out = "    nothing was compared\n";
  return out;
}

int judge(const std::string& tool, const fs::path& folder, const fs::path& scratch, std::vector<Known> known,
          const std::string& jobs, bool expect_refused, const std::string& form) {
  std::vector<Case> cases = cases_of(folder);
  fs::remove_all(scratch);
  fs::create_directories(scratch / "in");
  std::ofstream list(scratch / "list.tsv");
  size_t total = 0;
  for (const Case& one : cases) {
    list << one.program;
    for (size_t i = 0; i < one.files.size(); ++i) {
      fs::path inputs = scratch / "in" / (one.names[i] + ".safetensors");
      fs::create_symlink(fs::absolute(one.files[i]), inputs);
      list << '\t' << inputs.string();
      ++total;
    }
    list << '\n';
  }
  list.close();
  int code = run({tool, "run-cases", (scratch / "list.tsv").string(), "-o", (scratch / "out").string(), "--jobs", jobs,
                  "--program", form});
  std::map<std::string, Status> answered = read_status(scratch / "out" / "status.jsonl");

  size_t passed = 0, as_listed = 0, failed = 0;
  auto fail = [&](const std::string& name, const std::string& text) {
    ++failed;
    std::cout << "FAILED " << name << "\n" << text << "\n";
  };
  for (const Case& one : cases) {
    for (size_t i = 0; i < one.names.size(); ++i) {
      const std::string& name = one.names[i];
      auto it = answered.find(name);
      if (it == answered.end()) {
        fail(name, "    no answer");
        continue;
      }
      if (expect_refused) {
        const Known* gap = find_known(known, name);
        if (it->second.status == (gap && gap->kind == "answered" ? "ok" : "refused")) ++as_listed;
        else fail(name, "    " + it->second.status + ", not refused: " + it->second.diagnostics);
        continue;
      }
      const Known* gap = find_known(known, name);
      if (it->second.status != "ok") {
        bool as_known = gap != nullptr && it->second.status == "refused" &&
                        it->second.diagnostics.find("[" + gap->kind + "]") != std::string::npos;
        if (as_known) ++as_listed;
        else fail(name, "    " + it->second.status + ": " + it->second.diagnostics);
        continue;
      }
      std::string problem = problem_of(one.files[i], (scratch / "out" / (name + ".safetensors")).string());
      bool may_differ = gap != nullptr && gap->kind == "differs";
      if (problem.empty() && gap != nullptr && !may_differ) fail(name, "    passes, though it is listed: " + gap->why);
      else if (problem.empty()) ++passed;
      else if (may_differ) ++as_listed;
      else fail(name, problem);
    }
  }
  for (const Known& gap : known)
    if (!gap.used) fail(gap.name, "    is listed, but there is no such case");
  if (total == 0) fail(folder.string(), "    holds no case");
  std::cout << total << " cases: " << passed << " equal PyTorch, " << as_listed << " refused or unequal as listed, "
            << failed << " failed\n";
  return failed > 0 || code < 0 ? 1 : 0;
}

}  // namespace
}  // namespace torchlift

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  std::vector<torchlift::Known> known;
  std::string jobs = "2";
  std::string form = "text";
  bool expect_refused = false;
  for (size_t i = 3; i + 1 < words.size(); i += 2) {
    if (words[i] == "--known" && !torchlift::read_known(words[i + 1], known)) return 2;
    if (words[i] == "--jobs") jobs = words[i + 1];
    if (words[i] == "--program") form = words[i + 1];
    if (words[i] == "--expect") expect_refused = words[i + 1] == "refused";
  }
  if (words.size() < 3) {
    std::cerr << "judge TORCHLIFT FOLDER SCRATCH [--known FILE] [--jobs N] [--expect refused] [--program artifact]\n";
    return 2;
  }
  return torchlift::judge(words[0], words[1], words[2], std::move(known), jobs, expect_refused, form);
}
