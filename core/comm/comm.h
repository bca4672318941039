// The ranks of one operation and their collective calls. The only interface behind which MPI is used.
//
// Every implementation passes the same contract suite (comm_contract_test.cc). All calls except const queries are
// collective: every rank makes the same calls in the same order with the same sizes. Waiting blocks in the kernel and
// never spins: ranks often outnumber cores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/collective_turn.h"

namespace swath {

// One contiguous message. Sizes are known on both sides beforehand, so none is sent.
struct SendMessage {
  int to;
  std::span<const std::byte> data;
};
struct ReceiveMessage {
  int from;
  std::span<std::byte> data;
};

// Combines two records into `into`; `into` comes before `other`. Associative; must not throw.
using Combine = std::function<void(std::span<std::byte> into, std::span<const std::byte> other)>;
constexpr int64_t kRecordBytesMax = 4096;  // of a reduction

class Comm {
 public:
  virtual ~Comm() = default;

  // For callers that make several calls in one turn.
  CollectiveTurn& turn() { return turn_; }

  virtual std::string name() const = 0;  // "solo", "simulated", "mpi"
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // The node of a rank; nodes are numbered from 0 in order of their lowest rank.
  virtual int node_of(int rank) const = 0;
  virtual int node_count() const {
    int count = 0;
    for (int r = 0; r < size(); ++r) count = node_of(r) + 1 > count ? node_of(r) + 1 : count;
    return count;
  }

  virtual void barrier() = 0;
  // A barrier among the ranks of this rank's node, in two halves: node_wait() returns when every rank of the node has
  // arrived. Work between the two hides the delay of late ranks; it must not be another call of this comm. (An
  // exception may come between them: the next call then waits first.)
  virtual void node_arrive() = 0;
  virtual void node_wait() = 0;
  void node_barrier() {
    node_arrive();
    node_wait();
  }
  // all.size() == size() * mine.size(); rank r's bytes are at r * mine.size().
  virtual void allgather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  // Every rank contributes a record of the same size, at most kRecordBytesMax, and gets the combination of all records,
  // in order of the nodes and of the ranks in each node. With several nodes, each sends O(log nodes) messages of the
  // record's size.
  virtual void allreduce(std::span<std::byte> record, const Combine& combine) = 0;
  virtual void broadcast(std::span<std::byte> data, int root) = 0;
  // Point-to-point messages, all at the same time. At most one message for each (from, to) pair; a message to oneself
  // is allowed and copied.
  virtual void exchange(std::span<const SendMessage> sends, std::span<const ReceiveMessage> receives) = 0;

  // Memory shared by all ranks of a node: `bytes` for every rank, the same number on every rank, in 64-byte aligned
  // parts. windows[r] is the part of rank r, empty for ranks of other nodes. The next call that asks for no more
  // returns the same memory (contents undefined); a larger request replaces it. If shared memory is not available,
  // returns an empty vector on every rank of the communicator (and shared_refusal() gives the reason).
  virtual std::vector<std::span<std::byte>> shared_windows(int64_t bytes) = 0;
  virtual std::string shared_refusal() const = 0;

  // Collective. A communicator of the same ranks on the same nodes with separate calls: for an operation in the
  // background. Throws kUnsupported on all ranks if it is not available.
  virtual std::unique_ptr<Comm> duplicate() = 0;
  // True if another thread of this rank may call a duplicate while this thread calls this communicator. If false, a
  // rank uses both from one thread, one call after another.
  virtual bool may_be_called_in_background() const = 0;

 private:
  CollectiveTurn turn_;
};

// A communicator of one rank.
std::unique_ptr<Comm> make_solo_comm();

}  // namespace swath
