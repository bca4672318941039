#include "plan/price.h"

#include <algorithm>

#include "base/math.h"
#include "plan/file_domains.h"

namespace swath {
namespace {

constexpr double kPageBytes = 4096;
constexpr int kSampledWindows = 8;

double as_double(int64_t value) { return static_cast<double>(value); }

// What the first windows of a range say of all of them.
struct WindowSample {
  double windows = 0;
  double bytes = 0;   // that the windows span
  double useful = 0;  // that are asked for
  double runs = 0;
  double with_holes = 0;  // windows
  double span = 0;        // of the file, what lies between windows included
};

// Windows [begin, end): a few are looked at; the rest of the range is taken to be like them.
WindowSample sample_windows(const Access& access, int64_t begin, int64_t end, int64_t window_bytes) {
  WindowSample sample;
  int64_t cursor = begin;
  int64_t first = -1;
  int64_t last = begin;
  for (int i = 0; i < kSampledWindows; ++i) {
    const auto window = access.next_window(cursor, end, window_bytes);
    if (!window) return sample;
    if (first < 0) first = window->begin;
    const int64_t useful = access.bytes_in(window->begin, window->limit);
    sample.windows += 1;
    sample.bytes += as_double(window->bytes());
    sample.useful += as_double(useful);
    sample.runs += as_double(access.runs_in(window->begin, window->limit));
    sample.with_holes += useful < window->bytes() ? 1 : 0;
    cursor = window->limit;
    last = window->end;
    sample.span = as_double(last - first);
  }
  const auto next = access.next_start(cursor);
  if (!next || *next >= end) return sample;
  // Seen: [first, *next). To come: up to the last element.
  const double all = as_double(access.last_end(end).value_or(last) - first);
  const double factor = all / as_double(*next - first);
  for (double* number : {&sample.windows, &sample.bytes, &sample.useful, &sample.runs, &sample.with_holes}) {
    *number *= factor;
  }
  sample.span = all;
  return sample;
}

struct Share {
  double bytes = 0;
  double runs = 0;
  double span = 0;
  double run_bytes = 1;     // on average
  double memory_block = 1;  // contiguous in memory
  bool page_aligned = false;
};

Share share_of(const Request& request, const Access& access) {
  Share share;
  if (access.empty()) return share;
  share.bytes = as_double(access.bytes());
  share.runs = as_double(std::max<int64_t>(access.runs(), 1));
  const int64_t begin = *access.next_start(0);
  share.span = as_double(*access.last_end(INT64_MAX) - begin);
  const int64_t page = static_cast<int64_t>(kPageBytes);
  share.page_aligned = begin % page == 0 && access.bytes() / access.runs() % page == 0;
  share.run_bytes = share.bytes / share.runs;
  share.memory_block = as_double(request.memory_block_bytes);
  if (request.memory_block_bytes == 0) {
    share.memory_block = share.bytes;
    access.visit_all([&](const Slice& slice) {
      share.memory_block =
          std::min(share.memory_block, as_double(slice.regions.dense_positions() * slice.regions.element_bytes()));
    });
  }
  return share;
}

// Pages that are written in part, each counted once where runs share it.
double partial_pages(const Share& share) {
  if (share.page_aligned) return 0;
  if (share.run_bytes >= 2 * kPageBytes) return 2 * share.runs;  // the first and the last of each run
  return std::min(2 * share.runs, share.span / kPageBytes + 1);
}

void add_transfer(Work& work, const Request& request, double requests, double bytes) {
  if (request.direction == Direction::kRead) {
    work.read_requests += requests;
    work.read_bytes += bytes;
  } else {
    work.write_requests += requests;
    work.written_bytes += bytes;
  }
}

Work direct_work(const Request& request, const Share& share) {
  Work work;
  const bool dense = share.memory_block >= share.run_bytes;
  const double most = as_double(dense ? request.tuning.request_bytes_max : request.tuning.bounce_bytes);
  add_transfer(work, request, std::max(share.runs, share.bytes / most), share.bytes);
  work.jumps = share.runs > 1;
  if (!dense) {
    work.copied_bytes = share.bytes;
    work.copied_block = share.memory_block;
  }
  if (request.direction == Direction::kWrite) work.partial_pages = partial_pages(share);
  return work;
}

Work list_work(const Request& request, const Share& share) {
  Work work = direct_work(request, share);
  work.copied_bytes = 0;
  work.pieces = share.bytes / std::min(share.run_bytes, share.memory_block);
  const double pieces_max = as_double(request.tuning.list_pieces);
  const double requests = std::max(share.runs, work.pieces / pieces_max);
  (request.direction == Direction::kRead ? work.read_requests : work.write_requests) = requests;
  work.batched = share.runs > 1;
  work.visits = work.pieces / pieces_max;
  return work;
}

Work sieve_work(const Request& request, const Access& access, const Share& share) {
  Work work;
  const WindowSample sample = sample_windows(access, 0, INT64_MAX, request.tuning.sieve_bytes);
  work.copied_bytes = share.bytes;
  work.copied_block = std::min(share.run_bytes, share.memory_block);
  work.visits = sample.windows;
  work.jumps = sample.bytes < sample.span * 0.9;
  if (request.direction == Direction::kRead) {
    add_transfer(work, request, sample.windows, sample.bytes);
    return work;
  }
  add_transfer(work, request, sample.windows, sample.bytes);
  work.read_requests = sample.with_holes;
  work.read_bytes = sample.bytes * sample.with_holes / std::max(sample.windows, 1.0);
  work.locks = sample.windows;
  return work;
}

// The aggregator with the first domain, which is as large as any.
Work two_phase_work(const Request& request, const Access& together, const Share& share, bool staged) {
  Work work;
  const auto domains = FileDomains(together, request.sharing.ranks(), request.tuning);
  if (domains.empty()) return work;
  const FileDomain first = domains[0];
  const double aggregators = as_double(std::ssize(domains));
  const WindowSample sample = sample_windows(together, first.begin, first.end, request.tuning.window_bytes);
  const double windows = std::max(sample.windows, 1.0);
  const bool by_runs =
      sample.runs > sample.windows && sample.useful >= sample.runs * as_double(request.tuning.runs_bytes_min);
  work.transfers_at_once = aggregators;
  work.overlaps = true;
  work.span = sample.span;
  if (by_runs) {
    add_transfer(work, request, sample.runs, sample.useful);
    work.jumps = work.batched = true;
    work.pieces = sample.runs;
    if (request.direction == Direction::kWrite) work.partial_pages = 2 * sample.runs;
  } else {
    add_transfer(work, request, windows, sample.bytes);
    work.jumps = sample.bytes < sample.span * 0.9;
    if (request.direction == Direction::kWrite && sample.with_holes > 0) {
      work.read_requests = sample.with_holes;
      work.read_bytes = sample.bytes * sample.with_holes / windows;
      work.locks = sample.with_holes;
      work.packed_bytes += sample.useful;  // into the window as it was in the file
      work.packed_block = share.run_bytes;
    }
  }
  const double ranks = request.sharing.ranks();
  work.rounds = windows;
  work.visits = windows * aggregators * (staged ? 2 : 1);
  if (staged) {
    work.packed_bytes += sample.useful;
    work.packed_block = share.run_bytes;
    work.visits += windows * ranks;
  }
  work.exchanged_bytes = share.bytes;
  const double block = staged ? share.bytes / std::max(work.visits, 1.0) : share.run_bytes;
  work.exchanged_block = std::min(std::max(block, 1.0), share.memory_block);
  if (request.messages) {
    const double node = request.ranks_of_node > 0 ? request.ranks_of_node : 1;
    const double abroad = 1 - std::min(node / ranks, 1.0);
    work.messages = windows * (ranks + aggregators) * abroad;
    work.message_bytes = (share.bytes + sample.useful) * abroad;
  }
  return work;
}

double requests_at(const Curve& each, double requests, double bytes, double jump) {
  return requests <= 0 ? 0 : requests * (each.at_or_in_proportion(bytes / requests) + jump);
}

// Reading what the page cache has.
double cached_read_seconds(const Medium& cache, const Work& work) {
  const double jump = work.jumps ? (work.batched ? cache.read_jump_batched : cache.read_jump) : 0;
  return requests_at(cache.read, work.read_requests, work.read_bytes, jump) *
         cache.read_slowdown.at_or_in_proportion(work.transfers_at_once);
}

// Reading what it has not. Pages that several ranks want are read once; requests closer than a page make the kernel
// read ahead, as if all between were asked for.
double device_read_seconds(const Profile& profile, const Work& work) {
  constexpr double kAheadBytes = 128 * 1024;
  const Medium& device = profile.device;
  const double slowdown = device.read_slowdown.at_or_in_proportion(work.transfers_at_once);
  double pages = 0;
  double copies = 0;
  if (work.read_requests > 0) {
    const bool reads_ahead = work.jumps && work.span / work.read_requests <= kPageBytes;
    const double jump = work.jumps ? (work.batched ? device.read_jump_batched : device.read_jump) : 0;
    pages = reads_ahead ? requests_at(device.read, std::max(work.span / kAheadBytes, 1.0), work.span, 0)
                        : requests_at(device.read, work.read_requests, work.read_bytes, jump);
    if (reads_ahead || work.overlap > 1) copies = cached_read_seconds(profile.cache, work);
  }
  // Pages that are written in part are read first, one after the other.
  const double partial =
      requests_at(device.read, work.partial_pages, work.partial_pages * kPageBytes, device.read_jump);
  return (pages + partial) * slowdown / work.overlap + copies;
}

double write_seconds(const Medium& cache, const Work& work) {
  const double jump = work.jumps ? cache.write_jump : 0;
  return requests_at(cache.write, work.write_requests, work.written_bytes, jump) *
         cache.write_slowdown.at_or_in_proportion(work.transfers_at_once);
}

}  // namespace

Work work_of(const Request& request, Method method, const Access& together, const Access& busiest, bool staged) {
  if (busiest.empty()) return {};
  const Share share = share_of(request, busiest);
  Work work;
  switch (method) {
    case Method::kDirect:
      work = direct_work(request, share);
      break;
    case Method::kList:
      work = list_work(request, share);
      break;
    case Method::kSieve:
      work = sieve_work(request, busiest, share);
      break;
    case Method::kTwoPhase:
      return two_phase_work(request, together, share, staged);
    case Method::kAuto:
      break;
  }
  const double ranks = request.sharing.ranks();
  const double span_together = as_double(*together.last_end(INT64_MAX) - *together.next_start(0));
  work.transfers_at_once = ranks;
  work.span = share.span;
  work.overlap = std::clamp(ranks * share.span / span_together, 1.0, ranks);
  return work;
}

Price price_of(const Request& request, Method method, const Work& work) {
  const Profile& profile = request.profile ? *request.profile : default_profile();
  const int ranks = request.sharing.ranks();
  const double node = request.ranks_of_node > 0 ? request.ranks_of_node : ranks;
  const double uncached = profile.device.known() ? 1 - request.cached : 0;
  Price price;

  const double read_device = uncached > 0 ? device_read_seconds(profile, work) : 0;
  const double read = (1 - uncached) * cached_read_seconds(profile.cache, work) + uncached * read_device;
  // Written bytes stay in the page cache until they are synced.
  const double write = write_seconds(profile.cache, work);
  const double in_turn = work.locks > 0 ? work.overlap : 1;
  price.transfer = (read + write + work.locks * profile.lock_seconds) * in_turn + work.pieces * profile.piece_seconds;

  const double slowdown = profile.copy_slowdown.at_or_in_proportion(node);
  const bool reading = request.direction == Direction::kRead;
  const auto copy = [&](const Curve& curve, double bytes, double block) {
    return bytes <= 0 ? 0 : bytes / block * curve.times_x_at(block) * slowdown;
  };
  price.copy = copy(reading ? profile.gather : profile.scatter, work.copied_bytes, work.copied_block) +
               copy(reading ? profile.gather : profile.scatter, work.packed_bytes, work.packed_block) +
               work.visits * profile.visit_seconds;

  price.exchange =
      copy(reading ? profile.exchange_gather : profile.exchange_scatter, work.exchanged_bytes, work.exchanged_block) +
      work.messages * profile.message_seconds + work.message_bytes * profile.message_byte_seconds;
  if (ranks > 1) {
    const double meeting = profile.barrier.at_or_in_proportion(node);
    price.exchange += work.rounds * meeting;
    price.fixed += 4 * meeting;  // three agreements, and windows that are set up
  }
  price.fixed += profile.operation_seconds;
  // A transfer from the page cache is work of the same core that exchanges; one from a device is waiting.
  if (work.overlaps) price.hidden = std::min(uncached * read_device, price.copy + price.exchange);
  price.correction = profile.corrections.factor(correction_place(method, request.direction, request.cached));
  return price;
}

size_t correction_place(Method method, Direction direction, double cached) {
  const auto of_method = static_cast<size_t>(method) - static_cast<size_t>(Method::kDirect);
  return of_method * 4 + (direction == Direction::kRead ? 0 : 2) + (cached >= 0.5 ? 0 : 1);
}

}  // namespace swath
