#include "base/counters.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace swath {
namespace {

TEST(Counters, EveryOneIsVisitedOnce) {
  std::set<std::string> names;
  size_t bytes = 0;
  for_each_counter([&](const std::string& name, auto member) {
    EXPECT_TRUE(names.insert(name).second) << name;
    bytes += sizeof(Counters().*member);
  });
  EXPECT_EQ(bytes, sizeof(Counters)) << "a counter that for_each_counter leaves out is never added up, nor shown";
}

TEST(Counters, AreAddedUpButBuffersWhichAreNotThereAtOnce) {
  Counters first;
  Counters second;
  int value = 0;
  for_each_counter([&](const char*, auto member) {
    first.*member = ++value;
    second.*member = 100;
  });
  const Counters before = first;
  first += second;
  for_each_counter([&](const std::string& name, auto member) {
    EXPECT_EQ(first.*member, name == "buffer_bytes" ? 100 : before.*member + 100) << name;
  });
}

}  // namespace
}  // namespace swath
