#include "space/index_set.h"

#include <algorithm>

#include "base/math.h"

namespace swath {

IndexSet::IndexSet(int64_t base, int64_t block, int64_t step, int64_t period, int64_t first, int64_t count)
    : base_(base), block_(block), step_(step), period_(period), first_(first), count_(count) {
  if (count_ == 0) {
    *this = IndexSet();
    return;
  }
  base_ += (first_ / block_) * period_;
  first_ %= block_;
  if (block_ == 1 && count_ > 1) {  // blocks of one element are one run with the period as its step
    step_ = period_;
    block_ = count_;
  }
  // One block, or blocks that continue each other: a single run of `count` elements.
  if (first_ + count_ <= block_ || period_ == multiply_or_max(block_, step_)) {
    base_ += first_ * step_;
    first_ = 0;
    block_ = count_;
    period_ = multiply_or_max(block_, step_);
  }
}

bool IndexSet::is_shifted(const IndexSet& other) const {
  IndexSet moved = other;
  moved.base_ = base_;
  return moved == *this;
}

int64_t IndexSet::count_below(int64_t index) const {
  if (count_ == 0 || index <= front()) return 0;
  if (index > back()) return count_;  // also INT64_MAX, from which nothing may be subtracted
  const int64_t distance = index - base_;
  // Blocks that start before `index`; all but the last of them lie wholly before it (blocks do not overlap).
  const int64_t whole = first_ + count_ <= block_ ? 0 : (distance - 1) / period_;
  const int64_t within = (distance - 1 - whole * period_) / step_ + 1;
  const int64_t t = whole * block_ + std::min(within, block_);
  return std::clamp<int64_t>(t - first_, 0, count_);
}

int64_t IndexSet::steps_of(int64_t distance, int64_t position) const {
  const int64_t steps = std::min(position, count_ - 1);
  if (steps <= 0) return 0;
  // Step p leaves a block when (first + p + 1) is a multiple of `block`.
  const int64_t between_blocks = (first_ + steps) / block_;  // first < block
  int64_t found = 0;
  if (distance == step_) found += steps - between_blocks;
  if (distance == period_ - (block_ - 1) * step_) found += between_blocks;
  return found;
}

RunLengths IndexSet::run_lengths(int64_t distance) const {
  const bool inside = distance == step_;
  const int64_t head = rest_of_block(0);
  if (head == count_) return inside ? RunLengths{count_, count_, count_} : RunLengths{1, 1, 1};
  const bool between = distance == period_ - (block_ - 1) * step_;
  const int64_t tail = (first_ + count_ - 1) % block_ + 1;
  if (inside && between) return {count_, count_, count_};
  if (inside) return {head, head + tail < count_ ? block_ : std::max(head, tail), tail};
  // Blocks that nearly meet, as 0 2 | 3 5 | 6 8: the last of one and the first of the next.
  if (between) return {head == 1 ? 2 : 1, 2, tail == 1 ? 2 : 1};
  return {1, 1, 1};
}

int64_t IndexSet::widest_step() const {
  if (count_ < 2) return 0;
  if (first_ + count_ <= block_) return step_;
  const int64_t between_blocks = period_ - (block_ - 1) * step_;
  return steps_of(step_, count_) > 0 ? std::max(step_, between_blocks) : between_blocks;
}

IndexSet IndexSet::clip(int64_t begin, int64_t end, int64_t* skipped) const {
  const int64_t low = count_below(begin);
  const int64_t high = std::max(low, count_below(end));
  if (skipped != nullptr) *skipped = low;
  return IndexSet(base_, block_, step_, period_, first_ + low, high - low);
}

IndexSet IndexSet::shifted(int64_t distance) const {
  if (count_ == 0) return {};
  return IndexSet(base_ + distance, block_, step_, period_, first_, count_);
}

IndexSet IndexSet::mapped(int64_t start, int64_t stride) const {
  if (count_ == 0) return {};
  // Of a set of one run the period ends nowhere: it may be beyond 64 bits. So may the step of a single element.
  if (stride > 0) {
    return IndexSet(start + stride * base_, block_, multiply_or_max(step_, stride), multiply_or_max(period_, stride),
                    first_, count_);
  }
  // Descending: read the pattern from its end. t' = total - 1 - t, with `total` a whole number of blocks, so that what
  // was missing at the end of the last block is now missing at the start of the first.
  const int64_t blocks = ceil_div(first_ + count_, block_);
  const int64_t last_index = base_ + (blocks - 1) * period_ + (block_ - 1) * step_;
  return IndexSet(start + stride * last_index, block_, multiply_or_max(-stride, step_),
                  multiply_or_max(-stride, period_), blocks * block_ - first_ - count_, count_);
}

int64_t IndexSet::rest_of_block(int64_t position) const {
  return std::min(count_ - position, block_ - (first_ + position) % block_);
}

void IndexSet::pieces(int64_t begin, int64_t end, std::vector<StridedPiece>& out) const {
  const auto add = [&](int64_t position, int64_t outer, int64_t inner) {
    if (outer > 0 && inner > 0) out.push_back({position, at(position), outer, period_, inner, step_});
  };
  if (begin >= end) return;
  const int64_t head = std::min((first_ + begin) % block_ == 0 ? 0 : rest_of_block(begin), end - begin);
  add(begin, 1, head);
  const int64_t blocks = (end - begin - head) / block_;
  add(begin + head, blocks, block_);
  add(begin + head + blocks * block_, 1, end - begin - head - blocks * block_);
}

}  // namespace swath
