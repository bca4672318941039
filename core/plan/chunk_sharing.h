// Which coded chunks the ranks of a node share, and which rank decodes each. Pure: the same on every rank of the node.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "plan/chunk_grid.h"

namespace swath {

// The parts of each rank. A rank's index here is its number below.
using Shares = std::span<const std::vector<Part>>;

struct ChunkVisitor {
  // Called for a chunk that several ranks need; false stops the visit. Null: these chunks are skipped.
  std::function<bool(int64_t chunk, std::span<const int> ranks)> shared;
  // Called with a number of chunks that one rank alone needs.
  std::function<void(int rank, int64_t chunks)> alone;
};

// Visits the chunks that any rank needs, shared ones in C order of the grid. Returns false if the visit was stopped.
//
// Theorem: each chunk is visited exactly once. For a chunk holds elements of a part exactly when in each dimension it
// holds one of the part's indices; the ends of the parts' runs of chunks cut a dimension into intervals in which the
// same parts have chunks, and these are visited one after another, those of the next dimension with the parts that are
// left. Where one part is left, all chunks of its product of runs are that rank's alone, and are counted unseen.
//
// The time grows with the shared chunks and their ranks, not with the chunks of one rank.
bool visit_chunks(const ChunkGrid& grid, Shares shares, const ChunkVisitor& visitor);

// Chunks [begin, end) of a rank's list.
struct ChunkSpan {
  int64_t begin;
  int64_t end;
  int64_t count() const { return end - begin; }
};

// The rank that writes a chunk of a table for all ranks with elements in it: the same on all ranks, and evenly spread.
inline int writer_of(int64_t chunk, std::span<const int> ranks) {
  return ranks[static_cast<size_t>(chunk % std::ssize(ranks))];
}
// The round in which a rank writes its elements of a unit that is a file: each rank that shares it has a different
// round.
inline int64_t writing_turn(int64_t unit, int rank, int ranks) { return (unit + rank) % ranks; }

class ChunkSharing {
 public:
  // Of one node.
  //
  // Theorem: each coded chunk that a rank of the node needs has exactly one decoder there, a rank that needs it: where
  // one rank alone needs it that rank; else the one whose list has it. For visit_chunks() shows a shared chunk once,
  // and it is put into one list. That one is of the rank that has least to decode at this moment, its own chunks
  // counted: whoever could have had the chunk instead had as much to decode, so that in the end no decoder of shared
  // chunks has more than one chunk more than any rank that could have had the last of them.
  ChunkSharing(const ChunkGrid& grid, Shares shares);

  // The shared chunks that a rank decodes for all, by unit and in each in C order.
  const std::vector<int64_t>& decoded_by(int rank) const { return decoded_by_[static_cast<size_t>(rank)]; }
  int ranks() const { return static_cast<int>(decoded_by_.size()); }
  // The length of the longest list.
  int64_t longest_list() const { return longest_; }

 private:
  std::vector<std::vector<int64_t>> decoded_by_;
  int64_t longest_ = 0;
};

// The inputs for the windows of shared chunks, the same on all nodes: the maximum over all ranks.
struct ChunkNeeds {
  int64_t longest_list = 0;  // shared chunks decoded by one rank; 0: no chunk is shared
  int64_t threads = 1;       // that decode for a rank

  void combine(const ChunkNeeds& other) {
    longest_list = longest_list > other.longest_list ? longest_list : other.longest_list;
    threads = threads > other.threads ? threads : other.threads;
  }
};

// Rounds of a node's shared chunks: in each, a rank decodes a part of its list into one of its windows, in rotation.
struct ChunkWindows {
  int64_t chunks = 0;       // capacity of a window
  int64_t windows = 0;      // per rank
  int64_t place_bytes = 0;  // from one chunk in a window to the next

  static constexpr int64_t kWindowsMax = 3;
  static constexpr int64_t kLineBytes = 64;  // before the windows: flags between ranks

  // `room_bytes`: of a rank, for all its windows; each window has room for one chunk in any case.
  static ChunkWindows of(const ChunkNeeds& needs, int64_t chunk_bytes, int64_t room_bytes);
  // With half the chunks a window. Requires chunks > 1.
  ChunkWindows smaller(const ChunkNeeds& needs) const;

  // Of a rank; 0 if no chunk is shared.
  int64_t bytes() const { return chunks == 0 ? 0 : kLineBytes + windows * chunks * place_bytes; }
  // Of a node with this longest list.
  int64_t rounds(int64_t longest_list) const { return chunks == 0 ? 0 : (longest_list + chunks - 1) / chunks; }
  // The part of a list of `count` chunks that belongs to a round: all rounds together have each chunk once, and none
  // has more than ceil(count / rounds).
  static ChunkSpan part_of(int64_t count, int64_t round, int64_t rounds) {
    return {first_of(count, round, rounds), first_of(count, round + 1, rounds)};
  }

 private:
  static ChunkWindows for_chunks(const ChunkNeeds& needs, int64_t place_bytes, int64_t chunks_max);
  // Computes count * round / rounds, rounded down, without an overflow of 64 bits.
  static int64_t first_of(int64_t count, int64_t round, int64_t rounds) {
    return count / rounds * round + count % rounds * round / rounds;
  }
};

}  // namespace swath
