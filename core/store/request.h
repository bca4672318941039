// From a batch of transfers to the requests that the kernel gets. Shared by every engine, so that all count alike.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/counters.h"
#include "store/engine.h"

namespace swath {

class OpenFile;

// One contiguous range of the file, any pieces of memory; remembers how far it has come.
struct FileRequest {
  int64_t offset = 0;
  int64_t bytes = 0;
  int64_t moved = 0;
  std::vector<iovec> pieces;
  size_t first = 0;        // pieces[first] is the first that is not yet complete
  int injected_error = 0;  // fault.h: the next attempt fails with this errno
  int64_t part_bytes = 0;  // that the attempt under way asks for, where it is one of several; 0: all that is left

  bool complete() const { return moved == bytes; }
  int64_t bytes_left() const { return bytes - moved; }
  int64_t next_offset() const { return offset + moved; }
  std::span<const iovec> pieces_left() const { return std::span(pieces).subspan(first); }

  void advance(int64_t bytes_moved);
  // The first `bytes_max` of the bytes left, as a request of its own over the same memory.
  FileRequest head(int64_t bytes_max) const;
};

// Throws Error{kArgument} where a transfer is no range of a file; nothing has been touched then.
void check_batch(std::span<const Transfer> batch);

// Cuts a batch into requests, in the order of the batch. Neighbours that abut in the file are joined until a request
// has IOV_MAX pieces or request_bytes_max bytes; a transfer that would cross that bound is cut there.
//
//   request_bytes_max = 100:  [0, 60) [60, 120) [500, 510)  ->  [0, 100) in 2 pieces, [100, 120), [500, 510)
class RequestCutter {
 public:
  RequestCutter(std::span<const Transfer> batch, int64_t request_bytes_max);

  bool exhausted() const { return index_ == batch_.size(); }
  // The next request into `request`, whose memory is used again. Only where not exhausted().
  void next(FileRequest& request);

 private:
  void skip_empty();

  std::span<const Transfer> batch_;
  int64_t request_bytes_max_;
  size_t index_ = 0;
  int64_t taken_ = 0;  // bytes of batch_[index_] that earlier requests have
};

// How many requests a batch is cut into.
int64_t count_requests(std::span<const Transfer> batch, int64_t request_bytes_max);

// What the next attempt asks for: all that is left, or, where the work may be told to stop (base/interrupt.h), no more
// than one call should take. Notes in the request that it is a part.
int64_t bytes_to_attempt(FileRequest& request);

// What follows from one attempt: `result` is the bytes moved, or a negative errno. Counts it, and goes on, lets the
// caller try again (EINTR, unless that signal says stop; EAGAIN after a pause), or throws the Error. All parts of a
// request are one in the counters: they are what the plan says, whoever may stop it.
void settle(const OpenFile& file, Direction direction, FileRequest& request, int64_t result, Counters& counters);

}  // namespace swath
