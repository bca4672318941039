// The engine of one rank of a simulated machine: its requests go to the machine's servers.
//
// It cuts and counts requests as the other engines do, and answers after the time that network and servers take. With
// data, the file is in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "simulate/cached_pages.h"
#include "simulate/world.h"
#include "store/engine.h"

namespace swath::simulate {

// One request of a rank, as the engine cut it. A description of many ranges is one request: `offset` is that of its
// first byte.
struct RecordedRequest {
  Direction direction;
  int64_t offset;
  int64_t bytes;

  friend bool operator==(const RecordedRequest&, const RecordedRequest&) = default;
};

// Locks of ranges, for which ranks wait in simulated time.
class RangeLocks {
 public:
  explicit RangeLocks(World& world) : world_(world) {}
  void lock(int64_t begin, int64_t end);
  void unlock(int64_t begin, int64_t end);

 private:
  struct Range {
    int64_t begin;
    int64_t end;
    bool overlaps(int64_t other_begin, int64_t other_end) const { return begin < other_end && other_begin < end; }
  };
  struct Waiting {
    int rank;
    Range range;
  };

  World& world_;
  std::list<Range> locked_;
  std::list<Waiting> waiting_;
};

// The file that all ranks' engines share.
class SimulatedFile {
 public:
  SimulatedFile(World& world, std::string path, int64_t bytes);

  const std::string& path() const { return path_; }
  int number() const { return number_; }
  int64_t size() const { return size_; }
  void resize(int64_t bytes);
  // Its bytes; empty without data.
  std::vector<std::byte>& data() { return data_; }

  CachedPages& pages() { return pages_; }

  // Waits until no other rank has a lock there that excludes this one.
  void lock(int64_t begin, int64_t end) { locks_.lock(begin, end); }
  void unlock(int64_t begin, int64_t end) { locks_.unlock(begin, end); }
  // Waits until no other rank writes to the page cache: the kernel lets one at a time write to a file.
  void begin_write() { writer_.lock(0, 1); }
  void end_write() { writer_.unlock(0, 1); }

  // The requests of each rank, for tests; null: not recorded.
  std::vector<std::vector<RecordedRequest>>* record = nullptr;

 private:
  World& world_;
  const std::string path_;
  const int number_;
  int64_t size_;
  std::vector<std::byte> data_;
  CachedPages pages_;
  RangeLocks locks_;
  RangeLocks writer_;
};

class MachineEngine final : public Engine {
 public:
  MachineEngine(World& world, std::shared_ptr<SimulatedFile> file, int rank)
      : world_(world), file_(std::move(file)), rank_(rank) {}

  std::string name() const override { return "simulated machine"; }
  const std::string& path() const override { return file_->path(); }
  Capabilities capabilities() const override { return capabilities_of(world_.machine()); }
  static Capabilities capabilities_of(const Machine& machine);
  void transfer(Direction direction, std::span<const Transfer> batch, Counters& counters) override;
  void transfer_structured(Direction direction, const StructuredTransfer& structured, Counters& counters) override;
  void update(const Transfer& image, bool has_holes, const std::function<void(std::byte*)>& fill_in,
              Counters& counters) override;
  void start(Direction direction, std::span<const Transfer> batch) override;
  void wait(Counters& counters) override;
  std::unique_ptr<RangeLock> lock(int64_t begin, int64_t end) override;
  std::optional<double> cached_part(int64_t offset, int64_t bytes) const override;
  std::unique_ptr<CachedView> cached_view() override;
  int64_t size() const override { return file_->size(); }
  void resize(int64_t bytes) override { file_->resize(bytes); }
  void sync() override;

 private:
  // The requests of a batch, counted, and its bytes, moved.
  std::vector<Extent> cut(Direction direction, std::span<const Transfer> batch, Counters& counters);
  // Requests that are under way. Their events may outlive the engine, if its rank fails.
  struct Sent {
    World& world;
    const int rank;
    const Storage::Call call;
    const std::vector<Extent> extents;
    bool is_answered = false;
    bool is_waited_for = false;
    double answered_at = 0;
  };
  Storage::Call call_of(Direction direction) const {
    return {.node = world_.node_of(rank_), .direction = direction, .file = file_->number()};
  }
  // Moves the extents between the node's page cache and the rank, which does nothing else meanwhile.
  void use_page_cache(Direction direction, std::span<const Extent> extents);
  // Waits for the disk.
  void use_disk(Direction direction, std::vector<Extent> pages);
  // Sends requests to the servers: all at once, or one after the other where servers take no lists.
  void send(const Storage::Call& call, std::vector<Extent> extents);
  static void send_next(const std::shared_ptr<Sent>& sent, size_t next, double time);
  // Waits until they are answered.
  void wait_for_answers();
  void move(Direction direction, const Transfer& piece);

  World& world_;
  const std::shared_ptr<SimulatedFile> file_;
  const int rank_;
  bool is_started_ = false;
  int64_t last_end_ = 0;  // of the rank's last request to the page cache
  std::shared_ptr<Sent> sent_;
  Counters started_counters_;
};

}  // namespace swath::simulate
