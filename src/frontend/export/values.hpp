// The small records of the archive's JSON: enumerations, sizes, tensor descriptions. Includes simdjson.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontend/export/json.hpp"
#include "torch/program.hpp"

namespace torchlift::frontend {

// A symbolic number and its value in the example run.
using Hint = std::pair<torch::SymExpr, int64_t>;

class ValueReader {
 public:
  // Before schema 8 expressions are infix text.
  ValueReader(JsonReader& json, int64_t schema_major) : json_(json), infix_(schema_major < 8) {}

  JsonReader& json() { return json_; }

  // The archive's own numbers, which are not c10's.
  Result<DType> dtype(Element element);
  Result<torch::Layout> layout(Element element);
  Result<torch::MemoryFormat> memory_format(Element element);
  Result<torch::Device> device(Element element);

  // {"as_int": 3}, {"as_float": 0.5}, {"as_bool": true}, {"as_expr": {...}}; an integer alone too.
  Result<torch::SymExpr> sym_number(Element element);
  Result<torch::TensorMeta> tensor_meta(Element element);

  // While set, hints of sizes are collected.
  void collect_hints(std::vector<Hint>* hints) { hints_ = hints; }

 private:
  Result<std::vector<torch::SymExpr>> sym_numbers(Element element);
  Result<torch::SymExpr> expression(Object object);
  Result<torch::SymExpr> parsed(std::string_view text);

  JsonReader& json_;
  bool infix_;
  std::vector<Hint>* hints_ = nullptr;
  std::unordered_map<std::string_view, torch::SymExpr> expressions_;  // the same few texts come again and again
};

std::string_view layout_name(torch::Layout layout);  // "sparse_coo"

}  // namespace torchlift::frontend
