#include "method/run.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <optional>

#include "base/interrupt.h"
#include "base/stopwatch.h"
#include "comm/agreement.h"
#include "layout/copy.h"

namespace swath {

namespace {

// For a write that fills no holes; null if no other writers are expected. Other methods lock their windows.
std::unique_ptr<RangeLock> lock_for_writing(const Plan& plan, const Access& mine, Engine& engine) {
  const bool has_windows = plan.method == Method::kSieve || plan.method == Method::kTwoPhase;
  if (plan.request.direction == Direction::kRead || has_windows || mine.empty()) return nullptr;
  return engine.lock_shared(*mine.next_start(0), *mine.last_end(INT64_MAX));
}

// This rank's part. Returns its error, and throws only if the ranks cannot agree on it.
std::optional<Error> execute(const Plan& plan, Comm& comm, Engine& engine, const LocalMemory& memory,
                             Progress& progress, Counters& counters) {
  const Stopwatch watch;
  std::optional<Error> failure;
  const Access mine = access_of(*plan.request.layout, memory);
  progress.bytes_done = 0;
  progress.bytes_total = mine.bytes();
  const Job job{plan, comm, engine, memory, mine, counters, progress};
  try {
    const auto lock = lock_for_writing(plan, mine, engine);
    switch (plan.method) {
      case Method::kDirect:
        run_direct(job);
        break;
      case Method::kSieve:
        run_sieve(job);
        break;
      case Method::kList:
        run_list(job);
        break;
      case Method::kDatatype:
        run_datatype(job);
        break;
      case Method::kTwoPhase:
        run_two_phase(job);
        break;
      case Method::kAuto:
        throw Error(ErrorKind::kInternal, "a plan names no method");
    }
  } catch (const Error& error) {
    // If ranks made different calls, they cannot agree on an error either.
    if (error.kind() == ErrorKind::kDisagreement) throw;
    failure = error;
  } catch (const std::bad_alloc&) {
    failure = Error(ErrorKind::kStore, "out of memory for the buffers of method " + to_string(plan.method), ENOMEM);
  }
  engine.end_burst();
  if (plan.method != Method::kTwoPhase) counters.transfer_seconds = watch.seconds();
  return failure;
}

}  // namespace

std::unique_ptr<CachedView> view_of(const Job& job, int64_t window_bytes) {
  const Request& request = job.plan.request;
  const bool wanted = request.direction == Direction::kRead && window_bytes >= request.tuning.look_bytes_min;
  return wanted ? job.engine.cached_view() : nullptr;
}

Counters run(const Plan& plan, Comm& comm, Engine& engine, const LocalMemory& memory, Progress& progress) {
  const Stopwatch watch;
  Counters counters;
  const std::optional<Error> failure = execute(plan, comm, engine, memory, progress, counters);
  agree(comm, failure);
  counters.total_seconds = watch.seconds();
  return counters;
}

Counters run_own_part(const Plan& plan, Comm& comm, Engine& engine, const LocalMemory& memory, Progress& progress) {
  if (plan.method == Method::kTwoPhase) throw Error(ErrorKind::kInternal, "a rank's own part of two-phase");
  const Stopwatch watch;
  Counters counters;
  const std::optional<Error> failure = execute(plan, comm, engine, memory, progress, counters);
  if (failure) throw Error(*failure);
  counters.total_seconds = watch.seconds();
  return counters;
}

void fill_absent(const Layout& layout, const LocalMemory& memory, std::span<const std::byte> fill) {
  // An image of a piece of a chunk that holds nothing but the fill value: alike wherever its first element lies. A
  // contiguous dataset that is not allocated is one chunk.
  constexpr int64_t kImageBytes = int64_t{256} << 10;
  const auto element_bytes = static_cast<int64_t>(fill.size());
  const int64_t image_bytes =
      std::max(std::min(kImageBytes, layout.chunk_bytes()) / element_bytes, int64_t{1}) * element_bytes;
  std::vector<std::byte> image;
  for (Panel& panel : layout.absent_panels()) {
    check_interrupt();
    panel.offset = 0;
    for (size_t part = 0; part < memory.parts.size(); ++part) {
      const Regions regions = layout.regions(panel, memory.parts[part]);
      for (int64_t position = 0; position < regions.count();) {
        if (image.empty()) {
          image.resize(static_cast<size_t>(image_bytes));
          for (size_t i = 0; i < image.size(); ++i) image[i] = fill[i % fill.size()];
        }
        const int64_t begin = regions.offset_of(position);
        const int64_t last = std::min(regions.elements_before(begin + image_bytes), regions.count());
        gather_from_window(regions, position, last, {image.data(), begin}, memory.addresses[part]);
        position = last;
      }
    }
  }
}

void fill_range(Engine& engine, int64_t begin, int64_t end, std::span<const std::byte> fill) {
  constexpr size_t kBufferBytes = size_t{4} << 20;
  std::vector<std::byte> buffer(std::max(kBufferBytes / fill.size(), size_t{1}) * fill.size());
  for (size_t i = 0; i < buffer.size(); ++i) buffer[i] = fill[i % fill.size()];
  Counters counters;
  struct EndBurst {  // a token is only for transfers
    Engine& engine;
    ~EndBurst() { engine.end_burst(); }
  } end_burst{engine};
  for (int64_t offset = begin; offset < end;) {
    const Transfer piece{offset, buffer.data(), std::min(end - offset, static_cast<int64_t>(buffer.size()))};
    engine.transfer(Direction::kWrite, {&piece, 1}, counters);
    offset += piece.bytes;
  }
}

}  // namespace swath
