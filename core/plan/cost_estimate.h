// What a method will cost in seconds: the work of the rank that has most to do, priced from a profile.
#pragma once

#include <cstdint>

#include "layout/access.h"
#include "plan/profile.h"
#include "plan/request.h"

namespace swath {

// The work of one rank by one method, in the terms that a profile prices. Estimated from a few windows: a price is
// made before every operation and must cost microseconds.
struct Work {
  double read_requests = 0;
  double read_bytes = 0;
  double write_requests = 0;
  double written_bytes = 0;
  bool jumps = false;             // requests do not follow each other in the file
  Method inner = Method::kSieve;  // how two-phase moves windows with holes
  double descriptions = 0;        // slices of its windows
  bool batched = false;           // the engine has many of them in flight together
  bool maps_cached = false;       // what is in the page cache is not copied to a window, but picked from there ...
  double mapped_bytes = 0;        // ... and so much of it is touched, in whole cache lines ...
  double mapped_pages = 0;        // ... of so many pages
  double partial_pages = 0;       // pages written in part: one that is not in the page cache is read first
  double locks = 0;
  double span = 0;            // of the file, from the first byte to the last
  double share_span = 0;      // the same of the share of the rank with most, whatever the method
  double overlap = 1;         // ranks whose spans lie over each other: they read the same pages
  double pieces = 0;          // of memory, in vectored requests
  double copied_bytes = 0;    // between memory and this rank's own buffer ...
  double copied_block = 1;    // ... in contiguous blocks of so many bytes
  double straight_bytes = 0;  // between memory and the store, without a buffer
  double window_bytes = 0;    // of one window or bounce buffer
  double memory_bytes = 0;    // of memory, from the first byte to the last
  double partial_lines = 0;   // cache lines of memory beyond those that the bytes would fill
  double packed_bytes = 0;    // within this core's cache: staging
  double packed_block = 1;
  double exchanged_bytes = 0;  // between memory and all ranks' windows
  double exchanged_block = 1;
  double rounds = 0;    // meetings of all ranks
  double visits = 0;    // one rank's part of one window, to be found
  double messages = 0;  // between nodes
  double message_bytes = 0;
  double dirty_bytes = 0;        // pages that all ranks leave to be written to the device, in bytes
  bool is_behind = false;        // the device has begun with them, see Engine::set_write_behind
  double transfers_at_once = 1;  // ranks that transfer at the same time
  double operations = 0;         // of a store of objects, of which nothing above but bytes is priced ...
  double ranges = 0;             // ... in lists
  double regions = 0;            // ... in descriptions ...
  double described_bytes = 0;    // ... for which servers read so much, holes too
  double waits = 0;              // so often waited for
  bool overlaps = false;         // transfer and exchange go on at the same time where the store is a device
};

// Seconds of the rank that has most to do.
struct CostEstimate {
  double transfer = 0;       // requests, locks
  double copy = 0;           // between memory and own buffers
  double exchange = 0;       // with other ranks, and waiting for each other
  double fixed = 0;          // checks, planning, agreement
  double hidden = 0;         // of these: behind one another
  bool maps_cached = false;  // windows in the page cache are mapped, not copied
  double sync = 0;           // afterwards: what a sync waits for, where one will follow
  double correction = 1;     // learned: Profile::corrections, at ...
  size_t place = 0;          // ... this place

  // What is not fixed. Checks and agreement are the same by every method, and nothing is learned of them.
  double uncorrected_work() const { return transfer + copy + exchange - hidden; }
  double seconds() const { return fixed + uncorrected_work() * correction; }
  // What a choice compares.
  double until_synced() const { return seconds() + sync; }
};

// The two-phase numbers that a choice varies are in `request.tuning`.
Work work_of(const Request& request, Method method, const Access& together, const Access& busiest, bool staged);
CostEstimate estimate_cost(const Request& request, Method method, const Work& work);

// Which correction an operation belongs to.
size_t correction_place(Method method, Direction direction, double cached, Scale scale);
// "two-phase/read/cache/large", and "any/read/cache/large" of what all methods have in common.
std::string correction_name(size_t place);

}  // namespace swath
