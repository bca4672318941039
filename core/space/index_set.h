// The indices of ONE dimension that one rank owns: blocks, steps and periods, in closed form.
//
//   pattern(t) = base + (t / block) * period + (t % block) * step          t = first, first + 1, ...
//   at(p)      = pattern(first + p)                                       p = 0 ... count - 1
//
// Every index set of HPF and NumPy in one dimension has this form, and clipping preserves it:
//
//   Cyclic(2), rank 1 of 3, 11 indices:   base 2, block 2, step 1, period 6  ->  2 3 | 8 9
//   the same of a[::-1]:                  base 1, block 2, step 1, period 6  ->  1 2 | 7 8
//   a[1::3] in one block:                 base 1, block 4, step 3            ->  1 4 7 10
//
// A ragged last block is a smaller `count`, a ragged first one (from clipping or from a negative step) a larger
// `first`: neither needs a special case.
#pragma once

#include <cstdint>
#include <vector>

#include "base/math.h"

namespace swath {

// A piece of an IndexSet with two plain levels: at(position + i * inner + j) == index + i * outer_step + j *
// inner_step.
struct StridedPiece {
  int64_t position;
  int64_t index;
  int64_t outer;  // repetitions
  int64_t outer_step;
  int64_t inner;  // elements of one repetition
  int64_t inner_step;
};

struct RunLengths {
  int64_t first;
  int64_t longest;
  int64_t last;
};

class IndexSet {
 public:
  // Empty.
  IndexSet() = default;
  // pattern() above, reduced to its simplest form. Requires step >= 1, block >= 1, first >= 0, count >= 0 and blocks
  // that do not overlap: period > (block - 1) * step.
  IndexSet(int64_t base, int64_t block, int64_t step, int64_t period, int64_t first, int64_t count);

  // [begin, end)
  static IndexSet range(int64_t begin, int64_t end) { return strided(begin, 1, end > begin ? end - begin : 0); }
  // begin, begin + step, ...: `count` of them, step >= 1.
  static IndexSet strided(int64_t begin, int64_t step, int64_t count) {
    return IndexSet(begin, count > 0 ? count : 1, step, count > 0 ? multiply_or_max(count, step) : step, 0, count);
  }

  int64_t count() const { return count_; }
  bool empty() const { return count_ == 0; }
  int64_t at(int64_t position) const {
    const int64_t t = first_ + position;
    return t < block_ ? base_ + t * step_ : base_ + (t / block_) * period_ + (t % block_) * step_;
  }
  int64_t front() const { return at(0); }
  int64_t back() const { return at(count_ - 1); }

  // The number of positions with at(p) < index: a binary search in closed form.
  int64_t count_below(int64_t index) const;
  // The number of steps p -> p + 1 with p < position and at(p + 1) - at(p) == distance.
  int64_t steps_of(int64_t distance, int64_t position) const;
  // The first, the longest and the last run of elements at `distance` from each other, in elements. Requires count() >
  // 0.
  RunLengths run_lengths(int64_t distance) const;
  // The largest at(p + 1) - at(p); 0 for fewer than two elements.
  int64_t widest_step() const;

  // The indices in [begin, end). `skipped` (may be null) receives the number cut from the front.
  IndexSet clip(int64_t begin, int64_t end, int64_t* skipped = nullptr) const;
  // { i + distance : i in this set }
  IndexSet shifted(int64_t distance) const;
  // { start + stride * i : i in this set }, ascending also for a negative stride (the order of positions is then
  // reversed).
  IndexSet mapped(int64_t start, int64_t stride) const;

  // Positions [begin, end) as at most three strided pieces: the rest of a block, whole blocks, the start of a block.
  // Appends to `pieces`.
  void pieces(int64_t begin, int64_t end, std::vector<StridedPiece>& pieces) const;
  // The number of elements from `position` on (up to count()) that follow each other at distance one step.
  int64_t rest_of_block(int64_t position) const;
  int64_t step() const { return step_; }
  // Between front() and back(), i belongs to the set exactly if i + period() does.
  int64_t period() const { return first_ + count_ <= block_ ? step_ : period_; }

  friend bool operator==(const IndexSet& a, const IndexSet& b) = default;
  // True if the sets differ only by a shift: 0 2 4 and 1 3 5.
  bool is_shifted(const IndexSet& other) const;

 private:
  int64_t base_ = 0;
  int64_t block_ = 1;
  int64_t step_ = 1;
  int64_t period_ = 1;
  int64_t first_ = 0;
  int64_t count_ = 0;
};

}  // namespace swath
