// The servers of a simulated file system, and one file that is striped over them.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/direction.h"
#include "model/disk.h"
#include "simulate/fibers.h"
#include "simulate/machine.h"
#include "simulate/network.h"

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
  double busy_seconds = 0;    // of its processor and its disks, each of which is a part of the server
  double waited_seconds = 0;  // of the requests, for its processor
};

// A range of the file.
struct Extent {
  int64_t offset;
  int64_t bytes;
};

class Storage {
 public:
  struct Options {
    uint64_t seed = 0;
    double noise = 0;
  };
  Storage(const Machine& machine, Network& network, Fibers& fibers, const Options& options);

  struct Call {
    int node = 0;
    Direction direction = Direction::kRead;
    bool described = false;  // the extents are sent as a description, which has any number of regions
  };
  // Requests that start at `time`, all at once: one list for each server that holds some of the extents, or one request
  // an extent where servers take no lists. `finished` is called with the time at which the last answer has arrived,
  // which is not yet over then.
  void serve(const Call& call, std::span<const Extent> extents, double time, Fibers::Event finished);

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
    std::vector<Extent> regions;  // positions on the server
  };
  struct Server {
    double free_at = 0;  // its processor
    std::vector<DiskModel> disks;
  };

  // The requests of one call that are not yet answered.
  struct InFlight {
    Call call;
    std::vector<ServerRequest> requests;
    size_t left = 0;
    double done = 0;
    Fibers::Event finished;
  };

  std::vector<ServerRequest> split(std::span<const Extent> extents, bool described);
  void add_region(std::vector<ServerRequest>& requests, int server, Extent region, int64_t regions_max);
  void send(const std::shared_ptr<InFlight>& flight, const ServerRequest& request, double time);
  void arrive(const std::shared_ptr<InFlight>& flight, const ServerRequest& request, double time);
  void answer(InFlight& flight, const ServerRequest& request, double time);
  double disk_seconds(const Server& server) const;
  double disks_done(Server& server, Direction direction, const ServerRequest& request, double ready) const;
  // Seconds until the node has the locks of all stripes that it writes.
  double take_locks(int node, std::span<const Extent> extents);

  const Machine& machine_;
  Network& network_;
  Fibers& fibers_;
  std::vector<Server> servers_;
  std::vector<ServerUse> uses_;
  Timelines timelines_;
  std::vector<int> last_of_;                  // the last request of a call to each server; -1: none
  std::unordered_map<int64_t, int> writers_;  // the node that holds a stripe's lock
  std::mt19937_64 random_;
  const double noise_;
};

}  // namespace swath::simulate
