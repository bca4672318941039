// Computes each element's rank and memory address by a loop over all elements; tests compare with it.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "swath/swath.h"

namespace swath::c_interface {

struct NaiveDimension {
  swath_rule rule = {SWATH_WHOLE, 0};
  int grid = 1;
  swath_slice slice = {0, SWATH_END, 1};
  int64_t extent = 0;

  // The indices of the selected elements, in order.
  std::vector<int64_t> selected() const {
    std::vector<int64_t> found;
    for (int64_t i = slice.start; slice.step > 0 ? i < extent : i >= 0; i += slice.step) {
      if (slice.stop != SWATH_END && (slice.step > 0 ? i >= slice.stop : i <= slice.stop)) break;
      found.push_back(i);
    }
    return found;
  }
  int64_t block(int64_t count) const {
    if (rule.kind == SWATH_CYCLIC) return rule.block == 0 ? 1 : rule.block;
    if (rule.kind == SWATH_BLOCK && rule.block > 0) return rule.block;
    return count == 0 ? 1 : (count + grid - 1) / grid;
  }
  int place(int64_t position, int64_t count) const {
    if (rule.kind == SWATH_WHOLE) return 0;
    const int64_t number = position / block(count);
    return static_cast<int>(rule.kind == SWATH_CYCLIC ? number % grid : number);
  }
  int64_t local(int64_t position, int64_t count) const {
    if (rule.kind == SWATH_WHOLE) return position;
    const int64_t size = block(count);
    return rule.kind == SWATH_BLOCK ? position % size : position / (size * grid) * size + position % size;
  }
};

using NaiveShares = std::vector<NaiveDimension>;

// Calls take(rank, element of the array in C order, local index along each dimension) for each selected element.
template <typename Take>
void for_each_selected(const NaiveShares& dimensions, const Take& take) {
  std::vector<std::vector<int64_t>> chosen;
  for (const NaiveDimension& dimension : dimensions) {
    chosen.push_back(dimension.selected());
    if (chosen.back().empty()) return;
  }
  std::vector<size_t> at(dimensions.size());
  for (;;) {
    int rank = 0;
    int64_t element = 0;
    std::vector<int64_t> local(dimensions.size());
    for (size_t d = 0; d < dimensions.size(); ++d) {
      const auto position = static_cast<int64_t>(at[d]);
      const auto count = static_cast<int64_t>(chosen[d].size());
      rank = rank * dimensions[d].grid + dimensions[d].place(position, count);
      element = element * dimensions[d].extent + chosen[d][at[d]];
      local[d] = dimensions[d].local(position, count);
    }
    take(rank, element, local);
    size_t d = dimensions.size();
    while (d-- > 0) {
      if (++at[d] < chosen[d].size()) break;
      at[d] = 0;
    }
    if (d == ~size_t{0}) return;
  }
}

}  // namespace swath::c_interface
