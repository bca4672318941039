// What a plan depends on besides the operation: memory, page cache and machine. RankInputs is what one rank knows of
// them, AgreedInputs what all ranks have agreed on.
#pragma once

#include <cstdint>
#include <optional>

#include "layout/layout.h"
#include "method/run.h"
#include "plan/chunk_sharing.h"

namespace swath {

// The cached part of a file is counted in this many steps, so that a few pages do not lead to another plan.
constexpr int64_t kCachedSteps = 16;
constexpr int64_t kCachedUnknown = -1;

// How this rank's data lies in memory: the smallest piece that is contiguous in file order, and the span from the first
// byte to the last. Both are 0 for packed memory.
struct MemoryPlacement {
  int64_t block_bytes = 0;
  int64_t span_bytes = 0;

  friend bool operator==(const MemoryPlacement& a, const MemoryPlacement& b) = default;
};
// `packed`: the parts are contiguous in memory, each in its own order.
MemoryPlacement placement_of(const Layout& layout, const LocalMemory& memory, bool packed);

// The inputs of a plan that are the same on all ranks.
struct AgreedInputs {
  int64_t cached_steps = kCachedSteps;  // the part of the touched range that is in the page cache, or kCachedUnknown
  MemoryPlacement memory;               // the smallest block and the largest span of any rank
  bool shows_cache = false;             // cached pages can be mapped instead of copied

  bool is_all_cached() const { return cached_steps == kCachedSteps; }
  std::optional<double> cached_part() const;  // nullopt: unknown
  uint64_t key() const;
  friend bool operator==(const AgreedInputs& a, const AgreedInputs& b) = default;
};

// What one rank contributes to the agreement on an operation; combine() reduces these over all ranks.
struct RankInputs {
  int64_t memory_block_bytes = 0;
  int64_t memory_span_bytes = 0;
  int64_t cached_steps = INT64_MIN;  // rank 0 decides
  int64_t shows_cache = 0;           // rank 0 decides
  int64_t nanoseconds = 0;           // duration of the previous operation
  // The key of the agreed inputs by which this rank has read already; 0: it has not read.
  uint64_t read_by_least = 0;
  uint64_t read_by_most = 0;
  uint64_t shares = 0;  // a hash of this rank's boxes; after the reduction, the sum over all ranks
  ChunkNeeds chunks;    // of coded chunks that ranks share

  void combine(const RankInputs& other);
  AgreedInputs agreed() const;
  // All ranks have read by the same agreed inputs, and therefore by the same plan.
  bool all_have_read() const { return read_by_least != 0 && read_by_least == read_by_most; }
};

}  // namespace swath
