// Measures durations on the machine's clock: for counters and measurements, never for waiting (clock.h).
#pragma once

#include <chrono>

namespace swath {

class Stopwatch {
 public:
  // Seconds since construction.
  double seconds() const { return std::chrono::duration<double>(Steady::now() - begin_).count(); }

 private:
  using Steady = std::chrono::steady_clock;
  Steady::time_point begin_ = Steady::now();
};

}  // namespace swath
