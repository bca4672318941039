#include "plan/rank_share.h"

#include <algorithm>

#include "base/math.h"

namespace swath {

RankShare share_of(const Request& request, const Access& access) {
  RankShare share;
  if (access.empty()) return share;
  share.bytes = as_double(access.bytes());
  share.runs = as_double(std::max<int64_t>(access.runs(), 1));
  const int64_t begin = *access.next_start(0);
  share.span = as_double(*access.last_end(INT64_MAX) - begin);
  const int64_t page = static_cast<int64_t>(kPageBytes);
  share.page_aligned = begin % page == 0 && access.bytes() / access.runs() % page == 0;
  share.run_bytes = share.bytes / share.runs;
  share.memory_block = as_double(request.memory_block_bytes);
  share.memory_span = std::max(share.bytes, as_double(request.memory_span_bytes));
  if (request.memory_block_bytes == 0) {
    share.memory_block = share.bytes;
    access.visit_all([&](const Slice& slice) {
      share.memory_block = std::min(share.memory_block, as_double(slice.regions.memory_block_bytes()));
    });
  }
  return share;
}

double partial_pages(const RankShare& share) {
  if (share.page_aligned) return 0;
  if (share.run_bytes >= 2 * kPageBytes) return 2 * share.runs;  // the first and the last of each run
  return std::min(2 * share.runs, share.span / kPageBytes + 1);
}

double dirty_bytes(const RankShare& share, double ranks, double span_together) {
  const double around = share.page_aligned ? 0 : kPageBytes;
  return std::min(ranks * share.runs * (share.run_bytes + around), span_together);
}

double partial_lines(const RankShare& share) {
  const double blocks = share.bytes / share.memory_block;
  if (blocks <= 1) return 0;
  const double distance = share.memory_span / blocks;
  const double touched = std::min(distance, share.memory_block + kLineBytes - 8);  // elements lie at multiples of 8
  return std::max(0.0, blocks * (touched - share.memory_block) / kLineBytes);
}

double MappedUse::partial_pages() const { return std::max(0.0, pages - bytes / kPageBytes); }

MappedUse mapped_use(double window_bytes, double useful_bytes, double runs) {
  constexpr double kPagesMappedTogether = 16;
  return {.bytes = std::min(window_bytes, useful_bytes + runs * (kLineBytes - 8)),
          .pages = std::min(window_bytes / kPageBytes, runs * kPagesMappedTogether)};
}

}  // namespace swath
