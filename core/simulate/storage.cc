#include "simulate/storage.h"

#include <algorithm>
#include <cmath>

namespace swath::simulate {
namespace {

constexpr int64_t kRegionsMax = 64;      // of one list request
constexpr int64_t kHeaderBytes = 128;    // of a request or an answer
constexpr int64_t kBytesPerRegion = 16;  // of a list

}  // namespace

void Timelines::add(int row, double begin, double end) {
  while (end >= seconds_ * kIntervals) {
    for (std::vector<double>& values : rows_) {
      for (size_t i = 0; i < kIntervals; ++i) {
        values[i] = 2 * i + 1 < kIntervals ? values[2 * i] + values[2 * i + 1] : 0;
      }
    }
    seconds_ *= 2;
  }
  std::vector<double>& values = rows_[static_cast<size_t>(row)];
  for (auto i = static_cast<size_t>(begin / seconds_); begin < end && i < kIntervals; ++i) {
    const double until = std::min(end, static_cast<double>(i + 1) * seconds_);
    if (until > begin) values[i] += until - begin;
    begin = std::max(begin, until);
  }
}

Storage::Storage(const Machine& machine, Network& network, Fibers& fibers, const Options& options)
    : machine_(machine),
      network_(network),
      fibers_(fibers),
      servers_(static_cast<size_t>(machine.servers.count)),
      uses_(servers_.size()),
      timelines_(machine.servers.count),
      last_of_(servers_.size(), -1),
      random_(options.seed),
      noise_(options.noise) {
  for (Server& server : servers_) {
    server.disks.assign(static_cast<size_t>(machine.servers.disks_per_server), DiskModel(machine.servers.disk));
  }
}

// Waits are distributed exponentially: most are short, a few are long.
double Storage::noise() {
  if (noise_ <= 0) return 1;
  const double uniform = (static_cast<double>(random_() >> 11U) + 0.5) * 0x1p-53;
  return 1 - noise_ * std::log(uniform);
}

// Joined to the server's last request while that has room.
void Storage::add_region(std::vector<ServerRequest>& requests, int server, Extent region, int64_t regions_max) {
  int& last = last_of_[static_cast<size_t>(server)];
  if (last >= 0) {
    ServerRequest& request = requests[static_cast<size_t>(last)];
    Extent& before = request.regions.back();
    const bool abuts = before.offset + before.bytes == region.offset;
    if (abuts || std::ssize(request.regions) < regions_max) {
      if (abuts) {
        before.bytes += region.bytes;
      } else {
        request.regions.push_back(region);
      }
      request.bytes += region.bytes;
      return;
    }
  }
  last = static_cast<int>(requests.size());
  requests.push_back({server, region.bytes, {region}});
}

// Stripe k is the stripe k / count of server k % count.
std::vector<Storage::ServerRequest> Storage::split(std::span<const Extent> extents, bool described) {
  std::vector<ServerRequest> requests;
  const int64_t unit = machine_.stripe.unit;
  const int64_t count = machine_.stripe.count;
  const int64_t regions_max = described ? INT64_MAX : machine_.servers.list ? kRegionsMax : 1;
  for (const Extent& extent : extents) {
    const int64_t end = extent.offset + extent.bytes;
    for (int64_t at = extent.offset; at < end;) {
      const int64_t stripe = at / unit;
      const int64_t bytes = std::min(end, (stripe + 1) * unit) - at;
      add_region(requests, static_cast<int>(stripe % count), {stripe / count * unit + at % unit, bytes}, regions_max);
      at += bytes;
    }
  }
  for (const ServerRequest& request : requests) last_of_[static_cast<size_t>(request.server)] = -1;
  return requests;
}

double Storage::take_locks(int node, std::span<const Extent> extents) {
  if (!machine_.servers.locks) return 0;
  double seconds = 0;
  for (const Extent& extent : extents) {
    for (int64_t stripe = extent.offset / machine_.stripe.unit;
         stripe * machine_.stripe.unit < extent.offset + extent.bytes; ++stripe) {
      const auto [holder, is_new] = writers_.try_emplace(stripe, node);
      if (is_new || holder->second == node) continue;
      holder->second = node;
      uses_[static_cast<size_t>(stripe % machine_.stripe.count)].lock_transfers += 1;
      // The server calls the lock back from the node that holds it.
      seconds = std::max(seconds, 4 * machine_.network.latency + machine_.servers.request_overhead);
    }
  }
  return seconds;
}

void Storage::serve(const Call& call, std::span<const Extent> extents, double time, Fibers::Event finished) {
  if (call.direction == Direction::kWrite) time += take_locks(call.node, extents);
  const auto flight = std::make_shared<InFlight>(InFlight{call, split(extents, call.described), 0, time, {}});
  flight->left = flight->requests.size();
  flight->finished = std::move(finished);
  for (const ServerRequest& request : flight->requests) send(flight, request, time);
  if (flight->requests.empty()) flight->finished(time);
}

void Storage::send(const std::shared_ptr<InFlight>& flight, const ServerRequest& request, double time) {
  const Call& call = flight->call;
  const auto listed = call.described ? 1 : std::ssize(request.regions);
  const int64_t sent = kHeaderBytes + (listed > 1 ? listed * kBytesPerRegion : 0) +
                       (call.direction == Direction::kWrite ? request.bytes : 0);
  const double arrival = network_.send(network_.node(call.node), network_.server(request.server), sent, time);
  fibers_.at(arrival, [this, flight, &request](double now) { arrive(flight, request, now); });
}

void Storage::arrive(const std::shared_ptr<InFlight>& flight, const ServerRequest& request, double time) {
  network_.forget_before(time);
  Server& server = servers_[static_cast<size_t>(request.server)];
  ServerUse& use = uses_[static_cast<size_t>(request.server)];
  const auto regions = std::ssize(request.regions);
  const auto listed = flight->call.described ? 1 : regions;
  const double work = (machine_.servers.request_overhead +
                       static_cast<double>(listed - 1) * machine_.servers.list_request_overhead_per_region) *
                      noise();
  const double begin = std::max(time, server.free_at);
  server.free_at = begin + work;
  const double disks_before = disk_seconds(server);
  const double stored = disks_done(server, flight->call.direction, request, begin + work);
  const double busy = work + disk_seconds(server) - disks_before;
  use.requests += 1;
  use.regions += regions;
  (flight->call.direction == Direction::kWrite ? use.written_bytes : use.read_bytes) += request.bytes;
  use.busy_seconds += busy;
  use.waited_seconds += begin - time;
  timelines_.add(request.server, std::max(stored - busy, 0.0), stored);
  const double noisy = begin + work + (stored - begin - work) * noise();
  fibers_.at(noisy, [this, flight, &request](double now) { answer(*flight, request, now); });
}

void Storage::answer(InFlight& flight, const ServerRequest& request, double time) {
  network_.forget_before(time);
  const int64_t answered = kHeaderBytes + (flight.call.direction == Direction::kWrite ? 0 : request.bytes);
  const double arrival =
      network_.send(network_.server(request.server), network_.node(flight.call.node), answered, time);
  flight.done = std::max(flight.done, arrival);
  if (--flight.left == 0) flight.finished(flight.done);
}

// Seconds that all its disks together worked, as a part of their number.
double Storage::disk_seconds(const Server& server) const {
  double seconds = 0;
  for (const DiskModel& disk : server.disks) seconds += disk.statistics().busy_seconds;
  return seconds / static_cast<double>(std::ssize(server.disks) * machine_.servers.disk.disks);
}

// The server's stripes go to its disks in turn.
double Storage::disks_done(Server& server, Direction direction, const ServerRequest& request, double ready) const {
  const auto disks = std::ssize(server.disks);
  double done = ready;
  DiskRequest part{.direction = direction};
  for (const Extent& region : request.regions) {
    for (int64_t at = region.offset; at < region.offset + region.bytes;) {
      const int64_t stripe = at / machine_.stripe.unit;
      const int64_t stripe_end = disks == 1 ? INT64_MAX : (stripe + 1) * machine_.stripe.unit;
      const int64_t bytes = std::min(region.offset + region.bytes, stripe_end) - at;
      const auto disk = static_cast<size_t>(stripe % disks);
      const int64_t position = disks == 1 ? at : stripe / disks * machine_.stripe.unit + at % machine_.stripe.unit;
      part.ranges.assign(1, {position, bytes});
      done = std::max(done, server.disks[disk].serve(part, ready));
      at += bytes;
    }
  }
  return done;
}

DiskStatistics Storage::disk_statistics() const {
  DiskStatistics sum;
  for (const Server& server : servers_) {
    for (const DiskModel& disk : server.disks) {
      const DiskStatistics& one = disk.statistics();
      sum.requests += one.requests;
      sum.read_bytes += one.read_bytes;
      sum.written_bytes += one.written_bytes;
      sum.seeks += one.seeks;
      sum.busy_seconds += one.busy_seconds;
      sum.seek_seconds += one.seek_seconds;
    }
  }
  return sum;
}

}  // namespace swath::simulate
