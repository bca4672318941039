#include "base/gate.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"

namespace swath {
namespace {

using Use = Gate::Use;

constexpr std::chrono::milliseconds kLongEnough{50};

// Whether a thread that enters now has to wait.
bool has_to_wait(Gate& gate, Use use) {
  auto entered = std::async(std::launch::async, [&gate, use] { return gate.try_enter(use); });
  const bool waits = !entered.get();
  if (!waits) gate.leave(use);
  return waits;
}

TEST(Gate, SharersGoTogetherAndWhoWantsItAloneWaits) {
  Gate gate;
  ASSERT_TRUE(gate.enter(Use::kShared));
  EXPECT_FALSE(has_to_wait(gate, Use::kShared));
  EXPECT_TRUE(has_to_wait(gate, Use::kAlone));
  gate.leave(Use::kShared);
  ASSERT_TRUE(gate.enter(Use::kAlone));
  EXPECT_TRUE(has_to_wait(gate, Use::kShared));
  EXPECT_TRUE(has_to_wait(gate, Use::kAlone));
  EXPECT_FALSE(has_to_wait(gate, Use::kConcurrent));
  gate.leave(Use::kAlone);
  EXPECT_FALSE(has_to_wait(gate, Use::kAlone));
}

TEST(Gate, WhoComesAfterAWaitingOneWaitsToo) {
  Gate gate;
  ASSERT_TRUE(gate.enter(Use::kShared));
  std::thread alone([&gate] {
    ASSERT_TRUE(gate.enter(Use::kAlone));
    gate.leave(Use::kAlone);
  });
  while (!has_to_wait(gate, Use::kShared)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  gate.leave(Use::kShared);
  alone.join();
  EXPECT_FALSE(has_to_wait(gate, Use::kShared));
}

TEST(Gate, APlaceIsGivenUpWithWhatHoldsIt) {
  Gate gate;
  {
    GateReservation first(gate, Use::kAlone);
    GateReservation second(gate, Use::kAlone);
    ASSERT_TRUE(first && second);
    EXPECT_TRUE(has_to_wait(gate, Use::kShared));
    first.enter();
  }
  EXPECT_FALSE(has_to_wait(gate, Use::kAlone));
  std::optional<GateReservation> inside(std::in_place, gate, Use::kShared);
  inside->enter();
  auto later = std::async(std::launch::async, [&gate] {
    GateReservation place(gate, Use::kAlone);
    place.enter();
  });
  while (!has_to_wait(gate, Use::kShared)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  inside.reset();
  later.get();
  EXPECT_TRUE(gate.close());
  EXPECT_FALSE(GateReservation(gate, Use::kShared));
}

TEST(Gate, APlaceIsKeptForWhoEntersLater) {
  Gate gate;
  auto shared = gate.reserve(Use::kShared);
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->ticket, 0U);  // it has entered
  auto alone = gate.reserve(Use::kAlone);
  ASSERT_TRUE(alone);
  auto given_up = gate.reserve(Use::kAlone);
  auto last = gate.reserve(Use::kShared);
  EXPECT_TRUE(has_to_wait(gate, Use::kShared));
  gate.leave(*given_up);
  gate.leave(*shared);
  gate.enter(*alone);
  EXPECT_TRUE(has_to_wait(gate, Use::kShared));
  std::thread after([&] {
    gate.enter(*last);
    gate.leave(*last);
  });
  gate.leave(*alone);
  after.join();
  EXPECT_FALSE(has_to_wait(gate, Use::kAlone));
  EXPECT_TRUE(gate.close());
  EXPECT_FALSE(gate.reserve(Use::kShared));
}

TEST(Gate, ClosingWaitsForThoseInsideAndLetsNobodyInAnyMore) {
  for (const Use use : {Use::kConcurrent, Use::kShared, Use::kAlone}) {
    Gate gate;
    ASSERT_TRUE(gate.enter(use));
    auto closed = std::async(std::launch::async, [&gate] { return gate.close(); });
    EXPECT_EQ(closed.wait_for(kLongEnough), std::future_status::timeout);
    EXPECT_FALSE(gate.enter(Use::kShared));
    gate.leave(use);
    EXPECT_TRUE(closed.get());
    EXPECT_FALSE(gate.close());
    EXPECT_TRUE(gate.is_closed());
  }
}

TEST(Gate, CountsOfManyThreadsAreThoseOfOneAfterAnother) {
  Gate gate;
  constexpr int kThreads = 4;
  constexpr int kTurns = 2000;
  int64_t count = 0;  // guarded by the gate only
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < kTurns; ++turn) {
        const Use use = turn % 4 == 0 ? Use::kAlone : Use::kShared;
        ASSERT_TRUE(gate.enter(use));
        if (use == Use::kAlone) {
          ++count;
        } else {
          ASSERT_LE(count, kThreads * kTurns);
        }
        gate.leave(use);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, kThreads * kTurns / 4);
}

TEST(Gate, WhoIsToldToStopWaitsNoMoreAndLeavesNoTrace) {
  Gate gate;
  ASSERT_TRUE(gate.enter(Use::kShared));
  {
    const InterruptScope scope([] { return true; });
    EXPECT_THROW(gate.enter(Use::kAlone), Error);
    EXPECT_THROW(gate.close(), Error);
  }
  EXPECT_FALSE(gate.is_closed());
  EXPECT_FALSE(has_to_wait(gate, Use::kShared));
  gate.leave(Use::kShared);
  EXPECT_TRUE(gate.close());
}

TEST(Gate, AForkedChildFindsNobodyInside) {
  Gate gate;
  ASSERT_TRUE(gate.enter(Use::kAlone));
  const pid_t child = fork();
  if (child == 0) _exit(gate.try_enter(Use::kAlone) ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  gate.leave(Use::kAlone);
}

}  // namespace
}  // namespace swath
