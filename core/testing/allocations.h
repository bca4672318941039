// What tests learn of a thread's memory, and take from it: they replace the operators that allocate.
#pragma once

#include <cstdint>

// A sanitizer has its own operators, and matches what is freed with what was allocated: there ours stay away, nothing
// is counted, and nothing fails.
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
  // Of those of at least `large_bytes`, how many succeed before one fails; -1: all succeed.
  int64_t large_bytes = 0;
  int64_t large_left = -1;
};
Allocations& allocations();  // of this thread

}  // namespace swath::testing
