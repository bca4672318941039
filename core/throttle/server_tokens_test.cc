#include "throttle/server_tokens.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>

#include "testing/fake_servers.h"
#include "testing/shared_folder.h"

namespace swath {
namespace {

using swath::testing::FakeOperation;
using swath::testing::FakeServer;

class ServerTokensTest : public ::testing::Test {
 protected:
  static ThrottleOptions reads(int32_t most) { return {.reads = StreamLimit::fixed(most)}; }
  static std::string name(size_t server) { return "rados:0123/osd." + std::to_string(server); }

  // One transfer with `count` operations at all servers in turn, beginning with `first`.
  static Counters transfer(std::vector<std::unique_ptr<FakeServer>>& servers, std::shared_ptr<ServerTurns> turns,
                           size_t first, int count) {
    Counters counters;
    InFlight flight(16, std::move(turns), counters);
    for (int i = 0; i < count; ++i) {
      const size_t at = (first + static_cast<size_t>(i)) % servers.size();
      flight.begin(std::make_unique<FakeOperation>(flight.arrival(), *servers[at], static_cast<int64_t>(at),
                                                   FakeOperation::Options{.target = name(at)}));
    }
    flight.finish();
    return counters;
  }

  static std::vector<std::unique_ptr<FakeServer>> servers(int count, double seconds) {
    std::vector<std::unique_ptr<FakeServer>> made;
    for (int i = 0; i < count; ++i) made.push_back(std::make_unique<FakeServer>(seconds));
    return made;
  }

  OwnSharedFolder folder_;
};

// Each transfer uses the servers in another order: a transfer that kept a token while it waits for the next one would
// cause a deadlock.
TEST_F(ServerTokensTest, TransfersOverSeveralServersInAnyOrderKeepToTheLimitAndEnd) {
  auto all = servers(3, 1e-3);
  std::vector<std::future<Counters>> ranks;
  for (size_t rank = 0; rank < 6; ++rank) {
    ranks.push_back(std::async(std::launch::async, [&, rank] {
      // Each transfer has tokens from its own file, as ranks have.
      return transfer(all, std::make_shared<ServerTokens>("job", reads(2)), rank, 40);
    }));
  }
  int64_t waits = 0;
  for (auto& rank : ranks) {
    ASSERT_EQ(rank.wait_for(std::chrono::seconds(60)), std::future_status::ready) << "a deadlock";
    const Counters counters = rank.get();
    EXPECT_EQ(counters.read_requests, 40);
    waits += counters.token_waits;
  }
  EXPECT_GT(waits, 0);
  for (const auto& server : all) {
    EXPECT_LE(server->most(), 2);
    EXPECT_EQ(server->answered(), 80);
  }
}

TEST_F(ServerTokensTest, AnAnsweredOperationHasNoTokenAlthoughNobodyHasLookedAtIt) {
  auto all = servers(1, 1e-4);
  Counters counters;
  auto tokens = std::make_shared<ServerTokens>("job", reads(1));
  InFlight idle(16, tokens, counters);
  for (int i = 0; i < 3; ++i) {  // each but the first waits until the one before is answered
    idle.begin(std::make_unique<FakeOperation>(idle.arrival(), *all[0], 0, FakeOperation::Options{.target = name(0)}));
  }
  EXPECT_EQ(transfer(all, tokens, 0, 5).read_requests, 5);
  EXPECT_EQ(all[0]->most(), 1);
  EXPECT_LT(counters.read_requests, 3);  // the next operation completes those that were answered
  idle.finish();
  EXPECT_EQ(counters.read_requests, 3);
}

TEST_F(ServerTokensTest, ProcessesOfANodeShareThem) {
  const auto holder = std::make_shared<ServerTokens>("user", reads(1));
  Counters counters;
  auto turn = holder->take(name(0), Direction::kRead, 1 << 16, counters);
  ASSERT_NE(turn, nullptr);
  const pid_t child = fork();
  if (child == 0) {
    Counters waited;
    const auto own = std::make_shared<ServerTokens>("user", reads(1));
    const auto mine = own->take(name(0), Direction::kRead, 1 << 16, waited);
    _exit(mine != nullptr && waited.token_seconds > 0.15 ? 0 : 1);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  turn.reset();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(ServerTokensTest, NothingTakesTurnsUnlessANumberSaysSo) {
  Counters counters;
  for (const auto& limit : {ThrottleOptions{.reads = std::nullopt}, ThrottleOptions{.reads = StreamLimit::adaptive()},
                            ThrottleOptions{.reads = std::nullopt, .writes = StreamLimit::fixed(1)}}) {
    EXPECT_EQ(ServerTokens("job", limit).take(name(0), Direction::kRead, 1, counters), nullptr);
  }
  EXPECT_EQ(counters.token_waits, 0);
}

TEST_F(ServerTokensTest, EachServerIsATargetThatCanBeSeen) {
  Counters counters;
  ServerTokens tokens("job", reads(3));
  const auto one = tokens.take(name(1), Direction::kRead, 1, counters);
  const auto two = tokens.take(name(2), Direction::kRead, 1, counters);
  const auto status = NodeTokens::status_of_all();
  ASSERT_EQ(status.size(), 2);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(status[i].target, name(i + 1));
    EXPECT_EQ(status[i].streams, 1);
    EXPECT_EQ(status[i].reads.active, 1);
  }
}

}  // namespace
}  // namespace swath
