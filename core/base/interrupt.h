// Interruptible work: a signal that the program handles, or the thread that started the work, can stop it.
//
// The core does not know the source of interrupts. A caller installs a question for its own thread; the core calls
// check_interrupt() between system calls and during waits, which asks the question from time to time. The answer "stop"
// becomes an Error{kInterrupted}, and is handled as other errors. Without a question, nothing is thrown.
//
// Only for work without other ranks: if one rank stopped alone, the others would wait for it for ever.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

#include "base/clock.h"

namespace swath {

// The maximum bytes of one system call in interruptible work: more would take a slow device too long.
inline constexpr int64_t kCallBytesMax = int64_t{16} << 20;
// The interval between checks in waits other than system calls.
inline constexpr double kLookUpSeconds = 0.1;

// Installs this thread's question during its lifetime. A nested one replaces the outer one.
class InterruptScope {
 public:
  // True: stop. Called on this thread, without any lock that the program could wait for.
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
  int64_t next_nanoseconds_ = 0;  // of the coarse clock; 0: not started yet
};

// True if this thread has a question.
bool is_interruptible();

// Throws Error{kInterrupted} if the answer is "stop". Asks at most every 50 ms, so it may be called often.
void check_interrupt();
// The same, but asks at once: a system call has ended with EINTR, so a signal has just arrived.
void check_interrupt_now();

// Waits for a notification, or a shorter time: checks for an interrupt from time to time, without the lock, since the
// answer may need a thread that waits for the lock. Throws Error{kInterrupted} if this thread is interrupted; it holds
// the lock then, too.
void wait_interruptibly(std::condition_variable& changed, std::unique_lock<std::mutex>& guard);

// Sleeps until then, with checks for an interrupt; in a simulation without checks.
void sleep_unless_interrupted(Clock& clock, double until);

}  // namespace swath
