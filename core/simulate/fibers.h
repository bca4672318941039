// Many ranks on one thread, each with a stack of its own, in the order of simulated time.
//
// Each fiber has its own time. It may be ahead of the others while it works alone; before it uses what they share it
// calls let_earlier_run(), which lets all fibers with an earlier time run first. So uses of shared resources happen in
// the order of time, and one run is like the next: fibers of equal time run in the order of their numbers.
//
// Fibers share the thread's variables and its locks: none may hold a lock while it waits.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <queue>
#include <string>
#include <vector>

#include "base/error.h"

namespace swath::simulate {

class Fibers {
 public:
  explicit Fibers(int count, size_t stack_bytes = size_t{256} << 10);
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  // Runs `body` on every fiber until all have returned, and rethrows the first exception. Once only.
  void run(const std::function<void(int fiber)>& body);

  int count() const { return static_cast<int>(fibers_.size()); }
  int running() const { return running_; }
  double now() const { return fibers_[running_].now; }  // of the running fiber
  // The running fiber works for so long, alone.
  void spend(double seconds) { fibers_[running_].now += seconds; }
  // Lets fibers with an earlier time run.
  void let_earlier_run();
  // The running fiber goes on at this time, or now if that is later.
  void sleep_until(double time);
  // The running fiber waits for wake(). Throws kDisagreement if no fiber can run any more: `doing` is for the message.
  void block(const char* doing);
  // A fiber that is blocked goes on at `time`, or at its own time if that is later.
  void wake(int fiber, double time);
  // Calls `event` with its time, after all fibers and events before it and before those after it. It must not wait.
  using Event = std::function<void(double time)>;
  void at(double time, Event event);
  int64_t switches() const { return switches_; }

 private:
  // What the C++ runtime keeps of the exceptions that a thread handles (Itanium ABI, __cxa_eh_globals).
  struct Exceptions {
    void* caught = nullptr;
    unsigned int uncaught = 0;
  };
  struct Fiber {
    ucontext_t context{};
    Exceptions exceptions;
    double now = 0;
    const char* doing = nullptr;  // what it waits in; null: it does not wait
    bool is_done = false;
  };
  // At one time events are first, in the order in which they were made, then fibers, the lower one first.
  struct Ready {
    double time = 0;
    int fiber = -1;      // -1: an event
    int64_t number = 0;  // of the event
    size_t event = 0;    // its index
    bool operator>(const Ready& other) const {
      if (time != other.time) return time > other.time;
      return fiber != other.fiber ? fiber > other.fiber : number > other.number;
    }
  };

  static void enter();
  void make_ready(int fiber) { ready_.push({.time = fibers_[fiber].now, .fiber = fiber}); }
  // Runs the first ready fiber, and the events before it; returns to run() if none is left.
  void run_next();
  void switch_to(int fiber);
  void fail_all_blocked();

  std::byte* stacks_ = nullptr;
  size_t stack_bytes_;
  size_t stacks_bytes_ = 0;
  std::vector<Fiber> fibers_;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready_;
  std::vector<Event> events_;
  std::vector<size_t> free_events_;  // indices
  const std::function<void(int)>* body_ = nullptr;
  Fiber main_;
  int running_ = -1;
  int64_t next_event_ = 0;
  int64_t switches_ = 0;
  std::exception_ptr first_;
  std::string failure_;
};

}  // namespace swath::simulate
