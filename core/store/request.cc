#include "store/request.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "store/open_file.h"

namespace swath {

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

void finish_attempt(const OpenFile& file, Direction direction, FileRequest& request, int64_t result,
                    Counters& counters) {
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
