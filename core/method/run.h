// From a plan to bytes moved: the one way in.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/counters.h"
#include "comm/comm.h"
#include "method/local_memory.h"
#include "plan/make_plan.h"
#include "store/engine.h"

namespace swath {

// How far an operation is, for whoever watches from another thread.
struct Progress {
  std::atomic<int64_t> bytes_done{0};
  std::atomic<int64_t> bytes_total{0};
};

// What a method works with. `engine` is this rank's own.
struct Job {
  const Plan& plan;
  Comm& comm;
  Engine& engine;
  const LocalMemory& memory;
  const Access& mine;
  Counters& counters;
  Progress& progress;
};

// Collective over `comm`. Moves this rank's share between the file and `memory` as the plan says. When it throws, every
// rank throws the same; elements that are not part of the request are untouched in any case.
Counters run(const Plan& plan, Comm& comm, Engine& engine, const LocalMemory& memory, Progress& progress);

// This rank's own part of a plan whose method lets no ranks meet (all but two-phase): not collective, and an error is
// this rank's alone. For who lets the ranks agree afterwards.
Counters run_own_part(const Plan& plan, Comm& comm, Engine& engine, const LocalMemory& memory, Progress& progress);

// To look at windows of `window_bytes` that are in the page cache; null where they are to be copied: short ones, and
// those of an engine that does not let them be seen.
std::unique_ptr<CachedView> view_of(const Job& job, int64_t window_bytes);

// The methods. Each throws its own rank's error; run() lets all ranks agree on it.
void run_direct(const Job& job);
void run_list(const Job& job);
void run_datatype(const Job& job);
void run_sieve(const Job& job);
void run_two_phase(const Job& job);

// Fills what lies in chunks that are not in the file. `fill`: one element.
void fill_absent(const Layout& layout, const LocalMemory& memory, std::span<const std::byte> fill);

// Writes the fill value over [begin, end) of the file, which holds elements only.
void fill_range(Engine& engine, int64_t begin, int64_t end, std::span<const std::byte> fill);

// Whose elements are whose, and this rank's share of them in memory.
struct SharedOut {
  const Decomposition& decomposition;
  const LocalMemory& memory;
};

// Memory to memory, from one decomposition to another of the same array. Elements of the target that nobody has in
// the source stay as they are; those that several ranks have there get the value of one of them. Collective.
//
// Buffers of a rank, whatever the array's size: two stages, shared on its node, of 2 windows (tuning.window_bytes, 1
// MiB together by default) and what rounding adds for each rank that it sends to: at most two elements, a cache line,
// and the smaller of 16 KiB and its part of a stage. Where a rank has peers that share no memory with it, as much again
// for what they send.
Counters redistribute(int64_t element_bytes, const SharedOut& source, const SharedOut& target, Comm& comm,
                      const Tuning& tuning, Progress& progress);

}  // namespace swath
