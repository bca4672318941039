#include "plan/file_domains.h"

#include <algorithm>

#include "base/math.h"

namespace swath {
namespace {

// Where stripes are known, no two aggregators write the same unit, nor the same object where domains are so long that
// they are alike all the same.
int64_t alignment_by_stripes(const StripeMap& stripes, int64_t alignment, int64_t domain_bytes) {
  constexpr int64_t kAlikeFrom = 4;
  const int64_t row = stripes.stripe_bytes * stripes.servers;
  const int64_t set = stripes.object_bytes * stripes.servers;
  int64_t unit = stripes.stripe_bytes;
  if (domain_bytes >= kAlikeFrom * row) unit = row;
  if (set > 0 && domain_bytes >= kAlikeFrom * set) unit = set;
  return std::max(alignment / unit, int64_t{1}) * unit;
}

}  // namespace

FileDomains::FileDomains(const Access& together, int ranks, const Tuning& tuning) : ranks_(ranks) {
  if (together.empty()) return;
  element_bytes_ = together.element_bytes();
  const int64_t elements = together.bytes() / element_bytes_;
  const int64_t by_size = std::max<int64_t>(together.bytes() / tuning.domain_bytes_min, 1);
  const int64_t wanted = tuning.aggregators > 0 ? std::min(tuning.aggregators, ranks) : ranks;
  first_ = *together.next_start(0);
  last_ = *together.last_end(INT64_MAX);
  count_ = std::min({wanted, by_size, elements});
  if (tuning.stripes) count_ = std::min(count_, std::max<int64_t>((last_ - first_) / tuning.stripes->stripe_bytes, 1));
  // Windows end at multiples of their size; domains that are many windows long start there too.
  alignment_ = together.bytes() / count_ >= 4 * tuning.window_bytes ? tuning.window_bytes : 4096;
  if (tuning.stripes) alignment_ = alignment_by_stripes(*tuning.stripes, alignment_, (last_ - first_) / count_);
  const Regions* regions = together.only_regions();
  if (regions == nullptr) return;
  elements_ = elements / count_;
  if (count_ > 1 && together.bytes() < last_ - first_) regions_ = *regions;
}

int64_t FileDomains::end_of(int64_t i) const {
  if (i + 1 == count_) return last_;
  int64_t ideal = 0;
  if (elements_ == 0) {
    ideal = first_ + (last_ - first_) / count_ * (i + 1);
  } else if (regions_) {
    ideal = regions_->offset_of(elements_ * (i + 1));
  } else {
    ideal = first_ + elements_ * (i + 1) * element_bytes_;
  }
  return std::max(first_, ideal / alignment_ * alignment_);
}

FileDomain FileDomains::operator[](size_t i) const {
  const auto place = static_cast<int64_t>(i);
  return {rank_of(i), place == 0 ? first_ : end_of(place - 1), end_of(place)};
}

int FileDomains::index_of(int rank) const {
  if (rank < 0 || rank >= ranks_ || count_ == 0) return -1;
  const int64_t place = ceil_div(rank * count_, ranks_);
  return place < count_ && rank_of(static_cast<size_t>(place)) == rank ? static_cast<int>(place) : -1;
}

size_t FileDomains::index_at(int64_t offset) const {
  int64_t low = 0;  // ends do not descend
  int64_t high = count_ - 1;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (end_of(middle) > offset) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return static_cast<size_t>(low);
}

namespace {

// Where there are no holes, the windows of a domain are the parts of it between multiples of their size.
bool are_windows_regular(const Access& together, int64_t window_bytes) {
  if (together.empty() || together.may_overlap() || together.element_bytes() > window_bytes) return false;
  return together.bytes() == *together.last_end(INT64_MAX) - *together.next_start(0);
}

int64_t windows_of(const Access& together, const FileDomain& domain, int64_t window_bytes, bool are_regular) {
  const auto first = together.next_start(domain.begin);
  if (!first || *first >= domain.end) return 0;
  if (are_regular) {
    return (*together.last_end(domain.end) - together.element_bytes()) / window_bytes - *first / window_bytes + 1;
  }
  int64_t windows = 0;
  for (int64_t cursor = domain.begin; const auto window = together.next_window(cursor, domain.end, window_bytes);) {
    cursor = window->limit;
    ++windows;
  }
  return windows;
}

}  // namespace

int64_t rounds_of(const Access& together, const FileDomains& domains, int64_t window_bytes) {
  const bool are_regular = are_windows_regular(together, window_bytes);
  int64_t rounds = 0;
  for (size_t i = 0; i < domains.size(); ++i) {
    rounds = std::max(rounds, windows_of(together, domains[i], window_bytes, are_regular));
  }
  return rounds;
}

WindowRounds::WindowRounds(const Access& together, const FileDomains& domains, int64_t window_bytes, const Access& mine,
                           int own_domain, int64_t rounds)
    : together_(together),
      domains_(domains),
      mine_(mine),
      window_bytes_(window_bytes),
      rounds_(rounds),
      are_regular_(are_windows_regular(together, window_bytes)) {
  if (own_domain >= 0) own_left_ = domains[static_cast<size_t>(own_domain)];
  for (auto start = mine.next_start(0); start;) {
    const size_t domain = domains.index_at(*start);
    add_next(domain, 0, domains[domain].begin);
    start = mine.next_start(domains[domain].end);
  }
}

// From `cursor` on, where window `round` of the domain begins.
void WindowRounds::add_next(size_t domain, int64_t round, int64_t cursor) {
  const FileDomain of = domains_[domain];
  const auto start = mine_.next_start(cursor);
  if (!start || *start >= of.end) return;
  if (are_regular_) {
    const int64_t first = *together_.next_start(cursor);
    round += *start / window_bytes_ - first / window_bytes_;
    cursor = std::max(cursor, *start / window_bytes_ * window_bytes_);
  }
  for (;; ++round) {
    const auto window = together_.next_window(cursor, of.end, window_bytes_);
    if (!window) return;
    if (window->limit > *start) return pending_.push({round, domain, *window});
    cursor = window->limit;
  }
}

bool WindowRounds::next(RoundWindows& windows) {
  windows.own.reset();
  windows.shared.clear();
  if (round_ == rounds_) return false;
  if (own_left_.begin < own_left_.end) {
    windows.own = together_.next_window(own_left_.begin, own_left_.end, window_bytes_);
    own_left_.begin = windows.own ? windows.own->limit : own_left_.end;
  }
  while (!pending_.empty() && pending_.top().round == round_) {
    const Pending now = pending_.top();
    pending_.pop();
    windows.shared.push_back({now.domain, now.window});
    add_next(now.domain, round_ + 1, now.window.limit);
  }
  ++round_;
  return true;
}

WindowTransfer window_transfer(const Access& together, const Window& window, Direction direction,
                               const Tuning& tuning) {
  const bool reading = direction == Direction::kRead;
  if ((reading && together.may_overlap()) || together.fills(window)) return WindowTransfer::kWhole;
  Method inner = tuning.inner;
  if (inner == Method::kAuto) {
    const int64_t bytes = together.bytes_in(window.begin, window.limit);
    const int64_t runs = together.runs_in(window.begin, window.limit);
    inner = bytes / runs >= tuning.runs_bytes_min ? Method::kList : Method::kSieve;
  }
  if (inner == Method::kDatatype) return WindowTransfer::kDescribed;
  if (inner == Method::kList) return WindowTransfer::kRuns;
  return reading ? WindowTransfer::kWhole : WindowTransfer::kSieve;
}

int64_t window_capacity(const Access& access, int64_t window_bytes) {
  constexpr int64_t kPageBytes = 4096;
  if (access.empty()) return 0;
  const int64_t span = *access.last_end(INT64_MAX) - *access.next_start(0);
  return ceil_div(std::min(window_bytes + access.element_bytes() - 1, span), kPageBytes) * kPageBytes;
}

}  // namespace swath
