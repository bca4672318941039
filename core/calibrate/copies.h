// Seconds a byte of the copies between windows and user memory, by our own kernels.
#pragma once

#include <cstdint>
#include <vector>

namespace swath {

// Blocks of `block_bytes`, every second one of a window, and packed memory that is larger than any cache.
struct CopyPattern {
  bool gather = true;     // window to memory; else memory to window
  bool exchange = false;  // another core has just written the window
  int64_t block_bytes = 8;
  int64_t window_bytes = int64_t{512} << 10;
  int64_t memory_bytes = int64_t{64} << 20;
};

// One number for every few windows, until `seconds_max` have passed: seconds a byte that was copied.
std::vector<double> time_copies(const CopyPattern& pattern, double seconds_max);

// Seconds a byte, on average over `threads` that copy at once, each with a window and memory of its own.
double time_copies_at_once(const CopyPattern& pattern, int threads, double seconds_max);

}  // namespace swath
