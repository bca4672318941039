#include "base/interrupt.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <thread>

#include "base/error.h"
#include "store/background.h"
#include "store/engine_test_file.h"

namespace swath {
namespace {

constexpr auto kMoment = std::chrono::milliseconds(5);

// Repeats `step` until it throws; at most for a minute.
Error stopped_by(const std::function<void()>& step) {
  return error_of([&] {
    for (int i = 0; i < 12000; ++i) {
      step();
      std::this_thread::sleep_for(kMoment);
    }
  });
}

TEST(Interrupt, WithoutAScopeNothingIsAskedAndNothingThrown) {
  EXPECT_FALSE(is_interruptible());
  check_interrupt();
  check_interrupt_now();
}

TEST(Interrupt, TheAnswerStopIsAnErrorOfItsKind) {
  const InterruptScope scope([] { return true; });
  EXPECT_TRUE(is_interruptible());
  EXPECT_EQ(error_of(&check_interrupt_now).kind(), ErrorKind::kInterrupted);
  EXPECT_EQ(error_of(&check_interrupt_now).os_error(), EINTR);
  EXPECT_EQ(stopped_by(&check_interrupt).kind(), ErrorKind::kInterrupted);
}

TEST(Interrupt, IsAskedSeldomHoweverOftenItIsCalled) {
  int asked = 0;
  const InterruptScope scope([&] { return ++asked == 3; });
  int calls = 0;
  stopped_by([&] {
    for (int i = 0; i < 100; ++i, ++calls) check_interrupt();
  });
  EXPECT_EQ(asked, 3);
  EXPECT_GT(calls, 100 * asked);
}

TEST(Interrupt, TheInnermostScopeOfAThreadIsAskedAndNoneOfAnotherThread) {
  const InterruptScope outer([] { return true; });
  {
    const InterruptScope inner([] { return false; });
    check_interrupt_now();
  }
  EXPECT_EQ(error_of(&check_interrupt_now).kind(), ErrorKind::kInterrupted);
  std::thread([] { EXPECT_FALSE(is_interruptible()); }).join();
}

TEST(Interrupt, WhoWaitsForABackgroundJobStopsItAndLeavesWhenItHasEnded) {
  Background background;
  std::atomic<bool> ended = false;
  {
    const InterruptScope scope([] { return true; });
    background.start([&] {
      const Error error = stopped_by(&check_interrupt);
      ended = error.kind() == ErrorKind::kInterrupted;
    });
    EXPECT_EQ(error_of([&] { background.wait(); }).kind(), ErrorKind::kInterrupted);
  }
  EXPECT_TRUE(ended);
  EXPECT_FALSE(background.busy());
  background.start([] {});  // it can be used again
  background.wait();
}

TEST(Interrupt, WhoWaitsForManyShortJobsIsAskedToo) {
  Background background;
  const InterruptScope scope([] { return true; });
  const Error error = stopped_by([&] {
    background.start([] {});
    background.wait();
  });
  EXPECT_EQ(error.kind(), ErrorKind::kInterrupted);
  EXPECT_FALSE(background.busy());
}

TEST(Interrupt, ABackgroundJobOfWhoCannotBeStoppedGoesOnToItsEnd) {
  Background background;
  background.start([] {
    EXPECT_FALSE(is_interruptible());
    std::this_thread::sleep_for(50 * kMoment);
  });
  background.wait();
}

TEST(Interrupt, ALongSleepIsOne) {
  const InterruptScope scope([] { return true; });
  Clock& clock = real_clock();
  const Error error = error_of([&] { sleep_unless_interrupted(clock, clock.now() + 60); });
  EXPECT_EQ(error.kind(), ErrorKind::kInterrupted);
}

}  // namespace
}  // namespace swath
