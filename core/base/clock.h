// Time, and waiting for it: the machine's, or a simulation's, where time jumps ahead when all ranks wait
// (comm/simulated.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

namespace swath {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

class Clock {
 public:
  virtual ~Clock() = default;

  // Seconds from a start that is the same for all processes of a node.
  virtual double now() = 0;
  virtual void sleep_until(double time) = 0;

  // Sleeps while `word` is `expected`, until wake_all() or `deadline`. It may return early without a reason: check
  // again. The word may be in memory that processes share.
  virtual void wait(std::atomic<uint32_t>& word, uint32_t expected, double deadline) = 0;
  virtual void wake_all(std::atomic<uint32_t>& word) = 0;

  // True for a simulation's clock: only the threads of its ranks can wait on it.
  virtual bool simulated() const { return false; }
};

// CLOCK_MONOTONIC, and futexes between processes.
Clock& real_clock();

// This thread's clock: its simulation's if it is a rank of one, else the real one.
Clock& clock_of_thread();

// Sets this thread's clock; null: the real one again.
void set_clock_of_thread(Clock* clock);

}  // namespace swath
