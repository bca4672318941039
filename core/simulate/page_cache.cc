#include "simulate/page_cache.h"

#include <algorithm>

namespace swath::simulate {
namespace {

constexpr int64_t kBlocksMax = INT32_MAX - 1;

Extent extent_of(int64_t number) { return {number * PageCache::kBlockBytes, PageCache::kBlockBytes}; }

}  // namespace

PageCache::PageCache(int64_t bytes) : capacity_(std::clamp<int64_t>(bytes / kBlockBytes, 1, kBlocksMax)), blocks_(1) {}

void PageCache::read(const Extent& range, Access& access) {
  const int64_t end = range.offset + range.bytes;
  for (int64_t at = range.offset; at < end;) {
    const int64_t number = at / kBlockBytes;
    const int64_t next = std::min(end, (number + 1) * kBlockBytes);
    if (use(number, access)) {
      access.hit_bytes += next - at;
    } else {
      append(access.missing, extent_of(number));
    }
    at = next;
  }
}

void PageCache::write(const Extent& range, Access& access) {
  if (range.bytes <= 0) return;
  const int64_t last = (range.offset + range.bytes - 1) / kBlockBytes;
  for (int64_t number = range.offset / kBlockBytes; number <= last; ++number) {
    use(number, access);
    make_dirty(index_of_.at(number));
  }
}

std::vector<Extent> PageCache::clean(int64_t bytes_left) {
  std::vector<int64_t> numbers;
  while (dirty_bytes() > bytes_left) {
    const int32_t oldest = blocks_[0].neighbours[kDirty].newer;
    numbers.push_back(blocks_[static_cast<size_t>(oldest)].number);
    make_clean(oldest);
  }
  std::sort(numbers.begin(), numbers.end());
  std::vector<Extent> cleaned;
  for (const int64_t number : numbers) append(cleaned, extent_of(number));
  return cleaned;
}

// True if the block was in memory. It is there now, as the one that was used last.
bool PageCache::use(int64_t number, Access& access) {
  const auto found = index_of_.find(number);
  if (found != index_of_.end()) {
    move_to_front(kAll, found->second);
    if (blocks_[static_cast<size_t>(found->second)].is_dirty) move_to_front(kDirty, found->second);
    return true;
  }
  const int32_t index = place_for(access);
  blocks_[static_cast<size_t>(index)].number = number;
  index_of_.emplace(number, index);
  insert(kAll, index);
  return false;
}

// A place that no block has.
int32_t PageCache::place_for(Access& access) {
  if (std::ssize(blocks_) <= capacity_) {
    blocks_.emplace_back();
    return static_cast<int32_t>(blocks_.size()) - 1;
  }
  const int32_t oldest = blocks_[0].neighbours[kAll].newer;
  const Block& block = blocks_[static_cast<size_t>(oldest)];
  if (block.is_dirty) {
    append(access.evicted, extent_of(block.number));
    make_clean(oldest);
  }
  index_of_.erase(block.number);
  remove(kAll, oldest);
  return oldest;
}

void PageCache::make_dirty(int32_t index) {
  Block& block = blocks_[static_cast<size_t>(index)];
  if (block.is_dirty) return;
  block.is_dirty = true;
  ++dirty_;
  insert(kDirty, index);
}

void PageCache::make_clean(int32_t index) {
  blocks_[static_cast<size_t>(index)].is_dirty = false;
  --dirty_;
  remove(kDirty, index);
}

// As the newest one: the place before the first one's `older`.
void PageCache::insert(Order order, int32_t index) {
  Neighbours& ends = blocks_[0].neighbours[order];
  const int32_t newest = ends.older;
  blocks_[static_cast<size_t>(index)].neighbours[order] = {.newer = 0, .older = newest};
  blocks_[static_cast<size_t>(newest)].neighbours[order].newer = index;
  ends.older = index;
}

void PageCache::remove(Order order, int32_t index) {
  const Neighbours of = blocks_[static_cast<size_t>(index)].neighbours[order];
  blocks_[static_cast<size_t>(of.newer)].neighbours[order].older = of.older;
  blocks_[static_cast<size_t>(of.older)].neighbours[order].newer = of.newer;
}

void PageCache::move_to_front(Order order, int32_t index) {
  remove(order, index);
  insert(order, index);
}

}  // namespace swath::simulate
