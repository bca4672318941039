#include "store/posix/engine.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/interrupt.h"
#include "store/fault/fault.h"

namespace swath {
namespace {

// Checks before every eighth short request only: reading the clock takes a measurable part of a short cached request.
void check_interrupt_before(const FileRequest& request) {
  constexpr int64_t kShortBytes = int64_t{64} << 10;
  constexpr unsigned kShortOnes = 8;
  static thread_local unsigned short_ones = 0;
  if (request.bytes > kShortBytes || ++short_ones % kShortOnes == 0) check_interrupt();
}

}  // namespace

void PosixEngine::transfer(Direction direction, std::span<const Transfer> batch, Counters& counters) {
  check_batch(batch);
  transfer_batch(direction, batch, counters);
}

int64_t PosixEngine::read_to_end(const Transfer& piece, Counters& counters) {
  check_batch({&piece, 1});
  FileRequest request;
  int64_t done = 0;
  for (RequestCutter cutter({&piece, 1}, request_bytes_max(Direction::kRead)); !cutter.exhausted();) {
    cutter.next(request);
    while (!request.complete()) {
      check_interrupt_before(request);
      const int64_t result = attempt(Direction::kRead, request);
      const int64_t asked = request.part_bytes > 0 ? request.part_bytes : request.bytes_left();
      const bool is_at_end = result >= 0 && result < asked && request.next_offset() + result >= file_->size();
      if (result != 0 || !is_at_end) finish_attempt(*file_, Direction::kRead, request, result, counters);
      if (is_at_end) return done + request.moved;
    }
    done += request.bytes;
  }
  return done;
}

void PosixEngine::start(Direction direction, std::span<const Transfer> batch) {
  background_.start(path(), batch, [this, direction](std::span<const Transfer> started, Counters& counters) {
    transfer_batch(direction, started, counters);
  });
}

void PosixEngine::transfer_batch(Direction direction, std::span<const Transfer> batch, Counters& counters) const {
  FileRequest request;
  for (RequestCutter cutter(batch, request_bytes_max(direction)); !cutter.exhausted();) {
    cutter.next(request);
    while (!request.complete()) {
      check_interrupt_before(request);
      finish_attempt(*file_, direction, request, attempt(direction, request), counters);
    }
    moved(direction, request);
  }
}

int64_t PosixEngine::attempt(Direction direction, FileRequest& request) const {
  int64_t bytes = bytes_to_attempt(request);
  if (Faults* faults = file_->faults(); faults != nullptr) {
    const int64_t admitted = faults->admit(direction, request);
    if (admitted < 0) return admitted;
    bytes = std::min(bytes, admitted);
  }
  return bytes < request.bytes_left() ? call(direction, request.head(bytes)) : call(direction, request);
}

int64_t PosixEngine::call(Direction direction, const FileRequest& request) const {
  const std::span<const iovec> pieces = request.pieces_left();
  const int descriptor = file_->descriptor();
  const int64_t offset = request.next_offset();
  const bool reading = direction == Direction::kRead;
  ssize_t moved;
  if (pieces.size() == 1) {
    const auto& [data, bytes] = pieces.front();
    moved = reading ? ::pread(descriptor, data, bytes, offset) : ::pwrite(descriptor, data, bytes, offset);
  } else {
    const int count = static_cast<int>(pieces.size());
    moved = reading ? ::preadv(descriptor, pieces.data(), count, offset)
                    : ::pwritev(descriptor, pieces.data(), count, offset);
  }
  return moved < 0 ? -errno : moved;
}

}  // namespace swath
