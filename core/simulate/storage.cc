#include "simulate/storage.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace swath::simulate {
namespace {

constexpr int64_t kRegionsMax = 64;      // of one list request
constexpr int64_t kHeaderBytes = 128;    // of a request or an answer
constexpr int64_t kBytesPerRegion = 16;  // of a list
constexpr int64_t kFilesMax = INT64_MAX / Storage::kFileBytesMax;
// Parts of a page cache that may be dirty: above the first one it writes back, above the second one writes wait.
constexpr double kBackgroundPart = 0.1;
constexpr double kDirtyPart = 0.4;

int64_t part_of(const PageCache& cache, double part) {
  return static_cast<int64_t>(part * static_cast<double>(cache.capacity_bytes()));
}

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
    if (has_caches()) server.cache.emplace(machine.servers.cache_bytes);
  }
}

int Storage::add_file() {
  if (std::ssize(writers_) == kFilesMax) {
    fail_argument("simulate: more than " + std::to_string(kFilesMax) + " files: simulate a part of the operations");
  }
  writers_.emplace_back();
  return static_cast<int>(writers_.size()) - 1;
}

void Storage::check_size(const std::string& path, int64_t bytes) const {
  const int64_t stripes = kFileBytesMax / machine_.stripe.unit * machine_.stripe.count;
  if (bytes <= 0 || (bytes - 1) / machine_.stripe.unit < stripes) return;
  fail_argument("simulate: " + path + ": a file of " + std::to_string(bytes) + " bytes on " +
                std::to_string(machine_.stripe.count) + " servers, which hold at most " +
                std::to_string(kFileBytesMax) + " bytes of a file each: simulate a smaller array, or more servers " +
                "(servers.count, stripe.count)");
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
std::vector<Storage::ServerRequest> Storage::split(const Call& call, std::span<const Extent> extents) {
  std::vector<ServerRequest> requests;
  const int64_t unit = machine_.stripe.unit;
  const int64_t count = machine_.stripe.count;
  const int64_t first = call.file * kFileBytesMax;
  const int64_t regions_max = call.described ? INT64_MAX : machine_.servers.list ? kRegionsMax : 1;
  for (const Extent& extent : extents) {
    const int64_t end = extent.offset + extent.bytes;
    for (int64_t at = extent.offset; at < end;) {
      const int64_t stripe = at / unit;
      const int64_t bytes = std::min(end, (stripe + 1) * unit) - at;
      add_region(requests, static_cast<int>(stripe % count), {first + stripe / count * unit + at % unit, bytes},
                 regions_max);
      at += bytes;
    }
  }
  for (const ServerRequest& request : requests) last_of_[static_cast<size_t>(request.server)] = -1;
  return requests;
}

double Storage::take_locks(const Call& call, std::span<const Extent> extents) {
  if (!machine_.servers.locks) return 0;
  double seconds = 0;
  std::unordered_map<int64_t, int>& writers = writers_[static_cast<size_t>(call.file)];
  for (const Extent& extent : extents) {
    for (int64_t stripe = extent.offset / machine_.stripe.unit;
         stripe * machine_.stripe.unit < extent.offset + extent.bytes; ++stripe) {
      const auto [holder, is_new] = writers.try_emplace(stripe, call.node);
      if (is_new || holder->second == call.node) continue;
      holder->second = call.node;
      uses_[static_cast<size_t>(stripe % machine_.stripe.count)].lock_transfers += 1;
      // The server calls the lock back from the node that holds it.
      seconds = std::max(seconds, 4 * machine_.network.latency + machine_.servers.request_overhead);
    }
  }
  return seconds;
}

void Storage::serve(const Call& call, std::span<const Extent> extents, double time, Fibers::Event finished) {
  if (call.direction == Direction::kWrite) time += take_locks(call, extents);
  const auto flight = std::make_shared<InFlight>(InFlight{call, split(call, extents), 0, time, {}});
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
  double work = (machine_.servers.request_overhead +
                 static_cast<double>(listed - 1) * machine_.servers.list_request_overhead_per_region) *
                noise();
  if (has_caches()) work += static_cast<double>(request.bytes) / machine_.servers.cache_bandwidth;
  const double begin = std::max(time, server.free_at);
  server.free_at = begin + work;
  const double disks_before = disk_seconds(server);
  const double stored = has_caches() ? cache_done(request.server, flight->call.direction, request.regions, begin + work)
                                     : disks_done(server, flight->call.direction, request.regions, begin + work);
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

// The golden ratio spreads the begins of files over the disk; the first one begins with it.
int64_t Storage::begin_on_disk(int64_t file) const {
  constexpr double kGoldenPart = 0.6180339887498949;
  const DiskParameters& disk = machine_.servers.disk;
  const int64_t aligned = std::max(disk.allocation_bytes, disk.stripe_bytes * disk.disks);
  const double part = static_cast<double>(file) * kGoldenPart;
  return static_cast<int64_t>((part - std::floor(part)) * static_cast<double>(disk.capacity_bytes)) / aligned * aligned;
}

// The server's stripes go to its disks in turn.
double Storage::disks_done(Server& server, Direction direction, std::span<const Extent> regions, double ready) const {
  const auto disks = std::ssize(server.disks);
  double done = ready;
  DiskRequest part{.direction = direction};
  for (const Extent& region : regions) {
    const int64_t first = begin_on_disk(region.offset / kFileBytesMax);
    const int64_t begin = region.offset % kFileBytesMax;
    for (int64_t at = begin; at < begin + region.bytes;) {
      const int64_t stripe = at / machine_.stripe.unit;
      const int64_t stripe_end = disks == 1 ? INT64_MAX : (stripe + 1) * machine_.stripe.unit;
      const int64_t bytes = std::min(begin + region.bytes, stripe_end) - at;
      const auto disk = static_cast<size_t>(stripe % disks);
      const int64_t position = disks == 1 ? at : stripe / disks * machine_.stripe.unit + at % machine_.stripe.unit;
      part.ranges.assign(1, {first + position, bytes});
      done = std::max(done, server.disks[disk].serve(part, ready));
      at += bytes;
    }
  }
  return done;
}

// ---- page caches ----------------------------------------------------------------------------------------------------

double Storage::cache_done(int server, Direction direction, std::span<const Extent> regions, double ready) {
  Server& of = servers_[static_cast<size_t>(server)];
  PageCache& cache = *of.cache;
  PageCache::Access access;
  for (const Extent& region : regions) {
    if (direction == Direction::kRead) {
      cache.read(region, access);
    } else {
      cache.write(region, access);
    }
  }
  uses_[static_cast<size_t>(server)].cache_hit_bytes += access.hit_bytes;
  // Memory is free when what was there is on the disks.
  double done = access.evicted.empty() ? ready : write_back(server, access.evicted, ready);
  done = std::max(done, disks_done(of, Direction::kRead, access.missing, ready));
  if (cache.dirty_bytes() > part_of(cache, kBackgroundPart)) {
    write_back(server, cache.clean(part_of(cache, kBackgroundPart / 2)), ready);
  }
  return direction == Direction::kRead ? done : std::max(done, throttled(of, ready));
}

double Storage::write_back(int server, std::span<const Extent> regions, double ready) {
  Server& of = servers_[static_cast<size_t>(server)];
  int64_t bytes = 0;
  for (const Extent& region : regions) bytes += region.bytes;
  double done = disks_done(of, Direction::kWrite, regions, ready);
  if (!of.writing_back.empty()) done = std::max(done, of.writing_back.back().done);
  of.writing_back.push_back({done, bytes});
  of.writing_back_bytes += bytes;
  uses_[static_cast<size_t>(server)].written_back_bytes += bytes;
  return done;
}

double Storage::throttled(Server& server, double ready) {
  double done = ready;
  const int64_t most = part_of(*server.cache, kDirtyPart);
  while (!server.writing_back.empty()) {
    const WritingBack& first = server.writing_back.front();
    const bool is_too_much = server.cache->dirty_bytes() + server.writing_back_bytes > most;
    if (first.done > ready && !is_too_much) break;
    done = std::max(done, first.done);
    server.writing_back_bytes -= first.bytes;
    server.writing_back.pop_front();
  }
  return done;
}

double Storage::sync_done(int server, double time) {
  Server& of = servers_[static_cast<size_t>(server)];
  const double ready = std::max(time, of.free_at) + machine_.servers.request_overhead;
  of.free_at = ready;
  return write_back(server, of.cache->clean(0), ready);
}

void Storage::sync(int node, double time, Fibers::Event finished) {
  if (!has_caches()) return finished(time);
  struct Left {
    int servers;
    double done;
    Fibers::Event finished;
  };
  const auto left = std::make_shared<Left>(Left{machine_.stripe.count, time, std::move(finished)});
  for (int server = 0; server < machine_.stripe.count; ++server) {
    const double arrival = network_.send(network_.node(node), network_.server(server), kHeaderBytes, time);
    fibers_.at(arrival, [this, left, node, server](double now) {
      network_.forget_before(now);
      fibers_.at(sync_done(server, now), [this, left, node, server](double stored) {
        network_.forget_before(stored);
        const double answer = network_.send(network_.server(server), network_.node(node), kHeaderBytes, stored);
        left->done = std::max(left->done, answer);
        if (--left->servers == 0) left->finished(left->done);
      });
    });
  }
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
