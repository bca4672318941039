// Seconds of file requests of one pattern by our own engine, from which the costs of page cache and device are
// computed. The caller knows which of the two served them (python/swath/calibration/).
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
  int64_t batch = 1;         // per call of the engine: 64 are list I/O; adjacent ones are pieces of one request
  bool shuffled = false;     // in a random order that is the same every time
  bool sync = false;         // the last request is followed by an fsync, which counts
  int64_t memory_bytes = 0;  // batches go through so much memory; default: all use the same memory, as windows do
};

struct TimedRequests {
  double seconds = 0;
  int64_t requests = 0;
};

// Runs the pattern, or as much as fits into `seconds_max` (at least one batch). Throws the engine's errors, and
// Error{kArgument}.
TimedRequests time_requests(Engine& engine, const RequestPattern& pattern, double seconds_max);

// The same by `streams` threads at the same time, each with its own engine: the pattern of stream i is moved by
// `distance` * i. Returns all requests, and the average seconds of one stream.
TimedRequests time_streams(const std::string& path, const RequestPattern& pattern, int streams, int64_t distance,
                           double seconds_max);

// Seconds to read one byte of every `step` in a mapped window of `bytes`, averaged over `count` windows of one view,
// the first at `first`. Nullopt if the engine cannot map (before Linux 6.5 the kernel does not report cached pages), or
// if a part is not cached.
std::optional<double> time_mapped_reads(Engine& engine, int64_t bytes, int64_t first, int64_t count, int64_t step);

// Seconds to lock and unlock a window, averaged over `count`.
double time_locks(Engine& engine, int64_t window_bytes, int64_t count);

}  // namespace swath
