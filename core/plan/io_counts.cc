#include "plan/io_counts.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>

#include "base/math.h"
#include "plan/kinds.h"
#include "plan/object_counts.h"
#include "plan/steps.h"
#include "store/structured.h"

namespace swath {
namespace {

// The same for each of the ranks that stand for many, so that all of them together are counted in milliseconds.
constexpr int64_t kCountedOfManyMax = 64;
// Of too many windows, those that stand for all.
constexpr int64_t kWindowsSampled = 64;

void add_requests(IoCounts& cost, Direction direction, int64_t requests, int64_t bytes) {
  if (direction == Direction::kRead) {
    cost.read_requests += requests;
    cost.read_bytes += bytes;
  } else {
    cost.write_requests += requests;
    cost.written_bytes += bytes;
  }
}

IoCounts times(IoCounts cost, int64_t ranks) {
  for_each_amount([&](const char*, auto amount) { cost.*amount *= ranks; });
  return cost;
}

// What a part of the whole says of it.
IoCounts scaled(IoCounts cost, double factor) {
  for_each_amount(
      [&](const char*, auto amount) { cost.*amount = std::llround(static_cast<double>(cost.*amount) * factor); });
  cost.exact = false;
  return cost;
}

// Calls one(cost, window) for the windows of what starts in [begin, end): for each; or once, where there is no hole; or
// for the first, where there are too many to count one by one.
//
// Theorem: without a hole, and with elements no longer than a window, the window that holds the first element, the one
// that holds the last and all between them hold the start of an element, and together they hold the span. So they cost
// what a single large window would, but for the number of requests.
template <typename One>
IoCounts counts_of_windows(const Request& request, const Access& access, const FileDomain& range, int64_t window_bytes,
                           int64_t counted_max, const One& one) {
  const auto [rank, begin, end] = range;
  const bool joins_windows = !request.capabilities.is_of_objects();  // else each is cut by its own objects
  IoCounts cost;
  const auto first = access.next_start(begin);
  if (!first || *first >= end) return cost;
  const int64_t last = *access.last_end(end);
  const int64_t element_bytes = access.element_bytes();
  const int64_t useful = access.bytes_in(begin, end);
  int64_t windows = (last - element_bytes) / window_bytes - *first / window_bytes + 1;  // at most
  const bool may_overlap = access.may_overlap();
  if (useful == last - *first && !may_overlap && element_bytes <= window_bytes && joins_windows) {
    one(cost, Window{*first, last, end});
    for (int64_t* requests : {&cost.read_requests, &cost.write_requests, &cost.locks}) *requests *= windows;
    return cost;
  }
  if (windows > counted_max) windows = std::min(windows, access.runs_in(begin, end) + useful / window_bytes);
  const bool too_many = windows > counted_max;
  int64_t cursor = *first;
  for (int64_t left = too_many ? kWindowsSampled : INT64_MAX; left > 0; --left) {
    const auto window = access.next_window(cursor, end, window_bytes);
    if (!window) return cost;
    one(cost, *window);
    cursor = window->limit;
  }
  const auto seen = static_cast<double>(access.bytes_in(begin, cursor));
  return scaled(cost, static_cast<double>(useful) / seen);
}

// Of `requests` direct ones of a slice, those of a store of objects: one for each object that a run touches.
int64_t direct_operations(const Request& request, const Slice& slice, int64_t requests, int64_t counted_max,
                          bool& exact) {
  const StripeLayout stripes = stripes_of(*request.capabilities.stripes);
  if (requests > counted_max) {
    const int64_t bytes = slice.bytes() / requests;
    exact = exact && bytes == 1;
    return requests + requests * (bytes - 1) / stripes.unit;
  }
  const int64_t ranges_max = request.capabilities.ranges_max(request.direction);
  int64_t operations = 0;
  for_each_direct_request(slice.regions, slice.first, slice.last, request.tuning, [&](const Run& run, bool) {
    operations += operations_of_range(stripes, ranges_max, run.offset, run.bytes);
  });
  return operations;
}

// Operations that move a whole window. What is read to be written back is read as it will be written.
int64_t window_requests(const Request& request, const Window& window) {
  const Capabilities& able = request.capabilities;
  if (!able.is_of_objects()) return 1;
  return operations_of_range(stripes_of(*able.stripes), able.ranges_max(request.direction), window.begin,
                             window.bytes());
}

int64_t requests_by_runs(const Request& request, const Access& together, const Window& window) {
  const Capabilities& able = request.capabilities;
  if (able.is_of_objects()) {
    return count_listed_window(together, able, able.ranges_max(request.direction), window).operations;
  }
  // Runs of neighbouring chunks or boxes may abut: the engine joins them.
  return count_requests(window_runs(together, window, nullptr), request.tuning.request_bytes_max);
}

int64_t requests_described(const Request& request, const Access& together, const Window& window) {
  const Capabilities& able = request.capabilities;
  return count_described_window(together, able, able.ranges_max(request.direction), window).operations;
}

void add_window(IoCounts& cost, const Request& request, const Access& together, const Window& window) {
  const auto useful = [&] { return together.bytes_in(window.begin, window.limit); };
  switch (window_transfer(together, window, request.direction, request.tuning)) {
    case WindowTransfer::kWhole:
      add_requests(cost, request.direction, window_requests(request, window), window.bytes());
      break;
    case WindowTransfer::kRuns:
      add_requests(cost, request.direction, requests_by_runs(request, together, window), useful());
      break;
    case WindowTransfer::kDescribed:
      add_requests(cost, request.direction, requests_described(request, together, window), useful());
      break;
    case WindowTransfer::kSieve:
      add_requests(cost, Direction::kRead, window_requests(request, window), window.bytes());
      add_requests(cost, Direction::kWrite, window_requests(request, window), window.bytes());
      cost.locks += request.capabilities.lock_for_holes;
      break;
  }
}

// Two-phase: what every rank does that holds `bytes` ...
IoCounts count_exchanging(const Request& request, const FileDomains& domains, int64_t capacity, int64_t bytes) {
  IoCounts cost;
  if (domains.empty()) return cost;
  cost.exchanged_bytes = bytes;
  // The parts of a shared window are the same on every rank: three windows, or stages.
  cost.buffer_bytes = 3 * capacity;
  // What this rank holds of the others' windows goes in packets.
  if (request.messages) cost.buffer_bytes += std::min(bytes, std::ssize(domains) * capacity);
  return cost;
}

// What all ranks of two-phase have in common.
struct TwoPhase {
  const Request& request;
  const FileDomains& domains;
  bool staged;
  const Access& together;
  int64_t capacity;
};

// ... and what the aggregator of domain `place`, which holds `mine`, does beside it.
IoCounts count_aggregating(const TwoPhase& all, size_t place, const Access& mine, int64_t counted_max) {
  const auto& [request, domains, staged, together, capacity] = all;
  const FileDomain domain = domains[place];
  const auto others = std::ssize(domains) - 1;
  IoCounts cost;
  cost.exchanged_bytes = -mine.bytes_in(domain.begin, domain.end);
  if (staged) cost.buffer_bytes += capacity;  // the own window; what is shared are stages
  if (request.messages) {
    // What the others hold of this rank's window goes in packets; boxes that are read may overlap.
    const bool overlaps = !request.decomposition.are_disjoint() && request.direction == Direction::kRead;
    cost.buffer_bytes += (overlaps ? request.decomposition.ranks() - 1 : 1) * capacity;
    cost.buffer_bytes -= std::min(mine.bytes(), (others + 1) * capacity) - std::min(mine.bytes(), others * capacity);
  }
  cost += counts_of_windows(
      request, together, domain, request.tuning.window_bytes, counted_max,
      [&](IoCounts& windows, const Window& window) { add_window(windows, all.request, all.together, window); });
  const bool sieves = all.request.direction == Direction::kWrite && cost.read_requests > 0;
  if (sieves) cost.buffer_bytes += capacity;  // what a window held before
  return cost;
}

// Every rank exchanges, by kinds; the aggregators among them are looked at one by one, or some of them for all.
TotalIoCounts two_phase_total(const Request& request, const FileDomains& domains, bool staged, const Access& together) {
  TotalIoCounts total;
  if (domains.empty()) return total;
  const int64_t capacity = window_capacity(together, request.tuning.window_bytes);
  const Kinds kinds = kinds_by_form(*request.layout, request.decomposition);
  for (const RankKind& kind : kinds.all) {
    const IoCounts cost = count_exchanging(request, domains, capacity, access_of(request, kind.rank).bytes());
    total.buffer_bytes_max = std::max(total.buffer_bytes_max, cost.buffer_bytes);
    total.sum += times(cost, kind.ranks);
  }
  total.sum.exact = kinds.exact;
  const size_t counted = std::min<size_t>(domains.size(), kRanksCounted);
  const bool all_counted = counted == domains.size();
  IoCounts aggregating;
  int64_t useful = 0;
  for (size_t i = 0; i < counted; ++i) {
    const size_t place = (2 * i + 1) * domains.size() / (2 * counted);
    const FileDomain domain = domains[place];
    const Access mine = access_of(request, domain.rank);
    const IoCounts cost = count_aggregating({request, domains, staged, together, capacity}, place, mine,
                                            all_counted ? kCountedMax : kCountedOfManyMax);
    const int64_t exchange_buffers = count_exchanging(request, domains, capacity, mine.bytes()).buffer_bytes;
    total.buffer_bytes_max = std::max(total.buffer_bytes_max, exchange_buffers + cost.buffer_bytes);
    aggregating += cost;
    if (!all_counted) useful += together.bytes_in(domain.begin, domain.end);
  }
  const double factor = static_cast<double>(together.bytes()) / static_cast<double>(std::max<int64_t>(useful, 1));
  total.sum += all_counted ? aggregating : scaled(aggregating, factor);
  return total;
}

}  // namespace

IoCounts& IoCounts::operator+=(const IoCounts& other) {
  for_each_amount([&](const char*, auto amount) { this->*amount += other.*amount; });
  exact = exact && other.exact;
  return *this;
}

Runs runs_of(const Access& access) {
  Runs runs;
  runs.bytes = runs.bytes_of_rank_max = access.bytes();
  access.visit_all([&](const Slice& slice) {
    runs.count += slice.regions.runs();
    runs.bytes_max = std::max(runs.bytes_max, slice.regions.longest_run());
  });
  return runs;
}

int64_t requests_with_stripes(const Runs& runs, int64_t stripe_bytes) {
  if (runs.bytes_max == 0) return 0;
  return runs.count * ceil_div(runs.bytes_max, std::min(runs.bytes_max, stripe_bytes));
}

Runs runs_of(const Layout& layout, const Decomposition& decomposition) {
  const Kinds kinds = kinds_by_form(layout, decomposition);
  Runs runs;
  runs.exact = kinds.exact;
  for (const RankKind& kind : kinds.all) {
    const Runs of_rank = runs_of(Access::of(layout, decomposition, kind.rank));
    runs.count += kind.ranks * of_rank.count;
    runs.bytes += kind.ranks * of_rank.bytes;
    runs.bytes_max = std::max(runs.bytes_max, of_rank.bytes_max);
    runs.bytes_of_rank_max = std::max(runs.bytes_of_rank_max, of_rank.bytes);
  }
  return runs;
}

bool exchange_is_staged(const Layout& layout, const Decomposition& decomposition, const Runs& runs,
                        const Tuning& tuning) {
  constexpr int64_t kPanelsKeptMax = int64_t{1} << 20;
  return decomposition.ranks() > 1 && decomposition.are_disjoint() &&
         layout.panel_count() * decomposition.ranks() <= kPanelsKeptMax &&
         runs.bytes < runs.count * tuning.staged_run_bytes;
}

Access access_of(const Request& request, int rank) { return Access::of(*request.layout, request.decomposition, rank); }

Access access_together(const Request& request) { return Access::together(*request.layout, request.decomposition); }

// Of a store of objects: so many operations.
IoCounts count_of_objects(const Request& request, const Access& access, const ObjectOperations& counted) {
  IoCounts cost;
  cost.exact = counted.exact;
  add_requests(cost, request.direction, counted.operations, access.bytes());
  return cost;
}

// One request a run; a run that cannot go straight to memory is cut at the size of the bounce buffer.
IoCounts count_direct(const Request& request, const Access& access, int64_t counted_max) {
  IoCounts cost;
  access.visit_all([&](const Slice& slice) {
    const Regions& regions = slice.regions;
    int64_t requests = regions.runs(slice.first, slice.last);
    const bool bounces = !regions.is_dense();
    const int64_t longest = regions.longest_run();
    if (bounces) {
      const int64_t most = std::max(request.tuning.bounce_bytes, regions.element_bytes());
      cost.buffer_bytes = std::max(cost.buffer_bytes, std::min(most, longest));
    }
    const int64_t request_max = request.tuning.request_bytes_max;
    const int64_t uncut = bounces ? std::min(request.tuning.bounce_bytes, request_max) : request_max;
    if (longest > uncut && requests > counted_max) {
      cost.exact = false;  // as if the runs were all equal
      requests *= ceil_div((slice.last - slice.first) * regions.element_bytes() / requests, uncut);
    } else if (longest > uncut) {
      requests = 0;
      for_each_direct_request(regions, slice.first, slice.last, request.tuning, [&](const Run&, bool) { ++requests; });
    }
    if (request.capabilities.is_of_objects()) {
      requests = direct_operations(request, slice, requests, counted_max, cost.exact);
    }
    add_requests(cost, request.direction, requests, (slice.last - slice.first) * regions.element_bytes());
  });
  return cost;
}

IoCounts count_datatype(const Request& request, const Access& access, int64_t counted_max) {
  return count_of_objects(request, access, count_described_operations(access, request.capabilities, counted_max));
}

IoCounts count_list(const Request& request, const Access& access, int64_t counted_max) {
  IoCounts cost;
  if (request.capabilities.is_of_objects()) {
    cost = count_of_objects(request, access,
                            count_list_operations(access, request.capabilities,
                                                  request.capabilities.ranges_max(request.direction), counted_max));
    cost.buffer_bytes = request.tuning.list_pieces * static_cast<int64_t>(sizeof(Transfer));
    return cost;
  }
  cost.buffer_bytes = request.tuning.list_pieces * static_cast<int64_t>(sizeof(Transfer));
  int64_t pieces = 0;
  int64_t runs = 0;
  int64_t slices = 0;
  int64_t longest = 0;
  int64_t pieces_of_longest = 0;  // at most
  access.visit_all([&](const Slice& slice) {
    const Regions& regions = slice.regions;
    pieces += regions.pieces(slice.first, slice.last);
    runs += regions.runs(slice.first, slice.last);
    longest = std::max(longest, regions.longest_run());
    pieces_of_longest = longest / regions.memory_block_bytes() + 2;
    ++slices;
  });
  int64_t requests = runs;
  // A run is not divided between batches unless it must be. Runs of neighbouring chunks or boxes may join in one
  // vectored call; a run may be too long, or have more pieces than one call takes.
  const bool fits = pieces == runs || pieces_of_longest <= request.tuning.list_pieces;
  const bool is_runs = slices <= 1 && fits && longest <= request.tuning.request_bytes_max;
  if (!is_runs && pieces <= counted_max) {
    requests = 0;
    for_each_flat_batch({access, {}, request.tuning.list_pieces}, [&](std::span<const Transfer> batch) {
      requests += count_requests(batch, request.tuning.request_bytes_max);
    });
  } else if (!is_runs) {
    cost.exact = false;
    requests = std::max(runs, ceil_div(pieces, request.tuning.list_pieces));
  }
  add_requests(cost, request.direction, requests, access.bytes());
  return cost;
}

IoCounts count_sieve(const Request& request, const Access& access, int64_t counted_max) {
  const int64_t window_bytes = request.tuning.sieve_bytes;
  IoCounts cost = counts_of_windows(request, access, {0, 0, INT64_MAX}, window_bytes, counted_max,
                                    [&](IoCounts& windows, const Window& window) {
                                      const bool holes = access.bytes_in(window.begin, window.limit) < window.bytes();
                                      const int64_t requests = window_requests(request, window);
                                      if (request.direction == Direction::kRead || holes) {
                                        add_requests(windows, Direction::kRead, requests, window.bytes());
                                      }
                                      if (request.direction == Direction::kRead) return;
                                      add_requests(windows, Direction::kWrite, requests, window.bytes());
                                      windows.locks += request.capabilities.lock_for_holes;
                                    });
  cost.buffer_bytes = window_capacity(access, window_bytes);
  return cost;
}

IoCounts count_two_phase(const Request& request, const FileDomains& domains, bool staged, const Access& together,
                         int rank) {
  const int64_t capacity = window_capacity(together, request.tuning.window_bytes);
  const Access mine = access_of(request, rank);
  IoCounts cost = count_exchanging(request, domains, capacity, mine.bytes());
  const int index = domains.index_of(rank);
  if (index >= 0) {
    cost += count_aggregating({request, domains, staged, together, capacity}, static_cast<size_t>(index), mine,
                              kCountedMax);
  }
  return cost;
}

TotalIoCounts count_total(const Request& request, Method method, const FileDomains& domains, bool staged,
                          const Access& together) {
  if (method == Method::kTwoPhase) return two_phase_total(request, domains, staged, together);
  const Kinds kinds = method == Method::kSieve ? kinds_by_place(request.decomposition)
                                               : kinds_by_form(*request.layout, request.decomposition);
  const int64_t counted_max = request.decomposition.ranks() <= kRanksCounted ? kCountedMax : kCountedOfManyMax;
  TotalIoCounts total;
  for (const RankKind& kind : kinds.all) {
    const Access access = access_of(request, kind.rank);
    const IoCounts cost = method == Method::kDirect     ? count_direct(request, access, counted_max)
                          : method == Method::kList     ? count_list(request, access, counted_max)
                          : method == Method::kDatatype ? count_datatype(request, access, counted_max)
                                                        : count_sieve(request, access, counted_max);
    total.buffer_bytes_max = std::max(total.buffer_bytes_max, cost.buffer_bytes);
    total.sum += times(cost, kind.ranks);
  }
  total.sum.exact = total.sum.exact && kinds.exact;
  return total;
}

}  // namespace swath
