// Rows that a program adds to the operators, from outside: a lowering with the schema of an operator of its own, or one
// that takes the place of a row that is there.
//
//   constexpr std::array kRows = {own<soft_cap>("mine::soft_cap(Tensor x, float cap) -> Tensor")};
//   TRY(auto operators, with_own(aten::table(), kRows));
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "lower/op.hpp"

namespace torchlift::lower {

struct OwnRow {
  Row row;
  std::string_view schema;
};

// `schema` as torch prints it: "ns::name.overload(Type name=default, *, Type name) -> (Type, ...)".
template <auto F, typename... Traits>
constexpr OwnRow own(std::string_view schema, Traits... traits) {
  std::string_view key = schema.substr(0, schema.find('('));
  if (key.starts_with("aten::")) key.remove_prefix(6);
  return {op<F>(key, traits...), schema};
}

struct Operators {
  OpTable table;
  std::vector<torch::Schema> schemas;  // of those that PyTorch does not have
};

// The rows must outlive what is returned.
Result<Operators> with_own(const OpTable& table, std::span<const OwnRow> rows);

}  // namespace torchlift::lower
