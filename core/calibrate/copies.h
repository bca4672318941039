// Seconds a byte of copies between windows and user memory, by our own kernels.
#pragma once

#include <cstdint>
#include <vector>

namespace swath {

// Every second block of `block_bytes` in a window, and packed memory larger than any cache.
struct CopyPattern {
  bool gather = true;     // window to memory; false: memory to window
  bool exchange = false;  // another core has just written the window
  int64_t block_bytes = 8;
  int64_t window_bytes = int64_t{512} << 10;
  int64_t memory_bytes = int64_t{64} << 20;
};

// One number for every few windows, until `seconds_max` have passed: seconds a copied byte.
std::vector<double> time_copies(const CopyPattern& pattern, double seconds_max);

// Seconds a byte, averaged over `threads` that copy at the same time, each with its own window and memory.
double time_copies_at_once(const CopyPattern& pattern, int threads, double seconds_max);

}  // namespace swath
