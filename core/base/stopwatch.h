// Measures durations for counters and measurements, on the clock of the thread: the machine's, or a simulation's.
#pragma once

#include "base/clock.h"

namespace swath {

class Stopwatch {
 public:
  // Seconds since construction.
  double seconds() const { return clock_of_thread().now() - begin_; }

 private:
  double begin_ = clock_of_thread().now();
};

}  // namespace swath
