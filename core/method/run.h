// Carries out a plan: the only entry point of the methods.
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

// The progress of an operation, watched from another thread.
struct Progress {
  std::atomic<int64_t> bytes_done{0};
  std::atomic<int64_t> bytes_total{0};
};

// The inputs of a method. `engine` belongs to this rank.
struct Job {
  const Plan& plan;
  Comm& comm;
  Engine& engine;
  const LocalMemory& memory;
  const Access& mine;
  Counters& counters;
  Progress& progress;
};

// Collective over `comm`. Moves this rank's share between the file and `memory` according to the plan. If it throws,
// every rank throws the same error; elements outside the request are never changed.
Counters run(const Plan& plan, Comm& comm, Engine& engine, const LocalMemory& memory, Progress& progress);

// This rank's part of a plan whose method has no exchange (all but two-phase). Local; an error is this rank's alone.
// The caller lets the ranks agree afterwards.
Counters run_own_part(const Plan& plan, Comm& comm, Engine& engine, const LocalMemory& memory, Progress& progress);

// For mapping cached windows of `window_bytes`; null if they are to be copied: short windows, or an engine that cannot
// map.
std::unique_ptr<CachedView> view_of(const Job& job, int64_t window_bytes);

// The methods. Each throws its own rank's error; run() makes all ranks agree on it.
void run_direct(const Job& job);
void run_list(const Job& job);
void run_datatype(const Job& job);
void run_sieve(const Job& job);
void run_two_phase(const Job& job);

// Fills the elements of chunks that are not in the file. `fill`: one element.
void fill_absent(const Layout& layout, const LocalMemory& memory, std::span<const std::byte> fill);

// Writes the fill value over [begin, end) of the file, which holds elements only.
void fill_range(Engine& engine, int64_t begin, int64_t end, std::span<const std::byte> fill);

// The owner of each element, and this rank's share in memory.
struct SharedOut {
  const Decomposition& decomposition;
  const LocalMemory& memory;
};

// Collective. Copies memory to memory, from one decomposition of an array to another. Elements without an owner in the
// source do not change; elements with several owners get the value of one of them.
//
// Buffers of a rank, whatever the array's size: two stages, shared on its node, of 2 windows (tuning.window_bytes, 1
// MiB together by default) and what rounding adds for each rank that it sends to: at most two elements, a cache line,
// and the smaller of 16 KiB and its part of a stage. Where a rank has peers that share no memory with it, as much again
// for what they send.
Counters redistribute(int64_t element_bytes, const SharedOut& source, const SharedOut& target, Comm& comm,
                      const Tuning& tuning, Progress& progress);

}  // namespace swath
