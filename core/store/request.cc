#include "store/request.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <limits>
#include <string>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "store/open_file.h"

namespace swath {

void FileRequest::advance(int64_t bytes_moved) {
  moved += bytes_moved;
  while (bytes_moved > 0) {
    iovec& piece = pieces[first];
    const int64_t step = std::min(bytes_moved, static_cast<int64_t>(piece.iov_len));
    piece.iov_base = static_cast<std::byte*>(piece.iov_base) + step;
    piece.iov_len -= static_cast<size_t>(step);
    bytes_moved -= step;
    if (piece.iov_len == 0) ++first;
  }
}

FileRequest FileRequest::head(int64_t bytes_max) const {
  FileRequest part;
  part.offset = next_offset();
  for (const iovec& piece : pieces_left()) {
    const size_t length = std::min(piece.iov_len, static_cast<size_t>(bytes_max - part.bytes));
    if (length == 0) break;
    part.pieces.push_back({piece.iov_base, length});
    part.bytes += static_cast<int64_t>(length);
  }
  return part;
}

void check_batch(std::span<const Transfer> batch) {
  for (size_t i = 0; i < batch.size(); ++i) {
    const auto& [offset, data, bytes] = batch[i];
    if (offset < 0 || bytes < 0 || bytes > std::numeric_limits<int64_t>::max() - offset) {
      fail_argument("transfer " + std::to_string(i) + " of a batch: offset " + std::to_string(offset) + ", " +
                    std::to_string(bytes) + " bytes: expected both >= 0 and their sum below 2^63");
    }
  }
}

RequestCutter::RequestCutter(std::span<const Transfer> batch, int64_t request_bytes_max)
    : batch_(batch), request_bytes_max_(request_bytes_max) {
  skip_empty();
}

void RequestCutter::skip_empty() {
  while (index_ < batch_.size() && batch_[index_].bytes == taken_) {
    ++index_;
    taken_ = 0;
  }
}

void RequestCutter::next(FileRequest& request) {
  request.offset = batch_[index_].offset + taken_;
  request.bytes = 0;
  request.moved = 0;
  request.pieces.clear();
  request.first = 0;
  request.injected_error = 0;
  request.part_bytes = 0;
  while (!exhausted() && batch_[index_].offset + taken_ == request.offset + request.bytes &&
         request.bytes < request_bytes_max_ && request.pieces.size() < IOV_MAX) {
    const Transfer& transfer = batch_[index_];
    const int64_t length = std::min(transfer.bytes - taken_, request_bytes_max_ - request.bytes);
    request.pieces.push_back({transfer.data + taken_, static_cast<size_t>(length)});
    request.bytes += length;
    taken_ += length;
    skip_empty();
  }
}

int64_t count_requests(std::span<const Transfer> batch, int64_t request_bytes_max) {
  FileRequest request;
  int64_t requests = 0;
  for (RequestCutter cutter(batch, request_bytes_max); !cutter.exhausted(); ++requests) cutter.next(request);
  return requests;
}

int64_t bytes_to_attempt(FileRequest& request) {
  const int64_t left = request.bytes_left();
  if (left <= kCallBytesMax || !is_interruptible()) return left;
  request.part_bytes = kCallBytesMax;
  return kCallBytesMax;
}

namespace {

void count(Direction direction, int64_t result, bool is_request, Counters& counters) {
  const int64_t bytes = std::max<int64_t>(result, 0);
  if (direction == Direction::kRead) {
    counters.read_requests += is_request;
    counters.read_bytes += bytes;
  } else {
    counters.write_requests += is_request;
    counters.written_bytes += bytes;
  }
}

[[noreturn]] void fail_transfer(const OpenFile& file, Direction direction, const FileRequest& request, int error) {
  const bool reading = direction == Direction::kRead;
  std::string reason;
  if (error != 0) {
    reason = system_message(error);
  } else if (reading) {
    reason = "end of file (file is " + std::to_string(file.size()) + " bytes; it may be truncated)";
  } else {
    reason = "the system accepted no byte and gave no reason";
  }
  throw Error(ErrorKind::kStore,
              (reading ? "read " : "write ") + file.path() + " at " + std::to_string(request.offset) + ": wanted " +
                  std::to_string(request.bytes) + " bytes, " + (reading ? "got " : "wrote ") +
                  std::to_string(request.moved) + ": " + reason,
              error);
}

}  // namespace

void settle(const OpenFile& file, Direction direction, FileRequest& request, int64_t result, Counters& counters) {
  const int64_t part_bytes = std::exchange(request.part_bytes, 0);
  count(direction, result, part_bytes == 0 || result < part_bytes, counters);
  if (result > 0) {
    request.advance(result);
  } else if (result == -EAGAIN) {
    // poll() calls every regular file ready at once, so that waiting by it would spin.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } else if (result == -EINTR) {
    check_interrupt_now();
  } else {
    fail_transfer(file, direction, request, static_cast<int>(-result));
  }
}

}  // namespace swath
