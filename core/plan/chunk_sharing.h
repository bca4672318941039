// Which coded chunks the ranks of a node share, and who of them decodes each. Pure: the same on every rank of the node.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "plan/chunk_grid.h"

namespace swath {

// The parts of each rank. Ranks are named by their place in it.
using Shares = std::span<const std::vector<Part>>;

struct ChunkVisitor {
  // A chunk that several ranks need; false stops the visit. Null: those chunks are passed over.
  std::function<bool(int64_t chunk, std::span<const int> ranks)> shared;
  // So many chunks that one rank alone needs.
  std::function<void(int rank, int64_t chunks)> alone;
};

// Visits the chunks that any rank needs, shared ones in C order of the grid. False: it was stopped.
//
// Theorem: each chunk is visited exactly once. For a chunk holds elements of a part exactly when in each dimension it
// holds one of the part's indices; the ends of the parts' runs of chunks cut a dimension into intervals in which the
// same parts have chunks, and these are visited one after another, those of the next dimension with the parts that are
// left. Where one part is left, all chunks of its product of runs are that rank's alone, and are counted unseen.
//
// Takes a time that grows with the shared chunks and their ranks, not with those of one rank.
bool visit_chunks(const ChunkGrid& grid, Shares shares, const ChunkVisitor& visitor);

// Chunks [begin, end) of a rank's list.
struct ChunkSpan {
  int64_t begin;
  int64_t end;
  int64_t count() const { return end - begin; }
};

// Of ranks that hold elements of a chunk of a table, the one that writes it for all: alike on all, and spread over
// them.
inline int writer_of(int64_t chunk, std::span<const int> ranks) {
  return ranks[static_cast<size_t>(chunk % std::ssize(ranks))];
}
// The round in which a rank writes its elements of a unit that is a file: of the ranks that share it, each has another.
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
  // Of the rank that decodes most.
  int64_t longest_list() const { return longest_; }

 private:
  std::vector<std::vector<int64_t>> decoded_by_;
  int64_t longest_ = 0;
};

// What decides on the windows of shared chunks, the same on all nodes: the most that any rank needs.
struct ChunkNeeds {
  int64_t longest_list = 0;  // of the shared chunks that a rank decodes; 0: nothing is shared
  int64_t threads = 1;       // that decode for a rank

  void combine(const ChunkNeeds& other) {
    longest_list = longest_list > other.longest_list ? longest_list : other.longest_list;
    threads = threads > other.threads ? threads : other.threads;
  }
};

// How nodes go through their shared chunks: in rounds, in each of which a rank decodes a part of its list into one of
// the windows that it has in turn.
struct ChunkWindows {
  int64_t chunks = 0;       // that a window has room for
  int64_t windows = 0;      // of a rank
  int64_t place_bytes = 0;  // from one chunk in a window to the next

  static constexpr int64_t kWindowsMax = 3;
  static constexpr int64_t kLineBytes = 64;  // before the windows: what ranks tell one another

  // `room_bytes`: of a rank, for all its windows; there is room for one chunk in each in any case.
  static ChunkWindows of(const ChunkNeeds& needs, int64_t chunk_bytes, int64_t room_bytes);
  // With room for half as many chunks. Requires chunks > 1.
  ChunkWindows smaller(const ChunkNeeds& needs) const;

  // Of a rank; 0 where nothing is shared.
  int64_t bytes() const { return chunks == 0 ? 0 : kLineBytes + windows * chunks * place_bytes; }
  // Of a node, whose longest list has so many chunks.
  int64_t rounds(int64_t longest_list) const { return chunks == 0 ? 0 : (longest_list + chunks - 1) / chunks; }
  // The part of a list of `count` chunks that belongs to a round: all rounds together have each chunk once, and none
  // has more than ceil(count / rounds).
  static ChunkSpan part_of(int64_t count, int64_t round, int64_t rounds) {
    return {first_of(count, round, rounds), first_of(count, round + 1, rounds)};
  }

 private:
  static ChunkWindows for_chunks(const ChunkNeeds& needs, int64_t place_bytes, int64_t chunks_max);
  // count * round / rounds, rounded down, without leaving 64 bits.
  static int64_t first_of(int64_t count, int64_t round, int64_t rounds) {
    return count / rounds * round + count % rounds * round / rounds;
  }
};

}  // namespace swath
