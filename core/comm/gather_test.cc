#include "comm/gather.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "comm/agreement.h"
#include "comm/reductions_for_tests.h"
#include "comm/simulated.h"

namespace swath {
namespace {

// The share of each rank: empty for some, long for others.
std::vector<Bytes> random_shares(int ranks, uint32_t seed) {
  std::mt19937 random(seed);
  const unsigned kinds = 1 + random() % 4;
  std::vector<Bytes> shares(ranks);
  for (Bytes& share : shares) {
    const unsigned kind = random() % kinds;
    const unsigned bytes = kind == 0 ? 0 : kind == 1 ? random() % 20 : kind == 2 ? random() % 3000 : random() % 400'000;
    for (unsigned i = 0; i < bytes; ++i) share.push_back(static_cast<std::byte>(random()));
  }
  return shares;
}

void gather_and_check(Comm& comm, const std::vector<Bytes>& shares) {
  const std::vector<Bytes> all = gather_bytes(comm, shares[comm.rank()]);
  ASSERT_EQ(std::ssize(all), comm.size());
  for (int r = 0; r < comm.size(); ++r) EXPECT_TRUE(all[r] == shares[r]) << "share of rank " << r;
}

TEST(GatherBytes, GivesEveryRankTheSharesOfAll) {
  for (const bool shared_memory : {true, false}) {
    for (int ranks = 1; ranks <= 9; ++ranks) {
      for (int nodes = 1; nodes <= ranks; ++nodes) {
        Simulation simulation(ranks, nodes, 0, shared_memory);
        run_ranks(simulation, [&](Comm& comm) {
          for (uint32_t seed = 0; seed < 4; ++seed) gather_and_check(comm, random_shares(ranks, seed));
        });
      }
    }
  }
}

TEST(GatherBytes, OfNothingIsNothing) {
  run_ranks(3, [](Comm& comm) { EXPECT_EQ(gather_bytes(comm, {}), std::vector<Bytes>(3)); }, 0, 2);
}

std::vector<int64_t> bytes_of_nodes(const std::vector<Bytes>& shares, int ranks_of_node) {
  std::vector<int64_t> bytes(shares.size() / ranks_of_node);
  for (size_t rank = 0; rank < shares.size(); ++rank) bytes[rank / ranks_of_node] += std::ssize(shares[rank]);
  return bytes;
}

// Besides the reduction of the longest share (8 bytes per message) and four agreements that there is memory, a node
// sends the size of each share and the share, once to each other node.
TEST(GatherBytes, WhatANodeBringsComesOnceToEachOther) {
  constexpr int64_t kSizeBytes = 8;
  constexpr int kAgreements = 4;
  for (const bool shared_memory : {true, false}) {
    for (const int nodes : {2, 3, 4, 8, 16, 33, 64}) {
      for (const int ranks_of_node : {1, 2}) {
        std::vector<Bytes> shares = random_shares(nodes * ranks_of_node, nodes);
        shares[0].resize(5);
        Simulation simulation(nodes * ranks_of_node, nodes, 0, shared_memory);
        run_ranks(simulation, [&](Comm& comm) {
          gather_bytes(comm, {});  // only the reduction
          for (int i = 0; i < kAgreements; ++i) agree(comm, std::nullopt);
        });
        const Traffic before = simulation.traffic();
        Simulation again(nodes * ranks_of_node, nodes, 0, shared_memory);
        run_ranks(again, [&](Comm& comm) { gather_and_check(comm, shares); });
        const Traffic after = again.traffic();
        const std::vector<int64_t> brought = bytes_of_nodes(shares, ranks_of_node);
        const int64_t all = std::accumulate(brought.begin(), brought.end(), int64_t{0});
        for (int node = 0; node < nodes; ++node) {
          EXPECT_EQ(after.nodes[node].bytes_received - before.nodes[node].bytes_received,
                    all - brought[node] + kSizeBytes * (nodes - 1) * ranks_of_node);
          EXPECT_LE(after.nodes[node].messages_sent - before.nodes[node].messages_sent, 2 * log2_ceil(nodes));
        }
        EXPECT_EQ(before.calls, (std::map<Call::Kind, int64_t>{{Call::Kind::kAllreduce, 1 + kAgreements}}));
        EXPECT_EQ(after.calls.at(Call::Kind::kAllreduce), 1 + kAgreements);
        EXPECT_FALSE(after.calls.contains(Call::Kind::kAllgather));
      }
    }
  }
}

}  // namespace
}  // namespace swath
