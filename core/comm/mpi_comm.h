// The ranks of an MPI communicator. Of the library swath_mpi, which is built for the MPI at hand; nothing else of the
// core knows MPI.
//
// On one node everything goes through shared memory (comm/node_shared.h), and MPI serves at construction only. On
// several nodes messages and collectives go through MPI (comm/mpi_messages.h); windows and node barriers still go
// through shared memory.
//
// Environment, read on rank 0 when a communicator is taken over:
//   SWATH_NODES=k           test hook: the ranks of one machine behave as k nodes (contiguous blocks of ranks), so that
//                           the way between nodes can be tested on one machine
//   SWATH_SHARED_MEMORY=0   no shared windows
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
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
  void broadcast(std::span<std::byte> data, int root) override;
  void exchange(std::span<const SendMessage> sends, std::span<const ReceiveMessage> receives) override;
  std::vector<std::span<std::byte>> shared_windows(int64_t bytes) override;
  std::string shared_refusal() const override { return refusal_; }

  // Collective. Frees the duplicated communicator and the windows; every later call is kArgument.
  void close();
  // Not collective: lets the ranks of the node hear that this one comes no more. Every later call is kArgument.
  void leave();
  // The same for every MpiComm of this process. Whoever ends early goes on to wait in MPI_Finalize for ranks that wait
  // for it in a call of Swath's: called before, this lets them go.
  static void leave_all();

 private:
  void find_nodes(int nodes_per_machine);
  void attach_node();
  void require_open() const;
  bool on_one_node() const { return node_ != nullptr && node_->size() == size_; }

  OwnedCommunicator world_;         // the duplicate
  OwnedCommunicator node_members_;  // the ranks of this node
  int rank_ = 0;
  int size_ = 0;
  std::vector<int> node_of_;
  std::unique_ptr<Comm> node_;              // null where shared memory cannot be had, then on every rank
  MPI_Request arrival_ = MPI_REQUEST_NULL;  // at a node barrier, where it is null
  bool windows_allowed_ = true;
  int64_t window_bytes_ = 0;  // that every node has
  std::string refusal_;
  bool is_open_ = true;
  const uint64_t generation_ = fork_generation();
};

}  // namespace swath
