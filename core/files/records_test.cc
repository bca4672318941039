#include "files/records.h"

#include <gtest/gtest.h>

namespace swath {
namespace {

using formats::Contents;
using formats::Group;
using formats::Variable;

Contents with_time() {
  Contents contents("netcdf4");
  contents.set("", {"time", 5, true});
  contents.set("", {"x", 3, false});
  contents.add(Variable{.path = "t", .shape = {5, 3}, .dimensions = {"time", "x"}});
  contents.add(Variable{.path = "u", .shape = {5}, .dimensions = {"time"}});
  contents.add(Variable{.path = "fixed", .shape = {3}, .dimensions = {"x"}});
  contents.add(Variable{.path = "unnamed", .shape = {2}});
  return contents;
}

TEST(RecordsTest, ADimensionGrowsWhenAllVariablesAlongItHaveWritten) {
  Records records(with_time());
  EXPECT_EQ(records.wrote("t", 6), std::nullopt);
  EXPECT_EQ(records.wrote("t", 7), std::nullopt);
  EXPECT_EQ(records.wrote("u", 6), 6);
  records.set_length("time", 6);
  EXPECT_EQ(records.length("time"), 6);
  EXPECT_EQ(records.wrote("u", 7), 7);
  EXPECT_FALSE(records.follows("fixed"));
}

TEST(RecordsTest, RowsThatOthersHaveAreUnfinished) {
  Records records(with_time());
  EXPECT_TRUE(records.unfinished().empty());
  records.wrote("t", 8);
  ASSERT_EQ(records.unfinished().size(), 1);
  EXPECT_EQ(records.unfinished().front(), std::pair(std::string("time"), int64_t{8}));
  EXPECT_EQ(records.behind("time", 8), std::vector<std::string>{"u"});
  records.set_rows("u", 8);
  EXPECT_TRUE(records.behind("time", 8).empty());
  EXPECT_EQ(records.unfinished().size(), 1);  // readers see 5 still
  records.set_length("time", 8);
  EXPECT_TRUE(records.unfinished().empty());
}

TEST(RecordsTest, ANewVariableBeginsBehindWhatIsSynced) {
  Contents contents = with_time();
  Records records(contents);
  records.wrote("t", 6);
  records.wrote("u", 6);
  records.set_length("time", 6);
  contents.set_length("time", 6);
  contents.add(Variable{.path = "v", .shape = {6}, .dimensions = {"time"}});
  records.begin(contents, "v");
  EXPECT_EQ(records.rows("v"), 5);
  records.wrote("v", 6);
  records.synced();
  contents.add(Variable{.path = "w", .shape = {6}, .dimensions = {"time"}});
  records.begin(contents, "w");
  EXPECT_EQ(records.rows("w"), 6);
}

TEST(RecordsTest, AVariableWithoutNamesOfDimensionsGrowsForItself) {
  Records records(with_time());
  records.follow(with_time(), "unnamed");
  EXPECT_EQ(records.dimension_of("unnamed"), ":unnamed");
  EXPECT_EQ(records.wrote("unnamed", 3), 3);
  EXPECT_EQ(records.rows("t"), 5);
}

TEST(RecordsTest, WhatWasWrittenToIsNotFilledAnyMore) {
  Records records(with_time());
  records.has_rows("t", 7);
  EXPECT_EQ(records.rows("t"), 7);
  records.has_rows("t", 6);
  EXPECT_EQ(records.rows("t"), 7);
  records.has_rows("fixed", 9);
  EXPECT_FALSE(records.follows("fixed"));
}

TEST(RecordsTest, DimensionsOfTwoGroupsWithOneNameAreTwo) {
  Contents contents = with_time();
  contents.add(Group{.path = "ocean"});
  contents.set("ocean", {"time", 1, true});
  contents.add(Variable{.path = "ocean/s", .shape = {1}, .dimensions = {"time"}});
  Records records(contents);
  EXPECT_EQ(records.dimension_of("ocean/s"), "ocean/time");
  EXPECT_EQ(records.wrote("ocean/s", 2), 2);
}

}  // namespace
}  // namespace swath
