// The ranks of an MPI communicator. Part of the library swath_mpi, which is built for one MPI; no other part of the
// core uses MPI.
//
// On one node everything goes through shared memory (comm/node_shared.h), and MPI is used at construction only; while a
// rank waits for long, MPI makes progress for other ranks (base/progress_hook.h). On several nodes messages and
// collectives go through MPI (comm/mpi_messages.h); windows and node barriers still use shared memory.
//
// Environment, read on rank 0 at construction:
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
  // Collective. The ranks of an intracommunicator, on a duplicate of it, so that messages of Swath and of the program
  // are separate. Throws kArgument if there is no such communicator, or if MPI is not running.
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
  // On one node MPI is not called; between nodes it must allow several threads.
  bool may_be_called_in_background() const override { return serves_without_mpi() || mpi_serves_threads(); }

  // True if all ranks share memory: no thread of Swath's calls MPI then. False on one node without shared memory.
  bool serves_without_mpi() const { return node_ != nullptr && node_->size() == size_; }

  // Collective. Frees the duplicated communicator and the windows; every later call is kArgument.
  void close();
  // Local: tells the ranks of the node that this rank makes no more calls. Every later call is kArgument; another
  // thread inside a call stays there until the other ranks have made that call or left, too.
  void leave();
  // The same for every MpiComm of this process. A process that ends early waits in MPI_Finalize for ranks that wait for
  // it in a call of Swath's: calling this first releases them.
  static void leave_all();

 private:
  struct Settings {
    int nodes_per_machine = 1;  // 0: SWATH_NODES is not a number of nodes
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
  std::vector<int> reducers_;   // ranks that combine records between nodes: the first of each, or all if no node has
                                // shared memory
  int place_ = -1;              // this rank's index among them; -1: it is not one
  std::unique_ptr<Comm> node_;  // null if shared memory is not available; then on every rank
  MPI_Request arrival_ = MPI_REQUEST_NULL;  // at a node barrier without shared memory
  bool windows_allowed_ = true;
  int64_t window_bytes_ = 0;  // available on every node
  std::string refusal_;
  std::atomic<bool> is_open_ = true;  // atomic: another thread may call leave()
  const uint64_t generation_ = fork_generation();
};

}  // namespace swath
