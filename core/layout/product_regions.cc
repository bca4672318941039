#include "layout/product_regions.h"

#include <algorithm>

#include "base/math.h"

namespace swath {

ProductRegions::ProductRegions(int64_t file_origin, int64_t memory_origin, int64_t element_bytes,
                               std::vector<RegionDimension> dimensions)
    : file_origin_(file_origin), memory_origin_(memory_origin), element_bytes_(element_bytes), count_(1) {
  for (const auto& dimension : dimensions) count_ *= dimension.indices.count();
  if (count_ == 0) return;
  // A dimension with a single index only moves the origin.
  for (const auto& dimension : dimensions) {
    if (dimension.indices.count() == 1) file_origin_ += dimension.indices.front() * dimension.file_stride;
  }
  std::erase_if(dimensions, [](const auto& dimension) { return dimension.indices.count() == 1; });
  dimensions_ = std::move(dimensions);
  const auto slower = [](const auto& a, const auto& b) { return a.file_stride > b.file_stride; };
  if (!std::is_sorted(dimensions_.begin(), dimensions_.end(), slower)) {  // in C order it is, and sorting allocates
    std::stable_sort(dimensions_.begin(), dimensions_.end(), slower);
  }
  inner_.resize(dimensions_.size());
  touching_.resize(dimensions_.size());
  int64_t inner = 1;
  int64_t touching = element_bytes_;
  dense_level_ = solid_level_ = dimensions_.size();
  for (size_t d = dimensions_.size(); d-- > 0;) {
    const auto& dimension = dimensions_[d];
    inner_[d] = inner;
    touching_[d] = touching;
    if (dense_level_ == d + 1 && dimension.memory_stride == inner * element_bytes_) dense_level_ = d;
    const int64_t extent = (dimension.indices.back() - dimension.indices.front()) * dimension.file_stride;
    inner *= dimension.indices.count();
    if (solid_level_ == d + 1 && touching + extent == inner * element_bytes_) {
      solid_level_ = d;
      solid_ = inner;
    }
    touching += extent;
  }
  dense_ = dense_level_ == dimensions_.size() ? 1 : inner_[dense_level_] * dimensions_[dense_level_].indices.count();
}

int64_t ProductRegions::offset_of(int64_t position) const {
  int64_t offset = file_origin_;
  for (size_t d = 0; d < dimensions_.size(); ++d) {
    offset += dimensions_[d].indices.at(position / inner_[d]) * dimensions_[d].file_stride;
    position %= inner_[d];
  }
  return offset;
}

int64_t ProductRegions::memory_of(int64_t position) const {
  int64_t offset = memory_origin_;
  for (size_t d = 0; d < dimensions_.size(); ++d) {
    offset += (position / inner_[d]) * dimensions_[d].memory_stride;
    position %= inner_[d];
  }
  return offset;
}

int64_t ProductRegions::elements_before(int64_t offset) const {
  if (count_ == 0 || offset <= begin_offset()) return 0;
  if (offset >= end_offset()) return count_;  // also INT64_MAX, from which nothing may be subtracted
  int64_t rest = offset - file_origin_;       // what is left of the offset after the digits found so far
  int64_t before = 0;
  for (size_t d = 0; d < dimensions_.size(); ++d) {
    const auto& dimension = dimensions_[d];
    const int64_t span = touching_[d] - element_bytes_;  // from the first to the last element of one index
    int64_t low = 0;                                     // where the first of them starts, from index 0 of the faster
    for (size_t e = d + 1; e < dimensions_.size(); ++e) {
      low += dimensions_[e].indices.front() * dimensions_[e].file_stride;
    }
    // Indices whose last element starts before the offset count whole; at most the next one counts in part.
    const int64_t whole = dimension.indices.count_below(ceil_div(rest - low - span, dimension.file_stride));
    before += whole * inner_[d];
    if (whole == dimension.indices.count()) return before;
    rest -= dimension.indices.at(whole) * dimension.file_stride;
    if (rest <= low) return before;
  }
  return count_;  // no dimension: inside the only element
}

// Joins among the transitions t -> t + 1 with t < `transition`, at levels from `slowest_level` on.
int64_t ProductRegions::joins_before(int64_t transition, size_t slowest_level) const {
  int64_t joins = 0;
  for (size_t d = slowest_level; d < dimensions_.size(); ++d) {
    const auto& dimension = dimensions_[d];
    if (touching_[d] % dimension.file_stride != 0) continue;
    const int64_t step = touching_[d] / dimension.file_stride;
    // Transition t is of level d or slower when t + 1 is a multiple of inner_d: the m-th of them has digit m % n.
    const int64_t transitions = transition / inner_[d];
    const int64_t n = dimension.indices.count();
    joins +=
        (transitions / n) * dimension.indices.steps_of(step, n - 1) + dimension.indices.steps_of(step, transitions % n);
  }
  return joins;
}

int64_t ProductRegions::runs(int64_t first, int64_t last) const {
  if (first >= last) return 0;
  return last - first - (joins_before(last - 1, 0) - joins_before(first, 0));
}

int64_t ProductRegions::pieces(int64_t first, int64_t last) const {
  if (first >= last) return 0;
  return last - first - (joins_before(last - 1, dense_level_) - joins_before(first, dense_level_));
}

int64_t ProductRegions::longest_run() const {
  if (solid_level_ == 0) return bytes();
  // A distance between indices that no step has, where the stride is no divisor of the bytes.
  const auto touching_step = [&](size_t d) {
    return touching_[d] % dimensions_[d].file_stride == 0 ? touching_[d] / dimensions_[d].file_stride : 0;
  };
  const size_t level = solid_level_ - 1;
  const RunLengths lengths = dimensions_[level].indices.run_lengths(touching_step(level));
  int64_t longest = lengths.longest;
  for (size_t d = 0; d < level; ++d) {
    const IndexSet& slower = dimensions_[d].indices;
    if (slower.steps_of(touching_step(d), slower.count()) > 0)
      longest = std::max(longest, lengths.last + lengths.first);
  }
  return longest * solid_ * element_bytes_;
}

int64_t ProductRegions::widest_hole() const {
  int64_t widest = 0;
  for (size_t d = 0; d < dimensions_.size(); ++d) {
    widest = std::max(widest, dimensions_[d].indices.widest_step() * dimensions_[d].file_stride - touching_[d]);
  }
  return widest;
}

Run ProductRegions::run_at(int64_t position, int64_t last) const {
  const int64_t begin = offset_of(position);
  int64_t end = std::min(last, (position / solid_ + 1) * solid_);
  while (end < last && offset_of(end) == begin + (end - position) * element_bytes_) {
    // `end` starts a new index of the slowest solid level's neighbour: the rest of its block touches too, or nothing
    // does.
    const auto& slower = dimensions_[solid_level_ - 1];
    const int64_t digit = (end / solid_) % slower.indices.count();
    const bool block_touches = slower.indices.step() * slower.file_stride == touching_[solid_level_ - 1];
    end = std::min(last, end + (block_touches ? slower.indices.rest_of_block(digit) : 1) * solid_);
  }
  return {begin, (end - position) * element_bytes_, position};
}

bool ProductRegions::is_shifted(const ProductRegions& other) const {
  const auto alike = [](const RegionDimension& a, const RegionDimension& b) {
    return a.file_stride == b.file_stride && a.memory_stride == b.memory_stride && a.indices.is_shifted(b.indices);
  };
  return element_bytes_ == other.element_bytes_ &&
         std::equal(dimensions_.begin(), dimensions_.end(), other.dimensions_.begin(), other.dimensions_.end(), alike);
}

ProductRegions ProductRegions::packed(int64_t origin) const {
  ProductRegions result = *this;
  result.memory_origin_ = origin;
  for (size_t d = 0; d < dimensions_.size(); ++d) {
    result.dimensions_[d].memory_stride = inner_[d] * element_bytes_;
  }
  result.dense_level_ = 0;
  result.dense_ = count_;
  return result;
}

ProductRegions ProductRegions::packed_in_file() const {
  std::vector<RegionDimension> dimensions;
  for (size_t d = 0; d < dimensions_.size(); ++d) {
    dimensions.push_back(
        {IndexSet::range(0, dimensions_[d].indices.count()), inner_[d] * element_bytes_, dimensions_[d].memory_stride});
  }
  return ProductRegions(0, memory_origin_, element_bytes_, std::move(dimensions));
}

}  // namespace swath
