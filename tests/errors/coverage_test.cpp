// Every kind of diagnostic is asked for by some test, by its name or its id.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "base/diagnostic.hpp"
#include "support/temporary_directory.hpp"

namespace torchlift {
namespace {

namespace fs = std::filesystem;

// Not reachable in a test: a failing disk, a machine without memory, our own mistakes, answers of foreign plugins. The
// last two stand in status lines alone, where tests/run looks for their status.
constexpr std::array kNotTested = {"CannotRead",    "OutOfMemory", "Internal",
                                   "PluginVersion", "WorkerDied",  "CaseTimeout"};

std::string all_tests() {
  std::string out;
  for (auto& entry : fs::recursive_directory_iterator(std::string(TORCHLIFT_SOURCE_DIR) + "/tests")) {
    auto ending = entry.path().extension();
    if (entry.path().filename() == "coverage_test.cpp") continue;
    if (ending == ".cpp" || ending == ".hpp" || ending == ".ops" || ending == ".known")
      out += test::read_text(entry.path().string());
  }
  return out;
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

bool mentions(const std::string& text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    bool begins = at == 0 || !is_word(text[at - 1]);
    bool ends = at + word.size() == text.size() || !is_word(text[at + word.size()]);
    if (begins && ends) return true;
  }
  return false;
}

TEST(Kinds, every_kind_is_asked_for_by_a_test) {
  std::string text = all_tests();
  std::set<std::string_view> excepted(kNotTested.begin(), kNotTested.end());
  for (size_t i = 0; i < kind_count(); ++i) {
    auto& kind = info(static_cast<Kind>(i));
    bool found = mentions(text, kind.id) || mentions(text, "Kind::" + std::string(kind.name));
    EXPECT_TRUE(found || excepted.contains(kind.name)) << kind.name << " (" << kind.id << ") is produced by no test";
  }
}

TEST(Kinds, ids_differ_and_are_lower_case) {
  std::set<std::string_view> seen;
  for (size_t i = 0; i < kind_count(); ++i) {
    auto& kind = info(static_cast<Kind>(i));
    EXPECT_TRUE(seen.insert(kind.id).second) << kind.id;
    EXPECT_TRUE(std::all_of(kind.id.begin(), kind.id.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    })) << kind.id;
    EXPECT_FALSE(kind.message.empty());
    EXPECT_FALSE(kind.message.ends_with('.')) << kind.id;
  }
}

}  // namespace
}  // namespace torchlift
