// The second phase of two-phase: moving elements between the ranks' memory and the aggregators' windows.
//
// A window that a rank can reach (its own, or one in memory that the node shares) is filled and picked from in place:
// one copy, from user memory to its place in the file's image. Others go as one packed message a round and pair of
// ranks. Both sides know every size from the closed forms, so that nothing but data crosses the network.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "method/run.h"

namespace swath {

// One side of an exchange: what this rank holds, and who else holds what.
struct ExchangeSide {
  const Sharing& sharing;
  const Access& mine;
  const LocalMemory& memory;
};

using RoundWindows = std::vector<std::optional<Window>>;  // one a domain

class WindowExchange {
 public:
  // Collective. `window_bytes_max` is what one window can fill (window_capacity); there are two (`parity` 0 and 1) an
  // aggregator.
  WindowExchange(Comm& comm, const Layout& layout, const std::vector<FileDomain>& domains, int64_t window_bytes_max,
                 Counters& counters, Progress& progress);

  // The place in `domains` of this rank's own, -1 where it is no aggregator.
  int own_domain() const { return own_domain_; }
  std::byte* own_window(int parity) { return reachable(comm_.rank(), parity); }

  // Memory to windows: put() then, collectively, deliver(), after which the own window is complete.
  void put(const ExchangeSide& side, const RoundWindows& windows, int parity);
  void deliver(const ExchangeSide& side, const RoundWindows& windows, int parity);
  // Windows to memory: collectively offer() the own, complete window, then take().
  void offer(const ExchangeSide& side, const RoundWindows& windows, int parity);
  void take(const ExchangeSide& side, const RoundWindows& windows, int parity);

 private:
  struct Packet {
    int peer;
    std::vector<std::byte> data;
  };

  std::byte* reachable(int rank, int parity);
  bool reaches_own_window(int rank) const;
  // packets_to_[] are sent, packets_from_[] received; ends with all ranks of the node having arrived.
  void exchange_packets();
  // Calls visit(rank, access) for every rank with elements in the own window that cannot reach it.
  template <typename Visit>
  void for_each_remote_holder(const ExchangeSide& side, const Window& window, const Visit& visit);
  void count_moved(int domain_rank, int64_t bytes);

  Comm& comm_;
  const Layout& layout_;
  const std::vector<FileDomain>& domains_;
  int64_t capacity_;
  Counters& counters_;
  Progress& progress_;
  int own_domain_ = -1;
  bool messages_ = false;  // whether any rank of the communicator may need one
  std::vector<std::span<std::byte>> shared_;
  std::vector<std::byte> private_window_;
  std::vector<Packet> packets_to_, packets_from_;
};

}  // namespace swath
