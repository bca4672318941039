// Inputs of a plan that are not in the operation: what is cached, and where memory lies. Each rank measures its own
// (RankInputs); the agreement combines them into those of all ranks (AgreedInputs).
#pragma once

#include <cstdint>
#include <optional>

#include "layout/layout.h"
#include "method/run.h"
#include "plan/chunk_sharing.h"

namespace swath {

// The cached part of a file is rounded to so many steps. A few pages more or less then give the same plan.
constexpr int64_t kCachedSteps = 16;
constexpr int64_t kCachedUnknown = -1;

// Where this rank's memory is: the smallest piece that is contiguous in the order of the file, and the span from the
// first byte to the last. Both 0 where it is packed.
struct MemoryPlacement {
  int64_t block_bytes = 0;
  int64_t span_bytes = 0;

  friend bool operator==(const MemoryPlacement& a, const MemoryPlacement& b) = default;
};
// `packed`: whether the parts lie in memory as they would by themselves.
MemoryPlacement placement_of(const Layout& layout, const LocalMemory& memory, bool packed);

// The same on all ranks.
struct AgreedInputs {
  int64_t cached_steps = kCachedSteps;  // part of what is touched that is in the page cache; kCachedUnknown
  MemoryPlacement memory;               // smallest block, largest span of any rank
  bool shows_cache = false;             // the page cache can be looked at instead of copied

  bool is_all_cached() const { return cached_steps == kCachedSteps; }
  std::optional<double> cached_part() const;  // nothing: not known
  uint64_t key() const;
  friend bool operator==(const AgreedInputs& a, const AgreedInputs& b) = default;
};

// What a rank alone knows of an operation when it comes to the agreement on it; combined, what all ranks know.
struct RankInputs {
  int64_t memory_block_bytes = 0;
  int64_t memory_span_bytes = 0;
  int64_t cached_steps = INT64_MIN;  // rank 0 says
  int64_t shows_cache = 0;           // rank 0 says
  int64_t nanoseconds = 0;           // that the operation before took
  // The key of the agreed inputs by which this rank has read already; 0: it has not.
  uint64_t read_by_least = 0;
  uint64_t read_by_most = 0;
  uint64_t shares = 0;  // a hash of this rank's boxes; of all ranks the sum
  ChunkNeeds chunks;    // of coded chunks that ranks share

  void combine(const RankInputs& other);
  AgreedInputs agreed() const;
  // Whether all ranks have read by the same agreed inputs, and so by the same plan.
  bool all_have_read() const { return read_by_least != 0 && read_by_least == read_by_most; }
};

}  // namespace swath
