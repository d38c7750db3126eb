#include "base/interrupt.hpp"

#include <array>

namespace torchlift {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM};
volatile std::sig_atomic_t seen = 0;

void note(int) { seen = 1; }

}  // namespace

InterruptScope::InterruptScope() {
  seen = 0;
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // no SA_RESTART: a waiting write returns
  for (size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &action, &before_[i]);
}

InterruptScope::~InterruptScope() {
  for (size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
  seen = 0;
}

bool interrupted() { return seen != 0; }

}  // namespace torchlift
