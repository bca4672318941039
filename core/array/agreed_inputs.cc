#include "array/agreed_inputs.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/hash.h"
#include "layout/access.h"

namespace swath {

MemoryPlacement placement_of(const Layout& layout, const LocalMemory& memory, bool packed) {
  MemoryPlacement placement;
  if (packed) return placement;
  access_of(layout, memory).visit_all([&](const Slice& slice) {
    const int64_t dense = slice.regions.memory_block_bytes();
    placement.block_bytes = placement.block_bytes == 0 ? dense : std::min(placement.block_bytes, dense);
  });
  placement.span_bytes = span_of(memory, layout.element_bytes());
  return placement;
}

std::optional<double> AgreedInputs::cached_part() const {
  if (cached_steps == kCachedUnknown) return std::nullopt;
  return static_cast<double>(cached_steps) / kCachedSteps;
}

uint64_t AgreedInputs::key() const {
  const std::array<int64_t, 4> all{cached_steps, memory.block_bytes, memory.span_bytes, shows_cache ? 1 : 0};
  return std::max<uint64_t>(hash_bytes(std::as_bytes(std::span(all))), 1);
}

void RankInputs::combine(const RankInputs& other) {
  const int64_t smaller = std::min(memory_block_bytes, other.memory_block_bytes);
  memory_block_bytes = smaller > 0 ? smaller : std::max(memory_block_bytes, other.memory_block_bytes);
  memory_span_bytes = std::max(memory_span_bytes, other.memory_span_bytes);
  cached_steps = std::max(cached_steps, other.cached_steps);
  shows_cache = std::max(shows_cache, other.shows_cache);
  nanoseconds = std::max(nanoseconds, other.nanoseconds);
  read_by_least = std::min(read_by_least, other.read_by_least);
  read_by_most = std::max(read_by_most, other.read_by_most);
  shares += other.shares;
  chunks.combine(other.chunks);
}

AgreedInputs RankInputs::agreed() const {
  AgreedInputs agreed_inputs;
  agreed_inputs.cached_steps = cached_steps;
  agreed_inputs.memory = {memory_block_bytes, memory_block_bytes > 0 ? memory_span_bytes : 0};
  agreed_inputs.shows_cache = shows_cache != 0;
  return agreed_inputs;
}

}  // namespace swath
