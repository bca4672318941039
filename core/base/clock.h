// Time, and waiting in it: the machine's, or a simulation's, where an hour passes as soon as nobody has anything left
// to do before it is over (comm/simulated.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

namespace swath {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

class Clock {
 public:
  virtual ~Clock() = default;

  // Seconds from a beginning that all processes of a node share.
  virtual double now() = 0;
  virtual void sleep_until(double time) = 0;

  // Sleeps while `word` is `expected`, until wake_all() or `deadline`. May return early for no reason: ask again. The
  // word may lie in memory that processes share.
  virtual void wait(std::atomic<uint32_t>& word, uint32_t expected, double deadline) = 0;
  virtual void wake_all(std::atomic<uint32_t>& word) = 0;

  // Whether time is a simulation's, which only its own ranks' threads can wait in.
  virtual bool simulated() const { return false; }
};

// CLOCK_MONOTONIC, and futexes that reach other processes.
Clock& real_clock();

// Of this thread: its simulation's where it is a rank of one, else the real one.
Clock& clock_of_thread();

// Makes `clock` that of this thread; null: the real one again.
void set_clock_of_thread(Clock* clock);

}  // namespace swath
