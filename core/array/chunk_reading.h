// Collective reading of coded chunks: each chunk is decoded once a node (decision record 0031).
//
// A chunk that only one rank of a node needs is decoded by that rank, straight into its memory if possible. A chunk
// that several need is decoded by one of them (plan/chunk_sharing.h) into its window of the node's shared memory; the
// others copy their elements from there. This happens in rounds, bounded by a buffer. A round has one barrier of the
// node's ranks, in two halves, as in an exchange of two-phase (method/window_exchange.h):
//
//   decode(0)  arrive(0)   decode(k + 1)   wait(k)   take(k)   arrive(k + 1)   ...
//
// There are three windows: other ranks copy from k - 1 and k while k + 1 is decoded. Unshared chunks are decoded
// between the shared ones, the same number a round, so that all ranks pass through the rounds at the same pace.
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
  // Pure: computes what this rank's node shares. The decomposition is of all ranks of `comm` and knows their shares.
  // The array, the decomposition and the options must outlive this object.
  ChunkReading(const CodedArray& array, const Decomposition& decomposition, const ChunkOptions& options,
               const Comm& comm);

  // The needs of this node; ranks must agree on the maximum over all nodes.
  const ChunkNeeds& needs() const { return needs_; }

  // Collective. `needs`: the maximum over all nodes. An error is this rank's own; it is thrown when no other rank waits
  // for this one any more.
  Counters read(Comm& comm, const ChunkMemory& memory, const ChunkNeeds& needs) const;

 private:
  class Rounds;

  ChunkWindows windows_of(const ChunkNeeds& needs) const;
  ByteRange wanted_of(int64_t chunk) const;

  const CodedArray& array_;
  const Decomposition& decomposition_;
  const ChunkOptions& options_;
  std::vector<int> ranks_;  // of this node
  int own_ = 0;             // this rank's index among them
  int ranks_of_node_ = 1;   // of the node with the most ranks
  std::optional<ChunkSharing> sharing_;
  ChunkNeeds needs_;
};

}  // namespace swath
