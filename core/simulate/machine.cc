#include "simulate/machine.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace swath::simulate {
namespace {

using Json = nlohmann::json;

// The members of one table of the JSON.
class Members {
 public:
  Members(const Json& object, std::string path) : object_(object), path_(std::move(path)) {
    if (!object.is_object()) fail_argument("machine: " + path_ + ": expected a table");
  }

  Members table(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end()) fail_argument("machine: " + path_ + name + " is missing: expected a table");
    return {*found, path_ + name + "."};
  }
  // Takes the member if it is there.
  template <typename T>
  void take(const char* name, T& into) const {
    const auto found = object_.find(name);
    if (found == object_.end() || found->is_null()) return;
    try {
      into = found->get<T>();
    } catch (const Json::exception&) {
      fail_argument("machine: " + path_ + name + " = " + found->dump() + ": expected another type of value");
    }
  }
  void expect(bool good, const std::string& name, const std::string& expected) const {
    if (!good) fail_argument("machine: " + path_ + name + ": expected " + expected);
  }

 private:
  const Json& object_;
  const std::string path_;
};

NetworkKind kind_of(const std::string& name) {
  if (name == "flat") return NetworkKind::kFlat;
  if (name == "mesh") return NetworkKind::kMesh;
  if (name == "hypercube") return NetworkKind::kHypercube;
  if (name == "fat-tree") return NetworkKind::kFatTree;
  fail_argument("machine: network.kind = \"" + name + "\": expected flat, mesh, hypercube or fat-tree");
}

void take_disk(const Members& members, DiskParameters& disk) {
  members.take("disks", disk.disks);
  members.take("capacity_bytes", disk.capacity_bytes);
  members.take("media_bytes_per_second", disk.media_bytes_per_second);
  members.take("seek_shortest_seconds", disk.seek_shortest_seconds);
  members.take("seek_longest_seconds", disk.seek_longest_seconds);
  members.take("rotation_seconds", disk.rotation_seconds);
  members.take("near_bytes", disk.near_bytes);
  members.take("stripe_bytes", disk.stripe_bytes);
  members.take("parity", disk.parity);
  members.take("segments", disk.segments);
  members.take("segment_bytes", disk.segment_bytes);
  members.take("request_seconds", disk.request_seconds);
  members.take("link_bytes_per_second", disk.link_bytes_per_second);
  members.take("request_bytes", disk.request_bytes);
  members.take("allocation_bytes", disk.allocation_bytes);
}

void take_network(const Members& members, Machine::Network& network) {
  std::string kind = "flat";
  members.take("kind", kind);
  network.kind = kind_of(kind);
  members.take("dimensions", network.dimensions);
  members.take("link_bandwidth", network.link_bandwidth);
  members.take("latency", network.latency);
  members.take("backbone_bandwidth", network.backbone_bandwidth);
  members.expect(network.link_bandwidth > 0, "link_bandwidth", "bytes per second above 0");
  const bool is_fat_tree = network.kind == NetworkKind::kFatTree;
  members.expect(!is_fat_tree || network.dimensions.size() == 2, "dimensions",
                 "the endpoints of a leaf switch of a fat tree, and its links upwards");
  members.expect(std::all_of(network.dimensions.begin(), network.dimensions.end(), [](int64_t n) { return n > 0; }),
                 "dimensions", "numbers above 0");
}

void take_servers(const Members& members, Machine::Servers& servers) {
  members.take("count", servers.count);
  members.take("network_bandwidth", servers.network_bandwidth);
  members.take("disks_per_server", servers.disks_per_server);
  members.take("request_overhead", servers.request_overhead);
  members.take("list_request_overhead_per_region", servers.list_request_overhead_per_region);
  members.take("datatype", servers.datatype);
  members.take("list", servers.list);
  members.take("locks", servers.locks);
  members.take("cache_bytes", servers.cache_bytes);
  members.take("cache_bandwidth", servers.cache_bandwidth);
  take_disk(members.table("disk"), servers.disk);
  members.expect(servers.cache_bytes >= 0 && servers.cache_bandwidth >= 0, "cache_bytes",
                 "at least 0, as for cache_bandwidth");
  members.expect(servers.count > 0, "count", "at least one server");
  members.expect(servers.disks_per_server > 0, "disks_per_server", "at least one disk");
  members.expect(servers.network_bandwidth > 0, "network_bandwidth", "bytes per second above 0");
  DiskModel(DiskParameters(servers.disk));  // throws for a disk that cannot be
}

void take_page_cache(const Members& members, Machine::PageCache& cache) {
  members.take("has_files", cache.has_files);
  members.take("read_call", cache.read_call);
  members.take("write_call", cache.write_call);
  members.take("read_jump", cache.read_jump);
  members.take("write_jump", cache.write_jump);
  members.take("read_bandwidth", cache.read_bandwidth);
  members.take("write_bandwidth", cache.write_bandwidth);
  members.take("map_bandwidth", cache.map_bandwidth);
  members.take("map_page", cache.map_page);
  members.expect((cache.read_bandwidth > 0) == (cache.write_bandwidth > 0), "read_bandwidth",
                 "bytes per second above 0, as for write_bandwidth, or 0 for both");
  members.expect(!cache.has_files || cache.exists(), "has_files", "read_bandwidth above 0");
}

}  // namespace

Machine parse_machine(const std::string& json) {
  const Json parsed = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded()) fail_argument("machine: it is no JSON");
  Machine machine;
  const Members members(parsed, "");
  members.take("name", machine.name);
  members.take("nodes", machine.nodes);
  members.take("ranks_per_node", machine.ranks_per_node);
  members.expect(machine.nodes > 0, "nodes", "at least one node");
  members.expect(machine.ranks_per_node > 0, "ranks_per_node", "at least one rank");
  const Members node = members.table("node");
  node.take("memory_bandwidth", machine.node.memory_bandwidth);
  node.take("copy_bandwidth", machine.node.copy_bandwidth);
  node.take("latency", machine.node.latency);
  node.expect(machine.node.memory_bandwidth > 0 && machine.node.copy_bandwidth > 0, "memory_bandwidth",
              "bytes per second above 0, as for copy_bandwidth");
  take_network(members.table("network"), machine.network);
  machine.servers.disk.name = machine.name;
  take_servers(members.table("servers"), machine.servers);
  if (machine.servers.cache_bandwidth == 0) machine.servers.cache_bandwidth = machine.node.copy_bandwidth;
  const Members stripe = members.table("stripe");
  machine.stripe.count = machine.servers.count;
  stripe.take("unit", machine.stripe.unit);
  stripe.take("count", machine.stripe.count);
  stripe.expect(machine.stripe.unit > 0, "unit", "bytes above 0");
  stripe.expect(machine.stripe.count > 0 && machine.stripe.count <= machine.servers.count, "count",
                "1 to " + std::to_string(machine.servers.count) + ", the number of servers");
  const Members page_cache = members.table("page_cache");
  take_page_cache(page_cache, machine.page_cache);
  page_cache.expect(!machine.page_cache.exists() || machine.nodes == 1, "read_bandwidth",
                    "a machine of one node: the page caches of several nodes are not simulated");
  const Members software = members.table("software");
  software.take("call_overhead", machine.software.call_overhead);
  software.take("request_bytes", machine.software.request_bytes);
  software.expect(machine.software.request_bytes >= 0, "request_bytes", "bytes, or 0 for whole requests");
  software.take("message_overhead", machine.software.message_overhead);
  return machine;
}

}  // namespace swath::simulate
