// Result<T>: a value, or the diagnostics that say why there is none. For readers of bytes, which stop at the first
// problem.
#pragma once

#include <utility>
#include <variant>
#include <vector>

#include "base/check.hpp"
#include "base/diagnostic.hpp"

namespace torchlift {

// Nothing, successfully.
struct Unit {};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}                         // NOLINT
  Result(Diagnostic error) : state_(std::in_place_index<1>, 1, std::move(error)) {}             // NOLINT
  Result(std::vector<Diagnostic> errors) : state_(std::in_place_index<1>, std::move(errors)) {  // NOLINT
    CHECK(!this->errors().empty()) << "a failed Result says why";
  }

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const std::vector<Diagnostic>& errors() const { return std::get<1>(state_); }
  std::vector<Diagnostic>& errors() { return std::get<1>(state_); }
  const Diagnostic& error() const { return errors().front(); }

 private:
  std::variant<T, std::vector<Diagnostic>> state_;
};

using Status = Result<Unit>;

}  // namespace torchlift

// TRY(auto x, reader.next()): x is the value, or the errors are returned from the calling function.
#define TORCHLIFT_CONCAT2(a, b) a##b
#define TORCHLIFT_CONCAT(a, b) TORCHLIFT_CONCAT2(a, b)
#define TRY(declaration, expression) TRY_IMPL(TORCHLIFT_CONCAT(try_result_, __LINE__), declaration, expression)
#define TRY_IMPL(name, declaration, expression)    \
  auto name = (expression);                        \
  if (!name.ok()) return std::move(name.errors()); \
  declaration = std::move(name).value()
// TRY_OK(expression): for a Status, whose value says nothing.
#define TRY_OK(expression)                                                                       \
  do {                                                                                           \
    if (auto try_status = (expression); !try_status.ok()) return std::move(try_status.errors()); \
  } while (false)
