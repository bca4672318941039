// The servers of a simulated file system, and one file that is striped over them.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/direction.h"
#include "model/disk.h"
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
  Storage(const Machine& machine, Network& network, uint64_t seed, double noise);

  // Requests of a node that start at `time`, all at once: one list for each server that holds some of the extents, or
  // one request an extent where servers take no lists. Returns when the last answer has arrived.
  // `described`: the extents are sent as a description, which has any number of regions.
  double serve(int node, Direction direction, std::span<const Extent> extents, double time, bool described = false);

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
    bool described = false;
  };
  struct Server {
    Timeline processor;
    std::vector<DiskModel> disks;
    std::vector<double> disk_arrivals;
  };

  void split(std::span<const Extent> extents, bool described);
  void add_region(int server, Extent region, int64_t regions_max);
  double serve_one(int node, Direction direction, const ServerRequest& request, double time);
  double disk_seconds(const Server& server) const;
  double disks_done(Server& server, Direction direction, const ServerRequest& request, double ready);
  // Seconds until the node has the locks of all stripes that it writes.
  double take_locks(int node, std::span<const Extent> extents);

  const Machine& machine_;
  Network& network_;
  std::vector<Server> servers_;
  std::vector<ServerUse> uses_;
  Timelines timelines_;
  std::vector<ServerRequest> requests_;       // of the current call
  std::vector<int> last_of_;                  // the last of them to each server; -1: none
  std::unordered_map<int64_t, int> writers_;  // the node that holds a stripe's lock
  std::mt19937_64 random_;
  const double noise_;
};

}  // namespace swath::simulate
