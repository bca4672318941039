// A batch of transfers, and the requests that it is cut into. It needs no engine, since planners count requests, too.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace swath {

// One contiguous range of the file and one contiguous piece of memory.
struct Transfer {
  int64_t offset;  // bytes from the start of the file
  std::byte* data;
  int64_t bytes;
};

// One contiguous range of the file and any number of pieces of memory; remembers its progress.
struct FileRequest {
  int64_t offset = 0;
  int64_t bytes = 0;
  int64_t moved = 0;
  std::vector<iovec> pieces;
  size_t first = 0;        // pieces[first] is the first that is not yet complete
  int injected_error = 0;  // fault.h: the next attempt fails with this errno
  int64_t part_bytes = 0;  // the current attempt's bytes if it is one of several; 0: all bytes left

  bool complete() const { return moved == bytes; }
  int64_t bytes_left() const { return bytes - moved; }
  int64_t next_offset() const { return offset + moved; }
  std::span<const iovec> pieces_left() const { return std::span(pieces).subspan(first); }

  void advance(int64_t bytes_moved);
  // The first `bytes_max` of the bytes left, as a separate request on the same memory.
  FileRequest head(int64_t bytes_max) const;
};

// Throws Error{kArgument} for an invalid transfer; no byte has been moved then.
void check_batch(std::span<const Transfer> batch);

// Cuts a batch into requests, in the order of the batch. Neighbours that abut in the file are joined until a request
// has IOV_MAX pieces or request_bytes_max bytes; a transfer that would cross that bound is cut there.
//
//   request_bytes_max = 100:  [0, 60) [60, 120) [500, 510)  ->  [0, 100) in 2 pieces, [100, 120), [500, 510)
class RequestCutter {
 public:
  RequestCutter(std::span<const Transfer> batch, int64_t request_bytes_max);

  bool exhausted() const { return index_ == batch_.size(); }
  // Stores the next request in `request`, and reuses its memory. Requires !exhausted().
  void next(FileRequest& request);

 private:
  void skip_empty();

  std::span<const Transfer> batch_;
  int64_t request_bytes_max_;
  size_t index_ = 0;
  int64_t taken_ = 0;  // bytes of batch_[index_] in earlier requests
};

// The number of requests of a batch.
int64_t count_requests(std::span<const Transfer> batch, int64_t request_bytes_max);

}  // namespace swath
