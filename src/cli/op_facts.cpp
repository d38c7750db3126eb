#include "cli/op_facts.hpp"

#include <algorithm>
#include <charconv>

extern "C" {
extern const char torchlift_op_facts[];
extern const char torchlift_op_facts_end[];
}

namespace torchlift::cli {
namespace {

std::string_view take(std::string_view& text, std::string_view separator) {
  size_t end = std::min(text.find(separator), text.size());
  std::string_view out = text.substr(0, end);
  text.remove_prefix(std::min(text.size(), end + separator.size()));
  return out;
}

std::vector<std::string_view> list(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> out;
  while (!text.empty()) out.push_back(take(text, separator));
  return out;
}

int64_t number(std::string_view text) {
  int64_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

// Calls fn with the name of each line and the rest of it, until it returns true.
template <typename Fn>
bool any_line(Fn&& fn) {
  std::string_view text(torchlift_op_facts, static_cast<size_t>(torchlift_op_facts_end - torchlift_op_facts));
  while (!text.empty()) {
    std::string_view line = take(text, "\n");
    if (line.empty() || line.starts_with('#')) continue;
    std::string_view name = take(line, "\t");
    if (fn(name, line)) return true;
  }
  return false;
}

// Letters to add, drop or change.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<OpFacts> facts_of(std::string_view name) {
  OpFacts out;
  auto read = [&](std::string_view wanted) {
    return any_line([&](std::string_view found, std::string_view cells) {
      if (found != wanted) return false;
      out.name = found;
      out.cases = number(take(cells, "\t"));
      out.dtypes = list(take(cells, "\t"), " ");
      out.ulp = list(take(cells, "\t"), " ; ");
      out.refusals = list(take(cells, "\t"), " ; ");
      out.wrong_calls = number(take(cells, "\t"));
      out.why = cells;
      return true;
    });
  };
  if (read(name) || (name.ends_with('_') && read(name.substr(0, name.size() - 1)))) return out;
  return std::nullopt;
}

std::vector<std::string_view> names_like(std::string_view name) {
  constexpr size_t kMostNames = 3, kMostLetters = 64;
  std::vector<std::pair<size_t, std::string_view>> found;
  name = name.substr(0, kMostLetters);
  any_line([&](std::string_view other, std::string_view) {
    // A name within another is near too, however long the other is.
    bool within = name.size() > 2 && other.find(name) != std::string_view::npos;
    size_t apart = distance(name, other);
    if (within || apart <= 1 + name.size() / 3) found.emplace_back(within ? std::min<size_t>(apart, 2) : apart, other);
    return false;
  });
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string_view> out;
  for (size_t i = 0; i < std::min(found.size(), kMostNames); ++i) out.push_back(found[i].second);
  return out;
}

}  // namespace torchlift::cli
