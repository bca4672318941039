#include "throttle/controller.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <queue>
#include <random>
#include <vector>

namespace swath {
namespace {

// The bytes per second of all streams together, if the target serves this number of them at a time.
using Throughput = std::function<double(double streams)>;

constexpr double kMegabyte = 1e6;
constexpr int64_t kBurstBytes = 4 << 20;

double single_disk(double streams) { return (streams < 1.5 ? 34 : 15) * kMegabyte; }
double solid_state(double streams) { return std::min(300 * streams, 900.0) * kMegabyte; }
// The p690's RAID-5 (the paper's figure 3(a)): 4 streams are best, 2 nearly as good, 1 13 % and 16 40 % slower.
double raid(double streams) {
  const double slower = streams < 1.5 ? 1.15 : streams < 3 ? 1.02 : streams < 6 ? 1 : streams < 12 ? 1.12 : 1.4;
  return 124 * kMegabyte / slower;
}
// The cluster's RAID (figure 3(b)): 8 streams are best.
double nfs_raid(double streams) {
  const double slower = streams < 1.5 ? 1.24 : streams < 3 ? 1.14 : streams < 6 ? 1.03 : streams < 12 ? 1 : 1.1;
  return 45 * kMegabyte / slower;
}

// Streams that always have work, on a target of known throughput; time is counted, not waited for.
class Hungry {
 public:
  explicit Hungry(int streams, double noise = 0.05, uint64_t seed = 1)
      : streams_(streams), noise_(0, noise), random_(seed) {}

  Controller controller;
  std::vector<Decision> decisions;
  bool from_device = true;

  // The time for this number of bursts.
  double run(const Throughput& throughput, int bursts) {
    const double begin = now_;
    for (int i = 0; i < bursts; ++i) one_burst(throughput);
    return now_ - begin;
  }

 private:
  struct Running {
    double ends;
    Burst burst;
  };

  void one_burst(const Throughput& throughput) {
    const int limit = controller.limit() == 0 ? streams_ : std::min(controller.limit(), streams_);
    while (std::ssize(running_) < limit) begin_burst(throughput, limit);
    const auto first = std::min_element(running_.begin(), running_.end(),
                                        [](const Running& a, const Running& b) { return a.ends < b.ends; });
    Running done = *first;
    running_.erase(first);
    now_ = done.ends;
    Decision decision;
    if (controller.completed(done.burst, decision)) decisions.push_back(decision);
  }

  void begin_burst(const Throughput& throughput, int streams) {
    const double seconds = static_cast<double>(kBurstBytes) * streams / throughput(streams) * std::exp(noise_(random_));
    running_.push_back(
        {now_ + seconds, {kBurstBytes, seconds, static_cast<double>(streams), from_device, controller.epoch()}});
  }

  const int streams_;
  std::normal_distribution<double> noise_;
  std::mt19937_64 random_;
  std::vector<Running> running_;
  double now_ = 0;
};

double best_static(const Throughput& throughput, int streams, int bursts) {
  double best = 0;
  for (int n = 1; n <= streams; n *= 2) best = std::max(best, throughput(n));
  return bursts * static_cast<double>(kBurstBytes) / best;
}

struct Case {
  const char* name;
  Throughput throughput;
  int streams;
  std::vector<int> limits;  // the right limits; 0: none
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {{"one disk", single_disk, 16, {1}}, {"one disk", single_disk, 4, {1}},
                                        {"one disk", single_disk, 2, {1}},  {"RAID-5", raid, 16, {2, 4}},
                                        {"NFS", nfs_raid, 16, {4, 8}},      {"SSD", solid_state, 16, {0}},
                                        {"SSD", solid_state, 2, {0}},       {"SSD", solid_state, 64, {0}}};
  return all;
}

TEST(Controller, FindsWhatIsBestOnEveryTarget) {
  for (const Case& one : cases()) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      Hungry streams(one.streams, 0.05, seed);
      const double start = streams.run(one.throughput, 1000);
      const double steady = streams.run(one.throughput, 3000);
      EXPECT_LE(start, 1.15 * best_static(one.throughput, one.streams, 1000)) << one.name << ' ' << one.streams;
      EXPECT_LE(steady, 1.10 * best_static(one.throughput, one.streams, 3000)) << one.name << ' ' << one.streams;
      while (!streams.controller.holding()) streams.run(one.throughput, 1);
      EXPECT_TRUE(std::count(one.limits.begin(), one.limits.end(), streams.controller.limit()))
          << one.name << ": " << streams.controller.limit() << " of " << one.streams << " streams, seed " << seed;
    }
  }
}

TEST(Controller, CostsNearlyNothingWhereNoLimitHelps) {
  Hungry streams(16);
  EXPECT_LE(streams.run(solid_state, 10000), 1.02 * best_static(solid_state, 16, 10000));
}

// A bad limit costs little: 1 stream, at a third of the throughput, is measured for a few bursts only.
TEST(Controller, WhatIsHopelessIsNotMeasuredForLong) {
  Hungry streams(16);
  EXPECT_LE(streams.run(solid_state, 500), 1.04 * best_static(solid_state, 16, 500));
  const auto one = std::find_if(streams.decisions.begin(), streams.decisions.end(),
                                [](const Decision& decision) { return decision.from == 1; });
  ASSERT_NE(one, streams.decisions.end());
  EXPECT_LT(one->samples, 8);
}

TEST(Controller, StartsWithoutALimitAndSaysWhyItSetsOne) {
  Hungry streams(16);
  EXPECT_EQ(streams.controller.limit(), 0);
  streams.run(single_disk, 200);
  ASSERT_GE(streams.decisions.size(), 2U);
  const Decision& first = streams.decisions.front();
  EXPECT_EQ(first.from, 0);
  EXPECT_EQ(first.to, 1);
  EXPECT_EQ(first.reason, Reason::kMeasure);
  EXPECT_NEAR(first.rate, 15 * kMegabyte, 2 * kMegabyte);
  EXPECT_GE(first.samples, 8);
  const Decision& last = streams.decisions.back();
  EXPECT_EQ(last.reason, Reason::kBetter);
  EXPECT_EQ(last.to, 1);
  EXPECT_NEAR(last.best_rate, 34 * kMegabyte, 4 * kMegabyte);
}

TEST(Controller, FollowsATargetThatChanges) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    for (const auto& [before, after] : {std::pair<Throughput, Throughput>{single_disk, solid_state},
                                        {solid_state, single_disk},
                                        {raid, single_disk}}) {
      Hungry streams(16, 0.05, seed);
      streams.run(before, 2000);
      EXPECT_LE(streams.run(after, 2000), 1.2 * best_static(after, 16, 2000));
    }
  }
}

TEST(Controller, LearnsNothingFromThePageCache) {
  Hungry streams(16);
  streams.from_device = false;
  streams.run([](double) { return 5e9; }, 5000);
  EXPECT_TRUE(streams.decisions.empty());
  EXPECT_EQ(streams.controller.limit(), 0);
  EXPECT_FALSE(streams.controller.holding());
}

TEST(Controller, LearnsNothingFromOneStreamAlone) {
  Hungry streams(1);
  streams.run(single_disk, 1000);
  EXPECT_TRUE(streams.decisions.empty());
}

TEST(Controller, LearnsNothingFromBurstsThatBeganUnderAnotherLimit) {
  Controller controller;
  Decision decision;
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(controller.completed({.bytes = kBurstBytes, .seconds = 1, .concurrency = 8, .epoch = 77}, decision));
  }
}

// The program uses at most three streams while four should be measured: the best limit so far stays.
TEST(Controller, GivesUpMeasuringWhatTheApplicationDoesNotAskFor) {
  Controller controller;
  Decision decision;
  const auto feed = [&](double streams, double throughput) {
    const double seconds = static_cast<double>(kBurstBytes) * streams / throughput;
    return controller.completed({kBurstBytes, seconds, streams, true, controller.epoch()}, decision);
  };
  while (!feed(16, raid(16))) {
  }
  ASSERT_EQ(controller.limit(), 1);
  while (!feed(1, raid(1))) {
  }
  ASSERT_EQ(controller.limit(), 2);
  int bursts = 0;
  while (!feed(1.2, raid(1)) && bursts < 1000) ++bursts;
  EXPECT_LT(bursts, 100);
  EXPECT_EQ(decision.reason, Reason::kFewerStreams);
  EXPECT_EQ(controller.limit(), 1);
  EXPECT_TRUE(controller.holding());
}

TEST(Controller, WhatIsRememberedHoldsAtOnceAndIsDroppedWhereItIsWrong) {
  Hungry right(16);
  right.controller.remember(1, single_disk(1), 16);
  EXPECT_EQ(right.controller.limit(), 1);
  EXPECT_LE(right.run(single_disk, 500), 1.1 * best_static(single_disk, 16, 500));

  Hungry wrong(16);
  wrong.controller.remember(1, single_disk(1), 16);
  wrong.run(solid_state, 2000);
  while (!wrong.controller.holding()) wrong.run(solid_state, 1);
  EXPECT_EQ(wrong.controller.limit(), 0);
  ASSERT_FALSE(wrong.decisions.empty());
  EXPECT_EQ(wrong.decisions.front().reason, Reason::kDrift);
}

// Small changes of the throughput start no new measurement; the neighbours are measured at ever longer intervals.
TEST(Controller, AsksLessAndLessOftenWhileNothingChanges) {
  Hungry streams(16, 0.15);
  streams.run(raid, 5000);
  const size_t early = streams.decisions.size();
  streams.run(raid, 5000);
  EXPECT_LT(streams.decisions.size() - early, early);
  for (const Decision& decision : streams.decisions) EXPECT_NE(decision.reason, Reason::kDrift);
}

TEST(Controller, IsOfPlainBytes) { EXPECT_TRUE(std::is_trivially_copyable_v<Controller>); }

}  // namespace
}  // namespace swath
