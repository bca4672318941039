#include "store/null/engine.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "store/open_file.h"
#include "store/request.h"

namespace swath {

NullEngine::NullEngine(const std::string& path, OpenMode mode, int64_t request_bytes_max)
    : path_(path), request_bytes_max_(request_bytes_max) {
  struct stat status = {};
  if (mode != OpenMode::kCreateNew && ::stat(path.c_str(), &status) == 0) size_ = status.st_size;
}

void NullEngine::transfer(Direction direction, std::span<const Transfer> batch, Counters& counters) {
  check_batch(batch);
  FileRequest request;
  for (RequestCutter cutter(batch, request_bytes_max_); !cutter.exhausted();) {
    cutter.next(request);
    check_interrupt();
    if (direction == Direction::kRead) {
      for (const auto& [data, bytes] : request.pieces) std::memset(data, 0, bytes);
      counters.read_requests += 1;
      counters.read_bytes += request.bytes;
    } else {
      size_ = std::max(size_, request.offset + request.bytes);
      counters.write_requests += 1;
      counters.written_bytes += request.bytes;
    }
  }
}

void NullEngine::start(Direction direction, std::span<const Transfer> batch) {
  if (started_) fail_already_started(path_);
  transfer(direction, batch, started_counters_);
  started_ = true;
}

void NullEngine::wait(Counters& counters) {
  started_ = false;
  counters += std::exchange(started_counters_, {});
}

std::unique_ptr<RangeLock> NullEngine::lock(int64_t begin, int64_t end) {
  if (begin < 0 || begin >= end) {
    fail_argument("lock " + path_ + " [" + std::to_string(begin) + ", " + std::to_string(end) +
                  "): expected 0 <= begin < end");
  }
  return nullptr;
}

void NullEngine::resize(int64_t bytes) {
  if (bytes < 0) fail_argument("resize " + path_ + " to " + std::to_string(bytes) + " bytes: expected a size >= 0");
  size_ = bytes;
}

}  // namespace swath
