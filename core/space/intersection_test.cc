#include "space/intersection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>

#include "space/distribution.h"

namespace swath {
namespace {

using Kind = DimensionRule::Kind;
using Positions = std::map<int64_t, std::pair<int64_t, int64_t>>;  // an index, and its positions in both sets

// Every position of a piece; an index that occurs twice is an error.
Positions positions_of(const std::vector<SharedPiece>& pieces, const IndexSet& from, const IndexSet& to) {
  Positions found;
  for (const SharedPiece& piece : pieces) {
    const std::function<void(size_t, int64_t, int64_t)> descend = [&](size_t loop, int64_t a, int64_t b) {
      if (loop == piece.loops.size()) {
        EXPECT_EQ(from.at(a), to.at(b));
        EXPECT_TRUE(found.insert({from.at(a), {a, b}}).second) << "index " << from.at(a) << " is in two pieces";
        return;
      }
      const SharedLoop& turns = piece.loops[loop];
      EXPECT_GT(turns.count, 1);
      for (int64_t i = 0; i < turns.count; ++i) descend(loop + 1, a + i * turns.from_step, b + i * turns.to_step);
    };
    descend(0, piece.from, piece.to);
  }
  return found;
}

Positions expected_positions(const IndexSet& from, const IndexSet& to) {
  std::map<int64_t, int64_t> place;
  for (int64_t p = 0; p < to.count(); ++p) place[to.at(p)] = p;
  Positions expected;
  for (int64_t p = 0; p < from.count(); ++p) {
    const auto found = place.find(from.at(p));
    if (found != place.end()) expected[from.at(p)] = {p, found->second};
  }
  return expected;
}

class RandomSets {
 public:
  explicit RandomSets(unsigned seed) : random_(seed) {}

  int64_t between(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }

  IndexSet next() {
    const int64_t step = between(1, 3);
    const int64_t block = between(1, 6);
    const int64_t period = (block - 1) * step + 1 + between(0, 12);
    const IndexSet set(between(0, 20), block, step, period, between(0, 2 * block), between(0, 60));
    return between(0, 3) == 0 ? set.clip(between(0, 40), between(20, 200)) : set;
  }

 private:
  std::mt19937_64 random_;
};

IndexSet cyclic(int64_t elements, int64_t block, int64_t ranks, int rank) {
  return Distribution({{Kind::kCyclic, block}}, {ranks}).local_sets({elements}, rank)[0];
}

TEST(Intersection, HoldsEveryCommonIndexOnceWithItsPositionsInBothSets) {
  RandomSets random(1);
  int64_t common = 0;
  for (int i = 0; i < 20'000 && !HasFailure(); ++i) {
    const IndexSet from = random.next();
    const IndexSet to = random.next();
    const Positions expected = expected_positions(from, to);
    EXPECT_EQ(positions_of(intersection(from, to), from, to), expected) << "case " << i;
    common += std::ssize(expected);
  }
  EXPECT_GT(common, 50'000);
}

TEST(Intersection, OfABlockAndACyclicSetIsOnePieceAndARest) {
  const IndexSet block = IndexSet::range(1000, 2000);
  EXPECT_LE(intersection(block, cyclic(1'000'000, 1, 7, 3)).size(), 2);
  EXPECT_LE(intersection(cyclic(1'000'000, 5, 7, 3), block).size(), 4);
}

TEST(Intersection, OfSixteenAndSixtyFourCyclicRanksIsOnePieceOrNothing) {
  for (int from = 0; from < 16; ++from) {
    for (int to = 0; to < 64; ++to) {
      const auto pieces = intersection(cyclic(64'000, 1, 16, from), cyclic(64'000, 1, 64, to));
      EXPECT_EQ(pieces.size(), to % 16 == from ? 1 : 0);
    }
  }
}

TEST(Intersection, RepeatsWithTheLeastCommonMultipleOfThePeriods) {
  const int64_t elements = 24'000'000'000;  // one piece per block would not fit into memory
  const auto pieces = intersection(cyclic(elements, 4, 2, 0), cyclic(elements, 3, 2, 0));
  ASSERT_EQ(pieces.size(), 3);  // 0 1 2 | 8 | 18 19
  EXPECT_EQ(pieces[0].loops[0].count, elements / 24);
  EXPECT_EQ(pieces[0].loops[0].from_step, 12);
}

TEST(Intersection, OfPeriodsWhoseMultipleIsBeyondTheIndicesHoldsAll) {
  const IndexSet from = cyclic(1000, 1, 31, 2);
  const IndexSet to = cyclic(1000, 1, 37, 3);
  EXPECT_EQ(positions_of(intersection(from, to), from, to), expected_positions(from, to));
  const IndexSet wide(0, 2, 1, int64_t{1} << 61, 0, 4);
  const IndexSet prime(0, 2, 1, (int64_t{1} << 61) - 1, 0, 4);
  ASSERT_EQ(intersection(wide, prime).size(), 2);
}

TEST(Intersection, OfSetsThatDoNotMeetIsEmpty) {
  EXPECT_TRUE(intersection(IndexSet(), IndexSet::range(0, 9)).empty());
  EXPECT_TRUE(intersection(IndexSet::range(0, 9), IndexSet()).empty());
  EXPECT_TRUE(intersection(IndexSet::range(0, 9), IndexSet::range(9, 12)).empty());
  EXPECT_TRUE(intersection(IndexSet::strided(0, 2, 50), IndexSet::strided(1, 2, 50)).empty());
}

}  // namespace
}  // namespace swath
