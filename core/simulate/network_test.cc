#include "simulate/network.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "simulate/simulate_for_tests.h"
#include "simulate/storage.h"

namespace swath::simulate {
namespace {

Machine machine_of(NetworkKind kind, std::vector<int64_t> dimensions, int nodes) {
  Machine machine = small_machine(nodes, 1);
  machine.network = {.kind = kind, .dimensions = std::move(dimensions), .link_bandwidth = 1e6, .latency = 1e-3};
  return machine;
}

TEST(Network, AMessageTakesItsBytesAndTheLatency) {
  Network network(machine_of(NetworkKind::kFlat, {}, 4));
  EXPECT_DOUBLE_EQ(network.send(0, 1, 1'000'000, 2), 2 + 1 + 1e-3);
}

TEST(Network, SendersToOneNodeWaitForEachOther) {
  Network network(machine_of(NetworkKind::kFlat, {}, 4));
  EXPECT_DOUBLE_EQ(network.send(0, 3, 1'000'000, 0), 1 + 1e-3);
  EXPECT_DOUBLE_EQ(network.send(1, 3, 1'000'000, 0), 2 + 1e-3);
  EXPECT_DOUBLE_EQ(network.send(2, 0, 1'000'000, 0), 1 + 1e-3);  // elsewhere
}

TEST(Network, AMessageUsesAPauseOfALinkThatIsReservedForLater) {
  Network network(machine_of(NetworkKind::kFlat, {}, 4));
  network.send(0, 3, 1'000'000, 5);
  EXPECT_DOUBLE_EQ(network.send(1, 3, 1'000'000, 0), 1 + 1e-3);
}

TEST(Network, InAMeshMessagesMeetOnTheWay) {
  Network network(machine_of(NetworkKind::kMesh, {1, 6}, 4));
  network.send(0, 3, 1'000'000, 0);
  EXPECT_DOUBLE_EQ(network.send(1, 2, 1'000'000, 0), 2 + 1e-3);  // the same link between 1 and 2
  EXPECT_DOUBLE_EQ(network.send(3, 0, 1'000'000, 0), 1 + 1e-3);  // the other direction
}

TEST(Network, LeavesOfAFatTreeShareTheirLinksUpwards) {
  Network network(machine_of(NetworkKind::kFatTree, {2, 1}, 4));
  network.send(0, 2, 1'000'000, 0);
  EXPECT_DOUBLE_EQ(network.send(1, 3, 1'000'000, 0), 2 + 1e-3);
  Network wide(machine_of(NetworkKind::kFatTree, {2, 2}, 4));
  wide.send(0, 2, 1'000'000, 0);
  EXPECT_DOUBLE_EQ(wide.send(1, 3, 1'000'000, 0), 1.5 + 1e-3);
}

// Servers of a machine, and calls to them one after the other.
struct Servers {
  explicit Servers(Machine given) : machine(std::move(given)) { storage.add_file(); }
  const Machine machine;
  Network network{machine};
  Fibers fibers{1};
  Storage storage{machine, network, fibers, {}};

  // Returns when the last of the writes was done.
  double write(const std::vector<std::pair<int, std::vector<Extent>>>& of_nodes) {
    double last = 0;
    fibers.run([&](int) {
      for (const auto& [node, extents] : of_nodes) {
        storage.serve({node, Direction::kWrite, false}, extents, fibers.now(), [&](double done) {
          last = done;
          fibers.wake(0, done);
        });
        fibers.block("a test");
      }
    });
    return last;
  }
};

TEST(Storage, AFileIsSpreadOverItsServersByStripes) {
  Servers servers(small_machine(1, 1, 4));
  const int64_t unit = servers.machine.stripe.unit;
  servers.write({{0, {{0, 10 * unit}}}});
  EXPECT_EQ(servers.storage.uses()[0].written_bytes, 3 * unit);
  EXPECT_EQ(servers.storage.uses()[3].written_bytes, 2 * unit);
  EXPECT_EQ(servers.storage.uses()[0].requests, 1);  // its stripes are contiguous on the server
}

TEST(Storage, ARequestTakesItsWayTheServersWorkAndTheDisk) {
  Machine machine = small_machine(1, 1, 1);
  machine.network.latency = 1e-3;
  Servers servers(machine);
  const double seconds = servers.write({{0, {{0, 1'000'000}}}});
  EXPECT_NEAR(seconds, 1'000'000 / 1e9 + 1e-3 + 1e-4 + 1'000'000 / 100e6 + 1e-3, 1e-6);
}

TEST(Storage, AListIsOneRequestForEachServerAndWithoutListsEachRegionIsOne) {
  Machine machine = small_machine(1, 1, 2);
  for (const bool list : {true, false}) {
    machine.servers.list = list;
    Servers servers(machine);
    servers.write({{0, {{0, 8}, {16, 8}, {4096, 8}}}});
    EXPECT_EQ(servers.storage.uses()[0].requests, list ? 1 : 2);
    EXPECT_EQ(servers.storage.uses()[0].regions, 2);
    EXPECT_EQ(servers.storage.uses()[1].requests, 1);
  }
}

TEST(Storage, AStripeThatAnotherNodeWroteCostsALockTransfer) {
  Machine machine = small_machine(2, 1, 1);
  double seconds[2] = {};
  for (const bool locks : {false, true}) {
    machine.servers.locks = locks;
    Servers servers(machine);
    seconds[locks ? 1 : 0] = servers.write({{0, {{0, 8}}}, {1, {{8, 8}}}, {1, {{8, 8}}}});
    EXPECT_EQ(servers.storage.uses()[0].lock_transfers, locks ? 1 : 0);
  }
  EXPECT_GT(seconds[1], seconds[0]);
}

TEST(Timelines, KeepTheSecondsOfWorkWhenTheirIntervalsGrow) {
  Timelines lines(1);
  lines.add(0, 0, 0.5);
  lines.add(0, 90, 100);
  double seconds = 0;
  for (const double one : lines.rows()[0]) seconds += one;
  EXPECT_NEAR(seconds, 10.5, 1e-9);
  EXPECT_GE(lines.interval_seconds() * Timelines::kIntervals, 100);
}

}  // namespace
}  // namespace swath::simulate
