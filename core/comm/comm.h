// The ranks of one operation, and the few things they do together. The only seam behind which MPI lives.
//
// Every implementation passes the same contract suite (comm_contract_test.cc). All calls but those that only
// tell (const) are collective: every rank makes the same calls in the same order with the same sizes.
// Waiting blocks in the kernel and never spins: ranks often outnumber cores.
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

// Makes `into` the record of both, `into` before `other`. Associative; must not throw.
using Combine = std::function<void(std::span<std::byte> into, std::span<const std::byte> other)>;
constexpr int64_t kRecordBytesMax = 4096;  // of a reduction

class Comm {
 public:
  virtual ~Comm() = default;

  // For whoever makes several calls that belong together.
  CollectiveTurn& turn() { return turn_; }

  virtual std::string name() const = 0;  // "solo", "simulated", "mpi"
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Which node holds a rank; nodes are numbered from 0 in order of their lowest rank.
  virtual int node_of(int rank) const = 0;
  int node_count() const {
    int count = 0;
    for (int r = 0; r < size(); ++r) count = node_of(r) + 1 > count ? node_of(r) + 1 : count;
    return count;
  }

  virtual void barrier() = 0;
  // A barrier among the ranks of this rank's node only, in two halves: node_wait() returns when every rank of the node
  // has arrived. What a rank does between the two covers the time that the others are late; it must not be another call
  // of this comm. (An exception may come between them: the next call then waits first.)
  virtual void node_arrive() = 0;
  virtual void node_wait() = 0;
  void node_barrier() {
    node_arrive();
    node_wait();
  }
  // all.size() == size() * mine.size(); rank r's bytes land at r * mine.size().
  virtual void allgather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  // Every rank brings a record of the same size, at most kRecordBytesMax, and gets the records of all ranks combined,
  // in order of the nodes, on each in order of its ranks. Where there are several nodes, each sends O(log nodes)
  // messages of the record's size.
  virtual void allreduce(std::span<std::byte> record, const Combine& combine) = 0;
  virtual void broadcast(std::span<std::byte> data, int root) = 0;
  // Point-to-point, all at once. At most one message for each (from, to) pair; a message to oneself is allowed and
  // copied.
  virtual void exchange(std::span<const SendMessage> sends, std::span<const ReceiveMessage> receives) = 0;

  // Memory that all ranks of a node see: `bytes` for every rank of the node, the same number on every rank, 64-byte
  // aligned parts. windows[r] is the part of rank r, empty for ranks of other nodes. The memory is kept and handed out
  // again (contents undefined) by the next call that asks for no more; a larger request replaces it.
  // Where shared memory cannot be had, an empty vector on every rank of the communicator (and shared_refusal() says
  // why).
  virtual std::vector<std::span<std::byte>> shared_windows(int64_t bytes) = 0;
  virtual std::string shared_refusal() const = 0;

  // Collective. A communicator of the same ranks on the same nodes, whose calls do not meet those of this one: for an
  // operation in the background. Throws kUnsupported on all ranks where it cannot be had.
  virtual std::unique_ptr<Comm> duplicate() = 0;
  // Whether another thread of this rank may be in a call of a duplicate while this thread is in one of this. Else a
  // rank uses them from one thread, one call after another.
  virtual bool may_be_called_in_background() const = 0;

 private:
  CollectiveTurn turn_;
};

// One rank alone.
std::unique_ptr<Comm> make_solo_comm();

}  // namespace swath
