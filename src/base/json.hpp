// Writes JSON, in the order of the calls: manifests, safetensors headers, --json. (Reading is simdjson's work.)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace torchlift {

class JsonWriter {
 public:
  // indent = 0: one line; else that many spaces a level, arrays of scalars on one line.
  explicit JsonWriter(int indent = 0) : indent_(indent) {}

  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);
  JsonWriter& string(std::string_view text);  // bytes that are no UTF-8 become U+FFFD
  JsonWriter& integer(int64_t value);
  JsonWriter& number(double value);  // infinities and NaN as the strings "inf", "-inf", "nan"
  JsonWriter& boolean(bool value);
  JsonWriter& null();
  JsonWriter& integers(const std::vector<int64_t>& values);  // an array on one line

  std::string take() &&;

 private:
  void item();
  void line(size_t depth);
  struct Level {
    bool object;
    bool empty;
  };
  std::string out_;
  std::vector<Level> levels_;
  bool after_key_ = false;
  int indent_;
};

}  // namespace torchlift
