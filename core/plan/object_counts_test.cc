// Plans for an object store: operations, the fifth method, and lists for a store that takes no descriptions.
#include "plan/object_counts.h"

#include <gtest/gtest.h>

#include "plan/make_plan.h"

namespace swath {
namespace {

Capabilities pool(bool takes_descriptions) {
  return {.read_ranges_max = 1000,
          .write_ranges_max = 100,
          .structured_requests = takes_descriptions,
          .durable_when_answered = true,
          .stripes = StripeMap{64 << 10, 4, 4 << 20}};
}

// The first 8 bytes of each KiB of 16 MiB: 16,384 regions in 4 objects.
Request sparse(Direction direction, bool takes_descriptions) {
  Request request;
  request.direction = direction;
  request.layout = std::make_shared<Layout>(Layout::ordered({16'384, 128}, 8, 0, {0, 1}));
  request.decomposition = Decomposition::alone({{0, 1, 16'384, false}, {0, 1, 1, true}});
  request.capabilities = pool(takes_descriptions);
  return request;
}

TEST(ObjectCounts, DirectTakesOneARegionListOneForEachThousandAndDatatypeOneAnObject) {
  const Request reading = sparse(Direction::kRead, true);
  const Access access = access_of(reading, 0);
  EXPECT_EQ(count_direct(reading, access).read_requests, 16'384);
  EXPECT_EQ(count_list(reading, access).read_requests, 4 * 5);  // 4,096 in each object
  EXPECT_EQ(count_datatype(reading, access).read_requests, 4);
  const Request writing = sparse(Direction::kWrite, true);
  EXPECT_EQ(count_list(writing, access).write_requests, 4 * 41);
  EXPECT_EQ(count_datatype(writing, access).write_requests, 4);
  EXPECT_TRUE(count_datatype(writing, access).exact);
}

TEST(ObjectCounts, ManySmallRegionsAreDescribedWhereThatIsTaken) {
  for (const Direction direction : {Direction::kRead, Direction::kWrite}) {
    EXPECT_EQ(make_plan(sparse(direction, true)).method, Method::kDatatype);
    const Plan without = make_plan(sparse(direction, false));
    EXPECT_NE(without.method, Method::kDatatype);
    EXPECT_NE(without.method, Method::kDirect);
  }
}

TEST(ObjectCounts, WhereNoDescriptionIsTakenListsAreSentAndThePlanSaysSo) {
  Request request = sparse(Direction::kRead, false);
  request.method = Method::kDatatype;
  const Plan plan = make_plan(request);
  EXPECT_EQ(plan.method, Method::kList);
  EXPECT_NE(plan.reason.find("takes no descriptions"), std::string::npos) << plan.reason;
}

TEST(ObjectCounts, RangesThatAbutInAnObjectAreOneUntilTheyAreLong) {
  const StripeLayout stripes{1000, 2, 100'000};
  ListCounter counter(stripes, 1000, kObjectOperationBytesMax);
  counter.add(0, 10'000);  // five units in each of two objects
  counter.flush();
  EXPECT_EQ(counter.counted().operations, 2);
  EXPECT_EQ(counter.counted().ranges, 2);
  EXPECT_EQ(operations_of_range(stripes, 1000, 0, 10'000), 2);
  EXPECT_EQ(operations_of_range(stripes, 1000, 500, 100), 1);
  EXPECT_EQ(operations_of_range(stripes, 1000, 950, 100), 2);
}

TEST(ObjectCounts, ALongRangeTakesAsManyOperationsAsItsUnitsMakeRanges) {
  const StripeLayout stripes{20'000, 1, int64_t{20'000} * 250};
  EXPECT_EQ(operations_of_range(stripes, kPoolReadRangesMax, 0, stripes.object_bytes), 1);
  EXPECT_EQ(operations_of_range(stripes, kPoolWriteRangesMax, 0, stripes.object_bytes), 3);
  const int64_t objects = 500;  // too many to be counted one by one
  EXPECT_EQ(operations_of_range(stripes, kPoolWriteRangesMax, 0, objects * stripes.object_bytes), 3 * objects);
}

}  // namespace
}  // namespace swath
