// TorchScript's texts. They are bytes: `len("é")` is 2, and upper() changes ASCII letters only, unlike in Python.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "aten/families.hpp"
#include "aten/script.hpp"

namespace torchlift::aten {
namespace {

using Text = std::string;

const Text* text_at(Arguments arguments, size_t i, std::string_view name = "self") {
  return argument<Text>(arguments, i, name);
}

// A text that may be left out; nothing (refused) where something else stands there.
std::optional<Text> text_or(Lower& l, Arguments arguments, size_t i, std::string_view name, std::string_view fallback) {
  const IValue& value = argument(arguments, i, name);
  if (value.is_none()) return Text(fallback);
  if (auto* text = value.get<Text>()) return *text;
  l.wrong("`" + Text(name) + "` is " + describe(value) + ", expected a str");
  return std::nullopt;
}

// ---- ASCII, whatever the locale

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_alpha(char c) { return is_lower(c) || is_upper(c); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alnum(char c) { return is_alpha(c) || is_digit(c); }
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
char lowered(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
char raised(char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; }

// ---- a text from a text

template <Text (*kFn)(Text)>
ScriptResults mapped(Lower&, Arguments arguments) {
  auto* self = text_at(arguments, 0);
  if (!self) return std::nullopt;
  return IValues{kFn(*self)};
}

template <char (*kFn)(char)>
Text each(Text text) {
  for (char& c : text) c = kFn(c);
  return text;
}
char swapped(char c) { return is_lower(c) ? raised(c) : lowered(c); }
Text capitalize(Text text) {
  for (size_t i = 0; i < text.size(); ++i) text[i] = i == 0 ? raised(text[i]) : lowered(text[i]);
  return text;
}
Text title(Text text) {
  bool inside = false;  // a word
  for (char& c : text) {
    c = inside ? lowered(c) : raised(c);
    inside = is_alpha(c);
  }
  return text;
}

constexpr std::string_view kBlanks = " \n\t\f\v";  // what strip() takes away: no carriage return

template <bool kLeft, bool kRight>
ScriptResults strip(Lower& l, Arguments arguments) {
  auto* self = text_at(arguments, 0);
  if (!self) return std::nullopt;
  auto chars = text_or(l, arguments, 1, "chars", kBlanks);
  if (!chars) return IValues{};
  size_t begin = kLeft ? std::min(self->find_first_not_of(*chars), self->size()) : 0;
  size_t end = kRight ? self->find_last_not_of(*chars) + 1 : self->size();
  return IValues{begin < end ? self->substr(begin, end - begin) : Text()};
}

enum class Side : uint8_t { Left, Center, Right };  // where the text goes
template <Side kSide>
ScriptResults justified(Lower& l, Arguments arguments) {
  auto* self = text_at(arguments, 0);
  if (!self) return std::nullopt;
  auto width = int_argument(l, arguments, 1, "width");
  auto fill = text_or(l, arguments, 2, "fillchar", " ");
  if (!width || !fill) return IValues{};
  if (fill->size() != 1) return refused(l, "TypeError: the fill character must be exactly one character long");
  auto size = static_cast<int64_t>(self->size());
  if (width->concrete() <= size) return IValues{*self};
  if (!small_enough(l, static_cast<size_t>(width->concrete()), kMaxTextSize, "text")) return IValues{};
  int64_t pad = width->concrete() - size;
  int64_t left = kSide == Side::Left ? 0 : kSide == Side::Right ? pad : pad / 2 + (pad & width->concrete() & 1);
  return IValues{Text(static_cast<size_t>(left), fill->front()) + *self +
                 Text(static_cast<size_t>(pad - left), fill->front())};
}
// Before the sign, unlike Python's.
ScriptResults zfill(Lower& l, Arguments arguments) {
  auto* self = text_at(arguments, 0);
  if (!self) return std::nullopt;
  std::array<NamedValue, 3> padded = {NamedValue{"", *self}, NamedValue{"", argument(arguments, 1, "width")},
                                      NamedValue{"", Text("0")}};
  return justified<Side::Right>(l, padded);
}

ScriptResults expandtabs(Lower& l, Arguments arguments) {
  auto* self = text_at(arguments, 0);
  if (!self) return std::nullopt;
  auto tabsize = int_argument(l, arguments, 1, "tabsize", 8);
  if (!tabsize) return IValues{};
  auto width = static_cast<size_t>(std::max<int64_t>(tabsize->concrete(), 0));
  if (!small_enough(l, width, kMaxTextSize, "text")) return IValues{};
  Text out;
  size_t column = 0;
  for (char c : *self) {
    if (c == '\t' && width == 0) continue;
    size_t count = c == '\t' ? width - column % width : 1;
    if (!small_enough(l, out.size() + count, kMaxTextSize, "text")) return IValues{};
    out.append(count, c == '\t' ? ' ' : c);
    column = c == '\n' || c == '\r' ? 0 : column + count;
  }
  return IValues{out};
}

ScriptResults replace(Lower& l, Arguments arguments) {
  auto *self = text_at(arguments, 0), *old = text_at(arguments, 1, "old"), *by = text_at(arguments, 2, "new");
  if (!self || !old || !by) return std::nullopt;
  auto limit = int_argument(l, arguments, 3, "max", -1);
  if (!limit) return IValues{};
  if (old->empty()) return refused(l, "`replace` of an empty text");
  Text out;
  size_t begin = 0;
  for (int64_t left = limit->concrete(); left != 0; --left) {
    size_t at = self->find(*old, begin);
    if (at == Text::npos) break;
    out.append(*self, begin, at - begin);
    out += *by;
    if (!small_enough(l, out.size(), kMaxTextSize, "text")) return IValues{};
    begin = at + old->size();
  }
  out.append(*self, begin);
  return IValues{out};
}

// ---- questions about all bytes

template <bool (*kFn)(char), bool kEmpty = false>
ScriptResults all_are(Lower&, Arguments arguments) {
  auto* self = text_at(arguments, 0);
  if (!self) return std::nullopt;
  return IValues{self->empty() ? kEmpty : std::all_of(self->begin(), self->end(), kFn)};
}
bool is_printable(char c) { return c >= ' ' && c <= '~'; }

template <bool (*kWanted)(char), bool (*kOther)(char)>
ScriptResults has_case(Lower&, Arguments arguments) {
  auto* self = text_at(arguments, 0);
  if (!self) return std::nullopt;
  return IValues{std::any_of(self->begin(), self->end(), kWanted) && std::none_of(self->begin(), self->end(), kOther)};
}
ScriptResults istitle(Lower&, Arguments arguments) {
  auto* self = text_at(arguments, 0);
  if (!self) return std::nullopt;
  return IValues{std::any_of(self->begin(), self->end(), is_alpha) && title(*self) == *self};
}

// ---- searching, between `start` and `end`; an end of -1 is the text's own

struct Window {
  size_t begin = 0;
  std::string_view text;
};
std::optional<Window> window(Lower& l, const Text& self, Arguments arguments) {
  auto start = int_argument(l, arguments, 2, "start", 0), end = int_argument(l, arguments, 3, "end", -1);
  if (!start || !end) return std::nullopt;
  auto size = static_cast<int64_t>(self.size());
  auto from_end = [size](int64_t at, int64_t extra) { return at < 0 ? (at < -size ? 0 : at + size + extra) : at; };
  int64_t begin = from_end(start->concrete(), 0);
  int64_t stop = std::min(from_end(end->concrete(), 1), size);
  if (begin > size) {
    l.wrong("a search from " + start->text() + " in a text of " + std::to_string(size) + " bytes");
    return std::nullopt;
  }
  stop = std::max(stop, begin);
  return Window{static_cast<size_t>(begin),
                std::string_view(self).substr(static_cast<size_t>(begin), static_cast<size_t>(stop - begin))};
}

template <bool kReverse, bool kMustBe>
ScriptResults find(Lower& l, Arguments arguments) {
  auto *self = text_at(arguments, 0), *part = text_at(arguments, 1, "substr");
  if (!self || !part) return std::nullopt;
  auto in = window(l, *self, arguments);
  if (!in) return IValues{};
  size_t at = kReverse ? in->text.rfind(*part) : in->text.find(*part);
  if (at != std::string_view::npos) return IValues{Dim(static_cast<int64_t>(in->begin + at))};
  if (kMustBe) return refused(l, "ValueError: substring not found");
  return IValues{Dim(-1)};
}
// Of a text in a text, or of an item in a list.
ScriptResults index(Lower& l, Arguments arguments) {
  if (auto* list = argument<ListRef>(arguments, 0)) return index_in_list(l, *list, argument(arguments, 1, "el"));
  return find<false, true>(l, arguments);
}
ScriptResults count(Lower& l, Arguments arguments) {
  if (auto* list = argument<ListRef>(arguments, 0)) return count_in_list(l, *list, argument(arguments, 1, "el"));
  auto *self = text_at(arguments, 0), *part = text_at(arguments, 1, "substr");
  if (!self || !part) return std::nullopt;
  if (part->empty()) return refused(l, "`count` of an empty text");
  auto in = window(l, *self, arguments);
  if (!in) return IValues{};
  int64_t found = 0;
  for (size_t at = in->text.find(*part); at != std::string_view::npos; at = in->text.find(*part, at + part->size()))
    ++found;
  return IValues{Dim(found)};
}
template <bool kStart>
ScriptResults begins_or_ends(Lower& l, Arguments arguments) {
  auto *self = text_at(arguments, 0), *part = text_at(arguments, 1, "substr");
  if (!self || !part) return std::nullopt;
  auto in = window(l, *self, arguments);
  if (!in) return IValues{};
  return IValues{kStart ? in->text.starts_with(*part) : in->text.ends_with(*part)};
}

// ---- taking apart and joining

template <bool kReverse>
ScriptResults partition(Lower&, Arguments arguments) {
  auto *self = text_at(arguments, 0), *separator = text_at(arguments, 1, "separator");
  if (!self || !separator) return std::nullopt;
  size_t at = kReverse ? self->rfind(*separator) : self->find(*separator);
  if (at == Text::npos) return kReverse ? IValues{Text(), Text(), *self} : IValues{*self, Text(), Text()};
  return IValues{self->substr(0, at), *separator, self->substr(at + separator->size())};
}

// A list that stays within the bound, from a function that gives the next text.
bool add_part(Lower& l, ScriptList& list, std::string_view part) {
  if (!small_enough(l, list.items.size() + 1, kMaxListItems, "list")) return false;
  list.items.emplace_back(Text(part));
  return true;
}

// Without a separator at blanks, and then `max` does not count, unlike in Python.
ScriptResults split(Lower& l, Arguments arguments) {
  auto* self = text_at(arguments, 0);
  if (!self) return std::nullopt;
  auto limit = int_argument(l, arguments, 2, "max", -1);
  if (!limit) return IValues{};
  ListRef out = make_list(l, "str");
  if (argument(arguments, 1, "separator").is_none()) {
    for (auto at = self->begin(); at != self->end();) {
      auto begin = std::find_if_not(at, self->end(), is_space);
      at = std::find_if(begin, self->end(), is_space);
      if (begin != at && !add_part(l, *out, std::string_view(begin, at))) return IValues{};
    }
    return IValues{out};
  }
  auto separator = text_or(l, arguments, 1, "separator", "");
  if (!separator) return IValues{};
  if (separator->empty()) return refused(l, "ValueError: empty separator");
  size_t begin = 0;
  for (int64_t left = limit->concrete(); left != 0; --left) {
    size_t at = self->find(*separator, begin);
    if (at == Text::npos) break;
    if (!add_part(l, *out, std::string_view(*self).substr(begin, at - begin))) return IValues{};
    begin = at + separator->size();
  }
  if (!add_part(l, *out, std::string_view(*self).substr(begin))) return IValues{};
  return IValues{out};
}
ScriptResults rsplit(Lower& l, Arguments arguments) {
  auto* self = text_at(arguments, 0);
  if (!self) return std::nullopt;
  auto separator = text_or(l, arguments, 1, "separator", " ");
  auto limit = int_argument(l, arguments, 2, "max", -1);
  if (!separator || !limit) return IValues{};
  if (separator->empty()) return refused(l, "ValueError: empty separator");
  ListRef out = make_list(l, "str");
  std::string_view rest = *self;
  for (int64_t left = limit->concrete(); left != 0; --left) {
    size_t at = rest.rfind(*separator);
    if (at == std::string_view::npos) break;
    if (!add_part(l, *out, rest.substr(at + separator->size()))) return IValues{};
    rest = rest.substr(0, at);
  }
  if (!add_part(l, *out, rest)) return IValues{};
  std::reverse(out->items.begin(), out->items.end());
  return IValues{out};
}

// Each byte that ends a line ends one, "\r\n" two; ends that are kept are items of their own, unlike Python's.
ScriptResults splitlines(Lower& l, Arguments arguments) {
  auto* self = text_at(arguments, 0);
  if (!self) return std::nullopt;
  auto keepends = bool_argument(l, arguments, 1, "keepends", false);
  if (!keepends) return IValues{};
  if (std::any_of(self->begin(), self->end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }))
    return refused(l, "`splitlines` of a text that is not ASCII, whose characters TorchScript takes apart");
  ListRef out = make_list(l, "str");
  size_t begin = 0;
  for (size_t at = self->find_first_of("\n\r\v\f\x1c\x1d\x1e"); at != Text::npos;
       at = self->find_first_of("\n\r\v\f\x1c\x1d\x1e", begin)) {
    if (!add_part(l, *out, std::string_view(*self).substr(begin, at - begin))) return IValues{};
    if (*keepends && !add_part(l, *out, std::string_view(*self).substr(at, 1))) return IValues{};
    begin = at + 1;
  }
  if (begin != self->size() && !add_part(l, *out, std::string_view(*self).substr(begin))) return IValues{};
  return IValues{out};
}

ScriptResults join(Lower& l, Arguments arguments) {
  auto* self = text_at(arguments, 0);
  auto* list = argument<ListRef>(arguments, 1, "values");
  if (!self || !list) return std::nullopt;
  Text out;
  for (const IValue& item : (*list)->items) {
    auto* text = item.get<Text>();
    if (!text) return refused(l, "join() of " + describe(item) + ", expected a str");
    if (&item != (*list)->items.data()) out += *self;
    out += *text;
    if (!small_enough(l, out.size(), kMaxTextSize, "text")) return IValues{};
  }
  return IValues{out};
}

// ---- numbers and texts

ScriptResults ord(Lower& l, Arguments arguments) {
  auto* text = text_at(arguments, 0, "string");
  if (!text) return std::nullopt;
  if (text->size() != 1)
    return refused(l, "TypeError: ord() takes a text of one byte, found " + std::to_string(text->size()));
  return IValues{Dim(static_cast<unsigned char>(text->front()))};
}
// One byte: of a number past 255 the lowest.
ScriptResults chr(Lower& l, Arguments arguments) {
  auto i = int_argument(l, arguments, 0, "i");
  if (!i) return IValues{};
  if (*i < Dim(0) || *i >= Dim(0x110000))
    return refused(l, "ValueError: chr() arg not in range(0x110000): " + i->text());
  return IValues{Text(1, static_cast<char>(i->concrete() & 0xFF))};
}

template <int kBase>
ScriptResults in_base(Lower& l, Arguments arguments) {
  auto i = int_argument(l, arguments, 0, "i");
  if (!i) return IValues{};
  bool negative = *i < Dim(0);
  auto magnitude = static_cast<uint64_t>(i->concrete());
  if (negative) magnitude = 0 - magnitude;
  std::array<char, 72> buffer{};
  auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), magnitude, kBase);
  return IValues{Text(negative ? "-0" : "0") + (kBase == 16 ? 'x' : kBase == 8 ? 'o' : 'b') + Text(buffer.data(), end)};
}

ScriptResults str(Lower& l, Arguments arguments) {
  auto text = text_of(l, argument(arguments, 0, "elem"));
  return text ? IValues{*text} : unknown(l, "the text of " + describe(argument(arguments, 0, "elem")));
}

// Each "{}" in turn, and no other braces; arguments that are left over are dropped.
ScriptResults format(Lower& l, Arguments arguments) {
  auto* self = text_at(arguments, 0);
  if (!self) return std::nullopt;
  Text out;
  size_t begin = 0, next = 1;
  for (size_t at = self->find("{}"); at != Text::npos; at = self->find("{}", begin)) {
    if (next >= arguments.size())
      return refused(l, "IndexError: too few arguments for format string: " + describe(IValue(*self)));
    auto text = text_of(l, arguments[next].value);
    if (!text) return unknown(l, "the text of " + describe(arguments[next].value));
    out.append(*self, begin, at - begin);
    out += *text;
    if (!small_enough(l, out.size(), kMaxTextSize, "text")) return IValues{};
    begin = at + 2;
    ++next;
  }
  out.append(*self, begin);
  return IValues{out};
}

// One argument of `%`. TorchScript has no widths, no precisions and few letters.
ScriptResults formatted(Lower& l, char letter, const IValue& value) {
  if (letter == 's') {
    auto text = text_of(l, value);
    return text ? IValues{*text} : unknown(l, "the text of " + describe(value));
  }
  auto n = python_number(l, value);
  if (n && !n->known) return unknown(l, "the text of a number");
  bool real = n && n->dtype != DType::Bool && !n->known->is_complex();
  constexpr std::string_view kNumbers = "dieEfF";
  if (kNumbers.find(letter) != std::string_view::npos && !real)
    return refused(l, Text("TypeError: %") + letter + " requires a number for formatting, but got " + describe(value));
  switch (letter) {
    case 'd':
    case 'i': {
      double x = n->known->to_double();
      if (n->known->is_float() && !(std::fabs(x) < 9223372036854775808.0))
        return refused(l, "OverflowError: cannot convert float " + n->known->text() + " to integer");
      return IValues{std::to_string(n->known->to_int())};
    }
    case 'e':
    case 'E':
    case 'f':
    case 'F': {
      std::array<char, 400> buffer{};
      auto how = letter == 'e' || letter == 'E' ? std::chars_format::scientific : std::chars_format::fixed;
      auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), n->known->to_double(), how, 6);
      Text text(buffer.data(), end);
      return IValues{letter == 'E' || letter == 'F' ? each<raised>(text) : text};
    }
    case 'c':
      if (n && n->dtype == DType::Int64) return IValues{Text(1, static_cast<char>(n->known->to_int() & 0xFF))};
      if (auto* text = value.get<Text>(); text && text->size() == 1) return IValues{*text};
      return refused(l, "TypeError: %c requires an int or a char for formatting, but got " + describe(value));
    default: break;
  }
  return refused(l, "the specifier %" + Text(1, letter) + " is not supported in TorchScript format strings");
}

// (format, tuple) or (format, value)
ScriptResults percent_format(Lower& l, Arguments arguments) {
  auto* self = text_at(arguments, 0);
  if (!self) return std::nullopt;
  auto* tuple = argument<TupleRef>(arguments, 1);
  std::vector<IValue> values = tuple ? (*tuple)->items : std::vector<IValue>{argument(arguments, 1)};
  Text out;
  size_t begin = 0, next = 0;
  for (size_t at = self->find('%'); at != Text::npos; at = self->find('%', begin)) {
    if (at + 1 == self->size()) return refused(l, "ValueError: incomplete format specifier");
    out.append(*self, begin, at - begin);
    begin = at + 2;
    char letter = (*self)[at + 1];
    if (letter == '%') {
      out += '%';
      continue;
    }
    if (next >= values.size()) return refused(l, "TypeError: too few arguments for format string");
    auto text = formatted(l, letter, values[next++]);
    if (text->empty()) return text;  // refused
    out += *(*text)[0].get<Text>();
    if (!small_enough(l, out.size(), kMaxTextSize, "text")) return IValues{};
  }
  if (next != values.size()) return refused(l, "TypeError: too many arguments for format string");
  out.append(*self, begin);
  return IValues{out};
}

}  // namespace

std::span<const lower::ScriptRow> script_text_ops() {
  static constexpr ScriptRow rows[] = {
      {"aten::bin", in_base<2>},
      {"aten::capitalize", mapped<capitalize>},
      {"aten::center", justified<Side::Center>},
      {"aten::chr", chr},
      {"aten::count", count},
      {"aten::endswith", begins_or_ends<false>},
      {"aten::expandtabs", expandtabs},
      {"aten::find", find<false, false>},
      {"aten::format", format},
      {"aten::hex", in_base<16>},
      {"aten::index", index},
      {"aten::isalnum", all_are<is_alnum>},
      {"aten::isalpha", all_are<is_alpha>},
      {"aten::isdecimal", all_are<is_digit>},
      {"aten::isdigit", all_are<is_digit>},
      {"aten::islower", has_case<is_lower, is_upper>},
      {"aten::isnumeric", all_are<is_digit>},
      {"aten::isprintable", all_are<is_printable, true>},
      {"aten::isspace", all_are<is_space>},
      {"aten::istitle", istitle},
      {"aten::isupper", has_case<is_upper, is_lower>},
      {"aten::join", join},
      {"aten::ljust", justified<Side::Left>},
      {"aten::lower", mapped<each<lowered>>},
      {"aten::lstrip", strip<true, false>},
      {"aten::oct", in_base<8>},
      {"aten::ord", ord},
      {"aten::partition", partition<false>},
      {"aten::percentFormat", percent_format},
      {"aten::replace", replace},
      {"aten::rfind", find<true, false>},
      {"aten::rindex", find<true, true>},
      {"aten::rjust", justified<Side::Right>},
      {"aten::rpartition", partition<true>},
      {"aten::rsplit", rsplit},
      {"aten::rstrip", strip<false, true>},
      {"aten::split", split},
      {"aten::splitlines", splitlines},
      {"aten::startswith", begins_or_ends<true>},
      {"aten::str", str},
      {"aten::strip", strip<true, true>},
      {"aten::swapcase", mapped<each<swapped>>},
      {"aten::title", mapped<title>},
      {"aten::upper", mapped<each<raised>>},
      {"aten::zfill", zfill},
  };
  return rows;
}

}  // namespace torchlift::aten
