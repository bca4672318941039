#include "comm/gather.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>

#include "comm/agreement.h"
#include "comm/messages.h"
#include "comm/reduction.h"

namespace swath {
namespace {

constexpr int64_t kSpreadBytesMin = int64_t{256} << 10;  // bytes from other nodes that pass through a window at a time
constexpr int64_t kSizeBytes = sizeof(int64_t);

struct Longest {
  int64_t bytes = 0;
  void combine(const Longest& other) { bytes = std::max(bytes, other.bytes); }
};

// Collective. Allocates memory before ranks wait for each other: an error of one is thrown on all.
template <typename Work>
void make_on_all(Comm& comm, const Work& work) {
  agree(comm, failure_of(work));
}

// ---------------------------------------------------------------------------------------------------- on a node

// The ranks of this rank's node.
class Node {
 public:
  // Collective. For shares of at most `share_bytes_max`.
  Node(Comm& comm, std::vector<int> ranks, int64_t share_bytes_max)
      : comm_(comm),
        ranks_(std::move(ranks)),
        windows_(comm.shared_windows(window_bytes(comm.node_count(), share_bytes_max))) {}

  Comm& comm() const { return comm_; }
  bool is_first() const { return comm_.rank() == ranks_.front(); }

  // Collective. Gathers the bytes of the node's ranks on all of them.
  std::vector<Bytes> gather(std::span<const std::byte> mine) {
    return windows_.empty() ? gather_by_messages(mine) : gather_by_windows(mine);
  }

  // Collective. Copies the first rank's data, whose size all know, to all of them.
  void spread(std::span<std::byte> data) {
    if (windows_.empty()) {
      spread_by_messages(data);
    } else {
      spread_by_windows(data);
    }
  }

 private:
  // A window holds the size of a share and the share, or a piece of other nodes' data.
  static int64_t window_bytes(int nodes, int64_t share_bytes_max) {
    return std::max(kSizeBytes + share_bytes_max, nodes > 1 ? kSpreadBytesMin : 0);
  }

  std::vector<Bytes> gather_by_windows(std::span<const std::byte> mine) {
    const std::span<std::byte> own = windows_[comm_.rank()];
    const int64_t own_bytes = std::ssize(mine);
    std::memcpy(own.data(), &own_bytes, kSizeBytes);
    copy_bytes(mine, own.subspan(kSizeBytes));
    comm_.node_barrier();
    std::vector<Bytes> all;
    make_on_all(comm_, [&] {
      for (const int rank : ranks_) {
        int64_t bytes = 0;
        std::memcpy(&bytes, windows_[rank].data(), kSizeBytes);
        const auto share = windows_[rank].subspan(kSizeBytes, bytes);
        all.emplace_back(share.begin(), share.end());
      }
    });  // from here on the windows may be overwritten
    return all;
  }

  std::vector<Bytes> gather_by_messages(std::span<const std::byte> mine) {
    const int64_t own_bytes = std::ssize(mine);
    std::vector<Bytes> sizes(ranks_.size(), Bytes(kSizeBytes));
    give_to_all(std::as_bytes(std::span(&own_bytes, 1)), sizes);
    std::vector<Bytes> all;
    make_on_all(comm_, [&] {
      for (const Bytes& size : sizes) {
        int64_t bytes = 0;
        std::memcpy(&bytes, size.data(), kSizeBytes);
        all.emplace_back(bytes);
      }
    });
    give_to_all(mine, all);
    return all;
  }

  // `all` has the sizes of the shares.
  void give_to_all(std::span<const std::byte> mine, std::vector<Bytes>& all) {
    std::vector<SendMessage> sends;
    std::vector<ReceiveMessage> receives;
    for (size_t i = 0; i < ranks_.size(); ++i) {
      sends.push_back({ranks_[i], mine});
      receives.push_back({ranks_[i], all[i]});
    }
    comm_.exchange(sends, receives);
  }

  void spread_by_windows(std::span<std::byte> data) {
    const std::span<std::byte> window = windows_[ranks_.front()];
    while (!data.empty()) {
      const auto piece = data.first(std::min(data.size(), window.size()));
      if (is_first()) copy_bytes(piece, window);
      comm_.node_barrier();
      if (!is_first()) copy_bytes(window, piece);
      comm_.node_barrier();
      data = data.subspan(piece.size());
    }
  }

  void spread_by_messages(std::span<std::byte> data) {
    std::vector<SendMessage> sends;
    std::vector<ReceiveMessage> receives;
    if (is_first()) {
      for (size_t i = 1; i < ranks_.size(); ++i) sends.push_back({ranks_[i], data});
    } else {
      receives.push_back({ranks_.front(), data});
    }
    comm_.exchange(sends, receives);
  }

  Comm& comm_;
  std::vector<int> ranks_;
  std::vector<std::span<std::byte>> windows_;
};

// ---------------------------------------------------------------------------------------------------- between nodes

// The first ranks of the nodes, which send for their nodes.
class Leaders {
 public:
  Leaders(Comm& comm, const std::vector<std::vector<int>>& ranks_of_node)
      : comm_(comm), node_(comm.node_of(comm.rank())) {
    for (const std::vector<int>& ranks : ranks_of_node) leaders_.push_back(ranks.front());
  }

  int own_node() const { return node_; }

  // Collective; ranks that are no leaders do nothing. `blocks` are the blocks of all nodes, one after another; a leader
  // has its own, and all know the sizes. Bruck's algorithm: each round doubles the number of blocks that a leader has,
  // those of the nodes from its own on. `room`: memory for twice as much.
  void gather(std::span<const std::span<std::byte>> blocks, std::span<std::byte> room) {
    const int count = static_cast<int>(leaders_.size());
    for (int had = 1; had < count; had *= 2) pass(blocks, had, std::min(had, count - had), room);
  }

 private:
  // Sends the first `passed` of its blocks to the leader `had` places before it, and receives as many.
  void pass(std::span<const std::span<std::byte>> blocks, int had, int passed, std::span<std::byte> room) {
    if (comm_.rank() != leaders_[node_]) return comm_.exchange({}, {});
    const auto out = room.first(pack(blocks, node_, passed, room));
    const auto in = room.subspan(out.size(), bytes_of_blocks(blocks, node_ + had, passed));
    const SendMessage send{leaders_[wrapped(node_ - had)], out};
    const ReceiveMessage receive{leaders_[wrapped(node_ + had)], in};
    comm_.exchange({&send, 1}, {&receive, 1});
    unpack(in, blocks, node_ + had, passed);
  }

  int wrapped(int node) const {
    const int count = static_cast<int>(leaders_.size());
    return (node + count) % count;
  }

  size_t bytes_of_blocks(std::span<const std::span<std::byte>> blocks, int first, int count) const {
    size_t bytes = 0;
    for (int i = 0; i < count; ++i) bytes += blocks[wrapped(first + i)].size();
    return bytes;
  }

  // Returns the number of packed bytes.
  size_t pack(std::span<const std::span<std::byte>> blocks, int first, int count, std::span<std::byte> into) const {
    size_t bytes = 0;
    for (int i = 0; i < count; ++i) {
      const auto& block = blocks[wrapped(first + i)];
      copy_bytes(block, into.subspan(bytes));
      bytes += block.size();
    }
    return bytes;
  }

  void unpack(std::span<const std::byte> all, std::span<const std::span<std::byte>> blocks, int first,
              int count) const {
    for (int i = 0; i < count; ++i) {
      const auto& block = blocks[wrapped(first + i)];
      copy_bytes(all, block);
      all = all.subspan(block.size());
    }
  }

  Comm& comm_;
  const int node_;
  std::vector<int> leaders_;
};

// ---------------------------------------------------------------------------------------------------- of all

using RanksOfNodes = std::vector<std::vector<int>>;

RanksOfNodes ranks_of_nodes(const Comm& comm) {
  RanksOfNodes ranks(comm.node_count());
  for (int r = 0; r < comm.size(); ++r) ranks[comm.node_of(r)].push_back(r);
  return ranks;
}

Bytes sizes_of(const std::vector<Bytes>& shares) {
  std::vector<int64_t> sizes;
  for (const Bytes& share : shares) sizes.push_back(std::ssize(share));
  const auto bytes = std::as_bytes(std::span(sizes));
  return {bytes.begin(), bytes.end()};
}

std::vector<int64_t> numbers_in(const Bytes& bytes) {
  std::vector<int64_t> numbers(bytes.size() / sizeof(int64_t));
  copy_bytes(bytes, std::as_writable_bytes(std::span(numbers)));
  return numbers;
}

// Cuts the data of all nodes into shares of the ranks; the sizes are in the same order.
std::vector<Bytes> shares_by_rank(const Bytes& all, const std::vector<int64_t>& sizes, const RanksOfNodes& nodes) {
  std::vector<Bytes> shares(sizes.size());
  auto size = sizes.begin();
  auto begin = all.begin();
  for (const std::vector<int>& ranks : nodes) {
    for (const int rank : ranks) {
      shares[rank].assign(begin, begin + *size);
      begin += *size++;
    }
  }
  return shares;
}

// The number of bytes of each node, from sizes as above.
std::vector<int64_t> bytes_by_node(const std::vector<int64_t>& sizes, const RanksOfNodes& nodes) {
  std::vector<int64_t> bytes;
  auto begin = sizes.begin();
  for (const std::vector<int>& ranks : nodes) {
    const auto end = begin + std::ssize(ranks);
    bytes.push_back(std::accumulate(begin, end, int64_t{0}));
    begin = end;
  }
  return bytes;
}

// Collective. Returns the data of all nodes, one after another. This node's is all of `own`; all ranks know the sizes.
Bytes gather_from_nodes(Node& node, Leaders& leaders, const std::vector<Bytes>& own,
                        const std::vector<int64_t>& bytes_of_nodes) {
  Bytes all;
  Bytes room;
  std::vector<std::span<std::byte>> blocks;
  make_on_all(node.comm(), [&] {
    all.resize(std::accumulate(bytes_of_nodes.begin(), bytes_of_nodes.end(), int64_t{0}));
    if (node.is_first()) room.resize(2 * all.size());
    int64_t begin = 0;
    for (const int64_t bytes : bytes_of_nodes) {
      blocks.push_back(std::span(all).subspan(begin, bytes));
      begin += bytes;
    }
    auto room_of_own = blocks[leaders.own_node()];
    for (const Bytes& piece : own) {
      copy_bytes(piece, room_of_own);
      room_of_own = room_of_own.subspan(piece.size());
    }
  });
  leaders.gather(blocks, room);
  node.spread(all);
  return all;
}

}  // namespace

std::vector<Bytes> gather_bytes(Comm& comm, std::span<const std::byte> mine) {
  const int64_t share_bytes_max = allreduce_record(comm, Longest{std::ssize(mine)}).bytes;
  if (share_bytes_max == 0) return std::vector<Bytes>(comm.size());
  const RanksOfNodes nodes = ranks_of_nodes(comm);
  Node node(comm, nodes[comm.node_of(comm.rank())], share_bytes_max);
  std::vector<Bytes> shares_of_node = node.gather(mine);
  if (nodes.size() == 1) return shares_of_node;

  Leaders leaders(comm, nodes);
  std::vector<int64_t> bytes_of_sizes;
  for (const std::vector<int>& ranks : nodes) bytes_of_sizes.push_back(std::ssize(ranks) * kSizeBytes);
  const std::vector<int64_t> sizes =
      numbers_in(gather_from_nodes(node, leaders, {sizes_of(shares_of_node)}, bytes_of_sizes));
  const Bytes all = gather_from_nodes(node, leaders, shares_of_node, bytes_by_node(sizes, nodes));
  std::vector<Bytes> shares;
  make_on_all(comm, [&] { shares = shares_by_rank(all, sizes, nodes); });
  return shares;
}

}  // namespace swath
