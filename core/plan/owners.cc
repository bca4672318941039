#include "plan/owners.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "base/math.h"

namespace swath {
namespace {

// Indices or positions [begin, end) of one dimension.
struct IndexRange {
  int64_t begin;
  int64_t end;
};

// A box of the panel that holds all elements which start in [begin, end) of the file. The dimensions before the first
// in which the two ends differ have one index; those after it have all.
//
// Example: 4 x 6 x 2 in C order: elements 15 to 19 are (1, 1, 1) to (1, 3, 1), so the box is 1 x [1, 4) x [0, 2).
std::vector<IndexRange> box_of(const Panel& panel, int64_t begin, int64_t end) {
  std::vector<IndexRange> box;
  for (size_t d = 0; d < panel.begin.size(); ++d) box.push_back({panel.begin[d], panel.end[d]});
  std::vector<size_t> slowest_first(box.size());
  std::iota(slowest_first.begin(), slowest_first.end(), size_t{0});
  std::stable_sort(slowest_first.begin(), slowest_first.end(),
                   [&](size_t a, size_t b) { return panel.strides[a] > panel.strides[b]; });
  int64_t from = std::max<int64_t>(begin - panel.offset, 0);
  int64_t to = std::max<int64_t>(end - 1 - panel.offset, 0);
  for (const size_t d : slowest_first) {
    const int64_t extent = panel.end[d] - panel.begin[d];
    if (extent <= 1) continue;
    const int64_t first = std::min(from / panel.strides[d], extent - 1);
    const int64_t last = std::min(to / panel.strides[d], extent - 1);
    box[d] = {panel.begin[d] + first, panel.begin[d] + last + 1};
    if (first != last) break;
    from -= first * panel.strides[d];
    to -= last * panel.strides[d];
  }
  return box;
}

// The positions of a selection whose indices lie in the range.
IndexRange positions_in(const DimensionSelection& selected, const IndexRange& indices) {
  const auto& [start, step, count, dropped] = selected;
  const int64_t low = step > 0 ? indices.begin - start : start - (indices.end - 1);
  const int64_t high = step > 0 ? indices.end - 1 - start : start - indices.begin;
  if (high < 0) return {0, 0};
  return {ceil_div(std::max<int64_t>(low, 0), std::abs(step)), std::min(high / std::abs(step) + 1, count)};
}

// The coordinates along one dimension of the grid that own one of the positions.
std::vector<int64_t> coordinates_of(const DimensionRule& rule, int64_t count, int64_t extent,
                                    const IndexRange& positions) {
  if (positions.begin >= positions.end) return {};
  if (rule.kind == DimensionRule::Kind::kWhole) return {0};
  const int64_t block = rule.size > 0 ? rule.size : ceil_div(count, extent);
  const int64_t first = positions.begin / block;
  const int64_t blocks = (positions.end - 1) / block - first + 1;
  std::vector<int64_t> found;
  for (int64_t i = 0; i < std::min(blocks, extent); ++i) found.push_back((first + i) % extent);
  return found;
}

}  // namespace

std::vector<int> owners_in(const Layout& layout, const Decomposition& decomposition, int64_t begin, int64_t end) {
  const Distribution* const distribution = decomposition.distribution();
  if (distribution == nullptr || decomposition.only_rank() || layout.is_chunked()) {
    std::vector<int> all(static_cast<size_t>(decomposition.ranks()));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  const std::vector<IndexRange> box = box_of(layout.panel(0), begin, end);
  std::vector<int64_t> found{0};  // positions in the grid, in C order of the dimensions so far
  size_t divided = 0;             // a dimension of the selected array
  for (size_t d = 0; d < box.size(); ++d) {
    const DimensionSelection& selected = decomposition.selection()[d];
    if (selected.dropped) continue;
    const int64_t extent = distribution->grid()[divided];
    const auto here =
        coordinates_of(distribution->rules()[divided], selected.count, extent, positions_in(selected, box[d]));
    std::vector<int64_t> further;
    for (const int64_t coordinate : found) {
      for (const int64_t one : here) further.push_back(coordinate * extent + one);
    }
    found.swap(further);
    ++divided;
  }
  const std::vector<int>& ranks = distribution->ranks();
  std::vector<int> owners;
  for (const int64_t coordinate : found) {
    owners.push_back(ranks.empty() ? static_cast<int>(coordinate) : ranks[static_cast<size_t>(coordinate)]);
  }
  std::sort(owners.begin(), owners.end());
  return owners;
}

}  // namespace swath
