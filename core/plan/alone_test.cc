#include "plan/alone.h"

#include <gtest/gtest.h>

namespace swath {
namespace {

constexpr MeetingRanks kTwo{2, 1};

TEST(Alone, APageCacheServesAShortRequestSoonerThanRanksMeet) {
  for (const Direction direction : {Direction::kRead, Direction::kWrite}) {
    for (const MeetingRanks& ranks : {kTwo, MeetingRanks{64, 1}, MeetingRanks{64, 100}}) {
      EXPECT_TRUE(is_cheaper_alone(default_profile(), direction, ranks, true));
    }
  }
}

TEST(Alone, ADeviceWithoutAPageCacheIsDearerThanAMeeting) {
  for (const Direction direction : {Direction::kRead, Direction::kWrite}) {
    EXPECT_FALSE(is_cheaper_alone(default_profile(), direction, kTwo, false));
  }
}

TEST(Alone, OfADearStoreItDependsOnHowManyMeet) {
  Profile profile = default_profile();
  profile.cache.read = Curve({{512, 200e-6}, {1 << 20, 1e-3}});  // a file server that gets each request
  EXPECT_FALSE(is_cheaper_alone(profile, Direction::kRead, kTwo, true));
  EXPECT_TRUE(is_cheaper_alone(profile, Direction::kWrite, kTwo, true));
  EXPECT_TRUE(is_cheaper_alone(profile, Direction::kRead, {64, 1}, true));
}

}  // namespace
}  // namespace swath
