#include "comm/reduction.h"

#include <gtest/gtest.h>

#include <vector>

#include "comm/reductions_for_tests.h"
#include "comm/simulated.h"

namespace swath {
namespace {

TEST(ReductionSteps, EachSendMeetsItsReceive) {
  for (int count = 1; count <= 70; ++count) {
    std::vector<std::vector<ReductionStep>> steps;
    for (int place = 0; place < count; ++place) steps.push_back(reduction_steps(place, count));
    for (int place = 0; place < count; ++place) {
      ASSERT_EQ(steps[place].size(), steps[0].size());
      for (size_t i = 0; i < steps[0].size(); ++i) {
        const ReductionStep& step = steps[place][i];
        if (step.send_to >= 0) EXPECT_EQ(steps[step.send_to][i].receive_from, place);
        if (step.receive_from >= 0) EXPECT_EQ(steps[step.receive_from][i].send_to, place);
      }
    }
  }
}

TEST(ReductionSteps, APlaceSendsNoMoreThanTheLogarithmOfTheirNumber) {
  for (int count = 1; count <= 2000; count += count < 70 ? 1 : 97) {
    for (int place = 0; place < count; ++place) {
      int sends = 0;
      for (const ReductionStep& step : reduction_steps(place, count)) sends += step.send_to >= 0 ? 1 : 0;
      EXPECT_LE(sends, log2_ceil(count)) << place << " of " << count;
    }
  }
}

TEST(Reduction, GivesAllTheSameForAnyNumberOfRanksAndNodes) {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    for (int nodes = 1; nodes <= ranks; ++nodes) {
      run_ranks(
          ranks,
          [&](Comm& comm) {
            for (int64_t count : {1, 3, 17, 64}) {
              std::vector<AffineMap> record = maps_of(comm.rank(), count, nodes);
              comm.allreduce(std::as_writable_bytes(std::span(record)), combine_maps);
              EXPECT_EQ(record, maps_of_all(ranks, count, nodes)) << ranks << " ranks on " << nodes << " nodes";
            }
          },
          ranks, nodes);
    }
  }
}

TEST(Reduction, OfRecordsThatAreATypeCombinesThem) {
  run_ranks(
      5,
      [](Comm& comm) {
        const AffineMap all = allreduce_record(comm, maps_of(comm.rank(), 1)[0]);
        EXPECT_EQ(all, maps_of_all(5, 1)[0]);
      },
      0, 3);
}

// One call: a node sends at most as many messages as the logarithm of the nodes, each as long as the record.
TEST(Reduction, MessagesBetweenNodesAreFewAndOfTheRecordsSize) {
  for (const int nodes : {1, 2, 3, 4, 8, 16, 33, 64}) {
    for (const int ranks_of_node : {1, 2}) {
      Simulation simulation(nodes * ranks_of_node, nodes, 0);
      run_ranks(simulation, [](Comm& comm) {
        std::vector<AffineMap> record = maps_of(comm.rank(), 4);
        comm.allreduce(std::as_writable_bytes(std::span(record)), combine_maps);
      });
      const Traffic traffic = simulation.traffic();
      EXPECT_EQ(traffic.calls, (std::map<Call::Kind, int64_t>{{Call::Kind::kAllreduce, 1}}));
      for (const Traffic::OfNode& node : traffic.nodes) {
        EXPECT_GE(node.messages_sent, nodes > 1 ? 1 : 0);
        EXPECT_LE(node.messages_sent, log2_ceil(nodes));
        EXPECT_EQ(node.bytes_sent, node.messages_sent * 4 * 8);
      }
    }
  }
}

}  // namespace
}  // namespace swath
