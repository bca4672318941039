// What every Comm does, whatever carries it. Of swath_core_tests, and of swath_mpi_tests, which mpiexec runs.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "comm/comm.h"
#include "comm/comm_contract_for_tests.h"

namespace swath {
namespace {

class CommContract : public testing::TestWithParam<CommUnderTest> {
 protected:
  void run(const std::function<void(Comm&)>& body) { GetParam().run(body); }
  int ranks() const { return GetParam().ranks; }
};

INSTANTIATE_TEST_SUITE_P(All, CommContract, testing::ValuesIn(comms_under_test()),
                         [](const auto& instance) { return instance.param.name; });

// Bytes that tell who made them, for whom, and where they are in the message.
std::vector<std::byte> message(int64_t bytes, int from, int to) {
  std::vector<std::byte> data(bytes);
  for (int64_t i = 0; i < bytes; ++i)
    data[i] = static_cast<std::byte>(i * 7 + (i >> 12) + int64_t{31} * from + int64_t{101} * to + 1);
  return data;
}

TEST_P(CommContract, RanksAndNodesAreNumberedFromZeroInOrder) {
  run([&](Comm& comm) {
    EXPECT_EQ(comm.size(), ranks());
    EXPECT_GE(comm.rank(), 0);
    EXPECT_LT(comm.rank(), comm.size());
    EXPECT_EQ(comm.node_of(0), 0);
    for (int r = 1; r < comm.size(); ++r) EXPECT_LE(comm.node_of(r), comm.node_of(r - 1) + 1);
    EXPECT_EQ(comm.node_count(), comm.node_of(comm.size() - 1) + 1);
  });
}

TEST_P(CommContract, NobodyLeavesABarrierBeforeAllHaveCome) {
  // The simulation runs the body once a seed: count the arrivals of one run by its phases.
  const auto arrivals = shared_by_ranks<std::atomic<int>>();
  run([&](Comm& comm) {
    const int before = comm.rank() == 0 ? arrivals->exchange(0) : 0;
    EXPECT_EQ(before % comm.size(), 0);
    comm.barrier();
    for (int phase = 1; phase <= 40; ++phase) {
      if (phase % comm.size() == comm.rank() && phase < 5) usleep(2000);
      arrivals->fetch_add(1);
      comm.barrier();
      EXPECT_EQ(arrivals->load(), phase * comm.size());
      comm.barrier();
    }
  });
}

TEST_P(CommContract, ANodeBarrierWaitsForTheRanksOfItsNodeOnly) {
  const auto arrivals = shared_by_ranks<std::array<std::atomic<int>, 8>>();
  run([&](Comm& comm) {
    const int node = comm.node_of(comm.rank());
    int node_ranks = 0;
    for (int r = 0; r < comm.size(); ++r) node_ranks += comm.node_of(r) == node ? 1 : 0;
    const int start = (*arrivals)[node].load();
    comm.barrier();
    // Node 0 meets more often than the others: they must not be needed for it.
    const int phases = node == 0 ? 7 : 3;
    for (int phase = 1; phase <= phases; ++phase) {
      (*arrivals)[node].fetch_add(1);
      comm.node_barrier();
      EXPECT_EQ((*arrivals)[node].load(), start + phase * node_ranks);
      comm.node_barrier();
    }
    comm.barrier();
  });
}

TEST_P(CommContract, ANodeBarrierInTwoHalvesWaitsInTheSecond) {
  const auto arrivals = shared_by_ranks<std::array<std::atomic<int>, 8>>();
  run([&](Comm& comm) {
    const int node = comm.node_of(comm.rank());
    int node_ranks = 0;
    for (int r = 0; r < comm.size(); ++r) node_ranks += comm.node_of(r) == node ? 1 : 0;
    const int start = (*arrivals)[node].load();
    comm.barrier();
    for (int phase = 1; phase <= 20; ++phase) {
      (*arrivals)[node].fetch_add(1);
      comm.node_arrive();
      if (phase % comm.size() == comm.rank()) usleep(500);
      comm.node_wait();
      // All have come to this phase; some may have come to the next one, none to that after it.
      const int come = (*arrivals)[node].load() - start;
      EXPECT_GE(come, phase * node_ranks);
      EXPECT_LT(come, (phase + 1) * node_ranks);
    }
    comm.barrier();
  });
}

TEST_P(CommContract, AnArrivalThatAnErrorLeftBehindIsWaitedForByTheNextCall) {
  run([](Comm& comm) {
    for (int i = 0; i < 3; ++i) {
      comm.node_arrive();
      comm.barrier();
      comm.node_arrive();
      std::vector<std::byte> all(static_cast<size_t>(comm.size()));
      comm.allgather(message(1, comm.rank(), 0), all);
      EXPECT_EQ(all[0], message(1, 0, 0)[0]);
    }
  });
}

TEST_P(CommContract, AllgatherPutsEveryRanksBytesInOrder) {
  run([](Comm& comm) {
    for (int64_t bytes : {0, 1, 8, 4096, 300'001}) {
      const std::vector<std::byte> mine = message(bytes, comm.rank(), 0);
      std::vector<std::byte> all(bytes * comm.size());
      comm.allgather(mine, all);
      std::vector<std::byte> expected;
      for (int r = 0; r < comm.size(); ++r) {
        const std::vector<std::byte> part = message(bytes, r, 0);
        expected.insert(expected.end(), part.begin(), part.end());
      }
      EXPECT_EQ(all, expected) << bytes << " bytes";
    }
  });
}

TEST_P(CommContract, BroadcastReachesAllFromEveryRoot) {
  run([](Comm& comm) {
    for (int root = 0; root < comm.size(); ++root) {
      for (int64_t bytes : {0, 1, 256 << 10, 300'001}) {
        const std::vector<std::byte> expected = message(bytes, root, root);
        std::vector<std::byte> data = comm.rank() == root ? expected : std::vector<std::byte>(bytes);
        comm.broadcast(data, root);
        EXPECT_EQ(data, expected) << bytes << " bytes from rank " << root;
      }
    }
  });
}

// Sends bytes_between(from, to) bytes between every pair, -1 meaning no message, and checks each message.
void exchange_and_check(Comm& comm, const std::function<int64_t(int from, int to)>& bytes_between) {
  const int me = comm.rank();
  std::vector<std::vector<std::byte>> out(comm.size()), in(comm.size());
  std::vector<SendMessage> sends;
  std::vector<ReceiveMessage> receives;
  for (int other = comm.size() - 1; other >= 0; --other) {
    if (const int64_t bytes = bytes_between(me, other); bytes >= 0) {
      out[other] = message(bytes, me, other);
      sends.push_back({other, out[other]});
    }
    if (const int64_t bytes = bytes_between(other, me); bytes >= 0) {
      in[other].resize(bytes);
      receives.insert(receives.begin(), {other, in[other]});
    }
  }
  comm.exchange(sends, receives);
  for (const ReceiveMessage& got : receives) {
    EXPECT_EQ(in[got.from], message(bytes_between(got.from, me), got.from, me)) << got.from << " to " << me;
  }
}

TEST_P(CommContract, ExchangeDeliversEachMessageToItsReceiver) {
  run([](Comm& comm) {
    const int size = comm.size();
    const auto all_to_all = [](int from, int to) { return 100 * from + 10 * to + 3; };
    const auto ring = [=](int from, int to) { return (from + 1) % size == to ? 5000 : -1; };
    const auto nobody = [](int, int) { return -1; };
    const auto only_empty = [](int, int) { return 0; };
    const auto to_oneself = [](int from, int to) { return from == to ? 77 : -1; };
    const auto first_to_last = [=](int from, int to) { return from == 0 && to == size - 1 ? 9 : -1; };
    for (int i = 0; i < 3; ++i) {
      exchange_and_check(comm, all_to_all);
      exchange_and_check(comm, ring);
      exchange_and_check(comm, nobody);
      exchange_and_check(comm, only_empty);
      exchange_and_check(comm, to_oneself);
      exchange_and_check(comm, first_to_last);
    }
  });
}

TEST_P(CommContract, ExchangeCarriesMessagesLargerThanAnyStagingArea) {
  run([](Comm& comm) {
    exchange_and_check(comm, [](int from, int to) { return (from + 2 * to) % 3 == 0 ? 1'300'007 + from : 12; });
  });
}

TEST_P(CommContract, WindowsAreSeenByTheRanksOfTheirNodeOnly) {
  run([](Comm& comm) {
    const int me = comm.rank();
    for (int64_t bytes : {100, 40, 300'000, 0, 70'000}) {
      const auto windows = comm.shared_windows(bytes);
      ASSERT_EQ(std::ssize(windows), comm.size()) << comm.shared_refusal();
      EXPECT_EQ(comm.shared_refusal(), "");
      comm.barrier();
      const std::vector<std::byte> mine = message(bytes, me, static_cast<int>(bytes % 5));
      std::copy(mine.begin(), mine.end(), windows[me].begin());
      comm.node_barrier();
      for (int r = 0; r < comm.size(); ++r) {
        if (comm.node_of(r) != comm.node_of(me)) {
          EXPECT_TRUE(windows[r].empty());
          continue;
        }
        ASSERT_EQ(std::ssize(windows[r]), bytes);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(windows[r].data()) % 64, 0u);
        const std::vector<std::byte> theirs = message(bytes, r, static_cast<int>(bytes % 5));
        EXPECT_TRUE(std::equal(theirs.begin(), theirs.end(), windows[r].begin())) << "window of rank " << r;
      }
      comm.barrier();
    }
  });
}

TEST_P(CommContract, WindowsAreKeptForRequestsThatAskForNoMore) {
  run([](Comm& comm) {
    const auto large = comm.shared_windows(8192);
    const auto small = comm.shared_windows(64);
    ASSERT_EQ(large.size(), small.size());
    for (int r = 0; r < comm.size(); ++r) EXPECT_EQ(small[r].data(), large[r].data());
    comm.barrier();
  });
}

}  // namespace
}  // namespace swath
