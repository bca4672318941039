#include "plan/choose.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "plan/io_counts.h"

namespace swath {
namespace {

constexpr int64_t kKiB = 1024;

// The sizes of a sieving window that are priced: one that stays in a core's cache, one that a device likes.
std::vector<Tuning> sieve_sizes(const Request& request) {
  if (request.asked_tuning.sieve_bytes) return {request.tuning};
  std::vector<Tuning> sizes;
  for (const int64_t bytes : {512 * kKiB, request.tuning.sieve_bytes}) {
    sizes.push_back(request.tuning);
    sizes.back().sieve_bytes = bytes;
  }
  return sizes;
}

// Two-phase: windows, aggregators, and what an aggregator does in a window with holes: read it through, or list its
// runs (ncio-2006, section 7: "two phase I/O to internally use the individual I/O methods").
std::vector<Tuning> two_phase_sizes(const Request& request, bool has_holes) {
  std::vector<Tuning> sizes{request.tuning};
  const auto vary = [&](bool asked, const auto& variants) {
    if (asked) return;
    std::vector<Tuning> varied;
    for (const Tuning& tuning : sizes) {
      for (const auto& variant : variants) {
        varied.push_back(tuning);
        variant(varied.back());
      }
    }
    sizes = std::move(varied);
  };
  using Variant = void (*)(Tuning&);
  std::vector<Variant> windows{[](Tuning&) {}};
  // A cold window is read by another thread, and waited for: a small one is not worth being handed over.
  if (request.cached_or_none() >= 0.5 || request.direction == Direction::kWrite) {
    windows.push_back([](Tuning& t) { t.window_bytes = 128 * kKiB; });
  }
  windows.push_back([](Tuning& t) { t.window_bytes = 2048 * kKiB; });
  vary(request.asked_tuning.window_bytes, windows);
  if (request.decomposition.ranks() > 1) {
    vary(request.asked_tuning.aggregators, std::vector<Variant>{[](Tuning&) {}, [](Tuning& t) { t.aggregators = 1; }});
  }
  vary(request.asked_tuning.runs_bytes_min || !has_holes,
       std::vector<Variant>{[](Tuning&) {}, [](Tuning& t) { t.runs_bytes_min = 1; }});
  return sizes;
}

Option best_of(const Request& request, Method method, std::vector<Tuning> sizes, const Access& together,
               const Access& busiest, bool staged) {
  Request varied = request;
  Option best{method, request.tuning, {}};
  for (size_t i = 0; i < sizes.size(); ++i) {
    varied.tuning = sizes[i];
    const CostEstimate price = estimate_cost(varied, method, work_of(varied, method, together, busiest, staged));
    if (i == 0 || price.until_synced() < best.price.until_synced()) best = {method, sizes[i], price};
  }
  return best;
}

std::string times(double ratio) {
  const auto tenths = std::lround(ratio * 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " x";
}

}  // namespace

std::vector<Option> priced_options(const Request& request, bool staged, Method only) {
  const Access together = access_together(request);
  const Access busiest = access_of(request, request.decomposition.busiest_rank());
  const bool has_holes =
      !together.empty() && *together.last_end(INT64_MAX) - *together.next_start(0) > together.bytes();
  std::vector<Option> options;
  for (const Method method : {Method::kDirect, Method::kSieve, Method::kList, Method::kDatatype, Method::kTwoPhase}) {
    if (method == Method::kDatatype && !request.capabilities.structured_requests) continue;
    if (only != Method::kAuto && only != method) continue;
    std::vector<Tuning> sizes{request.tuning};
    if (method == Method::kSieve) sizes = sieve_sizes(request);
    if (method == Method::kTwoPhase) sizes = two_phase_sizes(request, has_holes);
    options.push_back(best_of(request, method, sizes, together, busiest, staged));
  }
  return options;
}

const Option& cheapest(const std::vector<Option>& options) {
  if (options.empty()) throw Error(ErrorKind::kInternal, "no method was priced");
  return *std::min_element(options.begin(), options.end(), [](const Option& a, const Option& b) {
    return a.price.until_synced() < b.price.until_synced();
  });
}

std::string why_chosen(const std::vector<Option>& options) {
  const Option& best = cheapest(options);
  const auto predicted = [](const CostEstimate& price) {
    return in_seconds(price.seconds()) + (price.sync > 0 ? " and " + in_seconds(price.sync) + " of a sync" : "");
  };
  std::string text = "predicted " + predicted(best.price);
  const Option* next = nullptr;
  for (const Option& option : options) {
    if (&option == &best) continue;
    if (next == nullptr || option.price.until_synced() < next->price.until_synced()) next = &option;
  }
  if (next != nullptr) {
    text += "; next " + to_string(next->method) + ", " + predicted(next->price) + " (" +
            times(next->price.until_synced() / best.price.until_synced()) + ")";
  }
  return text;
}

}  // namespace swath
