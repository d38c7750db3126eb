// What the fake plugin keeps: objects with their lifetimes, faults to come, and a record of what callers did wrong.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "control.hpp"
#include "pjrt/abi.hpp"

namespace torchlift::fake {

namespace abi = pjrt::abi;
using abi::Slot;

inline constexpr size_t kSlots = 92;

struct Failure {
  int32_t code;
  std::string message;
};

// Becomes ready once, perhaps with a failure.
class Signal {
 public:
  void set(std::optional<Failure> failure = std::nullopt) {
    std::lock_guard lock(mutex_);
    ready_ = true;
    failure_ = std::move(failure);
    changed_.notify_all();
  }
  bool is_ready() {
    std::lock_guard lock(mutex_);
    return ready_;
  }
  std::optional<Failure> wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ready_; });
    return failure_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ready_ = false;
  std::optional<Failure> failure_;
};

// Counts, faults and violations: everything that the controls read and write.
class State {
 public:
  // Every function passes here first. The failure it is to answer, if any.
  std::optional<Failure> begin_call(Slot slot, size_t given, size_t expected);

  void born(Thing thing, const void* object);
  // Whether it was alive; a violation if not.
  bool dies(Thing thing, const void* object);
  bool check_alive(Thing thing, const void* object, Slot slot);
  void violation(const std::string& what);
  std::optional<Failure> begin_work();  // waits while work is held
  void count_borrowed();

  void reset();
  void fail(Slot slot, int64_t nth, int32_t code);
  void delay(Slot slot, int64_t nth, int64_t milliseconds);
  void fail_work(int64_t nth);
  void hold_work(bool hold);
  int64_t live(Thing thing);
  int64_t calls(Slot slot);
  int64_t borrowed();
  const char* violations();

 private:
  struct Fault {
    int64_t calls_left = 0;  // 0: none
    int32_t code = 0;
    int64_t milliseconds = 0;
  };
  std::mutex mutex_;
  std::condition_variable work_changed_;
  std::array<int64_t, kSlots> calls_{};
  std::array<Fault, kSlots> fails_{};
  std::array<Fault, kSlots> delays_{};
  std::array<std::set<const void*>, kThings> alive_;
  int64_t work_until_failure_ = 0;
  bool work_is_held_ = false;
  int64_t borrowed_ = 0;
  std::string violations_;
  std::string shown_violations_;
};

State& state();

// The elements of a buffer. Shared between the buffer, and work on the device that still reads it.
struct Data {
  std::vector<std::byte> owned;
  const std::byte* borrowed = nullptr;  // the caller's memory
  size_t size = 0;
  uint64_t sum = 0;  // of borrowed memory when it was given: it must not change
  Signal ready;
  std::shared_ptr<Signal> released = std::make_shared<Signal>();

  const std::byte* bytes() const { return borrowed != nullptr ? borrowed : owned.data(); }
  static uint64_t sum_of(const std::byte* bytes, size_t size);
  ~Data();
};

// Does the executions of one client, in order, on a thread of its own.
class Queue {
 public:
  Queue() : thread_([this] { run(); }) {}
  ~Queue();
  void push(std::function<void()> work);

 private:
  void run();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace torchlift::fake

// The things that callers know by address.
namespace torchlift::pjrt::abi {

struct Error {
  fake::Failure failure;
};
struct Event {
  std::shared_ptr<fake::Signal> signal;
  std::shared_ptr<void> keeps;  // what the signal lies in
};
struct DeviceDescription {
  int id = 0;
};
struct Device {
  DeviceDescription description;
};
struct Client {
  std::array<Device, 2> devices;
  std::array<Device*, 2> device_list;
  fake::Queue queue;
};
struct Buffer {
  int32_t type = 0;
  std::vector<int64_t> dims;
  std::shared_ptr<fake::Data> data;  // null: deleted or donated
};

struct FakeResult {
  int32_t type = 0;
  std::vector<int64_t> dims;
  std::string rule;
  size_t argument = 0;
};
struct LoadedExecutable {
  Client* client = nullptr;
  std::vector<FakeResult> results;
  std::map<size_t, size_t> donated;  // argument -> result
};
struct Executable {
  std::vector<FakeResult> results;
  std::vector<int32_t> types;
  std::vector<int64_t> dims;
  std::vector<size_t> ranks;
};

}  // namespace torchlift::pjrt::abi
