#include "simulate/cached_pages.h"

#include <algorithm>

namespace swath::simulate {
namespace {

int64_t page_of(int64_t offset) { return offset / CachedPages::kPageBytes; }

}  // namespace

bool CachedPages::bit(const std::vector<bool>& of, int64_t page) {
  return page < std::ssize(of) && of[static_cast<size_t>(page)];
}

void CachedPages::set(std::vector<bool>& of, int64_t page) {
  if (page >= std::ssize(of)) of.resize(static_cast<size_t>(std::max(page + 1, 2 * std::ssize(of))));
  of[static_cast<size_t>(page)] = true;
}

// As Linux does: a page that is missing is read with those behind it, if the page before it was read.
std::vector<Extent> CachedPages::read(const Extent& range, int64_t last_end, int64_t file_bytes) {
  std::vector<Extent> missing;
  if (range.bytes <= 0 || holds_file_) return missing;
  const int64_t last = page_of(range.offset + range.bytes - 1);
  const int64_t last_of_file = std::max(last, page_of(std::max<int64_t>(file_bytes - 1, 0)));
  for (int64_t page = page_of(range.offset); page <= last; ++page) {
    if (has(page)) continue;
    const bool is_next = page > 0 && has(page - 1);
    const bool is_near = last_end > 0 && page - page_of(last_end - 1) <= 1 && page >= page_of(last_end - 1);
    const int64_t ahead = is_next || is_near || page == 0 ? page + kAheadBytes / kPageBytes - 1 : last;
    for (int64_t one = page; one <= std::min(ahead, last_of_file); ++one) {
      if (has(one)) continue;
      set(there_, one);
      append(missing, {one * kPageBytes, kPageBytes});
    }
  }
  return missing;
}

std::vector<Extent> CachedPages::write(const Extent& range, int64_t file_bytes) {
  std::vector<Extent> missing;
  if (range.bytes <= 0) return missing;
  const int64_t end = range.offset + range.bytes;
  for (int64_t page = page_of(range.offset); page <= page_of(end - 1); ++page) {
    const int64_t begin = page * kPageBytes;
    const bool is_whole = range.offset <= begin && end >= std::min(begin + kPageBytes, file_bytes);
    if (!has(page) && !is_whole && begin < file_bytes) append(missing, {begin, kPageBytes});
    set(there_, page);
    set(dirty_, page);
  }
  return missing;
}

double CachedPages::part(const Extent& range) const {
  constexpr int64_t kPagesMost = 1024;
  if (range.bytes <= 0 || holds_file_) return 1;
  const int64_t first = page_of(range.offset);
  const int64_t pages = page_of(range.offset + range.bytes - 1) - first + 1;
  const int64_t step = (pages + kPagesMost - 1) / kPagesMost;
  int64_t looked_at = 0;
  int64_t there = 0;
  for (int64_t page = first; page < first + pages; page += step) {
    ++looked_at;
    there += has(page) ? 1 : 0;
  }
  return static_cast<double>(there) / static_cast<double>(looked_at);
}

std::vector<Extent> CachedPages::clean() {
  std::vector<Extent> pages;
  for (int64_t page = 0; page < std::ssize(dirty_); ++page) {
    if (bit(dirty_, page)) append(pages, {page * kPageBytes, kPageBytes});
  }
  dirty_.clear();
  return pages;
}

}  // namespace swath::simulate
