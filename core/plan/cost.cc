#include "plan/cost.h"

#include <algorithm>

#include "base/math.h"
#include "engine/request.h"
#include "plan/steps.h"

namespace swath {
namespace {

// Windows and runs are counted one by one up to here; beyond it the count is an estimate and says so.
constexpr int64_t kCountedMax = 20'000;

void add_requests(Cost& cost, Direction direction, int64_t requests, int64_t bytes) {
  if (direction == Direction::kRead) {
    cost.read_requests += requests;
    cost.read_bytes += bytes;
  } else {
    cost.write_requests += requests;
    cost.written_bytes += bytes;
  }
}

void add_window(Cost& cost, const Request& request, const Access& together, const Window& window) {
  if (request.direction == Direction::kRead) {
    add_requests(cost, Direction::kRead, 1, window.bytes());
    return;
  }
  switch (window_write(together, window, request.tuning)) {
    case WindowWrite::kWhole:
      add_requests(cost, Direction::kWrite, 1, window.bytes());
      break;
    case WindowWrite::kRuns:
      // Runs of neighbouring chunks or boxes may abut: the engine joins them.
      add_requests(cost, Direction::kWrite,
                   count_requests(window_runs(together, window, nullptr), request.tuning.request_bytes_max),
                   together.bytes_in(window.begin, window.limit));
      break;
    case WindowWrite::kSieve:
      add_requests(cost, Direction::kRead, 1, window.bytes());
      add_requests(cost, Direction::kWrite, 1, window.bytes());
      ++cost.locks;
      break;
  }
}

}  // namespace

Cost& Cost::operator+=(const Cost& other) {
  read_requests += other.read_requests;
  write_requests += other.write_requests;
  read_bytes += other.read_bytes;
  written_bytes += other.written_bytes;
  exchanged_bytes += other.exchanged_bytes;
  locks += other.locks;
  buffer_bytes += other.buffer_bytes;
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

Runs runs_of(const Layout& layout, const Sharing& sharing) {
  Runs runs;
  for (int rank = 0; rank < sharing.ranks(); ++rank) {
    const Runs of_rank = runs_of(Access(layout, sharing.parts(rank, layout.element_bytes())));
    runs.count += of_rank.count;
    runs.bytes += of_rank.bytes;
    runs.bytes_max = std::max(runs.bytes_max, of_rank.bytes_max);
    runs.bytes_of_rank_max = std::max(runs.bytes_of_rank_max, of_rank.bytes);
  }
  return runs;
}

bool exchange_is_staged(const Layout& layout, const Sharing& sharing, const Runs& runs, const Tuning& tuning) {
  constexpr int64_t kPanelsKeptMax = int64_t{1} << 20;
  return !sharing.is_boxes() && sharing.ranks() > 1 && layout.panel_count() * sharing.ranks() <= kPanelsKeptMax &&
         runs.bytes < runs.count * tuning.staged_run_bytes;
}

Access access_of(const Request& request, int rank) {
  return Access(*request.layout, request.sharing.parts(rank, request.layout->element_bytes()));
}

Access access_together(const Request& request) {
  return Access(*request.layout, request.sharing.together(request.layout->element_bytes()));
}

// One request a run; a run that cannot go straight to memory is cut at the size of the bounce buffer.
Cost direct_cost(const Request& request, const Access& access) {
  Cost cost;
  access.visit_all([&](const Slice& slice) {
    const Regions& regions = slice.regions;
    int64_t requests = regions.runs(slice.first, slice.last);
    const bool bounces = regions.dense_positions() < regions.count();
    const int64_t longest = regions.longest_run();
    if (bounces) {
      const int64_t most = std::max(request.tuning.bounce_bytes, regions.element_bytes());
      cost.buffer_bytes = std::max(cost.buffer_bytes, std::min(most, longest));
    }
    if (longest > (bounces ? request.tuning.bounce_bytes : request.tuning.request_bytes_max)) {
      cost.exact = cost.exact && requests <= kCountedMax;
      if (requests <= kCountedMax) {
        requests = 0;
        for_each_direct_request(regions, slice.first, slice.last, request.tuning,
                                [&](const Run&, bool) { ++requests; });
      }
    }
    add_requests(cost, request.direction, requests, (slice.last - slice.first) * regions.element_bytes());
  });
  return cost;
}

Cost list_cost(const Request& request, const Access& access) {
  Cost cost;
  cost.buffer_bytes = request.tuning.list_pieces * static_cast<int64_t>(sizeof(Transfer));
  int64_t pieces = 0;
  int64_t runs = 0;
  int64_t slices = 0;
  int64_t longest = 0;
  access.visit_all([&](const Slice& slice) {
    pieces += slice.regions.pieces(slice.first, slice.last);
    runs += slice.regions.runs(slice.first, slice.last);
    longest = std::max(longest, slice.regions.longest_run());
    ++slices;
  });
  int64_t requests = runs;
  // Runs of neighbouring chunks or boxes may join in one vectored call; a run may be too long, or have more pieces than
  // one call takes.
  const bool is_runs = slices <= 1 && pieces == runs && longest <= request.tuning.request_bytes_max;
  if (!is_runs && pieces <= kCountedMax) {
    requests = 0;
    for_each_list_batch(access, {}, request.tuning, [&](std::span<const Transfer> batch) {
      requests += count_requests(batch, request.tuning.request_bytes_max);
    });
  } else if (!is_runs) {
    cost.exact = false;
    requests = std::max(runs, ceil_div(pieces, request.tuning.list_pieces));
  }
  add_requests(cost, request.direction, requests, access.bytes());
  return cost;
}

Cost sieve_cost(const Request& request, const Access& access) {
  Cost cost;
  if (access.empty()) return cost;
  const int64_t window_bytes = request.tuning.sieve_bytes;
  cost.buffer_bytes = window_capacity(access, window_bytes);
  const int64_t begin = *access.next_start(0);
  const int64_t end = *access.last_end(INT64_MAX);
  const int64_t span = end - begin;
  if (span / window_bytes > kCountedMax) {
    cost.exact = false;
    // As if the holes were all equal: every window but the last ends before one of them.
    const int64_t windows = std::min(span / window_bytes + 1, access.runs());
    const int64_t bytes = span - windows * ((span - access.bytes()) / access.runs());
    add_requests(cost, Direction::kRead, windows, bytes);
    if (request.direction == Direction::kWrite) {
      add_requests(cost, Direction::kWrite, windows, bytes);
      cost.locks = windows;
    }
    return cost;
  }
  int64_t cursor = begin;
  while (const auto window = access.next_window(cursor, INT64_MAX, window_bytes)) {
    const bool holes = access.bytes_in(window->begin, window->limit) < window->bytes();
    if (request.direction == Direction::kRead || holes) add_requests(cost, Direction::kRead, 1, window->bytes());
    if (request.direction == Direction::kWrite) {
      add_requests(cost, Direction::kWrite, 1, window->bytes());
      ++cost.locks;
    }
    cursor = window->limit;
  }
  return cost;
}

Cost two_phase_cost(const Request& request, const std::vector<FileDomain>& domains, bool staged, const Access& together,
                    int rank) {
  Cost cost;
  if (domains.empty()) return cost;
  const int64_t capacity = window_capacity(together, request.tuning.window_bytes);
  cost.buffer_bytes = 2 * capacity;  // the parts of a shared window are the same on every rank
  const Access mine = access_of(request, rank);
  cost.exchanged_bytes = mine.bytes();
  int64_t others_windows = std::ssize(domains);
  for (const auto& domain : domains) {
    if (domain.rank != rank) continue;
    if (staged) cost.buffer_bytes += capacity;  // the own window; what is shared are stages
    --others_windows;
    // What the others hold of this rank's window goes in packets; boxes that are read may overlap.
    const bool overlaps = request.sharing.is_boxes() && request.direction == Direction::kRead;
    if (request.messages) cost.buffer_bytes += (overlaps ? request.sharing.ranks() - 1 : 1) * capacity;
    cost.exchanged_bytes -= mine.bytes_in(domain.begin, domain.end);
    if ((domain.end - domain.begin) / request.tuning.window_bytes > kCountedMax) {
      // Every window is like the first.
      cost.exact = false;
      Cost one;
      const auto window = together.next_window(domain.begin, domain.end, request.tuning.window_bytes);
      if (window) add_window(one, request, together, *window);
      const int64_t windows = (domain.end - domain.begin) / request.tuning.window_bytes;
      for (int64_t* field :
           {&one.read_requests, &one.write_requests, &one.read_bytes, &one.written_bytes, &one.locks}) {
        *field *= windows;
      }
      cost += one;
      continue;
    }
    int64_t cursor = domain.begin;
    while (const auto window = together.next_window(cursor, domain.end, request.tuning.window_bytes)) {
      add_window(cost, request, together, *window);
      cursor = window->limit;
    }
    if (cost.locks > 0) cost.buffer_bytes += capacity;  // what a sieved window held before
  }
  // So does what this rank holds of theirs.
  if (request.messages) cost.buffer_bytes += std::min(mine.bytes(), others_windows * capacity);
  return cost;
}

}  // namespace swath
