// The ranks of a simulated machine, with what they share: time, network, servers, and counts of what each does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/bulk_data.h"
#include "base/clock.h"
#include "comm/comm.h"
#include "simulate/fibers.h"
#include "simulate/machine.h"
#include "simulate/network.h"
#include "simulate/storage.h"

namespace swath::simulate {

// What a rank spends its time with.
enum class Phase { kOther, kAgree, kExchange, kTransfer, kCopy };
inline constexpr int kPhases = 5;
const char* name_of(Phase phase);

// What one rank has done so far.
struct RankUse {
  std::array<double, kPhases> seconds{};
  int64_t agreement_messages = 0;
  int64_t exchange_messages = 0;
  int64_t exchange_bytes = 0;
  int64_t copied_bytes = 0;
};

struct WorldOptions {
  int ranks = 1;
  uint64_t seed = 0;
  double noise = 0;
  bool data = false;  // memory and file exist, and bytes are moved; else only their times and requests are simulated
};

class World {
 public:
  World(const Machine& machine, const WorldOptions& options);
  ~World();

  // Runs `body` for every rank.
  void run(const std::function<void(int rank)>& body);
  std::unique_ptr<Comm> comm(int rank);

  const Machine& machine() const { return machine_; }
  const WorldOptions& options() const { return options_; }
  int ranks() const { return options_.ranks; }
  int node_of(int rank) const { return rank / machine_.ranks_per_node; }
  int nodes() const { return node_of(ranks() - 1) + 1; }
  int first_of(int node) const { return node * machine_.ranks_per_node; }
  int ranks_of(int node) const;

  Fibers& fibers() { return fibers_; }
  Network& network() { return network_; }
  Storage& storage() { return storage_; }
  const Timelines& timelines() const { return timelines_; }  // of the ranks, a row for each phase
  RankUse& use(int rank) { return uses_[static_cast<size_t>(rank)]; }

  // Until it ends, the running rank's time counts for this phase.
  class InPhase {
   public:
    InPhase(World& world, Phase phase);
    ~InPhase();
    InPhase(const InPhase&) = delete;
    InPhase& operator=(const InPhase&) = delete;

   private:
    World& world_;
    const int rank_;
    const Phase before_;
  };

  // The rank has mapped a window of so many bytes: its copies read touched lines and pages. 0: it has mapped none.
  void set_mapped(int rank, int64_t bytes) { mapped_[static_cast<size_t>(rank)] = bytes; }

  // Counts the rank's seconds up to now for its phase.
  void count_time(int rank);

  // Placeholders for bulk data, and memory that exists if it is touched.
  bool is_placeholder(const std::byte* address) const;
  std::byte* placeholder(int64_t bytes) const;

  // Lets ranks with an earlier time run before the running rank uses what they share.
  void let_earlier_run();

 private:
  friend class MachineComm;

  class TimeOfRanks final : public Clock {
   public:
    explicit TimeOfRanks(World& world) : world_(world) {}
    double now() override { return world_.fibers_.now(); }
    void sleep_until(double time) override { world_.fibers_.sleep_until(time); }
    void wait(std::atomic<uint32_t>& word, uint32_t expected, double deadline) override;
    void wake_all(std::atomic<uint32_t>&) override {}
    bool simulated() const override { return true; }

   private:
    World& world_;
  };
  class Copies final : public BulkDataModel {
   public:
    explicit Copies(World& world) : world_(world) {}
    bool begin_copy(const BulkCopy& copy) override;
    std::byte* placeholder(int64_t bytes) override { return world_.placeholder(bytes); }

   private:
    World& world_;
  };

  struct Message {
    int from;
    double arrival;
    int64_t bytes;
    std::vector<std::byte> data;  // empty if it is bulk data without bytes
  };
  struct Mailbox {
    std::deque<Message> messages;
    int waits_for = -1;  // the sender of the message that the rank waits for
  };
  // A meeting of the ranks of a node: it is over when all have come.
  struct Meeting {
    int arrived = 0;
    double time = 0;
  };
  // A barrier in two halves.
  struct Barrier {
    int arrived = 0;
    int left = 0;
    double time = 0;  // when it is over, as soon as all have arrived
    std::vector<int> waiting;
  };
  struct Node {
    std::vector<std::span<std::byte>> records;  // of each rank, in a meeting
    Meeting meeting;
    std::vector<int> waiting;         // the ranks in the meeting
    std::vector<std::byte> gathered;  // of all ranks
    std::deque<Barrier> barriers;     // those that not all ranks have left, the oldest first
    int64_t first_barrier = 0;        // the number of the oldest
    std::vector<std::byte*> windows;  // of each rank
    int64_t window_bytes = 0;
    std::byte* memory = nullptr;
    size_t memory_bytes = 0;
  };

  // The state of the communicator of all ranks, or of one of its duplicates.
  struct Communicator {
    Communicator(int rank_count, int node_count)
        : mailboxes(static_cast<size_t>(rank_count)), nodes(static_cast<size_t>(node_count)) {}
    std::vector<Mailbox> mailboxes;
    std::vector<Node> nodes;
  };

  Machine machine_;
  const WorldOptions options_;
  Fibers fibers_;
  Network network_;
  Storage storage_;
  std::vector<RankUse> uses_;
  Timelines timelines_{kPhases};
  std::vector<Phase> phases_;
  std::vector<int64_t> mapped_;             // bytes of the window that each rank has mapped; 0: none
  std::vector<double> marks_;               // the time up to which each rank's seconds are counted
  std::deque<Communicator> communicators_;  // that of the ranks, then its duplicates
  std::vector<int> duplicates_;             // that each rank has made
  TimeOfRanks clock_{*this};
  Copies copies_{*this};
  std::byte* placeholders_ = nullptr;

  double copy_seconds(int rank, const BulkCopy& copy) const;
  void make_windows(Node& node, int64_t bytes, int ranks);
};

}  // namespace swath::simulate
