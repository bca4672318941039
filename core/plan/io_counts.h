// Predicted counts of each method: requests, bytes, exchange, memory. Counters have the same fields, measured.
#pragma once

#include <cstdint>
#include <vector>

#include "base/counters.h"
#include "plan/file_domains.h"
#include "plan/request.h"

namespace swath {

// The predicted counts of a method for one rank.
struct IoCounts : IoAmounts {
  bool exact = true;  // false: too many windows or ranks to count one by one, an estimate

  int64_t requests() const { return read_requests + write_requests; }
  IoCounts& operator+=(const IoCounts& other);
};

// Of all ranks.
struct TotalIoCounts {
  IoCounts sum;
  int64_t buffer_bytes_max = 0;  // of the rank with the largest buffers
};

// The largest request that the distribution allows, and how many there are: table 1 of two-phase-1993.
struct Runs {
  int64_t count = 0;      // R_dist
  int64_t bytes_max = 0;  // S_dist
  int64_t bytes = 0;
  int64_t bytes_of_rank_max = 0;  // of the rank with the most bytes
  bool exact = true;              // false: of a few ranks of many, whose chunks may be cut elsewhere
};

// True if two-phase stages the exchange of a node's ranks: if their runs are on average shorter than a cache line, and
// every rank can keep the shares of the others (boxes may overlap, and very many chunks would take too much memory).
bool exchange_is_staged(const Layout& layout, const Decomposition& decomposition, const Runs& runs,
                        const Tuning& tuning);

// Contiguous runs of one rank's share. Equation 1 with `stripe_bytes`: R_trans = R_dist * S_dist / min(S_dist,
// S_stripe).
Runs runs_of(const Access& access);
// Of all ranks together.
Runs runs_of(const Layout& layout, const Decomposition& decomposition);
int64_t requests_with_stripes(const Runs& runs, int64_t stripe_bytes);

// The access of `rank`, and that of all ranks together.
Access access_of(const Request& request, int rank);
Access access_together(const Request& request);

// Up to this number, windows, runs and pieces are counted one by one; beyond it the count is an estimate, and marked
// so.
constexpr int64_t kCountedMax = 20'000;

// The predicted counts of a method for the rank with `access`.
IoCounts count_direct(const Request& request, const Access& access, int64_t counted_max = kCountedMax);
IoCounts count_sieve(const Request& request, const Access& access, int64_t counted_max = kCountedMax);
IoCounts count_list(const Request& request, const Access& access, int64_t counted_max = kCountedMax);
IoCounts count_datatype(const Request& request, const Access& access, int64_t counted_max = kCountedMax);
IoCounts count_two_phase(const Request& request, const FileDomains& domains, bool staged, const Access& together,
                         int rank);

// The predicted counts of `method` (not kAuto) for all ranks: the sum of the above, without a visit to every rank.
TotalIoCounts count_total(const Request& request, Method method, const FileDomains& domains, bool staged,
                          const Access& together);

}  // namespace swath
