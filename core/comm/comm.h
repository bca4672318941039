// The ranks of one operation, and the few things they do together. The only seam behind which MPI lives.
//
// Every implementation passes the same contract suite (comm_contract_test.cc). All calls but rank(), size() and
// node_of() are collective: every rank makes the same calls in the same order with the same sizes.
// Waiting blocks in the kernel and never spins: ranks often outnumber cores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

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

class Comm {
 public:
  virtual ~Comm() = default;

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
};

// One rank alone.
std::unique_ptr<Comm> make_solo_comm();

}  // namespace swath
