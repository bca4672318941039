// Waiting by polling.
#pragma once

#include <sched.h>

#include <algorithm>
#include <ctime>

namespace swath {

// Sleeps between polls: briefly at first, then longer and longer.
class Backoff {
 public:
  void wait() {
    if (yields_++ < kYields) {
      sched_yield();
      return;
    }
    const timespec duration{.tv_sec = 0, .tv_nsec = sleep_};
    nanosleep(&duration, nullptr);  // a signal that ends the sleep costs one more poll
    sleep_ = std::min(2 * sleep_, kSleepNanosecondsMax);
  }

 private:
  static constexpr int kYields = 16;
  static constexpr long kSleepNanosecondsMin = 5'000;
  static constexpr long kSleepNanosecondsMax = 200'000;

  int yields_ = 0;
  long sleep_ = kSleepNanosecondsMin;
};

}  // namespace swath
