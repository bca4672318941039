#include "space/distribution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "testing/naive.h"

namespace swath {
namespace {

using testing::Random;

constexpr DimensionRule kWhole{DimensionRule::Kind::kWhole, 0};
constexpr DimensionRule kBlock{DimensionRule::Kind::kBlock, 0};
constexpr DimensionRule block(int64_t size) { return {DimensionRule::Kind::kBlock, size}; }
constexpr DimensionRule cyclic(int64_t size = 1) { return {DimensionRule::Kind::kCyclic, size}; }

std::vector<int64_t> listed(const IndexSet& set) {
  std::vector<int64_t> all;
  for (int64_t p = 0; p < set.count(); ++p) all.push_back(set.at(p));
  return all;
}

std::vector<std::vector<int64_t>> shares(const DimensionRule& rule, int64_t extent, int64_t places) {
  const Distribution distribution({rule}, {places});
  std::vector<std::vector<int64_t>> all;
  for (int rank = 0; rank < places; ++rank) all.push_back(listed(distribution.local_sets({extent}, rank)[0]));
  return all;
}

using Lists = std::vector<std::vector<int64_t>>;

TEST(Distribution, BlockIsCeilOfExtentByPlacesAndItsLastRanksAreShortOrEmpty) {
  EXPECT_EQ(shares(kBlock, 9, 4), (Lists{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {}}));
  EXPECT_EQ(shares(kBlock, 5, 4), (Lists{{0, 1}, {2, 3}, {4}, {}}));
  EXPECT_EQ(shares(kBlock, 1, 3), (Lists{{0}, {}, {}}));
  EXPECT_EQ(shares(kBlock, 0, 2), (Lists{{}, {}}));
}

TEST(Distribution, BlockOfGivenSizeFillsTheFirstPlaces) {
  EXPECT_EQ(shares(block(4), 6, 3), (Lists{{0, 1, 2, 3}, {4, 5}, {}}));
  EXPECT_EQ(shares(block(100), 3, 2), (Lists{{0, 1, 2}, {}}));
}

TEST(Distribution, CyclicDealsBlocksInTurnWithARaggedLastOne) {
  EXPECT_EQ(shares(cyclic(), 5, 2), (Lists{{0, 2, 4}, {1, 3}}));
  EXPECT_EQ(shares(cyclic(2), 11, 3), (Lists{{0, 1, 6, 7}, {2, 3, 8, 9}, {4, 5, 10}}));
  EXPECT_EQ(shares(cyclic(3), 2, 3), (Lists{{0, 1}, {}, {}}));
}

TEST(Distribution, HugeBlocksDoNotOverflow) {
  for (const int64_t size : {INT64_MAX, INT64_MAX / 2}) {
    EXPECT_EQ(shares(block(size), 3, 3), (Lists{{0, 1, 2}, {}, {}}));
    EXPECT_EQ(shares(cyclic(size), 3, 3), (Lists{{0, 1, 2}, {}, {}}));
  }
  EXPECT_EQ(shares(cyclic(INT64_MAX), 0, 2), (Lists{{}, {}}));
  // Four blocks of 2^62: a period of 2^64.
  const Distribution dealt({cyclic(int64_t{1} << 62)}, {4}, {});
  EXPECT_EQ(dealt.local_shape({INT64_MAX}, 0), (Shape{int64_t{1} << 62}));
  EXPECT_EQ(dealt.local_shape({INT64_MAX}, 1), (Shape{(int64_t{1} << 62) - 1}));
  EXPECT_EQ(dealt.local_shape({INT64_MAX}, 2), (Shape{0}));
}

TEST(Distribution, GridIsRowMajorAndRanksBeyondItHoldNothing) {
  const Distribution distribution({kBlock, cyclic()}, {2, 3});
  EXPECT_EQ(distribution.places(), 6);
  EXPECT_EQ(distribution.highest_rank(), 5);
  const auto sets = distribution.local_sets({4, 7}, 4);  // place (1, 1)
  EXPECT_EQ(listed(sets[0]), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(listed(sets[1]), (std::vector<int64_t>{1, 4}));
  EXPECT_FALSE(distribution.holds(6));
  EXPECT_FALSE(distribution.holds(-1));
  EXPECT_EQ(distribution.local_shape({4, 7}, 6), (Shape{0, 0}));
}

TEST(Distribution, GridMayLeaveOutWholeDimensions) {
  const Distribution distribution({kWhole, cyclic(4), kWhole}, {3});
  EXPECT_EQ(distribution.grid(), (std::vector<int64_t>{1, 3, 1}));
  EXPECT_EQ(distribution.local_shape({2, 10, 5}, 2), (Shape{2, 2, 5}));
}

TEST(Distribution, ChosenRanksTakeThePlacesOfTheGrid) {
  const Distribution distribution({kBlock}, {2}, {5, 3});
  EXPECT_EQ(listed(distribution.local_sets({4}, 5)[0]), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(listed(distribution.local_sets({4}, 3)[0]), (std::vector<int64_t>{2, 3}));
  EXPECT_TRUE(distribution.local_sets({4}, 0)[0].empty());
  EXPECT_EQ(distribution.highest_rank(), 5);
}

TEST(Distribution, EveryElementIsOwnedOnceByTheRankThatHpfNames) {
  Random random(11);
  for (int i = 0; i < 1500 && !HasFailure(); ++i) {
    const Shape shape = testing::random_shape(random, static_cast<size_t>(random.between(0, 4)));
    const Distribution distribution = testing::random_distribution(random, shape);
    SCOPED_TRACE(to_string(shape) + " " + distribution.to_string() + testing::text_of(distribution.ranks()));
    int64_t total = 0;
    for (int rank = 0; rank <= distribution.highest_rank() + 1; ++rank) {
      const auto sets = distribution.local_sets(shape, rank);
      const auto expected = testing::owned(distribution, shape, rank);
      for (size_t d = 0; d < shape.size(); ++d) ASSERT_EQ(listed(sets[d]), expected[d]) << rank << " " << d;
      total += distributed_part(distribution, select_all(shape), rank, 8).count();
    }
    ASSERT_EQ(total, element_count(shape));
  }
}

// The properties of an IndexSet that do not depend on its position.
std::vector<int64_t> form_of(const IndexSet& set) {
  std::vector<int64_t> steps;
  for (int64_t p = 1; p < set.count(); ++p) steps.push_back(set.at(p) - set.at(p - 1));
  steps.push_back(set.count());
  return steps;
}

// The share of `rank` in each dimension of an array that is selected backwards with gaps.
std::vector<std::vector<int64_t>> forms_of(const Distribution& distribution, const Shape& shape, int rank) {
  Selection selection;
  for (const int64_t extent : shape) selection.push_back({3 * extent, -3, extent, false});
  std::vector<std::vector<int64_t>> forms;
  const Part part = distributed_part(distribution, selection, rank, 8);
  for (const auto& set : part.indices) forms.push_back(form_of(set));
  if (part.count() == 0) forms.clear();
  return forms;
}

TEST(Distribution, RanksOfAKindHoldSharesOfOneFormAndAllRanksAreOfAKind) {
  Random random(12);
  for (int i = 0; i < 1500 && !HasFailure(); ++i) {
    const Shape shape = testing::random_shape(random, static_cast<size_t>(random.between(0, 4)));
    const Distribution distribution = testing::random_distribution(random, shape);
    SCOPED_TRACE(to_string(shape) + " " + distribution.to_string() + testing::text_of(distribution.ranks()));
    const int ranks = distribution.highest_rank() + static_cast<int>(random.between(1, 4));
    std::vector<std::vector<std::vector<int64_t>>> all;
    for (int rank = 0; rank < ranks; ++rank) all.push_back(forms_of(distribution, shape, rank));
    std::sort(all.begin(), all.end());
    for (const int parts_min : {1, 3, ranks}) {
      const auto kinds = distribution.kinds(shape, ranks, parts_min);
      std::vector<std::vector<std::vector<int64_t>>> by_kind;
      for (const RankKind& kind : kinds) {
        by_kind.insert(by_kind.end(), static_cast<size_t>(kind.ranks), forms_of(distribution, shape, kind.rank));
        if (distribution.holds(kind.rank)) {
          EXPECT_LE(kind.ranks, (ranks + parts_min - 1) / parts_min);
        }
      }
      std::sort(by_kind.begin(), by_kind.end());
      EXPECT_EQ(by_kind, all);
    }
    EXPECT_LE(distribution.kinds(shape, ranks).size(), static_cast<size_t>(std::pow(3, shape.size())) + 1);
  }
}

TEST(Distribution, KindsAreAtMostThreeADimensionAndOneBeyondTheGrid) {
  const auto kinds = Distribution({cyclic(2)}, {4}).kinds({11}, 5);
  ASSERT_EQ(kinds.size(), 4U);
  EXPECT_EQ(kinds[0].rank, 0);  // 0 1 8 9
  EXPECT_EQ(kinds[0].ranks, 1);
  EXPECT_EQ(kinds[1].rank, 1);  // 2 3 10
  EXPECT_EQ(kinds[1].ranks, 1);
  EXPECT_EQ(kinds[2].rank, 3);  // the middle one; rank 2's is equal
  EXPECT_EQ(kinds[2].ranks, 2);
  EXPECT_EQ(kinds[3].rank, 4);  // outside of the grid
  EXPECT_EQ(kinds[3].ranks, 1);
  EXPECT_EQ(Distribution({block(1)}, {2}, {3, 0}).kinds({2}, 5).back().rank,
            1);  // the lowest rank outside of the grid
}

TEST(Distribution, ScalarBelongsToTheFirstPlaceOnly) {
  const Distribution of_scalar({}, {});
  EXPECT_EQ(of_scalar.places(), 1);
  EXPECT_EQ(distributed_part(of_scalar, {}, 0, 8).count(), 1);
  EXPECT_EQ(distributed_part(of_scalar, {}, 1, 8).count(), 0);
  const Selection one_element{{2, 1, 1, true}, {3, 1, 1, true}};
  EXPECT_EQ(distributed_part(of_scalar, one_element, 0, 8).count(), 1);
  EXPECT_EQ(distributed_part(of_scalar, one_element, 1, 8).count(), 0);
}

TEST(Distribution, EightDistributionsOfTable1OwnWhatThePaperSays) {
  // 4 x 4 elements over 4 processors, rank 1: its indices in each dimension.
  struct Case {
    std::vector<DimensionRule> rules;
    std::vector<int64_t> grid;
    Lists rank_1;
  };
  const Case cases[] = {
      {{kWhole, kBlock}, {1, 4}, {{0, 1, 2, 3}, {1}}},    // Column-Block
      {{kWhole, cyclic()}, {1, 4}, {{0, 1, 2, 3}, {1}}},  // Column-Cyclic
      {{kBlock, kWhole}, {4, 1}, {{1}, {0, 1, 2, 3}}},    // Row-Block
      {{cyclic(), kWhole}, {4, 1}, {{1}, {0, 1, 2, 3}}},  // Row-Cyclic
      {{kBlock, kBlock}, {2, 2}, {{0, 1}, {2, 3}}},       // Block-Block
      {{kBlock, cyclic()}, {2, 2}, {{0, 1}, {1, 3}}},     // Block-Cyclic
      {{cyclic(), kBlock}, {2, 2}, {{0, 2}, {2, 3}}},     // Cyclic-Block
      {{cyclic(), cyclic()}, {2, 2}, {{0, 2}, {1, 3}}},   // Cyclic-Cyclic
  };
  for (const auto& expected : cases) {
    const Distribution distribution(expected.rules, expected.grid);
    const auto sets = distribution.local_sets({4, 4}, 1);
    EXPECT_EQ((Lists{listed(sets[0]), listed(sets[1])}), expected.rank_1) << distribution.to_string();
  }
}

TEST(Distribution, SelectionDividesTheSelectedArray) {
  // a[7:0:-2] of 8 elements is a[7], a[5], a[3], a[1]; rank 1 of Block over 2 owns the last two of these.
  const Selection backwards{{7, -2, 4, false}};
  const Part part = distributed_part(Distribution({kBlock}, {2}), backwards, 1, 8);
  EXPECT_EQ(listed(part.indices[0]), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(part.memory_origin, 8);  // a[1] is the last in memory
  EXPECT_EQ(part.memory_strides[0], -8);
  EXPECT_EQ(selected_shape({{1, 1, 1, true}, {0, 2, 3, false}}), (Shape{3}));
}

TEST(Distribution, SelectedPartIsAllShares) {
  const Part part = selected_part({{3, 1, 1, true}, {8, -4, 3, false}, {0, 1, 2, false}}, 4);
  EXPECT_EQ(listed(part.indices[0]), (std::vector<int64_t>{3}));
  EXPECT_EQ(listed(part.indices[1]), (std::vector<int64_t>{0, 4, 8}));
  EXPECT_EQ(part.memory_strides[1], -8);
  EXPECT_EQ(part.memory_origin, 16);
  EXPECT_EQ(part.count(), 6);
}

TEST(Distribution, BoxIsPackedInCOrder) {
  const Part part = box_part({2, 3}, {4, 8}, 8);
  EXPECT_EQ(part.count(), 10);
  EXPECT_EQ(part.memory_strides, (std::vector<int64_t>{40, 8}));
  EXPECT_EQ(box_part({2, 3}, {2, 8}, 8).count(), 0);
}

TEST(Distribution, TextsNameRulesAndGrid) {
  const Distribution distribution({kBlock, block(3), cyclic(4), kWhole}, {2, 1, 2, 1}, {4, 5, 6, 7});
  EXPECT_EQ(distribution.to_string(), "(block, block(3), cyclic(4), whole) over grid (2, 1, 2, 1) of 4 chosen ranks");
  EXPECT_EQ(to_string(Shape{}), "()");
  EXPECT_EQ(to_string(Shape{5}), "(5,)");
  EXPECT_EQ(to_string(Shape{5, 6}), "(5, 6)");
}

template <typename Action>
std::string argument_error(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kArgument);
    return error.what();
  }
  return "no error";
}

TEST(Distribution, ErrorsNameTheDimensionAndWhatWasExpected) {
  const auto made = [](std::vector<DimensionRule> rules, std::vector<int64_t> grid, std::vector<int> ranks = {}) {
    return argument_error([&] { Distribution(std::move(rules), std::move(grid), std::move(ranks)); });
  };
  EXPECT_EQ(
      made({kBlock, kWhole, kBlock}, {2}),
      "distribution: the process grid (2) has 1 dimensions; expected 3, one a dimension of the array, or 2, one a "
      "dimension that is not Whole()");
  EXPECT_EQ(made({kBlock}, {0}), "distribution: dimension 0: grid entry 0; expected at least 1");
  EXPECT_EQ(made({kBlock, kWhole}, {2, 3}),
            "distribution: dimension 1: Whole() is not divided, so that its grid entry must be 1, not 3");
  EXPECT_EQ(made({cyclic(0)}, {2}), "distribution: dimension 0: Cyclic(0); expected a block of at least 1");
  EXPECT_EQ(made({block(-1)}, {2}), "distribution: dimension 0: Block(-1); expected a block of at least 1");
  EXPECT_EQ(made({kBlock}, {2}, {1}), "distribution: 1 ranks given for a grid of 2 places");
  EXPECT_EQ(made({kBlock}, {2}, {1, 1}), "distribution: the ranks of a grid must be different and not negative");
  EXPECT_EQ(made({kBlock}, {2}, {1, -1}), "distribution: the ranks of a grid must be different and not negative");
  EXPECT_EQ(made({kBlock, kBlock}, {int64_t{1} << 40, int64_t{1} << 40}),
            "distribution: the process grid (1099511627776, 1099511627776) has more than 2147483647 places");
}

TEST(Distribution, CheckRefusesAnotherDimensionalityAndBlocksThatDoNotCover) {
  EXPECT_EQ(argument_error([] { Distribution({kBlock}, {2}).local_sets({3, 3}, 0); }),
            "distribution (block) over grid (2) has 1 dimensions, the (selected) array (3, 3) has 2");
  EXPECT_EQ(argument_error([] { Distribution({block(2)}, {2}).check({5}); }),
            "distribution: dimension 0: Block(2) over 2 processes leaves elements of an extent of 5 without an owner "
            "(HPF requires block * processes >= extent); use Block() or Cyclic(2)");
  EXPECT_NO_THROW(Distribution({block(2)}, {2}).check({4}));
}

}  // namespace
}  // namespace swath
