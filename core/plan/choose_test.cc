// The choice by price, and the guidelines of ncio-2006 (section 6): the model gives each of them, in its typical case.

#include "plan/choose.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "base/write_behind.h"
#include "plan/make_plan.h"

namespace swath {
namespace {

using Kind = DimensionRule::Kind;

Decomposition of_all(const Distribution& distribution, const Shape& shape, int ranks) {
  return Decomposition::distributed(distribution, select_all(shape), ranks);
}

Request in_c_order(const Shape& shape, Decomposition decomposition, Direction direction = Direction::kRead) {
  std::vector<int> order;
  for (size_t d = 0; d < shape.size(); ++d) order.push_back(static_cast<int>(d));
  Request request;
  request.direction = direction;
  request.cached = 1;
  request.layout = std::make_shared<Layout>(Layout::ordered(shape, 8, 0, order));
  request.decomposition = std::move(decomposition);
  return request;
}

Decomposition columns(const Shape& shape, int ranks) {
  return of_all(Distribution({{Kind::kWhole, 0}, {Kind::kBlock, 0}}, {1, ranks}), shape, ranks);
}

// NCIO: `count` regions of each rank in turn, of `region` elements; `spacing` elements of 8 bytes follow each region.
Request ncio(int64_t count, int64_t region, int64_t spacing, int ranks, Direction direction = Direction::kRead) {
  const Shape shape = {count * ranks, region + spacing};
  Selection selection = select_all(shape);
  selection[1].count = region;
  const Distribution in_turn({{Kind::kCyclic, 1}, {Kind::kWhole, 0}}, {ranks, 1});
  return in_c_order(shape, Decomposition::distributed(in_turn, selection, ranks), direction);
}

double seconds_of(const Request& request, Method method) {
  Request asked = request;
  asked.method = method;
  return make_plan(asked).price().seconds();
}

// A disk of the paper's time: a request that does not continue the last one waits for the arm.
std::shared_ptr<const Profile> profile_of_a_disk() {
  Profile disk = default_profile();
  disk.source = "a disk with an arm";
  disk.device.read = Curve({{4096, 0.2e-3}, {65536, 1.4e-3}, {1 << 20, 20e-3}});
  disk.device.write = disk.device.read;
  disk.device.read_jump = disk.device.write_jump = 8e-3;
  disk.device.read_jump_batched = 4e-3;
  return std::make_shared<Profile>(disk);
}

// The same, where a head reads over gaps of up to 128 KiB instead of moving.
std::shared_ptr<const Profile> profile_of_a_disk_with_gaps() {
  Profile disk = *profile_of_a_disk();
  const Curve gaps({{4096, 0.1e-3}, {131072, 4e-3}, {1 << 20, 8e-3}});
  disk.device.read_gap = disk.device.write_gap = gaps;
  disk.device.read_jump_batched = 8e-3;
  return std::make_shared<Profile>(disk);
}

Request on_a_disk(Request request) {
  request.profile = profile_of_a_disk();
  request.cached = 0;
  return request;
}

TEST(Gap, IsPricedByItsLengthAndAFarOneAsAJump) {
  const Medium device = profile_of_a_disk_with_gaps()->device;
  EXPECT_DOUBLE_EQ(device.gap_seconds(Direction::kRead, 4096), 0.1e-3);
  EXPECT_DOUBLE_EQ(device.gap_seconds(Direction::kRead, 1), 0.1e-3);
  EXPECT_DOUBLE_EQ(device.gap_seconds(Direction::kWrite, (4096 + 131072) / 2.0), 2.05e-3);
  EXPECT_DOUBLE_EQ(device.gap_seconds(Direction::kRead, 1e9), 8e-3);
  EXPECT_DOUBLE_EQ(profile_of_a_disk()->device.gap_seconds(Direction::kRead, 1), 8e-3);  // it has no curve
}

// One rank, 1,000 rows of 4 KiB: with short gaps a row costs its bytes and 0.1 ms, with long ones a jump.
TEST(Gap, RowsThatLieCloseTogetherCostLessThanRowsFarApart) {
  const auto seconds = [](int64_t spacing, const std::shared_ptr<const Profile>& profile) {
    Request request = ncio(1000, 512, spacing / 8, 1);
    request.profile = profile;
    request.cached = 0;
    return seconds_of(request, Method::kDirect);
  };
  EXPECT_NEAR(seconds(4096, profile_of_a_disk_with_gaps()), 1000 * (0.2e-3 + 0.1e-3), 0.02);
  EXPECT_NEAR(seconds(4 << 20, profile_of_a_disk_with_gaps()), 1000 * (0.2e-3 + 8e-3), 0.2);
  EXPECT_NEAR(seconds(8192, profile_of_a_disk()), 1000 * (0.2e-3 + 8e-3), 0.2);
}

// Of ranks in turn, every second region lies before the head. Their spans overlap, so each page is read by one of them.
TEST(Gap, OfRanksInTurnEverySecondRegionIsAJump) {
  Request request = ncio(1000, 512, 512, 2);
  request.profile = profile_of_a_disk_with_gaps();
  request.cached = 0;
  const double slowdown = request.profile->device.read_slowdown.at(2);
  const double each = 0.2e-3 + (0.1e-3 + 8e-3) / 2;
  EXPECT_NEAR(seconds_of(request, Method::kDirect), 1000 * each * slowdown / 2, 0.3);
}

// ---- The choice -----------------------------------------------------------------------------------------------------

TEST(Choice, NothingToMoveIsDirect) {
  const Plan plan = make_plan(in_c_order({10}, Decomposition::alone({{3, 1, 0, false}})));
  EXPECT_EQ(plan.method, Method::kDirect);
  EXPECT_EQ(plan.reason, "there is nothing to move");
}

TEST(Choice, OneRunARankIsDirectHoweverShort) {
  const Distribution blocks({{Kind::kBlock, 0}}, {4});
  const Plan plan = make_plan(in_c_order({100}, of_all(blocks, {100}, 4)));
  EXPECT_EQ(plan.method, Method::kDirect);
  EXPECT_EQ(plan.reason, "each rank's share is one contiguous run of the file");
}

TEST(Choice, OneRunARankOfScatteredMemoryIsPriced) {
  Request request = in_c_order({1'000'000}, Decomposition::alone(select_all({1'000'000})));
  request.memory_block_bytes = 8;
  EXPECT_EQ(make_plan(request).method, Method::kDirect);  // a buffer avoids a million pieces
  EXPECT_GT(seconds_of(request, Method::kList), 2 * seconds_of(request, Method::kDirect));
}

TEST(Choice, LongRunsAreDirect) {
  const Shape shape = {8, 262'144};  // half a row is 1 MiB
  EXPECT_EQ(make_plan(in_c_order(shape, columns(shape, 2))).method, Method::kDirect);
}

TEST(Choice, CloseRunsOfARankAloneAreSieved) {
  EXPECT_EQ(make_plan(in_c_order({100'000}, Decomposition::alone({{0, 2, 50'000, false}}))).method, Method::kSieve);
}

TEST(Choice, DistantRunsOfARankAloneAreNotReadThrough) {
  const Plan plan = make_plan(in_c_order({100'000'000}, Decomposition::alone({{0, 100'000, 1000, false}})));
  EXPECT_NE(plan.method, Method::kSieve);
  EXPECT_NE(plan.method, Method::kTwoPhase);
}

TEST(Choice, RanksThatInterleaveAreTwoPhase) {
  const Shape shape = {1000, 1000};
  const Distribution cyclic({{Kind::kWhole, 0}, {Kind::kCyclic, 1}}, {1, 4});
  EXPECT_EQ(make_plan(in_c_order(shape, of_all(cyclic, shape, 4))).method, Method::kTwoPhase);
}

// A writer that waits for a file lock spins while the owner runs on another core. If the owner lost its core, the
// waiter sleeps, once per window: then larger windows, or a single writing rank, are better.
TEST(Choice, WritersThatShareCoresTakeTurnsLessOften) {
  Profile two_cores = default_profile();
  two_cores.cores = 2;
  two_cores.barrier = Curve({{1, 0.1e-6}, {2, 40e-6}, {4, 40e-6}});           // of a virtual machine
  two_cores.memory_byte_load = Curve({{1 << 20, 5e-12}, {4 << 20, 30e-12}});  // and large caches
  const auto windows_of = [&](int ranks) {
    Request request = ncio(int64_t{1} << 22, 1, 0, ranks, Direction::kWrite);
    request.profile = std::make_shared<Profile>(two_cores);
    request.ranks_of_node = ranks;
    request.method = Method::kTwoPhase;
    return make_plan(request).request.tuning;
  };
  EXPECT_EQ(windows_of(2).window_bytes, 512 << 10);
  EXPECT_EQ(windows_of(2).aggregators, 0);  // all ranks
  EXPECT_TRUE(windows_of(4).window_bytes > 512 << 10 || windows_of(4).aggregators == 1);
}

TEST(Choice, IsTheCallersWhereOneIsAskedFor) {
  for (const Method method : {Method::kDirect, Method::kSieve, Method::kList, Method::kTwoPhase}) {
    Request request = in_c_order({1000}, Decomposition::alone(select_all({1000})));
    request.method = method;
    EXPECT_EQ(make_plan(request).method, method);
    EXPECT_EQ(make_plan(request).reason, "asked for");
  }
}

TEST(Choice, SizesThatWereAskedForStay) {
  Request request = on_a_disk(ncio(4096, 1, 16, 4));
  request.method = Method::kTwoPhase;
  EXPECT_NE(make_plan(request).request.tuning.window_bytes, 300'000);
  request.tuning.window_bytes = 300'000;
  request.asked_tuning.window_bytes = true;
  EXPECT_EQ(make_plan(request).request.tuning.window_bytes, 300'000);
}

TEST(Choice, FlipsWithTheStore) {
  // 1,000 runs of 16 KiB, 64 KiB apart, for one rank: the gaps are short, but the requests are many.
  const Request request = in_c_order({1000, 8192}, Decomposition::alone({{0, 1, 1000, false}, {0, 1, 2048, false}}));
  EXPECT_EQ(make_plan(request).method, Method::kDirect);
  const Method through = make_plan(on_a_disk(request)).method;
  EXPECT_TRUE(through == Method::kSieve || through == Method::kTwoPhase) << to_string(through);
}

// Regions of 4 KiB in turn, with gaps. Written by each rank alone, they stay in the page cache until the sync; with two
// phases the device writes each window while the next one is filled.
TEST(Choice, FlipsWithASyncThatWillFollow) {
  Profile profile = default_profile();
  profile.sync_seconds = 0;
  profile.sync_byte_seconds = 0.2e-9;
  profile.round = Curve({{1, 1e-6}, {2, 1e-4}});  // otherwise two-phase would always be the best
  Request request = ncio(4096, 512, 16, 2, Direction::kWrite);
  request.profile = std::make_shared<Profile>(profile);
  ASSERT_EQ(make_plan(request).method, Method::kDirect);
  EXPECT_EQ(make_plan(request).price().sync, 0);
  request.synced = true;
  const Plan plan = make_plan(request);
  EXPECT_EQ(plan.method, Method::kTwoPhase);
  EXPECT_GE(plan.request.tuning.window_bytes, kWriteBehindBytesMin);
  EXPECT_NE(plan.reason.find(" of a sync"), std::string::npos) << plan.reason;
  request.method = Method::kSieve;
  const CostEstimate sieved = make_plan(request).price();
  EXPECT_GT(sieved.sync, 5 * plan.price().sync);
  EXPECT_GT(sieved.until_synced(), plan.price().until_synced());
  EXPECT_NEAR(sieved.sync, 4096 * 2 * 528 * 8 * 0.2e-9, 0.1 * sieved.sync);
}

TEST(Choice, AWriteThatWillBeSyncedIsTakenToFollowASync) {
  Request request = ncio(16, 1, 1, 2, Direction::kWrite);
  const double fixed = make_plan(request).price().fixed;
  request.synced = true;
  const Profile& profile = default_profile();
  EXPECT_NEAR(make_plan(request).price().fixed - fixed, profile.late_operation_seconds - profile.operation_seconds,
              1e-9);
}

TEST(Choice, AReadIsNotSynced) {
  Request request = ncio(4096, 512, 16, 2);
  request.synced = true;
  EXPECT_EQ(make_plan(request).price().sync, 0);
}

TEST(Choice, WhatThePageCacheShowsIsPickedFromThere) {
  Request request = ncio(1 << 20, 1, 0, 2);
  ASSERT_EQ(make_plan(request).method, Method::kTwoPhase);
  const double copied = seconds_of(request, Method::kSieve);
  request.capabilities.shows_cache = true;
  const Plan plan = make_plan(request);
  EXPECT_EQ(plan.method, Method::kSieve);
  EXPECT_TRUE(plan.price().maps_cached);
  EXPECT_LT(plan.price().seconds(), copied / 1.15);
  // With sparse elements, only their cache lines are touched.
  Request sparse = ncio(1 << 16, 1, 511, 2);
  const double of_windows = seconds_of(sparse, Method::kSieve);
  sparse.capabilities.shows_cache = true;
  EXPECT_LT(seconds_of(sparse, Method::kSieve), of_windows / 5);
}

TEST(Choice, OfAPageThatIsLookedAtInPartMoreIsPaidThanItsLines) {
  Profile profile = default_profile();
  const auto more_for_a_page = [&](Request request) {
    request.capabilities.shows_cache = true;
    profile.look_page_seconds = 0;
    request.profile = std::make_shared<Profile>(profile);
    const double before = seconds_of(request, Method::kSieve);
    profile.look_page_seconds = 1e-6;
    request.profile = std::make_shared<Profile>(profile);
    return seconds_of(request, Method::kSieve) - before;
  };
  const double pages = (1 << 16) * 4096.0 * 2 / 4096;  // of two ranks in turn, a row of 4 KiB each
  const double slowdown = profile.cache.read_slowdown.at(2);
  EXPECT_NEAR(more_for_a_page(ncio(1 << 16, 1, 511, 2)), pages * (1 - 1.0 / 128) * 1e-6 * slowdown, pages * 1e-8);
  EXPECT_NEAR(more_for_a_page(ncio(1 << 20, 1, 0, 2)), 0, 1e-9);  // every line
}

TEST(Choice, LongRunsOfThePageCacheAreCopiedByWhomeverIsFaster) {
  Request request = in_c_order({1 << 24}, of_all(Distribution({{Kind::kBlock, 0}}, {2}), {1 << 24}, 2));
  EXPECT_EQ(make_plan(request).method, Method::kDirect);
  request.capabilities.shows_cache = true;
  EXPECT_EQ(make_plan(request).method, Method::kDirect) << "by stated defaults nobody knows";
  Profile profile = default_profile();
  profile.source = "measured";
  profile.look = Curve({{1 << 18, 1e-5}, {1 << 24, 8e-4}});
  request.profile = std::make_shared<Profile>(profile);
  EXPECT_EQ(make_plan(request).method, Method::kSieve);
  request.cached = 0;
  EXPECT_EQ(make_plan(request).method, Method::kDirect);
  request.cached = 1;
  profile.look = Curve({{1 << 18, 1e-4}, {1 << 24, 8e-3}});
  request.profile = std::make_shared<Profile>(profile);
  EXPECT_EQ(make_plan(request).method, Method::kDirect);
}

TEST(Choice, WhatIsNotInThePageCacheOrShortOrWrittenIsCopied) {
  const auto is_as_dear = [](Request request) {
    const double before = seconds_of(request, Method::kSieve);
    request.capabilities.shows_cache = true;
    return seconds_of(request, Method::kSieve) == before;
  };
  Request cold = ncio(1 << 20, 1, 0, 2);
  EXPECT_FALSE(is_as_dear(cold));
  cold.cached = 0;
  EXPECT_TRUE(is_as_dear(cold));
  EXPECT_TRUE(is_as_dear(ncio(1 << 10, 1, 0, 2)));
  EXPECT_TRUE(is_as_dear(ncio(1 << 20, 1, 0, 2, Direction::kWrite)));
}

// ---- What the store can do ------------------------------------------------------------------------------------------

constexpr Method kEachMethod[] = {Method::kDirect, Method::kSieve, Method::kList, Method::kTwoPhase};

TEST(Choice, WhatIsNotKnownToBeCachedIsPricedAsTheDevice) {
  for (const Direction direction : {Direction::kRead, Direction::kWrite}) {
    const Request cold = on_a_disk(ncio(4096, 4, 60, 2, direction));
    Request unknown = cold;
    unknown.cached = std::nullopt;
    unknown.capabilities.shows_cache = true;
    for (const Method method : kEachMethod) EXPECT_EQ(seconds_of(unknown, method), seconds_of(cold, method));
    EXPECT_EQ(make_plan(unknown).method, make_plan(cold).method);
    EXPECT_FALSE(make_plan(unknown).price().maps_cached);
    EXPECT_EQ(make_plan(unknown).price().place, make_plan(cold).price().place);
  }
}

TEST(Choice, AStoreThatNeedsNoLockForHolesHasNoneCountedOrPaidFor) {
  Request request = ncio(4096, 4, 60, 2, Direction::kWrite);
  Request unlocked = request;
  unlocked.capabilities.lock_for_holes = false;
  for (const Method method : {Method::kSieve, Method::kTwoPhase}) {
    const Plan locks = make_plan(request);
    const Plan locks_none = make_plan(unlocked);
    EXPECT_GT(locks.cost(method, 0).locks, 0);
    EXPECT_EQ(locks_none.cost(method, 0).locks, 0);
    EXPECT_EQ(locks_none.cost(method, 0).buffer_bytes, locks.cost(method, 0).buffer_bytes);
    EXPECT_LT(seconds_of(unlocked, method), seconds_of(request, method));
  }
}

TEST(Choice, AListHasNoMoreRangesThanTheStoreTakes) {
  Request request = ncio(4096, 4, 60, 2, Direction::kWrite);
  request.capabilities.read_ranges_max = 1000;
  request.capabilities.write_ranges_max = 64;
  EXPECT_EQ(make_plan(request).request.tuning.list_pieces, 64);
  request.direction = Direction::kRead;
  EXPECT_EQ(make_plan(request).request.tuning.list_pieces, 1000);
  request.tuning.list_pieces = 3;
  EXPECT_EQ(make_plan(request).request.tuning.list_pieces, 3);
}

TEST(Choice, RequestsToAFarStoreWaitOnceForEachOrOnceForABatch) {
  const int64_t runs = 4096;
  Request near = ncio(runs, 4, 60, 1);
  Request far = near;
  far.capabilities.round_trip_seconds = 1e-3;
  const auto more = [&](Method method) { return seconds_of(far, method) - seconds_of(near, method); };
  EXPECT_NEAR(more(Method::kDirect), static_cast<double>(runs) * 1e-3, 1e-6);
  EXPECT_NEAR(more(Method::kList), static_cast<double>(runs) / 1024 * 1e-3, 1e-6);
}

TEST(Choice, WhereAnAnsweredWriteIsDurableASyncHasNothingToWaitFor) {
  Request request = ncio(4096, 512, 16, 2, Direction::kWrite);
  request.synced = true;
  EXPECT_GT(make_plan(request).price().sync, 0);
  request.capabilities.durable_when_answered = true;
  EXPECT_EQ(make_plan(request).price().sync, 0);
}

TEST(Choice, FlipsWithWhatWasLearned) {
  const Shape shape = {1000, 1000};
  const Distribution cyclic({{Kind::kWhole, 0}, {Kind::kCyclic, 1}}, {1, 4});
  Request request = in_c_order(shape, of_all(cyclic, shape, 4));
  ASSERT_EQ(make_plan(request).method, Method::kTwoPhase);
  auto learned = std::make_shared<Profile>(default_profile());
  const size_t place = correction_place(Method::kTwoPhase, Direction::kRead, 1, Scale::kMedium);
  request.profile = learned;
  for (int i = 0; i < 4; ++i) learned->corrections.observe(place, 100);
  EXPECT_EQ(make_plan(request).method, Method::kTwoPhase);  // the machine may be busy: every method would be slower
  for (int i = 0; i < 40; ++i) learned->corrections.observe(place, 100);
  EXPECT_NE(make_plan(request).method, Method::kTwoPhase);  // no: this method is dear here
}

TEST(Corrections, ConvergeToWhatIsObservedAndOneDisturbedObservationMovesLittle) {
  Corrections corrections;
  for (int i = 0; i < 20; ++i) corrections.observe(3, 1.5);
  EXPECT_NEAR(corrections.factor(3), 1.5, 0.01);
  corrections.observe(3, 1000);
  EXPECT_LE(corrections.factor(3), 2.01);
  for (int i = 0; i < 40; ++i) corrections.observe(3, 0.5);
  EXPECT_NEAR(corrections.factor(3), 0.5, 0.01);
  EXPECT_DOUBLE_EQ(corrections.factor(2), 1);
}

TEST(Corrections, AreBounded) {
  Corrections corrections;
  for (int i = 0; i < 1000; ++i) corrections.observe(0, 1e9);
  EXPECT_DOUBLE_EQ(corrections.factor(0), Corrections::kMost * Corrections::kMost);
  EXPECT_DOUBLE_EQ(corrections.factor(Corrections::kCommon), Corrections::kMost);  // another method, otherwise the same
}

TEST(Corrections, HaveAPlaceAndANameEach) {
  std::set<std::string> names;
  for (size_t place = 0; place < Corrections::kCount; ++place) names.insert(correction_name(place));
  EXPECT_EQ(names.size(), Corrections::kCount);
  EXPECT_EQ(correction_name(correction_place(Method::kList, Direction::kWrite, 0, Scale::kSmall)),
            "list/write/device/small");
  EXPECT_EQ(
      correction_name(Corrections::common_place(correction_place(Method::kSieve, Direction::kRead, 1, Scale::kLarge))),
      "any/read/cache/large");
}

TEST(Corrections, OfOneScaleSayNothingOfAnother) {
  const Shape shape = {1000, 1000};  // of 8 bytes: a rank's columns span 8 MB
  const Distribution cyclic({{Kind::kWhole, 0}, {Kind::kCyclic, 1}}, {1, 4});
  Request request = in_c_order(shape, of_all(cyclic, shape, 4));
  const double before = seconds_of(request, Method::kTwoPhase);
  auto learned = std::make_shared<Profile>(default_profile());
  request.profile = learned;
  for (const Scale scale : {Scale::kSmall, Scale::kLarge}) {
    learned->corrections.observe(correction_place(Method::kTwoPhase, Direction::kRead, 1, scale), 2);
    EXPECT_DOUBLE_EQ(seconds_of(request, Method::kTwoPhase), before);
  }
  learned->corrections.observe(correction_place(Method::kTwoPhase, Direction::kRead, 1, Scale::kMedium), 2);
  EXPECT_GT(seconds_of(request, Method::kTwoPhase), before);
}

// ---- The guidelines of ncio-2006 ------------------------------------------------------------------------------------

TEST(Guideline, StructuredAccessInsteadOfPosix) {
  // "when region count = 4096 in the nc-nc region count test, switching from POSIX I/O to two phase I/O would improve
  // aggregate bandwidth by a factor of about 260": on a disk, with 64 ranks.
  const Request request = on_a_disk(ncio(4096, 1, 16, 64, Direction::kWrite));
  EXPECT_GT(seconds_of(request, Method::kDirect), 50 * seconds_of(request, Method::kTwoPhase));
  EXPECT_EQ(make_plan(request).method, Method::kTwoPhase);
}

// A server of PVFS2 as in the paper (sections 2.3, 2.4 and 5.1): a request costs a round trip; a list request has 64
// pairs of 16 bytes, a datatype request one description for any number of regions. No engine uses such a server yet:
// this is only its model.
struct ServerModel {
  double round_trip = 200e-6;
  double pair_bytes = 16;
  double byte_seconds = 8e-9;    // of the network
  double region_seconds = 1e-6;  // of the server's own work
  double pairs_of_list = 64;

  double seconds(double requests, double described, double regions, double bytes) const {
    return requests * round_trip + (described * pair_bytes + bytes) * byte_seconds + regions * region_seconds;
  }
  double posix(double regions, double bytes) const { return seconds(regions, regions, regions, bytes); }
  double list(double regions, double bytes) const { return seconds(regions / pairs_of_list, regions, regions, bytes); }
  double datatype(double regions, double bytes) const { return seconds(1, 4, regions, bytes); }
};

TEST(Guideline, OfIndividualMethodsChooseDatatype) {
  const ServerModel server;
  for (const double regions : {2048.0, 16384.0, 131072.0, 1048576.0}) {
    EXPECT_GT(server.list(regions, 8 * regions), 3 * server.datatype(regions, 8 * regions));
    EXPECT_GT(server.posix(regions, 8 * regions), 30 * server.list(regions, 8 * regions));
  }
  // "When presented with an access pattern of no regularity, datatype I/O breaks down into list I/O": for one region
  // all methods cost the same.
  EXPECT_NEAR(server.posix(1, 1 << 20), server.datatype(1, 1 << 20), 1e-3 * server.posix(1, 1 << 20));
}

TEST(Guideline, LargerRegionsAreCheaperByTheByte) {
  for (const Method method : {Method::kDirect, Method::kList, Method::kSieve, Method::kTwoPhase}) {
    double before = 0;
    // larger ones leave the caches: then memory is the limit, not the regions
    for (const int64_t elements : {1, 4, 16, 64, 256}) {
      const double seconds_a_byte =
          seconds_of(ncio(4096, elements, 16, 4), method) / static_cast<double>(elements * 8 * 4096);
      if (before > 0) EXPECT_LT(seconds_a_byte, before) << to_string(method) << ", " << elements << " elements";
      before = seconds_a_byte;
    }
  }
}

TEST(Guideline, LessSpacingIsCheaper) {
  for (const Method method : {Method::kSieve, Method::kTwoPhase}) {
    double before = 0;
    for (const int64_t spacing : {0, 16, 64, 128, 512}) {
      const double seconds = seconds_of(on_a_disk(ncio(4096, 1, spacing, 4)), method);
      EXPECT_GE(seconds, before) << to_string(method) << ", spacing of " << spacing << " elements";
      before = seconds;
    }
  }
}

TEST(Guideline, ScatteredMemoryMakesLittleDifferenceWhereTheFileIsScattered) {
  for (const Direction direction : {Direction::kRead, Direction::kWrite}) {
    const Request contiguous = ncio(65536, 1, 16, 4, direction);
    Request scattered = contiguous;
    scattered.memory_block_bytes = 8;
    for (const Method method : {Method::kDirect, Method::kSieve, Method::kTwoPhase}) {
      EXPECT_LT(seconds_of(scattered, method), 1.5 * seconds_of(contiguous, method)) << to_string(method);
    }
    EXPECT_EQ(make_plan(scattered).method, make_plan(contiguous).method);
  }
}

TEST(Guideline, ManySmallRegionsGoByTwoPhase) {
  // "the region sizes are small and the count of file regions is very large (i.e. greater than 16384)".
  for (const int64_t count : {16384, 131072}) {
    EXPECT_EQ(make_plan(on_a_disk(ncio(count, 1, 16, 8, Direction::kWrite))).method, Method::kTwoPhase) << count;
  }
  // "However, at larger file region sizes, the individual I/O methods may surpass the two phase I/O".
  EXPECT_NE(make_plan(on_a_disk(ncio(64, 1 << 19, 1 << 19, 8, Direction::kWrite))).method, Method::kTwoPhase);
}

TEST(Guideline, MeetingsHaveAPrice) {
  // "the penalty of waiting may take away any benefit": if ranks arrive late, two-phase loses.
  const Request request = ncio(16384, 1, 0, 4);
  ASSERT_EQ(make_plan(request).method, Method::kTwoPhase);
  Profile late = default_profile();
  late.round = Curve({{1, 1e-6}, {4, 20e-3}});
  Request waiting = request;
  waiting.profile = std::make_shared<Profile>(late);
  EXPECT_NE(make_plan(waiting).method, Method::kTwoPhase);
}

TEST(Guideline, SparseDomainsAreListedInsideTwoPhase) {
  // Section 7, "two phase I/O to internally use the individual I/O methods": runs of 4 KiB every half MiB.
  Request request = on_a_disk(ncio(512, 512, 65024, 4));
  request.method = Method::kTwoPhase;
  EXPECT_EQ(make_plan(request).request.tuning.runs_bytes_min, 1);
  // Every second byte is wanted: reading all is cheaper.
  Request dense = on_a_disk(ncio(4096, 8, 8, 4));
  dense.method = Method::kTwoPhase;
  EXPECT_NE(make_plan(dense).request.tuning.runs_bytes_min, 1);
}

}  // namespace
}  // namespace swath
