#include "store/rados/placement_group.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace swath {
namespace {

// As `ceph osd map` prints them: "pool 'data' (0) object 'foo' -> pg 0.7fc1f406".
TEST(PlacementGroup, HashesNamesAsCephDoes) {
  EXPECT_EQ(jenkins_hash("foo"), 0x7fc1f406U);
  EXPECT_EQ(jenkins_hash(""), 0xbd49d10dU);
}

TEST(PlacementGroup, FoldsToTheNumberOfGroupsAndMovesFewWhenGroupsAreAdded) {
  EXPECT_EQ(placement_group(0x7fc1f406, 1), 0U);
  EXPECT_EQ(placement_group(0x7fc1f406, 8), 6U);
  EXPECT_EQ(placement_group(0x7fc1f406, 32), 6U);
  std::set<uint32_t> found;
  for (uint32_t hash = 0; hash < 1000; ++hash) {
    const uint32_t group = placement_group(hash, 12);
    ASSERT_LT(group, 12U);
    found.insert(group);
    const uint32_t later = placement_group(hash, 13);
    EXPECT_TRUE(later == group || later == 12);  // only what goes to the new one moves
  }
  EXPECT_EQ(found.size(), 12);
}

}  // namespace
}  // namespace swath
