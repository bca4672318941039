#include "plan/owners.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "layout/access.h"
#include "testing/requests.h"

namespace swath {
namespace {

using testing::Random;
using testing::RequestCase;

TEST(OwnersIn, AreAllRanksThatHaveElementsInTheRange) {
  Random random(1);
  for (int i = 0; i < 2000 && !::testing::Test::HasFailure(); ++i) {
    const RequestCase given = testing::random_request(random, {});
    const int64_t begin = random.between(0, given.file_bytes());
    const int64_t end = random.between(begin, given.file_bytes() + 10);
    SCOPED_TRACE(given.text + " [" + std::to_string(begin) + ", " + std::to_string(end) + ")");
    const std::vector<int> owners = owners_in(*given.layout, given.decomposition, begin, end);
    EXPECT_TRUE(std::is_sorted(owners.begin(), owners.end()));
    EXPECT_EQ(std::adjacent_find(owners.begin(), owners.end()), owners.end());
    for (int rank = 0; rank < given.decomposition.ranks(); ++rank) {
      if (Access::of(*given.layout, given.decomposition, rank).bytes_in(begin, end) == 0) continue;
      EXPECT_TRUE(std::binary_search(owners.begin(), owners.end(), rank)) << "rank " << rank;
    }
  }
}

TEST(OwnersIn, OfAWindowInManyBlocksAreFew) {
  const Shape shape{32768, 32768, 128};
  const Layout layout = Layout::ordered(shape, 8, 0, {0, 1, 2});
  const DimensionRule block{DimensionRule::Kind::kBlock, 0};
  const auto decomposition =
      Decomposition::distributed(Distribution({block, block, {}}, {100, 100, 1}), select_all(shape), 10'000);
  const int64_t row = int64_t{32768} * 128 * 8;
  EXPECT_EQ(owners_in(layout, decomposition, 0, 1 << 19), (std::vector<int>{0, 1}));
  EXPECT_EQ(owners_in(layout, decomposition, 1000 * row, 1000 * row + 8), (std::vector<int>{300}));
  EXPECT_EQ(owners_in(layout, decomposition, row - 8, row + 8).size(), 100U);  // the end of a row and a beginning
}

TEST(OwnersIn, OfCyclicBlocksGoRound) {
  const Layout layout = Layout::ordered({100}, 1, 0, {0});
  const auto decomposition =
      Decomposition::distributed(Distribution({{DimensionRule::Kind::kCyclic, 2}}, {5}), select_all({100}), 5);
  EXPECT_EQ(owners_in(layout, decomposition, 9, 11), (std::vector<int>{0, 4}));
  EXPECT_EQ(owners_in(layout, decomposition, 3, 50), (std::vector<int>{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace swath
