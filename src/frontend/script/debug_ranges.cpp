#include "frontend/script/debug_ranges.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "archive/pickle.hpp"
#include "base/kinds.hpp"

namespace torchlift::frontend::script {
namespace {

using archive::Pickle;
using archive::PickleId;

constexpr size_t kMaxAuthorFrames = 32;
constexpr size_t kMaxAuthorText = 400;               // bytes of a line
constexpr size_t kMaxTextBytes = size_t{256} << 20;  // of all sources together

std::string_view trimmed(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

// The name after the nearest `def` that stands before `end` and is not deeper than the line there.
std::string function_before(std::string_view text, size_t end) {
  size_t begin = text.rfind("def ", end);
  while (begin != std::string_view::npos && begin > 0 && text[begin - 1] != ' ' && text[begin - 1] != '\n')
    begin = text.rfind("def ", begin - 1);
  if (begin == std::string_view::npos) return {};
  std::string_view rest = text.substr(begin + 4);
  return std::string(trimmed(rest.substr(0, std::min(rest.find('('), rest.find('\n')))));
}

// "/a/model.py(122): forward", as a trace keeps the stack
bool parse_traced_frame(std::string_view line, SourceLine& out) {
  size_t colon = line.rfind("): ");
  size_t open = colon == std::string_view::npos ? colon : line.rfind('(', colon);
  if (open == std::string_view::npos) return false;
  const char* end = line.data() + colon;
  auto [at, error] = std::from_chars(line.data() + open + 1, end, out.line);
  if (error != std::errc() || at != end || out.line < 0) return false;
  out.file = line.substr(0, open);
  out.function = trimmed(line.substr(colon + 3));
  return !out.file.empty();
}

std::vector<SourceLine> traced_frames(std::string_view text) {
  std::vector<SourceLine> out;
  while (!text.empty() && out.size() < kMaxAuthorFrames) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    SourceLine frame;
    if (trimmed(line).empty()) continue;
    if (!parse_traced_frame(trimmed(line), frame)) return {};
    out.push_back(std::move(frame));
  }
  return out;
}

bool is_library(const SourceLine& frame) {
  for (std::string_view part : {"-packages/torch/", "/torch/nn/", "/torch/jit/", "/torch/_"})
    if (frame.file.find(part) != std::string::npos) return true;
  return false;
}

// The text of a source, its file and its first line; the place is `start`, in bytes of the text.
std::vector<SourceLine> frames_of(std::string_view text, const std::string& file, int64_t first_line, int64_t start) {
  std::vector<SourceLine> frames = traced_frames(text);
  if (!frames.empty()) {
    if (std::any_of(frames.begin(), frames.end(), [](auto& frame) { return !is_library(frame); }))
      std::erase_if(frames, is_library);
    return frames;
  }
  if (start < 0 || static_cast<uint64_t>(start) >= text.size() || file.empty()) return {};
  size_t at = static_cast<size_t>(start);
  size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;  // npos + 1 is 0
  std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
  int64_t number = first_line + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin), '\n');
  if (first_line < 0 || number > INT32_MAX) return {};
  return {{file, static_cast<int>(number), function_before(text, begin + line.size()),
           std::string(trimmed(line).substr(0, kMaxAuthorText))}};
}

// The entries of a pickle, in either format.
class RangeReader {
 public:
  explicit RangeReader(const Pickle& pickle) : pickle_(pickle) {}

  // ("FORMAT_WITH_STRING_TABLE", strings, entries), or the entries themselves
  bool open();
  const std::vector<PickleId>& entries() const { return *entries_; }
  bool read(PickleId entry, uint64_t& offset, std::vector<SourceLine>& frames);

 private:
  const std::vector<PickleId>* items(PickleId id) const {
    if (const auto* tuple = pickle_.get_if<archive::PickleTuple>(id)) return &tuple->items;
    if (const auto* list = pickle_.get_if<archive::PickleList>(id)) return &list->items;
    return nullptr;
  }
  // A string, or its index in the table; none if it is neither.
  const std::string* text(PickleId id) const;

  const Pickle& pickle_;
  const std::vector<PickleId>* entries_ = nullptr;
  const std::vector<PickleId>* strings_ = nullptr;  // none in the old format
  size_t text_bytes_ = 0;                           // put together so far
};

bool RangeReader::open() {
  entries_ = items(pickle_.root);
  if (entries_ == nullptr || entries_->empty()) return entries_ != nullptr;
  const auto* format = pickle_.get_if<std::string>(entries_->front());
  if (format == nullptr) return true;
  if (*format != "FORMAT_WITH_STRING_TABLE" || entries_->size() != 3) return false;
  strings_ = items((*entries_)[1]);
  entries_ = items((*entries_)[2]);
  return strings_ != nullptr && entries_ != nullptr;
}

const std::string* RangeReader::text(PickleId id) const {
  if (strings_ == nullptr) return pickle_.get_if<std::string>(id);
  const auto* index = pickle_.get_if<int64_t>(id);
  bool known = index != nullptr && *index >= 0 && static_cast<uint64_t>(*index) < strings_->size();
  return known ? pickle_.get_if<std::string>((*strings_)[static_cast<size_t>(*index)]) : nullptr;
}

// (offset, ((parts, file, line), start, end), tag), of old (offset, (text, file, line), start, end)
bool RangeReader::read(PickleId entry, uint64_t& offset, std::vector<SourceLine>& frames) {
  const auto* fields = items(entry);
  if (fields == nullptr || fields->size() < 2) return false;
  const auto* range = strings_ == nullptr ? fields : items((*fields)[1]);
  size_t first = strings_ == nullptr ? 1 : 0;  // of source and start
  if (range == nullptr || range->size() < first + 2) return false;
  const auto* source = items((*range)[first]);
  const auto* from = pickle_.get_if<int64_t>(fields->front());
  const auto* start = pickle_.get_if<int64_t>((*range)[first + 1]);
  if (source == nullptr || source->size() < 3 || from == nullptr || *from < 0 || start == nullptr) return false;
  std::string whole;
  if (const auto* parts = items(source->front())) {
    for (PickleId id : *parts) {
      const std::string* part = text(id);
      if (part == nullptr) return false;
      text_bytes_ += part->size() + 1;
      if (text_bytes_ > kMaxTextBytes) return false;
      whole += *part;
    }
  } else if (const std::string* all = text(source->front())) {
    text_bytes_ += all->size();
    if (text_bytes_ > kMaxTextBytes) return false;
    whole = *all;
  }
  const std::string* file = text((*source)[1]);
  const auto* line = pickle_.get_if<int64_t>((*source)[2]);
  frames = frames_of(whole, file ? *file : "", line ? *line : -1, *start);
  offset = static_cast<uint64_t>(*from);
  return true;
}

std::string content_key(const std::vector<SourceLine>& frames) {
  std::string key;
  for (const SourceLine& frame : frames)
    key += frame.file + '\0' + std::to_string(frame.line) + '\0' + frame.function + '\0' + frame.text + '\0';
  return key;
}

}  // namespace

Result<DebugRanges> DebugRanges::read(ByteView bytes, const std::string& file, const std::string& member) {
  TRY(Pickle pickle, archive::read_pickle(bytes, {.file = file, .member = member}));
  RangeReader reader(pickle);
  auto odd = [&] { return diagnose(Kind::ScriptDebugRanges, {}, file, member); };
  if (!reader.open()) return odd();
  DebugRanges out;
  std::map<std::string, size_t> known{{"", 0}};
  for (PickleId entry : reader.entries()) {
    uint64_t offset = 0;
    std::vector<SourceLine> frames;
    if (!reader.read(entry, offset, frames)) return odd();
    auto [at, is_new] = known.try_emplace(content_key(frames), out.frames_.size());
    if (is_new) out.frames_.push_back(std::move(frames));
    out.ranges_.push_back({offset, at->second});
  }
  std::stable_sort(out.ranges_.begin(), out.ranges_.end(), [](auto& a, auto& b) { return a.offset < b.offset; });
  return out;
}

const std::vector<SourceLine>& DebugRanges::at(uint64_t offset) const {
  auto after = std::upper_bound(ranges_.begin(), ranges_.end(), offset,
                                [](uint64_t at, const Range& range) { return at < range.offset; });
  return after == ranges_.begin() ? frames_.front() : frames_[(after - 1)->frames];
}

}  // namespace torchlift::frontend::script
