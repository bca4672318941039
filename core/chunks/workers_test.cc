#include "chunks/workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"

namespace swath {
namespace {

// The final number of readers, if a device serves `served` readers at once, each at 100 chunks a second.
int ends_at(int served, WorkerLimits limits, double sleeping_part) {
  ReaderControl control(limits);
  int most = 0;
  for (int window = 0; window < 200; ++window) {
    control.window_over(100.0 * std::min(control.readers(), served), sleeping_part);
    most = std::max(most, control.readers());
  }
  EXPECT_LE(most, limits.most);
  return control.readers();
}

TEST(ReaderControl, ClimbsWhileReadersSleepAndThroughputRises) {
  EXPECT_EQ(ends_at(8, {2, 32}, 0.9), 8);
  EXPECT_EQ(ends_at(100, {2, 32}, 0.9), 32);
  EXPECT_EQ(ends_at(1, {2, 32}, 0.9), 2);
}

TEST(ReaderControl, LearnsNothingFromThePageCache) { EXPECT_EQ(ends_at(100, {2, 32}, 0.1), 2); }

TEST(ReaderControl, TriesAgainEverMoreSeldom) {
  ReaderControl control({2, 32});
  std::vector<int> tried;
  for (int window = 0; window < 100; ++window) {
    const int before = control.readers();
    control.window_over(100, 0.9);
    if (control.readers() > before) tried.push_back(window);
  }
  ASSERT_GE(tried.size(), 3U);
  EXPECT_GT(tried[2] - tried[1], tried[1] - tried[0]);
}

TEST(Workers, DoEveryTaskOnce) {
  for (const int64_t count : {0, 1, 2, 1000}) {
    std::vector<std::atomic<int>> done(static_cast<size_t>(count));
    std::atomic<int64_t> bytes{0};
    const Counters counters = run_tasks(
        count, {3, 8},
        [&](int64_t task, Worker& worker) {
          ++done[static_cast<size_t>(task)];
          worker.counters.read_bytes += 10;
          worker.decoded.at_least(100);
          return int64_t{10};
        },
        &bytes);
    for (const auto& times : done) EXPECT_EQ(times, 1);
    EXPECT_EQ(counters.read_bytes, 10 * count);
    EXPECT_EQ(bytes, 10 * count);
    EXPECT_LE(counters.buffer_bytes, 8 * 100);
    if (count > 0) {
      EXPECT_GE(counters.buffer_bytes, 100);
    }
  }
}

TEST(Workers, StopAtTheFirstError) {
  std::atomic<int> begun{0};
  const auto task = [&](int64_t task, Worker&) -> int64_t {
    ++begun;
    if (task == 3) throw Error(ErrorKind::kFormat, "task 3");
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    return 1;
  };
  try {
    run_tasks(100000, {4, 4}, task);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "task 3");
  }
  EXPECT_LT(begun, 1000);
}

TEST(Workers, AddReadersForTasksThatSleep) {
  std::atomic<int> now{0};
  std::atomic<int> most{0};
  run_tasks(2000, {1, 8}, [&](int64_t, Worker& worker) {
    const int running = ++now;
    int seen = most;
    while (running > seen && !most.compare_exchange_weak(seen, running)) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    worker.slept_seconds += 0.001;
    --now;
    return int64_t{1000};
  });
  EXPECT_GT(most, 1);
  EXPECT_LE(most, 8);
}

TEST(Workers, AreBoundedByMemory) {
  EXPECT_EQ(worker_limits(int64_t{1} << 30, 1 << 20, 1).most, 1);
  EXPECT_EQ(worker_limits(1 << 20, 4 << 20, 1).most, 4);
  EXPECT_EQ(worker_limits(1, int64_t{1} << 40, 1000).first, 1);
  EXPECT_LE(worker_limits(1, int64_t{1} << 40, 1).most, 32);
}

TEST(RunTasks, ToldToStopBeginsNoOtherTaskAndLeavesNoneRunning) {
  std::atomic<int> running = 0;
  std::atomic<int> begun = 0;
  const auto task = [&](int64_t, Worker&) {
    ++running;
    ++begun;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    --running;
    return int64_t{1};
  };
  const InterruptScope scope([] { return true; });
  EXPECT_THROW(run_tasks(100'000, {4, 4}, task), Error);
  EXPECT_EQ(running, 0);
  EXPECT_LT(begun, 100'000);
}

TEST(RunTasks, ToldToStopWhileItWaitsForAnotherWorkerStopsThatOne) {
  const auto caller = std::this_thread::get_id();
  std::atomic<bool> other_has_begun = false;
  std::atomic<bool> other_has_stopped = false;
  const auto task = [&](int64_t, Worker&) {
    if (std::this_thread::get_id() == caller) {
      while (!other_has_begun) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return int64_t{1};
    }
    other_has_begun = true;
    try {
      while (true) {
        check_interrupt();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    } catch (const Error&) {
      other_has_stopped = true;
      throw;
    }
    return int64_t{1};
  };
  const InterruptScope scope([] { return true; });
  EXPECT_THROW(run_tasks(2, {2, 2}, task), Error);
  EXPECT_TRUE(other_has_stopped);
}

}  // namespace
}  // namespace swath
