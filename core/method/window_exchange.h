// The second phase of two-phase: moving elements between the ranks' memory and the aggregators' windows.
//
// Three ways, all without a list and without sending a size, because every rank can compute every other's share:
//
//   in place   the window lies in memory that the node shares; ranks fill it, or pick from it. One copy.
//   staged     for pieces shorter than a cache line: several ranks would fetch the same lines from another core. The
//              aggregator packs (reading) or unpacks (writing) for all, within its own cache, and what the node shares
//              is the packed stage: whole lines travel once. Two copies, the faster for all that (decision 0010).
//   messages   between nodes, or where no memory is shared: one packed message a round and pair of ranks.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "method/run.h"

namespace swath {

// One side of an exchange: what this rank holds, and who else holds what.
class ExchangeSide {
 public:
  ExchangeSide(const Layout& layout, const Sharing& sharing, const Access& own, const LocalMemory& own_memory)
      : mine(own), memory(own_memory), layout_(layout), sharing_(sharing) {}

  // What another rank holds.
  Access of(int rank) const { return {layout_, sharing_.parts(rank, layout_.element_bytes())}; }
  // The same, kept.
  const Access& kept(int rank);

  const Access& mine;
  const LocalMemory& memory;

 private:
  const Layout& layout_;
  const Sharing& sharing_;
  std::vector<std::optional<Access>> kept_;
};

using RoundWindows = std::vector<std::optional<Window>>;  // one a domain

class WindowExchange {
 public:
  // Collective. `window_bytes_max` is what one window can fill (window_capacity). In place there are two windows an
  // aggregator (`parity` 0 and 1); staged, one window and two stages.
  WindowExchange(Comm& comm, const FileDomains& domains, int64_t window_bytes_max, bool staged, Counters& counters,
                 Progress& progress);

  // The place in `domains` of this rank's own, -1 where it is no aggregator.
  int own_domain() const { return own_domain_; }
  std::byte* own_window(int parity);

  // Memory to windows: put() then, collectively, deliver(), after which the own window is complete.
  void put(ExchangeSide& side, const RoundWindows& windows, int parity);
  void deliver(ExchangeSide& side, const RoundWindows& windows, int parity);
  // Windows to memory: collectively offer() the own, complete window, then take().
  void offer(ExchangeSide& side, const RoundWindows& windows, int parity);
  void take(ExchangeSide& side, const RoundWindows& windows, int parity);

 private:
  struct Packet {
    int peer;
    std::vector<std::byte> data;
  };

  // What this rank shares with `rank` in this round: its window in place, its stage; null where they share nothing.
  std::byte* shared_with(int rank, int parity);
  bool shares_with(int rank) const;
  // Where the packed elements of `rank` begin in the stage of an aggregator of its node: after those of lower ranks.
  int64_t place_in_stage(ExchangeSide& side, const Window& window, int aggregator, int rank) const;
  // Calls visit(rank, access, bytes) for every rank with elements in the window whose elements come packed, by a
  // message.
  template <typename Visit>
  void for_each_message(const ExchangeSide& side, const Window& window, const Visit& visit);
  // Own stage to own window, and back.
  template <typename MoveDealt, typename MoveOne>
  void for_each_staged(ExchangeSide& side, const Window& window, const MoveDealt& move_dealt, const MoveOne& move_one);
  void unpack_stage(ExchangeSide& side, const Window& window, int parity);
  void pack_stage(ExchangeSide& side, const Window& window, int parity);
  // packets_to_ are sent, packets_from_ received; ends with all ranks of the node having arrived.
  void exchange_packets();
  void count_moved(int domain_rank, int64_t bytes);

  Comm& comm_;
  const FileDomains& domains_;
  int64_t capacity_;
  Counters& counters_;
  Progress& progress_;
  int own_domain_ = -1;
  bool staged_ = false;
  bool messages_ = false;  // whether any rank of the communicator may need one
  std::vector<std::span<std::byte>> shared_;
  std::vector<std::byte> private_windows_;
  int64_t buffer_bytes_ = 0;
  std::vector<Packet> packets_to_, packets_from_;
};

}  // namespace swath
