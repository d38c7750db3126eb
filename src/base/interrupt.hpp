// Ctrl-C while files are written.
#pragma once

#include <csignal>

namespace torchlift {

// While one lives, the first SIGINT or SIGTERM makes every write to an OutputFile fail instead of ending the process,
// so that what was begun is taken away; the second ends it. One at a time.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  struct sigaction before_[2]{};
};

bool interrupted();  // a signal came in the scope that lives

}  // namespace torchlift
