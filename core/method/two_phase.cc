// Two-phase: aggregators move large conforming windows, all ranks exchange (two-phase-1993, section 4.1; extended to
// windows, as ncio-2006 section 2.2 tells it).
//
// One round, reading:   wait for the own window ─▶ offer (all arrive) ─▶ start reading the next one ─▶ take
// One round, writing:   put ─▶ wait for the write before ─▶ deliver (all arrive) ─▶ start writing the own window
//
// Two windows an aggregator, used in turn, so that a transfer and an exchange overlap; one meeting of all ranks a
// round. A rank whose transfer failed goes on taking part without touching the file, and all agree at the end (decision
// 0006).

#include <chrono>
#include <new>
#include <optional>

#include "base/error.h"
#include "layout/copy.h"
#include "method/run.h"
#include "method/sieve.h"
#include "method/window_exchange.h"
#include "plan/file_domains.h"
#include "plan/steps.h"

namespace swath {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// The transfers of this rank's own windows; an error is kept, and nothing is transferred after it.
class OwnWindows {
 public:
  OwnWindows(const Job& job, const Access& together, int64_t capacity)
      : job_(job), together_(together), capacity_(capacity) {}
  OwnWindows(const OwnWindows&) = delete;
  OwnWindows& operator=(const OwnWindows&) = delete;
  // Left by an exception, of the exchange say, the window must not go while the engine still moves its bytes.
  ~OwnWindows() { finish(); }

  // `overlap`: there is an exchange to hide the transfer behind.
  void start_read(const Window& window, std::byte* buffer, bool overlap) {
    guarded([&] {
      const Transfer whole{window.begin, buffer, window.bytes()};
      // A copy from the page cache gains nothing from a second thread, and loses what this core's cache would hold.
      if (!overlap || job_.engine.cached(window.begin, window.bytes())) {
        job_.engine.transfer(Direction::kRead, {&whole, 1}, job_.counters);
      } else {
        job_.engine.start(Direction::kRead, {&whole, 1});
        under_way_ = true;
      }
    });
  }

  void start_write(const Window& window, std::byte* buffer) {
    guarded([&] {
      switch (window_write(together_, window, job_.plan.request.tuning)) {
        case WindowWrite::kWhole:
          write({{window.begin, buffer, window.bytes()}});
          break;
        case WindowWrite::kRuns:
          write(window_runs(together_, window, buffer));
          break;
        case WindowWrite::kSieve:
          write_filled_in(window, buffer);
          break;
      }
    });
  }

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
    const auto begin = Clock::now();
    try {
      action();
    } catch (const Error& error) {
      failure_ = error;
    } catch (const std::bad_alloc&) {
      failure_ = Error(ErrorKind::kStore, "out of memory for the buffers of method two-phase", ENOMEM);
    }
    job_.counters.transfer_seconds += seconds_since(begin);
  }

  // A store that takes bytes at the speed of memory is written in the foreground, a slower one behind the exchange.
  void write(const std::vector<Transfer>& transfers) {
    constexpr double kMemoryBytesPerSecond = 1e9;
    if (store_is_slow_) {
      job_.engine.start(Direction::kWrite, transfers);
      under_way_ = true;
      return;
    }
    const auto begin = Clock::now();
    const int64_t before = job_.counters.written_bytes;
    job_.engine.transfer(Direction::kWrite, transfers, job_.counters);
    const auto written = static_cast<double>(job_.counters.written_bytes - before);
    store_is_slow_ = written < kMemoryBytesPerSecond * seconds_since(begin);
  }

  // The holes of the exchange window hold nothing: the elements are copied into the window as it is in the file. The
  // lock is taken after the exchange and released before the next, so that no rank ever waits for another while it
  // holds one.
  void write_filled_in(const Window& window, const std::byte* buffer) {
    if (filled_.empty()) {
      filled_.resize(static_cast<size_t>(capacity_));
      job_.counters.buffer_bytes += capacity_;
    }
    write_sieved(
        job_.engine, window, true, filled_.data(),
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
  std::optional<Error> failure_;
  std::vector<std::byte> filled_;
  bool under_way_ = false;
  bool store_is_slow_ = false;
};

}  // namespace

void run_two_phase(const Job& job) {
  const Request& request = job.plan.request;
  const Layout& layout = *request.layout;
  const Access together(layout, request.sharing.together(layout.element_bytes()));
  const auto& domains = job.plan.domains;
  if (domains.empty()) return;
  const int64_t capacity = window_capacity(together, request.tuning.window_bytes);
  ExchangeSide side(layout, request.sharing, job.mine, job.memory);
  WindowExchange exchange(job.comm, domains, capacity, job.plan.staged, job.counters, job.progress);
  WindowRounds rounds(together, domains, request.tuning.window_bytes);
  OwnWindows own(job, together, capacity);
  const auto own_of = [&](const RoundWindows& windows) -> const Window* {
    const int domain = exchange.own_domain();
    return domain >= 0 && windows[domain] ? &*windows[domain] : nullptr;
  };
  const auto begin = Clock::now();
  RoundWindows now;
  RoundWindows next;
  int parity = 0;
  bool more = rounds.next(now);
  if (request.direction == Direction::kRead) {
    if (const Window* window = own_of(now)) own.start_read(*window, exchange.own_window(parity), false);
    while (more) {
      own.finish();
      exchange.offer(side, now, parity);
      more = rounds.next(next);
      if (const Window* window = own_of(next)) own.start_read(*window, exchange.own_window(1 - parity), true);
      exchange.take(side, now, parity);
      std::swap(now, next);
      parity = 1 - parity;
    }
  } else {
    for (; more; more = rounds.next(now), parity = 1 - parity) {
      exchange.put(side, now, parity);
      own.finish();
      exchange.deliver(side, now, parity);
      if (const Window* window = own_of(now)) own.start_write(*window, exchange.own_window(parity));
    }
  }
  own.finish();
  job.counters.exchange_seconds = seconds_since(begin) - job.counters.transfer_seconds;
  if (own.failure()) throw *own.failure();
}

Counters redistribute(const Shape& shape, int64_t element_bytes, const Sharing& from, const Sharing& to, Comm& comm,
                      const LocalMemory& source, const LocalMemory& target, const Tuning& tuning, Progress& progress) {
  const auto begin = Clock::now();
  Counters counters;
  std::vector<int> c_order;
  for (size_t d = 0; d < shape.size(); ++d) c_order.push_back(static_cast<int>(d));
  const Layout image = Layout::ordered(shape, element_bytes, 0, c_order);
  const Access together(image, from.together(element_bytes));
  const Access mine_before(image, source.parts);
  const Access mine_after(image, target.parts);
  ExchangeSide before(image, from, mine_before, source);
  ExchangeSide after(image, to, mine_after, target);
  const auto domains = file_domains(together, comm.size(), tuning);
  progress.bytes_done = 0;
  progress.bytes_total = mine_before.bytes() + mine_after.bytes();
  // Boxes may overlap: packed for every rank they may be more than a stage holds.
  const bool staged = !from.is_boxes() && !to.is_boxes() &&
                      (exchange_is_staged(image, from, runs_of(image, from), tuning) ||
                       exchange_is_staged(image, to, runs_of(image, to), tuning));
  WindowExchange exchange(comm, domains, window_capacity(together, tuning.window_bytes), staged, counters, progress);
  WindowRounds rounds(together, domains, tuning.window_bytes);
  RoundWindows windows;
  for (int parity = 0; rounds.next(windows); parity = 1 - parity) {
    exchange.put(before, windows, parity);
    exchange.deliver(before, windows, parity);
    exchange.offer(after, windows, parity);
    exchange.take(after, windows, parity);
  }
  counters.total_seconds = counters.exchange_seconds = seconds_since(begin);
  return counters;
}

}  // namespace swath
