#include "simulate/network.h"

#include <algorithm>

#include "base/error.h"
#include "base/math.h"

namespace swath::simulate {
namespace {

constexpr int64_t kPacketBytes = 256;

int64_t position_count(const std::vector<int64_t>& extents) {
  int64_t positions = 1;
  for (const int64_t extent : extents) positions *= extent;
  return positions;
}

}  // namespace

Network::Network(const Machine& machine) : machine_(machine), nodes_(machine.nodes) {
  const int endpoints = nodes_ + machine.servers.count;
  const auto& given = machine.network;
  const auto add_endpoints = [&](const char* of_node, const char* of_server) {
    const int first = static_cast<int>(links_.size());
    for (int i = 0; i < endpoints; ++i) {
      add(is_server(i) ? of_server : of_node, is_server(i) ? machine.servers.network_bandwidth : given.link_bandwidth);
    }
    return first;
  };
  first_out_ = add_endpoints("node out", "server out");
  first_in_ = add_endpoints("node in", "server in");
  first_memory_ = static_cast<int>(links_.size());
  for (int i = 0; i < nodes_; ++i) add("memory", machine.node.memory_bandwidth);
  if (given.backbone_bandwidth > 0) backbone_ = add("backbone", given.backbone_bandwidth);
  if (given.kind == NetworkKind::kMesh) extents_ = given.dimensions;
  if (given.kind == NetworkKind::kHypercube) {
    while (position_count(extents_) < nodes_) extents_.push_back(2);
  }
  if (!extents_.empty()) {
    first_mesh_ = static_cast<int>(links_.size());
    // One link in each direction of each dimension, of each position.
    for (int64_t i = 0; i < position_count(extents_) * 2 * std::ssize(extents_); ++i) add("mesh", given.link_bandwidth);
  }
  if (given.kind == NetworkKind::kFatTree) {
    const int64_t leaves = ceil_div(int64_t{endpoints}, given.dimensions[0]);
    const double bandwidth = given.link_bandwidth * static_cast<double>(given.dimensions[1]);
    first_up_ = static_cast<int>(links_.size());
    for (int64_t i = 0; i < leaves; ++i) add("up", bandwidth);
    first_down_ = static_cast<int>(links_.size());
    for (int64_t i = 0; i < leaves; ++i) add("down", bandwidth);
  }
}

int Network::add(const char* kind, double bandwidth) {
  links_.push_back({.kind = kind, .bandwidth = bandwidth});
  return static_cast<int>(links_.size()) - 1;
}

// Servers have the positions after those of the nodes. If there are too few, they share positions of nodes, evenly
// spread.
int64_t Network::position_of(int endpoint) const {
  const int64_t positions = position_count(extents_);
  if (!is_server(endpoint)) return endpoint;
  if (nodes_ + machine_.servers.count <= positions) return endpoint;
  return int64_t{endpoint - nodes_} * nodes_ / machine_.servers.count;
}

// Dimension by dimension, as the meshes of the papers do.
void Network::route_mesh(int from, int to) {
  int64_t position = position_of(from);
  const int64_t target = position_of(to);
  const auto dimensions = static_cast<int>(extents_.size());
  int64_t stride = 1;
  for (int d = dimensions - 1; d >= 0; --d) {
    const int64_t wanted = target / stride % extents_[d];
    for (int64_t here = position / stride % extents_[d]; here != wanted;) {
      const int64_t step = wanted > here ? 1 : -1;
      route_.push_back(first_mesh_ + static_cast<int>(position * 2 * dimensions + int64_t{2} * d + (step > 0 ? 1 : 0)));
      here += step;
      position += step * stride;
    }
    stride *= extents_[d];
  }
}

void Network::route(int from, int to) {
  route_.clear();
  if (from == to) {
    route_.push_back(first_memory_ + from);
    return;
  }
  route_.push_back(first_out_ + from);
  if (first_mesh_ >= 0) route_mesh(from, to);
  if (first_up_ >= 0) {
    const int64_t leaf_nodes = machine_.network.dimensions[0];
    if (from / leaf_nodes != to / leaf_nodes) {
      route_.push_back(first_up_ + static_cast<int>(from / leaf_nodes));
      route_.push_back(first_down_ + static_cast<int>(to / leaf_nodes));
    }
  }
  if (backbone_ >= 0) route_.push_back(backbone_);
  route_.push_back(first_in_ + to);
}

double Network::send(int from, int to, int64_t bytes, double time) {
  route(from, to);
  double head = time;
  double tail = time;
  for (const int index : route_) {
    Link& link = links_[index];
    const double duration = static_cast<double>(bytes) / link.bandwidth;
    double end = head + duration;
    if (bytes > kPacketBytes) {
      link.busy.forget_before(earliest_);
      end = link.busy.reserve(head, duration);
    }
    link.bytes += bytes;
    link.messages += 1;
    link.busy_seconds += duration;
    link.waited_seconds += end - duration - head;
    head = end - duration;
    tail = std::max(tail, end);
  }
  return tail + (from == to ? machine_.node.latency : machine_.network.latency);
}

std::vector<LinkUse> Network::uses() const {
  std::vector<LinkUse> uses;
  for (const Link& link : links_) {
    auto use = std::find_if(uses.begin(), uses.end(), [&](const LinkUse& known) { return known.kind == link.kind; });
    if (use == uses.end()) use = uses.insert(uses.end(), LinkUse{.kind = link.kind});
    use->links += 1;
    use->bytes += link.bytes;
    use->messages += link.messages;
    use->busy_seconds_max = std::max(use->busy_seconds_max, link.busy_seconds);
    use->waited_seconds += link.waited_seconds;
  }
  return uses;
}

}  // namespace swath::simulate
