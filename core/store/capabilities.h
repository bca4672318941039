// What a store can do, as data: what the planner may know of it. The same on every rank that uses the same engine.
//
// The defaults are those of a store of which nothing is known: what is not known is never taken for an advantage.
#pragma once

#include <cstdint>
#include <optional>

#include "base/direction.h"

namespace swath {

// How a store spreads the bytes of a file over its servers: in turns, `stripe_bytes` to each.
struct StripeMap {
  int64_t stripe_bytes;
  int32_t servers;
};

struct Capabilities {
  // Ranges that one request takes, each contiguous in file and memory. In a local file they must follow each other in
  // the file (preadv: IOV_MAX of them).
  int64_t read_ranges_max = 1024;
  int64_t write_ranges_max = 1024;
  bool structured_requests = false;    // takes nested strides (layout/regions.h) as they are; no store does yet
  bool lock_for_holes = true;          // who fills in a hole must keep other writers away meanwhile
  bool reports_cached = false;         // tells what part of a range is in the page cache (Engine::cached_part)
  bool shows_cache = false;            // lets it be looked at instead of copied (Engine::cached_view)
  bool reads_ahead = true;             // requests closer than a page are read together with what is between them
  bool durable_when_answered = false;  // a write that is done is on the medium: a sync has nothing to wait for
  std::optional<StripeMap> stripes = std::nullopt;  // nothing: not known, or not striped
  // What each request takes longer than the profile's numbers say, which are of a store that is near: the way there and
  // back.
  double round_trip_seconds = 0;

  int64_t ranges_max(Direction direction) const {
    return direction == Direction::kRead ? read_ranges_max : write_ranges_max;
  }
};

}  // namespace swath
