// What one rank moves in an operation, as numbers on which costs depend.
#pragma once

#include "layout/access.h"
#include "plan/request.h"

namespace swath {

constexpr double kPageBytes = 4096;
constexpr double kLineBytes = 64;

struct RankShare {
  double bytes = 0;
  double runs = 0;
  double span = 0;
  double run_bytes = 1;     // on average
  double memory_block = 1;  // contiguous in memory
  double memory_span = 0;   // of memory, from the first byte to the last
  bool page_aligned = false;
};

RankShare share_of(const Request& request, const Access& access);

// Pages that are written in part, each counted once where runs share it.
double partial_pages(const RankShare& share);

// The pages that all ranks touch by so many runs a rank, in bytes.
double dirty_bytes(const RankShare& share, double ranks, double span_together);

// Cache lines that are used in part, beyond those that the bytes would fill.
//
// Example: blocks of 8 bytes, 136 from one to the next: each has a line of its own, and would fill an eighth of one.
double partial_lines(const RankShare& share);

// What is read of mapped pages: cache lines, and the pages that the kernel maps around each one that is touched.
struct MappedUse {
  double bytes = 0;
  double pages = 0;
  // Pages of which a part is read.
  double partial_pages() const;
};

// Of windows of `window_bytes` in all, of which so many runs with `useful_bytes` are wanted.
//
// Example: of blocks of 8 bytes at multiples of 136 a line each is touched, 64 bytes, and every page.
MappedUse mapped_use(double window_bytes, double useful_bytes, double runs);

}  // namespace swath
