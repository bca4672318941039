#include "throttle/tokens.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"
#include "comm/fork_ranks_for_tests.h"
#include "comm/simulated.h"
#include "testing/shared_folder.h"

namespace swath {
namespace {

constexpr Direction kRead = Direction::kRead;
constexpr Pattern kLarge = Pattern::kLarge;
constexpr int64_t kBurst = 4 << 20;

class TokensTest : public testing::Test {
 protected:
  // The tokens of this test.
  std::shared_ptr<NodeTokens> open(const std::string& target = "disk") { return NodeTokens::open(scope_, target); }

 private:
  const std::string scope_ = testing::UnitTest::GetInstance()->current_test_info()->name() + std::to_string(getpid());
};

TEST_F(TokensTest, OneIsServedAfterTheOtherInTheOrderOfAsking) {
  const auto tokens = open();
  std::vector<int> served;
  run_ranks(5, [&](Comm& comm) {
    Clock& clock = clock_of_thread();
    clock.sleep_until(0.001 * comm.rank());
    for (int i = 0; i < 3; ++i) {
      const Grant grant = tokens->acquire(kRead, kLarge, StreamLimit::fixed(1), clock);
      served.push_back(comm.rank());
      clock.sleep_until(clock.now() + 1);
      tokens->give_back(grant, kBurst, true, clock);
    }
  });
  EXPECT_EQ(served, (std::vector<int>{0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4}));
  const LaneStatus reads = tokens->status().reads;
  EXPECT_EQ(reads.grants, 15);
  EXPECT_EQ(reads.waits, 14);
  EXPECT_NEAR(reads.wait_seconds_max, 4, 0.01);
  EXPECT_EQ(reads.active, 0);
  EXPECT_EQ(reads.waiting, 0);
}

TEST_F(TokensTest, NeverMoreAreServedThanTheLimit) {
  for (const int limit : {1, 2, 3, 7}) {
    const auto tokens = open("disk" + std::to_string(limit));
    int active = 0;
    int most = 0;
    run_ranks(8, [&](Comm& comm) {
      Clock& clock = clock_of_thread();
      for (int i = 0; i < 10; ++i) {
        const Grant grant = tokens->acquire(kRead, kLarge, StreamLimit::fixed(limit), clock);
        most = std::max(most, ++active);
        clock.sleep_until(clock.now() + 0.1 * (1 + (comm.rank() * 7 + i * 3) % 5));
        --active;
        tokens->give_back(grant, kBurst, true, clock);
      }
    });
    EXPECT_EQ(most, limit);
  }
}

TEST_F(TokensTest, ReadersAndWritersHaveLimitsOfTheirOwn) {
  const auto tokens = open();
  Clock& clock = real_clock();
  const Grant reading = tokens->acquire(kRead, kLarge, StreamLimit::fixed(1), clock);
  const Grant writing = tokens->acquire(Direction::kWrite, kLarge, StreamLimit::fixed(1), clock);
  EXPECT_EQ(writing.waited, 0);
  EXPECT_EQ(tokens->status().reads.active, 1);
  EXPECT_EQ(tokens->status().writes.active, 1);
  tokens->give_back(reading, 0, false, clock);
  tokens->give_back(writing, 0, false, clock);
}

TEST_F(TokensTest, TargetsHaveTokensOfTheirOwn) {
  const auto one = open("one");
  const auto other = open("other");
  Clock& clock = real_clock();
  const Grant held = one->acquire(kRead, kLarge, StreamLimit::fixed(1), clock);
  EXPECT_EQ(other->acquire(kRead, kLarge, StreamLimit::fixed(1), clock).waited, 0);
  one->give_back(held, 0, false, clock);
}

TEST_F(TokensTest, WithoutALimitNobodyWaits) {
  const auto tokens = open();
  std::vector<Grant> grants(20);
  for (Grant& grant : grants) grant = tokens->acquire(kRead, kLarge, StreamLimit::adaptive(), real_clock());
  EXPECT_EQ(tokens->status().reads.active, 20);
  for (const Grant& grant : grants) tokens->give_back(grant, 0, false, real_clock());
  EXPECT_EQ(tokens->status().reads.active, 0);
}

TEST_F(TokensTest, MoreStreamsThanSeatsAreServedWithoutOne) {
  const auto tokens = open();
  std::vector<Grant> grants(1100);
  for (Grant& grant : grants) grant = tokens->acquire(kRead, kLarge, StreamLimit::adaptive(), real_clock());
  EXPECT_EQ(grants.back().seat, -1);
  for (const Grant& grant : grants) tokens->give_back(grant, kBurst, true, real_clock());
  EXPECT_EQ(tokens->status().reads.active, 0);
}

// 16 processes, one token: all get the same share, and no process waits longer than one round of the others.
TEST_F(TokensTest, ProcessesShareATokenFairly) {
  constexpr int kProcesses = 16;
  constexpr int kRounds = 20;
  constexpr double kHold = 0.002;
  struct Shared {
    std::atomic<int> active, most;
    std::atomic<int> served[kProcesses];
    std::atomic<double> wait_max;
  };
  SharedByForks<Shared> shared;
  const auto tokens = open();
  std::vector<pid_t> children;
  for (std::atomic<int>& served : shared->served) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    const auto own = open();  // opened before the fork: the same mapping
    for (int i = 0; i < kRounds; ++i) {
      const Grant grant = own->acquire(kRead, kLarge, StreamLimit::fixed(1), real_clock());
      const int active = ++shared->active;
      if (active > shared->most) shared->most = active;
      if (grant.waited > shared->wait_max) shared->wait_max = grant.waited;
      real_clock().sleep_until(real_clock().now() + kHold);
      ++served;
      --shared->active;
      own->give_back(grant, kBurst, true, real_clock());
    }
    _exit(0);
  }
  expect_well(children);
  EXPECT_EQ(shared->most, 1);
  for (const auto& served : shared->served) EXPECT_EQ(served, kRounds);
  EXPECT_LT(shared->wait_max, 2);  // 15 others of 2 ms each, on a machine that may be busy
}

TEST_F(TokensTest, ATokenWhoseHolderIsKilledComesBack) {
  const auto tokens = open();
  const pid_t child = fork();
  if (child == 0) {
    open()->acquire(kRead, kLarge, StreamLimit::fixed(1), real_clock());
    pause();
  }
  while (tokens->status().reads.active == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const pid_t waiting_child = fork();
  if (waiting_child == 0) {
    open()->acquire(kRead, kLarge, StreamLimit::fixed(1), real_clock());
    _exit(0);
  }
  while (tokens->status().reads.waiting == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  kill(waiting_child, SIGKILL);  // in the queue ...
  kill(child, SIGKILL);          // ... and with the token
  waitpid(child, nullptr, 0);
  waitpid(waiting_child, nullptr, 0);
  const Grant grant = tokens->acquire(kRead, kLarge, StreamLimit::fixed(1), real_clock());
  EXPECT_LT(grant.waited, 3);
  EXPECT_EQ(tokens->status().reads.taken_back, 1);
  EXPECT_EQ(tokens->status().reads.active, 1);
  EXPECT_EQ(tokens->status().reads.waiting, 0);
  tokens->give_back(grant, 0, false, real_clock());
}

// Processes are killed at any moment, also during a change of the table.
TEST_F(TokensTest, ProcessesKilledAnywhereLeaveTheTableInOrder) {
  const auto tokens = open();
  for (int i = 0; i < 60; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (const auto own = open();;) {
        const Grant grant = own->acquire(kRead, kLarge, StreamLimit::fixed(2), real_clock());
        own->give_back(grant, kBurst, true, real_clock());
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500 + 37 * i));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  std::vector<Grant> both;
  for (int i = 0; i < 2; ++i) both.push_back(tokens->acquire(kRead, kLarge, StreamLimit::fixed(2), real_clock()));
  EXPECT_EQ(tokens->status().reads.active, 2);
  EXPECT_EQ(tokens->status().reads.waiting, 0);
  for (const Grant& grant : both) tokens->give_back(grant, 0, false, real_clock());
  EXPECT_EQ(tokens->status().reads.active, 0);
}

TEST_F(TokensTest, WhoKeepsATokenForTooLongLosesIt) {
  const auto tokens = open();
  tokens->set_hold_seconds_max(30);
  std::vector<double> served(3);
  run_ranks(3, [&](Comm& comm) {
    Clock& clock = clock_of_thread();
    clock.sleep_until(0.001 * comm.rank());
    const Grant grant = tokens->acquire(kRead, kLarge, StreamLimit::fixed(1), clock);
    served[comm.rank()] = clock.now();
    clock.sleep_until(clock.now() + (comm.rank() == 0 ? 1000 : 1));
    tokens->give_back(grant, kBurst, true, clock);  // by rank 0: too late, so it has no effect
  });
  EXPECT_NEAR(served[1], 30, 1);
  EXPECT_NEAR(served[2], 31, 1);
  EXPECT_EQ(tokens->status().reads.active, 0);
  EXPECT_EQ(tokens->status().reads.taken_back, 1);
}

// More ranks than tokens for a long time: all are served equally often, and wait at most one round.
TEST_F(TokensTest, NobodyStarvesUnderALongLoad) {
  constexpr int kRanks = 24;
  const auto tokens = open();
  std::vector<int> served(kRanks);
  double wait_max = 0;
  run_ranks(kRanks, [&](Comm& comm) {
    Clock& clock = clock_of_thread();
    while (clock.now() < 3600) {
      const Grant grant = tokens->acquire(kRead, kLarge, StreamLimit::fixed(3), clock);
      wait_max = std::max(wait_max, grant.waited);
      clock.sleep_until(clock.now() + 1);
      tokens->give_back(grant, kBurst, true, clock);
      ++served[comm.rank()];
    }
  });
  EXPECT_LE(wait_max, kRanks / 3);
  const auto [least, most] = std::minmax_element(served.begin(), served.end());
  EXPECT_LE(*most - *least, 1);
  EXPECT_GT(*least, 3600 * 3 / kRanks - 2);
}

// The whole system in simulated time: a disk gives one stream 34 MB/s, and several streams 15 MB/s together.
TEST_F(TokensTest, TheControllerFindsOneStreamForOneDisk) {
  const auto tokens = open();
  int active = 0;
  double end = 0;
  run_ranks(8, [&](Comm&) {
    Clock& clock = clock_of_thread();
    for (int i = 0; i < 60; ++i) {
      const Grant grant = tokens->acquire(kRead, kLarge, StreamLimit::adaptive(), clock);
      ++active;
      for (int request = 0; request < 4; ++request) {
        const double rate = active == 1 ? 34e6 : 15e6 / active;
        clock.sleep_until(clock.now() + static_cast<double>(kBurst) / 4 / rate);
      }
      --active;
      tokens->give_back(grant, kBurst, true, clock);
    }
    end = std::max(end, clock.now());
  });
  const double best = 8 * 60 * static_cast<double>(kBurst) / 34e6;
  EXPECT_LT(end, 1.15 * best);
  const TargetStatus status = tokens->status();
  ASSERT_EQ(status.reads.patterns.size(), 1U);
  EXPECT_EQ(status.reads.patterns[0].limit, 1);
  EXPECT_TRUE(status.reads.patterns[0].holding);
  EXPECT_NEAR(status.reads.patterns[0].rate, 34e6, 1e6);
  EXPECT_TRUE(std::any_of(status.decisions.begin(), status.decisions.end(),
                          [](const Decision& decision) { return decision.reason == Reason::kBetter; }));
}

TEST_F(TokensTest, FilesOfSharedMemoryGoWithTheirLastUser) {
  const OwnSharedFolder own;
  auto one = open("one");
  auto other = open("other");
  EXPECT_EQ(own.files(), 2);
  other.reset();
  EXPECT_EQ(own.files(), 1);
  const pid_t child = fork();
  if (child == 0) {
    auto* leaked = new auto(NodeTokens::open("left by a child", "disk"));
    static_cast<void>(leaked);
    _exit(0);  // nothing is released
  }
  waitpid(child, nullptr, 0);
  EXPECT_EQ(own.files(), 2);
  const auto all = NodeTokens::status_of_all();  // this removes files that no process has open
  EXPECT_EQ(own.files(), 1);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].target, "one");
  one.reset();
  EXPECT_EQ(own.files(), 0);
}

TEST_F(TokensTest, StreamsAreOfProcessesThatLive) {
  const OwnSharedFolder own;
  const auto tokens = open();
  for (int i = 0; i < 3; ++i) tokens->enter();
  tokens->leave();
  SharedByForks<std::atomic<int>> entered;
  std::vector<pid_t> children;
  for (int i = 0; i < 10; ++i) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    const auto of_child = open();
    of_child->enter();
    of_child->enter();
    ++*entered;
    pause();
  }
  while (*entered < 10) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(tokens->streams(), 22);
  for (const pid_t child : children) kill(child, SIGKILL);
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  const auto all = NodeTokens::status_of_all();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].streams, 2);
  EXPECT_EQ(tokens->streams(), 2);
  tokens->leave();
  tokens->leave();
  tokens->leave();  // one time too many
  EXPECT_EQ(tokens->streams(), 0);
}

TEST_F(TokensTest, ATokenOfADeadProcessIsNotShownAsHeld) {
  const OwnSharedFolder own;
  const auto tokens = open();
  const pid_t child = fork();
  if (child == 0) {
    open()->acquire(kRead, kLarge, StreamLimit::fixed(1), real_clock());
    kill(getpid(), SIGKILL);
  }
  waitpid(child, nullptr, 0);
  const auto all = NodeTokens::status_of_all();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].reads.active, 0);
  EXPECT_EQ(all[0].reads.taken_back, 1);
}

// A forked child has copies of all of its parent's objects: their use must not affect the parent.
TEST_F(TokensTest, AForkedChildLeavesWhatItsParentHolds) {
  const OwnSharedFolder own;
  auto tokens = open();
  tokens->enter();
  tokens->enter();
  const Grant grant = tokens->acquire(kRead, kLarge, StreamLimit::fixed(1), real_clock());
  const pid_t child = fork();
  if (child == 0) {
    tokens->give_back(grant, kBurst, true, real_clock());
    tokens->leave();
    tokens->enter();
    tokens->remember(kRead, kLarge, 4, 1e6, 8);
    if (tokens->streams() != 0 || tokens->acquire(kRead, kLarge, StreamLimit::fixed(1), real_clock()).seat != -1)
      _exit(1);
    if (tokens->status().target != "disk") _exit(2);
    {
      const auto anew = open();
      anew->give_back(grant, kBurst, true, real_clock());  // it is still not the child's
      anew->leave();
      if (anew->status().reads.active != 1) _exit(3);
    }
    tokens.reset();
    _exit(0);
  }
  expect_well({child});
  EXPECT_EQ(own.files(), 1);
  const TargetStatus status = tokens->status();
  EXPECT_EQ(status.streams, 2);
  EXPECT_EQ(status.reads.active, 1);
  EXPECT_TRUE(status.reads.patterns.empty());
  const pid_t other = fork();
  if (other == 0) {
    const auto same = open();
    same->enter();
    _exit(same->streams() == 3 ? 0 : 1);  // the same table as before
  }
  expect_well({other});
  tokens->give_back(grant, kBurst, true, real_clock());
  EXPECT_EQ(tokens->status().reads.active, 0);
}

TEST_F(TokensTest, AForkedChildHasTokensOfItsOwnWhichItSharesWithItsParent) {
  const OwnSharedFolder own;
  const auto tokens = open();
  EXPECT_EQ(tokens->for_this_process(), tokens);
  tokens->enter();
  const Grant grant = tokens->acquire(kRead, kLarge, StreamLimit::fixed(1), real_clock());
  SharedByForks<std::atomic<double>> waited;
  const pid_t child = fork();
  if (child == 0) {
    const auto own_tokens = tokens->for_this_process();
    if (own_tokens == tokens || own_tokens != tokens->for_this_process()) _exit(1);
    own_tokens->enter();
    if (own_tokens->streams() != 2) _exit(2);
    const Grant own_grant = own_tokens->acquire(kRead, kLarge, StreamLimit::fixed(1), real_clock());
    *waited = own_grant.waited;
    if (own_grant.seat < 0) _exit(3);
    own_tokens->give_back(own_grant, kBurst, true, real_clock());
    own_tokens->leave();
    _exit(0);
  }
  while (tokens->status().reads.waiting == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  tokens->give_back(grant, kBurst, true, real_clock());
  expect_well({child});
  EXPECT_GT(*waited, 0.01);
  EXPECT_EQ(tokens->streams(), 1);
}

// At every moment, also at the fork, some of many threads use the tokens.
TEST_F(TokensTest, AChildForkedWhileThreadsUseTheTokensHangsNowhere) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "a forked child may wait for ever for the lock of AddressSanitizer's allocator that a thread had";
#endif
  const OwnSharedFolder own;
  const auto tokens = open();
  std::atomic<bool> over = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      while (!over) {
        const auto others = open("disk" + std::to_string(i));
        const Grant grant = tokens->acquire(kRead, kLarge, StreamLimit::fixed(1), real_clock());
        tokens->give_back(grant, kBurst, true, real_clock());
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      open("disk0");  // at nearly every fork, a thread of the parent is in this call
      const auto own_tokens = tokens->for_this_process();
      const Grant grant = own_tokens->acquire(kRead, kLarge, StreamLimit::fixed(1), real_clock());
      own_tokens->give_back(grant, kBurst, true, real_clock());
      _exit(grant.seat >= 0 ? 0 : 1);
    }
    expect_well({child});
  }
  over = true;
  for (std::thread& thread : threads) thread.join();
}

// With any content of the table, no process reads or writes outside of it, or waits for ever.
TEST_F(TokensTest, ATableOfNonsenseIsNoDanger) {
  constexpr size_t kHead = 64;  // the magic number and the mutex, which belongs to the system's library
  for (unsigned seed = 0; seed < 40; ++seed) {
    const OwnSharedFolder own;
    const auto tokens = open("disk" + std::to_string(seed));
    tokens->enter();
    const int descriptor = ::open(own.only_file().c_str(), O_RDWR);
    struct stat status{};
    fstat(descriptor, &status);
    auto* table =
        static_cast<unsigned char*>(mmap(nullptr, status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0));
    close(descriptor);
    std::mt19937 random(seed);
    for (off_t i = kHead; i < status.st_size; ++i) {
      table[i] = seed == 0 ? 0xFF : seed == 1 ? 0x7E : static_cast<unsigned char>(random());
    }
    EXPECT_LE(tokens->status().target.size(), 256U);
    for (int turn = 0; turn < 60; ++turn) {
      const StreamLimit limit = turn % 2 == 0 ? StreamLimit::adaptive() : StreamLimit::fixed(1);
      const Grant grant = tokens->acquire(kRead, static_cast<Pattern>(turn % kPatterns), limit, real_clock());
      tokens->give_back(grant, kBurst, true, real_clock());
    }
    EXPECT_EQ(NodeTokens::status_of_all().size(), 1U);
    EXPECT_EQ(tokens->status().reads.active, 0);
    tokens->leave();
    munmap(table, status.st_size);
  }
}

TEST_F(TokensTest, APatternIsOfTheSizeOfRequests) {
  EXPECT_EQ(pattern_of(8), Pattern::kSmall);
  EXPECT_EQ(pattern_of(64 << 10), Pattern::kSmall);
  EXPECT_EQ(pattern_of(512 << 10), Pattern::kMedium);
  EXPECT_EQ(pattern_of(1 << 20), Pattern::kLarge);
}

TEST_F(TokensTest, WhoIsToldToStopLeavesTheQueue) {
  const auto tokens = open();
  Clock& clock = real_clock();
  const Grant first = tokens->acquire(kRead, kLarge, StreamLimit::fixed(1), clock);
  {
    const InterruptScope scope([] { return true; });
    EXPECT_THROW(tokens->acquire(kRead, kLarge, StreamLimit::fixed(1), clock), Error);
  }
  EXPECT_EQ(tokens->status().reads.waiting, 0);
  EXPECT_EQ(tokens->status().reads.active, 1);
  tokens->give_back(first, kBurst, true, clock);
  tokens->give_back(tokens->acquire(kRead, kLarge, StreamLimit::fixed(1), clock), kBurst, true, clock);
  EXPECT_EQ(tokens->status().reads.active, 0);
}

}  // namespace
}  // namespace swath
