#include "plan/file_domains.h"

#include <algorithm>

#include "base/math.h"

namespace swath {

FileDomains::FileDomains(const Access& together, int ranks, const Tuning& tuning) : ranks_(ranks) {
  if (together.empty()) return;
  element_bytes_ = together.element_bytes();
  const int64_t elements = together.bytes() / element_bytes_;
  const int64_t by_size = std::max<int64_t>(together.bytes() / tuning.domain_bytes_min, 1);
  const int64_t wanted = tuning.aggregators > 0 ? std::min(tuning.aggregators, ranks) : ranks;
  count_ = std::min({wanted, by_size, elements});
  first_ = *together.next_start(0);
  last_ = *together.last_end(INT64_MAX);
  // Windows end at multiples of their size; domains that are many windows long start there too.
  alignment_ = together.bytes() / count_ >= 4 * tuning.window_bytes ? tuning.window_bytes : 4096;
  // Where stripes are known, no two aggregators write the same one.
  if (tuning.stripe_bytes > 0 && together.bytes() / count_ >= tuning.stripe_bytes) {
    alignment_ = std::max(alignment_ / tuning.stripe_bytes, int64_t{1}) * tuning.stripe_bytes;
  }
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

int FileDomains::place_of(int rank) const {
  if (rank < 0 || rank >= ranks_ || count_ == 0) return -1;
  const int64_t place = ceil_div(rank * count_, ranks_);
  return place < count_ && rank_of(static_cast<size_t>(place)) == rank ? static_cast<int>(place) : -1;
}

WindowRounds::WindowRounds(const Access& together, const FileDomains& domains, int64_t window_bytes)
    : together_(together), window_bytes_(window_bytes) {
  for (size_t i = 0; i < domains.size(); ++i) left_.push_back(domains[i]);
}

bool WindowRounds::next(std::vector<std::optional<Window>>& windows) {
  windows.assign(left_.size(), std::nullopt);
  bool any = false;
  for (size_t i = 0; i < left_.size(); ++i) {
    FileDomain& left = left_[i];
    if (left.begin >= left.end) continue;
    windows[i] = together_.next_window(left.begin, left.end, window_bytes_);
    left.begin = windows[i] ? windows[i]->limit : left.end;
    any = any || windows[i].has_value();
  }
  return any;
}

WindowTransfer window_transfer(const Access& together, const Window& window, const Tuning& tuning) {
  if (together.fills(window)) return WindowTransfer::kWhole;
  const int64_t bytes = together.bytes_in(window.begin, window.limit);
  const int64_t runs = together.runs_in(window.begin, window.limit);
  return bytes / runs >= tuning.runs_bytes_min ? WindowTransfer::kRuns : WindowTransfer::kSieve;
}

bool is_read_by_runs(const Access& together, const Window& window, const Tuning& tuning) {
  return !together.may_overlap() && window_transfer(together, window, tuning) == WindowTransfer::kRuns;
}

int64_t window_capacity(const Access& access, int64_t window_bytes) {
  constexpr int64_t kPageBytes = 4096;
  if (access.empty()) return 0;
  const int64_t span = *access.last_end(INT64_MAX) - *access.next_start(0);
  return ceil_div(std::min(window_bytes + access.element_bytes() - 1, span), kPageBytes) * kPageBytes;
}

}  // namespace swath
