#include "testing/skeleton/engine.h"

#include <sys/uio.h>

#include <cerrno>

#include "base/interrupt.h"
#include "store/fault/fault.h"
#include "store/request.h"

namespace swath {
namespace {

// Moves as many bytes as one system call does. Returns their number, or a negative errno.
int64_t attempt(Direction direction, int descriptor, const FileRequest& request) {
  const auto pieces = request.pieces_left();
  const auto count = static_cast<int>(pieces.size());
  const ssize_t moved = direction == Direction::kRead
                            ? ::preadv(descriptor, pieces.data(), count, request.next_offset())
                            : ::pwritev(descriptor, pieces.data(), count, request.next_offset());
  return moved < 0 ? -errno : moved;
}

}  // namespace

void SkeletonEngine::transfer(Direction direction, std::span<const Transfer> batch, Counters& counters) {
  check_batch(batch);
  transfer_checked(direction, batch, counters);
}

void SkeletonEngine::start(Direction direction, std::span<const Transfer> batch) {
  background_.start(path(), batch, [this, direction](std::span<const Transfer> started, Counters& counters) {
    transfer_checked(direction, started, counters);
  });
}

void SkeletonEngine::transfer_checked(Direction direction, std::span<const Transfer> batch, Counters& counters) const {
  FileRequest request;
  for (RequestCutter cutter(batch, request_bytes_max(direction)); !cutter.exhausted();) {
    cutter.next(request);
    while (!request.complete()) {
      check_interrupt();
      finish_attempt(*file_, direction, request, attempt(direction, file_->descriptor(), request), counters);
    }
    moved(direction, request);
  }
}

std::unique_ptr<Engine> open_skeleton_engine(const std::string& path, OpenMode mode, const EngineOptions& options) {
  const auto file = std::make_shared<OpenFile>(path, mode, nullptr);
  file->set_lock_timeout(options.lock_timeout_seconds);
  file->set_other_writers(options.other_writers);
  return std::make_unique<SkeletonEngine>(file, options.request_bytes_max);
}

}  // namespace swath
