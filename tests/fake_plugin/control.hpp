// The fake plugin's controls, for tests: which call fails or waits, what is alive, what was done wrong. The plugin is a
// shared library of its own (fake_plugin.cpp); fake.hpp finds the controls of the loaded one.
//
// The fake's programs are text, one statement a line:
//   result TYPE DIMS RULE    a result; TYPE is PJRT's number, DIMS "2,3" or "-"; RULE is `copy N` (of argument N),
//                            `increment N` (every byte by one), or `zeros`
//   donate N R               argument N becomes result R: the argument is deleted by the call
// Arguments are not declared. A program of another form is an error of code 3.
#pragma once

#include <cstdint>

#include "pjrt/abi.hpp"

namespace torchlift::fake {

enum class Thing : int32_t { Client = 0, Executable = 1, Buffer = 2, Event = 3, Error = 4 };
inline constexpr int32_t kThings = 5;

// In the environment variable TORCHLIFT_FAKE_PLUGIN, "fail SLOT NTH CODE" does the same as `fail`, for worker
// processes.
struct Control {
  void (*reset)();  // forgets faults, counts and violations; nothing may be alive
  // The nth call from now (1: the next) of a function answers an error of this code.
  void (*fail)(pjrt::abi::Slot slot, int64_t nth, int32_t code);
  // The nth call from now of a function takes so much longer.
  void (*delay)(pjrt::abi::Slot slot, int64_t nth, int64_t milliseconds);
  // The nth execution from now fails on the device, after the call has answered: its outputs' events say so.
  void (*fail_work)(int64_t nth);
  // Executions wait on the device until released.
  void (*hold_work)(bool hold);
  void (*end_table_at)(pjrt::abi::Slot slot);  // an older plugin's table; reset makes it whole
  int64_t (*live)(Thing thing);
  int64_t (*calls)(pjrt::abi::Slot slot);
  int64_t (*borrowed)();        // buffers ever made that use the caller's memory in place
  const char* (*violations)();  // what callers did wrong, a line each; empty if nothing
};

}  // namespace torchlift::fake
