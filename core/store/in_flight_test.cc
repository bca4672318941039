#include "store/in_flight.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

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

TEST(InFlight, AllServersTogetherHaveNoMoreBytesThanAllowed) {
  FakeServer server(1e-3, 32);
  Counters counters;
  InFlight flight(16, nullptr, counters);
  for (int i = 0; i < 100; ++i) {
    flight.begin(std::make_unique<FakeOperation>(flight.arrival(), server, i % 4,
                                                 FakeOperation::Options{.bytes = InFlight::kBytesMax / 8}));
  }
  flight.begin(std::make_unique<FakeOperation>(flight.arrival(), server, 4,
                                               FakeOperation::Options{.bytes = 2 * InFlight::kBytesMax}));
  flight.finish();
  EXPECT_EQ(counters.read_requests, 101);
  EXPECT_LE(server.most(), 8);
}

TEST(InFlight, WhatIsAnsweredIsSettledWhenTheNextBegins) {
  FakeServer server(1e-3);
  Counters counters;
  std::vector<std::string> completed;
  InFlight flight(16, nullptr, counters);
  flight.begin(std::make_unique<FakeOperation>(flight.arrival(), server, 0,
                                               FakeOperation::Options{.target = "the first", .completed = &completed}));
  for (int number = 1; completed.empty() && number < 1000; ++number) {  // the notification comes after the count
    flight.begin(std::make_unique<FakeOperation>(flight.arrival(), server, number, FakeOperation::Options()));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(completed, std::vector<std::string>{"the first"});
  flight.finish();
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
