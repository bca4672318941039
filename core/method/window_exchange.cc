#include "method/window_exchange.h"

#include <algorithm>

#include "layout/copy.h"

namespace swath {
namespace {

int64_t bytes_of(const Slice& slice) { return (slice.last - slice.first) * slice.regions.element_bytes(); }

}  // namespace

WindowExchange::WindowExchange(Comm& comm, const Layout& layout, const std::vector<FileDomain>& domains,
                               int64_t window_bytes_max, Counters& counters, Progress& progress)
    : comm_(comm),
      layout_(layout),
      domains_(domains),
      capacity_(window_bytes_max),
      counters_(counters),
      progress_(progress) {
  for (size_t i = 0; i < domains.size(); ++i) {
    if (domains[i].rank == comm.rank()) own_domain_ = static_cast<int>(i);
  }
  if (domains.empty()) return;
  shared_ = comm.shared_windows(2 * capacity_);
  messages_ = comm.size() > 1 && (shared_.empty() || comm.node_count() > 1);
  if (shared_.empty() && own_domain_ >= 0) private_window_.resize(static_cast<size_t>(2 * capacity_));
  counters_.buffer_bytes = shared_.empty() ? static_cast<int64_t>(private_window_.size()) : 2 * capacity_;
}

std::byte* WindowExchange::reachable(int rank, int parity) {
  if (!shared_.empty()) {
    const auto window = shared_[static_cast<size_t>(rank)];
    return window.empty() ? nullptr : window.data() + parity * capacity_;
  }
  return rank == comm_.rank() ? private_window_.data() + parity * capacity_ : nullptr;
}

bool WindowExchange::reaches_own_window(int rank) const {
  return rank == comm_.rank() || (!shared_.empty() && comm_.node_of(rank) == comm_.node_of(comm_.rank()));
}

void WindowExchange::count_moved(int domain_rank, int64_t bytes) {
  if (domain_rank != comm_.rank()) counters_.exchanged_bytes += bytes;
  progress_.bytes_done += bytes;
}

template <typename Visit>
void WindowExchange::for_each_remote_holder(const ExchangeSide& side, const Window& window, const Visit& visit) {
  for (int rank = 0; rank < comm_.size(); ++rank) {
    if (reaches_own_window(rank)) continue;
    const Access theirs(layout_, side.sharing.parts(rank, layout_.element_bytes()));
    const int64_t bytes = theirs.bytes_in(window.begin, window.limit);
    if (bytes > 0) visit(rank, theirs, bytes);
  }
}

void WindowExchange::put(const ExchangeSide& side, const RoundWindows& windows, int parity) {
  packets_to_.clear();
  for (size_t i = 0; i < domains_.size(); ++i) {
    if (!windows[i]) continue;
    const Window& window = *windows[i];
    std::byte* target = reachable(domains_[i].rank, parity);
    Packet packet{domains_[i].rank, {}};
    if (target == nullptr) packet.data.resize(static_cast<size_t>(side.mine.bytes_in(window.begin, window.limit)));
    int64_t packed = 0;
    side.mine.visit(window.begin, window.limit, [&](const Slice& slice) {
      const std::byte* memory = side.memory.addresses[slice.part];
      if (target != nullptr) {
        scatter_to_window(slice.regions, slice.first, slice.last, target, window.begin, memory);
      } else {
        scatter_to_window(slice.regions.packed_in_file(), slice.first, slice.last, packet.data.data() + packed,
                          slice.first * slice.regions.element_bytes(), memory);
      }
      packed += bytes_of(slice);
    });
    count_moved(domains_[i].rank, packed);
    if (!packet.data.empty()) packets_to_.push_back(std::move(packet));
  }
}

void WindowExchange::deliver(const ExchangeSide& side, const RoundWindows& windows, int parity) {
  if (!messages_) {
    comm_.barrier();
    return;
  }
  packets_from_.clear();
  const Window* own = own_domain_ >= 0 && windows[own_domain_] ? &*windows[own_domain_] : nullptr;
  if (own != nullptr) {
    for_each_remote_holder(side, *own, [&](int rank, const Access&, int64_t bytes) {
      packets_from_.push_back({rank, std::vector<std::byte>(static_cast<size_t>(bytes))});
    });
  }
  exchange_packets();
  for (const Packet& packet : packets_from_) {
    const Access theirs(layout_, side.sharing.parts(packet.peer, layout_.element_bytes()));
    int64_t packed = 0;
    theirs.visit(own->begin, own->limit, [&](const Slice& slice) {
      const Regions regions = slice.regions.packed(packed - slice.first * slice.regions.element_bytes());
      scatter_to_window(regions, slice.first, slice.last, own_window(parity), own->begin, packet.data.data());
      packed += bytes_of(slice);
    });
  }
}

void WindowExchange::offer(const ExchangeSide& side, const RoundWindows& windows, int parity) {
  if (!messages_) {
    comm_.barrier();
    return;
  }
  packets_to_.clear();
  packets_from_.clear();
  if (own_domain_ >= 0 && windows[own_domain_]) {
    const Window& own = *windows[own_domain_];
    for_each_remote_holder(side, own, [&](int rank, const Access& theirs, int64_t bytes) {
      Packet packet{rank, std::vector<std::byte>(static_cast<size_t>(bytes))};
      int64_t packed = 0;
      theirs.visit(own.begin, own.limit, [&](const Slice& slice) {
        const Regions regions = slice.regions.packed(packed - slice.first * slice.regions.element_bytes());
        gather_from_window(regions, slice.first, slice.last, own_window(parity), own.begin, packet.data.data());
        packed += bytes_of(slice);
      });
      packets_to_.push_back(std::move(packet));
    });
  }
  for (size_t i = 0; i < domains_.size(); ++i) {
    if (!windows[i] || reachable(domains_[i].rank, parity) != nullptr) continue;
    const int64_t bytes = side.mine.bytes_in(windows[i]->begin, windows[i]->limit);
    if (bytes > 0) packets_from_.push_back({domains_[i].rank, std::vector<std::byte>(static_cast<size_t>(bytes))});
  }
  exchange_packets();
}

void WindowExchange::take(const ExchangeSide& side, const RoundWindows& windows, int parity) {
  size_t next_packet = 0;  // packets_from_ is in the order of the domains
  for (size_t i = 0; i < domains_.size(); ++i) {
    if (!windows[i]) continue;
    const Window& window = *windows[i];
    const std::byte* source = reachable(domains_[i].rank, parity);
    const bool has_packet =
        source == nullptr && next_packet < packets_from_.size() && packets_from_[next_packet].peer == domains_[i].rank;
    if (source == nullptr && !has_packet) continue;
    const std::byte* packet = has_packet ? packets_from_[next_packet++].data.data() : nullptr;
    int64_t packed = 0;
    side.mine.visit(window.begin, window.limit, [&](const Slice& slice) {
      std::byte* memory = side.memory.addresses[slice.part];
      if (source != nullptr) {
        gather_from_window(slice.regions, slice.first, slice.last, source, window.begin, memory);
      } else {
        gather_from_window(slice.regions.packed_in_file(), slice.first, slice.last, packet + packed,
                           slice.first * slice.regions.element_bytes(), memory);
      }
      packed += bytes_of(slice);
    });
    count_moved(domains_[i].rank, packed);
  }
}

void WindowExchange::exchange_packets() {
  std::vector<SendMessage> sends;
  std::vector<ReceiveMessage> receives;
  int64_t packed_bytes = 0;
  for (const Packet& packet : packets_to_) {
    sends.push_back({packet.peer, packet.data});
    packed_bytes += static_cast<int64_t>(packet.data.size());
  }
  for (Packet& packet : packets_from_) {
    receives.push_back({packet.peer, packet.data});
    packed_bytes += static_cast<int64_t>(packet.data.size());
  }
  const int64_t windows = shared_.empty() ? static_cast<int64_t>(private_window_.size()) : 2 * capacity_;
  counters_.buffer_bytes = std::max(counters_.buffer_bytes, windows + packed_bytes);
  comm_.exchange(sends, receives);
  comm_.node_barrier();
}

}  // namespace swath
