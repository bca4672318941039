#include "model/disk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/error.h"

namespace swath {
namespace {

// Round numbers: 1 MB/s is 1 us a byte; a seek of distance d costs 1 + 3 * sqrt(d / capacity) ms and 5 ms of rotation.
DiskParameters one_disk() {
  return {.name = "test",
          .capacity_bytes = 1'000'000,
          .media_bytes_per_second = 1e6,
          .seek_shortest_seconds = 0.001,
          .seek_longest_seconds = 0.004,
          .rotation_seconds = 0.005,
          .near_bytes = 2'000,
          .request_bytes = 1'000,
          .allocation_bytes = 1'000};
}

DiskParameters raid5() {
  DiskParameters p = one_disk();
  p.disks = 4;
  p.stripe_bytes = 100;
  p.parity = true;
  return p;
}

DiskRequest reading(int64_t position, int64_t bytes) { return {.ranges = {{position, bytes}}}; }
DiskRequest writing(int64_t position, int64_t bytes) {
  return {.direction = Direction::kWrite, .ranges = {{position, bytes}}};
}

TEST(DiskModel, GoingOnWhereTheHeadStandsCostsTheTransferAlone) {
  DiskModel disk(one_disk());
  EXPECT_DOUBLE_EQ(disk.serve(reading(0, 1000), 0), 0.001);
  EXPECT_DOUBLE_EQ(disk.serve(reading(1000, 500), 0.001), 0.0015);
  EXPECT_EQ(disk.statistics().seeks, 0);
  EXPECT_EQ(disk.statistics().read_bytes, 1500);
}

TEST(DiskModel, ASeekCostsByTheRootOfItsDistanceAndHalfATurn) {
  DiskModel disk(one_disk());
  EXPECT_DOUBLE_EQ(disk.serve(reading(250'000, 1000), 0), 0.001 + 0.003 * 0.5 + 0.005 + 0.001);
  const double back = disk.serve(reading(0, 1000), 1);
  EXPECT_DOUBLE_EQ(back, 1 + 0.001 + 0.003 * std::sqrt(0.251) + 0.005 + 0.001);
  EXPECT_EQ(disk.statistics().seeks, 2);
  EXPECT_NEAR(disk.statistics().busy_seconds, 0.0085 + back - 1, 1e-12);
}

TEST(DiskModel, AShortGapIsReadOverAndALongOneAndOneBackwardAreNot) {
  DiskModel disk(one_disk());
  EXPECT_DOUBLE_EQ(disk.serve(reading(2'000, 100), 0), 0.0021);
  EXPECT_EQ(disk.statistics().skips, 1);
  EXPECT_EQ(disk.statistics().seeks, 0);
  disk.serve(reading(2'100 + 2'001, 100), 1);
  EXPECT_EQ(disk.statistics().seeks, 1);
  disk.serve(reading(4'200, 100), 2);  // one byte back
  EXPECT_EQ(disk.statistics().seeks, 2);
}

TEST(DiskModel, AGapThatTakesLongerToReadThanToSeekIsNotReadOver) {
  DiskParameters p = one_disk();
  p.near_bytes = 500'000;
  DiskModel disk(p);
  disk.serve(reading(100'000, 1), 0);
  EXPECT_EQ(disk.statistics().seeks, 1);
}

TEST(DiskModel, RequestsAtOnceAreServedInTheirOrder) {
  DiskModel disk(one_disk());
  EXPECT_DOUBLE_EQ(disk.serve(reading(0, 1000), 0), 0.001);
  EXPECT_DOUBLE_EQ(disk.serve(reading(1000, 1000), 0), 0.002);
  EXPECT_DOUBLE_EQ(disk.serve(reading(2000, 1000), 0.0005), 0.003);
}

TEST(DiskModel, OneStreamLosesTheHostsTimeAndTwoHideItFromEachOther) {
  DiskParameters p = one_disk();
  p.request_seconds = 0.001;
  DiskModel alone(p);
  double now = 0;
  for (int64_t i = 0; i < 10; ++i) now = alone.serve(reading(i * 1000, 1000), now);
  EXPECT_NEAR(now, 0.020, 1e-12);

  DiskModel shared(p);  // two readers of one file that alternate
  double done[2] = {0, 0};
  for (int64_t i = 0; i < 10; ++i) done[i % 2] = shared.serve(reading(i * 1000, 1000), done[i % 2]);
  EXPECT_NEAR(done[1], 0.011, 1e-12);
}

TEST(DiskModel, RandomRequestsOnOneDiskCostASeekEachAndSequentialOnesNone) {
  const auto seconds = [](bool shuffled) {
    std::vector<int64_t> positions;
    for (int64_t i = 0; i < 200; ++i) positions.push_back(i * 5'000);
    if (shuffled) std::shuffle(positions.begin(), positions.end(), std::mt19937(3));
    DiskParameters p = one_disk();
    DiskModel disk(p);
    double now = 0;
    for (int64_t position : positions) now = disk.serve(reading(position, 5'000), now);
    EXPECT_GE(disk.statistics().seeks, shuffled ? 190 : 0);
    if (!shuffled) EXPECT_EQ(disk.statistics().seeks, 0);
    return now;
  };
  EXPECT_NEAR(seconds(false), 1.0, 1e-9);
  EXPECT_GT(seconds(true), 2.2);
}

TEST(DiskModel, ATrackedStreamSeeksOnceASegment) {
  DiskParameters p = one_disk();
  p.segments = 2;
  p.segment_bytes = 4'000;
  const auto seeks_of = [&p](int streams) {
    DiskModel disk(p);
    double now = 0;
    for (int64_t i = 0; i < 40; ++i) {
      for (int64_t stream = 0; stream < streams; ++stream) {
        now = disk.serve(reading(stream * 300'000 + i * 1'000, 1'000), now);
      }
    }
    return disk.statistics().seeks;
  };
  // The first request of each stream begins a seek; later, one segment serves every four requests.
  EXPECT_NEAR(static_cast<double>(seeks_of(2)), 2 * (1 + 10), 2);
  // more streams than segments: each segment is lost just before its stream continues
  EXPECT_EQ(seeks_of(3), 3 * 40 - 1);
}

TEST(DiskModel, WhatWasReadAheadIsThereWhenTheDiskHasReadIt) {
  DiskParameters p = one_disk();
  p.segments = 1;
  p.segment_bytes = 10'000;
  DiskModel disk(p);
  disk.serve(reading(0, 1'000), 0);                                   // 0 to 1 ms
  EXPECT_DOUBLE_EQ(disk.serve(reading(1'000, 1'000), 0.001), 0.002);  // and then 9 ms of readahead
  EXPECT_DOUBLE_EQ(disk.serve(reading(2'000, 3'000), 0.002), 0.005);
  EXPECT_DOUBLE_EQ(disk.serve(reading(5'000, 6'000), 1), 1);
  EXPECT_EQ(disk.statistics().prefetch_hits, 2);
  EXPECT_EQ(disk.statistics().prefetched_bytes, 9'000);
  EXPECT_EQ(disk.statistics().read_bytes, 11'000);
}

TEST(DiskModel, NothingIsReadAheadPastTheEnd) {
  DiskParameters p = one_disk();
  p.segments = 1;
  p.segment_bytes = 10'000;
  DiskModel disk(p);
  disk.serve(reading(997'000, 1'000), 0);
  disk.serve(reading(998'000, 1'000), 1);
  EXPECT_EQ(disk.statistics().prefetched_bytes, 1'000);
}

TEST(DiskModel, TheLinkBoundsAllDisksTogether) {
  DiskParameters p = one_disk();
  p.disks = 2;
  p.stripe_bytes = 1'000;
  p.link_bytes_per_second = 1e6;
  DiskModel disk(p);
  EXPECT_DOUBLE_EQ(disk.serve(reading(0, 2'000), 0), 0.001 + 0.002);  // two disks at once, then one link
  EXPECT_DOUBLE_EQ(disk.serve(reading(2'000, 2'000), 0), 0.003 + 0.002);
}

TEST(Timeline, TakesTheFirstGapThatIsWideEnough) {
  Timeline line;
  EXPECT_DOUBLE_EQ(line.reserve(10, 2), 12);
  EXPECT_DOUBLE_EQ(line.reserve(0, 3), 3);
  EXPECT_DOUBLE_EQ(line.reserve(2, 7), 10);  // fits between, exactly
  EXPECT_DOUBLE_EQ(line.reserve(1, 1), 13);
  EXPECT_DOUBLE_EQ(line.reserve(20, 0), 20);
  line.forget_before(13);
  EXPECT_DOUBLE_EQ(line.reserve(13, 1), 14);
}

TEST(Timeline, EqualsAWalkOverEverySecond) {
  std::mt19937 random(11);
  for (int repetition = 0; repetition < 50; ++repetition) {
    Timeline line;
    std::vector<bool> busy(2'000, false);
    for (int i = 0; i < 60; ++i) {
      const auto earliest = static_cast<int>(random() % 200);
      const auto duration = static_cast<int>(1 + random() % 9);
      int begin = earliest;
      const auto is_free = [&] {
        return std::none_of(busy.begin() + begin, busy.begin() + begin + duration, [](bool b) { return b; });
      };
      while (!is_free()) ++begin;
      std::fill(busy.begin() + begin, busy.begin() + begin + duration, true);
      ASSERT_DOUBLE_EQ(line.reserve(earliest, duration), begin + duration);
    }
  }
}

TEST(RaidMapping, UnitsGoRoundTheDisksBesideTheParity) {
  // disks   0   1   2   3
  // row 0   0   1   2   P
  // row 1   4   5   P   3
  // row 2   8   P   6   7
  // row 3   P   9  10  11
  const int expected[] = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
  for (int64_t unit = 0; unit < 12; ++unit) {
    const std::vector<DiskPart> parts = parts_of(raid5(), {unit * 100 + 10, 50});
    ASSERT_EQ(parts.size(), 1);
    EXPECT_EQ(parts[0], (DiskPart{expected[unit], unit / 3 * 100 + 10, 50})) << unit;
  }
  EXPECT_EQ(parity_of(raid5(), {600, 300}), (std::vector<DiskPart>{{1, 200, 100}}));
}

TEST(RaidMapping, EveryByteHasAPlaceOfItsOwnAndNoneIsTheParitys) {
  for (const bool parity : {true, false}) {
    DiskParameters p = raid5();
    p.parity = parity;
    p.capacity_bytes = 1'600;
    const int64_t usable = DiskModel(p).capacity_bytes();
    EXPECT_EQ(usable, parity ? 4'800 : 6'400);
    std::vector<int> uses(p.disks * p.capacity_bytes, 0);
    for (int64_t at = 0; at < usable; at += 25) {
      for (const auto& [disk, position, bytes] : parts_of(p, {at, 25})) {
        for (int64_t i = 0; i < bytes; ++i) uses[disk * p.capacity_bytes + position + i] += 1;
      }
    }
    for (const auto& [disk, position, bytes] : parity_of(p, {0, usable})) {
      for (int64_t i = 0; i < bytes; ++i) uses[disk * p.capacity_bytes + position + i] += 1;
    }
    EXPECT_TRUE(std::all_of(uses.begin(), uses.end(), [](int count) { return count == 1; })) << parity;
  }
}

TEST(RaidMapping, ALongRangeIsOnePartADiskWhereNoParityLiesBetween) {
  const std::vector<DiskPart> parts = parts_of(raid5(), {50, 550});
  EXPECT_EQ(parts, (std::vector<DiskPart>{{0, 50, 150}, {1, 0, 200}, {2, 0, 100}, {3, 100, 100}}));
}

TEST(RaidMapping, SequentialWritesOnARaidNeverGoBackForTheParity) {
  DiskModel disk(raid5());
  double now = 0;
  for (int64_t i = 0; i < 60; ++i) now = disk.serve(writing(i * 30, 30), now);
  EXPECT_EQ(disk.statistics().seeks, 0);
  EXPECT_EQ(disk.statistics().written_bytes, 1'800);
}

TEST(RaidMapping, PastTheEndAddressesWrap) {
  DiskParameters p = one_disk();
  EXPECT_EQ(parts_of(p, {1'000'100, 10}), (std::vector<DiskPart>{{0, 100, 10}}));
}

TEST(DiskModel, TheSameRequestsTakeTheSameTime) {
  const auto times = [] {
    DiskParameters p = raid5();
    p.segments = 3;
    p.segment_bytes = 700;
    p.link_bytes_per_second = 2e6;
    DiskModel disk(p);
    std::mt19937 random(5);
    std::vector<double> done;
    double now = 0;
    for (int64_t i = 0; i < 500; ++i) {
      now += static_cast<double>(random() % 100) * 1e-5;
      const int64_t position = static_cast<int64_t>(random() % 5) * 10'000 + i * 40;
      done.push_back(disk.serve(random() % 4 == 0 ? writing(position, 40) : reading(position, 120), now));
      EXPECT_GE(done.back(), now);
    }
    return done;
  };
  EXPECT_EQ(times(), times());
}

TEST(DiskModel, TimeThatGoesBackBeginsANewTime) {
  DiskModel disk(one_disk());
  disk.serve(reading(0, 900'000), 100);
  EXPECT_DOUBLE_EQ(disk.serve(reading(900'000, 1'000), 0), 0.001);
}

TEST(DiskModel, OtherDisksTakeThePlaceAndStatisticsGoOn) {
  DiskModel disk(one_disk());
  disk.serve(reading(500'000, 1'000), 0);
  DiskParameters quick = one_disk();
  quick.name = "quick";
  quick.seek_longest_seconds = quick.seek_shortest_seconds = quick.rotation_seconds = 0;
  disk.replace(quick);
  EXPECT_DOUBLE_EQ(disk.serve(reading(100'000, 1'000), 0), 0.001);
  EXPECT_EQ(disk.statistics().requests, 2);
  EXPECT_EQ(disk.parameters().name, "quick");
}

TEST(DiskModel, TheTraceTellsWhereTheHeadsWentWhenAskedFor) {
  DiskModel disk(one_disk());
  disk.serve(reading(0, 10), 0);
  disk.record(true);
  DiskRequest request = reading(500, 10);
  request.stream = 7;
  disk.serve(request, 1);
  disk.serve(writing(100, 20), 2);
  ASSERT_EQ(disk.trace().size(), 2);
  const HeadPosition& first = disk.trace()[0];
  EXPECT_EQ(first.seconds, 1);
  EXPECT_EQ(first.position, 500);
  EXPECT_EQ(first.stream, 7);
  EXPECT_FALSE(first.seeked);
  EXPECT_EQ(disk.trace()[1].direction, Direction::kWrite);
  EXPECT_TRUE(disk.trace()[1].seeked);
}

TEST(DiskModel, EmptyRequestsCostTheHostsTimeOnly) {
  DiskParameters p = one_disk();
  p.request_seconds = 0.002;
  DiskModel disk(p);
  EXPECT_DOUBLE_EQ(disk.serve({}, 1), 1.002);
  EXPECT_DOUBLE_EQ(disk.serve(reading(500, 0), 2), 2.002);
  EXPECT_EQ(disk.statistics().busy_seconds, 0);
}

TEST(DiskModel, ImpossibleParametersAreRefusedWithWhatIsExpected) {
  const auto message = [](auto change) {
    DiskParameters p = raid5();
    change(p);
    try {
      DiskModel disk(p);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kArgument);
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_EQ(message([](DiskParameters& p) { p.disks = 2; }),
            "modelled disk test: expected at least 3 disks for RAID-5");
  EXPECT_NE(message([](DiskParameters& p) { p.capacity_bytes = 0; }).find("capacity"), std::string::npos);
  EXPECT_NE(message([](DiskParameters& p) { p.media_bytes_per_second = 0; }).find("media rate"), std::string::npos);
  EXPECT_NE(message([](DiskParameters& p) { p.stripe_bytes = 0; }).find("stripe unit"), std::string::npos);
  EXPECT_NE(message([](DiskParameters& p) { p.segments = 1; }).find("segments"), std::string::npos);
  EXPECT_NE(message([](DiskParameters& p) { p.seek_longest_seconds = 0; }).find("seek"), std::string::npos);
  EXPECT_NE(message([](DiskParameters& p) { p.request_bytes = 0; }).find("requests"), std::string::npos);
}

}  // namespace
}  // namespace swath
