#include "comm/simulated.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace swath {
namespace {

// The error at the end of each rank's body, "" for none.
std::vector<std::string> errors_of(Simulation& simulation, int ranks, const std::function<void(Comm&)>& body) {
  std::vector<std::string> errors(ranks);
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      simulation.enter(r);
      try {
        body(*simulation.comm(r));
      } catch (const std::exception& error) {
        errors[r] = error.what();
      }
      simulation.leave(r);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

std::string order_for_seed(uint64_t seed) {
  std::string order;
  run_ranks(
      4,
      [&](Comm& comm) {
        for (int i = 0; i < 5; ++i) {
          order += static_cast<char>('0' + comm.rank());
          comm.barrier();
        }
      },
      seed);
  return order;
}

TEST(Simulated, OneSeedIsOneInterleaving) {
  for (uint64_t seed : {1, 2, 3}) EXPECT_EQ(order_for_seed(seed), order_for_seed(seed));
}

TEST(Simulated, OtherSeedsAreOtherInterleavings) {
  EXPECT_NE(order_for_seed(1), order_for_seed(2));
  EXPECT_NE(order_for_seed(2), order_for_seed(3));
}

TEST(Simulated, OnlyOneRankRunsAtATime) {
  int shared = 0;  // no lock: ThreadSanitizer, or a lost update, would show an error
  run_ranks(5, [&](Comm& comm) {
    for (int i = 0; i < 100; ++i) {
      ++shared;
      comm.barrier();
    }
  });
  EXPECT_EQ(shared, 500);
}

TEST(Simulated, DeadlockTellsEveryRanksPlace) {
  Simulation simulation(3, 1, 0);
  const auto errors = errors_of(simulation, 3, [](Comm& comm) {
    std::byte mine[16] = {}, all[48];
    if (comm.rank() == 0) comm.barrier();
    if (comm.rank() == 1) comm.allgather(mine, all);
  });
  const std::string expected =
      "no rank can go on: rank 0 waits in barrier, rank 1 in allgather(16 bytes), rank 2 has finished";
  EXPECT_EQ(errors, (std::vector<std::string>{expected, expected, ""}));
}

TEST(Simulated, DifferentSizesAreReportedOnAllRanks) {
  Simulation simulation(2, 1, 0);
  const auto errors = errors_of(simulation, 2, [](Comm& comm) {
    std::vector<std::byte> data(comm.rank() == 0 ? 8 : 16);
    comm.broadcast(data, 0);
  });
  const std::string expected =
      "no rank can go on: rank 0 waits in broadcast(8 bytes from rank 0), rank 1 in broadcast(16 bytes from rank 0)";
  EXPECT_EQ(errors, (std::vector<std::string>{expected, expected}));
}

TEST(Simulated, DifferentRecordsOfAReductionAreReportedOnAllRanks) {
  Simulation simulation(2, 2, 0);
  const auto errors = errors_of(simulation, 2, [](Comm& comm) {
    std::vector<std::byte> record(comm.rank() == 0 ? 8 : 16);
    comm.allreduce(record, [](auto, auto) {});
  });
  EXPECT_EQ(errors, std::vector<std::string>(
                        2, "no rank can go on: rank 0 waits in allreduce(8 bytes), rank 1 in allreduce(16 bytes)"));
}

TEST(Simulated, ACallOfADuplicateDoesNotMeetOneOfItsOriginal) {
  Simulation simulation(2, 1, 0);
  const auto errors = errors_of(simulation, 2, [](Comm& comm) {
    const std::unique_ptr<Comm> duplicate = comm.duplicate();
    (comm.rank() == 0 ? comm : *duplicate).barrier();
  });
  EXPECT_EQ(errors, std::vector<std::string>(
                        2, "no rank can go on: rank 0 waits in barrier, rank 1 in barrier of duplicate 1"));
}

TEST(Simulated, CountsTheMessagesBetweenNodesAndTheCallsOfAll) {
  Simulation simulation(4, 2, 0);
  run_ranks(simulation, [](Comm& comm) {
    std::byte data[10] = {};
    std::byte from_peer[10] = {};
    // Rank 0 and 1 are on one node, 2 and 3 on the other: one message stays on a node, one goes to the other.
    if (comm.rank() == 0) comm.exchange(std::vector<SendMessage>{{1, data}, {3, std::span(data, 7)}}, {});
    if (comm.rank() == 1) comm.exchange({}, std::vector<ReceiveMessage>{{0, from_peer}});
    if (comm.rank() == 2) comm.exchange({}, {});
    if (comm.rank() == 3) comm.exchange({}, std::vector<ReceiveMessage>{{0, std::span(from_peer, 7)}});
    comm.barrier();
    comm.barrier();
  });
  const Traffic traffic = simulation.traffic();
  EXPECT_EQ(traffic.calls, (std::map<Call::Kind, int64_t>{{Call::Kind::kBarrier, 2}, {Call::Kind::kExchange, 1}}));
  EXPECT_EQ(traffic.nodes[0].messages_sent, 1);
  EXPECT_EQ(traffic.nodes[0].bytes_sent, 7);
  EXPECT_EQ(traffic.nodes[1].messages_received, 1);
  EXPECT_EQ(traffic.nodes[1].bytes_received, 7);
  EXPECT_EQ(traffic.nodes[1].messages_sent, 0);
}

TEST(Simulated, MessagesOfUnexpectedSizeAreReportedOnAllRanks) {
  Simulation simulation(3, 1, 0);
  const auto errors = errors_of(simulation, 3, [](Comm& comm) {
    std::byte data[8] = {};
    if (comm.rank() == 0) comm.exchange(std::vector<SendMessage>{{1, data}}, {});
    if (comm.rank() == 1) comm.exchange({}, std::vector<ReceiveMessage>{{0, std::span(data, 4)}});
    if (comm.rank() == 2) comm.exchange({}, {});
  });
  EXPECT_EQ(errors, std::vector<std::string>(3, "exchange: rank 0 sends 8 bytes to rank 1, which expects 4"));
}

TEST(Simulated, WindowsOfDifferentSizeAreReportedEvenWhenTheMemoryIsThere) {
  Simulation simulation(2, 1, 0);
  const auto errors = errors_of(simulation, 2, [](Comm& comm) {
    comm.shared_windows(100);
    comm.shared_windows(10 + comm.rank());
    comm.barrier();
  });
  for (const std::string& error : errors)
    EXPECT_NE(error.find("asks for shared windows of"), std::string::npos) << error;
}

TEST(Simulated, ARankThatThrowsDoesNotHangTheOthers) {
  Simulation simulation(3, 1, 7);
  const auto errors = errors_of(simulation, 3, [](Comm& comm) {
    comm.barrier();
    if (comm.rank() == 1) throw std::runtime_error("disk on fire");
    comm.barrier();
  });
  EXPECT_EQ(errors[1], "disk on fire");
  EXPECT_EQ(errors[0], "no rank can go on: rank 0 waits in barrier, rank 1 has finished, rank 2 in barrier");
  EXPECT_EQ(errors[2], errors[0]);
}

TEST(Simulated, CallsAfterADeadlockThrowTheSameErrorAgain) {
  Simulation simulation(2, 1, 0);
  const auto errors = errors_of(simulation, 2, [&](Comm& comm) {
    if (comm.rank() == 1) return;
    EXPECT_THROW(comm.barrier(), Error);
    comm.node_barrier();
  });
  EXPECT_EQ(errors[0], "no rank can go on: rank 0 waits in barrier, rank 1 has finished");
}

TEST(Simulated, AnInterruptEndsRanksThatRunWaitOrSleep) {
  Simulation simulation(3, 1, 0);
  std::thread other;
  const auto errors = errors_of(simulation, 3, [&](Comm& comm) {
    if (comm.rank() == 1) comm.barrier();
    if (comm.rank() == 2) clock_of_thread().sleep_until(1e9);
    for (int step = 0;; ++step) {
      if (step == 3) other = std::thread([&] { simulation.interrupt(); });
      clock_of_thread().sleep_until(static_cast<double>(step));
    }
  });
  other.join();
  for (const std::string& error : errors) EXPECT_EQ(error, "the simulation was interrupted");
}

TEST(Simulated, RunRanksThrowsTheCauseNotTheDeadlockThatFollows) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const auto body = [](Comm& comm) {
      comm.barrier();
      if (comm.rank() == 2) throw std::runtime_error("the cause");
      comm.barrier();
    };
    try {
      run_ranks(4, body, seed);
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "the cause");
    }
  }
}

TEST(Simulated, SharedMemoryCanBeRefused) {
  Simulation simulation(2, 1, 0, /*shared_memory=*/false);
  const auto errors = errors_of(simulation, 2, [](Comm& comm) {
    EXPECT_TRUE(comm.shared_windows(64).empty());
    EXPECT_NE(comm.shared_refusal(), "");
    comm.barrier();
  });
  EXPECT_EQ(errors, std::vector<std::string>(2));
}

TEST(Simulated, MoreNodesThanRanksAreRefused) {
  EXPECT_THROW(Simulation(2, 3, 0), Error);
  EXPECT_THROW(Simulation(0, 1, 0), Error);
  EXPECT_THROW(Simulation(2, 0, 0), Error);
}

TEST(Simulated, ACallBeforeEnterIsRefused) {
  Simulation simulation(1, 1, 0);
  EXPECT_THROW(simulation.comm(0)->barrier(), Error);
}

TEST(Simulated, TimePassesOnlyWhereAllSleep) {
  std::vector<double> woke(3);
  run_ranks(3, [&](Comm& comm) {
    Clock& clock = clock_of_thread();
    EXPECT_TRUE(clock.simulated());
    clock.sleep_until(clock.now() + 3600.0 * (comm.rank() + 1));
    woke[comm.rank()] = clock.now();
    comm.barrier();
    EXPECT_EQ(clock.now(), 3 * 3600.0);
  });
  EXPECT_EQ(woke, (std::vector<double>{3600, 7200, 10800}));
  EXPECT_FALSE(clock_of_thread().simulated());
}

TEST(Simulated, AWaitEndsWhenItIsWokenOrTimeIsUp) {
  std::atomic<uint32_t> word{0};
  std::vector<double> woke(2);
  run_ranks(3, [&](Comm& comm) {
    Clock& clock = clock_of_thread();
    if (comm.rank() == 0) {
      clock.sleep_until(5);
      word = 1;
      clock.wake_all(word);
    } else {
      const double deadline = comm.rank() == 1 ? kNever : 2.0;
      while (word == 0 && clock.now() < deadline) clock.wait(word, 0, deadline);
      woke[comm.rank() - 1] = clock.now();
    }
  });
  EXPECT_EQ(woke, (std::vector<double>{5, 2}));
}

TEST(Simulated, ASleepThatNobodyEndsIsADeadlock) {
  std::atomic<uint32_t> word{0};
  Simulation simulation(2, 1, 0);
  const auto errors = errors_of(simulation, 2, [&](Comm& comm) {
    if (comm.rank() == 0) clock_of_thread().wait(word, 0, kNever);
    comm.barrier();
  });
  for (const std::string& error : errors) {
    EXPECT_EQ(error, "no rank can go on: rank 0 sleeps until somebody wakes it, rank 1 waits in barrier");
  }
}

}  // namespace
}  // namespace swath
