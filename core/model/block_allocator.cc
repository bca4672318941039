#include "model/block_allocator.h"

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "base/math.h"

namespace swath {

BlockAllocator::BlockAllocator(int64_t capacity_bytes, int64_t extent_bytes) : extent_bytes_(extent_bytes) {
  const int64_t usable = capacity_bytes / extent_bytes * extent_bytes;
  if (usable > 0) free_.emplace(0, usable);
}

void BlockAllocator::write(const FileKey& file, int64_t offset, int64_t bytes) {
  if (bytes <= 0) return;
  std::map<int64_t, int64_t>& extents = places_[file];
  for (int64_t extent = offset / extent_bytes_; extent <= (offset + bytes - 1) / extent_bytes_; ++extent) {
    if (!extents.contains(extent)) extents.emplace(extent, take_extent());
  }
}

std::vector<DiskRange> BlockAllocator::ranges(const FileKey& file, int64_t offset, int64_t bytes) const {
  std::vector<DiskRange> ranges;
  const auto found = places_.find(file);
  if (found == places_.end()) return ranges;
  const int64_t end = offset + bytes;
  for (auto extent = found->second.lower_bound(offset / extent_bytes_);
       extent != found->second.end() && extent->first * extent_bytes_ < end; ++extent) {
    const int64_t begin_of_extent = extent->first * extent_bytes_;
    const int64_t from = std::max(offset, begin_of_extent);
    const int64_t to = std::min(end, begin_of_extent + extent_bytes_);
    const int64_t position = extent->second + from - begin_of_extent;
    if (!ranges.empty() && ranges.back().position + ranges.back().bytes == position) {
      ranges.back().bytes += to - from;
    } else {
      ranges.push_back({position, to - from});
    }
  }
  return ranges;
}

void BlockAllocator::resize(const FileKey& file, int64_t bytes) {
  const auto found = places_.find(file);
  if (found == places_.end()) return;
  std::map<int64_t, int64_t>& extents = found->second;
  const auto first_gone = extents.lower_bound(ceil_div(bytes, extent_bytes_));
  for (auto extent = first_gone; extent != extents.end(); ++extent) give_back(extent->second);
  extents.erase(first_gone, extents.end());
  if (extents.empty()) places_.erase(found);
}

int64_t BlockAllocator::free_bytes() const {
  int64_t bytes = 0;
  for (const auto& [begin, end] : free_) bytes += end - begin;
  return bytes;
}

// The first free place from next_ on; from the beginning again where there is none.
int64_t BlockAllocator::take_extent() {
  if (free_.empty()) {
    throw Error(ErrorKind::kStore, "modelled disk: no free place is left on it: use a larger preset, or remove files",
                ENOSPC);
  }
  auto run = free_.lower_bound(next_);
  if (run != free_.begin() && std::prev(run)->second > next_) --run;
  if (run == free_.end()) run = free_.begin();
  const auto [begin, end] = *run;
  const int64_t position = begin < next_ && next_ < end ? next_ : begin;
  free_.erase(run);
  if (begin < position) free_.emplace(begin, position);
  if (position + extent_bytes_ < end) free_.emplace(position + extent_bytes_, end);
  next_ = position + extent_bytes_;
  return position;
}

void BlockAllocator::give_back(int64_t position) {
  int64_t begin = position;
  int64_t end = position + extent_bytes_;
  auto after = free_.lower_bound(position);
  if (after != free_.end() && after->first == end) {
    end = after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin() && std::prev(after)->second == begin) {
    begin = std::prev(after)->first;
    free_.erase(std::prev(after));
  }
  free_.emplace(begin, end);
}

}  // namespace swath
