#include "space/index_set.h"

#include <gtest/gtest.h>

#include "testing/naive.h"

namespace swath {
namespace {

using testing::Random;

struct Pattern {
  int64_t base, block, step, period, first, count;

  std::vector<int64_t> indices() const {
    std::vector<int64_t> all;
    for (int64_t t = first; t < first + count; ++t) all.push_back(base + t / block * period + t % block * step);
    return all;
  }
  IndexSet set() const { return IndexSet(base, block, step, period, first, count); }
};

std::ostream& operator<<(std::ostream& out, const Pattern& p) {
  return out << "base " << p.base << " block " << p.block << " step " << p.step << " period " << p.period << " first "
             << p.first << " count " << p.count;
}

Pattern random_pattern(Random& random) {
  Pattern p{};
  p.base = random.between(-20, 20);
  p.block = random.between(1, 6);
  p.step = random.between(1, 4);
  p.period = (p.block - 1) * p.step + random.between(1, 8);
  p.first = random.between(0, 3 * p.block);
  p.count = random.chance(20) ? random.between(0, 2) : random.between(0, 30);
  return p;
}

std::vector<int64_t> listed(const IndexSet& set) {
  std::vector<int64_t> all;
  for (int64_t p = 0; p < set.count(); ++p) all.push_back(set.at(p));
  return all;
}

template <typename Check>
void for_random_patterns(uint64_t seed, const Check& check) {
  Random random(seed);
  for (int i = 0; i < 3000 && !::testing::Test::HasFailure(); ++i) {
    const Pattern pattern = random_pattern(random);
    ::testing::Message message;
    message << pattern;
    SCOPED_TRACE(message);
    check(pattern, random);
  }
}

TEST(IndexSet, EmptyHasNothing) {
  const IndexSet empty;
  EXPECT_TRUE(empty.empty());
  EXPECT_EQ(empty.count_below(INT64_MAX), 0);
  EXPECT_EQ(empty.steps_of(1, 5), 0);
  EXPECT_EQ(empty.widest_step(), 0);
  EXPECT_TRUE(empty.clip(-5, 5).empty());
  EXPECT_TRUE(empty.mapped(3, -1).empty());
  EXPECT_EQ(IndexSet::range(4, 4), empty);
  EXPECT_EQ(IndexSet::range(4, 2), empty);
}

TEST(IndexSet, ExamplesOfTheHeader) {
  const IndexSet cyclic(2, 2, 1, 6, 0, 4);
  EXPECT_EQ(listed(cyclic), (std::vector<int64_t>{2, 3, 8, 9}));
  EXPECT_EQ(listed(cyclic.mapped(10, -1)), (std::vector<int64_t>{1, 2, 7, 8}));
  EXPECT_EQ(listed(IndexSet::range(0, 4).mapped(1, 3)), (std::vector<int64_t>{1, 4, 7, 10}));
}

TEST(IndexSet, AtFollowsThePattern) {
  for_random_patterns(1, [](const Pattern& pattern, Random&) {
    const auto all = pattern.indices();
    EXPECT_EQ(listed(pattern.set()), all);
    if (all.empty()) return;
    EXPECT_EQ(pattern.set().front(), all.front());
    EXPECT_EQ(pattern.set().back(), all.back());
  });
}

TEST(IndexSet, CountBelowIsABinarySearch) {
  for_random_patterns(2, [](const Pattern& pattern, Random&) {
    const auto all = pattern.indices();
    const auto set = pattern.set();
    for (int64_t index = -30; index < 300; ++index) {
      ASSERT_EQ(set.count_below(index), std::lower_bound(all.begin(), all.end(), index) - all.begin()) << index;
    }
  });
}

TEST(IndexSet, StepsOfCountsEveryDistanceUpToEveryPosition) {
  for_random_patterns(3, [](const Pattern& pattern, Random&) {
    const auto all = pattern.indices();
    const auto set = pattern.set();
    for (int64_t distance = 0; distance < 15; ++distance) {
      int64_t steps = 0;
      for (size_t p = 0; p < all.size(); ++p) {
        ASSERT_EQ(set.steps_of(distance, static_cast<int64_t>(p)), steps) << distance << " before " << p;
        if (p + 1 < all.size() && all[p + 1] - all[p] == distance) ++steps;
      }
      ASSERT_EQ(set.steps_of(distance, set.count() + 3), steps);
    }
  });
}

TEST(IndexSet, WidestStepIsTheWidestThatIsTaken) {
  for_random_patterns(4, [](const Pattern& pattern, Random&) {
    const auto all = pattern.indices();
    int64_t widest = 0;
    for (size_t p = 1; p < all.size(); ++p) widest = std::max(widest, all[p] - all[p - 1]);
    EXPECT_EQ(pattern.set().widest_step(), widest);
  });
}

TEST(IndexSet, ClipKeepsWhatIsInsideAndCountsWhatItSkips) {
  for_random_patterns(5, [](const Pattern& pattern, Random& random) {
    const auto all = pattern.indices();
    for (int i = 0; i < 10; ++i) {
      const int64_t begin = random.between(-30, 150);
      const int64_t end = random.between(begin - 5, 160);
      std::vector<int64_t> inside;
      int64_t before = 0;
      for (const int64_t index : all) {
        if (index < begin) ++before;
        if (index >= begin && index < end) inside.push_back(index);
      }
      int64_t skipped = -1;
      ASSERT_EQ(listed(pattern.set().clip(begin, end, &skipped)), inside) << begin << " to " << end;
      ASSERT_EQ(skipped, before) << begin << " to " << end;
    }
  });
}

TEST(IndexSet, ClosedFormsHoldAfterClippingAndMapping) {
  for_random_patterns(6, [](const Pattern& pattern, Random& random) {
    IndexSet set = pattern.set();
    std::vector<int64_t> all = pattern.indices();
    for (int round = 0; round < 3; ++round) {
      const int64_t start = random.between(-9, 9);
      const int64_t stride = random.one_of<int64_t>({1, 2, 3, -1, -2, -5});
      for (auto& index : all) index = start + stride * index;
      if (stride < 0) std::reverse(all.begin(), all.end());
      set = set.mapped(start, stride);
      ASSERT_EQ(listed(set), all) << "mapped to " << start << " + " << stride << " * i";
      if (all.empty()) return;
      const int64_t begin = all.front() + random.between(-1, 9);
      std::erase_if(all, [&](int64_t index) { return index < begin; });
      set = set.clip(begin, INT64_MAX);
      ASSERT_EQ(listed(set), all) << "clipped at " << begin;
      ASSERT_EQ(set.count_below(begin + 7), std::lower_bound(all.begin(), all.end(), begin + 7) - all.begin());
    }
  });
}

TEST(IndexSet, PiecesAreAtMostThreeAndListTheSameIndices) {
  for_random_patterns(7, [](const Pattern& pattern, Random& random) {
    const auto all = pattern.indices();
    const int64_t n = static_cast<int64_t>(all.size());
    for (int i = 0; i < 10; ++i) {
      const int64_t begin = random.between(0, n);
      const int64_t end = random.between(begin, n);
      std::vector<StridedPiece> pieces;
      pattern.set().pieces(begin, end, pieces);
      EXPECT_LE(pieces.size(), 3u);
      std::vector<int64_t> indices;
      for (const auto& piece : pieces) {
        ASSERT_EQ(piece.position, begin + static_cast<int64_t>(indices.size()));
        for (int64_t o = 0; o < piece.outer; ++o) {
          for (int64_t j = 0; j < piece.inner; ++j) {
            indices.push_back(piece.index + o * piece.outer_step + j * piece.inner_step);
          }
        }
      }
      ASSERT_EQ(indices, std::vector<int64_t>(all.begin() + begin, all.begin() + end)) << begin << " to " << end;
    }
  });
}

TEST(IndexSet, RestOfBlockFollowsAtOneStep) {
  for_random_patterns(8, [](const Pattern& pattern, Random&) {
    const auto set = pattern.set();
    for (int64_t p = 0; p < set.count(); ++p) {
      const int64_t rest = set.rest_of_block(p);
      ASSERT_GE(rest, 1);
      ASSERT_LE(p + rest, set.count());
      for (int64_t i = 1; i < rest; ++i) ASSERT_EQ(set.at(p + i) - set.at(p), i * set.step()) << p;
      if (p + rest < set.count()) {
        ASSERT_NE(set.at(p + rest) - set.at(p + rest - 1), set.step()) << p;
      }
    }
  });
}

TEST(IndexSet, ShiftedSetsDifferByWhereTheyBeginOnly) {
  EXPECT_TRUE(IndexSet::strided(0, 2, 3).is_shifted(IndexSet::strided(1, 2, 3)));
  EXPECT_TRUE(IndexSet(0, 2, 1, 6, 0, 4).is_shifted(IndexSet(2, 2, 1, 6, 0, 4)));
  EXPECT_FALSE(IndexSet::strided(0, 2, 3).is_shifted(IndexSet::strided(1, 2, 2)));
  EXPECT_FALSE(IndexSet::strided(0, 2, 3).is_shifted(IndexSet::strided(1, 3, 3)));
  EXPECT_FALSE(IndexSet(0, 2, 1, 6, 0, 4).is_shifted(IndexSet(2, 2, 1, 6, 1, 4)));
}

TEST(IndexSet, BillionsAreNoWork) {
  const int64_t n = 1'000'000'000'000;
  const IndexSet cyclic(1, 1, 1, 4, 0, n / 4);
  EXPECT_EQ(cyclic.back(), n - 3);
  EXPECT_EQ(cyclic.count_below(n / 2), n / 8);
  EXPECT_EQ(cyclic.steps_of(4, n), n / 4 - 1);
  EXPECT_EQ(cyclic.clip(n / 2, n).front(), n / 2 + 1);
}

TEST(IndexSet, HoldsTheLargestIndexThereIs) {
  const int64_t last = INT64_MAX - 1;
  const IndexSet whole = IndexSet::range(0, INT64_MAX);
  EXPECT_EQ(whole.back(), last);
  EXPECT_EQ(whole.count_below(last), last);
  EXPECT_EQ(whole.clip(last, INT64_MAX), IndexSet::range(last, INT64_MAX));
  EXPECT_EQ(whole.mapped(last, -1).front(), 0);
  // After two indices so far apart, a third would be beyond 64 bits.
  const IndexSet far = IndexSet::strided(1, INT64_MAX - 2, 2);
  EXPECT_EQ(far.back(), last);
  EXPECT_EQ(far.count_below(last), 1);
  EXPECT_EQ(far, IndexSet::range(0, 2).mapped(1, INT64_MAX - 2));
  EXPECT_EQ(far, IndexSet::range(0, 2).mapped(last, -(INT64_MAX - 2)));
  const IndexSet second = far.clip(2, INT64_MAX);
  EXPECT_EQ(second.count(), 1);
  EXPECT_EQ(second.front(), last);
  EXPECT_EQ(second.shifted(-last).front(), 0);
}

}  // namespace
}  // namespace swath
