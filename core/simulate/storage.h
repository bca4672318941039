// The servers of a simulated file system, and files that are striped over them.
//
// Each file has kFileBytesMax bytes of addresses on each server. Files begin at different places of the disks. A server
// with a page cache answers a write when its bytes are in memory. It writes dirty blocks behind, in the order of their
// positions; where too many are dirty, as with Linux's dirty_background_ratio and dirty_ratio, writes wait for the
// disks.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/direction.h"
#include "model/disk.h"
#include "simulate/extent.h"
#include "simulate/fibers.h"
#include "simulate/machine.h"
#include "simulate/network.h"
#include "simulate/page_cache.h"

namespace swath::simulate {

// Seconds of work over time, a row for each worker: equal intervals, whose length doubles as time goes on.
class Timelines {
 public:
  static constexpr int kIntervals = 64;

  explicit Timelines(int rows) : rows_(static_cast<size_t>(rows), std::vector<double>(kIntervals)) {}
  // A worker of this row works in [begin, end).
  void add(int row, double begin, double end);
  double interval_seconds() const { return seconds_; }
  const std::vector<std::vector<double>>& rows() const { return rows_; }

 private:
  double seconds_ = 1e-3;
  std::vector<std::vector<double>> rows_;
};

struct ServerUse {
  int64_t requests = 0;
  int64_t regions = 0;
  int64_t read_bytes = 0;
  int64_t written_bytes = 0;
  int64_t lock_transfers = 0;
  double busy_seconds = 0;         // of its processor and its disks, each of which is a part of the server
  double waited_seconds = 0;       // of the requests, for its processor
  int64_t cache_hit_bytes = 0;     // of reads, that the page cache had
  int64_t written_back_bytes = 0;  // by the page cache to the disks, in whole blocks
};

class Storage {
 public:
  struct Options {
    uint64_t seed = 0;
    double noise = 0;
  };
  Storage(const Machine& machine, Network& network, Fibers& fibers, const Options& options);

  static constexpr int64_t kFileBytesMax = int64_t{1} << 46;  // on a server
  // The number of a new file. Throws Error{kArgument} if there are too many.
  int add_file();
  // Throws Error{kArgument}, which names the path, if the servers cannot hold a file of so many bytes.
  void check_size(const std::string& path, int64_t bytes) const;

  struct Call {
    int node = 0;
    Direction direction = Direction::kRead;
    bool described = false;  // the extents are sent as a description, which has any number of regions
    int file = 0;            // of add_file()
  };
  // Requests that start at `time`, all at once: one list for each server that holds some of the extents, or one request
  // an extent where servers take no lists. `finished` is called with the time at which the last answer has arrived,
  // which is not yet over then.
  void serve(const Call& call, std::span<const Extent> extents, double time, Fibers::Event finished);

  // The servers write all that is dirty, if they have page caches; as serve().
  void sync(int node, double time, Fibers::Event finished);
  bool has_caches() const { return machine_.servers.cache_bytes > 0; }

  const std::vector<ServerUse>& uses() const { return uses_; }
  const Timelines& timelines() const { return timelines_; }
  DiskStatistics disk_statistics() const;
  // 1, or more where noise was asked for.
  double noise();

 private:
  // A server's part of one request.
  struct ServerRequest {
    int server = 0;
    int64_t bytes = 0;
    std::vector<Extent> regions;  // addresses on the server
  };
  // Dirty blocks on their way to the disks.
  struct WritingBack {
    double done;
    int64_t bytes;
  };
  struct Server {
    double free_at = 0;  // its processor
    std::vector<DiskModel> disks;
    std::optional<PageCache> cache;
    std::deque<WritingBack> writing_back;  // in the order of time
    int64_t writing_back_bytes = 0;
  };

  // The requests of one call that are not yet answered.
  struct InFlight {
    Call call;
    std::vector<ServerRequest> requests;
    size_t left = 0;
    double done = 0;
    Fibers::Event finished;
  };

  std::vector<ServerRequest> split(const Call& call, std::span<const Extent> extents);
  void add_region(std::vector<ServerRequest>& requests, int server, Extent region, int64_t regions_max);
  void send(const std::shared_ptr<InFlight>& flight, const ServerRequest& request, double time);
  void arrive(const std::shared_ptr<InFlight>& flight, const ServerRequest& request, double time);
  void answer(InFlight& flight, const ServerRequest& request, double time);
  double disk_seconds(const Server& server) const;
  double disks_done(Server& server, Direction direction, std::span<const Extent> regions, double ready) const;
  // The first address of a file on a disk.
  int64_t begin_on_disk(int64_t file) const;
  // When the regions are read from or written to the server's cache, which it is free to do from `ready` on.
  double cache_done(int server, Direction direction, std::span<const Extent> regions, double ready);
  double write_back(int server, std::span<const Extent> regions, double ready);
  // Waits until not too much is dirty.
  static double throttled(Server& server, double ready);
  // The server's part of a sync that arrives at `time`.
  double sync_done(int server, double time);
  // Seconds until the node has the locks of all stripes that it writes.
  double take_locks(const Call& call, std::span<const Extent> extents);

  const Machine& machine_;
  Network& network_;
  Fibers& fibers_;
  std::vector<Server> servers_;
  std::vector<ServerUse> uses_;
  Timelines timelines_;
  std::vector<int> last_of_;                               // the last request of a call to each server; -1: none
  std::vector<std::unordered_map<int64_t, int>> writers_;  // of each file, the node that holds a stripe's lock
  std::mt19937_64 random_;
  const double noise_;
};

}  // namespace swath::simulate
