// Work that may be told to stop: by a signal that the program handles, or by the thread that it is done for.
//
// The core does not know who tells it. Whoever calls it installs a question for its own thread; whoever stands between
// two system calls, or wakes from a wait, calls check_interrupt(), which asks from time to time. The answer "stop" is
// an Error{kInterrupted}, and goes the way of other errors. Without a question nothing is asked, and nothing is thrown.
//
// Only for work that no other rank waits for: one that leaves alone leaves the others waiting for ever.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

#include "base/clock.h"

namespace swath {

// What one system call moves at most where the work may be told to stop: more would take a slow device too long.
inline constexpr int64_t kCallBytesMax = int64_t{16} << 20;
// Who waits for something else than a system call looks up so often.
inline constexpr double kLookUpSeconds = 0.1;

// The question of this thread, as long as it lives. One inside another goes before it.
class InterruptScope {
 public:
  // True: stop. Asked on this thread, with no lock held that the program could wait for.
  using Question = std::function<bool()>;

  explicit InterruptScope(Question should_stop);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  friend void check_interrupt();
  friend void check_interrupt_now();

  void ask();
  void ask_if_due();

  const Question should_stop_;
  InterruptScope* const outer_;
  int64_t next_nanoseconds_ = 0;  // of the coarse clock; 0: not begun yet
};

// Whether this thread has a question.
bool is_interruptible();

// Throws Error{kInterrupted} where the answer is "stop". Asks every 50 ms at most, so that it may be called often.
void check_interrupt();
// The same, and asks at once: a system call has ended with EINTR, so that a signal has just come.
void check_interrupt_now();

// Waits until it is notified, or sooner: whoever waits looks up now and then, with the lock let go of, since the answer
// may need who waits for this. Throws Error{kInterrupted} where this thread is told to stop; the lock is held then,
// too.
void wait_interruptibly(std::condition_variable& changed, std::unique_lock<std::mutex>& guard);

// Sleeps until then, and looks up now and then. Not in a simulation, whose time is nobody's to wait for.
void sleep_unless_interrupted(Clock& clock, double until);

}  // namespace swath
