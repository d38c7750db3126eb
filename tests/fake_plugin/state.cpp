#include "state.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sstream>

namespace torchlift::fake {
namespace {

constexpr std::array<const char*, kThings> kThingNames = {"client", "executable", "buffer", "event", "error"};

void read_environment(State& it) {
  const char* text = std::getenv("TORCHLIFT_FAKE_PLUGIN");
  if (text == nullptr) return;
  std::istringstream words(text);
  std::string verb;
  size_t slot = 0;
  int64_t nth = 0;
  int32_t code = 0;
  if (words >> verb >> slot >> nth >> code && verb == "fail" && slot < kSlots)
    it.fail(static_cast<Slot>(slot), nth, code);
}

}  // namespace

State& state() {
  static State* it = [] {
    auto* made = new State;
    read_environment(*made);
    return made;
  }();
  return *it;
}

std::optional<Failure> State::begin_call(Slot slot, size_t given, size_t expected) {
  auto index = static_cast<size_t>(slot);
  int64_t wait = 0;
  std::optional<Failure> failure;
  {
    std::lock_guard lock(mutex_);
    ++calls_[index];
    if (given != expected) {
      violations_ += "slot " + std::to_string(index) + " was called with struct_size " + std::to_string(given) +
                     ", expected " + std::to_string(expected) + "\n";
      failure = Failure{3, "struct_size"};
    }
    if (Fault& fault = delays_[index]; fault.calls_left > 0 && --fault.calls_left == 0) wait = fault.milliseconds;
    if (Fault& fault = fails_[index]; fault.calls_left > 0 && --fault.calls_left == 0)
      failure = Failure{fault.code, "the fake was told to fail here\nand to say it on two lines"};
  }
  if (wait > 0) std::this_thread::sleep_for(std::chrono::milliseconds(wait));
  return failure;
}

void State::born(Thing thing, const void* object) {
  std::lock_guard lock(mutex_);
  alive_[static_cast<size_t>(thing)].insert(object);
}

bool State::dies(Thing thing, const void* object) {
  std::lock_guard lock(mutex_);
  auto index = static_cast<size_t>(thing);
  if (alive_[index].erase(object) > 0) return true;
  violations_ += std::string("a ") + kThingNames[index] + " was destroyed that is not alive\n";
  return false;
}

bool State::check_alive(Thing thing, const void* object, Slot slot) {
  std::lock_guard lock(mutex_);
  auto index = static_cast<size_t>(thing);
  if (alive_[index].count(object) > 0) return true;
  violations_ += std::string("slot ") + std::to_string(static_cast<size_t>(slot)) + " was given a " +
                 kThingNames[index] + " that is not alive\n";
  return false;
}

void State::violation(const std::string& what) {
  std::lock_guard lock(mutex_);
  violations_ += what + "\n";
}

std::optional<Failure> State::begin_work() {
  std::unique_lock lock(mutex_);
  work_changed_.wait(lock, [this] { return !work_is_held_; });
  if (work_until_failure_ > 0 && --work_until_failure_ == 0) return Failure{13, "the fake's device was told to fail"};
  return std::nullopt;
}

void State::count_borrowed() {
  std::lock_guard lock(mutex_);
  ++borrowed_;
}

void State::reset() {
  std::lock_guard lock(mutex_);
  calls_ = {};
  fails_ = {};
  delays_ = {};
  work_until_failure_ = 0;
  work_is_held_ = false;
  borrowed_ = 0;
  violations_.clear();
  for (auto& things : alive_) things.clear();
}

void State::fail(Slot slot, int64_t nth, int32_t code) {
  std::lock_guard lock(mutex_);
  fails_[static_cast<size_t>(slot)] = {.calls_left = nth, .code = code, .milliseconds = 0};
}

void State::delay(Slot slot, int64_t nth, int64_t milliseconds) {
  std::lock_guard lock(mutex_);
  delays_[static_cast<size_t>(slot)] = {.calls_left = nth, .code = 0, .milliseconds = milliseconds};
}

void State::fail_work(int64_t nth) {
  std::lock_guard lock(mutex_);
  work_until_failure_ = nth;
}

void State::hold_work(bool hold) {
  std::lock_guard lock(mutex_);
  work_is_held_ = hold;
  work_changed_.notify_all();
}

int64_t State::live(Thing thing) {
  std::lock_guard lock(mutex_);
  return static_cast<int64_t>(alive_[static_cast<size_t>(thing)].size());
}

int64_t State::calls(Slot slot) {
  std::lock_guard lock(mutex_);
  return calls_[static_cast<size_t>(slot)];
}

int64_t State::borrowed() {
  std::lock_guard lock(mutex_);
  return borrowed_;
}

const char* State::violations() {
  std::lock_guard lock(mutex_);
  shown_violations_ = violations_;
  return shown_violations_.c_str();
}

uint64_t Data::sum_of(const std::byte* bytes, size_t size) {
  uint64_t sum = 0;
  for (size_t i = 0; i < size; ++i) sum = sum * 31 + static_cast<uint64_t>(bytes[i]);
  return sum;
}

Data::~Data() {
  if (borrowed != nullptr && sum_of(borrowed, size) != sum)
    state().violation("borrowed memory was changed while a buffer used it");
  released->set();
}

Queue::~Queue() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void Queue::push(std::function<void()> work) {
  std::lock_guard lock(mutex_);
  work_.push_back(std::move(work));
  changed_.notify_all();
}

void Queue::run() {
  for (;;) {
    std::function<void()> work;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ends_ || !work_.empty(); });
      if (work_.empty()) return;
      work = std::move(work_.front());
      work_.pop_front();
    }
    work();
  }
}

}  // namespace torchlift::fake
