#include "plan/choose.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/math.h"
#include "base/units.h"
#include "plan/io_counts.h"

namespace swath {
namespace {

constexpr int64_t kKiB = 1024;

// The candidate sizes of a sieving window: one that fits in a core's cache, one that suits a device.
std::vector<Tuning> sieve_sizes(const Request& request) {
  if (request.asked_tuning.sieve_bytes) return {request.tuning};
  std::vector<Tuning> sizes;
  for (const int64_t bytes : {512 * kKiB, request.tuning.sieve_bytes}) {
    sizes.push_back(request.tuning);
    sizes.back().sieve_bytes = bytes;
  }
  return sizes;
}

// For an object store: windows with equal parts of each object, or whole objects if windows are large enough, or if the
// memory of a node's windows allows it.
std::vector<int64_t> windows_by_stripes(const Request& request) {
  constexpr int64_t kRowMost = int64_t{16} << 20;
  constexpr int64_t kWindowsOfNodeMost = int64_t{256} << 20;
  constexpr int64_t kWindowsOfRank = 4;
  const StripeMap& stripes = *request.capabilities.stripes;
  const int64_t row = stripes.stripe_bytes * stripes.servers;
  const int64_t set = stripes.object_bytes * stripes.servers;
  const int64_t ranks = request.ranks_of_node > 0 ? request.ranks_of_node : request.decomposition.ranks();
  std::vector<int64_t> sizes;
  for (const int64_t bytes : {request.tuning.window_bytes, 2048 * kKiB}) {
    if (set <= bytes) {
      sizes.push_back(bytes / set * set);
    } else if (row <= kRowMost) {
      sizes.push_back(ceil_div(bytes, row) * row);
    } else {
      sizes.push_back(std::max(bytes / stripes.stripe_bytes, int64_t{1}) * std::min(bytes, stripes.stripe_bytes));
    }
  }
  if (set > sizes.back() && set <= kWindowsOfNodeMost / (kWindowsOfRank * ranks)) sizes.push_back(set);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

// The methods for a window with holes in an object store. Lists and descriptions need no lock and no read-modify-write.
std::vector<Method> inner_methods(const Request& request, const Access& together, bool has_holes) {
  if (request.asked_tuning.inner) return {request.tuning.inner};
  const bool reading = request.direction == Direction::kRead;
  if (!has_holes || (reading && together.may_overlap())) return {Method::kSieve};
  std::vector<Method> methods{Method::kList};
  if (request.capabilities.structured_requests) methods.push_back(Method::kDatatype);
  if (reading) methods.push_back(Method::kSieve);
  return methods;
}

// Sizes of a window of two-phase; the first one is preferred if costs are equal.
std::vector<int64_t> window_sizes(const Request& request) {
  const int64_t usual = request.tuning.window_bytes;
  if (request.asked_tuning.window_bytes) return {usual};
  if (request.capabilities.is_of_objects()) return windows_by_stripes(request);
  // Another thread reads an uncached window, and this one waits for it: small windows are not worth that.
  if (request.cached_or_none() >= 0.5 || request.direction == Direction::kWrite) {
    return {usual, 128 * kKiB, 2048 * kKiB};
  }
  return {usual, 2048 * kKiB};
}

// Two-phase: windows, aggregators, and the transfer of a window with holes: read it as a whole, list its runs, or
// describe them (ncio-2006, section 7: "two phase I/O to internally use the individual I/O methods").
std::vector<Tuning> two_phase_sizes(const Request& request, const Access& together, bool has_holes) {
  std::vector<Tuning> sizes{request.tuning};
  const auto vary = [&](const auto& values, const auto& set) {
    std::vector<Tuning> varied;
    for (const Tuning& tuning : sizes) {
      for (const auto& value : values) {
        varied.push_back(tuning);
        set(varied.back(), value);
      }
    }
    sizes = std::move(varied);
  };
  vary(window_sizes(request), [](Tuning& t, int64_t bytes) { t.window_bytes = bytes; });
  if (request.decomposition.ranks() > 1 && !request.asked_tuning.aggregators) {
    vary(std::array{request.tuning.aggregators, 1}, [](Tuning& t, int count) { t.aggregators = count; });
  }
  if (request.capabilities.is_of_objects()) {
    vary(inner_methods(request, together, has_holes), [](Tuning& t, Method inner) { t.inner = inner; });
  } else if (!request.asked_tuning.runs_bytes_min && has_holes) {
    vary(std::array{request.tuning.runs_bytes_min, int64_t{1}}, [](Tuning& t, int64_t b) { t.runs_bytes_min = b; });
  }
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
    if (method == Method::kTwoPhase) sizes = two_phase_sizes(request, together, has_holes);
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
