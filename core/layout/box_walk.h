// A range of linear positions as boxes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace swath {

// The implementation of for_each_box.
template <typename Visit>
class BoxWalk {
 public:
  BoxWalk(const std::vector<int64_t>& counts, const Visit& visit)
      : counts_(counts), visit_(visit), low_(counts.size()), high_(counts.size()) {}

  void walk(int64_t first, int64_t last) {
    int64_t total = 1;
    for (const int64_t count : counts_) total *= count;
    descend(0, total, first, last);
  }

 private:
  void descend(size_t d, int64_t total, int64_t first, int64_t last) {
    if (first >= last) return;
    if (d == counts_.size() || (first == 0 && last == total)) {
      for (size_t e = d; e < counts_.size(); ++e) {
        low_[e] = 0;
        high_[e] = counts_[e];
      }
      visit_(low_, high_);
      return;
    }
    const int64_t inner = total / counts_[d];
    const int64_t first_whole = (first + inner - 1) / inner;
    const int64_t last_whole = last / inner;
    if (first_whole > last_whole) {  // all within one index
      descend_at(d, last_whole, inner, first - last_whole * inner, last - last_whole * inner);
      return;
    }
    if (first < first_whole * inner) descend_at(d, first_whole - 1, inner, first - (first_whole - 1) * inner, inner);
    if (first_whole < last_whole) {
      low_[d] = first_whole;
      high_[d] = last_whole;
      descend(d + 1, inner, 0, inner);
    }
    descend_at(d, last_whole, inner, 0, last - last_whole * inner);
  }

  void descend_at(size_t d, int64_t index, int64_t inner, int64_t first, int64_t last) {
    low_[d] = index;
    high_[d] = index + 1;
    descend(d + 1, inner, first, last);
  }

  const std::vector<int64_t>& counts_;
  const Visit& visit_;
  std::vector<int64_t> low_, high_;
};

// Calls visit(low, high) for boxes of positions (one [low, high) a dimension) that together are [first, last), in the
// order of positions, which are C-ordered: `counts` says how many there are in each dimension.
//
// In mixed radix, [first, last) is: the rest of first's row, whole rows, the start of last's row, and the same again
// inside each of the two ragged ends: at most 2 * dimensions - 1 boxes.
template <typename Visit>
void for_each_box(const std::vector<int64_t>& counts, int64_t first, int64_t last, const Visit& visit) {
  BoxWalk(counts, visit).walk(first, last);
}

}  // namespace swath
