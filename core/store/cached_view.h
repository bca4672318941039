// A file's bytes where they lie in the page cache, to be read from there instead of being copied first.
//
// To read is to copy: the kernel moves bytes from the page cache to a buffer, page by page, and who picks elements from
// the buffer reads them again. Mapped pages are read once, and only those lines of them in which there is something
// wanted. That is worth it of what is in the page cache; a page that has to come from the device would be waited for
// alone, one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/counters.h"

namespace swath {

class OpenFile;

// Made for one operation: mapped pages stay in the page cache, whoever asks the kernel to forget them.
//
// A mapped page that cannot be had - another program cut the file short, the device fails - is a SIGBUS, which would
// end the process. Here it becomes a page of zeros, and the view is broken: what was mapped has to be read instead,
// which tells of the error as it always does. Where the file is cut within its last page there is no signal: the page
// stays, and is zeros from there on. So the size is checked after each use.
class CachedView {
 public:
  explicit CachedView(std::shared_ptr<const OpenFile> file) : file_(std::move(file)) {}
  ~CachedView();
  CachedView(const CachedView&) = delete;
  CachedView& operator=(const CachedView&) = delete;

  // Calls use(image), where `image` is [offset, offset + bytes) of the file, and counts one request. False where not
  // all of it lies in the page cache, or where it went while it was used: what was made of it is then worth nothing.
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
  // Of the process; they stay in the page cache. Else all of a large file would count as memory of the process.
  void release(int64_t offset, int64_t bytes);
  bool is_broken() const;
  // Whether the file ends before that byte, now.
  bool is_cut_before(int64_t end) const;
  void map();

  std::shared_ptr<const OpenFile> file_;
  std::byte* data_ = nullptr;
  int64_t bytes_ = -1;  // that are mapped; -1: not tried yet
  int place_ = -1;      // among those that the handler of SIGBUS knows
};

}  // namespace swath
