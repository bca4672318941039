#include "base/clock.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <ctime>

namespace swath {
namespace {

thread_local Clock* own_clock = nullptr;

constexpr double kSecondsMax = 1e9;  // of a timespec: later than that is never

timespec timespec_of(double seconds) {
  const double bounded = std::clamp(seconds, 0.0, kSecondsMax);
  const double whole = std::floor(bounded);
  return {.tv_sec = static_cast<time_t>(whole), .tv_nsec = static_cast<long>((bounded - whole) * 1e9)};
}

// std::atomic::wait would do but for its private futexes, which do not reach other processes.
void futex(std::atomic<uint32_t>& word, int operation, uint32_t value, const timespec* timeout) {
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free);
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), operation, value, timeout, nullptr, FUTEX_BITSET_MATCH_ANY);
}

class RealClock final : public Clock {
 public:
  double now() override {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }

  void sleep_until(double time) override {
    const timespec until = timespec_of(time);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
    }
  }

  // FUTEX_WAIT_BITSET is the one whose timeout is a point in time.
  void wait(std::atomic<uint32_t>& word, uint32_t expected, double deadline) override {
    const timespec until = timespec_of(deadline);
    futex(word, FUTEX_WAIT_BITSET, expected, &until);
  }

  void wake_all(std::atomic<uint32_t>& word) override { futex(word, FUTEX_WAKE, INT_MAX, nullptr); }
};

}  // namespace

Clock& real_clock() {
  static RealClock clock;
  return clock;
}

Clock& clock_of_thread() { return own_clock == nullptr ? real_clock() : *own_clock; }

void set_clock_of_thread(Clock* clock) { own_clock = clock; }

}  // namespace swath
