// The network between nodes and servers: links that serve one message after the other.
//
// A message reserves each link of its route in turn. Its head goes on to the next link as soon as a link is free, and
// its tail is as fast as the slowest link. So messages that meet at a link wait for each other, in the order in which
// they were sent: many senders to one node wait at its link (incast). Messages of one packet are not in the way.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/disk.h"
#include "simulate/machine.h"

namespace swath::simulate {

struct Link {
  std::string kind;  // "node out", "node in", "server out", "server in", "mesh", "up", "down", "backbone", "memory"
  double bandwidth = 0;
  Timeline busy;
  int64_t bytes = 0;
  int64_t messages = 0;
  double busy_seconds = 0;
  double waited_seconds = 0;  // of the messages before they got the link
};

// What the links of one kind did together.
struct LinkUse {
  std::string kind;
  int64_t links = 0;
  int64_t bytes = 0;
  int64_t messages = 0;
  double busy_seconds_max = 0;  // of one link
  double waited_seconds = 0;
};

class Network {
 public:
  explicit Network(const Machine& machine);

  // Endpoints: nodes, then servers.
  int node(int index) const { return index; }
  int server(int index) const { return nodes_ + index; }

  // No later message will be sent before `time`.
  void forget_before(double time) { earliest_ = time; }
  // The time at which a message has arrived that is sent at `time`. A message within a node passes its memory.
  double send(int from, int to, int64_t bytes, double time);
  std::vector<LinkUse> uses() const;

 private:
  int add(const char* kind, double bandwidth);
  void route(int from, int to);
  void route_mesh(int from, int to);
  // The position of an endpoint in the mesh or hypercube.
  int64_t position_of(int endpoint) const;
  bool is_server(int endpoint) const { return endpoint >= nodes_; }

  const Machine machine_;
  const int nodes_;
  std::vector<Link> links_;
  int first_out_ = 0, first_in_ = 0, first_memory_ = 0;
  int first_mesh_ = -1, first_up_ = -1, first_down_ = -1, backbone_ = -1;
  std::vector<int64_t> extents_;  // of the mesh; of a hypercube, 2 for each dimension
  std::vector<int> route_;
  double earliest_ = 0;
};

}  // namespace swath::simulate
