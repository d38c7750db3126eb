// Reading JSON with a message for everything that is not as expected. Includes simdjson: for this room's .cpp files
// only.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace torchlift::frontend {

using Element = simdjson::dom::element;
using Object = simdjson::dom::object;
using Array = simdjson::dom::array;

inline constexpr size_t kMaxJsonBytes = size_t{256} << 20;
inline constexpr size_t kMaxJsonDepth = 256;

// A parsed text; elements and their texts are valid as long as it lives.
class JsonDocument {
 public:
  // Also reads what Python writes and JSON does not know: NaN, Infinity, integers beyond 64 bits (they become strings).
  static Result<JsonDocument> parse(std::string_view text, const std::string& file, const std::string& member);
  Element root() const { return root_; }

 private:
  std::unique_ptr<simdjson::dom::parser> parser_ = std::make_unique<simdjson::dom::parser>();  // elements point into it
  Element root_;
};

// Text that simdjson refuses for its numbers only, with these numbers as strings. Nothing if there are none.
std::optional<std::string> quote_odd_numbers(std::string_view text);

// Reads fields of one document and remembers where it stands, for messages: `graph.nodes[12].inputs[0].arg`.
class JsonReader {
 public:
  JsonReader(std::string file, std::string member) : file_(std::move(file)), member_(std::move(member)) {}

  // Stands in a field or an item until it is destroyed.
  class Scope {
   public:
    Scope(JsonReader& reader, std::string_view key, size_t index) : reader_(reader) {
      reader.steps_.push_back({key, index});
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { reader_.steps_.pop_back(); }

   private:
    JsonReader& reader_;
  };
  [[nodiscard]] Scope in(std::string_view key) { return Scope(*this, key, 0); }
  [[nodiscard]] Scope at(size_t index) { return Scope(*this, {}, index); }

  Result<Object> object(Element element) const;
  Result<Array> array(Element element) const;
  Result<std::string_view> text(Element element) const;
  Result<int64_t> integer(Element element) const;
  Result<double> number(Element element) const;  // also "NaN", "Infinity", "-Infinity"
  Result<bool> boolean(Element element) const;

  // A union: an object with exactly one key.
  Result<std::pair<std::string_view, Element>> tagged(Element element) const;

  // fn(Element) of a field that has to be there. `fn` returns a Result, which is returned.
  template <typename Fn>
  auto field(Object object, std::string_view key, Fn&& fn) -> decltype(fn(std::declval<Element>())) {
    Element element;
    if (object.at_key(key).get(element) != simdjson::SUCCESS) return missing(key);
    Scope scope = in(key);
    return fn(element);
  }
  Result<std::string_view> text_field(Object object, std::string_view key) {
    return field(object, key, [this](Element element) { return text(element); });
  }
  Result<int64_t> integer_field(Object object, std::string_view key) {
    return field(object, key, [this](Element element) { return integer(element); });
  }
  Result<bool> boolean_field(Object object, std::string_view key, bool otherwise);

  // fn(Element) -> Status for a field that may be absent or null.
  template <typename Fn>
  Status optional_field(Object object, std::string_view key, Fn&& fn) {
    Element element;
    if (object.at_key(key).get(element) != simdjson::SUCCESS || element.is_null()) return Unit{};
    Scope scope = in(key);
    return fn(element);
  }

  // `out` stays as it is if the field is absent or null.
  Status optional_text(Object object, std::string_view key, std::string_view& out) {
    return optional_field(object, key, [&](Element element) -> Status {
      TRY(out, text(element));
      return Unit{};
    });
  }

  // fn(Element) -> Status for each item of an array.
  template <typename Fn>
  Status each(Element element, Fn&& fn) {
    TRY(Array items, array(element));
    size_t index = 0;
    for (Element item : items) {
      Scope scope = at(index++);
      TRY_OK(fn(item));
    }
    return Unit{};
  }
  // fn(key, Element) -> Status for each member of an object.
  template <typename Fn>
  Status each_member(Element element, Fn&& fn) {
    TRY(Object members, object(element));
    for (auto member : members) {
      Scope scope = in(member.key);
      TRY_OK(fn(member.key, member.value));
    }
    return Unit{};
  }

  std::string path() const;
  Diagnostic wrong(Element got, std::string expected) const;
  Diagnostic wrong(std::string got, std::string expected) const;
  Diagnostic missing(std::string_view field) const;
  Diagnostic unknown_tag(std::string_view tag) const;
  Diagnostic error(Kind kind, Arguments arguments) const;  // with {path} and this document's place

 private:
  friend class Scope;
  struct Step {
    std::string_view key;  // empty: an index
    size_t index = 0;
  };
  std::string file_;
  std::string member_;
  std::vector<Step> steps_;
};

}  // namespace torchlift::frontend
