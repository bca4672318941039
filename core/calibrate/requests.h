// Seconds of file requests of one pattern, carried out by our own engine: what the page cache and the device cost is
// made from. Which of the two was met is for the caller to know (python/swath/calibration/).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "store/engine.h"

namespace swath {

// Requests of `bytes` at first, first + stride, ...: stride == bytes is sequential.
struct RequestPattern {
  Direction direction = Direction::kRead;
  int64_t bytes = 0;
  int64_t first = 0;
  int64_t stride = 0;
  int64_t count = 0;
  int64_t batch = 1;         // handed to the engine at a time: 64 are list I/O; where they abut, pieces of one request
  bool shuffled = false;     // in an order that no device foresees, the same one every time
  bool sync = false;         // and fsync after the last one, counted in
  int64_t memory_bytes = 0;  // batches walk over so much memory; by default all use the same, as windows do
};

struct TimedRequests {
  double seconds = 0;
  int64_t requests = 0;
};

// Carries out the pattern, or the part of it that fits into `seconds_max` (one batch at least). Throws what the engine
// throws, and Error{kArgument}.
TimedRequests time_requests(Engine& engine, const RequestPattern& pattern, double seconds_max);

// The same by `streams` threads at once, each with an engine of its own: stream i has the pattern `distance` * i
// further on. Of all streams together: the requests, and the seconds that one took on average.
TimedRequests time_streams(const std::string& path, const RequestPattern& pattern, int streams, int64_t distance,
                           double seconds_max);

// Seconds of looking at one byte of every `step` of a window of `bytes` in the page cache, on average over `count`
// windows of one view, the first at `first`; nothing where the engine does not let it be seen (a kernel before
// Linux 6.5 does not say what it holds), or not all of it is there.
std::optional<double> time_mapped_reads(Engine& engine, int64_t bytes, int64_t first, int64_t count, int64_t step);

// Seconds of taking and releasing the lock of a window, on average over `count`.
double time_locks(Engine& engine, int64_t window_bytes, int64_t count);

}  // namespace swath
