#include "method/window_exchange.h"

#include <algorithm>

#include "layout/copy.h"

namespace swath {
namespace {

constexpr int64_t kSlots = 3;  // windows or stages, used in rotation

// Packs elements in the order of both sides' visits: from user memory ...
int64_t pack_from_memory(const ExchangeSide& side, const Window& window, std::byte* packed) {
  int64_t bytes = 0;
  side.mine.visit(window.begin, window.limit, [&](const Slice& slice) {
    scatter_to_window(slice.regions.packed_in_file(), slice.first, slice.last,
                      {packed + bytes, slice.first * slice.regions.element_bytes()}, side.memory.addresses[slice.part]);
    bytes += slice.bytes();
  });
  return bytes;
}

// ... and into it;
int64_t unpack_to_memory(const ExchangeSide& side, const Window& window, const std::byte* packed) {
  const Target use = target_of(side.mine.bytes());
  int64_t bytes = 0;
  side.mine.visit(window.begin, window.limit, [&](const Slice& slice) {
    gather_from_window(slice.regions.packed_in_file(), slice.first, slice.last,
                       {packed + bytes, slice.first * slice.regions.element_bytes()}, side.memory.addresses[slice.part],
                       {use});
    bytes += slice.bytes();
  });
  return bytes;
}

// from the window of the file that holds them ...
int64_t pack_from_window(const Access& access, const Window& window, const std::byte* image, std::byte* packed) {
  int64_t bytes = 0;
  access.visit(window.begin, window.limit, [&](const Slice& slice) {
    const Regions regions = slice.regions.packed(bytes - slice.first * slice.regions.element_bytes());
    gather_from_window(regions, slice.first, slice.last, {image, window.begin}, packed);
    bytes += slice.bytes();
  });
  return bytes;
}

// ... and into it.
int64_t unpack_to_window(const Access& access, const Window& window, std::byte* image, const std::byte* packed) {
  int64_t bytes = 0;
  access.visit(window.begin, window.limit, [&](const Slice& slice) {
    const Regions regions = slice.regions.packed(bytes - slice.first * slice.regions.element_bytes());
    scatter_to_window(regions, slice.first, slice.last, {image, window.begin}, packed);
    bytes += slice.bytes();
  });
  return bytes;
}

// One rank's elements in a window, as one slice.
struct OneSlice {
  Regions regions;
  int64_t first;
  int64_t last;

  int64_t bytes() const { return (last - first) * regions.element_bytes(); }
  int64_t begin_offset() const { return regions.offset_of(first); }
};

std::optional<OneSlice> one_slice(const Access& access, const Window& window) {
  std::optional<OneSlice> found;
  int slices = 0;
  access.visit(window.begin, window.limit, [&](const Slice& slice) {
    if (++slices == 1) found = OneSlice{slice.regions.packed(0), slice.first, slice.last};
  });
  return slices == 1 ? found : std::nullopt;
}

// True if `other` has as many elements as `one`, each `shift` bytes further in the file.
bool is_dealt_next(const OneSlice& one, const OneSlice& other, int64_t shift) {
  return other.first == one.first && other.last == one.last && other.regions.is_shifted(one.regions) &&
         other.begin_offset() == one.begin_offset() + shift;
}

// For pairs and triples of short elements, one pass for each rank makes better use of vector instructions.
bool is_worth_one_pass(int64_t ranks, int64_t block_bytes) {
  constexpr int64_t kBlockBytesMin = 8;
  constexpr int64_t kRanksMin = 4;
  return ranks > 1 && (block_bytes >= kBlockBytesMin || ranks >= kRanksMin);
}

}  // namespace

const Access& ExchangeSide::kept(int rank) {
  const auto found = kept_.find(rank);
  return found != kept_.end() ? found->second : kept_.emplace(rank, of(rank)).first->second;
}

WindowExchange::WindowExchange(Comm& comm, const FileDomains& domains, int64_t window_bytes_max, bool staged,
                               Counters& counters, Progress& progress)
    : comm_(comm), domains_(domains), capacity_(window_bytes_max), counters_(counters), progress_(progress) {
  if (domains.empty()) return;
  own_domain_ = domains.index_of(comm.rank());
  const auto windows = comm.shared_windows(kSlots * capacity_);
  for (int rank = 0; rank < std::ssize(windows); ++rank) {
    if (comm.node_of(rank) != comm.node_of(comm.rank())) continue;
    shared_.push_back(windows[static_cast<size_t>(rank)]);
    ranks_here_.push_back(rank);
  }
  staged_ = staged && !shared_.empty();
  messages_ = comm.size() > 1 && (shared_.empty() || comm.node_count() > 1);
  buffer_bytes_ = shared_.empty() ? 0 : kSlots * capacity_;
  counters_.buffer_bytes = buffer_bytes_;
}

std::byte* WindowExchange::own_window(int64_t round) {
  if (!shared_.empty() && !staged_) return shared_with(comm_.rank(), round);
  const int64_t slots = staged_ ? 1 : kSlots;
  if (!private_windows_) {
    private_windows_ = BulkBuffer(slots * capacity_);
    buffer_bytes_ += slots * capacity_;
    counters_.buffer_bytes = std::max(counters_.buffer_bytes, buffer_bytes_);
  }
  return private_windows_.data() + round % slots * capacity_;
}

bool WindowExchange::shares_with(int rank) const {
  return rank == comm_.rank() || (!shared_.empty() && comm_.node_of(rank) == comm_.node_of(comm_.rank()));
}

std::byte* WindowExchange::shared_with(int rank, int64_t round) {
  if (!shares_with(rank)) return nullptr;
  if (shared_.empty()) return own_window(round);
  const auto place = std::lower_bound(ranks_here_.begin(), ranks_here_.end(), rank) - ranks_here_.begin();
  return shared_[static_cast<size_t>(place)].data() + round % kSlots * capacity_;
}

int64_t WindowExchange::offset_in_stage(ExchangeSide& side, const Window& window, int rank) const {
  int64_t place = 0;
  for (const int lower : ranks_here_) {
    if (lower < rank) place += side.kept(lower).bytes_in(window.begin, window.limit);
  }
  return place;
}

void WindowExchange::count_moved(int domain_rank, int64_t bytes) {
  if (domain_rank != comm_.rank()) counters_.exchanged_bytes += bytes;
  progress_.bytes_done += bytes;
}

template <typename Visit>
void WindowExchange::for_each_message(const ExchangeSide& side, const Window& window, const Visit& visit) {
  for (const int rank : side.owners_in(window)) {
    if (shares_with(rank)) continue;
    const Access theirs = side.of(rank);
    const int64_t bytes = theirs.bytes_in(window.begin, window.limit);
    if (bytes > 0) visit(rank, theirs, bytes);
  }
}

void WindowExchange::put(ExchangeSide& side, const RoundWindows& windows, int64_t round) {
  for (const auto& [domain, window] : windows.shared) {
    const int aggregator = domains_.rank_of(domain);
    std::byte* target = shared_with(aggregator, round);
    if (target == nullptr) continue;
    int64_t moved = 0;
    if (staged_) {
      moved = pack_from_memory(side, window, target + offset_in_stage(side, window, comm_.rank()));
    } else {
      side.mine.visit(window.begin, window.limit, [&](const Slice& slice) {
        const std::byte* memory = side.memory.addresses[slice.part];
        scatter_to_window(slice.regions, slice.first, slice.last, {target, window.begin}, memory);
        moved += slice.bytes();
      });
    }
    count_moved(aggregator, moved);
  }
}

void WindowExchange::arrive(ExchangeSide& side, const RoundWindows& windows) {
  if (messages_) send_elements(side, windows);
  if (!shared_.empty()) comm_.node_arrive();
}

// This rank's elements to the windows of other nodes, and theirs to its own.
void WindowExchange::send_elements(ExchangeSide& side, const RoundWindows& windows) {
  packets_to_.clear();
  packets_from_.clear();
  for (const auto& [domain, window] : windows.shared) {
    const int aggregator = domains_.rank_of(domain);
    if (shares_with(aggregator)) continue;
    Packet packet{aggregator, BulkBuffer(side.mine.bytes_in(window.begin, window.limit))};
    count_moved(aggregator, pack_from_memory(side, window, packet.data.data()));
    packets_to_.push_back(std::move(packet));
  }
  if (const auto& own = windows.own) {
    for_each_message(side, *own, [&](int rank, const Access&, int64_t bytes) {
      packets_from_.push_back({rank, BulkBuffer(bytes)});
    });
  }
  exchange_packets();
}

void WindowExchange::wait() {
  if (!shared_.empty()) comm_.node_wait();
}

void WindowExchange::complete(ExchangeSide& side, const RoundWindows& windows, int64_t round) {
  const auto& own = windows.own;
  if (!own) return;
  for (const Packet& packet : packets_from_) {
    unpack_to_window(side.of(packet.peer), *own, own_window(round), packet.data.data());
  }
}

// All ranks' packed elements of a window, rank by rank. Ranks with elements dealt out one by one, as in CYCLIC(1), are
// moved in one pass: `move_dealt(slice, packed, lanes)`; the others in one pass each: `move_one(access, packed)`, which
// returns the moved bytes.
//
// Example: of 1a 2a 3a 4a 1b 2b 3b 4b ... the elements of ranks 1 to 4 are read in file order, each line once instead
// of four times.
template <typename MoveDealt, typename MoveOne>
void WindowExchange::for_each_staged(ExchangeSide& side, const Window& window, const MoveDealt& move_dealt,
                                     const MoveOne& move_one) {
  const std::vector<int>& ranks = ranks_here_;  // messages carry the packed elements of others
  int64_t packed = 0;
  std::optional<OneSlice> next = one_slice(side.kept(ranks.front()), window);
  for (size_t begin = 0, end = 0; begin < ranks.size(); begin = end) {
    std::optional<OneSlice> first;
    first.swap(next);
    for (end = begin + 1; end < ranks.size(); ++end) {
      next = one_slice(side.kept(ranks[end]), window);
      const auto distance = static_cast<int64_t>(end - begin);
      if (!first || !next || !is_dealt_next(*first, *next, distance * first->regions.block_bytes())) break;
    }
    const auto count = static_cast<int64_t>(end - begin);
    if (first && is_worth_one_pass(count, first->regions.block_bytes())) {
      const int64_t origin = packed - first->first * first->regions.element_bytes();
      move_dealt(OneSlice{first->regions.packed(origin), first->first, first->last},
                 Lanes{count, first->regions.block_bytes(), first->bytes()});
      packed += count * first->bytes();
    } else {
      for (size_t i = begin; i < end; ++i) packed += move_one(side.kept(ranks[i]), packed);
    }
  }
}

void WindowExchange::unpack(ExchangeSide& side, const RoundWindows& windows, int64_t round) {
  if (!staged_ || !windows.own) return;
  const Window& window = *windows.own;
  const std::byte* stage = shared_with(comm_.rank(), round);
  std::byte* image = own_window(round);
  for_each_staged(
      side, window,
      [&](const OneSlice& slice, const Lanes& lanes) {
        scatter_to_window(slice.regions, slice.first, slice.last, {image, window.begin}, stage, lanes);
      },
      [&](const Access& access, int64_t packed) { return unpack_to_window(access, window, image, stage + packed); });
}

void WindowExchange::pack(ExchangeSide& side, const RoundWindows& windows, int64_t round, const std::byte* image) {
  if (!staged_ || !windows.own) return;
  const Window& window = *windows.own;
  std::byte* stage = shared_with(comm_.rank(), round);
  for_each_staged(
      side, window,
      [&](const OneSlice& slice, const Lanes& lanes) {
        gather_from_window(slice.regions, slice.first, slice.last, {image, window.begin}, stage,
                           {Target::kCached, lanes});
      },
      [&](const Access& access, int64_t packed) { return pack_from_window(access, window, image, stage + packed); });
}

void WindowExchange::offer(ExchangeSide& side, const RoundWindows& windows, int64_t round) {
  if (messages_) send_window(side, windows, round);
  if (!shared_.empty()) comm_.node_arrive();
}

// Elements of the own window to the ranks of other nodes, and this rank's elements from theirs.
void WindowExchange::send_window(ExchangeSide& side, const RoundWindows& windows, int64_t round) {
  packets_to_.clear();
  packets_from_.clear();
  if (const auto& own = windows.own) {
    for_each_message(side, *own, [&](int rank, const Access& theirs, int64_t bytes) {
      Packet packet{rank, BulkBuffer(bytes)};
      pack_from_window(theirs, *own, own_window(round), packet.data.data());
      packets_to_.push_back(std::move(packet));
    });
  }
  for (const auto& [domain, window] : windows.shared) {
    const int aggregator = domains_.rank_of(domain);
    if (shares_with(aggregator)) continue;
    packets_from_.push_back({aggregator, BulkBuffer(side.mine.bytes_in(window.begin, window.limit))});
  }
  exchange_packets();
}

void WindowExchange::take(ExchangeSide& side, const RoundWindows& windows, int64_t round) {
  const Target use = target_of(side.mine.bytes());
  size_t next_packet = 0;  // packets_from_ is in the order of the domains
  for (const auto& [domain, window] : windows.shared) {
    const int aggregator = domains_.rank_of(domain);
    const std::byte* source = shared_with(aggregator, round);
    int64_t moved = 0;
    if (source == nullptr) {
      const bool has_packet = next_packet < packets_from_.size() && packets_from_[next_packet].peer == aggregator;
      if (has_packet) moved = unpack_to_memory(side, window, packets_from_[next_packet++].data.data());
    } else if (staged_) {
      moved = unpack_to_memory(side, window, source + offset_in_stage(side, window, comm_.rank()));
    } else {
      side.mine.visit(window.begin, window.limit, [&](const Slice& slice) {
        std::byte* memory = side.memory.addresses[slice.part];
        gather_from_window(slice.regions, slice.first, slice.last, {source, window.begin}, memory, {use});
        moved += slice.bytes();
      });
    }
    count_moved(aggregator, moved);
  }
}

void WindowExchange::exchange_packets() {
  std::vector<SendMessage> sends;
  std::vector<ReceiveMessage> receives;
  int64_t packed_bytes = 0;
  for (const Packet& packet : packets_to_) {
    sends.push_back({packet.peer, packet.data.span()});
    packed_bytes += packet.data.bytes();
  }
  for (Packet& packet : packets_from_) {
    receives.push_back({packet.peer, packet.data.span()});
    packed_bytes += packet.data.bytes();
  }
  counters_.buffer_bytes = std::max(counters_.buffer_bytes, buffer_bytes_ + packed_bytes);
  comm_.exchange(sends, receives);
}

}  // namespace swath
