// Maps a file's pages in the page cache, so that its bytes are used there without a copy.
//
// A read copies: the kernel moves bytes page by page from the page cache to a buffer, and the caller reads them again
// to pick elements. Mapped pages are read once, and only their lines with wanted elements. This pays for cached pages
// only: pages that come from the device would be waited for one after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/counters.h"

namespace swath {

class OpenFile;

// Made for one operation: mapped pages stay in the page cache, even if another process asks the kernel to drop them.
//
// Access to a mapped page that is not available (another program has truncated the file, or the device fails) raises
// SIGBUS, which would end the process. A handler maps a page of zeros instead and marks the view as broken: the caller
// must then read the bytes, which reports the error. A file truncated within its last page raises no signal: the page
// then contains zeros from there on. So the size is checked after each use.
class CachedView {
 public:
  explicit CachedView(std::shared_ptr<const OpenFile> file) : file_(std::move(file)) {}
  ~CachedView();
  CachedView(const CachedView&) = delete;
  CachedView& operator=(const CachedView&) = delete;

  // Calls use(image), where `image` is [offset, offset + bytes) of the file, and counts one request. Returns false if a
  // part is not in the page cache, or was dropped meanwhile: the results of use() are then invalid.
  template <typename Use>
  bool map_cached(int64_t offset, int64_t bytes, const Use& use, Counters& counters) {
    const std::byte* image = at(offset, bytes);
    if (image == nullptr) return false;
    use(image);
    release(offset, bytes);
    if (is_broken() || is_cut_before(offset + bytes)) return false;
    ++counters.read_requests;
    counters.read_bytes += bytes;
    return true;
  }

 private:
  const std::byte* at(int64_t offset, int64_t bytes);
  // Unmaps pages; they stay in the page cache. Otherwise a large file would count as memory of the process.
  void release(int64_t offset, int64_t bytes);
  bool is_broken() const;
  // True if the file now ends before that byte.
  bool is_cut_before(int64_t end) const;
  void map();

  std::shared_ptr<const OpenFile> file_;
  std::byte* data_ = nullptr;
  int64_t bytes_ = -1;  // mapped bytes; -1: not tried yet
  int place_ = -1;      // its slot in the table of the SIGBUS handler
};

}  // namespace swath
