// Two-phase: aggregators move large conforming windows, all ranks exchange (two-phase-1993, section 4.1; extended to
// windows, as ncio-2006 section 2.2 tells it).
//
// One round, reading:   offer (arrive) ─▶ read the next window ─▶ wait for the others ─▶ take
// One round, writing:   put ─▶ complete the window before, arrive ─▶ write it ─▶ wait for the others
//
// Cached pages are not copied first: elements are packed directly from the mapped pages.
//
// A transfer and an exchange overlap, and the barrier of each round is hidden behind the transfer, too
// (method/window_exchange.h). A rank whose transfer failed continues to take part without accessing the file, and all
// agree on the error at the end (decision 0006).

#include <memory>
#include <new>
#include <optional>

#include "base/bulk_data.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/stopwatch.h"
#include "layout/copy.h"
#include "method/run.h"
#include "method/window_exchange.h"
#include "plan/file_domains.h"
#include "plan/steps.h"

namespace swath {
namespace {

// The transfers of this rank's own windows; an error is kept, and no transfer follows it.
class OwnWindows {
 public:
  OwnWindows(const Job& job, const Access& together, int64_t capacity)
      : job_(job), together_(together), capacity_(capacity), view_(view_of(job, capacity)) {}
  OwnWindows(const OwnWindows&) = delete;
  OwnWindows& operator=(const OwnWindows&) = delete;
  // After an exception, for example of the exchange, the window must stay while the engine still uses it.
  ~OwnWindows() {
    try {
      finish();
    } catch (const Error&) {
      under_way_ = false;  // a second interrupt: the first one is thrown already
    }
  }

  // Calls use(image) if the window is cached. Returns false if it must be read.
  template <typename Use>
  bool map_cached(const Window& window, const Use& use) {
    bool is_mapped = false;
    if (!view_ || is_cold_ || transfer_of(window) != WindowTransfer::kWhole) return false;
    guarded([&] {
      check_interrupt();
      is_mapped = view_->map_cached(window.begin, window.bytes(), use, job_.counters);
    });
    return is_mapped;
  }

  // `overlap`: an exchange can hide the transfer.
  void start_read(const Window& window, std::byte* buffer, bool overlap) {
    guarded([&] {
      is_cold_ = is_cold_ || job_.engine.cached_part(window.begin, window.bytes()).value_or(0) < 1;
      // A copy from the page cache gains nothing from a second thread, and does not warm this core's cache.
      move(window, buffer, overlap && is_cold_);
    });
  }

  void start_write(const Window& window, std::byte* buffer) {
    guarded([&] {
      if (transfer_of(window) == WindowTransfer::kSieve) {
        write_filled_in(window, buffer);
      } else {
        write(window, buffer);
      }
    });
  }

  bool is_under_way() const { return under_way_; }

  void finish() {
    if (!under_way_) return;
    under_way_ = false;
    guarded([&] { job_.engine.wait(job_.counters); });
  }

  const std::optional<Error>& failure() const { return failure_; }

 private:
  template <typename Action>
  void guarded(const Action& action) {
    if (failure_) return;
    const Stopwatch watch;
    try {
      action();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInterrupted) throw;  // no other rank takes part
      failure_ = error;
    } catch (const std::bad_alloc&) {
      failure_ = Error(ErrorKind::kStore, "out of memory for the buffers of method two-phase", ENOMEM);
    }
    job_.engine.end_burst();  // a token is never held across an exchange
    job_.counters.transfer_seconds += watch.seconds();
  }

  WindowTransfer transfer_of(const Window& window) const {
    return window_transfer(together_, window, direction(), job_.plan.request.tuning);
  }
  Direction direction() const { return job_.plan.request.direction; }

  // Transfers the ranks' bytes of a window, or all of it, between the store and `buffer`, which holds the window.
  void move(const Window& window, std::byte* buffer, bool in_background) {
    const WindowTransfer how = transfer_of(window);
    if (how == WindowTransfer::kDescribed) {
      const StructuredTransfer described{.access = together_,
                                         .addresses = {},
                                         .pieces_max = job_.plan.request.tuning.list_pieces,
                                         .begin = window.begin,
                                         .end = window.limit,
                                         .as_described = true,
                                         .image = {buffer, window.begin}};
      if (in_background) {
        job_.engine.start_structured(direction(), described);
      } else {
        job_.engine.transfer_structured(direction(), described, job_.counters);
      }
    } else {
      std::vector<Transfer> transfers{{window.begin, buffer, window.bytes()}};
      if (how == WindowTransfer::kRuns) transfers = window_runs(together_, window, buffer);
      if (in_background) {
        job_.engine.start(direction(), transfers);
      } else {
        job_.engine.transfer(direction(), transfers, job_.counters);
      }
    }
    under_way_ = in_background;
  }

  // A store at memory speed is written in the foreground. A slower one is written during the exchange, unless a lock
  // would be kept while the rank waits for others, which may wait for locks themselves.
  void write(const Window& window, std::byte* buffer) {
    constexpr double kMemoryBytesPerSecond = 1e9;
    const auto lock = job_.engine.lock_shared(window.begin, window.end);
    if (store_is_slow_ && lock == nullptr) return move(window, buffer, true);
    const Stopwatch watch;
    const int64_t before = job_.counters.written_bytes;
    move(window, buffer, false);
    const auto written = static_cast<double>(job_.counters.written_bytes - before);
    store_is_slow_ = written < kMemoryBytesPerSecond * watch.seconds();
  }

  // The exchange window has undefined bytes in its holes: its elements are copied into the window as read from the
  // file. The lock is taken after the exchange and released before the next, so that no rank waits for another while it
  // holds one.
  void write_filled_in(const Window& window, const std::byte* buffer) {
    if (!filled_) {
      filled_ = BulkBuffer(capacity_);
      job_.counters.buffer_bytes += capacity_;
    }
    job_.engine.update(
        {window.begin, filled_.data(), window.bytes()}, true,
        [&](std::byte* target) {
          together_.visit(window.begin, window.limit, [&](const Slice& slice) {
            copy_between_windows(slice.regions, slice.first, slice.last, target, buffer, window.begin);
          });
        },
        job_.counters);
  }

  const Job& job_;
  const Access& together_;
  int64_t capacity_;
  std::unique_ptr<CachedView> view_;
  std::optional<Error> failure_;
  BulkBuffer filled_;
  bool is_cold_ = false;  // pages in flight from the device count as cached, so after one uncached window all are
                          // waited for
  bool under_way_ = false;
  bool store_is_slow_ = false;
};

}  // namespace

void run_two_phase(const Job& job) {
  const Request& request = job.plan.request;
  const Layout& layout = *request.layout;
  const Access together = Access::together(layout, request.decomposition);
  const FileDomains& domains = job.plan.domains;
  if (domains.empty()) return;
  const int64_t capacity = window_capacity(together, request.tuning.window_bytes);
  ExchangeSide side(layout, request.decomposition, job.mine, job.memory);
  WindowExchange exchange(job.comm, domains, capacity, job.plan.staged, job.counters, job.progress);
  WindowRounds rounds(together, domains, request.tuning.window_bytes, job.mine, exchange.own_domain(),
                      job.plan.rounds());
  OwnWindows own(job, together, capacity);
  const Stopwatch watch;
  RoundWindows now;
  RoundWindows other;  // the next one when reading, the last one when writing
  int64_t round = 0;
  bool more = rounds.next(now);
  if (request.direction == Direction::kRead) {
    const auto read = [&](const RoundWindows& windows, int64_t of_round, bool overlap) {
      const std::optional<Window>& window = windows.own;
      if (!window) return;
      const auto pack = [&](const std::byte* image) { exchange.pack(side, windows, of_round, image); };
      if (!exchange.needs_own_window() && own.map_cached(*window, pack)) return;
      own.start_read(*window, exchange.own_window(of_round), overlap);
      if (!own.is_under_way()) pack(exchange.own_window(of_round));
    };
    read(now, round, false);
    while (more) {
      if (own.is_under_way()) {
        own.finish();
        exchange.pack(side, now, round, exchange.own_window(round));
      }
      exchange.offer(side, now, round);
      more = rounds.next(other);
      read(other, round + 1, true);
      exchange.wait();
      exchange.take(side, now, round);
      std::swap(now, other);
      ++round;
    }
  } else {
    const auto complete_last = [&] {
      own.finish();
      if (round > 0) exchange.complete(side, other, round - 1);
    };
    const auto start_writing_last = [&] {
      const std::optional<Window>& window = other.own;
      if (round == 0 || !window) return;
      exchange.unpack(side, other, round - 1);
      own.start_write(*window, exchange.own_window(round - 1));
    };
    for (; more; more = rounds.next(now), ++round) {
      exchange.put(side, now, round);
      complete_last();
      exchange.arrive(side, now);
      start_writing_last();
      exchange.wait();
      std::swap(now, other);
    }
    complete_last();
    start_writing_last();
  }
  own.finish();
  job.counters.exchange_seconds = watch.seconds() - job.counters.transfer_seconds;
  if (own.failure()) throw *own.failure();
}

}  // namespace swath
