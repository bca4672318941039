// What a store can do, as data: what the planner may know of it. The same on every rank that uses the same engine.
//
// The defaults are those of a store of which nothing is known: what is not known is never taken for an advantage.
#pragma once

#include <cstdint>
#include <optional>

#include "base/direction.h"

namespace swath {

// Of a store of objects: bytes of one operation at most (an OSD refuses 91 MiB, and many keep more servers busy).
inline constexpr int64_t kObjectOperationBytesMax = int64_t{8} << 20;
// Pieces that abut in an object are copied to be one range up to here; a longer piece goes straight to memory.
inline constexpr int64_t kObjectRangeJoinedMax = int64_t{16} << 10;
// Ranges that wait for more of their objects, at most.
inline constexpr int64_t kObjectRangesKept = 65'536;

// How a store spreads the bytes of a file over its servers: in turns, `stripe_bytes` to each.
struct StripeMap {
  int64_t stripe_bytes;
  int32_t servers;
  int64_t object_bytes = 0;  // of a store of objects, each of one server (layout/stripes.h); else 0

  // Whether a request is an operation on one object, which takes ranges of it in any number up to ranges_max().
  bool is_of_objects() const { return object_bytes > 0; }
};

struct Capabilities {
  // Ranges that one request takes, each contiguous in file and memory. In a local file they must follow each other in
  // the file (preadv: IOV_MAX of them).
  int64_t read_ranges_max = 1024;
  int64_t write_ranges_max = 1024;
  bool structured_requests = false;    // takes nested strides (layout/regions.h) as they are
  bool lock_for_holes = true;          // who fills in a hole must keep other writers away meanwhile
  bool reports_cached = false;         // tells what part of a range is in the page cache (Engine::cached_part)
  bool shows_cache = false;            // lets it be looked at instead of copied (Engine::cached_view)
  bool reads_ahead = true;             // requests closer than a page are read together with what is between them
  bool durable_when_answered = false;  // a write that is done is on the medium: a sync has nothing to wait for
  std::optional<StripeMap> stripes = std::nullopt;  // nothing: not known, or not striped
  // What each request takes longer than the profile's numbers say, which are of a store that is near: the way there and
  // back.
  double round_trip_seconds = 0;

  bool is_of_objects() const { return stripes && stripes->is_of_objects(); }
  int64_t ranges_max(Direction direction) const {
    return direction == Direction::kRead ? read_ranges_max : write_ranges_max;
  }
};

// Ranges of a compound operation of RADOS. A read is answered range by range; a write is quadratic in its ranges.
//
// The number of operations in one request is a 16-bit number: of 65,540 reads RADOS carries out 4, and says success.
inline constexpr int64_t kPoolReadRangesMax = 1000;
inline constexpr int64_t kPoolWriteRangesMax = 100;
static_assert(kPoolReadRangesMax < 16'384 && kPoolWriteRangesMax < 16'384);

// Of a file in a Ceph pool.
inline Capabilities pool_capabilities(const StripeMap& stripes, bool takes_descriptions) {
  return {.read_ranges_max = kPoolReadRangesMax,
          .write_ranges_max = kPoolWriteRangesMax,
          .structured_requests = takes_descriptions,
          .reads_ahead = false,
          .durable_when_answered = true,
          .stripes = stripes};
}

}  // namespace swath
