// A machine as numbers: nodes, network, servers, software. `swath simulate` reads it from a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/disk.h"
#include "plan/profile.h"

namespace swath::simulate {

enum class NetworkKind { kFlat, kMesh, kHypercube, kFatTree };

struct Machine {
  struct Node {
    double memory_bandwidth = 10e9;  // bytes per second of all ranks of a node together
    double copy_bandwidth = 5e9;     // of one rank
    double latency = 1e-6;           // of a meeting of two ranks through memory
  };
  struct Network {
    NetworkKind kind = NetworkKind::kFlat;
    // Mesh: its extents. Fat tree: nodes of a leaf switch, and its links upwards. Else empty.
    std::vector<int64_t> dimensions;
    double link_bandwidth = 1e9;
    double latency = 2e-6;          // of a message of no bytes, from end to end
    double backbone_bandwidth = 0;  // that all messages share; 0: no limit
  };
  struct Servers {
    int count = 1;
    double network_bandwidth = 1e9;  // of the link of one server
    DiskParameters disk;
    int disks_per_server = 1;     // of these disks, each with a part of the server's stripes
    double request_overhead = 0;  // seconds of the server's processor
    double list_request_overhead_per_region = 0;
    bool datatype = false;       // takes descriptions
    bool list = true;            // takes lists of regions
    bool locks = true;           // a write waits for its stripes' locks, and fills holes under a lock
    int64_t cache_bytes = 0;     // of the page cache of a server; 0: none
    double cache_bandwidth = 0;  // bytes per second between the network and the page cache
  };
  struct Stripe {
    int64_t unit = int64_t{1} << 20;
    int count = 1;
  };
  // The page cache of a node whose files are local: a machine of one node. Requests are the work of a rank's core, and
  // the server is the disk behind it, which reads missing pages.
  struct PageCache {
    bool has_files = false;  // files that exist are in memory at first
    double read_call = 0;    // seconds of a request
    double write_call = 0;
    double read_jump = 0;  // seconds more of a request in another page than the last one's end
    double write_jump = 0;
    double read_bandwidth = 0;   // bytes per second of one rank; 0: there is no page cache
    double write_bandwidth = 0;  // one rank at a time writes to a file
    double map_bandwidth = 0;    // of reading mapped pages instead; 0: they are not mapped
    double map_page = 0;         // seconds more of a mapped page of which a part is read

    bool exists() const { return read_bandwidth > 0; }
  };
  struct Software {
    double call_overhead = 0;     // seconds of a request, on the rank
    int64_t request_bytes = 0;    // the operating system sends longer requests in pieces of so many bytes; 0: whole
    double message_overhead = 0;  // of a message, on the rank that sends it
  };

  std::string name;
  int nodes = 1;
  int ranks_per_node = 1;
  Node node;
  Network network;
  Servers servers;
  Stripe stripe;
  PageCache page_cache;
  Software software;
};

// Parses the JSON of a machine. Throws Error{kArgument} that names the member.
Machine parse_machine(const std::string& json);

// What the planner should expect of the machine, from its numbers.
Profile profile_of(const Machine& machine);

}  // namespace swath::simulate
