// For tests of simulated machines: a small machine, and operations on one array.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "simulate/simulate.h"

namespace swath::simulate {

inline Machine small_machine(int nodes, int ranks_per_node, int servers = 2) {
  Machine machine;
  machine.name = "small";
  machine.nodes = nodes;
  machine.ranks_per_node = ranks_per_node;
  machine.servers.count = servers;
  machine.servers.request_overhead = 1e-4;
  machine.servers.disk = {.name = "small", .capacity_bytes = int64_t{1} << 40, .media_bytes_per_second = 100e6};
  machine.stripe = {.unit = 4096, .count = servers};
  machine.software = {.call_overhead = 1e-5, .message_overhead = 1e-6};
  return machine;
}

// One node, in whose memory the files are.
inline Machine cached_machine(int ranks) {
  Machine machine = small_machine(1, ranks);
  machine.page_cache = {.has_files = true,
                        .read_call = 5e-7,
                        .write_call = 1e-6,
                        .read_jump = 2e-7,
                        .write_jump = 2e-7,
                        .read_bandwidth = 8e9,
                        .write_bandwidth = 4e9,
                        .map_bandwidth = 12e9,
                        .map_page = 1e-7};
  return machine;
}

// The array divided into blocks of its first dimensions.
inline OperationCase blocks_of(Shape shape, const std::vector<int64_t>& grid, int ranks, Direction direction,
                               Method method, DimensionRule::Kind kind = DimensionRule::Kind::kBlock) {
  OperationCase made;
  std::vector<DimensionRule> rules;
  for (const int64_t parts : grid) {
    const bool is_cyclic = kind == DimensionRule::Kind::kCyclic;
    rules.push_back(parts == 1 ? DimensionRule{} : DimensionRule{kind, is_cyclic ? 3 : 0});
  }
  made.order = c_order(shape.size());
  made.access.direction = direction;
  made.access.method = method;
  made.access.decomposition = Decomposition::distributed(Distribution(rules, grid), select_all(shape), ranks);
  made.shape = std::move(shape);
  return made;
}

}  // namespace swath::simulate
