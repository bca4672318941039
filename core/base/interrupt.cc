#include "base/interrupt.h"

#include <cerrno>
#include <ctime>
#include <utility>

#include "base/error.h"
#include "base/progress_hook.h"

namespace swath {
namespace {

constexpr int64_t kAskEveryNanoseconds = 50'000'000;
constexpr double kNapSeconds = 0.05;

thread_local InterruptScope* innermost = nullptr;

// As exact as the kernel's tick, and some nanoseconds to look at.
int64_t coarse_nanoseconds() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

InterruptScope::InterruptScope(Question should_stop) : should_stop_(std::move(should_stop)), outer_(innermost) {
  innermost = this;
}

InterruptScope::~InterruptScope() { innermost = outer_; }

void InterruptScope::ask() {
  if (should_stop_()) throw Error(ErrorKind::kInterrupted, "interrupted", EINTR);
}

void InterruptScope::ask_if_due() {
  const int64_t now = coarse_nanoseconds();
  if (now < next_nanoseconds_) return;
  const bool is_first = std::exchange(next_nanoseconds_, now + kAskEveryNanoseconds) == 0;
  if (!is_first) ask();  // the first question is delayed: most operations are over by then
}

bool is_interruptible() { return innermost != nullptr; }

void check_interrupt() {
  if (innermost != nullptr) innermost->ask_if_due();
}

void check_interrupt_now() {
  if (innermost != nullptr) innermost->ask();
}

void wait_interruptibly(std::condition_variable& changed, std::unique_lock<std::mutex>& guard) {
  if (!is_interruptible()) return wait_with_progress(changed, guard);
  wait_with_progress(changed, guard, kLookUpSeconds);
  guard.unlock();
  struct LockAgain {
    std::unique_lock<std::mutex>& guard;
    ~LockAgain() { guard.lock(); }
  } const lock_again{guard};
  check_interrupt();
}

void sleep_unless_interrupted(Clock& clock, double until) {
  if (is_interruptible() && !clock.simulated()) {
    while (until - clock.now() > kNapSeconds) {
      clock.sleep_until(clock.now() + kNapSeconds);
      check_interrupt();
    }
  }
  clock.sleep_until(until);
}

}  // namespace swath
