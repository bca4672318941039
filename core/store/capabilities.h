// What a store can do, as data for the planner. The same on every rank that uses the same engine.
//
// The defaults are for an unknown store: no unknown property counts as an advantage.
#pragma once

#include <cstdint>
#include <optional>

#include "base/direction.h"

namespace swath {

// For an object store: the maximum bytes of one operation (an OSD refuses 91 MiB, and many operations use more
// servers).
inline constexpr int64_t kObjectOperationBytesMax = int64_t{8} << 20;
// Adjacent pieces in an object are copied into one range up to this size; a longer piece is not copied.
inline constexpr int64_t kObjectRangeJoinedMax = int64_t{16} << 10;
// The maximum number of ranges that wait for others of their objects.
inline constexpr int64_t kObjectRangesKept = 65'536;

// How a store distributes the bytes of a file over its servers: round-robin, `stripe_bytes` to each.
struct StripeMap {
  int64_t stripe_bytes;
  int32_t servers;
  int64_t object_bytes = 0;  // for an object store, where each object is on one server (layout/stripes.h); else 0

  // True if a request is an operation on one object, with up to ranges_max() ranges in it.
  bool is_of_objects() const { return object_bytes > 0; }
};

struct Capabilities {
  // The maximum number of ranges in one request, each contiguous in file and memory. In a local file they must be
  // adjacent (preadv: IOV_MAX of them).
  int64_t read_ranges_max = 1024;
  int64_t write_ranges_max = 1024;
  bool structured_requests = false;    // accepts nested strides (layout/regions.h)
  bool lock_for_holes = true;          // a writer that fills a hole must lock out other writers
  bool reports_cached = false;         // reports which part of a range is in the page cache (Engine::cached_part)
  bool shows_cache = false;            // can map cached pages instead of copying them (Engine::cached_view)
  bool reads_ahead = true;             // requests closer than a page are read together with the bytes between them
  bool durable_when_answered = false;  // a completed write is on the medium: a sync has nothing to do
  std::optional<StripeMap> stripes = std::nullopt;  // nullopt: unknown, or not striped
  // Additional seconds of each request over the profile's numbers, which are for a nearby store: the round trip.
  double round_trip_seconds = 0;

  bool is_of_objects() const { return stripes && stripes->is_of_objects(); }
  int64_t ranges_max(Direction direction) const {
    return direction == Direction::kRead ? read_ranges_max : write_ranges_max;
  }
};

// The maximum ranges of a compound operation of RADOS. A read has one answer a range; a write is quadratic in its
// ranges.
//
// The number of operations in one request has 16 bits: RADOS carries out 4 of 65,540 reads, and reports success.
inline constexpr int64_t kPoolReadRangesMax = 1000;
inline constexpr int64_t kPoolWriteRangesMax = 100;
static_assert(kPoolReadRangesMax < 16'384 && kPoolWriteRangesMax < 16'384);

// The capabilities for a file in a Ceph pool.
inline Capabilities pool_capabilities(const StripeMap& stripes, bool takes_descriptions) {
  return {.read_ranges_max = kPoolReadRangesMax,
          .write_ranges_max = kPoolWriteRangesMax,
          .structured_requests = takes_descriptions,
          .lock_for_holes = false,
          .reads_ahead = false,
          .durable_when_answered = true,
          .stripes = stripes};
}

}  // namespace swath
