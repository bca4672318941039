#include "store/in_flight.h"

#include <gtest/gtest.h>

#include "testing/fake_servers.h"

namespace swath {
namespace {

using swath::testing::FakeOperation;
using swath::testing::FakeServer;

TEST(InFlight, NoServerHasMoreThanAllowedAndAllAreKeptBusy) {
  FakeServer servers[] = {FakeServer(1e-3), FakeServer(1e-3), FakeServer(1e-3)};
  Counters counters;
  InFlight flight(4, nullptr, counters);
  for (int i = 0; i < 90; ++i) {
    flight.begin(std::make_unique<FakeOperation>(flight.arrival(), servers[i % 3], i % 3, FakeOperation::Options()));
  }
  flight.finish();
  EXPECT_EQ(counters.read_requests, 90);
  for (const FakeServer& server : servers) {
    EXPECT_EQ(server.most(), 4);
    EXPECT_EQ(server.answered(), 30);
  }
}

TEST(InFlight, ServersThatAreNotKnownYetHaveLanesOfTheirOwn) {
  FakeServer server(1e-3);
  Counters counters;
  InFlight flight(2, nullptr, counters);
  for (int i = 0; i < 20; ++i) {  // places 0 and 1 of a stripe, and an OSD
    flight.begin(std::make_unique<FakeOperation>(flight.arrival(), server, i % 3 == 2 ? 7 : -1 - i % 3,
                                                 FakeOperation::Options()));
  }
  flight.finish();
  EXPECT_EQ(counters.read_requests, 20);
  EXPECT_LE(server.most(), 6);
}

TEST(InFlight, ThrowsTheFirstErrorAndWaitsForTheRest) {
  FakeServer server(1e-3);
  Counters counters;
  {
    InFlight flight(8, nullptr, counters);
    for (int i = 0; i < 8; ++i) {
      flight.begin(std::make_unique<FakeOperation>(
          flight.arrival(), server, 0, FakeOperation::Options{.error = i == 3 ? "object 3 is broken" : ""}));
    }
    try {
      flight.finish();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "object 3 is broken");
    }
  }
  EXPECT_EQ(server.answered(), 8);
}

}  // namespace
}  // namespace swath
