// The ranks of an MPI communicator. Of the library swath_mpi, which is built for the MPI at hand; nothing else of the
// core knows MPI.
//
// On one node everything goes through shared memory (comm/node_shared.h), and MPI serves at construction only; where a
// rank waits for long, MPI goes on meanwhile with what it owes others (base/progress_hook.h). On several nodes messages
// and collectives go through MPI (comm/mpi_messages.h); windows and node barriers still go through shared memory.
//
// Environment, read on rank 0 when a communicator is taken over:
//   SWATH_NODES=k           test hook: the ranks of one machine behave as k nodes (contiguous blocks of ranks), so that
//                           the way between nodes can be tested on one machine
//   SWATH_SHARED_MEMORY=0   no shared windows
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fork.h"
#include "comm/comm.h"
#include "comm/mpi_communicator.h"

namespace swath {

class MpiComm final : public Comm {
 public:
  // Collective. The ranks of an intracommunicator, on a duplicate of it: no message of the program is ever taken for
  // one of Swath's. Throws kArgument where there is no such communicator, or MPI is not running.
  explicit MpiComm(MPI_Comm parent);
  ~MpiComm() override;

  std::string name() const override { return "mpi"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int node_of(int rank) const override { return node_of_.at(rank); }

  void barrier() override;
  void node_arrive() override;
  void node_wait() override;
  void allgather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  void allreduce(std::span<std::byte> record, const Combine& combine) override;
  void broadcast(std::span<std::byte> data, int root) override;
  void exchange(std::span<const SendMessage> sends, std::span<const ReceiveMessage> receives) override;
  std::vector<std::span<std::byte>> shared_windows(int64_t bytes) override;
  std::string shared_refusal() const override { return refusal_; }
  std::unique_ptr<Comm> duplicate() override;
  // On one node MPI is not called; between nodes it must serve several threads.
  bool may_be_called_in_background() const override { return serves_without_mpi() || mpi_serves_threads(); }

  // Whether all ranks share memory: no thread of Swath's own calls MPI then. Not so on one node whose shared memory
  // cannot be had.
  bool serves_without_mpi() const { return node_ != nullptr && node_->size() == size_; }

  // Collective. Frees the duplicated communicator and the windows; every later call is kArgument.
  void close();
  // Not collective: lets the ranks of the node hear that this one comes no more. Every later call is kArgument; another
  // thread that is in one stays in it until the others have come or left, too.
  void leave();
  // The same for every MpiComm of this process. Whoever ends early goes on to wait in MPI_Finalize for ranks that wait
  // for it in a call of Swath's: called before, this lets them go.
  static void leave_all();

 private:
  struct Settings {
    int nodes_per_machine = 1;  // 0 where SWATH_NODES is no number of nodes
    int shared_memory = 1;
  };

  MpiComm(MPI_Comm parent, const std::optional<Settings>& settings);
  static Settings settings_of_rank_0(MPI_Comm communicator);
  void find_nodes();
  void attach_node();
  void find_reducers();
  void require_open() const;

  OwnedCommunicator world_;         // the duplicate
  OwnedCommunicator node_members_;  // the ranks of this node
  int rank_ = 0;
  int size_ = 0;
  Settings settings_;
  std::vector<int> node_of_;
  std::vector<int> reducers_;   // the ranks that combine between nodes: the first of each, or all where no node meets
  int place_ = -1;              // of this rank among them; -1: it is none
  std::unique_ptr<Comm> node_;  // null where shared memory cannot be had, then on every rank
  MPI_Request arrival_ = MPI_REQUEST_NULL;  // at a node barrier, where it is null
  bool windows_allowed_ = true;
  int64_t window_bytes_ = 0;  // that every node has
  std::string refusal_;
  std::atomic<bool> is_open_ = true;  // another thread may be told that this one leaves
  const uint64_t generation_ = fork_generation();
};

}  // namespace swath
