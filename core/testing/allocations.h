// Counts a thread's allocations in tests, and makes them fail. It replaces the allocation operators.
#pragma once

#include <cstdint>

// A sanitizer has its own operators, which match frees with allocations. Ours are then left out: nothing is counted,
// and nothing fails.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SWATH_COUNTS_ALLOCATIONS 0
#else
#define SWATH_COUNTS_ALLOCATIONS 1
#endif

namespace swath::testing {

struct Allocations {
  int64_t live_bytes = 0;
  int64_t peak_bytes = 0;
  int64_t count = 0;
  // The number of allocations of at least `large_bytes` that succeed before one fails; -1: all succeed.
  int64_t large_bytes = 0;
  int64_t large_left = -1;
};
Allocations& allocations();  // of this thread

}  // namespace swath::testing
