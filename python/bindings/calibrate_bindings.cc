// The micro-measurements of `swath calibrate`. Python code chooses the measurements and evaluates them.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>

#include "array/file.h"
#include "bindings.h"
#include "calibrate/copies.h"
#include "calibrate/meetings.h"
#include "calibrate/requests.h"
#include "calibrate/small_reads.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Unlocked = nb::call_guard<Interruptible>;

swath::Direction direction_of(bool write) { return write ? swath::Direction::kWrite : swath::Direction::kRead; }

std::pair<double, int64_t> pair_of(const swath::TimedRequests& timed) { return {timed.seconds, timed.requests}; }

// Wraps a function that measures one engine: leases an engine of a shared file for it.
template <typename Result, typename... Arguments>
auto leased(Result (*measure)(swath::Engine&, Arguments...)) {
  return [measure](swath::File& file, Arguments... arguments) {
    const auto engine = file.engine().lease();
    return measure(*engine, arguments...);
  };
}

}  // namespace

void bind_calibrate(nb::module_& m) {
  m.def(
      "time_requests",
      [](swath::File& file, bool write, int64_t bytes, int64_t first, int64_t stride, int64_t count, int64_t batch,
         bool shuffled, bool sync, int64_t memory_bytes, double seconds_max) {
        const auto engine = file.engine().lease();
        return pair_of(swath::time_requests(
            *engine, {direction_of(write), bytes, first, stride, count, batch, shuffled, sync, memory_bytes},
            seconds_max));
      },
      "file"_a, "write"_a, "bytes"_a, "first"_a, "stride"_a, "count"_a, "batch"_a = 1, "shuffled"_a = false,
      "sync"_a = false, "memory_bytes"_a = 0, nb::kw_only(), "seconds_max"_a, Unlocked(), "(seconds, requests)");
  m.def(
      "time_streams",
      [](const std::string& path, bool write, int64_t bytes, int64_t count, bool sync, int streams, int64_t distance,
         double seconds_max) {
        return pair_of(swath::time_streams(path, {direction_of(write), bytes, 0, bytes, count, 1, false, sync, 0},
                                           streams, distance, seconds_max));
      },
      "path"_a, "write"_a, "bytes"_a, "count"_a, "sync"_a, "streams"_a, "distance"_a, "seconds_max"_a, Unlocked(),
      "(seconds of one stream, requests of all)");
  m.def("time_mapped_reads", leased(&swath::time_mapped_reads), "file"_a, "bytes"_a, "first"_a, "count"_a, "step"_a,
        Unlocked(), "Seconds of looking at one byte a step of one window in the page cache; None where it cannot be.");
  m.def("time_locks", leased(&swath::time_locks), "file"_a, "window_bytes"_a, "count"_a, Unlocked());
  m.def(
      "time_copies",
      [](bool gather, bool exchange, int64_t block_bytes, int64_t window_bytes, int64_t memory_bytes,
         double seconds_max) {
        return swath::time_copies({gather, exchange, block_bytes, window_bytes, memory_bytes}, seconds_max);
      },
      "gather"_a, "exchange"_a, "block_bytes"_a, "window_bytes"_a, "memory_bytes"_a, "seconds_max"_a, Unlocked());
  m.def(
      "time_copies_at_once",
      [](int64_t block_bytes, int64_t window_bytes, int64_t memory_bytes, int threads, double seconds_max) {
        return swath::time_copies_at_once({true, false, block_bytes, window_bytes, memory_bytes}, threads, seconds_max);
      },
      "block_bytes"_a, "window_bytes"_a, "memory_bytes"_a, "threads"_a, "seconds_max"_a, Unlocked());
  m.def("time_barriers", &swath::time_barriers, "ranks"_a, "seconds_max"_a, Unlocked());
  m.def("time_rounds", &swath::time_rounds, "ranks"_a, "seconds_max"_a, Unlocked());
  m.def("time_visits", &swath::time_visits, "seconds_max"_a, Unlocked());
  m.def(
      "time_small_reads",
      [](const std::string& path, int64_t bytes, int calls, int repetitions) {
        auto [pread, core] = swath::time_small_reads(path, bytes, calls, repetitions);
        return std::make_pair(std::move(pread), std::move(core));
      },
      "path"_a, "bytes"_a, "calls"_a, "repetitions"_a, Unlocked(),
      "Seconds of one contiguous read in each repetition: by pread, and by the core from request to bytes.");
}
