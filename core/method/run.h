// From a plan to bytes moved: the one way in.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <vector>

#include "base/counters.h"
#include "comm/comm.h"
#include "engine/engine.h"
#include "plan/make_plan.h"

namespace swath {

// User memory of this rank: one base address and one set of strides a part (see Part::memory_origin).
struct LocalMemory {
  std::vector<Part> parts;            // those of the plan's sharing for this rank, placed in the caller's memory
  std::vector<std::byte*> addresses;  // one a part
};

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

// The methods. Each throws its own rank's error; run() lets all ranks agree on it.
void run_direct(const Job& job);
void run_list(const Job& job);
void run_sieve(const Job& job);
void run_two_phase(const Job& job);

// Fills what lies in chunks that are not in the file. `fill`: one element.
void fill_absent(const Layout& layout, const LocalMemory& memory, std::span<const std::byte> fill);

// Writes the fill value over [begin, end) of the file, which holds elements only.
void fill_range(Engine& engine, int64_t begin, int64_t end, std::span<const std::byte> fill);

// Memory to memory, from one sharing to another of the same array, by way of windows on a C-ordered image of the array
// that is never stored: two-phase without a file (two-phase-1993, section 4.1: "redistributed at run-time").
// Collective. `shape`: of the array; the buffers are two windows a rank, three where the exchange is
// staged, and the packets of a round between nodes.
Counters redistribute(const Shape& shape, int64_t element_bytes, const Sharing& from, const Sharing& to, Comm& comm,
                      const LocalMemory& source, const LocalMemory& target, const Tuning& tuning, Progress& progress);

}  // namespace swath
