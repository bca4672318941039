#include <algorithm>
#include <array>
#include <vector>

#include "simulate/machine.h"

namespace swath::simulate {
namespace {

constexpr double kSecondsMin = 1e-9;  // a curve's values are positive

// Of so many ranks at once, each transferring at `alone` bytes per second where `together` is the limit of all.
Curve slowdown(const Machine& machine, double alone, double together) {
  std::vector<Curve::Point> points;
  for (int64_t ranks = 1; ranks <= int64_t{machine.nodes} * machine.ranks_per_node; ranks *= 2) {
    points.push_back({static_cast<double>(ranks), std::max(1.0, static_cast<double>(ranks) * alone / together)});
  }
  return Curve(std::move(points));
}

// Seconds of a copied byte by the bytes of a block: a block costs some instructions.
Curve copy_curve(const Machine& machine) {
  constexpr double kBlockSeconds = 2e-9;
  std::vector<Curve::Point> points;
  for (const double block : {8.0, 64.0, 512.0, 4096.0, 65536.0}) {
    points.push_back({block, 1 / machine.node.copy_bandwidth + kBlockSeconds / block});
  }
  return Curve(std::move(points));
}

// Seconds of one request by its bytes.
Curve request_curve(double call, double bandwidth) {
  std::vector<Curve::Point> points;
  for (int64_t count = 8; count <= 16 << 20; count *= 8) {
    const auto bytes = static_cast<double>(count);
    points.push_back({bytes, call + bytes / bandwidth});
  }
  return Curve(std::move(points));
}

Medium medium_of(const Machine& machine) {
  const Machine::PageCache& of = machine.page_cache;
  Medium medium;
  medium.read = request_curve(of.read_call, of.read_bandwidth);
  medium.write = request_curve(of.write_call, of.write_bandwidth);
  medium.read_jump = medium.read_jump_batched = of.read_jump;
  medium.write_jump = of.write_jump;
  medium.read_slowdown = slowdown(machine, of.read_bandwidth, machine.node.memory_bandwidth);
  medium.write_slowdown = slowdown(machine, of.write_bandwidth, of.write_bandwidth);
  return medium;
}

}  // namespace

Profile profile_of(const Machine& machine) {
  Profile profile = default_profile();
  profile.source = "machine " + machine.name;
  profile.cores = machine.ranks_per_node;
  const DiskParameters& disk = machine.servers.disk;
  const int data_disks = disk.disks - (disk.parity ? 1 : 0);
  double of_disk = disk.media_bytes_per_second * data_disks;
  if (disk.link_bytes_per_second > 0) of_disk = std::min(of_disk, disk.link_bytes_per_second);
  const double of_server = std::min(of_disk * machine.servers.disks_per_server, machine.servers.network_bandwidth);
  const double together = of_server * machine.stripe.count;
  const double fixed = machine.software.call_overhead + 2 * machine.network.latency + machine.servers.request_overhead +
                       disk.request_seconds;
  std::vector<Curve::Point> points;
  for (int64_t count = 4096; count <= 256 << 20; count *= 4) {
    const auto bytes = static_cast<double>(count);
    // A request is served by as many servers as it has stripes.
    const double stripes =
        std::clamp(bytes / static_cast<double>(machine.stripe.unit), 1.0, static_cast<double>(machine.stripe.count));
    const double rate = std::min(of_server * stripes, machine.network.link_bandwidth);
    points.push_back({bytes, std::max(fixed + bytes / rate, kSecondsMin)});
  }
  Medium& device = profile.device;
  device.read = device.write = Curve(points);
  device.read_jump = device.write_jump = disk.seek_shortest_seconds + disk.rotation_seconds;
  device.read_jump_batched = device.read_jump / machine.stripe.count;
  const double alone = std::min(of_server, machine.network.link_bandwidth);
  device.read_slowdown = device.write_slowdown = slowdown(machine, alone, together);
  profile.cache = device;  // nothing is cached on the ranks
  if (machine.page_cache.exists()) {
    profile.cache = medium_of(machine);
    if (machine.page_cache.map_bandwidth > 0) profile.look = request_curve(0, machine.page_cache.map_bandwidth);
    profile.look_page_seconds = machine.page_cache.map_page;
  }
  profile.gather = profile.scatter = profile.exchange_gather = profile.exchange_scatter = copy_curve(machine);
  profile.copy_slowdown = slowdown(machine, machine.node.copy_bandwidth, machine.node.memory_bandwidth);
  profile.message_seconds = machine.network.latency + machine.software.message_overhead;
  profile.message_byte_seconds = machine.ranks_per_node / machine.network.link_bandwidth;
  profile.lock_seconds = 2 * machine.network.latency + machine.servers.request_overhead;
  profile.operation_seconds = machine.software.call_overhead;
  return profile;
}

}  // namespace swath::simulate
