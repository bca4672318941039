// Many ranks in one process, one thread each, for tests of results that depend on timing.
//
// A baton goes round: only the rank that holds it runs. At every collective call the rank gives it up, and a random
// number generator chooses the next among the ranks that can run. One seed is one interleaving, on every machine; other
// seeds are other interleavings.
//
//   Simulation simulation(3, 2, seed);                 // ranks 0 and 1 on node 0, rank 2 on node 1
//   thread r: simulation.enter(r); work(*simulation.comm(r)); simulation.leave(r);
//
// Time stands still while a rank runs. If no rank can run, it moves to the earliest time at which a sleeping rank wakes
// up; a rank reads it from clock_of_thread().
//
// If no rank can run (they wait in different calls, or for a rank that has left), every waiting call throws
// kDisagreement with the call of each rank, and so does every later call.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "comm/call.h"
#include "comm/comm.h"
#include "comm/heap_window.h"

namespace swath {

// Collective calls of the ranks, and traffic between nodes.
struct Traffic {
  struct OfNode {
    int64_t messages_sent = 0;  // of exchange() and allreduce(), to other nodes
    int64_t bytes_sent = 0;
    int64_t messages_received = 0;
    int64_t bytes_received = 0;
  };
  std::vector<OfNode> nodes;
  std::map<Call::Kind, int64_t> calls;  // of all ranks together, including duplicates; those of one node are not
                                        // counted
};

class Simulation {
 public:
  // Ranks fill the nodes in contiguous blocks: rank r is on node r * nodes / ranks. With shared_memory false,
  // shared_windows() is refused. Throws kArgument unless 1 <= nodes <= ranks.
  Simulation(int ranks, int nodes, uint64_t seed, bool shared_memory = true);

  // The comm of one rank, to be used by its thread alone, between enter() and leave(). It must not outlive the
  // simulation.
  std::unique_ptr<Comm> comm(int rank);

  // Waits for this rank's first turn; the first rank runs when the last rank has entered (or left).
  void enter(int rank);
  // This rank's thread has finished, normally or by an exception. Never throws.
  void leave(int rank);
  // Called by any thread: every call of a rank throws kInterrupted from now on, also those in which ranks wait.
  void interrupt();

  // So far.
  Traffic traffic() const;

 private:
  friend class SimulatedComm;
  friend void run_ranks(Simulation& simulation, const std::function<void(Comm&)>& body);

  enum class State { kOutside, kReady, kWaiting, kSleeping, kFinished };

  // Simulated time, as one rank's thread sees it.
  class RankClock final : public Clock {
   public:
    RankClock(Simulation& simulation, int rank) : simulation_(simulation), rank_(rank) {}

    double now() override;
    void sleep_until(double time) override;
    void wait(std::atomic<uint32_t>& word, uint32_t expected, double deadline) override;
    void wake_all(std::atomic<uint32_t>& word) override;
    bool simulated() const override { return true; }

   private:
    Simulation& simulation_;
    const int rank_;
  };

  struct Rank {
    State state = State::kOutside;
    bool failed = false;                               // the call that it waits in has failed
    double wakes_at = kNever;                          // if it sleeps
    const std::atomic<uint32_t>* sleeps_on = nullptr;  // what may wake it earlier
    std::condition_variable turn;
    int duplicate_made = 0;
    // The call that it waits in, and its buffers.
    Call call;
    std::span<const std::byte> source;
    std::span<std::byte> target;
    const Combine* combine = nullptr;
    std::span<const SendMessage> sends;
    std::span<const ReceiveMessage> receives;
  };

  // The state of the communicator, or of one of its duplicates.
  struct Communicator {
    explicit Communicator(size_t ranks) : window_calls(ranks), arrivals(ranks), windows(ranks) {}

    std::vector<int64_t> window_calls;  // of each rank
    std::vector<int64_t> arrivals;      // of each rank, by node_arrive()
    std::vector<HeapWindow> windows;
    int64_t window_bytes = 0;
    std::vector<int64_t> window_requests;  // the bytes requested in the first, second ... call of shared_windows
  };

  int size() const { return static_cast<int>(ranks_.size()); }
  int node_of(int rank) const { return static_cast<int>(int64_t{rank} * nodes_ / size()); }

  // The caller holds the mutex in all of these.
  void begin_call(int rank) const;
  void meet(std::unique_lock<std::mutex>& lock, int rank, const Call& call);
  void node_arrive(int rank, int duplicate);
  bool node_has_arrived(int rank, int duplicate) const;
  void pass_baton();
  void wait_for_turn(std::unique_lock<std::mutex>& lock, int rank);
  void sleep(int rank, double until, const std::atomic<uint32_t>* word);
  bool wake_first_sleepers();
  bool ready_to_carry_out(int rank) const;
  void carry_out(int rank);
  void carry_out_exchange();
  void check_exchange_sizes();
  void carry_out_allreduce();
  std::vector<std::byte> combined_on_node_of(int rank) const;
  void reduce_between_nodes(std::vector<std::vector<std::byte>>& records, const std::vector<int>& leaders);
  void count_message(int from_node, int to_node, int64_t bytes);
  void replace_windows(const Call& call);
  void make_duplicate();
  void fail(ErrorKind kind, const std::string& message);
  std::string places() const;

  std::vector<std::span<std::byte>> shared_windows(int rank, const Call& call);

  const int nodes_;
  const bool shared_memory_;
  mutable std::mutex mutex_;
  std::mt19937_64 random_;
  std::vector<Rank> ranks_;
  std::vector<std::unique_ptr<RankClock>> clocks_;
  std::atomic<double> now_ = 0;  // seconds; changes only while no rank runs
  int running_ = -1;
  std::string failure_;  // once set, every call throws it
  ErrorKind failure_kind_ = ErrorKind::kNone;
  std::deque<Communicator> communicators_;  // that of the ranks, then its duplicates
  Traffic traffic_;
};

// Runs `body` on every rank of a simulation, in a thread each, and rethrows the first exception (deadlocks of other
// ranks that it causes come later). A simulation runs once.
void run_ranks(Simulation& simulation, const std::function<void(Comm&)>& body);
void run_ranks(int ranks, const std::function<void(Comm&)>& body, uint64_t seed = 0, int nodes = 1);

}  // namespace swath
