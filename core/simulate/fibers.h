// Many ranks on one thread, each with a stack of its own, in the order of simulated time.
//
// Each fiber has its own time. It may be ahead of the others while it works alone; before it uses what they share it
// calls let_earlier_run(), which lets all fibers with an earlier time run first. So uses of shared resources happen in
// the order of time, and one run is like the next: fibers of equal time run in the order of their numbers.
//
// Fibers share the thread's variables and its locks: none may hold a lock while it waits.
//
// If the thread can be interrupted (base/interrupt.h), the question is asked on the caller's stack: the program's
// signal handlers may need more stack than a fiber has. After an interrupt each fiber throws as soon as it would wait.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"

namespace swath::simulate {

class Fibers {
 public:
  explicit Fibers(int count, size_t stack_bytes = size_t{256} << 10);
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  // Runs `body` on every fiber until all have returned, and rethrows the first exception. Once only. `ask` throws
  // Error{kInterrupted} if the run is to stop; it is called on the caller's stack if the thread can be interrupted.
  void run(const std::function<void(int fiber)>& body, const std::function<void()>& ask = check_interrupt_now);

  int count() const { return static_cast<int>(fibers_.size()); }
  int running() const { return running_; }
  double now() const { return fibers_[running_].now; }  // of the running fiber
  // The running fiber works for so long, alone.
  void spend(double seconds) { fibers_[running_].now += seconds; }
  // Lets fibers with an earlier time run. Throws the error of the interrupt after one, as all that wait do.
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
  // Runs them, this one first (-1: the first that is ready), until one asks or none can go on.
  void run_fibers(int first);
  // True: stop. On a fiber; the caller of run() gives the answer.
  bool ask_caller();
  void answer();
  // Asks from time to time, and throws nothing: after an interrupt all fibers are ready, and throw where they would
  // wait.
  void poll();
  void make_ready(int fiber) { ready_.push({.time = fibers_[fiber].now, .fiber = fiber}); }
  // Runs the first ready fiber, and the events before it; returns to run() if none is left.
  void run_next();
  void switch_to(int fiber);
  // Tell AddressSanitizer of a switch, where it is compiled in: before it, and after it with what the former returned.
  void* leaving(const Fiber& from, const Fiber& to);
  void arrived(void* marks);
  Error stuck() const;
  // Each fiber goes on once more, throws the error when it would wait, and ends.
  void fail_all(const Error& error);
  void throw_failure() const;

  std::byte* stacks_ = nullptr;
  size_t stack_bytes_;
  size_t stacks_bytes_ = 0;
  std::vector<Fiber> fibers_;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready_;
  std::vector<Event> events_;
  std::vector<size_t> free_events_;  // indices
  const std::function<void(int)>* body_ = nullptr;
  Fiber main_;
  const void* caller_stack_ = nullptr;  // of run(), for AddressSanitizer
  size_t caller_stack_bytes_ = 0;
  bool comes_from_caller_ = false;
  int running_ = -1;
  int64_t next_event_ = 0;
  int64_t switches_ = 0;
  std::function<void()> ask_;
  int asking_ = -1;  // the fiber that asks whether to stop
  bool is_polling_ = false;
  std::exception_ptr first_;
  std::optional<Error> failure_;
};

}  // namespace swath::simulate
