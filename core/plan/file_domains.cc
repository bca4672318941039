#include "plan/file_domains.h"

#include <algorithm>

#include "base/math.h"

namespace swath {

std::vector<FileDomain> file_domains(const Access& together, int ranks, const Tuning& tuning) {
  if (together.empty()) return {};
  const int64_t elements = together.bytes() / together.layout().element_bytes();
  const int64_t by_size = std::max<int64_t>(together.bytes() / tuning.domain_bytes_min, 1);
  const int64_t wanted = tuning.aggregators > 0 ? std::min(tuning.aggregators, ranks) : ranks;
  const int64_t count = std::min({wanted, by_size, elements});
  const int64_t first = *together.next_start(0);
  const int64_t last = *together.last_end(INT64_MAX);
  // Windows end at multiples of their size; domains that are many windows long start there too.
  const int64_t alignment = together.bytes() / count >= 4 * tuning.window_bytes ? tuning.window_bytes : 4096;
  std::vector<FileDomain> domains;
  int64_t begin = first;
  for (int64_t i = 0; i < count; ++i) {
    int64_t end = last;
    if (i + 1 < count) {
      const int64_t k = elements / count * (i + 1);
      const auto ideal = together.offset_of_element(k);
      end = ideal ? *ideal : first + (last - first) / count * (i + 1);
      end = std::max(begin, end / alignment * alignment);
    }
    // Aggregators are spread over the ranks, and so over the nodes.
    domains.push_back({static_cast<int>(i * ranks / count), begin, end});
    begin = end;
  }
  return domains;
}

WindowRounds::WindowRounds(const Access& together, const std::vector<FileDomain>& domains, int64_t window_bytes)
    : together_(together), domains_(domains), window_bytes_(window_bytes) {
  for (const auto& domain : domains_) cursors_.push_back(domain.begin);
}

bool WindowRounds::next(std::vector<std::optional<Window>>& windows) {
  windows.assign(domains_.size(), std::nullopt);
  bool any = false;
  for (size_t i = 0; i < domains_.size(); ++i) {
    if (cursors_[i] >= domains_[i].end) continue;
    windows[i] = together_.next_window(cursors_[i], domains_[i].end, window_bytes_);
    cursors_[i] = windows[i] ? windows[i]->limit : domains_[i].end;
    any = any || windows[i].has_value();
  }
  return any;
}

WindowWrite window_write(const Access& together, const Window& window, const Tuning& tuning) {
  const int64_t bytes = together.bytes_in(window.begin, window.limit);
  if (bytes == window.bytes()) return WindowWrite::kWhole;
  const int64_t runs = together.runs_in(window.begin, window.limit);
  return bytes / runs >= tuning.runs_bytes_min ? WindowWrite::kRuns : WindowWrite::kSieve;
}

int64_t window_capacity(const Access& access, int64_t window_bytes) {
  constexpr int64_t kPageBytes = 4096;
  if (access.empty()) return 0;
  const int64_t span = *access.last_end(INT64_MAX) - *access.next_start(0);
  return ceil_div(std::min(window_bytes + access.layout().element_bytes() - 1, span), kPageBytes) * kPageBytes;
}

}  // namespace swath
