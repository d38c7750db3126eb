// Private to the printer of artifacts: the text of attributes and types.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "stablehlo/vhlo.hpp"

namespace torchlift::stablehlo::vhlo {

class NodePrinter {
 public:
  explicit NodePrinter(const Program& program) : program_(program) {}

  // What cannot be said in StableHLO's text; the first one.
  const std::string& problem() const { return problem_; }
  void fail(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }

  std::string type(TypeNumber number);
  std::string attribute(AttributeNumber number);
  // "key = value, ...", without braces.
  std::string entries(const Attribute& dictionary);
  std::string location(AttributeNumber number);  // "loc(...)"
  std::string types(const std::vector<TypeNumber>& list);

  // Attributes that are lists of integers to StableHLO, not tensors; none if there is another thing.
  std::optional<std::vector<int64_t>> ints(AttributeNumber number);
  std::string int_list(AttributeNumber number);     // "[1, 2]"
  std::string dense_array(AttributeNumber number);  // "array<i64: 1, 2>"

 private:
  std::string type(int64_t number) { return type(static_cast<TypeNumber>(number)); }
  std::string attribute(int64_t number) { return attribute(static_cast<AttributeNumber>(number)); }
  std::string attributes(const Attribute& list);
  std::string within(int64_t number);
  std::string shape(const Type& type, size_t at);
  std::string quantized(const Type& type);
  std::string scalar(TypeNumber type, int64_t bits);
  std::string element(TypeNumber type, std::string_view bytes);
  std::string dense(TypeNumber type, std::string_view bytes);
  std::string enumerator(const Attribute& attribute);
  std::string locations(const Attribute& fused, size_t count);

  const Program& program_;
  std::string problem_;
};

}  // namespace torchlift::stablehlo::vhlo
