#include "plan/profile_text.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace swath {
namespace {

TEST(ProfileText, ComesBackAsItWas) {
  Profile profile = default_profile();
  profile.source = "measured on a disk";
  profile.lock_seconds = 1.0 / 3;
  profile.device.read = Curve({{512, 1e-5}, {1 << 20, 7e-3}});
  const Profile parsed = parse_profile(profile_text(profile));
  EXPECT_EQ(profile_text(parsed), profile_text(profile));
  EXPECT_EQ(parsed.source, profile.source);
  EXPECT_EQ(parsed.lock_seconds, profile.lock_seconds);
  EXPECT_EQ(parsed.device.read.points().back().y, 7e-3);
}

TEST(ProfileText, WhatIsNotNamedHasItsDefault) {
  EXPECT_EQ(profile_text(parse_profile("")), profile_text(default_profile()));
  EXPECT_EQ(parse_profile("lock_seconds 2\n").lock_seconds, 2);
}

TEST(ProfileText, RefusesWhatIsNone) {
  for (const char* wrong : {"lock_seconds x", "lock_seconds 1 2", "no_such 1", "cache.read 1", "cache.read 2 1 1 1"}) {
    EXPECT_THROW(parse_profile(wrong), Error) << wrong;
  }
}

}  // namespace
}  // namespace swath
