// The exchange phase of two-phase: moves elements between the ranks' memory and the aggregators' windows.
//
// Three ways, all without lists and without messages about sizes, because every rank can compute every other's share:
//
//   in place   the window lies in memory that the node shares; ranks fill it, or pick from it. One copy.
//   staged     for pieces shorter than a cache line: several ranks would fetch the same lines from another core. The
//              aggregator packs (reading) or unpacks (writing) for all, within its own cache, and what the node shares
//              is the packed stage: whole lines travel once. Two copies, the faster for all that (decision 0010).
//   messages   between nodes, or where no memory is shared: one packed message a round and pair of ranks.
//
// A round has one barrier of the node's ranks, in two halves: a rank's transfer of its own window between them hides
// the delay of late ranks. A rank that has passed the barrier of a round knows that all have finished the previous
// round; the number of windows follows from that.
//
//   writing    put(k)    arrive(k)   unpack and write window k - 1     wait(k)   put(k + 1) ...
//   reading    offer(k)  (arrives)   read and pack window k + 1        wait(k)   take(k)  offer(k + 1) ...
//
// There are three windows (stages): others pick from (fill) window k while k + 1 is read (k - 1 written), and one that
// has not come so far still uses the third. Staged, what is read or written is one private window beside them; none
// where a window that is in the page cache is packed from there.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/bulk_data.h"
#include "method/run.h"
#include "plan/owners.h"

namespace swath {

// One side of an exchange: this rank's share, and the shares of the others.
class ExchangeSide {
 public:
  ExchangeSide(const Layout& layout, const Decomposition& decomposition, const Access& own,
               const LocalMemory& own_memory)
      : mine(own), memory(own_memory), layout_(layout), decomposition_(decomposition) {}

  // The share of another rank.
  Access of(int rank) const { return Access::of(layout_, decomposition_, rank); }
  // The ranks that may have elements in the window, ascending.
  std::vector<int> owners_in(const Window& window) const {
    return swath::owners_in(layout_, decomposition_, window.begin, window.limit);
  }
  // The share of another rank, from a cache.
  const Access& kept(int rank);

  const Access& mine;
  const LocalMemory& memory;

 private:
  const Layout& layout_;
  const Decomposition& decomposition_;
  std::unordered_map<int, Access> kept_;  // of the ranks that were asked for
};

class WindowExchange {
 public:
  // Collective. `window_bytes_max` is the capacity of one window (window_capacity).
  WindowExchange(Comm& comm, const FileDomains& domains, int64_t window_bytes_max, bool staged, Counters& counters,
                 Progress& progress);

  // The index of this rank's domain in `domains`; -1 if it is no aggregator.
  int own_domain() const { return own_domain_; }
  std::byte* own_window(int64_t round);

  // Memory to windows: put(), arrive() and wait(), after which complete() and unpack() make the own window so. arrive()
  // comes after complete() of the round before, and after the round before that was written.
  void put(ExchangeSide& side, const RoundWindows& windows, int64_t round);
  void arrive(ExchangeSide& side, const RoundWindows& windows);
  void complete(ExchangeSide& side, const RoundWindows& windows, int64_t round);
  void unpack(ExchangeSide& side, const RoundWindows& windows, int64_t round);
  // Windows to memory: pack() the own, complete window, offer() it, wait(), take(). offer() comes after take() of the
  // round before; pack() may come before that. `image`: own_window(), or any other place that has the same bytes where
  // needs_own_window() is false.
  bool needs_own_window() const { return !staged_ || messages_; }
  void pack(ExchangeSide& side, const RoundWindows& windows, int64_t round, const std::byte* image);
  void offer(ExchangeSide& side, const RoundWindows& windows, int64_t round);
  void take(ExchangeSide& side, const RoundWindows& windows, int64_t round);
  void wait();

 private:
  struct Packet {
    int peer;
    BulkBuffer data;
  };

  // The memory that this rank shares with `rank` in this round: its window (in place) or its stage; null: nothing is
  // shared.
  std::byte* shared_with(int rank, int64_t round);
  bool shares_with(int rank) const;
  // The offset of the packed elements of `rank` in the stage of an aggregator of its node: after those of lower ranks.
  int64_t offset_in_stage(ExchangeSide& side, const Window& window, int rank) const;
  // Calls visit(rank, access, bytes) for every rank with elements in the window whose elements come packed, by a
  // message.
  template <typename Visit>
  void for_each_message(const ExchangeSide& side, const Window& window, const Visit& visit);
  // Copies the own stage to the own window, and back.
  template <typename MoveDealt, typename MoveOne>
  void for_each_staged(ExchangeSide& side, const Window& window, const MoveDealt& move_dealt, const MoveOne& move_one);
  void send_elements(ExchangeSide& side, const RoundWindows& windows);
  void send_window(ExchangeSide& side, const RoundWindows& windows, int64_t round);
  // packets_to_ are sent, packets_from_ received.
  void exchange_packets();
  void count_moved(int domain_rank, int64_t bytes);

  Comm& comm_;
  const FileDomains& domains_;
  int64_t capacity_;
  Counters& counters_;
  Progress& progress_;
  int own_domain_ = -1;
  bool staged_ = false;
  bool messages_ = false;  // some rank of the communicator may need one
  // The shared windows of this rank's node, and its ranks, ascending; none if no memory is shared.
  std::vector<std::span<std::byte>> shared_;
  std::vector<int> ranks_here_;
  BulkBuffer private_windows_;
  int64_t buffer_bytes_ = 0;
  std::vector<Packet> packets_to_, packets_from_;
};

}  // namespace swath
