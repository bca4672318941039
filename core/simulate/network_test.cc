#include "simulate/network.h"

#include <gtest/gtest.h>

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

TEST(Storage, AFileIsSpreadOverItsServersByStripes) {
  const Machine machine = small_machine(1, 1, 4);
  Network network(machine);
  Storage storage(machine, network, 0, 0);
  const Extent all{0, 10 * machine.stripe.unit};
  storage.serve(0, Direction::kWrite, {&all, 1}, 0);
  EXPECT_EQ(storage.uses()[0].written_bytes, 3 * machine.stripe.unit);
  EXPECT_EQ(storage.uses()[3].written_bytes, 2 * machine.stripe.unit);
  EXPECT_EQ(storage.uses()[0].requests, 1);  // its stripes are contiguous on the server
}

TEST(Storage, AListIsOneRequestForEachServerAndWithoutListsEachRegionIsOne) {
  Machine machine = small_machine(1, 1, 2);
  const std::vector<Extent> regions{{0, 8}, {16, 8}, {4096, 8}};
  for (const bool list : {true, false}) {
    machine.servers.list = list;
    Network network(machine);
    Storage storage(machine, network, 0, 0);
    storage.serve(0, Direction::kWrite, regions, 0);
    EXPECT_EQ(storage.uses()[0].requests, list ? 1 : 2);
    EXPECT_EQ(storage.uses()[0].regions, 2);
    EXPECT_EQ(storage.uses()[1].requests, 1);
  }
}

TEST(Storage, AStripeThatAnotherNodeWroteCostsALockTransfer) {
  Machine machine = small_machine(2, 1, 1);
  const Extent first{0, 8};
  const Extent second{8, 8};
  for (const bool locks : {true, false}) {
    machine.servers.locks = locks;
    Network network(machine);
    Storage storage(machine, network, 0, 0);
    storage.serve(0, Direction::kWrite, {&first, 1}, 0);
    storage.serve(1, Direction::kWrite, {&second, 1}, 1);
    storage.serve(1, Direction::kWrite, {&second, 1}, 2);
    EXPECT_EQ(storage.uses()[0].lock_transfers, locks ? 1 : 0);
  }
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
