#include "store/batch.h"

#include <algorithm>
#include <climits>
#include <limits>
#include <string>

#include "base/error.h"

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

}  // namespace swath
