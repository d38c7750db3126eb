// CHECK(condition) << why: a promise of our own code, never of the input. A broken one aborts in every build: an
// importer that goes on after it would write wrong numbers. Input is checked by diagnostics (base/diagnostic.hpp)
// instead.
#pragma once

#include <cstdlib>
#include <iostream>
#include <sstream>

namespace torchlift::internal {

class CheckFailure {
 public:
  CheckFailure(const char* condition, const char* file, int line) {
    text_ << file << ':' << line << ": CHECK(" << condition << ") failed: ";
  }
  CheckFailure(const CheckFailure&) = delete;
  CheckFailure& operator=(const CheckFailure&) = delete;
  [[noreturn]] ~CheckFailure() {
    std::cerr << text_.str() << std::endl;
    std::abort();
  }
  std::ostream& stream() { return text_; }

 private:
  std::ostringstream text_;
};

struct Voidify {
  void operator&(std::ostream&) const {}
};

}  // namespace torchlift::internal

#define CHECK(condition)                           \
  (condition) ? void()                             \
              : ::torchlift::internal::Voidify() & \
                    ::torchlift::internal::CheckFailure(#condition, __FILE__, __LINE__).stream()
