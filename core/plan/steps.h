// How a share becomes requests, said once: the planner counts these steps and the methods carry them out.
#pragma once

#include <algorithm>
#include <cstdint>

#include "layout/regions.h"
#include "plan/request.h"

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
    const int64_t most = std::max<int64_t>((dense ? tuning.request_bytes_max : tuning.bounce_bytes) / element_bytes, 1);
    for (; position < end; position += most) {
      const int64_t elements = std::min(most, end - position);
      request(Run{run.offset + (position - run.position) * element_bytes, elements * element_bytes, position}, dense);
    }
    position = end;
  }
}

}  // namespace swath
