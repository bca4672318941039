#include "plan/chunk_sharing.h"

#include <algorithm>

#include "base/math.h"
#include "layout/layout.h"

namespace swath {
namespace {

// Of a rank in a round: so much that a meeting takes little of the time, and so little that it stays in the cache.
constexpr int64_t kRoundBytes = int64_t{4} << 20;

// A part as the chunks that it touches: a product of runs, one list a dimension.
struct Touched {
  int rank;
  std::vector<std::vector<ChunkRun>> runs;
  std::vector<int64_t> chunks_from;  // of the dimensions from this one on
};

Touched touched_by(const ChunkGrid& grid, const Part& part, int rank) {
  const size_t dimensions = grid.shape.size();
  Touched touched{rank, {}, std::vector<int64_t>(dimensions + 1, 1)};
  for (size_t d = 0; d < dimensions; ++d) {
    touched.runs.push_back(chunk_runs(part.indices[d], grid.shape[d], grid.chunk_shape[d]));
  }
  for (size_t d = dimensions; d-- > 0;) {
    int64_t chunks = 0;
    for (const ChunkRun& run : touched.runs[d]) chunks += run.end - run.begin;
    touched.chunks_from[d] = touched.chunks_from[d + 1] * chunks;
  }
  return touched;
}

class Visit {
 public:
  Visit(const ChunkGrid& grid, Shares shares, const ChunkVisitor& visitor) : visitor_(visitor) {
    for (size_t d = 0; d < grid.shape.size(); ++d) chunks_.push_back(ceil_div(grid.shape[d], grid.chunk_shape[d]));
    for (size_t rank = 0; rank < shares.size(); ++rank) {
      for (const Part& part : shares[rank]) {
        if (part.holds && part.count() > 0) parts_.push_back(touched_by(grid, part, static_cast<int>(rank)));
      }
    }
  }

  bool run() {
    std::vector<int> all(parts_.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
    if (all.empty()) return true;
    return chunks_.empty() ? visit_interval(0, 0, {0, 1}, all) : visit_dimension(0, 0, all);
  }

 private:
  struct End {
    int64_t at;
    int part;
    bool begins;
  };

  const Touched& part(int index) const { return parts_[static_cast<size_t>(index)]; }

  // `outer`: the position in the grid of the dimensions before this one; `parts`: those that have chunks there.
  bool visit_dimension(size_t d, int64_t outer, const std::vector<int>& parts) {
    std::vector<End> ends;
    for (const int index : parts) {
      for (const ChunkRun& run : part(index).runs[d]) {
        ends.push_back({run.begin, index, true});
        ends.push_back({run.end, index, false});
      }
    }
    std::sort(ends.begin(), ends.end(), [](const End& a, const End& b) { return a.at < b.at; });
    std::vector<int> active;  // ascending, and so by rank
    for (size_t i = 0; i < ends.size();) {
      const int64_t begin = ends[i].at;
      for (; i < ends.size() && ends[i].at == begin; ++i) {
        const auto place = std::lower_bound(active.begin(), active.end(), ends[i].part);
        // A run that ends where the next one of its part begins does not exist: runs are as long as can be.
        ends[i].begins ? active.insert(place, ends[i].part) : active.erase(place);
      }
      if (!active.empty() && !visit_interval(d, outer, {begin, ends[i].at}, active)) return false;
    }
    return true;
  }

  // Chunks of one dimension in which the same parts have chunks.
  bool visit_interval(size_t d, int64_t outer, const ChunkRun& run, const std::vector<int>& active) {
    const size_t next = std::min(d + 1, chunks_.size());
    const bool is_last = next == chunks_.size();
    const int first_rank = part(active.front()).rank;
    const bool is_of_one_rank = part(active.back()).rank == first_rank;
    if (active.size() == 1 || (is_last && is_of_one_rank)) {
      if (visitor_.alone) visitor_.alone(first_rank, (run.end - run.begin) * part(active.front()).chunks_from[next]);
      return true;
    }
    const int64_t before = outer * (chunks_.empty() ? 1 : chunks_[d]);
    if (is_last) return visit_chunks_of(before, run, active);
    for (int64_t chunk = run.begin; chunk < run.end; ++chunk) {
      if (!visit_dimension(next, before + chunk, active)) return false;
    }
    return true;
  }

  bool visit_chunks_of(int64_t before, const ChunkRun& run, const std::vector<int>& active) {
    if (!visitor_.shared) return true;
    std::vector<int> ranks;
    for (const int index : active) {
      if (ranks.empty() || ranks.back() != part(index).rank) ranks.push_back(part(index).rank);
    }
    for (int64_t chunk = run.begin; chunk < run.end; ++chunk) {
      if (!visitor_.shared(before + chunk, ranks)) return false;
    }
    return true;
  }

  const ChunkVisitor& visitor_;
  std::vector<int64_t> chunks_;  // of each dimension
  std::vector<Touched> parts_;
};

}  // namespace

int64_t ChunkGrid::unit_of(int64_t chunk) const {
  if (unit_shape == chunk_shape) return chunk;
  const Panel panel = chunk_at(shape, chunk_shape, chunk);
  int64_t unit = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    unit = unit * ceil_div(shape[d], unit_shape[d]) + panel.begin[d] / unit_shape[d];
  }
  return unit;
}

bool visit_chunks(const ChunkGrid& grid, Shares shares, const ChunkVisitor& visitor) {
  return Visit(grid, shares, visitor).run();
}

ChunkSharing::ChunkSharing(const ChunkGrid& grid, Shares shares) : decoded_by_(shares.size()) {
  std::vector<int64_t> chunks(shares.size(), 0);  // that each rank decodes
  const auto count = [&](int rank, int64_t more) { chunks[static_cast<size_t>(rank)] += more; };
  visit_chunks(grid, shares, {.shared = nullptr, .alone = count});
  const auto give = [&](int64_t chunk, std::span<const int> ranks) {
    if (!grid.is_coded(chunk)) return true;
    const int decoder = *std::min_element(ranks.begin(), ranks.end(), [&](int a, int b) {
      return chunks[static_cast<size_t>(a)] < chunks[static_cast<size_t>(b)];
    });
    ++chunks[static_cast<size_t>(decoder)];
    decoded_by_[static_cast<size_t>(decoder)].push_back(chunk);
    return true;
  };
  visit_chunks(grid, shares, {.shared = give, .alone = nullptr});
  for (auto& list : decoded_by_) {
    longest_ = std::max(longest_, std::ssize(list));
    if (grid.unit_shape == grid.chunk_shape) continue;
    std::stable_sort(list.begin(), list.end(), [&](int64_t a, int64_t b) { return grid.unit_of(a) < grid.unit_of(b); });
  }
}

ChunkWindows ChunkWindows::of(const ChunkNeeds& needs, int64_t chunk_bytes, int64_t room_bytes) {
  if (needs.longest_list == 0) return {};
  const int64_t place_bytes = ceil_div(chunk_bytes, kLineBytes) * kLineBytes;
  const int64_t enough = std::max(needs.threads, kRoundBytes / place_bytes);
  return for_chunks(needs, place_bytes, std::clamp<int64_t>(room_bytes / (kWindowsMax * place_bytes), 1, enough));
}

ChunkWindows ChunkWindows::smaller(const ChunkNeeds& needs) const { return for_chunks(needs, place_bytes, chunks / 2); }

// In as many rounds as that takes, each about as long as the others.
ChunkWindows ChunkWindows::for_chunks(const ChunkNeeds& needs, int64_t place_bytes, int64_t chunks_max) {
  const int64_t rounds = ceil_div(needs.longest_list, chunks_max);
  return {ceil_div(needs.longest_list, rounds), std::min(rounds, kWindowsMax), place_bytes};
}

}  // namespace swath
