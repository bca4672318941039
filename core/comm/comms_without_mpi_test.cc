// Runs the contract of comm_contract_test.cc for the comms that need no launcher: one rank, threads, forked processes.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "comm/comm_contract_for_tests.h"
#include "comm/fork_ranks_for_tests.h"
#include "comm/simulated.h"
#include "simulate/simulate_for_tests.h"

namespace swath {

std::vector<CommUnderTest> comms_under_test() {
  std::vector<CommUnderTest> all;
  all.push_back({"Solo", 1, [](const auto& body) { body(*make_solo_comm()); }});
  for (int ranks = 1; ranks <= 5; ++ranks) {
    for (int nodes : {1, 2, 5}) {
      if (nodes > ranks) continue;
      const std::string name = "SimulatedRanks" + std::to_string(ranks) + "Nodes" + std::to_string(nodes);
      all.push_back({name, ranks, [=](const auto& body) {
                       for (uint64_t seed = 0; seed < 2; ++seed) run_ranks(ranks, body, seed, nodes);
                     }});
    }
  }
  all.push_back({"SimulatedWithoutSharedMemory", 4,
                 [](const auto& body) {
                   Simulation simulation(4, 2, 0, /*shared_memory=*/false);
                   run_ranks(simulation, body);
                 },
                 /*has_windows=*/false});
  for (int ranks = 1; ranks <= 5; ++ranks) {
    for (int ranks_per_node : {1, 2, 5}) {
      const std::string name =
          "MachineOf" + std::to_string(ranks) + "Ranks" + std::to_string(ranks_per_node) + "OnANode";
      all.push_back({name, ranks, [=](const auto& body) {
                       simulate::World world(simulate::small_machine(5, ranks_per_node),
                                             {.ranks = ranks, .data = true});
                       world.run([&](int rank) { body(*world.comm(rank)); });
                     }});
    }
  }
  for (int ranks = 1; ranks <= 4; ++ranks) {
    all.push_back({"NodeSharedRanks" + std::to_string(ranks), ranks, [=](const auto& body) {
                     EXPECT_EQ(run_forked(ranks, body), std::vector<int>(ranks, 0))
                         << "see the children's output above";
                   }});
  }
  return all;
}

std::shared_ptr<void> memory_of_all_ranks(size_t bytes) {
  using Page = SharedByForks<std::array<std::byte, 4096>>;
  if (bytes > 4096) throw std::length_error("memory_of_all_ranks: more than a page");
  const auto page = std::make_shared<Page>();
  return {page, (*page)->data()};
}

}  // namespace swath
