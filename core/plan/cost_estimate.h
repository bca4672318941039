// The cost of a method in seconds: the work of the rank with the most work, with the costs of a profile.
#pragma once

#include <cstdint>

#include "layout/access.h"
#include "plan/profile.h"
#include "plan/rank_share.h"
#include "plan/request.h"

namespace swath {

// The work of one rank by one method, in the units of a profile. Estimated from a few windows: the estimate precedes
// every operation and must take microseconds.
struct Work {
  double read_requests = 0;
  double read_bytes = 0;
  double write_requests = 0;
  double written_bytes = 0;
  bool jumps = false;             // requests do not follow each other in the file ...
  double gap = 0;                 // ... but start so many bytes behind the end of the last one, on average
  bool alternates = false;        // ranks make requests in turn, next to each other in the file
  Method inner = Method::kSieve;  // how two-phase moves windows with holes
  double descriptions = 0;        // slices of its windows
  bool batched = false;           // the engine has many of them in flight together
  bool maps_cached = false;       // cached pages are not copied to a window, but elements are picked from them ...
  MappedUse mapped;               // ... touching these lines and pages
  double partial_pages = 0;       // pages written in part: one that is not in the page cache is read first
  double locks = 0;
  double span = 0;            // of the file, from the first byte to the last
  double share_span = 0;      // the same of the share of the rank with the most, for every method
  double overlap = 1;         // ranks whose spans overlap: they read the same pages
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
  double rounds = 0;    // collective steps of all ranks
  double visits = 0;    // lookups of one rank's part of one window
  double messages = 0;  // between nodes
  double message_bytes = 0;
  double dirty_bytes = 0;        // page-cache bytes that all ranks leave to be written back to the device
  bool is_behind = false;        // the device writes them back already, see Engine::set_write_behind
  double transfers_at_once = 1;  // ranks that transfer at the same time
  double operations = 0;         // of an object store; of the above, only bytes have a cost there ...
  double ranges = 0;             // ... in lists
  double regions = 0;            // ... in descriptions ...
  double described_bytes = 0;    // ... for which servers read this many bytes, holes too
  double waits = 0;              // operations that are waited for
  bool overlaps = false;         // transfer and exchange overlap if the store is a device
};

// Seconds of the rank with the most work.
struct CostEstimate {
  double transfer = 0;       // requests, locks
  double copy = 0;           // between memory and own buffers
  double exchange = 0;       // with other ranks, including waiting for them
  double fixed = 0;          // checks, planning, agreement
  double hidden = 0;         // of these: overlapped
  bool maps_cached = false;  // windows in the page cache are mapped, not copied
  double sync = 0;           // later: the wait of a sync, if one will follow
  double correction = 1;     // learned: Profile::corrections, at ...
  size_t place = 0;          // ... this place

  // Without fixed costs. Checks and agreement cost the same by every method, and the profile does not learn from them.
  double uncorrected_work() const { return transfer + copy + exchange - hidden; }
  double seconds() const { return fixed + uncorrected_work() * correction; }
  // The value by which methods are compared.
  double until_synced() const { return seconds() + sync; }
};

// `request.tuning` has the sizes of two-phase that a choice varies.
Work work_of(const Request& request, Method method, const Access& together, const Access& busiest, bool staged);
CostEstimate estimate_cost(const Request& request, Method method, const Work& work);

// The index of the correction for an operation.
size_t correction_place(Method method, Direction direction, double cached, Scale scale);
// "two-phase/read/cache/large", or "any/read/cache/large" for the factor common to all methods.
std::string correction_name(size_t place);

}  // namespace swath
