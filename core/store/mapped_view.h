// Maps a file's pages in the page cache (store/cached_view.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "store/cached_view.h"

namespace swath {

class OpenFile;

// Mapped pages stay in the page cache, even if another process asks the kernel to drop them.
//
// Access to a mapped page that is not available (another program has truncated the file, or the device fails) raises
// SIGBUS, which would end the process. A handler maps a page of zeros instead and marks the view as broken: the caller
// must then read the bytes, which reports the error. A file truncated within its last page raises no signal: the page
// then contains zeros from there on. So the size is checked after each use.
class MappedView : public CachedView {
 public:
  explicit MappedView(std::shared_ptr<const OpenFile> file) : file_(std::move(file)) {}
  ~MappedView() override;
  MappedView(const MappedView&) = delete;
  MappedView& operator=(const MappedView&) = delete;

 protected:
  const std::byte* at(int64_t offset, int64_t bytes) override;

 private:
  bool release(int64_t offset, int64_t bytes) override;
  void unmap_pages(int64_t offset, int64_t bytes);
  bool is_broken() const;
  void map();

  std::shared_ptr<const OpenFile> file_;
  std::byte* data_ = nullptr;
  int64_t bytes_ = -1;  // mapped bytes; -1: not tried yet
  int slot_ = -1;       // in the table of the SIGBUS handler
};

}  // namespace swath
