// Uses a file's bytes where they are cached, without a copy.
//
// A read copies: the kernel moves bytes page by page from the page cache to a buffer, and the caller reads them again
// to pick elements. Mapped pages are read once, and only their lines with wanted elements. This pays for cached pages
// only: pages that come from the device would be waited for one after another.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/counters.h"

namespace swath {

// Made for one operation.
class CachedView {
 public:
  CachedView() = default;
  virtual ~CachedView() = default;
  CachedView(const CachedView&) = delete;
  CachedView& operator=(const CachedView&) = delete;

  // Calls use(image), where `image` is [offset, offset + bytes) of the file, and counts one request. Returns false if a
  // part is not in the page cache, or was dropped meanwhile: the results of use() are then invalid.
  template <typename Use>
  bool map_cached(int64_t offset, int64_t bytes, const Use& use, Counters& counters) {
    const std::byte* image = at(offset, bytes);
    if (image == nullptr) return false;
    use(image);
    if (!release(offset, bytes)) return false;
    ++counters.read_requests;
    counters.read_bytes += bytes;
    return true;
  }

 private:
  // The bytes from `offset` on; null if not all of them are cached.
  virtual const std::byte* at(int64_t offset, int64_t bytes) = 0;
  // Ends the use of these bytes. Returns false if they were not the file's all the time.
  virtual bool release(int64_t offset, int64_t bytes) = 0;
};

}  // namespace swath
