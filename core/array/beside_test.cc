#include "array/beside.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/error.h"

namespace swath {
namespace {

Execution named(const std::string& name) { return Execution{name, nullptr, {}}; }

TEST(Beside, CarriesOutWhatIsWaitedForInTheCallersThreadWhereNothingIsUnderWay) {
  Beside beside;
  std::thread::id carried_out_by;
  const auto job = [&] {
    carried_out_by = std::this_thread::get_id();
    return named("now");
  };
  const auto one = beside.start_and_wait(job, {});
  EXPECT_TRUE(one->is_done());
  EXPECT_EQ(one->execution().method, "now");
  EXPECT_EQ(carried_out_by, std::this_thread::get_id());
  beside.end();
}

TEST(Beside, CarriesOutInOrderWhatIsStartedMeanwhile) {
  Beside beside;
  std::vector<int> order;  // by one job at a time
  std::shared_ptr<Beside::Started> later;
  const auto first = beside.start_and_wait(
      [&] {
        later = beside.start(
            [&] {
              order.push_back(2);
              return named("second");
            },
            {});
        order.push_back(1);
        return named("first");
      },
      {});
  beside.wait(later);
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  const auto behind = beside.start_and_wait([&] { return named("third"); }, {});
  EXPECT_EQ(behind->execution().method, "third");
  beside.end();
}

TEST(Beside, ManyThreadsThatWaitAreEachServedOnce) {
  Beside beside;
  std::atomic<int> carried_out = 0;
  std::atomic<int> at_once = 0;
  std::atomic<bool> met = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 200; ++turn) {
        const auto one = beside.start_and_wait(
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
  beside.end();
}

TEST(Beside, DoesNotWaitForWordsWhereItFinishesWork) {
  Beside beside;
  std::atomic<bool> is_heard = false;
  bool is_done = false;
  beside.start(
      [&] {
        is_done = true;
        return named("work");
      },
      {});
  const auto word = beside.start(
      [&] {
        is_heard.wait(false);
        return named("word");
      },
      {.is_word = true});
  beside.finish();
  EXPECT_TRUE(is_done);
  EXPECT_FALSE(word->is_done());
  is_heard = true;
  is_heard.notify_all();
  beside.end();
  EXPECT_TRUE(word->is_done());
}

TEST(Beside, WhatFailedIsThrownByWhoeverAsksForIt) {
  Beside beside;
  const auto fails = []() -> Execution { throw Error(ErrorKind::kStore, "no"); };
  for (const auto& one : {beside.start(fails, {}), beside.start_and_wait(fails, {})}) {
    beside.wait(one);
    EXPECT_THROW(one->execution(), Error);
    EXPECT_THROW(one->execution(), Error);
  }
  beside.end();
}

}  // namespace
}  // namespace swath
