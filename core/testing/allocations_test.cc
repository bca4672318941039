#include "testing/allocations.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <vector>

namespace swath::testing {

Allocations& allocations() {
  static thread_local Allocations of_thread;
  return of_thread;
}

}  // namespace swath::testing

#if SWATH_COUNTS_ALLOCATIONS
void* operator new(size_t bytes) {
  auto& seen = swath::testing::allocations();
  const bool is_large = static_cast<int64_t>(bytes) >= seen.large_bytes;
  if (is_large && seen.large_left >= 0) {
    --seen.large_left;
    if (seen.large_left < 0) throw std::bad_alloc();
  }
  void* memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  seen.live_bytes += static_cast<int64_t>(malloc_usable_size(memory));
  seen.peak_bytes = std::max(seen.peak_bytes, seen.live_bytes);
  ++seen.count;
  return memory;
}
void operator delete(void* memory) noexcept {
  if (memory != nullptr) swath::testing::allocations().live_bytes -= static_cast<int64_t>(malloc_usable_size(memory));
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept { operator delete(memory); }

TEST(Allocations, OfThisThreadFailWhenTold) {
  auto& mine = swath::testing::allocations();
  mine.large_bytes = 1000;
  mine.large_left = 1;
  EXPECT_NO_THROW(std::vector<char>(1000));
  EXPECT_NO_THROW(std::vector<char>(999));
  EXPECT_THROW(std::vector<char>(1000), std::bad_alloc);
  EXPECT_EQ(mine.large_left, -1) << "only one fails";
  EXPECT_NO_THROW(std::vector<char>(1000));
}
#endif
