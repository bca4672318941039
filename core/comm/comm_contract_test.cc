// The contract of every Comm. It is part of swath_core_tests, and of swath_mpi_tests, which mpiexec runs.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "comm/comm.h"
#include "comm/comm_contract_for_tests.h"
#include "comm/gather.h"
#include "comm/reductions_for_tests.h"

namespace swath {
namespace {

class CommContract : public testing::TestWithParam<CommUnderTest> {
 protected:
  void run(const std::function<void(Comm&)>& body) { GetParam().run(body); }
  int ranks() const { return GetParam().ranks; }
  bool has_windows() const { return GetParam().has_windows; }
};

INSTANTIATE_TEST_SUITE_P(All, CommContract, testing::ValuesIn(comms_under_test()),
                         [](const auto& instance) { return instance.param.name; });

// Bytes that depend on the sender, the receiver and the position.
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
  // The simulation runs the body once for each seed: count the arrivals of one run by its phases.
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
    // Node 0 meets more often than the other nodes, which must not be needed for it.
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
      // All ranks have entered this phase, some perhaps the next one, none the one after that.
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

// After an error ended a wait, the next two calls gather the right bytes: the last rank reads so late that the others
// may already write the next ones.
TEST_P(CommContract, WhatAnArrivalLeftBehindDoesNotMixTwoCalls) {
  run([](Comm& comm) {
    for (int call = 0; call < 30; ++call) {
      if (call % 3 == 0) comm.node_arrive();
      std::vector<std::byte> all(int64_t{60'000} * comm.size());
      comm.allgather(message(60'000, comm.rank(), call), all);
      for (int r = 0; r < comm.size(); ++r) {
        const std::vector<std::byte> expected = message(60'000, r, call);
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), all.begin() + int64_t{60'000} * r));
      }
    }
  });
}

void allreduce_and_check(Comm& comm, int64_t maps, uint32_t call) {
  std::vector<AffineMap> record = maps_of(comm.rank(), maps, call);
  comm.allreduce(std::as_writable_bytes(std::span(record)), combine_maps);
  EXPECT_EQ(record, maps_of_all(comm.size(), maps, call)) << "record of " << maps * 8 << " bytes";
}

TEST_P(CommContract, AllreduceCombinesTheRecordsOfAllInTheirOrder) {
  run([](Comm& comm) {
    uint32_t call = 0;
    for (int64_t maps : {1, 2, 7, 32, 64, 512, 0}) {
      for (int i = 0; i < 5; ++i) allreduce_and_check(comm, maps, ++call);
    }
  });
}

TEST_P(CommContract, ARecordThatIsTooLongIsRefused) {
  run([](Comm& comm) {
    std::vector<std::byte> record(kRecordBytesMax + 1);
    EXPECT_THROW(comm.allreduce(record, combine_maps), Error);
    allreduce_and_check(comm, 1, 0);
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

// Each pair of ranks exchanges bytes_between(from, to) bytes, -1 for no message; checks each message.
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

TEST_P(CommContract, WindowsThatCannotBeHadAreRefusedOnAllRanks) {
  if (has_windows()) GTEST_SKIP() << "they can be had";
  run([](Comm& comm) {
    for (int64_t bytes : {100, 0}) {
      EXPECT_TRUE(comm.shared_windows(bytes).empty());
      EXPECT_NE(comm.shared_refusal(), "");
    }
    comm.barrier();
  });
}

TEST_P(CommContract, WindowsAreSeenByTheRanksOfTheirNodeOnly) {
  if (!has_windows()) GTEST_SKIP() << "there are none";
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
  if (!has_windows()) GTEST_SKIP() << "there are none";
  run([](Comm& comm) {
    const auto large = comm.shared_windows(8192);
    const auto small = comm.shared_windows(64);
    ASSERT_EQ(large.size(), small.size());
    for (int r = 0; r < comm.size(); ++r) EXPECT_EQ(small[r].data(), large[r].data());
    comm.barrier();
  });
}

TEST_P(CommContract, GatheredBytesAreThoseOfEveryRank) {
  run([](Comm& comm) {
    const auto bytes_of = [](int rank, int call) {
      return call == 0 ? 0 : (rank + call) % 3 == 0 ? 0 : rank == 1 ? int64_t{70'000} * call : rank * 13 + call;
    };
    for (const int call : {1, 0, 2, 6}) {
      const std::vector<Bytes> all = gather_bytes(comm, message(bytes_of(comm.rank(), call), comm.rank(), call));
      ASSERT_EQ(std::ssize(all), comm.size());
      for (int r = 0; r < comm.size(); ++r) EXPECT_EQ(all[r], message(bytes_of(r, call), r, call)) << "of rank " << r;
    }
  });
}

TEST_P(CommContract, ADuplicateHasTheSameRanksAndCallsOfItsOwn) {
  run([](Comm& comm) {
    const std::unique_ptr<Comm> duplicate = comm.duplicate();
    EXPECT_EQ(duplicate->name(), comm.name());
    EXPECT_EQ(duplicate->rank(), comm.rank());
    ASSERT_EQ(duplicate->size(), comm.size());
    for (int r = 0; r < comm.size(); ++r) EXPECT_EQ(duplicate->node_of(r), comm.node_of(r));
    const std::unique_ptr<Comm> second = duplicate->duplicate();
    for (uint32_t call = 0; call < 5; ++call) {
      comm.node_arrive();
      allreduce_and_check(*duplicate, 3, call);
      second->node_arrive();
      duplicate->node_barrier();
      comm.node_wait();
      allreduce_and_check(*second, 4, call);
    }
  });
}

TEST_P(CommContract, ADuplicateHasWindowsOfItsOwn) {
  if (!has_windows()) GTEST_SKIP() << "there are none";
  run([](Comm& comm) {
    const std::unique_ptr<Comm> duplicate = comm.duplicate();
    const int me = comm.rank();
    const auto windows = comm.shared_windows(1000);
    const auto others = duplicate->shared_windows(2000);
    ASSERT_EQ(std::ssize(windows), comm.size());
    ASSERT_EQ(std::ssize(others), comm.size());
    std::fill(windows[me].begin(), windows[me].end(), std::byte{1});
    std::fill(others[me].begin(), others[me].end(), std::byte{2});
    comm.barrier();
    for (int r = 0; r < comm.size(); ++r) {
      for (const std::byte one : windows[r]) ASSERT_EQ(one, std::byte{1});
      for (const std::byte one : others[r]) ASSERT_EQ(one, std::byte{2});
    }
    comm.barrier();
  });
}

// Makes all calls, so often that the calls of the two threads come in any order.
void make_many_calls(Comm& comm, int calls, uint32_t seed) {
  for (int i = 0; i < calls; ++i) {
    const uint32_t call = seed + static_cast<uint32_t>(i);
    allreduce_and_check(comm, 1 + i % 9, call);
    std::vector<std::byte> data = message(100, 0, static_cast<int>(call));
    if (comm.rank() != 0) std::fill(data.begin(), data.end(), std::byte{0});
    comm.broadcast(data, 0);
    EXPECT_EQ(data, message(100, 0, static_cast<int>(call)));
    exchange_and_check(comm, [=](int from, int to) { return (from + to) % 50 + static_cast<int>(call % 7); });
    comm.node_barrier();
    comm.barrier();
  }
}

TEST_P(CommContract, ADuplicateIsCalledByAnotherThreadMeanwhileWhereThatMayBe) {
  run([](Comm& comm) {
    const std::unique_ptr<Comm> duplicate = comm.duplicate();
    if (comm.may_be_called_in_background()) {
      std::thread beside([&] { make_many_calls(*duplicate, 60, 1'000'000); });
      make_many_calls(comm, 40, 0);
      beside.join();
    } else {
      for (uint32_t i = 0; i < 10; ++i) {
        make_many_calls(comm, 1, i);
        make_many_calls(*duplicate, 1, 1'000'000 + i);
      }
    }
    comm.barrier();
  });
}

}  // namespace
}  // namespace swath
