#include "throttle/token_server.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

#include "base/error.h"
#include "comm/fork_ranks_for_tests.h"

namespace swath {
namespace {

constexpr Direction kRead = Direction::kRead;
constexpr Pattern kLarge = Pattern::kLarge;
constexpr int64_t kBurst = 4 << 20;
const StreamLimit kOne = StreamLimit::fixed(1);

class TokenServerTest : public testing::Test {
 protected:
  std::shared_ptr<NodeTokens> tokens = NodeTokens::open(
      testing::UnitTest::GetInstance()->current_test_info()->name() + std::to_string(getpid()), "nfs server");
  Clock& clock = real_clock();

  void wait_until(const std::function<bool()>& condition) {
    const double deadline = clock.now() + 10;
    while (!condition() && clock.now() < deadline) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    ASSERT_TRUE(condition());
  }
};

// Here other nodes are processes that share only the address with this one.
TEST_F(TokenServerTest, NodesShareOneToken) {
  constexpr int kNodes = 5;
  constexpr int kRounds = 10;
  struct Shared {
    std::atomic<int> active, most;
    std::atomic<int> served[kNodes];
  };
  SharedByForks<Shared> shared;
  const TokenServer server(tokens);
  std::vector<pid_t> children;
  for (std::atomic<int>& served : shared->served) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    const auto remote = RemoteTokens::open({"localhost", server.address().port, server.address().key}, "nfs server");
    for (int i = 0; i < kRounds; ++i) {
      const Grant grant = remote->acquire(kRead, kLarge, kOne, real_clock());
      if (grant.seat < 0 || grant.limit != 1) _exit(1);
      const int active = ++shared->active;
      if (active > shared->most) shared->most = active;
      real_clock().sleep_until(real_clock().now() + 0.002);
      --shared->active;
      ++served;
      remote->give_back(grant, kBurst, true, real_clock());
    }
    _exit(0);
  }
  expect_well(children);
  EXPECT_EQ(shared->most, 1);
  for (const auto& served : shared->served) EXPECT_EQ(served, kRounds);
  EXPECT_EQ(tokens->status().reads.grants, kNodes * kRounds);
  wait_until([&] { return tokens->status().reads.active == 0; });
}

TEST_F(TokenServerTest, ATokenWhoseNodeDiesComesBack) {
  const TokenServer server(tokens);
  const ServerAddress address{"localhost", server.address().port, server.address().key};
  const pid_t child = fork();
  if (child == 0) {
    const auto remote = RemoteTokens::open(address, "nfs server");
    remote->acquire(kRead, kLarge, kOne, real_clock());
    pause();
  }
  wait_until([&] { return tokens->status().reads.active == 1; });
  const pid_t waiting_child = fork();
  if (waiting_child == 0) {
    const auto remote = RemoteTokens::open(address, "nfs server");
    remote->acquire(kRead, kLarge, kOne, real_clock());
    _exit(0);
  }
  wait_until([&] { return tokens->status().reads.waiting == 1; });
  kill(waiting_child, SIGKILL);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  waitpid(waiting_child, nullptr, 0);
  const auto remote = RemoteTokens::open(address, "nfs server");
  const Grant grant = remote->acquire(kRead, kLarge, kOne, clock);
  EXPECT_GE(grant.seat, 0);
  EXPECT_LT(grant.waited, 5);
  remote->give_back(grant, 0, false, clock);
  wait_until([&] { return tokens->status().reads.active == 0 && tokens->status().reads.waiting == 0; });
}

// A client in a long queue gets messages that it is still in it.
TEST_F(TokenServerTest, AQueueThatIsLongerThanThePatienceIsNoSilence) {
  const TokenServer server(tokens);
  const auto remote = RemoteTokens::open({"localhost", server.address().port, server.address().key}, "nfs server", 1.6);
  const Grant held = tokens->acquire(kRead, kLarge, kOne, clock);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    tokens->give_back(held, kBurst, true, real_clock());
  });
  const Grant grant = remote->acquire(kRead, kLarge, kOne, clock);
  later.join();
  EXPECT_GE(grant.seat, 0);
  EXPECT_NEAR(grant.waited, 2.5, 0.5);
  remote->give_back(grant, kBurst, true, clock);
}

TEST_F(TokenServerTest, ACoordinatorThatDoesNotAnswerHoldsUpNobodyForLong) {
  TokenServer server(tokens);
  const auto remote = RemoteTokens::open({"localhost", server.address().port, server.address().key}, "nfs server", 0.3);
  server.set_delay_seconds(2);
  Grant grant = remote->acquire(kRead, kLarge, kOne, clock);
  EXPECT_EQ(grant.seat, -1);
  EXPECT_NEAR(grant.waited, 0.3, 0.2);
  grant = remote->acquire(kRead, kLarge, kOne, clock);  // the server is not asked again so soon
  EXPECT_LT(grant.waited, 0.1);
  remote->give_back(grant, kBurst, true, clock);
  EXPECT_EQ(tokens->status().reads.active, 0);
}

TEST_F(TokenServerTest, ACoordinatorThatIsGoneHoldsUpNobody) {
  auto server = std::make_unique<TokenServer>(tokens);
  const auto remote = RemoteTokens::open({"localhost", server->address().port, server->address().key}, "nfs server");
  Grant grant = remote->acquire(kRead, kLarge, kOne, clock);
  EXPECT_GE(grant.seat, 0);
  server.reset();
  remote->give_back(grant, kBurst, true, clock);
  EXPECT_EQ(tokens->status().reads.active, 0);
  grant = remote->acquire(kRead, kLarge, kOne, clock);
  EXPECT_EQ(grant.seat, -1);
  EXPECT_LT(grant.waited, 1);
}

// A forked child has the parent's connections and its server, but not the threads.
TEST_F(TokenServerTest, AForkedChildDisturbsNeitherTheServerNorAClient) {
  auto server = std::make_unique<TokenServer>(tokens);
  auto remote = RemoteTokens::open({"localhost", server->address().port, server->address().key}, "nfs server");
  const Grant grant = remote->acquire(kRead, kLarge, kOne, clock);
  ASSERT_GE(grant.seat, 0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    server.reset();
    const auto own = remote->for_this_process();
    remote->give_back(grant, kBurst, true, real_clock());
    if (remote->acquire(kRead, kLarge, kOne, real_clock()).seat != -1 || own == remote) _exit(1);
    if (own->acquire(kRead, kLarge, StreamLimit::adaptive(), real_clock()).seat < 0)
      _exit(2);  // the child uses its own connection
    remote.reset();
    _exit(0);
  }
  expect_well({child});
  wait_until([&] { return tokens->status().reads.active == 1; });
  remote->give_back(grant, kBurst, true, clock);
  wait_until([&] { return tokens->status().reads.active == 0; });
  const Grant again = remote->acquire(kRead, kLarge, kOne, clock);
  EXPECT_GE(again.seat, 0);
  remote->give_back(again, kBurst, true, clock);
}

TEST_F(TokenServerTest, WhoDoesNotKnowTheKeyGetsNothing) {
  const TokenServer server(tokens);
  const auto remote = RemoteTokens::open({"localhost", server.address().port, std::string(32, '0')}, "nfs server", 2);
  EXPECT_EQ(remote->acquire(kRead, kLarge, kOne, clock).seat, -1);
  EXPECT_EQ(tokens->status().reads.grants, 0);
}

TEST_F(TokenServerTest, AServerThatCannotBeReachedIsAnErrorThatSaysSo) {
  try {
    const auto remote = RemoteTokens::open({"localhost", 1, std::string(32, '0')}, "nfs server");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "tokens of nfs server: cannot reach their coordinator localhost:1: Connection refused");
  }
}

}  // namespace
}  // namespace swath
