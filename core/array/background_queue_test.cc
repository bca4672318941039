#include "array/background_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/error.h"

namespace swath {
namespace {

Execution named(const std::string& name) { return Execution{name, nullptr, {}}; }

TEST(BackgroundQueue, CarriesOutWhatIsWaitedForInTheCallersThreadWhereNothingIsUnderWay) {
  BackgroundQueue background;
  std::thread::id carried_out_by;
  const auto job = [&] {
    carried_out_by = std::this_thread::get_id();
    return named("now");
  };
  const auto one = background.start_and_wait(job, {});
  EXPECT_TRUE(one->is_done());
  EXPECT_EQ(one->execution().method, "now");
  EXPECT_EQ(carried_out_by, std::this_thread::get_id());
  background.end();
}

TEST(BackgroundQueue, CarriesOutInOrderWhatIsStartedMeanwhile) {
  BackgroundQueue background;
  std::vector<int> order;  // only one job at a time changes it
  std::shared_ptr<BackgroundQueue::Started> later;
  const auto first = background.start_and_wait(
      [&] {
        later = background.start(
            [&] {
              order.push_back(2);
              return named("second");
            },
            {});
        order.push_back(1);
        return named("first");
      },
      {});
  background.wait(later);
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  const auto behind = background.start_and_wait([&] { return named("third"); }, {});
  EXPECT_EQ(behind->execution().method, "third");
  background.end();
}

TEST(BackgroundQueue, ManyThreadsThatWaitAreEachServedOnce) {
  BackgroundQueue background;
  std::atomic<int> carried_out = 0;
  std::atomic<int> at_once = 0;
  std::atomic<bool> met = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 200; ++turn) {
        const auto one = background.start_and_wait(
            [&] {
              if (at_once.fetch_add(1) != 0) met = true;
              ++carried_out;
              --at_once;
              return named("");
            },
            {});
        EXPECT_TRUE(one->is_done());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(carried_out, 800);
  EXPECT_FALSE(met);
  background.end();
}

TEST(BackgroundQueue, DoesNotWaitForWordsWhereItFinishesWork) {
  BackgroundQueue background;
  std::atomic<bool> is_heard = false;
  bool is_done = false;
  background.start(
      [&] {
        is_done = true;
        return named("work");
      },
      {});
  const auto word = background.start(
      [&] {
        is_heard.wait(false);
        return named("word");
      },
      {.is_word = true});
  background.finish();
  EXPECT_TRUE(is_done);
  EXPECT_FALSE(word->is_done());
  is_heard = true;
  is_heard.notify_all();
  background.end();
  EXPECT_TRUE(word->is_done());
}

TEST(BackgroundQueue, WhatFailedIsThrownByWhoeverAsksForIt) {
  BackgroundQueue background;
  const auto fails = []() -> Execution { throw Error(ErrorKind::kStore, "no"); };
  for (const auto& one : {background.start(fails, {}), background.start_and_wait(fails, {})}) {
    background.wait(one);
    EXPECT_THROW(one->execution(), Error);
    EXPECT_THROW(one->execution(), Error);
  }
  background.end();
}

}  // namespace
}  // namespace swath
