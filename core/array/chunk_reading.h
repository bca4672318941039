// Reading coded chunks together: each is decoded once a node (decision record 0031).
//
// A chunk that one rank of a node needs is decoded by that rank, straight into its memory where it can be. One that
// several need is decoded by one of them (plan/chunk_sharing.h) into its window of memory that the node shares, where
// the others take their elements from, in rounds that are bounded by a buffer. A round has one meeting of the node's
// ranks, in two halves, as in an exchange of two-phase (method/window_exchange.h):
//
//   decode(0)  arrive(0)   decode(k + 1)   wait(k)   take(k)   arrive(k + 1)   ...
//
// There are three windows: others take from k - 1 and from k while k + 1 is decoded. Chunks that nobody else needs are
// decoded between those that are shared, as many a round, so that all ranks come through the rounds at the same time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/counters.h"
#include "chunks/chunks.h"
#include "comm/comm.h"
#include "plan/chunk_sharing.h"
#include "space/decomposition.h"

namespace swath {

class ChunkReading {
 public:
  // Local, pure: what this rank's node shares. The decomposition is of all ranks of `comm`, and knows what each has.
  // The array, the decomposition and the options are referred to.
  ChunkReading(const CodedArray& array, const Decomposition& decomposition, const ChunkOptions& options,
               const Comm& comm);

  // Of this node; ranks must agree on the most that any of them needs.
  const ChunkNeeds& needs() const { return needs_; }

  // Collective. `needs`: of all nodes. An error is this rank's own; it is thrown when no rank waits for this one any
  // more.
  Counters read(Comm& comm, const ChunkMemory& memory, const ChunkNeeds& needs) const;

 private:
  class Rounds;

  ChunkWindows windows_of(const ChunkNeeds& needs) const;
  ByteRange wanted_of(int64_t chunk) const;

  const CodedArray& array_;
  const Decomposition& decomposition_;
  const ChunkOptions& options_;
  std::vector<int> ranks_;  // of this node
  int own_ = 0;             // this rank's place among them
  int ranks_of_node_ = 1;   // of the fullest
  std::optional<ChunkSharing> sharing_;
  ChunkNeeds needs_;
};

}  // namespace swath
