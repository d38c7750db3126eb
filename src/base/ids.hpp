// Typed indices into flat vectors: a ValueId cannot be passed where an InstId is meant.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace torchlift {

// `Tag` is any (incomplete) type; -1 means "none".
template <typename Tag>
struct Id {
  int32_t index = -1;

  constexpr Id() = default;
  constexpr explicit Id(size_t i) : index(static_cast<int32_t>(i)) {}
  constexpr bool has_value() const { return index >= 0; }
  constexpr size_t at() const { return static_cast<size_t>(index); }
  constexpr auto operator<=>(const Id&) const = default;
};

}  // namespace torchlift

template <typename Tag>
struct std::hash<torchlift::Id<Tag>> {
  size_t operator()(torchlift::Id<Tag> id) const { return std::hash<int32_t>()(id.index); }
};
