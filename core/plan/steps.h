// How a share becomes requests, in one place: the planner counts these steps and the methods carry them out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "layout/access.h"
#include "plan/request.h"
#include "store/batch.h"

namespace swath {

// Calls request(run, dense) for each request of the direct method: one a contiguous run of the file. A run longer than
// `request_bytes_max` is cut to that size; one that is not contiguous in memory goes through a buffer and is cut to
// `bounce_bytes`. Never inside an element.
template <typename Visit>
void for_each_direct_request(const Regions& regions, int64_t first, int64_t last, const Tuning& tuning,
                             const Visit& request) {
  const int64_t element_bytes = regions.element_bytes();
  for (int64_t position = first; position < last;) {
    const Run run = regions.run_at(position, last);
    const int64_t end = position + run.bytes / element_bytes;
    const bool dense = regions.dense(position, end);
    const int64_t uncut = dense ? tuning.request_bytes_max : std::min(tuning.bounce_bytes, tuning.request_bytes_max);
    const int64_t most = std::max<int64_t>(uncut / element_bytes, 1);
    for (; position < end; position += most) {
      const int64_t elements = std::min(most, end - position);
      request(Run{run.offset + (position - run.position) * element_bytes, elements * element_bytes, position}, dense);
    }
    position = end;
  }
}

// The runs of a window that is written run by run; `buffer` (may be null) holds the window.
inline std::vector<Transfer> window_runs(const Access& together, const Window& window, std::byte* buffer) {
  std::vector<Transfer> transfers;
  together.visit(window.begin, window.limit, [&](const Slice& slice) {
    for (int64_t position = slice.first; position < slice.last;) {
      const Run run = slice.regions.run_at(position, slice.last);
      transfers.push_back({run.offset, buffer == nullptr ? nullptr : buffer + (run.offset - window.begin), run.bytes});
      position += run.bytes / slice.regions.element_bytes();
    }
  });
  return transfers;
}

}  // namespace swath
