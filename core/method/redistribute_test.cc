// The messages of redistribution. method_test.cc also tests that each element arrives, for random cases.

#include <gtest/gtest.h>

#include <mutex>
#include <numeric>

#include "comm/counting_comm_for_tests.h"
#include "comm/simulated.h"
#include "method/run.h"

namespace swath {
namespace {

using Kind = DimensionRule::Kind;
using Pair = CountingComm::Pair;

// The distributions of table 1 of the two-phase paper over 16 or 64 ranks.
std::vector<Distribution> table_1(int ranks) {
  const int64_t side = ranks == 16 ? 4 : 8;
  const auto rule = [](Kind kind) { return DimensionRule{kind, kind == Kind::kCyclic ? 1 : 0}; };
  std::vector<Distribution> all;
  for (const Kind kind : {Kind::kBlock, Kind::kCyclic}) {
    all.push_back(Distribution({rule(kind), rule(Kind::kWhole)}, {ranks, 1}));
    all.push_back(Distribution({rule(Kind::kWhole), rule(kind)}, {1, ranks}));
    for (const Kind columns : {Kind::kBlock, Kind::kCyclic}) {
      all.push_back(Distribution({rule(kind), rule(columns)}, {side, side}));
    }
  }
  return all;
}

// Numbers of the elements of a rank's share, in the order of its memory.
std::vector<int64_t> numbers_of(const Distribution& distribution, const Shape& shape, int rank) {
  const auto sets = distribution.local_sets(shape, rank);
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < sets[0].count(); ++i) {
    for (int64_t j = 0; j < sets[1].count(); ++j) numbers.push_back(sets[0].at(i) * shape[1] + sets[1].at(j));
  }
  return numbers;
}

std::vector<int> owners(const Distribution& distribution, const Shape& shape, int ranks) {
  std::vector<int> owner(static_cast<size_t>(element_count(shape)));
  for (int rank = 0; rank < ranks; ++rank) {
    for (const int64_t number : numbers_of(distribution, shape, rank)) owner[static_cast<size_t>(number)] = rank;
  }
  return owner;
}

// Redistributes an array of its own element numbers, and checks the result.
Counters move(const Distribution& from, const Distribution& to, const Shape& shape, Comm& comm,
              const Tuning& tuning = {}) {
  auto before = numbers_of(from, shape, comm.rank());
  const auto expected = numbers_of(to, shape, comm.rank());
  std::vector<int64_t> after(expected.size(), -1);
  const Decomposition source = Decomposition::distributed(from, select_all(shape), comm.size());
  const Decomposition target = Decomposition::distributed(to, select_all(shape), comm.size());
  Progress progress;
  const Counters counters = redistribute(
      8, {source, {source.parts(comm.rank(), 8), {reinterpret_cast<std::byte*>(before.data())}}},
      {target, {target.parts(comm.rank(), 8), {reinterpret_cast<std::byte*>(after.data())}}}, comm, tuning, progress);
  EXPECT_EQ(after, expected) << "rank " << comm.rank();
  return counters;
}

TEST(Redistribute, BetweenSixteenAndSixtyFourRanksSendsOneMessageToEachThatGetsSomething) {
  const Shape shape{37, 41};
  const int ranks = 64;
  for (const Distribution& from : table_1(16)) {
    for (const Distribution& to : table_1(ranks)) {
      SCOPED_TRACE(from.to_string() + " to " + to.to_string());
      std::map<Pair, std::vector<int64_t>> predicted;
      const auto source = owners(from, shape, ranks);
      const auto target = owners(to, shape, ranks);
      for (size_t i = 0; i < source.size(); ++i) {
        if (source[i] == target[i]) continue;
        auto& message = predicted[{source[i], target[i]}];
        message.resize(1);
        message[0] += 8;
      }
      std::map<Pair, std::vector<int64_t>> sent;
      std::mutex mutex;
      run_ranks(
          ranks,
          [&](Comm& comm) {
            CountingComm counting(comm);
            const Counters counters = move(from, to, shape, counting);
            EXPECT_EQ(counting.exchanges, 1);
            EXPECT_EQ(counting.reduced, 1);
            const std::lock_guard lock(mutex);
            sent.insert(counting.sent.begin(), counting.sent.end());
            int64_t exchanged = 0;
            for (const auto& [pair, sizes] : predicted) {
              if (pair.first == comm.rank() || pair.second == comm.rank()) exchanged += sizes[0];
            }
            EXPECT_EQ(counters.exchanged_bytes, exchanged);
          },
          1, ranks);
      EXPECT_EQ(sent, predicted);
    }
  }
}

TEST(Redistribute, OnOneNodeMeetsOnceARound) {
  const Shape shape{640, 64};
  const Distribution rows({{Kind::kBlock, 0}, {Kind::kWhole, 0}}, {4, 1});
  const Distribution columns({{Kind::kWhole, 0}, {Kind::kCyclic, 1}}, {1, 4});
  Tuning tuning;
  tuning.window_bytes = 4096;
  run_ranks(4, [&](Comm& comm) {
    CountingComm counting(comm);
    move(rows, columns, shape, counting, tuning);
    // A rank sends three quarters of its 80 KiB, two windows per round.
    EXPECT_EQ(counting.barriers, 60 / 8 + 1);
    EXPECT_EQ(counting.exchanges, 0);
  });
}

TEST(Redistribute, WhereNobodyGivesAnythingAwayDoesNotMeet) {
  const Shape shape{16, 16};
  const Distribution rows({{Kind::kBlock, 0}, {Kind::kWhole, 0}}, {4, 1});
  run_ranks(4, [&](Comm& comm) {
    CountingComm counting(comm);
    EXPECT_EQ(move(rows, rows, shape, counting).buffer_bytes, 0);
    EXPECT_EQ(counting.barriers + counting.exchanges, 0);
  });
}

TEST(Redistribute, TakesBuffersThatDoNotGrowWithTheArray) {
  const Distribution rows({{Kind::kCyclic, 3}, {Kind::kWhole, 0}}, {4, 1});
  const Distribution columns({{Kind::kWhole, 0}, {Kind::kCyclic, 5}}, {1, 3});
  Tuning tuning;
  tuning.window_bytes = int64_t{64} << 10;
  for (const int nodes : {1, 4}) {
    for (const int64_t extent : {512, 1500}) {
      run_ranks(
          4,
          [&](Comm& comm) {
            const int64_t stage = 2 * tuning.window_bytes + 3 * (8 + (int64_t{16} << 10) + 64) + 64;
            EXPECT_LE(move(rows, columns, {extent, extent}, comm, tuning).buffer_bytes, 3 * stage + 64);
          },
          1, nodes);
    }
  }
}

}  // namespace
}  // namespace swath
